import { useMemo } from "react";
import type { Schemas } from "@/api/client";
import { Card } from "@/components/card";
import { Chart, type Series } from "@/components/chart";
import { count, percent } from "@/lib/amounts";
import { CENT, credits } from "@/lib/money";
import { duration } from "@/lib/time";
import { admin } from "@/texts/admin";

const { charts: text } = admin.overview;
type Day = Schemas["OverviewDay"];
const DAY = 86_400;
/** The top of a scale on which nothing was spent. */
const ONE_CREDIT = 1_000_000;

function Panel({
  title,
  x,
  series,
  format,
  max,
  step,
  every,
  className,
}: {
  title: string;
  x: number[];
  series: Series[];
  format: (value: number) => string;
  max?: number;
  step?: number;
  /** Seconds between two measurements; the other charts have a value for each day. */
  every?: number | undefined;
  className?: string | undefined;
}) {
  const some = series.some(({ values }) => values.some((value) => value != null)) && x.length > 1;
  return (
    <Card title={title} {...(className ? { className } : {})}>
      {some ? (
        <Chart
          label={title}
          x={x}
          series={series}
          format={format}
          height={170}
          {...(max ? { max } : {})}
          {...(step ? { step } : {})}
        />
      ) : (
        <p className="flex h-42 items-center justify-center text-center text-balance text-muted">
          {every ? text.begins(duration(every)) : text.empty}
        </p>
      )}
    </Card>
  );
}

const whole = (value: number) => (Number.isInteger(value) ? count(value) : "");
const time = (value: number) => duration(value);
const money = (value: number) => credits(BigInt(Math.round(value)));

export default function OverviewCharts({
  overview,
  series,
  money: hasMoney,
}: {
  overview: Schemas["Overview"];
  series: Schemas["PoolSeries"] | undefined;
  money: boolean;
}) {
  const { days } = overview;
  // An empty day at both ends, so that the bars of the first and the last are whole.
  const x = useMemo(() => {
    const starts = days.map(({ day }) => Date.parse(`${day}T00:00:00Z`) / 1000);
    return [(starts[0] ?? 0) - DAY, ...starts, (starts.at(-1) ?? 0) + DAY];
  }, [days]);
  const of = (read: (day: Day) => number | null | undefined) => [null, ...days.map((day) => read(day) ?? null), null];
  // From the first measurement on: what was before the pool would only push the lines to the edge.
  const first = useMemo(() => {
    const starts = series?.columns.map(({ average }) => average.findIndex((value) => value !== null)) ?? [];
    return Math.max(0, Math.min(...starts.filter((start) => start >= 0)));
  }, [series]);
  const times = useMemo(() => {
    if (!series || !Number.isFinite(first)) return [];
    const start = Date.parse(series.start_at) / 1000;
    const points = Array.from({ length: series.points }, (_, point) => start + point * series.step_seconds);
    return points.slice(first);
  }, [series, first]);
  const measured = (name: string) =>
    series?.columns.find((column) => column.name === name)?.average.slice(first) ?? times.map(() => null);
  const line = (name: string, colour: string, values: (number | null)[], fill = true): Series => ({
    name,
    colour,
    values,
    fill,
  });
  const bars = (name: string, colour: string, values: (number | null)[]): Series => ({
    name,
    colour,
    values,
    bars: true,
  });
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <Panel
        title={text.jobs}
        x={x}
        format={whole}
        step={1}
        series={[
          bars(
            text.submitted,
            "--live-dot",
            of((day) => day.jobs),
          ),
          bars(
            text.failed,
            "--bad-dot",
            of((day) => day.ended.failed ?? 0),
          ),
        ]}
      />
      {hasMoney && (
        <Panel
          title={text.money}
          x={x}
          format={money}
          step={CENT}
          {...(days.some((day) => day.spent_micros) ? {} : { max: ONE_CREDIT })}
          series={[
            bars(
              text.spent,
              "--good-dot",
              of((day) => day.spent_micros),
            ),
            bars(
              text.fees,
              "--held-dot",
              of((day) => day.fees_micros),
            ),
          ]}
        />
      )}
      <Panel
        title={text.queue}
        x={times}
        every={series?.step_seconds}
        format={whole}
        step={1}
        series={[
          line(text.waitingSlices, "--warn-dot", measured("queue_length")),
          line(text.runningSlices, "--live-dot", measured("running"), false),
        ]}
      />
      <Panel
        title={text.nodes}
        x={times}
        every={series?.step_seconds}
        format={whole}
        step={1}
        series={[line(text.online, "--good-dot", measured("nodes_online"))]}
      />
      <Panel
        title={text.wait}
        x={x}
        format={time}
        series={[
          bars(
            text.longest,
            "--tier-0",
            of((day) => (day.waits ? day.wait_most_seconds : null)),
          ),
          bars(
            text.average,
            "--warn-dot",
            of((day) => day.wait_average_seconds),
          ),
        ]}
      />
      <Panel
        title={text.start}
        x={x}
        format={time}
        series={[
          bars(
            text.longest,
            "--tier-0",
            of((day) => (day.starts ? day.start_most_seconds : null)),
          ),
          bars(
            text.average,
            "--live-dot",
            of((day) => day.start_average_seconds),
          ),
        ]}
      />
      <Panel
        title={text.use}
        x={times}
        every={series?.step_seconds}
        format={percent}
        max={1}
        className={hasMoney ? "md:col-span-2" : undefined}
        series={[
          line(text.gpus, "--held-dot", measured("gpu_utilisation")),
          line(text.cores, "--live-dot", measured("core_utilisation"), false),
        ]}
      />
    </div>
  );
}
