// A log in memory: its bytes in blocks of a mebibyte, and where each line begins and ends. Strings are made only of the
// lines that are looked at. A million lines of 100 bytes are 100 MB of bytes, 10 MB of index, and no objects.

import { plain, type Run, runsOf, Styles } from "./ansi";

const BLOCK_BITS = 20;
export const BLOCK_BYTES = 1 << BLOCK_BITS;
const BLOCK_MASK = BLOCK_BYTES - 1;
/** Of the parameters of an escape sequence. */
const LONGEST = 64;
const LF = 10,
  CR = 13,
  ESC = 27,
  BEL = 7;
/** Shown of one line; the rest is in the download. */
export const LINE_CHARACTERS = 4096;

export type Row = { number: number; runs: Run[]; cut: number };

class Column<T extends Uint32Array | Uint16Array> {
  constructor(
    public data: T,
    private readonly make: (length: number) => T,
  ) {}
  set(index: number, value: number): void {
    if (index >= this.data.length) {
      const wider = this.make(this.data.length * 2);
      wider.set(this.data as never);
      this.data = wider;
    }
    this.data[index] = value;
  }
}

const At = { Text: 0, Escape: 1, Sequence: 2, String: 3, StringEscape: 4 } as const;
type At = (typeof At)[keyof typeof At];

// What a terminal would show of a line: a carriage return begins it anew.
const lastWritten = (line: string): string => {
  if (line.indexOf("\r") < 0) return line;
  const text = line.replace(/\r+$/, "");
  return text.slice(text.lastIndexOf("\r") + 1);
};

export class LogStore {
  private readonly blocks: Uint8Array[] = [];
  private readonly starts = new Column(new Uint32Array(1 << 16), (n) => new Uint32Array(n));
  private readonly ends = new Column(new Uint32Array(1 << 16), (n) => new Uint32Array(n));
  private readonly colours = new Column(new Uint16Array(1 << 16), (n) => new Uint16Array(n));
  private readonly decoder = new TextDecoder();
  private readonly bytewise = new TextDecoder("latin1");
  /** Lines that ended. What comes after the last line feed is one more, if it is not empty. */
  ended = 0;
  length = 0;
  // The open line: where its visible part begins, and the style there and now.
  private openStart = 0;
  private openColour = 0;
  private colour = 0;
  private returned = false;
  private at: At = At.Text;
  // The parameters of an escape sequence: six bytes in a number, and what there is more.
  private packed = 0;
  private size = 0;
  private long = "";

  /** `styles`: shared by stores whose rows are shown together. */
  constructor(readonly styles: Styles = new Styles()) {}

  get lines(): number {
    return this.ended + (this.length > this.openStart ? 1 : 0);
  }

  append(bytes: Uint8Array): void {
    for (let from = 0; from < bytes.length; ) {
      const place = this.length & BLOCK_MASK;
      if (place === 0) this.blocks.push(new Uint8Array(BLOCK_BYTES));
      const count = Math.min(BLOCK_BYTES - place, bytes.length - from);
      const block = this.blocks[this.blocks.length - 1]!;
      block.set(bytes.subarray(from, from + count), place);
      this.index(block, place, place + count, this.length - place);
      this.length += count;
      from += count;
    }
  }

  // The hot loop: everything in locals, one comparison for the bytes that matter to nobody.
  private index(block: Uint8Array, from: number, to: number, base: number): void {
    let i = from;
    while (i < to) {
      if (this.at === At.Text) {
        if (this.returned && block[i]! !== LF && block[i]! !== CR) this.restart(base + i);
        while (i < to && block[i]! > ESC) i++;
        if (i === to) return;
        const byte = block[i]!;
        if (byte === LF) this.endLine(base + i);
        else if (byte === CR) this.returned = true;
        else if (byte === ESC) this.at = At.Escape;
        i++;
      } else i = this.escape(block, i, to, base);
    }
  }

  private escape(block: Uint8Array, from: number, to: number, base: number): number {
    let at = this.at;
    let packed = this.packed,
      size = this.size;
    let i = from;
    for (; i < to && at !== At.Text; i++) {
      const byte = block[i]!;
      if (byte === LF) {
        this.endLine(base + i);
        at = At.Text;
      } else if (at === At.Sequence) {
        if (byte >= 0x40 && byte <= 0x7e) {
          if (byte === 0x6d) this.colour = this.coloured(packed, size);
          at = At.Text;
        } else if (size < 6) {
          packed = packed * 256 + byte;
          size++;
        } else if (size < LONGEST) {
          if (size === 6) this.long = "";
          this.long += String.fromCharCode(byte);
          size++;
        }
      } else if (at === At.Escape) {
        packed = size = 0;
        if (byte === 0x5b) at = At.Sequence;
        else if (byte === 0x5d || byte === 0x50 || byte === 0x58 || byte === 0x5e || byte === 0x5f) at = At.String;
        else if (byte >= 0x30) at = At.Text;
      } else if (at === At.String) {
        if (byte === BEL) at = At.Text;
        else if (byte === ESC) at = At.StringEscape;
      } else at = byte === 0x5c ? At.Text : At.String;
    }
    this.at = at;
    this.packed = packed;
    this.size = size;
    return i;
  }

