import { type KeyboardEvent, useEffect, useRef, useState } from "react";
import type { Schemas } from "@/api/client";
import { Card } from "@/components/card";
import { dotClass, lookOf } from "@/components/state";
import { count } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { onThemeChange } from "@/lib/theme";
import { jobTexts } from "@/texts/jobs";

type Keys = Schemas["GridKey"][];
type Props = { letters: string; legend: Keys; indices: number[]; chosen: number; onChoose: (index: number) => void };
const text = jobTexts.grid;
/** Up to so many slices are buttons with their numbers; more are cells of a picture. */
const MAX_BUTTONS = 64;
const MARK_PX = 9;
const HEIGHT_LIMIT_PX = 330;

/** `0-3, 17` as numbers; without it all of them, from 0 on. */
export function indicesOf(ranges: string | null | undefined, length: number): number[] {
  if (!ranges) return Array.from({ length }, (_, index) => index);
  return ranges.split(",").flatMap((range) => {
    const [from = 0, to = from] = range.trim().split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, i) => from + i);
  });
}

/** Every slice by its state, however many there are; choose one to see its log. */
export function SliceCard(props: Props) {
  const { letters, legend, indices, chosen, onChoose } = props;
  const place = indices.indexOf(chosen);
  const next = (letter: string) => {
    const at = letters.indexOf(letter, place + 1);
    onChoose(indices[at >= 0 ? at : letters.indexOf(letter)]!);
  };
  return (
    <Card title={text.title} aside={text.of(chosen)}>
      {letters.length <= MAX_BUTTONS ? <Buttons {...props} /> : <Cells {...props} place={place} />}
      <ul className="mt-3 flex flex-wrap gap-x-3 gap-y-1 text-sm text-muted">
        {legend
          .filter((key) => key.count > 0)
          .map((key) => (
            <li key={key.letter}>
              <button
                type="button"
                onClick={() => next(key.letter)}
                className="flex cursor-pointer items-center gap-1.5 rounded hover:text-text"
                title={text.next(key.label)}
              >
                <span aria-hidden className={cn("size-2 rounded-full", dotClass(key.state))} />
                <span className="font-medium text-text">{count(key.count)}</span> {key.label}
              </button>
            </li>
          ))}
      </ul>
    </Card>
  );
}

const keyOf = (legend: Keys, letter: string | undefined) => legend.find((key) => key.letter === letter);

function Buttons({ letters, legend, indices, chosen, onChoose }: Props) {
  return (
    <div className="grid grid-cols-8 gap-1.5">
      {indices.map((index, i) => {
        const key = keyOf(legend, letters[i]);
        const label = text.label(index, key?.label ?? "");
        return (
          <button
            key={index}
            type="button"
            title={label}
            aria-label={label}
            aria-pressed={index === chosen}
            onClick={() => onChoose(index)}
            className="flex h-9 cursor-pointer flex-col items-center justify-center gap-1 rounded-md border border-line text-xs leading-none text-muted hover:bg-sunken aria-pressed:border-live aria-pressed:bg-live-soft aria-pressed:text-live"
          >
            <span aria-hidden className={cn("size-2 rounded-full", dotClass(key?.state ?? "queued"))} />
            {index}
          </button>
        );
      })}
    </div>
  );
}

const COLOURS = {
  live: "--live-dot",
  good: "--good-dot",
  warn: "--warn-dot",
  bad: "--bad-dot",
  held: "--held-dot",
  idle: "--line",
};

function Cells({ letters, legend, indices, place, onChoose }: Props & { place: number }) {
  const canvas = useRef<HTMLCanvasElement>(null);
  const [width, setWidth] = useState(0);
  const [theme, setTheme] = useState(0);
  const cell = cellSize(letters.length, width);
  const columns = Math.max(1, Math.floor(width / cell));
  const label = text.label(indices[place] ?? 0, keyOf(legend, letters[place])?.label ?? "");

  useEffect(() => {
    const node = canvas.current!;
    const sizes = new ResizeObserver(() => setWidth(node.parentElement!.clientWidth));
    sizes.observe(node.parentElement!);
    const ended = onThemeChange(() => setTheme((n) => n + 1));
    return () => {
      sizes.disconnect();
      ended();
    };
  }, []);

  // biome-ignore lint/correctness/useExhaustiveDependencies: the theme changes what the tokens say
  useEffect(() => {
    const node = canvas.current!;
    const scale = devicePixelRatio || 1;
    const rows = Math.ceil(letters.length / columns);
    node.width = Math.max(1, width * scale);
    node.height = Math.max(1, rows * cell * scale);
    node.style.height = `${rows * cell}px`;
    const pen = node.getContext("2d")!;
    pen.scale(scale, scale);
    const tokens = getComputedStyle(node);
    const colours = new Map<string, string>();
    for (const { letter, state } of legend) {
      node.style.color = `var(${COLOURS[lookOf(state)]})`;
      colours.set(letter, tokens.color);
    }
    node.style.color = "var(--text)";
    const ink = tokens.color;
    const gap = cell > 4 ? 1 : 0;
    for (let i = 0; i < letters.length; i++) {
      pen.fillStyle = colours.get(letters[i]!) ?? ink;
      pen.fillRect((i % columns) * cell, Math.floor(i / columns) * cell, cell - gap, cell - gap);
    }
    pen.strokeStyle = ink;
    pen.lineWidth = 2;
    // Of cells that are too small to see, a frame that is not.
    const frame = Math.max(cell, MARK_PX);
    const clamped = (at: number, size: number) => Math.min(Math.max(1, at - (frame - cell) / 2), size - frame - 1);
    pen.strokeRect(
      clamped((place % columns) * cell, width),
      clamped(Math.floor(place / columns) * cell, rows * cell),
      frame,
      frame,
    );
  }, [letters, legend, columns, cell, width, place, theme]);

  const move = (event: KeyboardEvent) => {
    const by = {
      ArrowLeft: -1,
      ArrowRight: 1,
      ArrowUp: -columns,
      ArrowDown: columns,
      Home: -place,
      End: letters.length - 1 - place,
    }[event.key];
    if (by === undefined) return;
    event.preventDefault();
    const to = place + by;
    if (to >= 0 && to < letters.length) onChoose(indices[to]!);
  };
  const at = (x: number, y: number) => Math.floor(y / cell) * columns + Math.floor(x / cell);
  return (
    <div
      role="slider"
      tabIndex={0}
      aria-label={text.choose}
      aria-valuemin={0}
      aria-valuemax={letters.length - 1}
      aria-valuenow={place}
      aria-valuetext={label}
      onKeyDown={move}
      className="rounded"
    >
      <canvas
        ref={canvas}
        className="block w-full cursor-pointer"
        onClick={(event) => {
          const index = indices[at(event.nativeEvent.offsetX, event.nativeEvent.offsetY)];
          if (index !== undefined) onChoose(index);
        }}
        onPointerMove={(event) => {
          const i = at(event.nativeEvent.offsetX, event.nativeEvent.offsetY);
          if (indices[i] !== undefined)
            event.currentTarget.title = text.label(indices[i], keyOf(legend, letters[i])?.label ?? "");
        }}
      />
    </div>
  );
}

/** The largest cell with which all of them fit. */
function cellSize(length: number, width: number): number {
  for (let cell = 12; cell > 2; cell--) {
    if (Math.ceil(length / Math.max(1, Math.floor(width / cell))) * cell <= HEIGHT_LIMIT_PX) return cell;
  }
  return 2;
}
