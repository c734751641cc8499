// Jobs: everything below ["job", id] is read anew when an event names the job (live-table.ts).
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, open, type Schemas } from "../client";
import { pages } from "./pages";

export type JobFilters = {
  state?: string | undefined;
  q?: string | undefined;
  node?: string | undefined;
  since?: string | undefined;
  until?: string | undefined;
  order?: string | undefined;
  mine?: string | undefined;
};
const PAGE = 50;
const instant = (day: string | undefined, plusDays = 0): string | undefined => {
  const at = day ? new Date(`${day}T00:00`) : null;
  if (!at || Number.isNaN(at.getTime())) return undefined;
  at.setDate(at.getDate() + plusDays);
  return at.toISOString();
};

/** `since` and `until` are days of the viewer, both included. */
export function jobsQuery({ state, q, node, since, until, order, mine }: JobFilters) {
  const query = {
    ...(state && { state: [state as Schemas["JobState"]] }),
    ...(q && { search: q }),
    ...(node && { node }),
    ...(instant(since) && { since: instant(since)! }),
    ...(instant(until, 1) && { until: instant(until, 1)! }),
    ...(order && { order: order as Schemas["JobOrder"] }),
    ...(mine && { mine: true }),
    limit: PAGE,
  };
  return {
    ...pages(["jobs", query], (cursor) =>
      ask(api.GET("/api/v1/jobs", { params: { query: { ...query, ...(cursor && { cursor }) } } })),
    ),
    placeholderData: keepPreviousData,
  };
}

const path = (job_id: string) => ({ path: { job_id } });
/** The job, with one of its slices. */
export const jobQuery = (id: string, slice = 0) =>
  queryOptions({
    queryKey: ["job", id, "view", slice],
    queryFn: () =>
      ask(api.GET("/api/v1/jobs/{job_id}", { params: { ...path(id), query: { from_slice: slice, slice_limit: 1 } } })),
    placeholderData: keepPreviousData,
  });
export const slicesQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "slices"],
    queryFn: () => ask(api.GET("/api/v1/jobs/{job_id}/slices", { params: path(id) })),
  });
export const logInfoQuery = (id: string, slice: number, attempt?: number) =>
  queryOptions({
    queryKey: ["job", id, "log", slice, attempt ?? null],
    queryFn: () =>
      ask(
        api.GET("/api/v1/jobs/{job_id}/logs/info", {
          params: { ...path(id), query: { slice, ...(attempt && { attempt }) } },
        }),
      ),
  });
export const timelineQuery = (id: string, slice?: number) =>
  pages(["job", id, "timeline", slice ?? null], (cursor) =>
    ask(
      api.GET("/api/v1/jobs/{job_id}/timeline", {
        params: {
          ...path(id),
          query: { ...(slice !== undefined && { slice }), ...(cursor && { cursor: Number(cursor) }) },
        },
      }),
    ),
  );
export const usageQuery = (id: string, slice: number, attempt?: number) =>
  queryOptions({
    queryKey: ["job", id, "usage", slice, attempt ?? null],
    queryFn: () =>
      ask(
        api.GET("/api/v1/jobs/{job_id}/usage", {
          params: { ...path(id), query: { slice, ...(attempt && { attempt }) } },
        }),
      ),
  });
export const whyQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "why"],
    queryFn: () => ask(api.GET("/api/v1/jobs/{job_id}/why", { params: path(id) })),
  });
export const explainQuery = (id: string, slice: number) =>
  queryOptions({
    queryKey: ["job", id, "cost", slice],
    queryFn: () =>
      ask(
        api.GET("/api/v1/jobs/{job_id}/explain", {
          params: { ...path(id), query: { from_slice: slice, slice_limit: 1 } },
        }),
      ),
  });
export const outputsQuery = (id: string) => ({
  queryKey: ["job", id, "outputs"],
  queryFn: ({ pageParam }: { pageParam: string | undefined }) =>
    ask(
      api.GET("/api/v1/jobs/{job_id}/artifacts", {
        params: { ...path(id), query: { limit: 200, ...(pageParam && { cursor: pageParam }) } },
      }),
    ),
  initialPageParam: undefined as string | undefined,
  getNextPageParam: (page: Schemas["OutputPage"]) => page.next ?? undefined,
});
export const verificationQuery = (id: string) =>
  pages(["job", id, "verification"], (cursor) =>
    ask(
      api.GET("/api/v1/jobs/{job_id}/verification", { params: { ...path(id), query: { ...(cursor && { cursor }) } } }),
    ),
  );
export const receiptsQuery = (id: string) =>
  pages(["job", id, "receipts"], (cursor) =>
    ask(api.GET("/api/v1/jobs/{job_id}/receipts", { params: { ...path(id), query: { ...(cursor && { cursor }) } } })),
  );
export const checksQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "checks"],
    queryFn: () => ask(api.GET("/api/v1/jobs/{job_id}/checks", { params: path(id) })),
  });
export const cloneQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "clone"],
    queryFn: () => ask(api.GET("/api/v1/jobs/{job_id}/clone", { params: path(id) })),
  });
export const disputeQuery = (id: string) =>
  queryOptions({
    queryKey: ["disputes", id],
    queryFn: () => ask(api.GET("/api/v1/disputes/{dispute_id}", { params: { path: { dispute_id: id } } })),
  });
export const sharesQuery = (id: string) =>
  queryOptions({
    queryKey: ["job", id, "shares"],
    queryFn: () => ask(api.GET("/api/v1/jobs/{job_id}/shares", { params: path(id) })),
  });

export const sharedQuery = (token: string) =>
  queryOptions({
    queryKey: ["shared", token],
    queryFn: () => ask(open.GET("/api/v1/public/shares/{token}", { params: { path: { token } } })),
    meta: { public: true },
  });
export const sharedOutputsQuery = (token: string) => ({
  ...pages(["shared", token, "outputs"], (cursor) =>
    ask(
      open.GET("/api/v1/public/shares/{token}/outputs", {
        params: { path: { token }, query: { ...(cursor && { cursor }) } },
      }),
    ),
  ),
  meta: { public: true },
});
