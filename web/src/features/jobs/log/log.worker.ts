// Keeps one log: fetches its bytes, indexes them, and answers for rows and searches. The page never sees a byte more
// than it shows. It opens with the last lines; what comes before them is read behind.
import { Styles } from "./ansi";
import { LogStore } from "./log-store";
import type { FromWorker, LogPlace, ToWorker } from "./messages";

/** How often the page hears of growth: nobody reads faster, and each time it paints a screenful. */
const NEWS_MS = 80;
const RETRY_MS = 1000;
const LONGEST_RETRY_MS = 15_000;
const TAIL_LINES = 300;
/** Kept of one log. Of a larger one the last part, and the page says so. */
const BUDGET_BYTES = 256 * 2 ** 20;

const styles = new Styles();
const head = new LogStore(styles);
/** The last lines, until `head` has come as far. */
let tail: LogStore | null = null;
let tailLine = 0;
let tailOffset = 0;
/** Of the whole log: where `head` begins. */
let above = 0;
let origin = 0;
let loaded = false;
let place: LogPlace = { pieces: "", whole: null };
let token: string | null = null;
let newToken: (() => void) | null = null;

const tell = (message: FromWorker, transfer: Transferable[] = []) => postMessage(message, { transfer });
let stylesTold = 0;
let newsDue = false;
let asked: { first: number; count: number; follows: boolean } | null = null;
let lacking = false;
let wanted = { id: 0, text: "", searched: 0, running: false };

self.onmessage = ({ data }: MessageEvent<ToWorker>) => {
  if (data.type === "open") {
    place = data.place;
    token = data.token;
    void (place.whole ? open() : more());
  }
  if (data.type === "token") {
    token = data.token;
    newToken?.();
  }
  if (data.type === "chunk") take(data.offset, decodeBase64(data.data));
  if (data.type === "more") void more();
  if (data.type === "rows") {
    asked = data;
    answerRows();
  }
  if (data.type === "search") {
    wanted = { id: data.id, text: data.text, searched: 0, running: false };
    void search();
  }
};

const lineCount = () => (tail ? tailLine + tail.lines : head.lines);
const end = () => (tail ? tail.length + tailOffset : head.length + origin);

/** One answer of the hub; tries again until it comes, but where the hub refused. */
async function get(url: string): Promise<Response | null> {
  for (let wait = RETRY_MS; ; wait = Math.min(LONGEST_RETRY_MS, wait * 2)) {
    try {
      const answer = await fetch(url, { headers: token ? { Authorization: `Bearer ${token}` } : {} });
      if (answer.ok) return answer;
      if (answer.status === 401 && token) {
        const renewed = new Promise<void>((done) => {
          newToken = done;
        });
        tell({ type: "token_needed" });
        await renewed;
        continue;
      }
      const body = (await answer.json().catch(() => null)) as { error?: { message?: string } } | null;
      const message = body?.error?.message ?? `The hub answered ${answer.status}.`;
      tell({ type: "trouble", message, passing: answer.status >= 500 });
      if (answer.status < 500) return null;
    } catch {
      tell({ type: "trouble", message: "The hub does not answer.", passing: true });
    }
    await new Promise((done) => setTimeout(done, wait));
  }
}

const number = (answer: Response, name: string) => Number(answer.headers.get(name) ?? 0);

async function open(): Promise<void> {
  const last = await get(`${place.pieces}&tail=${TAIL_LINES}`);
  if (!last) return;
  const bytes = new Uint8Array(await last.arrayBuffer());
  tailOffset = number(last, "X-First-Offset");
  tailLine = Math.max(0, number(last, "X-First-Line") - 1);
  if (tailOffset > BUDGET_BYTES) {
    const first = await get(`${place.pieces}&tail=1&before=${tailOffset - BUDGET_BYTES}`);
    if (!first) return;
    origin = number(first, "X-First-Offset");
    above = Math.max(0, number(first, "X-First-Line") - 1);
    tailLine -= above;
  }
  tail = new LogStore(styles);
  tail.append(bytes);
  news();
  // A line of megabytes does not fit into one piece: the rest of the last line.
  const size = number(last, "X-Log-Bytes");
  const next = number(last, "X-Next-Offset");
  if (next < size) await stream(`${place.whole}&after=${next}`, tail, tailOffset);
  tell({ type: "live_from", offset: end(), complete: last.headers.get("X-Log-Complete") === "1" });
  if (tailOffset > origin) await stream(`${place.whole}&before=${tailOffset}`, head, origin);
  for (const piece of tail.pieces()) head.append(piece);
  tail = null;
  loaded = lacking = true;
  news();
}

