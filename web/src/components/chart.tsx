import { useEffect, useRef } from "react";
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { onThemeChange } from "@/lib/theme";

export type Series = {
  name: string /** A token such as `--live-dot`. */;
  colour: string;
  values: (number | null)[];
  fill?: boolean;
  bars?: boolean;
};
type Props = {
  /** What it shows, for those who cannot see it. */
  label: string;
  /** Seconds since 1970 of each point; or any numbers with `time={false}`. */
  x: number[];
  series: Series[];
  height?: number;
  /** The top of the scale; else what the values need. */
  max?: number;
  /** Only the lines, without axes and pointer. */
  bare?: boolean;
  time?: boolean;
  /** The smallest step between ticks, so that they differ in what `format` writes; "binary" for bytes. */
  step?: number | "binary";
  format?: (value: number) => string;
};

/** Lines or bars over time. uPlot draws on a canvas: colours come from the tokens, and again when the theme changes. */
export function Chart({
  label,
  x,
  series,
  height = 160,
  max,
  bare = false,
  time = true,
  step,
  format = String,
}: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<uPlot | null>(null);
  const latest = useRef({ x, series, format });
  latest.current = { x, series, format };
  // A chart is made anew when its form changes; new values only move its lines.
  const form = JSON.stringify([series.map(({ values: _, ...rest }) => rest), height, max, bare, time, step]);

  // biome-ignore lint/correctness/useExhaustiveDependencies: `form` has all that it is made of
  useEffect(() => {
    const node = box.current!;
    const make = () => {
      const { x, series } = latest.current;
      const format = (value: number) => latest.current.format(value);
      plot.current?.destroy();
      const isDaily = series.some((one) => one.bars); // a bar is a day
      const muted = token(node, "--muted");
      const grid = { stroke: token(node, "--line"), width: 1 };
      const axis = {
        size: 28,
        stroke: muted,
        grid,
        ticks: { show: false },
        font: `11px ${getComputedStyle(node).fontFamily}`,
      };
      plot.current = new uPlot(
        {
          width: node.clientWidth || 300,
          height,
          padding: bare ? [4, 0, 0, 0] : [8, 20, 0, 0],
          cursor: bare ? { show: false } : { points: { size: 6 } },
          legend: { show: !bare, live: true },
          hooks: bare ? {} : { ready: [showLatest], setData: [showLatest], setCursor: [showLatest] },
          scales: {
            x: { time, ...(isDaily ? { range: roomForBars } : {}) },
            y: { range: (_, low, high) => [Math.min(0, low ?? 0), max ?? ((high ?? 0) * 1.08 || 1)] },
          },
          axes: bare
            ? [{ show: false }, { show: false }]
            : [
                time
                  ? { ...axis, values: (_, ticks, __, ___, step) => ticks.map((tick) => tickTime(tick, step)) }
                  : axis,
                {
                  ...axis,
                  size: 56,
                  ...(step ? { incrs: stepsFrom(step) } : {}),
                  values: (_, ticks) => ticks.map((tick) => format(tick)),
                },
              ],
          series: [
            time
              ? {
                  label: "",
                  value: (_: uPlot, at: number | null) => (at == null ? "" : (isDaily ? DAY : POINT).format(at * 1000)),
                }
              : {},
            ...series.map(({ name, colour, fill = true, bars }) => {
              const stroke = token(node, colour);
              return {
                label: name,
                stroke,
                width: 1.5,
                ...(fill ? { fill: faded(stroke) } : {}),
                ...(bars ? { paths: uPlot.paths.bars!({ size: [0.7, 40], radius: 0.15 }) } : {}),
                // A line needs two points; fewer are shown as dots.
                points: { show: (u: uPlot, index: number) => known(u.data[index]!) < 3, size: 5 },
                value: (_: uPlot, value: number | null) => (value == null ? "–" : format(value)),
              };
            }),
          ],
        },
        [x, ...series.map((one) => one.values)],
        node,
      );
    };
    make();
    const sizes = new ResizeObserver(() => plot.current?.setSize({ width: node.clientWidth, height }));
    sizes.observe(node);
    const ended = onThemeChange(make);
    return () => {
      sizes.disconnect();
      ended();
      plot.current?.destroy();
      plot.current = null;
    };
  }, [form]);

  useEffect(() => {
    plot.current?.setData([x, ...series.map((one) => one.values)]);
  }, [x, series]);
  return <div ref={box} role="img" aria-label={label} className="chart w-full" />;
}

/** While no pointer is on the chart, the legend has the latest values. */
function showLatest(plot: uPlot): void {
  if ((plot.cursor.left ?? -1) >= 0) return;
  const [x, ...lines] = plot.data;
  const idx = Array.from(x).findLastIndex((_, at) => lines.some((line) => line[at] != null));
  if (idx >= 0) plot.setLegend({ idx });
}

/** Half a bar more on both sides: else the first and the last are cut. */
function roomForBars(plot: uPlot, low: number, high: number): [number, number] {
  const [first = low, second = first + DAY_SECONDS] = plot.data[0] ?? [];
  const half = (second - first) / 2;
  return [low - half, high + half];
}

const CLOCK = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit" });
const DAY = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const POINT = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" });
const DAY_SECONDS = 86_400;
/** At midnight, and where ticks are days apart, the day; else the time. */
function tickTime(at: number, step: number): string {
  const then = new Date(at * 1000);
  return step >= DAY_SECONDS || (then.getHours() === 0 && then.getMinutes() === 0)
    ? DAY.format(then)
    : CLOCK.format(then);
}
/** 1, 2, 5, 10, 20 … times the smallest; of bytes, powers of two. */
const stepsFrom = (least: number | "binary") =>
  Array.from({ length: 48 }, (_, i) =>
    least === "binary" ? 2 ** i : least * [1, 2, 5][i % 3]! * 10 ** Math.floor(i / 3),
  );
const known = (values: ArrayLike<number | null | undefined>) =>
  Array.from(values).reduce<number>((sum, value) => sum + Number(value != null), 0);

function token(node: HTMLElement, name: string): string {
  const probe = document.createElement("i");
  probe.style.color = `var(${name})`;
  node.append(probe);
  const value = getComputedStyle(probe).color;
  probe.remove();
  return value;
}
const faded = (rgb: string) => rgb.replace("rgb(", "rgba(").replace(")", ", 0.12)");
