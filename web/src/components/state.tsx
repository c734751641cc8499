import type { ReactNode } from "react";
import { cn } from "@/lib/cn";

// Never by colour alone: what waits is a ring, what is over is a dot, what is live breathes, and the word is always there.
const LOOKS = {
  live: ["bg-live-soft text-live", "bg-live-dot breathes"],
  good: ["bg-good-soft text-good", "bg-good-dot"],
  warn: ["bg-warn-soft text-warn", "bg-warn-dot"],
  bad: ["bg-bad-soft text-bad", "bg-bad-dot"],
  held: ["bg-held-soft text-held", "bg-held-dot"],
  idle: ["bg-sunken text-muted", "border-[1.5px] border-current"],
} as const;
export type Look = keyof typeof LOOKS;

const GROUPS: Record<Look, string> = {
  live: "running leased preparing finishing active processing",
  good: "succeeded online captured paid credited resolved sent stored delivered",
  warn: "lost draining quarantined requested requires_action open pending",
  bad: "failed banned rejected returned given_up frozen",
  held: "suspended paused approved held",
  idle: "queued canceled offline superseded voided expired withdrawn",
};
const OF = new Map(
  Object.entries(GROUPS).flatMap(([look, words]) => words.split(" ").map((word) => [word, look as Look])),
);
export const lookOf = (state: string): Look => OF.get(state) ?? "idle";
export const dotClass = (state: string): string => LOOKS[lookOf(state)][1];

const inWords = (state: string) => state.charAt(0).toUpperCase() + state.slice(1).replaceAll("_", " ");

/** A state of the API, by its own word. `look`: where the word alone does not tell. */
export function State({ of, look, children }: { of: string; look?: Look; children?: ReactNode }) {
  const chosen = look ?? lookOf(of);
  const [box, dot] = LOOKS[chosen];
  return (
    <span
      className={cn(
        "inline-flex h-6 items-center gap-1.5 rounded-full pr-2.5 pl-2 text-sm font-medium whitespace-nowrap",
        box,
      )}
    >
      <span aria-hidden className={cn("size-1.5 shrink-0 rounded-full", dot, chosen === "idle" && "size-2")} />
      {children ?? inWords(of)}
    </span>
  );
}

/** A plain tag: a word that is not a state. */
export const Tag = ({ children, tone }: { children: ReactNode; tone?: Look }) => (
  <span
    className={cn(
      "inline-flex h-5 items-center rounded px-1.5 text-xs font-medium whitespace-nowrap",
      tone ? LOOKS[tone][0] : "bg-sunken text-muted",
    )}
  >
    {children}
  </span>
);
