// Puts rows on the screen: a fixed pool of elements, changed in place. React draws the frame around it, and not the
// rows: at 5,000 lines a second it would make and throw away a thousand elements each second.

import { jobTexts } from "@/texts/jobs";
import { BOLD, DIM, INVERSE, ITALIC, STRIKE, type Style, UNDERLINE } from "./ansi";
import type { Row } from "./log-store";

export const ROW_PX = 20;
/** Browsers forget about heights above some 17 million pixels (Firefox) or 33 million (Chromium). */
const MOST_PX = 8_000_000;

type Line = { node: HTMLElement; gutter: Text; code: HTMLElement; shown: Row | null; number: number };

export class Painter {
  private readonly layer: HTMLElement;
  private readonly sizer: HTMLElement;
  private readonly pool: Line[] = [];
  private cache = new Map<number, Row>();
  readonly styles: Style[] = [];
  lines = 0;
  follows = true;
  /** The line at the top of the window, with a fraction. */
  private top = 0;
  private setTop = -1;
  private frame = 0;
  private observer: ResizeObserver;
  private wanted = { first: -1, count: -1, follows: false };
  mark = "";
  /** Lines above the first one that are not kept: their numbers count. */
  above = 0;
  private wraps = false;
  /** In wrapped lines: how many of the last ones fill the window. */
  private fitting = 0;

  constructor(
    private readonly box: HTMLElement,
    private readonly ask: (first: number, count: number, follows: boolean) => void,
    private readonly followed: (follows: boolean) => void,
  ) {
    this.layer = document.createElement("div");
    this.layer.className = "log-layer";
    this.sizer = document.createElement("div");
    this.sizer.className = "log-sizer";
    this.sizer.append(this.layer);
    box.append(this.sizer);
    this.observer = new ResizeObserver(() => this.resize());
    this.observer.observe(box);
    box.addEventListener("scroll", this.scrolled, { passive: true });
    box.addEventListener("wheel", this.wheeled, { passive: false });
  }

  close(): void {
    cancelAnimationFrame(this.frame);
    this.observer.disconnect();
    this.box.removeEventListener("scroll", this.scrolled);
    this.box.removeEventListener("wheel", this.wheeled);
    this.sizer.remove();
  }

  private get windowRows(): number {
    return this.box.clientHeight / ROW_PX;
  }
  private get lastTop(): number {
    return Math.max(0, this.lines - (this.wraps && this.fitting ? this.fitting : this.windowRows));
  }
  private get fullPx(): number {
    return this.lines * ROW_PX;
  }
  private get isScaled(): boolean {
    return this.fullPx > MOST_PX;
  }

  grow(lines: number, above = 0): void {
    if (above !== this.above) for (const line of this.pool) line.number = -1;
    this.above = above;
    if (lines === this.lines) return;
    this.lines = lines;
    this.sizer.style.height = `${Math.min(this.fullPx, MOST_PX)}px`;
    if (this.follows) this.top = this.lastTop;
    this.schedule();
  }

  take(rows: Row[], styles: Style[], stylesFrom: number): void {
    styles.forEach((style, i) => {
      this.styles[stylesFrom + i] = style;
    });
    if (this.cache.size > 4000) this.cache = new Map();
    for (const row of rows) this.cache.set(row.number, row);
    this.schedule();
  }

  go(line: number): void {
    this.follows = false;
    this.followed(false);
    this.top = Math.max(0, Math.min(this.lastTop, line - this.windowRows / 2));
    this.schedule();
  }

  wrap(wraps: boolean): void {
    this.wraps = wraps;
    this.fitting = 0;
    this.box.classList.toggle("log-wraps", wraps);
    if (this.follows) this.top = this.lastTop;
    this.schedule();
  }

  followEnd(): void {
    this.follows = true;
    this.followed(true);
    this.top = this.lastTop;
    this.schedule();
  }

  find(text: string): void {
    this.mark = text.toLowerCase();
    for (const line of this.pool) line.number = -1;
    this.schedule();
  }

