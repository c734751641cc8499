import { Link } from "@tanstack/react-router";
import { useMoney } from "@/api/hooks";
import type { NodeView } from "@/api/queries/nodes";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { State, Tag } from "@/components/state";
import { When } from "@/components/when";
import { country, percent } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { nodes as texts } from "@/texts/nodes";
import { Cards } from "./cards";

const t = texts.list;
const GRID =
  "grid gap-x-6 gap-y-3 px-4 lg:grid-cols-[minmax(0,1.25fr)_minmax(0,1.6fr)_7rem_6.5rem_7rem] max-lg:grid-cols-3";

export function NodeHeads() {
  const money = useMoney();
  return (
    <div
      aria-hidden
      className={cn(
        GRID,
        "h-9 items-center border-y border-line bg-sunken/50 text-sm font-medium text-muted max-lg:hidden!",
      )}
    >
      <span>{t.machine}</span>
      <span>{t.cards}</span>
      <span>{t.running}</span>
      <span className="text-right">{money && t.today}</span>
      <span className="text-right">{t.reliability}</span>
    </div>
  );
}

const Small = ({ name, children, right }: { name: string; children: React.ReactNode; right?: boolean }) => (
  <div className={cn("min-w-0", right && "lg:text-right")}>
    <span className="block text-sm text-muted lg:sr-only">{name}</span>
    {children}
  </div>
);

/** One machine of the list. */
export function NodeRow({ node }: { node: NodeView }) {
  const money = useMoney();
  const isAway = node.state === "offline" || node.state === "banned";
  const why = node.notice || (node.availability && !node.availability.strangers ? node.availability.reason : "");
  return (
    <li className={cn(GRID, "relative items-start py-3.5 hover:bg-sunken/60")}>
      <div className="min-w-0 max-lg:col-span-3">
        <div className="flex flex-wrap items-center gap-x-2.5 gap-y-1">
          <Link
            to="/nodes/$nodeId"
            params={{ nodeId: node.id }}
            className="min-w-0 font-medium break-all after:absolute after:inset-0"
          >
            {node.name}
          </Link>
          <State of={node.state} />
        </div>
        <div className="mt-1 flex flex-wrap items-center gap-1.5 text-sm text-muted">
          {node.capacity.simulated && <Tag>{t.simulated}</Tag>}
          {node.reliability.verified && <Tag tone="good">{t.verified}</Tag>}
          {node.tags
            .filter((tag) => tag !== "simulated")
            .map((tag) => (
              <Tag key={tag}>{tag}</Tag>
            ))}
          {node.country && <span>{country(node.country)}</span>}
          {isAway && (
            <span>
              {t.seen} <When at={node.last_seen_at} ago />
            </span>
          )}
        </div>
        {why && <p className="mt-1 text-sm text-warn text-pretty">{why}</p>}
      </div>
      <div className="min-w-0 max-lg:col-span-3">
        <Cards node={node} />
      </div>
      <Small name={t.running}>
        {node.running_attempts > 0 ? (
          <span className="text-live">{t.busy(node.running_attempts)}</span>
        ) : (
          <span className="text-muted">{t.idle}</span>
        )}
      </Small>
      {money ? (
        <Small name={t.today} right>
          {node.earned_today_micros === null ? (
            <span className="text-muted">–</span>
          ) : (
            <Money micros={node.earned_today_micros} />
          )}
        </Small>
      ) : (
        <span className="max-lg:hidden" />
      )}
      <Small name={t.reliability} right>
        {node.reliability.has_record ? (
          percent(node.reliability.mean)
        ) : (
          <span className="text-muted">{t.noRecord}</span>
        )}
      </Small>
    </li>
  );
}

export const NodeRowsSkeleton = () => (
  <div role="status" aria-label={t.table} className="divide-y divide-line">
    {["a", "b", "c", "d"].map((key) => (
      <div key={key} className={cn(GRID, "py-4")}>
        <Skeleton className="h-5 w-2/3" />
        <Skeleton className="h-5 w-full" />
        <Skeleton className="h-4 w-16" />
        <Skeleton className="ml-auto h-4 w-16 max-lg:hidden" />
        <Skeleton className="ml-auto h-4 w-12 max-lg:hidden" />
      </div>
    ))}
  </div>
);
