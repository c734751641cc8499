// Which queries an event makes stale, by the first words of their keys. A page that shows something new adds its key here.
import type { QueryClient, QueryKey } from "@tanstack/react-query";
import { live, type PoolEvent } from "./live";
import { onSessionChange } from "./session";

type OfType<T extends PoolEvent["type"]> = Extract<PoolEvent, { type: T }>;
type Table = { [T in PoolEvent["type"]]: (event: OfType<T>) => QueryKey[] };

const TABLE: Table = {
  job: ({ job_id }) => [["jobs"], ["job", job_id], ["stats"]],
  attempt: ({ job_id }) => [["jobs"], ["job", job_id]],
  checkpoint: ({ job_id }) => [["job", job_id]],
  cost: ({ job_id }) => [["job", job_id, "cost"], ["wallet"]],
  hosted: ({ node_id }) => [["nodes"], ["node", node_id], ["earnings"]],
  node: ({ node_id }) => [["nodes"], ["node", node_id]],
  notice: ({ job_id, node_id }) => [
    ["notices"],
    ["disputes"],
    ...(job_id ? [["job", job_id]] : []),
    ...(node_id ? [["node", node_id]] : []),
  ],
  payment: () => [["wallet"], ["notices"]],
  account: () => [["me"], ["sessions"], ["tokens"], ["limits"], ["notices"]],
  admin: () => [["admin"]],
};
/** A job of 10,000 slices tells of each of them: the same key is read again at most this often. */
const PAUSE_MS = 250;

export function keysOf(event: PoolEvent): QueryKey[] {
  const keys = TABLE[event.type] as ((event: PoolEvent) => QueryKey[]) | undefined;
  return keys?.(event) ?? []; // later hubs have more types
}

/** Keeps the cache fresh. Called once. */
export function followEvents(queries: QueryClient): void {
  const pausing = new Map<string, boolean>();
  const stale = (key: QueryKey) => {
    const name = JSON.stringify(key);
    if (pausing.has(name)) {
      pausing.set(name, true);
      return;
    }
    void queries.invalidateQueries({ queryKey: key });
    pausing.set(name, false);
    setTimeout(() => {
      const again = pausing.get(name);
      pausing.delete(name);
      if (again) stale(key);
    }, PAUSE_MS);
  };
  const everything = () => void queries.invalidateQueries();
  live.on("event", ({ event }) => {
    for (const key of keysOf(event as PoolEvent)) stale(key);
  });
  live.on("start_over", everything);
  live.onRestart(everything);
  live.on("wallet", ({ type: _, ...wallet }) => {
    queries.setQueryData(["wallet", "balances"], (old: object | undefined) => old && { ...old, ...wallet });
  });
  live.on("public", ({ stats }) => queries.setQueryData(["stats"], stats));
  onSessionChange(() => {
    queries.removeQueries({ predicate: ({ meta }) => !meta?.public });
    everything();
  });
}
