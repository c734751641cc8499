// Which queries an event makes stale, by the first words of their keys. A page that shows something new adds its key here.
import type { QueryClient, QueryKey } from "@tanstack/react-query";
import type { Schemas } from "./client";
import { live, type OfKind, type PoolEvent } from "./live";
import { onSessionChange } from "./session";

type MapView = Schemas["MapView"];
type MapCell = Schemas["MapCell"];
type OfType<T extends PoolEvent["type"]> = Extract<PoolEvent, { type: T }>;
type Table = { [T in PoolEvent["type"]]: (event: OfType<T>) => QueryKey[] };

const TABLE: Table = {
  job: ({ job_id, change }) => [["jobs"], ["job", job_id], ...(change === "ended" ? [["notices"]] : [])],
  attempt: ({ job_id }) => [["jobs"], ["job", job_id]],
  checkpoint: ({ job_id }) => [["job", job_id]],
  cost: ({ job_id }) => [["job", job_id, "cost"], ["job", job_id, "view"], ["wallet"]],
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
/**
 * A job of 10,000 slices tells of each of them. A key is read at once when it was at rest; while events keep coming,
 * the pause after a reading doubles up to the longest.
 */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 100;
/** An answer that takes longer than this does not hold up the next reading. */
const LONGEST_READING_MS = 2000;

export function keysOf(event: PoolEvent): QueryKey[] {
  const keys = TABLE[event.type] as ((event: PoolEvent) => QueryKey[]) | undefined;
  return keys?.(event) ?? []; // later hubs have more types
}

const cellKey = ({ country, tier, state, simulated }: MapCell) => `${country} ${tier} ${state} ${simulated}`;

/** The map with what changed; a cell without nodes is gone. */
export function newMap(old: MapView | undefined, { whole, cells }: OfKind<"map">): MapView {
  const all = new Map((whole ? [] : (old?.cells ?? [])).map((cell) => [cellKey(cell), cell]));
  for (const cell of cells) {
    if (cell.nodes > 0) all.set(cellKey(cell), cell);
    else all.delete(cellKey(cell));
  }
  const list = [...all.values()];
  const sum = (simulated: boolean) =>
    list.reduce((total, cell) => total + (cell.simulated === simulated ? cell.nodes : 0), 0);
  return { countries: old?.countries ?? 0, cells: list, nodes: sum(false), simulated: sum(true) };
}

type Loaded = { id: string; gpu_loads: unknown };
/** A node's load, wherever the node is shown. */
function showLoad(queries: QueryClient, nodeId: string, gpus: unknown[]): void {
  if (gpus.length === 0) return;
  const renew = <T extends Loaded>(node: T): T => (node.id === nodeId ? { ...node, gpu_loads: gpus } : node);
  queries.setQueryData(["node", nodeId], (old: Loaded | undefined) => old && renew(old));
  queries.setQueriesData({ queryKey: ["nodes"] }, (old: { pages?: { items: Loaded[] }[] } | undefined) =>
    old?.pages ? { ...old, pages: old.pages.map((page) => ({ ...page, items: page.items.map(renew) })) } : old,
  );
}

type Listed = { pages?: { items: { id: string; state: string }[] }[] };
/** A job that ended stays ended, so its new state is shown before the rest is read. */
export function showEnd(
  queries: QueryClient,
  { job_id, change, state }: Pick<OfType<"job">, "job_id" | "change" | "state">,
): void {
  if (change !== "ended" || !state) return;
  const renew = <T extends { id: string; state: string }>(job: T): T => (job.id === job_id ? { ...job, state } : job);
  queries.setQueriesData(
    { queryKey: ["job", job_id, "view"] },
    (old: Schemas["JobView"] | undefined) => old && renew(old),
  );
  queries.setQueriesData({ queryKey: ["jobs"] }, (old: Listed | undefined) =>
    old?.pages ? { ...old, pages: old.pages.map((page) => ({ ...page, items: page.items.map(renew) })) } : old,
  );
}

const after = (milliseconds: number) => new Promise<void>((done) => setTimeout(done, milliseconds));

/** Reads a key at once, and again after every later call, but never twice at the same time. */
export function makeReader(read: (key: QueryKey) => Promise<unknown>): (key: QueryKey) => void {
  const busy = new Map<string, { again: boolean }>();
  const keepReading = async (key: QueryKey, name: string): Promise<void> => {
    const reading = { again: true };
    busy.set(name, reading);
    for (let pause = FIRST_PAUSE_MS; reading.again; pause = Math.min(LONGEST_PAUSE_MS, 2 * pause)) {
      reading.again = false;
      // What changes while an answer is under way may not be in it: that is read after it.
      await Promise.all([after(pause), Promise.race([read(key), after(LONGEST_READING_MS)])]);
    }
    busy.delete(name);
  };
  return (key) => {
    const name = JSON.stringify(key);
    const reading = busy.get(name);
    if (reading) reading.again = true;
    else void keepReading(key, name);
  };
}

/** Keeps the cache fresh. Called once. */
export function followEvents(queries: QueryClient): void {
  const stale = makeReader((queryKey) => queries.invalidateQueries({ queryKey }));
  const everything = () => void queries.invalidateQueries();
  live.onRestart(everything);
  live.tap((message) => {
    if (message.type === "event") {
      const event = message.event as PoolEvent;
      if (event.type === "job") showEnd(queries, event);
      for (const key of keysOf(event)) stale(key);
    } else if (message.type === "start_over") everything();
    else if (message.type === "public") queries.setQueryData(["stats"], message.stats);
    else if (message.type === "map") queries.setQueryData(["map"], (old: MapView | undefined) => newMap(old, message));
    else if (message.type === "load") {
      showLoad(queries, message.node_id, message.gpus);
      stale(["node", message.node_id, "telemetry"]);
    } else if (message.type === "wallet") {
      const { type: _, ...wallet } = message;
      queries.setQueryData(["wallet", "balances"], (old: object | undefined) => old && { ...old, ...wallet });
      for (const part of ["balances", "entries", "cash-outs"]) stale(["wallet", part]);
    }
  });
  onSessionChange(() => {
    queries.removeQueries({ predicate: ({ meta }) => !meta?.public });
    everything();
  });
}
