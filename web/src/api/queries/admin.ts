// What operators read. Every key begins with "admin", so that admin events make it stale; lists of jobs and nodes
// begin with "jobs" and "nodes", which their own events reach.
import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, ask, type Schemas } from "../client";
import { pages } from "./pages";

export type Filters = Record<string, string | undefined>;
/** A word of the address as the API takes it: nothing where the filter is not set. */
export const word = <T extends string>(text: string | undefined): T | null => (text || null) as T | null;
const LIMIT = 50;

/** A list with a cursor whose old rows stay while a filter is changed. */
const listed = <P extends { items: unknown[]; next?: string | null }>(
  area: string,
  name: string,
  filters: Filters,
  read: (cursor: string | null) => Promise<P>,
) => ({
  ...pages([area, name, filters], (cursor) => read(cursor ?? null)),
  placeholderData: keepPreviousData,
});

export const overviewQuery = (days: number) =>
  queryOptions({
    queryKey: ["admin", "overview", days],
    queryFn: () => ask(api.GET("/api/v1/admin/overview", { params: { query: { days } } })),
    placeholderData: keepPreviousData,
  });
export const poolSeriesQuery = (days: number) =>
  queryOptions({
    queryKey: ["admin", "series", days],
    queryFn: () => {
      const since = new Date(Date.now() - days * 86_400_000).toISOString();
      return ask(api.GET("/api/v1/admin/series", { params: { query: { since } } }));
    },
    placeholderData: keepPreviousData,
  });
export const ledgerQuery = queryOptions({
  queryKey: ["admin", "ledger"],
  queryFn: () => ask(api.GET("/api/v1/admin/ledger")),
});

export const queueQuery = (filters: Filters) =>
  listed("admin", "queue", filters, (cursor) => {
    const kind = word<Schemas["QueueKind"]>(filters.kind);
    return ask(api.GET("/api/v1/admin/queue", { params: { query: { kind: kind && [kind], limit: LIMIT, cursor } } }));
  });
/** How many wait, for the menu and the start page. */
export const waitingQuery = queryOptions({
  queryKey: ["admin", "waiting"],
  queryFn: () => ask(api.GET("/api/v1/admin/queue", { params: { query: { limit: 6 } } })),
});

export const disputesQuery = (filters: Filters) =>
  listed("admin", "disputes", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/disputes", {
        params: {
          query: {
            state: word<Schemas["DisputeState"]>(filters.state),
            kind: word<Schemas["DisputeKind"]>(filters.kind),
            owner_id: word(filters.owner),
            limit: LIMIT,
            cursor,
          },
        },
      }),
    ),
  );
export const disputeQuery = (id: string) =>
  queryOptions({
    queryKey: ["admin", "dispute", id],
    queryFn: () => ask(api.GET("/api/v1/admin/disputes/{dispute_id}", { params: { path: { dispute_id: id } } })),
  });
export const cashOutsQuery = (filters: Filters) =>
  listed("admin", "cash-outs", filters, (cursor) => {
    const state = word<Schemas["CashOutState"]>(filters.state);
    return ask(
      api.GET("/api/v1/admin/cash-outs", {
        params: { query: { state: state && [state], owner_id: word(filters.owner), limit: LIMIT, cursor } },
      }),
    );
  });
export const accusationsQuery = (filters: Filters) =>
  listed("admin", "accusations", filters, (cursor) => {
    const state = word<Schemas["AccusationState"]>(filters.state);
    return ask(
      api.GET("/api/v1/admin/accusations", { params: { query: { state: state && [state], limit: LIMIT, cursor } } }),
    );
  });
export const contestsQuery = (filters: Filters) =>
  listed("admin", "contests", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/contests", { params: { query: { all: filters.state === "all", limit: LIMIT, cursor } } }),
    ),
  );
export const checksQuery = (filters: Filters) =>
  listed("admin", "checks", filters, (cursor) => {
    const state = word<Schemas["AuditView"]["state"]>(filters.state);
    return ask(
      api.GET("/api/v1/admin/audits", {
        params: { query: { state: state && [state], node: word(filters.node), limit: LIMIT, cursor } },
      }),
    );
  });

export const allJobsQuery = (filters: Filters) =>
  listed("jobs", "admin", filters, (cursor) => {
    const state = word<Schemas["JobState"]>(filters.state);
    return ask(
      api.GET("/api/v1/jobs", {
        params: {
          query: {
            state: state && [state],
            search: word(filters.q),
            owner: word(filters.owner),
            node: word(filters.node),
            order: word<Schemas["JobOrder"]>(filters.order) ?? "-created",
            limit: LIMIT,
            cursor,
          },
        },
      }),
    );
  });
export const allNodesQuery = (filters: Filters) =>
  listed("nodes", "admin", filters, (cursor) =>
    ask(
      api.GET("/api/v1/nodes", {
        params: {
          query: {
            state: word<Schemas["NodeState"]>(filters.state),
            search: word(filters.q),
            owner: word(filters.owner),
            country: word(filters.country),
            limit: LIMIT,
            cursor,
          },
        },
      }),
    ),
  );
export const usersQuery = (filters: Filters) =>
  listed("admin", "users", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/users", {
        params: {
          query: {
            search: word(filters.q),
            role: word<Schemas["Role"]>(filters.role),
            disabled: filters.state ? filters.state === "disabled" : null,
            limit: LIMIT,
            cursor,
          },
        },
      }),
    ),
  );
