import { useQuery } from "@tanstack/react-query";
import { useEffect, useMemo, useRef, useState } from "react";
import type { Schemas } from "@/api/client";
import { useConfig, useLive } from "@/api/hooks";
import { mapQuery } from "@/api/queries/public";
import { Button } from "@/components/button";
import { CommandLine } from "@/components/command-line";
import { Empty } from "@/components/empty";
import { FilterSelect, useFilters } from "@/components/filters";
import { Page } from "@/components/page";
import { Skeleton } from "@/components/skeleton";
import { Tag } from "@/components/state";
import { type Column, Table } from "@/components/table";
import { Choices } from "@/components/tabs";
import { Trouble } from "@/components/trouble";
import { count, country } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { onThemeChange } from "@/lib/theme";
import { TIER_NAMES, tierColour } from "@/lib/tiers";
import { map as text } from "@/texts/map";
import { MapCanvas } from "./map-canvas";
import grid from "./world-large.json";

type MapCell = Schemas["MapCell"];
type Filters = { tier?: string; state?: string; kind?: string; country?: string };
type Row = { country: string; nodes: number; online: number; busy: number; simulated: number };

const UNKNOWN = "";
const nameOf = (code: string) => (code === UNKNOWN ? text.unknown : country(code));

function rowsOf(cells: MapCell[]): Row[] {
  const rows = new Map<string, Row>();
  for (const cell of cells) {
    const code = cell.country ?? UNKNOWN;
    const row = rows.get(code) ?? { country: code, nodes: 0, online: 0, busy: 0, simulated: 0 };
    row.nodes += cell.nodes;
    if (cell.state === "online") row.online += cell.nodes;
    row.busy += cell.busy;
    if (cell.simulated) row.simulated += cell.nodes;
    rows.set(code, row);
  }
  return [...rows.values()].sort(
    (a, b) => Number(a.country === UNKNOWN) - Number(b.country === UNKNOWN) || b.nodes - a.nodes,
  );
}

function World({ cells, chosen, onPoint }: { cells: MapCell[]; chosen: string; onPoint: (code: string) => void }) {
  const box = useRef<HTMLCanvasElement>(null);
  const drawn = useRef<MapCanvas | null>(null);
  useEffect(() => {
    const canvas = box.current!;
    const map = new MapCanvas(canvas, grid);
    drawn.current = map;
    const sizes = new ResizeObserver(() => map.resize());
    sizes.observe(canvas);
    const ended = onThemeChange(() => map.repaint());
    return () => {
      sizes.disconnect();
      ended();
      map.close();
    };
  }, []);
  useEffect(() => drawn.current?.show(cells), [cells]);
  useEffect(() => drawn.current?.choose(chosen), [chosen]);
  return (
    <canvas
      ref={box}
      role="img"
      aria-label={text.canvas}
      className="block w-full outline-transparent"
      onPointerMove={({ nativeEvent }) =>
        onPoint(drawn.current?.countryAt(nativeEvent.offsetX, nativeEvent.offsetY) ?? "")
      }
      onPointerLeave={() => onPoint("")}
    />
  );
}

/** The tiers with how many nodes each has; pressed ones are shown. */
function Tiers({ cells, chosen, onChoose }: { cells: MapCell[]; chosen: string; onChoose: (tier: string) => void }) {
  const counts = TIER_NAMES.map((_, index) =>
    cells.reduce((sum, cell) => sum + (tierColour(cell.tier) === index ? cell.nodes : 0), 0),
  );
  return (
    <fieldset aria-label={text.tier} className="flex flex-wrap gap-1.5">
      {TIER_NAMES.map((name, index) => (
        <button
          key={name}
          type="button"
          aria-pressed={chosen === String(index)}
          onClick={() => onChoose(chosen === String(index) ? "" : String(index))}
          className={cn(
            "flex h-7 cursor-pointer items-center gap-1.5 rounded-full border border-line bg-surface px-2.5 text-sm hover:bg-sunken aria-pressed:border-ink aria-pressed:bg-sunken aria-pressed:font-medium",
            counts[index] === 0 && "text-muted",
          )}
        >
          <svg viewBox="0 0 8 8" className="size-2" aria-hidden>
            <circle cx="4" cy="4" r="4" fill={`var(--tier-${index})`} />
          </svg>
          {index ? `${text.tier} ${name}` : name}
          <span className="text-muted">{count(counts[index]!)}</span>
        </button>
      ))}
    </fieldset>
  );
}

