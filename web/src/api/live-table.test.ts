import { expect, test } from "vitest";
import { keysOf, newMap } from "./live-table";

const cell = (country: string, nodes: number) =>
  ({ country, tier: "2", state: "online", simulated: false, nodes, busy: 0 }) as const;

test("an event names the queries that it makes stale, and an unknown one names none", () => {
  const keys = keysOf({ type: "cost", job_id: "job_1" } as Parameters<typeof keysOf>[0]);
  expect(keys).toContainEqual(["job", "job_1", "cost"]);
  expect(keysOf({ type: "of a later hub" } as unknown as Parameters<typeof keysOf>[0])).toEqual([]);
});

test("the map changes by cells, and a cell without nodes is gone", () => {
  const first = newMap(undefined, { type: "map", whole: true, cells: [cell("DE", 3), cell("IN", 1)] });
  const next = newMap(first, { type: "map", whole: false, cells: [cell("DE", 4), cell("IN", 0)] });
  expect(next.cells).toEqual([cell("DE", 4)]);
  expect(next.nodes).toBe(4);
  expect(newMap(next, { type: "map", whole: true, cells: [] }).nodes).toBe(0);
});