/** Reads a part of the log into `store`, and goes on where an answer was cut off. */
async function stream(url: string, store: LogStore, start: number): Promise<void> {
  const from = new URL(url, self.location.href);
  const until = Number(from.searchParams.get("before") ?? Number.POSITIVE_INFINITY);
  for (;;) {
    from.searchParams.set("after", String(start + store.length));
    const answer = await get(from.href);
    if (!answer?.body) return;
    const reader = answer.body.getReader();
    const size = Math.min(until, number(answer, "X-Log-Bytes"));
    try {
      for (let piece = await reader.read(); !piece.done; piece = await reader.read()) {
        store.append(piece.value);
        soon();
      }
    } catch {
      // cut off: once more from there
    }
    if (start + store.length >= size) return;
    await new Promise((done) => setTimeout(done, RETRY_MS));
  }
}

/** A shared log: pieces until there are no more. */
async function more(): Promise<void> {
  for (;;) {
    const answer = await get(`${place.pieces}&after=${head.length}`);
    if (!answer) return;
    const bytes = new Uint8Array(await answer.arrayBuffer());
    head.append(bytes);
    soon();
    const complete = answer.headers.get("X-Log-Complete") === "1";
    if (bytes.length === 0 || complete) {
      loaded = true;
      news();
      tell({ type: "live_from", offset: head.length, complete });
      return;
    }
  }
}

/** What comes live. After a reconnect a part of it may be here already. */
function take(offset: number, bytes: Uint8Array): void {
  const known = end() - offset;
  if (known < 0 || known >= bytes.length) return;
  (tail ?? head).append(bytes.subarray(known));
  soon();
}

type FromBase64 = { fromBase64?: (text: string) => Uint8Array };
const native = (Uint8Array as unknown as FromBase64).fromBase64;
const decodeBase64 = (text: string): Uint8Array =>
  native ? native.call(Uint8Array, text) : Uint8Array.from(atob(text), (character) => character.charCodeAt(0));

function soon(): void {
  if (newsDue) return;
  newsDue = true;
  setTimeout(news, NEWS_MS);
}

// Who follows gets the new last rows with the news of them: asking for them would paint twice, and blanks in between.
function news(): void {
  newsDue = false;
  const lines = lineCount();
  if (asked?.follows) asked.first = Math.max(0, lines - asked.count);
  if (asked && (asked.follows || lacking || asked.first + asked.count >= lines)) answerRows();
  tell({ type: "grown", lines, above, loaded });
  void search();
}

function answerRows(): void {
  if (!asked) return;
  const { first, count } = asked;
  const rows = head.rows(first, count);
  if (tail) {
    const from = Math.max(0, first - tailLine);
    const until = first + count - tailLine;
    if (until > from)
      for (const row of tail.rows(from, until - from)) rows.push({ ...row, number: row.number + tailLine });
  }
  lacking = rows.length < Math.min(count, lineCount() - first);
  tell({ type: "rows", first, rows, styles: styles.list.slice(stylesTold), stylesFrom: stylesTold });
  stylesTold = styles.list.length;
}

// A message to ourselves: a timer would wait four milliseconds each time, half a second over a hundred blocks.
const bell = new MessageChannel();
const pause = () =>
  new Promise<void>((go) => {
    bell.port1.onmessage = () => go();
    bell.port2.postMessage(null);
  });

/** Everything that is here, and later what came since. */
async function search(): Promise<void> {
  const run = wanted;
  if (!run.id || run.running || !loaded) return;
  if (run.text !== "" && run.searched < head.lines) {
    run.running = true;
    const from = run.searched;
    const until = head.ended;
    for (const lines of head.search(run.text, false, from)) {
      if (lines.length) {
        const found = Uint32Array.from(lines);
        tell({ type: "hits", id: run.id, lines: found, done: false }, [found.buffer]);
      }
      await pause(); // rows and newer searches come first
      if (wanted !== run) return;
    }
    run.running = false;
    run.searched = until;
  } else if (run.searched > 0) return;
  tell({ type: "hits", id: run.id, lines: new Uint32Array(), done: true });
}
