import { country } from "@/lib/amounts";
import { Select } from "./form";
import world from "./world-small.json";

const ALL = world.names
  .filter(Boolean)
  .map((two) => [two, country(two)] as const)
  .sort(([, a], [, b]) => a.localeCompare(b, "en"));

/** Inside a Field: a country as the two letters of ISO 3166, or none. */
export function CountrySelect({ defaultValue, none }: { defaultValue?: string; none: string }) {
  return (
    <Select defaultValue={defaultValue ?? ""} autoComplete="country">
      <option value="">{none}</option>
      {ALL.map(([two, name]) => (
        <option key={two} value={two}>
          {name}
        </option>
      ))}
    </Select>
  );
}
