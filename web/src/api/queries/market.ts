import { queryOptions } from "@tanstack/react-query";
import { ask, open } from "../client";
import type { operations } from "../schema";
import { pages } from "./pages";

const meta = { public: true };
/** Some four screens: the hub answers, and the page draws, a filter of 10,000 offers sooner than with more. */
const PAGE = 100;

export type OfferParameters = NonNullable<operations["market_offers"]["parameters"]["query"]>;

/** By plain parameters, as the address of the market page has them. */
export const offersQuery = (query: OfferParameters) => ({
  ...pages(["market", "offers", query], (cursor) =>
    ask(
      open.GET("/api/v1/market/offers", {
        params: { query: { ...query, limit: PAGE, ...(cursor ? { cursor } : {}) } },
      }),
    ),
  ),
  meta,
});
export const offerFiltersQuery = queryOptions({
  queryKey: ["market", "filters"],
  queryFn: () => ask(open.GET("/api/v1/market/filters")),
  meta,
});
export const marketNodeQuery = (nodeId: string) =>
  queryOptions({
    queryKey: ["market", "node", nodeId],
    queryFn: () => ask(open.GET("/api/v1/market/nodes/{node_id}", { params: { path: { node_id: nodeId } } })),
    meta,
  });
export const priceHistoryQuery = (days: number, simulated: boolean) =>
  queryOptions({
    queryKey: ["market", "history", days, simulated],
    queryFn: () => {
      const since = new Date(Date.now() - days * 86_400_000).toISOString();
      return ask(open.GET("/api/v1/market/prices/history", { params: { query: { since, simulated } } }));
    },
    meta,
  });
