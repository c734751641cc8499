// The hub's own OpenAPI document, as far as the reference shows it.
import { queryOptions } from "@tanstack/react-query";
import { errorOf } from "@/api/errors";
import { send } from "@/api/session";

export type Shape = {
  $ref?: string;
  type?: string;
  format?: string;
  contentMediaType?: string;
  const?: unknown;
  enum?: unknown[];
  items?: Shape;
  anyOf?: Shape[];
  oneOf?: Shape[];
  allOf?: Shape[];
  properties?: Record<string, Shape>;
  required?: string[];
  additionalProperties?: Shape | boolean;
  description?: string;
  default?: unknown;
};
type Content = Record<string, { schema?: Shape }>;
export type Answer = { $ref?: string; description?: string; content?: Content; "x-codes"?: string[] };
export type Route = {
  summary?: string;
  description?: string;
  tags?: string[];
  parameters?: { name: string; in: string; required?: boolean; schema?: Shape; description?: string }[];
  requestBody?: { content: Content };
  responses?: Record<string, Answer>;
  "x-scope"?: string;
  "x-visible"?: string;
};
export type Document = {
  info: { version: string };
  paths: Record<string, Record<string, Route>>;
  components: { schemas: Record<string, Shape>; responses?: Record<string, Answer> };
};
export type Listed = { id: string; method: string; path: string; route: Route; searched: string };

const METHODS = ["get", "post", "put", "patch", "delete"];

export const documentQuery = queryOptions({
  queryKey: ["openapi"],
  queryFn: async (): Promise<Document> => {
    const answer = await send(new Request("/openapi.json"));
    if (!answer.ok) throw await errorOf(answer);
    return (await answer.json()) as Document;
  },
  meta: { public: true },
});

/** Routes by their tag, in the document's order. */
export function routesOf(document: Document): Map<string, Listed[]> {
  const tags = new Map<string, Listed[]>();
  for (const [path, methods] of Object.entries(document.paths)) {
    for (const method of METHODS) {
      const route = methods[method];
      if (!route) continue;
      const tag = route.tags?.[0] ?? "other";
      const words = [method, path, route.summary, route.description, route["x-scope"], route["x-visible"]];
      const listed = { id: `${method}-${path}`, method, path, route, searched: words.join(" ").toLowerCase() };
      tags.set(tag, [...(tags.get(tag) ?? []), listed]);
    }
  }
  return tags;
}

export const nameOf = (reference: string): string => reference.split("/").pop() ?? "";
