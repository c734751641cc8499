// Search parameters are plain words: `?state=running&q=train`. Empty ones are left out of the address.
export type Search = Record<string, string | undefined>;

export const parseSearch = (text: string): Search => Object.fromEntries(new URLSearchParams(text));
export function stringifySearch(search: Record<string, unknown>): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) if (value) parameters.set(name, String(value));
  const text = parameters.toString();
  return text && `?${text}`;
}

/** `validateSearch` of a route whose parameters are texts: `texts("q", "state")`. */
export const texts =
  <N extends string>(...names: N[]) =>
  (given: Record<string, unknown>): { [K in N]?: string } =>
    Object.fromEntries(names.flatMap((name) => (given[name] ? [[name, String(given[name])]] : []))) as {
      [K in N]?: string;
    };
