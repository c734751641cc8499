import { queryOptions } from "@tanstack/react-query";
import { api, ask } from "../client";

export const meQuery = queryOptions({ queryKey: ["me"], queryFn: () => ask(api.GET("/api/v1/me")) });
export const sessionsQuery = queryOptions({ queryKey: ["sessions"], queryFn: () => ask(api.GET("/api/v1/sessions")) });
export const tokensQuery = queryOptions({ queryKey: ["tokens"], queryFn: () => ask(api.GET("/api/v1/tokens")) });
