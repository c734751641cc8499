import { useNavigate, useSearch } from "@tanstack/react-router";
import { Search } from "lucide-react";
import { cn } from "@/lib/cn";
import { inputClass } from "./input-class";

type Values = Record<string, string | undefined>;
const useAnySearch = () => useSearch({ strict: false }) as Values;

/** The filters of a page are in its address: a link to it shows the same. `set({ state: "running" })` keeps the others. */
export function useFilters<T extends Values>(): [T, (changes: Partial<T>) => void] {
  const search = useAnySearch() as T;
  const go = useNavigate();
  const set = (changes: Partial<T>) =>
    void go({ to: ".", search: ((before: Values) => ({ ...before, ...changes })) as never, replace: true });
  return [search, set];
}

/** Words to look for. */
export function SearchField({
  label,
  value,
  onChange,
  className,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  className?: string;
}) {
  return (
    <div className={cn("relative", className)}>
      <Search
        size={14}
        aria-hidden
        className="pointer-events-none absolute top-1/2 left-2.5 -translate-y-1/2 text-muted"
      />
      <input
        type="search"
        aria-label={label}
        placeholder={label}
        value={value}
        onChange={(event) => onChange(event.target.value)}
        className={cn(inputClass, "h-8! pl-8")}
      />
    </div>
  );
}

/** One of a few, or all of them. */
export function FilterSelect({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: string;
  options: readonly (readonly [string, string])[];
  onChange: (value: string) => void;
}) {
  return (
    <select
      aria-label={label}
      value={value}
      onChange={(event) => onChange(event.target.value)}
      className={cn(inputClass, "h-8! w-auto! pr-7")}
    >
      <option value="">{label}</option>
      {options.map(([key, name]) => (
        <option key={key} value={key}>
          {name}
        </option>
      ))}
    </select>
  );
}
