import { Link } from "@tanstack/react-router";
import { cn } from "@/lib/cn";

/** A tab that a narrow screen cut off: its row is scrolled to it. */
export const intoSight = (tab: HTMLElement | null) => {
  const row = tab?.parentElement;
  if (tab && row) row.scrollLeft = tab.offsetLeft + tab.offsetWidth - row.offsetLeft - row.clientWidth;
};

export type Tab = { to: string; name: string; exact?: boolean };
/** Parts of a page, each at its own address. */
export function TabLinks({ label, tabs }: { label: string; tabs: Tab[] }) {
  return (
    <nav aria-label={label} className="flex gap-1 overflow-x-auto border-b border-line">
      {tabs.map(({ to, name, exact }) => (
        <Link
          key={to}
          to={to}
          activeOptions={{ exact: exact ?? false }}
          className={cn("-mb-px border-b-2 border-transparent px-3 py-2 whitespace-nowrap text-muted hover:text-text")}
          activeProps={{ className: "border-text! font-medium text-text!", "aria-current": "page" }}
        >
          {name}
        </Link>
      ))}
    </nav>
  );
}

/** A few choices of which one holds, such as a range of time. */
export function Choices<T extends string>({
  label,
  value,
  options,
  onChange,
}: {
  label: string;
  value: T;
  options: readonly (readonly [T, string])[];
  onChange: (value: T) => void;
}) {
  return (
    <fieldset aria-label={label} className="inline-flex gap-0.5 rounded-md border border-line bg-sunken p-0.5">
      {options.map(([key, name]) => (
        <button
          key={key}
          type="button"
          aria-pressed={key === value}
          onClick={() => onChange(key)}
          className="h-6 cursor-pointer rounded-[4px] px-2 text-sm text-muted hover:text-text aria-pressed:bg-surface aria-pressed:font-medium aria-pressed:text-text aria-pressed:shadow-sm"
        >
          {name}
        </button>
      ))}
    </fieldset>
  );
}
