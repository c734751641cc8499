import { useSyncExternalStore } from "react";
import { hubNow } from "@/api/session";
import { clock, duration, fullTime, relative } from "@/lib/time";

// One clock for everything on the page that shows an age.
let now = 0;
let timer: ReturnType<typeof setInterval> | undefined;
const listeners = new Set<() => void>();
function subscribe(listener: () => void) {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = hubNow();
    for (const each of listeners) each();
  }, 1000);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}
/** By the hub's clock, in milliseconds; draws anew each second. */
export const useNow = (): number =>
  useSyncExternalStore(
    subscribe,
    () => now || hubNow0(),
    () => 0,
  );
function hubNow0(): number {
  now = hubNow();
  return now;
}

/** An instant in the viewer's zone: its age (`ago`), or its clock time. Whoever points at it sees the whole of it. */
export function When({ at, ago }: { at: string | null | undefined; ago?: boolean }) {
  if (!at) return <span className="text-muted">–</span>;
  return (
    <time dateTime={at} title={fullTime(at)} className="whitespace-nowrap">
      {ago ? <Age at={at} /> : clock(at, hubNow())}
    </time>
  );
}
const Age = ({ at }: { at: string }) => relative(at, useNow());

/** How long from one instant to another, or until now while it still runs. */
export function Took({ from, to }: { from: string | null | undefined; to?: string | null }) {
  if (!from) return <span className="text-muted">–</span>;
  return to ? <span>{duration((Date.parse(to) - Date.parse(from)) / 1000)}</span> : <Running from={from} />;
}
const Running = ({ from }: { from: string }) => (
  <span>{duration(Math.max(0, (useNow() - Date.parse(from)) / 1000))}</span>
);
