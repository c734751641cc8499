// The job that is being written: a spec in the API's canonical form, of which anything may be missing. The API alone says
// what is right, what the defaults are, and how the same is written as YAML and as a command.
import type { Schemas } from "@/api/client";
import type { Written } from "@/api/queries/submit";

type Wire = Schemas["WireSpec"];
export type Draft = Partial<Omit<Wire, "resources" | "where">> & {
  resources: Partial<Wire["resources"]>;
  where: Partial<Wire["where"]>;
};
export const EMPTY: Draft = { resources: {}, where: {} };

const PLAIN = { slices: 1, priority: 0, retries: 0, optimize: "balanced" } as const;

/** Of a canonical spec, without the defaults that nobody wrote. */
export function fromWire(spec: Wire): Draft {
  const { resources, where, ...rest } = spec;
  const draft: Draft = {
    ...rest,
    resources: {
      cpus: resources.cpus,
      memory: resources.memory,
      disk: resources.disk,
      ...(resources.gpu ? { gpu: resources.gpu } : {}),
    },
    where: { ...where },
  };
  for (const [key, plain] of Object.entries(PLAIN))
    if (draft[key as keyof Draft] === plain) delete draft[key as keyof Draft];
  if (where.trust === "any") delete draft.where.trust;
  return draft;
}

/** What is sent: without what is empty. */
export function toSpec(draft: Draft): Written {
  return (clean(draft) ?? {}) as Written;
}
function clean(value: unknown): unknown {
  if (value === "" || value === null || value === undefined || value === false) return undefined;
  if (Array.isArray(value)) return value.length ? value : undefined;
  if (typeof value !== "object") return value;
  const kept = Object.entries(value).flatMap(([key, inner]) => {
    const rest = clean(inner);
    return rest === undefined ? [] : [[key, rest]];
  });
  return kept.length ? Object.fromEntries(kept) : undefined;
}

/** With one field changed, named as the API names it: `resources.memory`. Null leaves it out. */
export function withField(draft: Draft, field: string, value: unknown): Draft {
  const [first, second] = field.split(".") as [string, string | undefined];
  if (second === undefined) return { ...draft, [first]: value ?? undefined };
  const part = draft[first as "resources" | "where"] ?? {};
  const next =
    field === "resources.gpu"
      ? value
      : typeof value === "number" && field !== "where.min_reliability"
        ? String(value)
        : value;
  return { ...draft, [first]: { ...part, [second]: next ?? undefined } };
}

export const SIMULATED = "simulated";
export const isSimulated = (draft: Draft): boolean => draft.where.tags?.includes(SIMULATED) ?? false;
export function simulated(draft: Draft, on: boolean): Draft {
  const others = (draft.where.tags ?? []).filter((tag) => tag !== SIMULATED);
  return withField(draft, "where.tags", on ? [...others, SIMULATED] : others);
}

/** A Python script as a command of its own, so that the command line and the YAML have all of it. */
const HEREDOC = /^python3 - <<'END'\n([\s\S]*)\nEND\n?$/;
export const pythonOf = (run: Draft["run"]): string | null =>
  typeof run === "string" ? (HEREDOC.exec(run)?.[1] ?? null) : null;
export const asPython = (script: string): string => (script ? `python3 - <<'END'\n${script}\nEND` : "");

/** `run` as text: a list is a program and its arguments, written as a shell reads the same. */
export const runText = (run: Draft["run"]): string => (Array.isArray(run) ? run.map(quoted).join(" ") : (run ?? ""));
const quoted = (word: string): string => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`);

export const envText = (env: Draft["env"]): string =>
  Object.entries(env ?? {})
    .map(([name, value]) => `${name}=${value}`)
    .join("\n");
export function parseEnv(text: string): Record<string, string> {
  const lines = text.split("\n").filter((line) => line.trim());
  return Object.fromEntries(
    lines.map((line) => {
      const at = line.indexOf("=");
      return at < 0 ? [line.trim(), ""] : [line.slice(0, at).trim(), line.slice(at + 1)];
    }),
  );
}
