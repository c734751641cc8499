import { useQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { usageQuery } from "@/api/queries/jobs";
import { Card } from "@/components/card";
import { Chart } from "@/components/chart";
import { bytes, percent } from "@/lib/amounts";
import { jobTexts } from "@/texts/jobs";

type UsageColumn = Schemas["SeriesColumn"];
const text = jobTexts.usage;
const TONES = ["--live-dot", "--held-dot", "--good-dot", "--warn-dot"];

const FORMATS: Record<string, (value: number) => string> = {
  share: percent,
  bytes,
  "bytes per second": (value) => `${bytes(value)}/s`,
  cores: (value) => `${value.toFixed(value < 10 ? 1 : 0)} cores`,
  watts: (value) => `${Math.round(value)} W`,
};
const formatOf = (unit: string) => FORMATS[unit] ?? ((value: number) => `${Number(value.toFixed(1))} ${unit}`);

const nameOf = (name: string) => text.names[name] ?? name.replaceAll("_", " ");

/** Samples come without an event: the next one is asked for when it is due, while the attempt runs. */
export function Usage({
  jobId,
  slice,
  attempt,
  isLive,
}: {
  jobId: string;
  slice: number;
  attempt: number;
  isLive: boolean;
}) {
  const { data } = useQuery({
    ...usageQuery(jobId, slice, attempt),
    refetchInterval: ({ state }) => isLive && 1000 * (state.data?.step_seconds ?? 10),
  });
  if (!data) return null;
  const start = Date.parse(data.start_at) / 1000;
  const x = Array.from({ length: data.points }, (_, i) => start + i * data.step_seconds);
  const columns = data.columns.filter((column) => column.average.some((value) => value));
  if (columns.length === 0 && !isLive) return null;
  return (
    <Card title={text.title}>
      {columns.length === 0 && <p className="text-sm text-muted">{text.none}</p>}
      <div className="flex flex-col gap-3">
        {columns.map((column, i) => (
          <Line key={column.name} column={column} x={x} colour={TONES[i % TONES.length]!} />
        ))}
      </div>
    </Card>
  );
}

function Line({ column, x, colour }: { column: UsageColumn; x: number[]; colour: string }) {
  const format = formatOf(column.unit);
  const known = column.average.filter((value) => value !== null);
  const peak = Math.max(...column.maximum.map((value) => value ?? 0));
  const name = nameOf(column.name);
  const last = format(known.at(-1) ?? 0);
  return (
    <div>
      <div className="flex justify-between gap-3 text-sm text-muted">
        <span>{name}</span>
        <span>
          {text.peak(format(peak))} · <span className="text-text">{last}</span>
        </span>
      </div>
      <Chart
        bare
        height={48}
        label={`${name}: ${last}, ${text.peak(format(peak))}`}
        x={x}
        series={[{ name, colour, values: column.average }]}
        {...(column.unit === "share" ? { max: 1 } : {})}
      />
    </div>
  );
}
