// The pool on the land. Each country lights its dots from the middle outwards, the best cards first; a country with more
// nodes than dots shows them in proportion. Only dots that changed are drawn again.

import type { Schemas } from "@/api/client";
import { type Grid, middleOf, readWorld, type World } from "@/components/world";
import { tierColour } from "@/lib/tiers";

type MapCell = Schemas["MapCell"];
type Look = { colour: number; away: boolean; simulated: boolean };
const PULSE_MS = 1600;
const COLOURS = 6;
/** The farthest fifth of a country stays dark, so that the United States do not begin in Alaska. */
const USED = 0.8;

/** The dots of one country, from its middle outwards. */
export function dotsOf(cells: MapCell[], room: number): Look[] {
  const order = cells.toSorted(
    (a, b) =>
      Number(a.state !== "online") - Number(b.state !== "online") ||
      tierColour(b.tier) - tierColour(a.tier) ||
      Number(a.simulated) - Number(b.simulated),
  );
  const total = order.reduce((sum, { nodes }) => sum + nodes, 0);
  const shown = Math.min(total, room);
  const looks: Look[] = [];
  let seen = 0;
  for (const { nodes, tier, state, simulated } of order) {
    seen += nodes;
    const end = Math.round((seen / total) * shown);
    while (looks.length < end) looks.push({ colour: tierColour(tier), away: state !== "online", simulated });
  }
  return looks;
}

export class MapCanvas {
  readonly world: World;
  private readonly context: CanvasRenderingContext2D;
  private looks = new Map<number, Look>();
  private readonly dirty = new Set<number>();
  private readonly born = new Map<number, number>();
  private colours: string[] = [];
  private land = "";
  private page = "";
  private ink = "";
  private pitch = 1;
  private frame = 0;
  private all = true;
  private isFirst = true;
  /** In a small pool dots are larger than their cells, and further apart. */
  private size = 1;
  private chosen = "";

  constructor(
    private readonly canvas: HTMLCanvasElement,
    grid: Grid,
  ) {
    this.world = readWorld(grid);
    this.context = canvas.getContext("2d", { alpha: false })!;
    this.resize();
  }

  resize(): void {
    const scale = Math.min(2, devicePixelRatio);
    const width = this.canvas.clientWidth;
    this.pitch = (width / this.world.columns) * scale;
    this.canvas.width = Math.round(width * scale);
    this.canvas.height = Math.round(this.pitch * this.world.rows);
    this.repaint();
  }

  /** After a change of size or theme. */
  repaint(): void {
    const style = getComputedStyle(this.canvas);
    const probe = (name: string) => {
      this.canvas.style.setProperty("outline-color", `var(${name})`);
      return style.outlineColor;
    };
    this.colours = Array.from({ length: COLOURS }, (_, tier) => probe(`--tier-${tier}`));
    this.land = probe("--map-land");
    this.ink = probe("--muted");
    this.page = probe("--surface");
    this.all = true;
    this.schedule();
  }

  show(cells: MapCell[], now = performance.now()): void {
    const byCountry = Map.groupBy(cells, ({ country }) => country ?? "");
    const next = new Map<number, Look>();
    const total = cells.reduce((sum, { country, nodes }) => sum + (country ? nodes : 0), 0);
    const size = (total < 60 ? 2.4 : total < 400 ? 1.5 : 1) * (this.canvas.clientWidth < 500 ? 1.4 : 1);
    if (size !== this.size) this.all = true;
    this.size = size;
    for (const [country, here] of byCountry) {
      const places = apart(this.world.cells.get(country) ?? [], this.world.columns, size);
      const looks = dotsOf(here, Math.max(1, Math.ceil(places.length * USED)));
      for (const [index, look] of looks.entries()) if (places[index] !== undefined) next.set(places[index], look);
    }
    for (const [cell, look] of next) {
      const before = this.looks.get(cell);
      if (before && same(before, look)) continue;
      this.dirty.add(cell);
      if (!before && !this.isFirst) this.born.set(cell, now);
    }
    for (const cell of this.looks.keys()) if (!next.has(cell)) this.dirty.add(cell);
    this.looks = next;
    this.isFirst = false;
    this.schedule();
  }

