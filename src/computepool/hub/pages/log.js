// A log that is still being written, as plain text. Its bytes come from strangers' programs.

import { h, put } from "./parts.js";
import { call } from "./session.js";

const PERIOD_MS = 1000;
const PIECE_BYTES = 1024 ** 2; // the most that the hub gives at once
const TAIL_BYTES = 512 * 1024; // of a finished log, shown
const KEPT_CHARACTERS = 1024 ** 2;
const LINE_CHARACTERS = 64 * 1024;
const ESCAPE_CHARACTERS = 4096;

// Colours, cursor movements, window titles and links; what is unfinished waits for its rest.
const ESCAPES =
  /\x1b\[[0-?]*[ -/]*[@-~]|\x1b[\]PX^_][^\x07\x1b\n]*(?:\x07|\x1b\\)?|\x9b[0-?]*[ -/]*[@-~]|\x1b[ -/]*[0-Z\\^-~]?/g;
const UNFINISHED = /\x1b(?:\[[0-?]*[ -/]*|[\]PX^_][^\x07\x1b\n]*\x1b?|[ -/]*)?$/;
const CONTROLS = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

// What a terminal would show of a line: a carriage return begins it anew.
const lineOf = (text) => {
  const ended = text.replace(/\r+$/, "");
  return ended.slice(ended.lastIndexOf("\r") + 1).replace(CONTROLS, "");
};

export class Log {
  constructor(path) {
    this.path = path;
    this.title = h("h2", {}, "Log");
    this.note = h("span", { class: "muted" });
    this.text = document.createTextNode("");
    this.lastLine = document.createTextNode("");
    this.pre = h("pre", { class: "log", tabindex: "0", "aria-label": "Log" }, this.text, this.lastLine);
    this.node = h("section", { hidden: true }, h("div", { class: "bar-title" }, this.title, this.note), this.pre);
    this.key = null;
  }

  follow(slice, attempt, several) {
    this.node.hidden = !attempt;
    if (!attempt || this.key === attempt.id) return;
    this.close();
    this.key = attempt.id;
    this.text.data = this.lastLine.data = this.rest = "";
    this.decoder = new TextDecoder();
    put(this.title, `Log${several ? ` of slice ${slice}` : ""}, attempt ${attempt.number}`);
    const start = Math.max(0, attempt.log_bytes - TAIL_BYTES);
    put(this.note, start ? "The end of it; computepool logs shows it whole." : "");
    this.run(attempt.id, `slice=${slice}&attempt=${attempt.number}`, start);
  }

  close() {
    clearTimeout(this.timer);
    this.key = null;
  }

  async run(key, which, after) {
    let wait = PERIOD_MS;
    try {
      if (!document.hidden) {
        const answer = await call(`${this.path}/logs?${which}&after=${after}`);
        const data = new Uint8Array(await answer.arrayBuffer());
        if (this.key !== key) return;
        this.add(data);
        after = Number(answer.headers.get("X-Next-Offset"));
        if (answer.headers.get("X-Log-Complete") === "1") {
          if (!this.text.data && !this.lastLine.data) put(this.note, "It wrote nothing.");
          return;
        }
        if (data.length >= PIECE_BYTES) wait = 0;
      }
    } catch {
      wait = 4 * PERIOD_MS; // the page's own loop tells that the hub is away
    }
    if (this.key === key) this.timer = setTimeout(() => this.run(key, which, after), wait);
  }

  add(data) {
    let text = this.rest + this.decoder.decode(data, { stream: true });
    const open = UNFINISHED.exec(text.slice(-ESCAPE_CHARACTERS))?.[0] ?? "";
    text = text.slice(0, text.length - open.length).replace(ESCAPES, "");
    const end = text.length > LINE_CHARACTERS && !text.includes("\n") ? text.length : text.lastIndexOf("\n") + 1;
    const lines = text.slice(0, end).split("\n").map(lineOf).join("\n");
    this.rest = text.slice(end) + open;
    const follows = this.pre.scrollHeight - this.pre.scrollTop - this.pre.clientHeight < 40;
    if (lines) this.text.data = (this.text.data + lines).slice(-KEPT_CHARACTERS);
    const last = lineOf(text.slice(end));
    if (this.lastLine.data !== last) this.lastLine.data = last;
    if (follows) this.pre.scrollTop = this.pre.scrollHeight;
  }
}