export default function MapPage() {
  useLive("map");
  const query = useQuery(mapQuery);
  const [filters, set] = useFilters<Filters>();
  const [over, setOver] = useState("");
  const address = useConfig()?.public_url ?? location.origin;
  const all = query.data?.cells;
  const ofKind = useMemo(
    () =>
      (all ?? []).filter(
        ({ state, simulated }) =>
          (!filters.state || state === filters.state) &&
          (filters.kind === "real" ? !simulated : filters.kind !== "simulated" || simulated),
      ),
    [all, filters.state, filters.kind],
  );
  const cells = useMemo(
    () => ofKind.filter(({ tier }) => !filters.tier || String(tierColour(tier)) === filters.tier),
    [ofKind, filters.tier],
  );
  const rows = useMemo(() => rowsOf(cells), [cells]);
  const chosen = over || (filters.country ?? "");
  const pointed = chosen ? (rows.find((row) => row.country === chosen) ?? null) : null;
  const nowhere = rows.find((row) => row.country === UNKNOWN);
  const nodes = rows.reduce((sum, row) => sum + row.nodes, 0);
  const columns: Column<Row>[] = [
    {
      name: text.country,
      cell: (row) => (
        <button
          type="button"
          className="flex w-full cursor-pointer items-center gap-2 text-left"
          aria-pressed={filters.country === row.country}
          disabled={row.country === UNKNOWN}
          onClick={() => set({ country: filters.country === row.country ? "" : row.country })}
        >
          <span className="truncate">{nameOf(row.country)}</span>
          {row.simulated > 0 && (
            <Tag>{row.simulated === row.nodes ? text.kinds.simulated : text.someSimulated(row.simulated)}</Tag>
          )}
        </button>
      ),
    },
    { name: text.online, align: "right", className: "px-2!", cell: (row) => count(row.online) },
    { name: text.busy, align: "right", className: "px-2! max-sm:hidden", cell: (row) => count(row.busy) },
    { name: text.all, align: "right", cell: (row) => count(row.nodes) },
  ];
  return (
    <Page title={text.title} about={text.about}>
      <div className="flex flex-wrap items-center gap-2">
        <Tiers cells={ofKind} chosen={filters.tier ?? ""} onChoose={(tier) => set({ tier })} />
        <span className="flex-1 max-sm:hidden" />
        <FilterSelect
          label={text.state}
          value={filters.state ?? ""}
          options={Object.entries(text.states)}
          onChange={(state) => set({ state })}
        />
        <Choices
          label={text.kind}
          value={filters.kind ?? ""}
          options={Object.entries(text.kinds)}
          onChange={(kind) => set({ kind })}
        />
      </div>
      <div className="mt-4 grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_24rem]">
        <figure className="overflow-hidden rounded-lg border border-line bg-surface p-3 sm:p-4">
          <World cells={cells} chosen={chosen} onPoint={setOver} />
          <figcaption className="mt-3 flex flex-wrap gap-x-4 gap-y-1 text-sm text-muted">
            <span aria-live="polite" className="min-w-56 text-text">
              {chosen
                ? text.at(nameOf(chosen), pointed?.nodes ?? 0, pointed?.online ?? 0)
                : text.sum(nodes, rows.length - (nowhere ? 1 : 0))}
            </span>
            <span>{text.awayHow}</span>
            {rows.some((row) => row.simulated > 0) && <span>{text.simulatedHow}</span>}
          </figcaption>
        </figure>
        <div className="overflow-hidden rounded-lg border border-line bg-surface">
          {all ? (
            rows.length ? (
              <div className="max-h-[34rem] overflow-y-auto">
                <Table
                  label={text.table}
                  columns={columns}
                  rows={rows}
                  keyOf={(row) => row.country}
                  rowClass={(row) => (row.country === chosen && chosen ? "bg-sunken" : undefined)}
                />
                {nowhere && (
                  <p className="border-t border-line px-4 py-3 text-sm text-muted">{text.noCountry(nowhere.nodes)}</p>
                )}
              </div>
            ) : all.length ? (
              <Empty title={text.none} about={text.noneAbout}>
                <Button onClick={() => set({ tier: "", state: "", kind: "" })}>{text.clear}</Button>
              </Empty>
            ) : (
              <Empty title={text.empty} about={text.emptyAbout}>
                <CommandLine line={`computepool join ${address}`} />
              </Empty>
            )
          ) : query.error ? (
            <div className="p-4">
              <Trouble error={query.error} retry={() => void query.refetch()} />
            </div>
          ) : (
            <div className="grid gap-4 p-4">
              {[1, 2, 3, 4, 5].map((row) => (
                <Skeleton key={row} className="h-4" />
              ))}
            </div>
          )}
        </div>
      </div>
    </Page>
  );
}
