import { QueryClient } from "@tanstack/react-query";
import { isPassing } from "@/api/errors";

/** What the hub said stays true until an event says otherwise: nothing is polled. */
export const makeQueries = (): QueryClient =>
  new QueryClient({
    defaultOptions: {
      queries: {
        staleTime: Number.POSITIVE_INFINITY,
        refetchOnWindowFocus: false,
        refetchOnReconnect: false,
        networkMode: "always",
        retry: (failures, error) => failures < 2 && isPassing(error),
      },
      mutations: { networkMode: "always" },
    },
  });
