const whole = new Intl.NumberFormat("en");

export const count = (value: number | bigint): string => whole.format(value);
export const percent = (part: number): string => `${Math.round(part * 100)} %`;

/** Of memory and files, in binary units as the CLI shows them. */
export function bytes(value: number): string {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let size = value;
  let unit = 0;
  while (size >= 1024 && unit < units.length - 1) {
    size /= 1024;
    unit += 1;
  }
  return `${size >= 100 || unit === 0 ? Math.round(size) : Number(size.toFixed(1))} ${units[unit]}`;
}

const rules = new Intl.PluralRules("en");
/** `plural(3, "node", "nodes")` is "3 nodes". */
export const plural = (value: number, one: string, other: string): string =>
  `${count(value)} ${rules.select(value) === "one" ? one : other}`;

/** The name of a country by its two letters. */
const regions = new Intl.DisplayNames("en", { type: "region" });
export function country(two: string): string {
  try {
    return regions.of(two) ?? two;
  } catch {
    return two;
  }
}

/** `rtx-4090` as people write it: "RTX 4090". */
export const cardName = (card: string): string => card.replaceAll("-", " ").toUpperCase();