  /** Draws this country's land darker. */
  choose(country: string): void {
    if (country === this.chosen) return;
    for (const name of [country, this.chosen])
      for (const cell of this.world.cells.get(name) ?? []) this.dirty.add(cell);
    this.chosen = country;
    this.schedule();
  }

  countryAt(x: number, y: number): string {
    const scale = this.canvas.width / this.canvas.clientWidth;
    const row = Math.floor((y * scale) / this.pitch);
    const column = Math.round((x * scale) / this.pitch - 0.5 - (row % 2 ? 0.25 : -0.25));
    return this.world.at(row * this.world.columns + column);
  }

  close(): void {
    cancelAnimationFrame(this.frame);
  }

  private schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(this.draw);
  }

  private draw = (now: number): void => {
    this.frame = 0;
    const isOverlapping = this.size > 1 && (this.dirty.size > 0 || this.born.size > 0);
    if (this.all || isOverlapping) {
      this.context.fillStyle = this.page;
      this.context.fillRect(0, 0, this.canvas.width, this.canvas.height);
      for (const cell of this.world.land) if (!this.looks.has(cell)) this.dot(cell);
      for (const cell of this.looks.keys()) this.dot(cell);
      this.all = false;
    } else {
      for (const cell of this.dirty) this.redraw(cell);
    }
    this.dirty.clear();
    for (const [cell, born] of this.born) {
      const age = (now - born) / PULSE_MS;
      const grown = 1 + 0.25 * Math.sin(Math.PI * Math.min(1, Math.max(0, age)));
      if (isOverlapping) this.dot(cell, grown);
      else this.redraw(cell, grown);
      if (age >= 1) this.born.delete(cell);
    }
    if (this.born.size) this.schedule();
  };

  private redraw(cell: number, grown = 1): void {
    const [x, y] = middleOf(cell, this.world.columns);
    this.context.fillStyle = this.page;
    this.context.fillRect((x - 0.5) * this.pitch, (y - 0.5) * this.pitch, this.pitch, this.pitch);
    this.dot(cell, grown);
  }

  /** Never by colour alone: who is away is a ring, who is simulated has a hole. */
  private dot(cell: number, grown = 1): void {
    const [x, y] = middleOf(cell, this.world.columns);
    const { context } = this;
    const look = this.looks.get(cell);
    const pitch = this.pitch;
    const scale = look ? this.pitch * this.size : this.pitch;
    const isChosen = this.chosen !== "" && this.world.at(cell) === this.chosen;
    const size = !look ? 0.28 : look.simulated ? 0.36 : 0.42;
    context.beginPath();
    context.arc(x * pitch, y * pitch, scale * Math.min(0.48, size * grown), 0, 7);
    if (look?.away) {
      context.strokeStyle = this.colours[look.colour]!;
      context.lineWidth = scale * 0.12;
      context.stroke();
      return;
    }
    context.fillStyle = look ? this.colours[look.colour]! : isChosen ? this.ink : this.land;
    context.fill();
    if (look?.simulated) {
      context.beginPath();
      context.arc(x * pitch, y * pitch, scale * 0.14, 0, 7);
      context.fillStyle = this.page;
      context.fill();
    }
  }
}

/** The places from the middle outwards, those first that are `distance` cells from each other. */
function apart(places: number[], columns: number, distance: number): number[] {
  if (distance <= 1) return places;
  const first: number[] = [];
  const rest: number[] = [];
  for (const place of places) {
    const [x, y] = middleOf(place, columns);
    const isFree = first.every((other) => {
      const [a, b] = middleOf(other, columns);
      return (a - x) ** 2 + (b - y) ** 2 >= distance ** 2;
    });
    (isFree ? first : rest).push(place);
  }
  return [...first, ...rest];
}

const same = (a: Look, b: Look) => a.colour === b.colour && a.away === b.away && a.simulated === b.simulated;
