// What crosses between the page and the worker that keeps the log.
import type { Style } from "./ansi";
import type { Row } from "./log-store";

/** Where a log is read. `tail`: pieces by line, and the whole in one answer; a shared log comes in pieces only. */
export type LogPlace = { pieces: string; whole: string | null };

export type ToWorker =
  | { type: "open"; place: LogPlace; token: string | null }
  | { type: "token"; token: string }
  | { type: "chunk"; offset: number; data: string }
  | { type: "more" }
  | { type: "rows"; first: number; count: number; follows: boolean }
  | { type: "search"; id: number; text: string };

export type FromWorker =
  /** `above`: lines that are not kept here, as the log is too large; the download has them. */
  | { type: "grown"; lines: number; above: number; loaded: boolean }
  | { type: "rows"; first: number; rows: Row[]; styles: Style[]; stylesFrom: number }
  | { type: "hits"; id: number; lines: Uint32Array; done: boolean }
  /** All that the hub had is here: what comes after this byte comes live. */
  | { type: "live_from"; offset: number; complete: boolean }
  | { type: "token_needed" }
  /** `passing`: it tries again. */
  | { type: "trouble"; message: string; passing: boolean };
