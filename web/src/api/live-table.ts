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
/** A job of 10,000 slices tells of each of them: the same key is read again at most this often. */
const PAUSE_MS = 100;

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
  live.onRestart(everything);
  live.tap((message) => {
    if (message.type === "event") for (const key of keysOf(message.event as PoolEvent)) stale(key);
    else if (message.type === "start_over") everything();
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
