import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { useMoney } from "@/api/hooks";
import { nodeAttemptsQuery } from "@/api/queries/nodes";
import { flat } from "@/api/queries/pages";
import { Card } from "@/components/card";
import { Money } from "@/components/money";
import { More } from "@/components/more";
import { SkeletonRows } from "@/components/skeleton";
import { State, Tag } from "@/components/state";
import { type Column, Table } from "@/components/table";
import { Trouble } from "@/components/trouble";
import { Took, When } from "@/components/when";
import { bytes } from "@/lib/amounts";
import { duration } from "@/lib/time";
import { nodes as texts } from "@/texts/nodes";

const t = texts.attempts;
type Attempt = Schemas["NodeAttempt"];

/** What runs on a node now, or ran there before, with what it earned. */
export function Attempts({ nodeId, running }: { nodeId: string; running: boolean }) {
  const money = useMoney();
  const query = useInfiniteQuery(nodeAttemptsQuery(nodeId, running));
  const rows = query.data && flat(query.data);
  const columns: Column<Attempt>[] = [
    {
      name: t.attempt,
      cell: (attempt) =>
        attempt.own ? (
          <Link
            to="/jobs/$jobId"
            params={{ jobId: attempt.job_id }}
            className="font-medium whitespace-nowrap hover:underline"
          >
            {t.own}
          </Link>
        ) : (
          <span className="font-mono text-sm break-all">{attempt.attempt_id.slice(-8)}</span>
        ),
    },
    {
      name: t.state,
      cell: (attempt) => (
        <span className="inline-flex flex-wrap items-center gap-2">
          <State of={attempt.state} />
          {attempt.reason && attempt.state !== "succeeded" && <Tag>{attempt.reason.replaceAll("_", " ")}</Tag>}
        </span>
      ),
    },
    {
      name: t.began,
      className: "max-sm:hidden",
      cell: (attempt) => <When at={attempt.started_at ?? attempt.leased_at} ago />,
    },
    {
      name: t.took,
      align: "right",
      className: "max-sm:hidden",
      cell: (attempt) =>
        running ? (
          <Took from={attempt.started_at} />
        ) : (
          <span className="whitespace-nowrap">{duration(attempt.running_seconds)}</span>
        ),
    },
    {
      name: t.with,
      className: "max-lg:hidden",
      cell: (attempt) => (
        <span className="text-sm whitespace-nowrap text-muted">
          {attempt.gpus.length > 0 && `${t.gpus(attempt.gpus.length)}, `}
          {texts.list.cores(attempt.cpus)}, {bytes(attempt.memory_bytes)}
        </span>
      ),
    },
    ...(money ? [moneyColumn(running)] : []),
  ];
  return (
    <Card title={running ? t.now : t.before} aside={!running && query.data?.pages[0]?.total} flush>
      {rows === undefined ? (
        query.error ? (
          <div className="p-4">
            <Trouble error={query.error} retry={() => void query.refetch()} />
          </div>
        ) : (
          <SkeletonRows rows={running ? 1 : 4} />
        )
      ) : rows.length === 0 ? (
        <p className="px-4 pb-4 text-muted">{running ? t.none : t.noneBefore}</p>
      ) : (
        <Table
          label={running ? t.now : t.before}
          rows={rows}
          keyOf={(attempt) => attempt.attempt_id}
          columns={columns}
        />
      )}
      <More query={query} />
    </Card>
  );
}

const moneyColumn = (running: boolean): Column<Attempt> => ({
  name: t.earned,
  align: "right",
  cell: (attempt) =>
    attempt.own ? (
      <span className="text-muted">–</span>
    ) : (
      <>
        <Money micros={attempt.earned_micros ?? 0} />
        {running && attempt.unsettled_micros ? (
          <span className="block text-sm text-muted">
            + {t.about} <Money micros={attempt.unsettled_micros} />
          </span>
        ) : null}
        {attempt.price_micros ? (
          <span className="block text-sm text-muted">
            <Money micros={attempt.price_micros} per="h" />
          </span>
        ) : null}
      </>
    ),
});
