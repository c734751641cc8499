import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, type Schemas } from "../client";
import { pages } from "./pages";

export type EntryKind = Schemas["EntryView"]["kind"];
export type EntryFilters = { kind?: EntryKind[]; job?: string; node?: string; since?: string; until?: string };

export const walletQuery = queryOptions({
  queryKey: ["wallet", "balances"],
  queryFn: () => ask(api.GET("/api/v1/wallet")),
});
export const entriesQuery = (filters: EntryFilters) => ({
  ...pages(["wallet", "entries", filters], (cursor) =>
    ask(
      api.GET("/api/v1/wallet/entries", {
        params: { query: { ...filters, limit: 30, ...(cursor ? { cursor } : {}) } },
      }),
    ),
  ),
  placeholderData: keepPreviousData,
});
/** By day and node. `node`: of that one alone. The last thirty days. */
export const earningsQuery = (node?: string) =>
  queryOptions({
    queryKey: ["earnings", node ?? ""],
    queryFn: () => ask(api.GET("/api/v1/wallet/earnings", { params: { query: node ? { node } : {} } })),
  });
export const paymentsQuery = queryOptions({
  queryKey: ["wallet", "payments"],
  queryFn: () => ask(api.GET("/api/v1/wallet/payments")),
});
export const topUpsQuery = pages(["wallet", "top-ups"], (cursor) =>
  ask(api.GET("/api/v1/wallet/top-ups", { params: { query: { limit: 10, ...(cursor ? { cursor } : {}) } } })),
);
export const topUpQuoteQuery = (credits: string) =>
  queryOptions({
    queryKey: ["top-up-quote", credits],
    queryFn: () => ask(api.GET("/api/v1/wallet/top-ups/quote", { params: { query: { credits } } })),
    placeholderData: keepPreviousData,
  });
type CashOutPage = Schemas["CashOutList"];
export const cashOutsQuery = queryOptions({
  queryKey: ["wallet", "cash-outs"],
  queryFn: (): Promise<CashOutPage> => ask(api.GET("/api/v1/wallet/cash-outs", { params: { query: { limit: 50 } } })),
});
export const statementsQuery = queryOptions({
  queryKey: ["wallet", "statements"],
  queryFn: () => ask(api.GET("/api/v1/wallet/statements")),
});
/** Where every credit of a job went, in the API's sentences. */
export const explainQuery = (jobId: string) =>
  queryOptions({
    queryKey: ["job", jobId, "explain"],
    queryFn: () => ask(api.GET("/api/v1/jobs/{job_id}/explain", { params: { path: { job_id: jobId } } })),
  });
