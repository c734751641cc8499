// What everybody may know of this pool. `meta.public`: stays in the cache when somebody signs in or out.
import { queryOptions } from "@tanstack/react-query";
import { ask, open } from "../client";

const meta = { public: true };

export const configQuery = queryOptions({ queryKey: ["config"], queryFn: () => ask(open.GET("/api/v1/config")), meta });
export const versionQuery = queryOptions({
  queryKey: ["version"],
  queryFn: () => ask(open.GET("/api/v1/version")),
  meta,
});
/** The public stream keeps it fresh while a page listens: `useLive("public")`. */
export const statsQuery = queryOptions({ queryKey: ["stats"], queryFn: () => ask(open.GET("/api/v1/stats")), meta });
/** The public stream keeps it fresh while a page listens: `useLive("map")`. */
export const mapQuery = queryOptions({ queryKey: ["map"], queryFn: () => ask(open.GET("/api/v1/map")), meta });
export const pricesQuery = queryOptions({
  queryKey: ["prices"],
  queryFn: () => ask(open.GET("/api/v1/market/prices")),
  meta,
});
export const catalogQuery = queryOptions({
  queryKey: ["catalog"],
  queryFn: () => ask(open.GET("/api/v1/public/catalog")),
  meta,
});
export type Period = "7d" | "30d" | "all";
export const leaderboardQuery = (period: Period) =>
  queryOptions({
    queryKey: ["leaderboard", period],
    queryFn: () => ask(open.GET("/api/v1/leaderboard", { params: { query: { period } } })),
    meta,
  });