const ofUser = (user: string) => ({ params: { path: { user } } });
export const userQuery = (user: string) =>
  queryOptions({
    queryKey: ["admin", "user", user],
    queryFn: () => ask(api.GET("/api/v1/admin/users/{user}", ofUser(user))),
  });
export const userSessionsQuery = (user: string) =>
  queryOptions({
    queryKey: ["admin", "user", user, "sessions"],
    queryFn: () => ask(api.GET("/api/v1/admin/users/{user}/sessions", ofUser(user))),
  });
const ofOwner = (owner_id: string) => ({ params: { path: { owner_id } } });
export const limitsQuery = (owner: string) =>
  queryOptions({
    queryKey: ["admin", "user", owner, "limits"],
    queryFn: () => ask(api.GET("/api/v1/admin/limits/{owner_id}", ofOwner(owner))),
  });
export const storageQuery = queryOptions({
  queryKey: ["admin", "storage"],
  queryFn: () => ask(api.GET("/api/v1/admin/storage", { params: { query: { limit: 200 } } })),
});
export const ownerStorageQuery = (owner: string) =>
  queryOptions({
    queryKey: ["admin", "storage", owner],
    queryFn: () => ask(api.GET("/api/v1/admin/storage/{owner_id}", ofOwner(owner))),
  });

export const auditQuery = (filters: Filters) =>
  listed("admin", "audit", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/audit", {
        params: {
          query: {
            actor: word(filters.actor),
            action: word(filters.action),
            subject: word(filters.subject),
            q: word(filters.q),
            since: filters.since ? new Date(filters.since).toISOString() : null,
            until: filters.until ? new Date(filters.until).toISOString() : null,
            order: filters.order === "at" ? "at" : "-at",
            limit: LIMIT,
            cursor,
          },
        },
      }),
    ),
  );
export const auditActionsQuery = queryOptions({
  queryKey: ["admin", "audit-actions"],
  queryFn: () => ask(api.GET("/api/v1/admin/audit/actions")),
});

export const settingsQuery = queryOptions({
  queryKey: ["admin", "settings"],
  queryFn: () => ask(api.GET("/api/v1/admin/settings")),
});
const ofSetting = (name: string) => ({ params: { path: { name } } });
export const settingQuery = (name: string) =>
  queryOptions({
    queryKey: ["admin", "setting", name],
    queryFn: () => ask(api.GET("/api/v1/admin/settings/{name}", ofSetting(name))),
  });
export const settingHistoryQuery = (name: string) =>
  queryOptions({
    queryKey: ["admin", "setting", name, "history"],
    queryFn: () => ask(api.GET("/api/v1/admin/settings/{name}/history", ofSetting(name))),
  });
export const settingPreviewQuery = (name: string, value: Schemas["SettingTry"]["value"]) =>
  queryOptions({
    queryKey: ["admin", "setting", name, "preview", value],
    queryFn: () => ask(api.POST("/api/v1/admin/settings/{name}/preview", { ...ofSetting(name), body: { value } })),
    retry: false,
  });
export type MarketTable = Schemas["MarketTableNote"]["name"];
export const marketTableQuery = (name: MarketTable) =>
  queryOptions({
    queryKey: ["admin", "market", name],
    queryFn: () => ask(api.GET("/api/v1/admin/market/{name}", { params: { path: { name } } })),
  });

export const vouchersQuery = () =>
  listed("admin", "vouchers", {}, (cursor) =>
    ask(api.GET("/api/v1/admin/vouchers", { params: { query: { limit: LIMIT, cursor } } })),
  );
export const redemptionsQuery = (id: string) =>
  listed("admin", "redemptions", { id }, (cursor) =>
    ask(
      api.GET("/api/v1/admin/vouchers/{voucher_id}/redemptions", {
        params: { path: { voucher_id: id }, query: { limit: LIMIT, cursor } },
      }),
    ),
  );
export const mailsQuery = (filters: Filters) =>
  listed("admin", "mails", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/mails", {
        params: {
          query: {
            state: word<Schemas["MailState"]>(filters.state),
            user_id: word(filters.user),
            limit: LIMIT,
            cursor,
          },
        },
      }),
    ),
  );

export const differencesQuery = (filters: Filters) =>
  listed("admin", "differences", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/payments/differences", {
        params: { query: { everything: filters.state === "all", limit: LIMIT, cursor } },
      }),
    ),
  );
export const topUpsQuery = (filters: Filters) =>
  listed("admin", "top-ups", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/top-ups", {
        params: {
          query: {
            state: word<Schemas["TopUpState"]>(filters.state),
            owner_id: word(filters.owner),
            limit: LIMIT,
            cursor,
          },
        },
      }),
    ),
  );
export const paymentRequestsQuery = (filters: Filters) =>
  listed("admin", "requests", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/payments/requests", {
        params: {
          query: {
            state: word<Schemas["RequestState"]>(filters.state),
            kind: word<Schemas["RequestKind"]>(filters.kind),
            owner_id: word(filters.owner),
            limit: LIMIT,
            cursor,
          },
        },
      }),
    ),
  );
export const paymentEventsQuery = (filters: Filters) =>
  listed("admin", "events", filters, (cursor) =>
    ask(
      api.GET("/api/v1/admin/payments/events", {
        params: { query: { state: word<Schemas["EventState"]>(filters.state), limit: LIMIT, cursor } },
      }),
    ),
  );