  private scrolled = (): void => {
    if (Math.abs(this.box.scrollTop - this.setTop) < 1) return; // we did that
    const most = this.box.scrollHeight - this.box.clientHeight;
    this.move(this.isScaled ? (this.box.scrollTop / most) * this.lastTop : this.box.scrollTop / ROW_PX);
  };

  // Where the bar is scaled, a wheel still moves by lines and not by pages.
  private wheeled = (event: WheelEvent): void => {
    if (!this.isScaled || event.ctrlKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) return;
    event.preventDefault();
    const unit = event.deltaMode === 1 ? 1 : event.deltaMode === 2 ? this.windowRows : 1 / ROW_PX;
    this.move(this.top + event.deltaY * unit);
  };

  private move(top: number): void {
    this.top = Math.max(0, Math.min(this.lastTop, top));
    const follows = this.lastTop - this.top < 0.5;
    if (follows !== this.follows) {
      this.follows = follows;
      this.followed(follows);
    }
    this.schedule();
  }

  private resize(): void {
    const needed = Math.ceil(this.windowRows) + 1;
    while (this.pool.length < needed) this.pool.push(this.makeLine());
    while (this.pool.length > needed) this.pool.pop()!.node.remove();
    if (this.follows) this.top = this.lastTop;
    this.schedule();
  }

  private makeLine(): Line {
    const node = document.createElement("div");
    node.className = "log-row";
    const number = document.createElement("span");
    number.className = "log-number";
    number.setAttribute("aria-hidden", "true");
    const gutter = document.createTextNode("");
    number.append(gutter);
    const code = document.createElement("span");
    code.className = "log-text";
    node.append(number, code);
    this.layer.append(node);
    return { node, gutter, code, shown: null, number: -1 };
  }

  private schedule(): void {
    if (!this.frame) this.frame = requestAnimationFrame(this.paint);
  }

  private paint = (): void => {
    this.frame = 0;
    const first = Math.floor(this.top);
    const shift = (this.top - first) * ROW_PX;
    const most = this.box.scrollHeight - this.box.clientHeight;
    const place = this.isScaled && this.lastTop > 0 ? (this.top / this.lastTop) * most : this.top * ROW_PX;
    if (Math.abs(place - this.box.scrollTop) >= 1) this.box.scrollTop = place;
    this.setTop = this.box.scrollTop;
    // The end of wrapped lines is what is certain: they are stacked from there upwards.
    const atEnd = this.wraps && this.top >= this.lastTop;
    const from = atEnd ? Math.max(0, this.lines - this.pool.length) : first;
    let missing = false;
    for (let i = 0; i < this.pool.length; i++) {
      const number = from + i;
      // The same element for the same line as long as it is on the screen.
      const line = this.pool[number % this.pool.length]!;
      const row = number < this.lines ? this.cache.get(number) : undefined;
      if (!this.wraps) line.node.style.transform = `translateY(${i * ROW_PX - shift}px)`;
      if (number < this.lines && !row) missing = true;
      if (row !== line.shown || line.number !== number) this.fill(line, row ?? null, number);
    }
    if (this.wraps) this.stack(from, atEnd);
    const { wanted } = this;
    const moved = first !== wanted.first && !(this.follows && wanted.follows);
    if (missing || moved || this.pool.length !== wanted.count || this.follows !== wanted.follows) {
      this.wanted = { first, count: this.pool.length, follows: this.follows };
      this.ask(Math.max(0, first - this.pool.length), this.pool.length * 3, this.follows);
    }
  };

