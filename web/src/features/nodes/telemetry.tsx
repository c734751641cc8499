import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { RANGES, type Range, telemetryQuery } from "@/api/queries/nodes";
import { Card } from "@/components/card";
import { Chart, type Series } from "@/components/chart";
import { useFilters } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { Skeleton } from "@/components/skeleton";
import { Choices } from "@/components/tabs";
import { bytes, percent } from "@/lib/amounts";
import { nodes as texts } from "@/texts/nodes";

const t = texts.node;
type Told = Schemas["NodeTelemetry"];
const COLOURS = ["--live-dot", "--held-dot", "--warn-dot", "--good-dot", "--tier-5", "--tier-3"];
const FORMATS: Record<string, (value: number) => string> = {
  share: percent,
  bytes,
  "bytes per second": (value) => `${bytes(value)}/s`,
  celsius: (value) => `${Math.round(value)} °C`,
  watts: (value) => `${Math.round(value)} W`,
};
const HEIGHT = 128;

/** What the charts show: a title, which columns, and the top of the scale. */
const CHARTS = [
  { title: t.charts.gpu, of: /^gpu(\d+)\.utilisation$/, max: 1 },
  { title: t.charts.gpuMemory, of: /^gpu(\d+)\.memory_used$/ },
  { title: t.charts.heat, of: /^gpu(\d+)\.temperature$/ },
  { title: t.charts.power, of: /^gpu(\d+)\.power$/ },
  { title: t.charts.cpu, of: /^cpu$/, max: 1 },
  { title: t.charts.memory, of: /^memory_used$/ },
  { title: t.charts.network, of: /^(received|sent)$/ },
];

type Props = { nodeId: string; createdAt: string; cards: Map<string, string> };
/** The history of its load. Of a node that is new, the last hour: a day would be all but empty. */
export function Telemetry({ nodeId, createdAt, cards }: Props) {
  const [filters, set] = useFilters<{ range?: string }>();
  const range =
    filters.range && filters.range in RANGES
      ? (filters.range as Range)
      : Date.now() - Date.parse(createdAt) < (RANGES.day * 1000) / 2
        ? "hour"
        : "day";
  const query = useQuery(telemetryQuery(nodeId, range));
  return (
    <Card
      title={t.load}
      aside={
        <Choices
          label={t.range}
          value={range}
          options={(Object.keys(RANGES) as Range[]).map((key) => [key, t.ranges[key]] as const)}
          onChange={(key) => set({ range: key })}
        />
      }
    >
      <Loaded query={query} skeleton={<Waiting />}>
        {(told) =>
          told.columns.length === 0 ? (
            <p className="py-8 text-center text-muted">{t.noLoad}</p>
          ) : (
            <div className="grid gap-x-6 gap-y-5 sm:grid-cols-2">
              {CHARTS.map((chart) => (
                <OneChart key={chart.title} {...chart} told={told} cards={cards} />
              ))}
            </div>
          )
        }
      </Loaded>
    </Card>
  );
}

function OneChart({
  title,
  of,
  max,
  told,
  cards,
}: {
  title: string;
  of: RegExp;
  max?: number;
  told: Told;
  cards: Map<string, string>;
}) {
  const columns = told.columns.filter((column) => of.test(column.name));
  const unit = columns[0]?.unit;
  if (!unit) return null;
  const start = Date.parse(told.start_at) / 1000;
  const x = Array.from({ length: told.points }, (_, point) => start + point * told.step_seconds);
  const series: Series[] = columns.map((column, place) => ({
    name: nameOf(column.name, of, told, cards, columns.length > 1) ?? title,
    colour: COLOURS[place % COLOURS.length]!,
    values: column.average,
    fill: columns.length === 1,
  }));
  return (
    <figure className="min-w-0">
      <figcaption className="mb-1 text-sm text-muted">{title}</figcaption>
      <Chart
        label={title}
        x={x}
        series={series}
        height={HEIGHT}
        {...(max === undefined ? {} : { max })}
        {...(unit.startsWith("bytes") ? { step: "binary" as const } : {})}
        format={FORMATS[unit] ?? String}
      />
    </figure>
  );
}

function nameOf(column: string, of: RegExp, told: Told, cards: Map<string, string>, several: boolean): string | null {
  const found = of.exec(column)?.[1];
  if (found === "received") return t.received;
  if (found === "sent") return t.sent;
  if (found === undefined) return null;
  const card = cards.get(told.gpus[Number(found)] ?? "") ?? `GPU ${found}`;
  return several ? t.card(Number(found), card) : card;
}

const Waiting = () => (
  <div className="grid gap-6 sm:grid-cols-2">
    {["a", "b", "c", "d"].map((key) => (
      <Skeleton key={key} className="h-36 w-full" />
    ))}
  </div>
);
