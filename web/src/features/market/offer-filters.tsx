import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import type { Schemas } from "@/api/client";
import { offerFiltersQuery } from "@/api/queries/market";
import { catalogQuery } from "@/api/queries/public";
import { Button } from "@/components/button";
import { Switch } from "@/components/form";
import { inputClass } from "@/components/input-class";
import { Skeleton } from "@/components/skeleton";
import { bytes, country } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { credits } from "@/lib/money";
import { market as text } from "@/texts/market";

type FilterField = Schemas["FilterField"];
export type Parameters = Record<string, string | undefined>;

const FIRST = ["gpu", "min_vram", "min_gpus_free", "max_price", "min_reliability", "country", "region"];
const TYPING_MS = 350;

/** Sends what was typed once the person pauses. */
function Typed({
  name,
  label,
  value,
  hint,
  onChange,
}: {
  name: string;
  label: string;
  value: string;
  hint: string;
  onChange: (value: string) => void;
}) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: what was typed is all that counts
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(typed.trim()), TYPING_MS);
    return () => clearTimeout(timer);
  }, [typed]);
  return (
    <input
      id={`filter-${name}`}
      aria-label={label}
      value={typed}
      placeholder={hint}
      autoComplete="off"
      onChange={(event) => setTyped(event.target.value)}
      onKeyDown={(event) => event.key === "Enter" && onChange(typed.trim())}
      className={cn(inputClass, "h-8!")}
    />
  );
}

const spelled = (kind: FilterField["kind"], value: number) =>
  kind === "bytes" ? bytes(value) : kind === "credits" ? credits(Math.round(value)) : String(Number(value.toFixed(2)));

function hintOf({ kind, minimum, maximum, example }: FilterField): string {
  if (minimum == null || maximum == null || minimum === maximum) return example.replace(/^.*?[<>=]+/, "");
  return `${spelled(kind, minimum)} – ${spelled(kind, maximum)}`;
}

function Control({
  field,
  name,
  operator,
  value,
  names,
  onChange,
}: {
  field: FilterField;
  name: string;
  operator: string;
  value: string;
  names: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  const bound = operator === ">=" ? text.atLeast : operator === "<=" ? text.atMost : "";
  const isChoice = field.kind === "choice" && names.length > 0;
  return (
    <div>
      <label htmlFor={`filter-${name}`} className="mb-1 flex justify-between text-sm font-medium" title={field.meaning}>
        {field.title}
        {bound && <span className="font-normal text-muted">{bound}</span>}
      </label>
      {isChoice ? (
        <select
          id={`filter-${name}`}
          value={value}
          onChange={(event) => onChange(event.target.value)}
          className={cn(inputClass, "h-8! pr-7")}
        >
          <option value="">{text.any}</option>
          {value && !names.some(([key]) => key === value) && <option value={value}>{value}</option>}
          {names.map(([key, label]) => (
            <option key={key} value={key}>
              {label}
            </option>
          ))}
        </select>
      ) : (
        <Typed name={name} label={field.title} value={value} hint={hintOf(field)} onChange={onChange} />
      )}
    </div>
  );
}

/** The fields that the API has, as a form; each is one parameter of the address. */
export function OfferFilters({ values, set }: { values: Parameters; set: (changes: Parameters) => void }) {
  const fields = useQuery(offerFiltersQuery).data?.items;
  const catalog = useQuery(catalogQuery).data;
  const [all, setAll] = useState(false);
  const namesOf = (field: FilterField): (readonly [string, string])[] => {
    const offered = field.values.map(({ value, offers }) => {
      const label = field.name === "country" ? country(value) : value;
      return [value, field.name === "isolation" ? label : `${label} (${offers})`] as const;
    });
    const known = new Set(offered.map(([key]) => key));
    const others =
      field.name === "gpu"
        ? (catalog?.gpus ?? []).map(({ name }) => [name, name] as const)
        : field.name === "country"
          ? (catalog?.countries ?? []).map(({ code, name }) => [code, name] as const)
          : field.name === "region"
            ? (catalog?.regions ?? []).map(({ name }) => [name, name] as const)
            : [];
    return [...offered, ...others.filter(([key]) => !known.has(key))];
  };
  if (!fields) {
    return (
      <div className="grid gap-4">
        {FIRST.map((name) => (
          <Skeleton key={name} className="h-12" />
        ))}
      </div>
    );
  }
  const controls = fields
    .flatMap((field) => field.parameters.map((parameter) => ({ field, ...parameter })))
    .filter(({ field }) => field.kind !== "flag");
  const rank = (name: string) => (FIRST.indexOf(name) + FIRST.length + 1) % (FIRST.length + 1);
  const first = controls.filter(({ name }) => FIRST.includes(name)).sort((a, b) => rank(a.name) - rank(b.name));
  const rest = controls.filter(({ name }) => !FIRST.includes(name));
  const shown = all || rest.some(({ name }) => values[name]) ? [...first, ...rest] : first;
  return (
    <div className="grid gap-4">
      <div className="grid gap-3 max-lg:grid-cols-2">
        {shown.map(({ field, name, operator }) => (
          <Control
            key={name}
            field={field}
            name={name}
            operator={operator}
            value={values[name] ?? ""}
            names={namesOf(field)}
            onChange={(value) => set({ [name]: value })}
          />
        ))}
      </div>
      {shown.length === first.length && (
        <Button size="sm" look="quiet" className="justify-self-start" onClick={() => setAll(true)}>
          {text.moreFilters}
        </Button>
      )}
      <Switch
        label={text.verified}
        checked={values.verified === "true"}
        onChange={(on) => set({ verified: on ? "true" : "" })}
      />
      <Switch
        label={text.simulated}
        about={text.simulatedAbout}
        checked={values.simulated === "true"}
        onChange={(on) => set({ simulated: on ? "true" : "" })}
      />
    </div>
  );
}
