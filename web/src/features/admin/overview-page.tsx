import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useRef } from "react";
import type { Schemas } from "@/api/client";
import { useLive, useMoney } from "@/api/hooks";
import { overviewQuery, poolSeriesQuery, waitingQuery } from "@/api/queries/admin";
import { statsQuery } from "@/api/queries/public";
import { Card, Figure, Figures } from "@/components/card";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Skeleton, SkeletonRows } from "@/components/skeleton";
import { Choices } from "@/components/tabs";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { credits } from "@/lib/money";
import { patiently } from "@/lib/patiently";
import { duration } from "@/lib/time";
import { admin } from "@/texts/admin";
import { QueueList } from "./queue-list";
import { Section } from "./section";

const Charts = lazy(patiently(() => import("./overview-charts")));
const { overview: text } = admin;
const RANGES = ["7", "30", "90"] as const;
/** Daily totals and measurements have no events of their own: they are read anew with the public figures, not oftener. */
const FRESH_MS = 60_000;

function useFreshTotals() {
  const queries = useQueryClient();
  const read = useRef(Date.now());
  useLive("public", () => {
    if (Date.now() - read.current < FRESH_MS) return;
    read.current = Date.now();
    for (const name of ["overview", "series"]) void queries.invalidateQueries({ queryKey: ["admin", name] });
  });
}

function Waiting() {
  const query = useQuery(waitingQuery);
  const money = useMoney();
  const total = query.data?.total ?? 0;
  return (
    <Card
      flush
      title={text.waiting}
      aside={
        total > 0 && (
          <Link to="/admin/queue" className="text-accent hover:underline">
            {text.allWaiting(count(total))}
          </Link>
        )
      }
    >
      <div className="border-t border-line">
        <Loaded query={query} skeleton={<SkeletonRows rows={3} className="h-20" />}>
          {({ items }) =>
            items.length ? (
              <QueueList items={items} />
            ) : (
              <Empty title={text.nothing} about={money ? text.nothingAbout : text.nothingFree} />
            )
          }
        </Loaded>
      </div>
    </Card>
  );
}

const seconds = (value: number | null | undefined) => (value == null ? text.noValue : duration(value));

function Numbers({ overview, days }: { overview: Schemas["Overview"]; days: string }) {
  const { totals, before } = overview;
  const stats = useQuery(statsQuery).data;
  const than = (old: string | null) => (old === null ? undefined : text.before(old, days));
  const since = (old: number | null) => than(old === null ? null : duration(old));
  return (
    <Figures className={cn("rounded-lg border border-line", totals.spent_micros == null && "sm:grid-cols-3!")}>
      <Figure name={text.jobs} value={count(totals.jobs)} note={than(count(before.jobs))} />
      {totals.spent_micros != null && (
        <Figure
          name={text.spent}
          value={<Money micros={totals.spent_micros} />}
          note={than(`${credits(before.spent_micros ?? 0)} cr`)}
        />
      )}
      {totals.fees_micros != null && (
        <Figure
          name={text.fees}
          value={<Money micros={totals.fees_micros} />}
          note={than(`${credits(before.fees_micros ?? 0)} cr`)}
        />
      )}
      <Figure name={text.nodes} value={stats ? count(stats.nodes_online) : text.noValue} />
      <Figure name={text.wait} value={seconds(totals.wait_average_seconds)} note={since(before.wait_average_seconds)} />
      <Figure
        name={text.start}
        value={seconds(totals.start_average_seconds)}
        note={since(before.start_average_seconds)}
      />
      <Figure name={text.gpuHours} value={duration(totals.gpu_seconds)} note={than(duration(before.gpu_seconds))} />
      <Figure name={text.queue} value={stats ? count(stats.slices_queued) : text.noValue} />
    </Figures>
  );
}

export default function OverviewPage() {
  const [filters, set] = useFilters<{ days?: string }>();
  const days = RANGES.find((range) => range === filters.days) ?? "30";
  const overview = useQuery(overviewQuery(Number(days)));
  const series = useQuery(poolSeriesQuery(Number(days)));
  const money = useMoney();
  useFreshTotals();
  return (
    <Section title={admin.title} about={text.about}>
      <Waiting />
      <div className="mt-2 flex flex-wrap items-center justify-between gap-2">
        <Choices
          label={text.range}
          value={days}
          options={RANGES.map((range) => [range, text.days(range)] as const)}
          onChange={(range) => set({ days: range === "30" ? undefined : range })}
        />
        {overview.data?.counted_at && (
          <p className="text-sm text-muted">
            {text.counted} <When at={overview.data.counted_at} ago />
          </p>
        )}
      </div>
      <Loaded query={overview} skeleton={<Skeleton className="h-44 rounded-lg" />}>
        {(data) => (
          <>
            <Numbers overview={data} days={days} />
            <Suspense fallback={<Skeleton className="h-96 rounded-lg" />}>
              <Charts overview={data} series={series.data} money={money} />
            </Suspense>
          </>
        )}
      </Loaded>
    </Section>
  );
}
