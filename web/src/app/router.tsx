// Every address of the app. A page is a lazy chunk: its default export is the component.
import type { QueryClient } from "@tanstack/react-query";
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent as lazy,
  notFound,
  type RouterHistory,
  redirect,
} from "@tanstack/react-router";
import { meQuery } from "@/api/queries/account";
import { begun, isSignedIn } from "@/api/session";
import { patiently } from "@/lib/patiently";
import { parseSearch, stringifySearch, texts } from "@/lib/search";
import { BrokenPage, NotFound, PendingPage } from "./fallbacks";
import { Shell } from "./shell";

const root = createRootRouteWithContext<{ queries: QueryClient }>()({ component: Shell, notFoundComponent: NotFound });

/** Pages for whoever is signed in; others are sent to sign in, and come back. */
const own = createRoute({
  getParentRoute: () => root,
  id: "own",
  beforeLoad: async ({ location }) => {
    await begun;
    if (!isSignedIn()) throw redirect({ to: "/sign-in", search: { next: location.href } });
  },
});
const admin = createRoute({
  getParentRoute: () => own,
  path: "/admin",
  component: lazy(patiently(() => import("@/features/admin/frame"))),
  beforeLoad: async ({ context }) => {
    if ((await context.queries.ensureQueryData(meQuery)).role !== "admin") throw notFound();
  },
});

const page = { getParentRoute: () => root };
const ownPage = { getParentRoute: () => own };
const adminPage = { getParentRoute: () => admin };

/** The plain parameters of `market/offers`. */
const OFFER_PARAMETERS = [
  "filter gpu min_gpus min_gpus_free min_vram min_cpus min_memory min_disk max_price max_core_price",
  "max_price_per_tflops min_gflops min_reliability tier min_tier country region tag min_isolation verified simulated",
].flatMap((names) => names.split(" "));

