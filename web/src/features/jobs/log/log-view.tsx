import { ArrowDownToLine, ChevronDown, ChevronUp, Download, Search, WrapText } from "lucide-react";
import { type ReactNode, useEffect, useRef, useState } from "react";
import { live } from "@/api/live";
import { freshToken } from "@/api/session";
import { buttonClass } from "@/components/button";
import { cn } from "@/lib/cn";
import { ownScript } from "@/lib/trusted";
import { jobTexts } from "@/texts/jobs";
import workerUrl from "./log.worker.ts?worker&url";
import type { FromWorker, LogPlace, ToWorker } from "./messages";
import { Painter } from "./painter";
import "./log.css";

/** A log of the caller's own job, which is followed while it grows; or that of a share link. */
export type LogSource = { jobId: string; slice: number; attempt: number } | { share: string; slice: number };
type Props = {
  source: LogSource;
  title: ReactNode;
  download: string | null;
  /** Nothing more is written to it. */
  ended: boolean;
  className?: string;
};
type Found = { lines: number[]; done: boolean; at: number };
const NOTHING: Found = { lines: [], done: true, at: -1 };
const text = jobTexts.log;

function placeOf(source: LogSource): LogPlace {
  if ("share" in source) {
    return {
      pieces: `/api/v1/public/shares/${encodeURIComponent(source.share)}/log?slice=${source.slice}`,
      whole: null,
    };
  }
  const { jobId, slice, attempt } = source;
  const base = `/api/v1/jobs/${encodeURIComponent(jobId)}/logs`;
  const which = `?slice=${slice}&attempt=${attempt}`;
  return { pieces: base + which, whole: `${base}/raw${which}` };
}

/** Everything after `offset`, as it is written. Returns what ends it. */
function follow(
  source: { jobId: string; slice: number; attempt: number },
  offset: number,
  send: (m: ToWorker) => void,
) {
  const { jobId, slice, attempt } = source;
  // Where to go on is kept up to date in the request itself: it is sent again after the hub was away.
  const begin = { type: "follow_log" as const, job_id: jobId, slice, attempt, offset };
  const deaf = live.on("log", (message) => {
    if (message.job_id !== jobId || message.slice !== slice || message.attempt !== attempt) return;
    begin.offset = Math.max(begin.offset, message.offset);
    send({ type: "chunk", offset: message.offset, data: message.data });
  });
  const ended = live.subscribe(`log ${jobId} ${slice}`, begin, { type: "unfollow_log", job_id: jobId, slice });
  return () => {
    deaf();
    ended();
  };
}

