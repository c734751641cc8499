// The frame of all pages for operators: their menu, and the state of the ledger, which is always in sight.
import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouterState } from "@tanstack/react-router";
import { ChevronDown } from "lucide-react";
import { useEffect, useState } from "react";
import { useConfig } from "@/api/hooks";
import { ledgerQuery, waitingQuery } from "@/api/queries/admin";
import { dotClass } from "@/components/state";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { admin } from "@/texts/admin";

const { nav, groups } = admin;
type Entry = { to: string; name: string; money?: boolean; exact?: boolean };
const MENU: { name: string; links: Entry[] }[] = [
  {
    name: groups.now,
    links: [
      { to: "/admin", name: nav.overview, exact: true },
      { to: "/admin/queue", name: nav.queue },
    ],
  },
  {
    name: groups.pool,
    links: [
      { to: "/admin/jobs", name: nav.jobs },
      { to: "/admin/nodes", name: nav.nodes },
      { to: "/admin/users", name: nav.users },
      { to: "/admin/storage", name: nav.storage },
      { to: "/admin/checks", name: nav.checks },
    ],
  },
  {
    name: groups.money,
    links: [
      { to: "/admin/disputes", name: nav.disputes, money: true },
      { to: "/admin/cash-outs", name: nav.cashOuts, money: true },
      { to: "/admin/payments", name: nav.payments, money: true },
      { to: "/admin/vouchers", name: nav.vouchers, money: true },
      { to: "/admin/ledger", name: nav.ledger, money: true },
    ],
  },
  {
    name: groups.hub,
    links: [
      { to: "/admin/settings", name: nav.settings },
      { to: "/admin/audit", name: nav.audit },
      { to: "/admin/mails", name: nav.mails },
    ],
  },
];

function LedgerState() {
  const { data } = useQuery(ledgerQuery);
  const text = admin.ledgerState;
  const words = data?.frozen_since
    ? ["failed", text.frozen]
    : !data?.last
      ? ["offline", text.unknown]
      : data.last.balanced
        ? ["online", text.balanced]
        : ["failed", text.unbalanced];
  if (!data) return null;
  return (
    <Link to="/admin/ledger" className="flex items-center gap-2 rounded-md px-2.5 py-1.5 text-sm hover:bg-sunken">
      <span aria-hidden className={cn("size-2 shrink-0 rounded-full", dotClass(words[0]!))} />
      <span>
        <span className="block font-medium">{words[1]}</span>
        {data.last && (
          <span className="block text-muted">
            {text.checked} <When at={data.last.checked_at} ago />
          </span>
        )}
      </span>
    </Link>
  );
}

export default function AdminFrame() {
  // Only once it is known: a pool without money has no ledger to ask for.
  const money = useConfig()?.money === true;
  const waiting = useQuery(waitingQuery).data?.total;
  const path = useRouterState({ select: (state) => state.location.pathname });
  const [open, setOpen] = useState(false);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page was opened
  useEffect(() => setOpen(false), [path]);
  const menu = MENU.map(({ name, links }) => ({ name, links: links.filter((link) => money || !link.money) }));
  const current = menu
    .flatMap((group) => group.links)
    .findLast((link) => (link.exact ? path === link.to : path.startsWith(link.to)));
  return (
    <div className="mx-auto grid w-full max-w-7xl flex-1 content-start gap-x-8 px-4 pt-6 pb-12 sm:px-6 lg:grid-cols-[11.5rem_minmax(0,1fr)]">
      <div className="max-lg:mb-4">
        <div className="flex items-center justify-between gap-2 lg:hidden">
          <button
            type="button"
            aria-expanded={open}
            aria-controls="admin-sections"
            onClick={() => setOpen(!open)}
            className="inline-flex h-9 cursor-pointer items-center gap-2 rounded-md border border-line bg-surface px-3 font-medium"
          >
            {current?.name ?? nav.overview}
            <ChevronDown size={14} aria-hidden className={cn("transition-transform", open && "rotate-180")} />
          </button>
          {money && <LedgerState />}
        </div>
        <nav
          id="admin-sections"
          aria-label={admin.sections}
          className={cn(
            "max-lg:mt-2 max-lg:grid-cols-2 max-lg:gap-4 max-lg:rounded-lg max-lg:border max-lg:border-line max-lg:bg-surface max-lg:p-3 lg:sticky lg:top-20 lg:block",
            open ? "max-lg:grid" : "max-lg:hidden",
          )}
        >
          {menu.map((group) =>
            group.links.length === 0 ? null : (
              <div key={group.name} className="lg:mb-4">
                <p className="px-2.5 pb-1 text-xs text-muted">{group.name}</p>
                {group.links.map(({ to, name, exact }) => (
                  <Link
                    key={to}
                    to={to}
                    activeOptions={{ exact: exact ?? false, includeSearch: false }}
                    className="flex items-center justify-between rounded-md px-2.5 py-1.5 text-muted hover:bg-sunken hover:text-text"
                    activeProps={{ className: "bg-sunken font-medium text-text!" }}
                  >
                    {name}
                    {to === "/admin/queue" && !!waiting && (
                      <span className="rounded-full bg-warn-soft px-1.5 text-xs font-medium text-warn">
                        {count(waiting)}
                      </span>
                    )}
                  </Link>
                ))}
              </div>
            ),
          )}
          {money && (
            <div className="border-t border-line pt-3 max-lg:hidden">
              <LedgerState />
            </div>
          )}
        </nav>
      </div>
      <div className="min-w-0">
        <Outlet />
      </div>
    </div>
  );
}
