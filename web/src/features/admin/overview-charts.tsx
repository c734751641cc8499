import { useMemo } from "react";
import type { Schemas } from "@/api/client";
import { Card } from "@/components/card";
import { Chart, type Series } from "@/components/chart";
import { count, percent } from "@/lib/amounts";
import { credits } from "@/lib/money";
import { duration } from "@/lib/time";
import { admin } from "@/texts/admin";

const { charts: text } = admin.overview;
type Day = Schemas["OverviewDay"];

function Panel({
  title,
  x,
  series,
  format,
  max,
}: {
  title: string;
  x: number[];
  series: Series[];
  format: (value: number) => string;
  max?: number;
}) {
  const some = series.some(({ values }) => values.some((value) => value != null));
  return (
    <Card title={title}>
      {some ? (
        <Chart label={title} x={x} series={series} format={format} height={170} {...(max ? { max } : {})} />
      ) : (
        <p className="flex h-42 items-center justify-center text-muted">{text.empty}</p>
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
  const x = useMemo(() => days.map(({ day }) => Date.parse(`${day}T00:00:00Z`) / 1000), [days]);
  const of = (read: (day: Day) => number | null | undefined) => days.map((day) => read(day) ?? null);
  const times = useMemo(() => {
    if (!series) return [];
    const start = Date.parse(series.start_at) / 1000;
    return Array.from({ length: series.points }, (_, point) => start + point * series.step_seconds);
  }, [series]);
  const measured = (name: string) => series?.columns.find((column) => column.name === name)?.average ?? [];
  const line = (name: string, colour: string, values: (number | null)[], fill = true): Series => ({
    name,
    colour,
    values,
    fill,
  });
  return (
    <div className="grid gap-4 md:grid-cols-2">
      <Panel
        title={text.jobs}
        x={x}
        format={whole}
        series={[
          { name: text.submitted, colour: "--live-dot", values: of((day) => day.jobs), bars: true },
          { name: text.failed, colour: "--bad-dot", values: of((day) => day.ended.failed ?? 0), bars: true },
        ]}
      />
      {hasMoney && (
        <Panel
          title={text.money}
          x={x}
          format={money}
          series={[
            { name: text.spent, colour: "--good-dot", values: of((day) => day.spent_micros), bars: true },
            { name: text.fees, colour: "--held-dot", values: of((day) => day.fees_micros), bars: true },
          ]}
        />
      )}
      <Panel
        title={text.queue}
        x={times}
        format={whole}
        series={[
          line(text.waitingSlices, "--warn-dot", measured("queue_length")),
          line(text.runningSlices, "--live-dot", measured("running"), false),
        ]}
      />
      <Panel
        title={text.nodes}
        x={times}
        format={whole}
        series={[line(text.online, "--good-dot", measured("nodes_online"))]}
      />
      <Panel
        title={text.wait}
        x={x}
        format={time}
        series={[
          line(
            text.average,
            "--warn-dot",
            of((day) => day.wait_average_seconds),
          ),
          line(
            text.longest,
            "--tier-0",
            of((day) => (day.waits ? day.wait_most_seconds : null)),
            false,
          ),
        ]}
      />
      <Panel
        title={text.start}
        x={x}
        format={time}
        series={[
          line(
            text.average,
            "--live-dot",
            of((day) => day.start_average_seconds),
          ),
          line(
            text.longest,
            "--tier-0",
            of((day) => (day.starts ? day.start_most_seconds : null)),
            false,
          ),
        ]}
      />
      <Panel
        title={text.use}
        x={times}
        format={percent}
        max={1}
        series={[
          line(text.gpus, "--held-dot", measured("gpu_utilisation")),
          line(text.cores, "--live-dot", measured("core_utilisation"), false),
        ]}
      />
    </div>
  );
}
