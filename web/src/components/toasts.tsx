import { CircleAlert, CircleCheck, X } from "lucide-react";
import { useSyncExternalStore } from "react";
import { common } from "@/texts/common";

export type Toast = {
  title: string;
  about?: string;
  tone?: "good" | "warn" | "bad";
  action?: { name: string; run: () => void };
};
type Shown = Toast & { id: number };

const SHOWN_MS = 6000;
let shown: Shown[] = [];
let next = 1;
const listeners = new Set<() => void>();
const none: Shown[] = [];

function put(list: Shown[]) {
  shown = list;
  for (const listener of listeners) listener();
}
const close = (id: number) => put(shown.filter((one) => one.id !== id));

/** A short message in the corner. What went wrong stays until it is closed. */
export function toast(message: Toast): void {
  const one = { ...message, id: next++ };
  put([...shown.slice(-3), one]);
  if (message.tone !== "bad") setTimeout(() => close(one.id), SHOWN_MS);
}
/** For a mutation's `onError`. */
export const toastError = (error: Error & { hint?: string | null }): void =>
  toast({ title: error.message, tone: "bad", ...(error.hint ? { about: error.hint } : {}) });

const subscribe = (listener: () => void) => {
  listeners.add(listener);
  return () => void listeners.delete(listener);
};

export function Toasts() {
  const list = useSyncExternalStore(
    subscribe,
    () => shown,
    () => none,
  );
  return (
    <ol
      aria-live="polite"
      aria-label={common.messages}
      className="pointer-events-none fixed right-4 bottom-4 z-40 flex w-88 max-w-[calc(100vw-2rem)] flex-col gap-2"
    >
      {list.map((one) => (
        <li
          key={one.id}
          className="toast pointer-events-auto flex gap-3 rounded-lg border border-line bg-surface p-3.5 shadow-lg"
        >
          {one.tone === "bad" || one.tone === "warn" ? (
            <CircleAlert
              size={16}
              aria-hidden
              className={`mt-0.5 shrink-0 ${one.tone === "bad" ? "text-bad" : "text-warn"}`}
            />
          ) : (
            <CircleCheck size={16} aria-hidden className="mt-0.5 shrink-0 text-good" />
          )}
          <div className="min-w-0 flex-1 break-words">
            <p className="font-medium">{one.title}</p>
            {one.about && <p className="text-sm text-muted">{one.about}</p>}
            {one.action && (
              <button
                type="button"
                onClick={one.action.run}
                className="mt-1 cursor-pointer text-sm font-medium text-accent hover:underline"
              >
                {one.action.name}
              </button>
            )}
          </div>
          <button
            type="button"
            aria-label={common.close}
            onClick={() => close(one.id)}
            className="-m-1 h-fit cursor-pointer rounded p-1 text-muted hover:text-text"
          >
            <X size={14} aria-hidden />
          </button>
        </li>
      ))}
    </ol>
  );
}