  private coloured(packed: number, size: number): number {
    if (size <= 6) return this.styles.afterPacked(this.colour, packed);
    let first = "";
    for (let rest = packed; rest > 0; rest = Math.floor(rest / 256)) first = String.fromCharCode(rest % 256) + first;
    return this.styles.after(this.colour, first + this.long);
  }

  // Something is written after a carriage return: what was there before is no longer seen.
  private restart(offset: number): void {
    this.returned = false;
    this.openStart = offset;
    this.openColour = this.colour;
  }

  private endLine(offset: number): void {
    this.starts.set(this.ended, this.openStart);
    this.ends.set(this.ended, offset);
    this.colours.set(this.ended, this.openColour);
    this.ended++;
    this.openStart = offset + 1;
    this.openColour = this.colour;
    this.returned = false;
  }

  rows(first: number, count: number): Row[] {
    const rows: Row[] = [];
    const end = Math.min(first + count, this.lines);
    for (let line = Math.max(0, first); line < end; line++) rows.push(this.row(line));
    return rows;
  }

  private row(line: number): Row {
    const isOpen = line >= this.ended;
    const start = isOpen ? this.openStart : this.starts.data[line]!;
    const end = isOpen ? this.length : this.ends.data[line]!;
    const colour = isOpen ? this.openColour : this.colours.data[line]!;
    const kept = Math.min(end, start + LINE_CHARACTERS);
    const runs = runsOf(this.decoder.decode(this.slice(start, kept)), colour, this.styles);
    return { number: line, runs, cut: end - kept };
  }

  slice(start: number, end: number): Uint8Array {
    const first = start >>> BLOCK_BITS;
    const place = start & BLOCK_MASK;
    if (end - start <= BLOCK_BYTES - place)
      return this.blocks[first]?.subarray(place, place + end - start) ?? new Uint8Array();
    const joined = new Uint8Array(end - start);
    for (let done = 0; done < joined.length; ) {
      const offset = start + done;
      const part = this.blocks[offset >>> BLOCK_BITS]!.subarray(offset & BLOCK_MASK);
      joined.set(part.subarray(0, joined.length - done), done);
      done += Math.min(part.length, joined.length - done);
    }
    return joined;
  }

  /** Lines with the text in them, a block's worth at a time, so that the caller can stop in between. */
  *search(text: string, matchCase: boolean, fromLine = 0): Generator<number[]> {
    const wanted = matchCase ? text : text.toLowerCase();
    const ascii = /^[\x20-\x7e]*$/.test(wanted);
    const step = BLOCK_BYTES;
    for (let line = fromLine; line < this.lines; ) {
      const from = line < this.ended ? this.starts.data[line]! : this.openStart;
      const past = this.lineAfter(from + step, line);
      const until = past <= this.ended ? this.ends.data[past - 1]! : this.length;
      const bytes = this.slice(from, until);
      // Of ASCII each byte is a character: the quick decoder will do.
      const raw = (ascii ? this.bytewise : this.decoder).decode(bytes);
      const all = matchCase ? raw : raw.toLowerCase();
      yield this.hits(all, wanted, line);
      line = past;
    }
  }

  private hits(all: string, wanted: string, first: number): number[] {
    const found: number[] = [];
    const text = plain(all);
    if (text.indexOf(wanted) < 0) return found; // of most blocks that is the end of it
    let line = first;
    for (let at = 0; at <= text.length; line++) {
      let end = text.indexOf("\n", at);
      if (end < 0) end = text.length;
      if (lastWritten(text.slice(at, end)).includes(wanted)) found.push(line);
      at = end + 1;
    }
    return found;
  }

  /** The first line that begins at or after the offset, and after `least`. */
  private lineAfter(offset: number, least: number): number {
    let low = least + 1,
      high = this.lines;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (middle < this.ended && this.starts.data[middle]! < offset) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Its bytes, a block at a time. */
  *pieces(): Generator<Uint8Array> {
    for (let at = 0; at < this.length; at += BLOCK_BYTES) yield this.slice(at, Math.min(at + BLOCK_BYTES, this.length));
  }
}
