// Text with ANSI colours, as runs of plain text with a style. The bytes come from strangers' programs: nothing here
// makes markup, and every escape sequence that is not a colour is dropped.

import { shown } from "@/lib/shown";

export type Style = {
  /** -1: the default; 0 to 255: the palette; 256 and more: 256 + 0xRRGGBB. */
  fg: number;
  bg: number;
  /** Bits of BOLD to STRIKE. */
  flags: number;
};
export type Run = { text: string; style: number };

export const BOLD = 1;
export const DIM = 2;
export const ITALIC = 4;
export const UNDERLINE = 8;
export const INVERSE = 16;
export const STRIKE = 32;
const PLAIN: Style = { fg: -1, bg: -1, flags: 0 };
const STYLE_LIMIT = 65_535;

/** Every style that a log uses, once. A line then remembers a number of 16 bits. */
export class Styles {
  readonly list: Style[] = [PLAIN];
  private readonly ids = new Map<string, number>([["-1,-1,0", 0]]);
  private readonly words: Map<string, number>[] = [];
  private readonly steps: Map<number, number>[] = [];

  /** The style after the parameters of one `ESC [ … m`. */
  after(id: number, parameters: string): number {
    this.words[id] ??= new Map();
    const known = this.words[id].get(parameters);
    if (known !== undefined) return known;
    const next = this.intern(apply(this.list[id] ?? PLAIN, parameters));
    if (this.words[id].size < STYLE_LIMIT) this.words[id].set(parameters, next);
    return next;
  }

  /** The same for parameters of at most six bytes, packed into a number: nearly all, and no string is made of them. */
  afterPacked(id: number, packed: number): number {
    this.steps[id] ??= new Map();
    const steps = this.steps[id];
    let next = steps.get(packed);
    if (next === undefined) {
      let parameters = "";
      for (let rest = packed; rest > 0; rest = Math.floor(rest / 256))
        parameters = String.fromCharCode(rest % 256) + parameters;
      next = this.after(id, parameters);
      steps.set(packed, next);
    }
    return next;
  }

  private intern(style: Style): number {
    const key = `${style.fg},${style.bg},${style.flags}`;
    let id = this.ids.get(key);
    if (id === undefined) {
      if (this.list.length > STYLE_LIMIT) return 0;
      id = this.list.push(style) - 1;
      this.ids.set(key, id);
    }
    return id;
  }
}

function apply(from: Style, parameters: string): Style {
  const style = { ...from };
  const codes = parameters === "" ? [0] : parameters.split(/[;:]/).map((code) => (code === "" ? 0 : Number(code)));
  for (let i = 0; i < codes.length; i++) {
    const code = codes[i]!;
    if (code === 0) Object.assign(style, PLAIN);
    else if (code === 1) style.flags |= BOLD;
    else if (code === 2) style.flags |= DIM;
    else if (code === 3) style.flags |= ITALIC;
    else if (code === 4) style.flags |= UNDERLINE;
    else if (code === 7) style.flags |= INVERSE;
    else if (code === 9) style.flags |= STRIKE;
    else if (code === 22) style.flags &= ~(BOLD | DIM);
    else if (code === 23) style.flags &= ~ITALIC;
    else if (code === 24) style.flags &= ~UNDERLINE;
    else if (code === 27) style.flags &= ~INVERSE;
    else if (code === 29) style.flags &= ~STRIKE;
    else if (code >= 30 && code <= 37) style.fg = code - 30;
    else if (code >= 90 && code <= 97) style.fg = code - 82;
    else if (code >= 40 && code <= 47) style.bg = code - 40;
    else if (code >= 100 && code <= 107) style.bg = code - 92;
    else if (code === 39) style.fg = -1;
    else if (code === 49) style.bg = -1;
    else if (code === 38 || code === 48) {
      let colour = -1;
      if (codes[i + 1] === 5) {
        colour = (codes[i + 2] ?? 0) & 255;
        i += 2;
      } else if (codes[i + 1] === 2) {
        const [r = 0, g = 0, b = 0] = codes.slice(i + 2, i + 5);
        colour = 256 + (((r & 255) << 16) | ((g & 255) << 8) | (b & 255));
        i += 4;
      }
      if (code === 38) style.fg = colour;
      else style.bg = colour;
    }
  }
  return style;
}

// CSI (with its parameters), strings (OSC, DCS, APC…) to their end, and two-byte escapes.
const ESCAPE = /\x1b\[([0-?]*)[ -/]*([@-~])|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x1b[ -/]*[0-~]?/g;
// Controls that a terminal does not show either. What turns the direction of text around is made visible instead.
const UNSEEN = /[\x00-\x08\x0b-\x1f\x7f-\x9f]/g;
const seen = (text: string): string => shown(text.replace(UNSEEN, ""));

export const plain = (line: string): string => (line.indexOf("\x1b") < 0 ? line : line.replace(ESCAPE, ""));

/** A line's runs, given the style in which it begins. */
export function runsOf(line: string, style: number, styles: Styles): Run[] {
  if (line.indexOf("\x1b") < 0) return line === "" ? [] : [{ text: seen(line), style }];
  const runs: Run[] = [];
  let at = 0;
  const put = (end: number) => {
    if (end > at) {
      const text = seen(line.slice(at, end));
      if (text) runs.push({ text, style });
    }
  };
  ESCAPE.lastIndex = 0;
  for (let found = ESCAPE.exec(line); found !== null; found = ESCAPE.exec(line)) {
    put(found.index);
    at = ESCAPE.lastIndex;
    if (found[2] === "m") style = styles.after(style, found[1] ?? "");
  }
  put(line.length);
  return runs;
}
