// Instants come as UTC in ISO 8601 and are shown in the viewer's zone.
const TODAY = new Intl.DateTimeFormat("en", {
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
  hourCycle: "h23",
});
const DAY = new Intl.DateTimeFormat("en", {
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  hourCycle: "h23",
});
const DATE = new Intl.DateTimeFormat("en", { day: "numeric", month: "short", year: "numeric" });
const FULL = new Intl.DateTimeFormat("en", { dateStyle: "full", timeStyle: "long", hourCycle: "h23" });

/** Short: the time today, day and time this year, else the date. */
export function clock(instant: string, now: number): string {
  const then = new Date(instant);
  const today = new Date(now);
  if (then.toDateString() === today.toDateString()) return TODAY.format(then);
  return then.getFullYear() === today.getFullYear() ? DAY.format(then) : DATE.format(then);
}

export const date = (instant: string): string => DATE.format(new Date(instant));
/** With the zone, for whoever points at a short one. */
export const fullTime = (instant: string): string => FULL.format(new Date(instant));

/** "8 min 41 s": two units at most. */
export function duration(seconds: number): string {
  if (seconds < 0.05) return "0 s";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  const s = Math.round(seconds);
  if (s < 60) return `${s} s`;
  const [large, small, one, two] =
    s < 3600 ? [60, 1, "min", "s"] : s < 86_400 ? [3600, 60, "h", "min"] : [86_400, 3600, "d", "h"];
  const first = Math.floor(s / (large as number));
  const second = Math.floor((s % (large as number)) / (small as number));
  return second ? `${first} ${one} ${second} ${two}` : `${first} ${one}`;
}

/** "3 min ago", "in 2 h": one unit. */
export function relative(instant: string, now: number): string {
  const seconds = (Date.parse(instant) - now) / 1000;
  const size = Math.abs(seconds);
  if (size < 5) return "just now";
  const units = [
    ["s", 60],
    ["min", 60],
    ["h", 24],
    ["d", 365],
  ] as const;
  let value = size;
  let unit = "y";
  for (const [name, most] of units) {
    if (value < most) {
      unit = name;
      break;
    }
    value /= most;
  }
  const text = `${Math.floor(value)} ${unit}`;
  return seconds < 0 ? `${text} ago` : `in ${text}`;
}
