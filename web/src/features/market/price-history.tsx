import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useMemo } from "react";
import type { Schemas } from "@/api/client";
import { priceHistoryQuery } from "@/api/queries/market";
import { Card } from "@/components/card";
import { Chart, type Series } from "@/components/chart";
import { inputClass } from "@/components/input-class";
import { Loaded } from "@/components/loaded";
import { Skeleton } from "@/components/skeleton";
import { Choices } from "@/components/tabs";
import { cn } from "@/lib/cn";
import { CENT, credits } from "@/lib/money";
import { market as text } from "@/texts/market";

type PriceSeries = Schemas["PriceSeries"];
type Days = keyof typeof text.days;
const keyOf = ({ tier, region, per }: PriceSeries) => `${tier}/${region}/${per}`;
const DAYS = Object.entries(text.days) as [Days, string][];

function Lines({ history, chosen }: { history: Schemas["PriceHistory"]; chosen: PriceSeries }) {
  const start = Date.parse(history.start_at) / 1000;
  const x = useMemo(
    () => Array.from({ length: history.points }, (_, index) => start + index * history.step_seconds),
    [history.points, history.step_seconds, start],
  );
  const series = useMemo<Series[]>(
    () => [{ name: text.average, colour: "--live-dot", values: chosen.average_micros }],
    [chosen],
  );
  return (
    <Chart
      label={`${text.history}: ${text.segmentName(chosen.tier, chosen.region, chosen.per)}`}
      x={x}
      series={series}
      height={150}
      step={CENT}
      format={(micros) => credits(Math.round(micros))}
    />
  );
}

/** What an hour was worth, by tier and region. `days` and `segment` are in the address. */
export default function PriceHistory({
  days,
  segment,
  simulated,
  set,
}: {
  days: string;
  segment: string;
  simulated: boolean;
  set: (changes: { days?: string; segment?: string }) => void;
}) {
  const range = DAYS.find(([key]) => key === days)?.[0] ?? "1";
  const query = useQuery({ ...priceHistoryQuery(Number(range), simulated), placeholderData: keepPreviousData });
  const items = query.data?.items ?? [];
  const chosen = items.find((item) => keyOf(item) === segment) ?? items.find(({ per }) => per === "gpu") ?? items[0];
  return (
    <Card
      title={text.history}
      about={text.historyAbout}
      aside={
        <span className="flex flex-wrap items-center gap-2">
          {items.length > 1 && chosen && (
            <select
              aria-label={text.segment}
              value={keyOf(chosen)}
              onChange={(event) => set({ segment: event.target.value })}
              className={cn(inputClass, "h-7! w-auto! py-0 text-sm text-text")}
            >
              {items.map((item) => (
                <option key={keyOf(item)} value={keyOf(item)}>
                  {text.segmentName(item.tier, item.region, item.per)}
                </option>
              ))}
            </select>
          )}
          <Choices
            label={text.daysLabel}
            value={range}
            options={DAYS}
            onChange={(next) => set({ days: next === "1" ? "" : next })}
          />
        </span>
      }
    >
      <Loaded query={query} skeleton={<Skeleton className="h-[11.5rem]" />}>
        {(history) =>
          chosen ? <Lines history={history} chosen={chosen} /> : <p className="py-6 text-muted">{text.historyNone}</p>
        }
      </Loaded>
    </Card>
  );
}
