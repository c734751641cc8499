import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, open, type Schemas } from "../client";
import { pages } from "./pages";

export type NodeView = Schemas["NodeView"];
export type NodeFilters = {
  state?: NodeView["state"] | undefined;
  search?: string | undefined;
  gpu?: string | undefined;
  tag?: string | undefined;
  owner?: string | undefined;
};

export const nodesQuery = (filters: NodeFilters) => ({
  ...pages(["nodes", filters], (cursor) =>
    ask(api.GET("/api/v1/nodes", { params: { query: { ...given(filters), limit: 50, ...given({ cursor }) } } })),
  ),
  placeholderData: keepPreviousData,
});
export const nodeQuery = (id: string) =>
  queryOptions({
    queryKey: ["node", id],
    queryFn: () => ask(api.GET("/api/v1/nodes/{node_id}", { params: { path: { node_id: id } } })),
  });

/** Those that machines can still join with. Node events make it stale. */
export const joinTokensQuery = queryOptions({
  queryKey: ["nodes", "join-tokens"],
  queryFn: () => ask(api.GET("/api/v1/nodes/join-tokens", { params: { query: { usable: true, limit: 50 } } })),
});
/** All of them, the newest first: which node joined with one that was just made. */
export const newestJoinTokensQuery = queryOptions({
  queryKey: ["nodes", "join-tokens", "newest"],
  queryFn: () => ask(api.GET("/api/v1/nodes/join-tokens", { params: { query: { limit: 20 } } })),
});
/** What a card would earn here: each of the pool's table, or one. */
export const cardEarningsQuery = (gpu?: string, country?: string) =>
  queryOptions({
    queryKey: ["card-earnings", gpu ?? "", country ?? ""],
    queryFn: () => ask(open.GET("/api/v1/market/earnings", { params: { query: given({ gpu, country }) } })),
    meta: { public: true },
  });

/** A little less than an hour and a week: what is older has wider steps. */
export const RANGES = { hour: 59 * 60, day: 86_400, week: 7 * 86_400 - 3600, month: 30 * 86_400 } as const;
export type Range = keyof typeof RANGES;
export const telemetryQuery = (id: string, range: Range) =>
  queryOptions({
    queryKey: ["node", id, "telemetry", range],
    queryFn: () =>
      ask(
        api.GET("/api/v1/nodes/{node_id}/telemetry", {
          params: {
            path: { node_id: id },
            query: { since: new Date(Date.now() - RANGES[range] * 1000).toISOString() },
          },
        }),
      ),
    placeholderData: keepPreviousData,
  });
export const nodeAttemptsQuery = (id: string, running: boolean) =>
  pages(["node", id, "attempts", running], (cursor) =>
    ask(
      api.GET("/api/v1/nodes/{node_id}/attempts", {
        params: { path: { node_id: id }, query: { running, limit: running ? 50 : 10, ...given({ cursor }) } },
      }),
    ),
  );
export const reliabilityQuery = (id: string) =>
  pages(["node", id, "reliability"], (cursor) =>
    ask(
      api.GET("/api/v1/nodes/{node_id}/reliability", {
        params: { path: { node_id: id }, query: { limit: 10, ...given({ cursor }) } },
      }),
    ),
  );
export const policyQuery = (id: string) =>
  queryOptions({
    queryKey: ["node", id, "policy"],
    queryFn: () => ask(api.GET("/api/v1/nodes/{node_id}/policy", { params: { path: { node_id: id } } })),
  });
/** What a price would mean; without one, what is asked now. */
export const pricePreviewQuery = (id: string, micros: number | null) =>
  queryOptions({
    queryKey: ["node", id, "price-preview", micros],
    queryFn: () =>
      ask(
        api.GET("/api/v1/nodes/{node_id}/price-preview", {
          params: { path: { node_id: id }, query: micros === null ? {} : { price_micros: micros } },
        }),
      ),
    placeholderData: keepPreviousData,
  });
export const noticesQuery = queryOptions({
  queryKey: ["notices", "newest"],
  queryFn: () => ask(api.GET("/api/v1/notices", { params: { query: { limit: 100 } } })),
});

/** Without what is undefined or empty. */
type Given<T> = { [K in keyof T]?: Exclude<T[K], undefined> };
export const given = <T extends object>(values: T): Given<T> =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== undefined && value !== "")) as Given<T>;