const everybody = [
  createRoute({ ...page, path: "/", component: lazy(patiently(() => import("@/features/home/home-page"))) }),
  createRoute({
    ...page,
    path: "/sign-in",
    validateSearch: texts("next"),
    component: lazy(patiently(() => import("@/features/accounts/sign-in-page"))),
  }),
  createRoute({
    ...page,
    path: "/sign-up",
    validateSearch: texts("next"),
    component: lazy(patiently(() => import("@/features/accounts/sign-up-page"))),
  }),
  createRoute({ ...page, path: "/docs", component: lazy(patiently(() => import("@/features/docs/docs-page"))) }),
  createRoute({
    ...page,
    path: "/market",
    validateSearch: texts(...OFFER_PARAMETERS, "order", "days", "segment"),
    component: lazy(patiently(() => import("@/features/market/market-page"))),
  }),
  createRoute({
    ...page,
    path: "/market/nodes/$nodeId",
    component: lazy(patiently(() => import("@/features/market/public-node-page"))),
  }),
  createRoute({
    ...page,
    path: "/map",
    validateSearch: texts("tier", "state", "kind", "country"),
    component: lazy(patiently(() => import("@/features/map/map-page"))),
  }),
  createRoute({
    ...page,
    path: "/shared/$token",
    validateSearch: texts("slice"),
    component: lazy(patiently(() => import("@/features/jobs/shared-page"))),
  }),
  createRoute({
    ...page,
    path: "/leaderboard",
    validateSearch: texts("period"),
    component: lazy(patiently(() => import("@/features/market/leaderboard-page"))),
  }),
];
const signedIn = [
  createRoute({
    ...ownPage,
    path: "/device",
    validateSearch: texts("code"),
    component: lazy(patiently(() => import("@/features/accounts/device-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/jobs",
    validateSearch: texts("state", "q", "node", "since", "until", "order", "mine"),
    component: lazy(patiently(() => import("@/features/jobs/jobs-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/jobs/$jobId",
    validateSearch: texts("slice", "attempt", "tab", "file"),
    component: lazy(patiently(() => import("@/features/jobs/job-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/submit",
    validateSearch: texts("from", "relax", "template", "node"),
    component: lazy(patiently(() => import("@/features/submit/submit-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/nodes",
    validateSearch: texts("q", "state", "gpu", "tag", "add"),
    component: lazy(patiently(() => import("@/features/nodes/nodes-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/nodes/$nodeId",
    validateSearch: texts("range"),
    component: lazy(patiently(() => import("@/features/nodes/node-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/wallet",
    validateSearch: texts("kind", "days", "node", "job"),
    component: lazy(patiently(() => import("@/features/wallet/wallet-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/account",
    component: lazy(patiently(() => import("@/features/accounts/account-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/account/notices",
    validateSearch: texts("unread"),
    component: lazy(patiently(() => import("@/features/accounts/notices-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/account/sessions",
    component: lazy(patiently(() => import("@/features/accounts/sessions-page"))),
  }),
  createRoute({
    ...ownPage,
    path: "/account/tokens",
    component: lazy(patiently(() => import("@/features/accounts/tokens-page"))),
  }),
];
const admins = [
  createRoute({
    ...adminPage,
    path: "/",
    validateSearch: texts("days"),
    component: lazy(patiently(() => import("@/features/admin/overview-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/queue",
    validateSearch: texts("kind"),
    component: lazy(patiently(() => import("@/features/admin/queue-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/disputes",
    validateSearch: texts("state", "kind", "owner"),
    component: lazy(patiently(() => import("@/features/admin/disputes-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/disputes/$disputeId",
    component: lazy(patiently(() => import("@/features/admin/dispute-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/cash-outs",
    validateSearch: texts("state", "owner"),
    component: lazy(patiently(() => import("@/features/admin/cash-outs-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/checks",
    validateSearch: texts("tab", "state", "node"),
    component: lazy(patiently(() => import("@/features/admin/checks-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/jobs",
    validateSearch: texts("q", "state", "owner", "node", "order"),
    component: lazy(patiently(() => import("@/features/admin/jobs-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/nodes",
    validateSearch: texts("q", "state", "owner", "country"),
    component: lazy(patiently(() => import("@/features/admin/nodes-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/users",
    validateSearch: texts("q", "role", "state"),
    component: lazy(patiently(() => import("@/features/admin/users-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/users/$userId",
    component: lazy(patiently(() => import("@/features/admin/user-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/storage",
    component: lazy(patiently(() => import("@/features/admin/storage-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/audit",
    validateSearch: texts("q", "actor", "action", "subject", "since", "until", "order"),
    component: lazy(patiently(() => import("@/features/admin/audit-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/settings",
    validateSearch: texts("q"),
    component: lazy(patiently(() => import("@/features/admin/settings-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/settings/$name",
    component: lazy(patiently(() => import("@/features/admin/setting-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/settings/tables/$table",
    component: lazy(patiently(() => import("@/features/admin/table-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/vouchers",
    component: lazy(patiently(() => import("@/features/admin/vouchers-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/mails",
    validateSearch: texts("state", "user"),
    component: lazy(patiently(() => import("@/features/admin/mails-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/payments",
    validateSearch: texts("tab", "state", "kind", "owner"),
    component: lazy(patiently(() => import("@/features/admin/payments-page"))),
  }),
  createRoute({
    ...adminPage,
    path: "/ledger",
    component: lazy(patiently(() => import("@/features/admin/ledger-page"))),
  }),
];

const routeTree = root.addChildren([...everybody, own.addChildren([...signedIn, admin.addChildren(admins)])]);

export const makeRouter = (queries: QueryClient, history?: RouterHistory) =>
  createRouter({
    routeTree,
    ...(history && { history }),
    // Prerendered, it would write a script into the page, which the policy forbids.
    scrollRestoration: !history,
    context: { queries },
    parseSearch,
    stringifySearch,
    defaultPreload: "intent",
    defaultPendingMs: 300,
    defaultPendingComponent: PendingPage,
    defaultErrorComponent: BrokenPage,
    defaultNotFoundComponent: NotFound,
  });
declare module "@tanstack/react-router" {
  interface Register {
    router: ReturnType<typeof makeRouter>;
  }
}
