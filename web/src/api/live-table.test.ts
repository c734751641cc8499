import { QueryClient, type QueryKey } from "@tanstack/react-query";
import { afterEach, expect, test, vi } from "vitest";
import { keysOf, makeReader, newMap, showEnd } from "./live-table";

afterEach(() => void vi.useRealTimers());

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

test("a job's end is shown in lists and on its page before anything is read", () => {
  const queries = new QueryClient();
  const [first, second] = [
    { id: "job_1", state: "running" },
    { id: "job_2", state: "running" },
  ];
  queries.setQueryData(["jobs", {}], { pages: [{ items: [first, second] }], pageParams: [undefined] });
  queries.setQueryData(["job", "job_1", "view", 0], first);
  showEnd(queries, { job_id: "job_1", change: "ended", state: "failed" });
  expect(queries.getQueryData(["job", "job_1", "view", 0])).toEqual({ id: "job_1", state: "failed" });
  expect(queries.getQueryData<{ pages: { items: object[] }[] }>(["jobs", {}])?.pages[0]?.items).toEqual([
    { id: "job_1", state: "failed" },
    second,
  ]);
});

test("a key is read at once, then at growing distances, and never twice at the same time", async () => {
  vi.useFakeTimers();
  const began: number[] = [];
  let underWay = 0;
  const start = Date.now();
  const stale = makeReader(async (_: QueryKey) => {
    expect(++underWay).toBe(1);
    began.push(Date.now() - start);
    await new Promise((done) => setTimeout(done, 5));
    underWay -= 1;
  });
  for (let at = 0; at < 400; at += 2) {
    stale(["jobs"]);
    await vi.advanceTimersByTimeAsync(2);
  }
  expect(began).toEqual([0, 20, 60, 140, 240, 340]);
  await vi.advanceTimersByTimeAsync(1000); // the last change is read too
  expect(began).toEqual([0, 20, 60, 140, 240, 340, 440]);
  stale(["jobs"]);
  expect(began.at(-1)).toBe(1400);
});

test("an answer that takes long is not asked for again before it came", async () => {
  vi.useFakeTimers();
  let readings = 0;
  const stale = makeReader(async () => {
    readings += 1;
    await new Promise((done) => setTimeout(done, 300));
  });
  for (let at = 0; at < 290; at += 10) {
    stale(["jobs"]);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(readings).toBe(1);
  await vi.advanceTimersByTimeAsync(1000);
  expect(readings).toBe(2);
});