/** For a million lines: a worker keeps them, and a fixed pool of rows shows them. Give it a `key` for each source. */
export function LogView({ source, title, download, ended, className }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const painter = useRef<Painter | null>(null);
  const worker = useRef<Worker | null>(null);
  const input = useRef<HTMLInputElement>(null);
  const searchId = useRef(0);
  const [size, setSize] = useState({ lines: 0, above: 0, loaded: false });
  const [trouble, setTrouble] = useState<string | null>(null);
  const [incomplete, setIncomplete] = useState(false);
  const [follows, setFollows] = useState(true);
  const [wraps, setWraps] = useState(false);
  const [words, setWords] = useState("");
  const [found, setFound] = useState<Found>(NOTHING);
  const isShared = "share" in source;
  const key = JSON.stringify(source);

  useEffect(() => {
    const source = JSON.parse(key) as LogSource;
    const keeper = new Worker(ownScript(workerUrl), { type: "module", name: "log" });
    const send = (message: ToWorker) => keeper.postMessage(message);
    const drawn = new Painter(
      box.current!,
      (first, count, follows) => send({ type: "rows", first, count, follows }),
      setFollows,
    );
    let unfollow: (() => void) | null = null;
    let told = 0;
    keeper.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      if (data.type === "grown") {
        drawn.grow(data.lines, data.above);
        setTrouble(null);
        if (data.loaded || performance.now() - told > 250) {
          told = performance.now();
          setSize(data);
        }
      } else if (data.type === "rows") drawn.take(data.rows, data.styles, data.stylesFrom);
      else if (data.type === "hits" && data.id === searchId.current) {
        setFound((before) => {
          const last = before.lines.at(-1) ?? -1;
          const lines = before.lines.concat(Array.from(data.lines).filter((line) => line > last));
          if (before.at < 0 && lines.length) drawn.go(lines[0]!);
          return { lines, done: data.done, at: before.at < 0 && lines.length ? 0 : before.at };
        });
      } else if (data.type === "live_from") {
        setIncomplete(!data.complete);
        if ("jobId" in source && !data.complete) unfollow = follow(source, data.offset, send);
      } else if (data.type === "token_needed") {
        void freshToken().then(
          (token) => send({ type: "token", token }),
          () => undefined, // signed out: the page goes away
        );
      } else if (data.type === "trouble") setTrouble(data.message);
    };
    let closed = false;
    const token = "jobId" in source ? freshToken() : Promise.resolve(null);
    void token.then(
      (token) => !closed && send({ type: "open", place: placeOf(source), token }),
      (error: Error) => setTrouble(error.message),
    );
    worker.current = keeper;
    painter.current = drawn;
    return () => {
      closed = true;
      unfollow?.();
      keeper.terminate();
      drawn.close();
    };
  }, [key]);

  useEffect(() => {
    const timer = setTimeout(() => {
      searchId.current++;
      setFound({ ...NOTHING, done: words === "" });
      painter.current?.find(words);
      worker.current?.postMessage({ type: "search", id: searchId.current, text: words } satisfies ToWorker);
    }, 150);
    return () => clearTimeout(timer);
  }, [words]);
  useEffect(() => painter.current?.wrap(wraps), [wraps]);

  const step = (by: number) => {
    if (!found.lines.length) return;
    const at = (found.at + by + found.lines.length) % found.lines.length;
    painter.current?.go(found.lines[at]!);
    setFound({ ...found, at });
  };
  const keys = (event: React.KeyboardEvent) => {
    if ((event.ctrlKey || event.metaKey) && event.key === "f") {
      event.preventDefault();
      input.current?.focus();
    } else if (event.key === "End") painter.current?.followEnd();
    else if (event.key === "Home") painter.current?.go(0);
  };
  const button = (pressed?: boolean) =>
    cn(buttonClass({ size: "sm" }), pressed && "border-transparent! bg-live-soft! text-live!", "max-sm:px-2");

  return (
    <section
      aria-label={text.title}
      className={cn("flex min-h-0 flex-col overflow-hidden rounded-lg border border-line bg-surface", className)}
    >
      <header className="flex flex-wrap items-center gap-2 border-b border-line py-2 pr-2 pl-4">
        <div className="flex min-w-0 flex-1 flex-wrap items-center gap-x-2.5 gap-y-1">{title}</div>
        <div className="flex h-7 items-center gap-1 rounded-md border border-line bg-page pr-1 pl-2 text-sm text-muted max-sm:order-1 max-sm:w-full focus-within:border-live">
          <Search size={14} aria-hidden />
          <input
            ref={input}
            value={words}
            placeholder={text.search}
            aria-label={text.search}
            spellCheck={false}
            onChange={(event) => setWords(event.target.value)}
            onKeyDown={(event) => event.key === "Enter" && step(event.shiftKey ? -1 : 1)}
            className="w-36 flex-1 bg-transparent text-text outline-none placeholder:text-muted"
          />
          <output className="text-xs whitespace-nowrap">
            {words && text.found(found.at + 1, found.lines.length, found.done)}
          </output>
          {[
            { by: -1, name: text.previous, Icon: ChevronUp },
            { by: 1, name: text.next, Icon: ChevronDown },
          ].map(({ by, name, Icon }) => (
            <button
              key={name}
              type="button"
              aria-label={name}
              onClick={() => step(by)}
              className="cursor-pointer rounded p-0.5 hover:bg-sunken hover:text-text"
            >
              <Icon size={14} aria-hidden />
            </button>
          ))}
        </div>
        <button
          type="button"
          aria-pressed={wraps}
          aria-label={text.wrap}
          title={text.wrap}
          onClick={() => setWraps(!wraps)}
          className={button(wraps)}
        >
          <WrapText size={14} aria-hidden />
        </button>
        <button
          type="button"
          aria-pressed={ended ? undefined : follows}
          onClick={() => painter.current?.followEnd()}
          className={button(follows && !ended)}
        >
          <ArrowDownToLine size={14} aria-hidden /> {ended ? text.toEnd : text.follow}
        </button>
        {download && (
          <a href={download} download className={button()} aria-label={text.download}>
            <Download size={14} aria-hidden /> <span className="max-sm:hidden">{text.download}</span>
          </a>
        )}
        {isShared && incomplete && (
          <button
            type="button"
            onClick={() => worker.current?.postMessage({ type: "more" } satisfies ToWorker)}
            className={button()}
          >
            {text.more}
          </button>
        )}
      </header>
      {(trouble || size.above > 0) && (
        <p role="status" className="border-b border-line bg-warn-soft px-4 py-1.5 text-sm text-warn">
          {trouble ?? text.above(size.above)}
        </p>
      )}
      <div
        ref={box}
        className="log-box"
        role="log"
        aria-live="off"
        aria-label={text.lines(size.lines)}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with the keyboard too
        tabIndex={0}
        onKeyDown={keys}
      >
        {size.loaded && size.lines === 0 && <p className="px-4 py-3 font-sans text-base text-muted">{text.empty}</p>}
      </div>
    </section>
  );
}
