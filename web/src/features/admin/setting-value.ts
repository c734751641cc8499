import type { Schemas } from "@/api/client";
import { bytes, count } from "@/lib/amounts";
import { duration } from "@/lib/time";
import { adminHub } from "@/texts/admin-hub";
import { inWords } from "./section";

const { settings: text } = adminHub;
type Setting = Schemas["SettingView"];
export type SettingValue = Setting["value"];
const BASIS_POINTS = "hundredths of a percent";

/** A value as people read it, with its unit. */
export function shownValue(value: SettingValue, { type, unit }: Pick<Setting, "type" | "unit">): string {
  if (value === null) return text.none;
  if (type === "boolean") return value ? text.on : text.off;
  if (type === "choice") return inWords(String(value));
  if (typeof value === "number" && unit === "bytes") return bytes(value);
  if (typeof value === "number" && unit === "seconds") return duration(value);
  const number = typeof value === "number" ? (Number.isInteger(value) ? count(value) : String(value)) : String(value);
  if (typeof value === "number" && unit === BASIS_POINTS) return `${number} (${value / 100} %)`;
  return unit ? `${number} ${unit}` : number;
}

/** What was typed, as the API takes it. What is no number is sent as it is: the API says what is wrong with it. */
export function readValue(typed: string, { type, optional }: Pick<Setting, "type" | "optional">): SettingValue {
  const trimmed = typed.trim();
  if (trimmed === "" && optional) return null;
  if (type === "boolean") return trimmed === "true";
  if (type === "integer" || type === "number") {
    const number = Number(trimmed);
    return trimmed !== "" && Number.isFinite(number) ? number : trimmed;
  }
  return trimmed;
}
