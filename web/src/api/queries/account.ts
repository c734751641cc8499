import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "../client";
import { pages } from "./pages";

export const meQuery = queryOptions({ queryKey: ["me"], queryFn: () => ask(api.GET("/api/v1/me")) });
export const sessionsQuery = pages(["sessions"], (cursor) =>
  ask(api.GET("/api/v1/sessions", { params: { query: { cursor } } })),
);
export const tokensQuery = pages(["tokens"], (cursor) =>
  ask(api.GET("/api/v1/tokens", { params: { query: { cursor } } })),
);
export const noticesQuery = (unread: boolean) =>
  pages(["notices", unread ? "unread" : "all"], (cursor) =>
    ask(api.GET("/api/v1/notices", { params: { query: { unread, cursor } } })),
  );
/** How many nobody has read; for the bell. */
export const unreadQuery = queryOptions({
  queryKey: ["notices", "count"],
  queryFn: async () => (await ask(api.GET("/api/v1/notices", { params: { query: { limit: 1 } } }))).unread,
});