  private stack(from: number, atEnd: boolean): void {
    const heights = this.pool.map((_, i) => this.pool[(from + i) % this.pool.length]!.node.offsetHeight);
    let y = -(this.top - Math.floor(this.top)) * heights[0]!;
    if (atEnd) {
      const shown = Math.min(this.pool.length, this.lines - from);
      const total = heights.slice(0, shown).reduce((sum, height) => sum + height, 0);
      y = Math.min(0, this.box.clientHeight - total);
      let room = this.box.clientHeight;
      this.fitting = 0;
      for (let i = shown - 1; i >= 0 && room > 0; i--) {
        this.fitting += Math.min(1, room / heights[i]!);
        room -= heights[i]!;
      }
      if (this.follows) this.top = this.lastTop;
    }
    for (let i = 0; i < this.pool.length; i++) {
      this.pool[(from + i) % this.pool.length]!.node.style.transform = `translateY(${y}px)`;
      y += heights[i]!;
    }
  }

  private fill(line: Line, row: Row | null, number: number): void {
    line.shown = row;
    line.number = number;
    line.gutter.data = number < this.lines ? String(this.above + number + 1) : "";
    const code = line.code;
    const [only] = row?.runs ?? [];
    if (row && row.runs.length === 1 && only!.style === 0 && !row.cut && !this.mark) {
      code.textContent = only!.text;
      return;
    }
    code.replaceChildren(...(row?.runs ?? []).map((run) => this.span(run.text, run.style)));
    if (row?.cut) {
      const rest = document.createElement("span");
      rest.className = "log-cut";
      rest.textContent = ` … ${jobTexts.log.cut(row.cut)}`;
      code.append(rest);
    }
    if (this.mark && row) this.highlight(code);
  }

  private span(text: string, id: number): Node {
    const style = this.styles[id];
    if (!style || id === 0) return document.createTextNode(text);
    const span = document.createElement("span");
    span.textContent = text;
    let { fg, bg } = style;
    if (style.flags & INVERSE) [fg, bg] = [bg === -1 ? -2 : bg, fg === -1 ? -2 : fg];
    paint(span, "color", fg);
    paint(span, "background-color", bg);
    if (style.flags & BOLD) span.classList.add("a-bold");
    if (style.flags & DIM) span.classList.add("a-dim");
    if (style.flags & ITALIC) span.classList.add("a-italic");
    if (style.flags & UNDERLINE) span.classList.add("a-under");
    if (style.flags & STRIKE) span.classList.add("a-strike");
    return span;
  }

  // Marks what was searched for, across runs: the row's text is walked, never parsed.
  private highlight(code: HTMLElement): void {
    const text = code.textContent!.toLowerCase();
    for (let at = text.lastIndexOf(this.mark); at >= 0; at = at > 0 ? text.lastIndexOf(this.mark, at - 1) : -1) {
      let from = at;
      let left = this.mark.length;
      for (const node of textNodes(code)) {
        if (left <= 0) break;
        if (from >= node.data.length) {
          from -= node.data.length;
          continue;
        }
        const part = from > 0 ? node.splitText(from) : node;
        if (part.data.length > left) part.splitText(left);
        left -= part.data.length;
        from = 0;
        const marked = document.createElement("mark");
        part.replaceWith(marked);
        marked.append(part);
      }
    }
  }
}

function textNodes(root: Node): Text[] {
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  const found: Text[] = [];
  while (walker.nextNode()) found.push(walker.currentNode as Text);
  return found;
}

// The sixteen named colours follow the theme; the others are what the program said.
function paint(span: HTMLElement, property: "color" | "background-color", colour: number): void {
  if (colour === -1) return;
  if (colour === -2) span.style.setProperty(property, property === "color" ? "var(--log-page)" : "var(--log-text)");
  else if (colour < 16) span.style.setProperty(property, `var(--ansi-${colour})`);
  else span.style.setProperty(property, `#${rgb(colour).toString(16).padStart(6, "0")}`);
}

const STEPS = [0, 95, 135, 175, 215, 255];
function rgb(colour: number): number {
  if (colour >= 256) return colour - 256;
  if (colour >= 232) return (8 + (colour - 232) * 10) * 0x010101;
  const cube = colour - 16;
  const [r, g, b] = [Math.floor(cube / 36), Math.floor(cube / 6) % 6, cube % 6].map((step) => STEPS[step]!);
  return (r! << 16) | (g! << 8) | b!;
}
