// Credits are integers of millionths everywhere. Only this file writes them for people, and it never divides as floats.
const group = new Intl.NumberFormat("en");

/** A hundredth of a credit: prices and sums are shown to it. */
export const CENT = 10_000;

/** "1,234.50". `places`: digits after the point, rounded half up; a price below a cent gets as many as it needs. */
export function credits(micros: number | bigint, places = 2): string {
  const all = BigInt(micros);
  const sign = all < 0n ? "−" : "";
  const size = all < 0n ? -all : all;
  const shown = size > 0n && size < 10n ** BigInt(6 - places) / 2n ? 6 : places;
  const unit = 10n ** BigInt(6 - shown);
  const rounded = (size + unit / 2n) / unit;
  const base = 10n ** BigInt(shown);
  const rest = (rounded % base).toString().padStart(shown, "0");
  const trimmed = shown > places ? rest.replace(/0+$/, "") : rest;
  return `${sign}${group.format(rounded / base)}${shown ? `.${trimmed}` : ""}`;
}

/** What somebody typed, in micros; null where it is not an amount. */
export function parseCredits(text: string): bigint | null {
  const found = /^\s*(\d{1,12})(?:[.,](\d{1,6}))?\s*$/.exec(text);
  return found ? BigInt(found[1]!) * 1_000_000n + BigInt((found[2] ?? "").padEnd(6, "0")) : null;
}
