import { useMemo } from "react";
import type { Schemas } from "@/api/client";
import { Chart } from "@/components/chart";
import { percent } from "@/lib/amounts";
import { CENT, credits } from "@/lib/money";
import { marketNode as text } from "@/texts/market";

const SHOWN_DAYS = 30;
const DAY_MS = 86_400_000;

/** The last 30 days, with nothing where nothing is known: a new node has one bar, not a wide one. */
function lastDays<Day extends { day: string }>(days: Day[], read: (day: Day) => number) {
  const known = new Map(days.map((day) => [day.day, read(day)]));
  const end = Date.parse(days.at(-1)!.day);
  const names = Array.from({ length: SHOWN_DAYS }, (_, index) =>
    new Date(end - (SHOWN_DAYS - 1 - index) * DAY_MS).toISOString().slice(0, 10),
  );
  return {
    x: names.map((day) => Date.parse(`${day}T12:00:00Z`) / 1000),
    values: names.map((day) => known.get(day) ?? null),
  };
}

export function UptimeChart({ days }: { days: Schemas["UptimeDay"][] }) {
  const { x, values } = useMemo(() => lastDays(days, ({ share }) => share), [days]);
  const series = useMemo(() => [{ name: text.uptimeSeries, colour: "--good-dot", bars: true, values }], [values]);
  return <Chart label={text.uptimeByDay} x={x} series={series} height={150} max={1} format={percent} />;
}

export function PriceChart({ days }: { days: Schemas["DayPrice"][] }) {
  const { x, values } = useMemo(() => lastDays(days, ({ average_micros }) => average_micros), [days]);
  const series = useMemo(() => [{ name: text.priceSeries, colour: "--live-dot", bars: true, values }], [values]);
  return (
    <Chart
      label={text.priceByDay}
      x={x}
      series={series}
      height={150}
      step={CENT}
      format={(micros) => credits(Math.round(micros))}
    />
  );
}
