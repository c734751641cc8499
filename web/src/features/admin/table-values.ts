// Market tables as rows of texts that a form can hold, and back. Factors are thousandths in the API.
import type { Schemas } from "@/api/client";
import type { MarketTable } from "@/api/queries/admin";
import { parseCredits } from "@/lib/money";
import { adminHub } from "@/texts/admin-hub";

export type TableValue = Schemas["TableView"]["value"];
export type TableInput = Schemas["TableChange"]["value"];
/** One row of cells. Of rates: a name and a number. */
export type Cells = string[];

const digits = (whole: number, places: number): string => {
  const text = String(whole).padStart(places + 1, "0");
  return `${text.slice(0, -places)}.${text.slice(-places)}`.replace(/\.?0+$/, "");
};
/** 1250 is "1.25". */
export const factor = (millis: number): string => digits(millis, 3);
/** 1250000 is "1.25". */
export const amount = (micros: number): string => digits(micros, 6);

function bad(text: string): never {
  throw new Error(adminHub.table.badNumber(text));
}
export function readFactor(text: string): number {
  const found = /^\s*(\d{1,6})(?:[.,](\d{1,3}))?\s*$/.exec(text);
  return found ? Number(found[1]) * 1000 + Number((found[2] ?? "").padEnd(3, "0")) : bad(text);
}
const readAmount = (text: string): number => Number(parseCredits(text) ?? bad(text));
const readWhole = (text: string): number => (/^\s*\d{1,9}\s*$/.test(text) ? Number(text) : bad(text));

export function rowsOf(name: MarketTable, value: TableValue): Cells[] {
  if (name === "tiers" && "cards" in value)
    return [
      ["", factor(value.cpu_millis)],
      ...Object.entries(value.cards).map(([card, millis]) => [card, factor(millis)]),
    ];
  if (name === "regions" && "items" in value)
    return value.items.map((region) => [region.name, factor(region.factor_millis), region.countries.join(" ")]);
  if (name === "rates" && "base_micros" in value)
    return [
      [adminHub.table.base, amount(value.base_micros)],
      [adminHub.table.preemptible, String(value.preemptible_percent)],
      [adminHub.table.spotLeast, factor(value.spot_least_millis)],
      [adminHub.table.spotMost, factor(value.spot_most_millis)],
    ];
  return [];
}

export function readRows(name: MarketTable, rows: Cells[]): TableInput {
  const cell = (row: number, column: number) => rows[row]?.[column] ?? "";
  if (name === "tiers") {
    const cards = rows.slice(1).filter(([card]) => card?.trim());
    return {
      cpu_millis: readFactor(cell(0, 1)),
      cards: Object.fromEntries(cards.map(([card = "", tier = ""]) => [card.trim(), readFactor(tier)])),
    };
  }
  if (name === "regions")
    return {
      items: rows
        .filter(([region]) => region?.trim())
        .map(([region = "", millis = "", countries = ""]) => ({
          name: region.trim(),
          factor_millis: readFactor(millis),
          countries: countries
            .toUpperCase()
            .split(/[\s,]+/)
            .filter(Boolean),
        })),
    };
  return {
    base_micros: readAmount(cell(0, 1)),
    preemptible_percent: readWhole(cell(1, 1)),
    spot_least_millis: readFactor(cell(2, 1)),
    spot_most_millis: readFactor(cell(3, 1)),
  };
}
