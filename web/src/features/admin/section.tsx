// Parts that the pages of this section share.
import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { X } from "lucide-react";
import { type ReactNode, useEffect, useState } from "react";
import { flat } from "@/api/queries/pages";
import { Card } from "@/components/card";
import { FilterSelect, SearchField, useFilters } from "@/components/filters";
import { More } from "@/components/more";
import { Back, useTitle } from "@/components/page";
import { Prose } from "@/components/prose";
import { SkeletonRows } from "@/components/skeleton";
import { type Column, Table } from "@/components/table";
import { Trouble } from "@/components/trouble";
import { count } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { admin } from "@/texts/admin";

/** The frame of a page in this section. */
export function Section({
  title,
  back,
  beside,
  actions,
  about,
  children,
}: {
  title: string;
  back?: { to: string; name: string };
  beside?: ReactNode;
  actions?: ReactNode;
  about?: ReactNode;
  children: ReactNode;
}) {
  useTitle(title);
  return (
    <>
      {back && <Back {...back} />}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0 text-2xl font-semibold break-words">{title}</h1>
        {beside}
        <span className="flex-1" />
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {about && (
        <p className="mt-1 max-w-2xl text-muted text-pretty">
          <Prose>{about}</Prose>
        </p>
      )}
      <div className="mt-5 grid min-w-0 grid-cols-[minmax(0,1fr)] gap-4">{children}</div>
    </>
  );
}

type ListPage<Row> = { items: Row[]; next?: string | null; total?: number | null };
type ListingProps<Row> = {
  label: string;
  query: UseInfiniteQueryResult<InfiniteData<ListPage<Row>>>;
  columns: Column<Row>[];
  keyOf: (row: Row) => string;
  filters?: ReactNode;
  empty: ReactNode;
};
/** A list with its filters, how many there are, and the next page. Old rows stay while others are read. */
export function Listing<Row>({ label, query, columns, keyOf, filters, empty }: ListingProps<Row>) {
  const { data, error } = query;
  const rows = data ? flat(data) : [];
  const total = data?.pages[0]?.total;
  return (
    <Card flush>
      {(filters || total != null) && (
        <div className="flex flex-wrap items-center gap-2 px-4 py-3">
          {filters}
          <span className="flex-1" />
          {total != null && <span className="text-sm text-muted">{admin.found(count(total))}</span>}
        </div>
      )}
      {data === undefined && !error && <SkeletonRows rows={8} />}
      {data === undefined && error && (
        <div className="p-4">
          <Trouble error={error} retry={() => void query.refetch()} />
        </div>
      )}
      {data && rows.length === 0 && <div className="border-t border-line">{empty}</div>}
      {rows.length > 0 && (
        <div className={cn("transition-opacity", query.isPlaceholderData && "opacity-60")}>
          <Table label={label} columns={columns} rows={rows} keyOf={keyOf} />
        </div>
      )}
      {data && <More query={query} />}
    </Card>
  );
}

const TYPED_MS = 250;
/** Words to look for, kept in the address once nobody types any more. */
export function UrlSearch({ name = "q", label, className }: { name?: string; label: string; className?: string }) {
  const [filters, set] = useFilters();
  const [text, setText] = useState(filters[name] ?? "");
  const stored = filters[name] ?? "";
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is typed starts the clock
  useEffect(() => {
    if (text === stored) return;
    const timer = setTimeout(() => set({ [name]: text || undefined }), TYPED_MS);
    return () => clearTimeout(timer);
  }, [text]);
  useEffect(() => setText(stored), [stored]);
  return <SearchField label={label} value={text} onChange={setText} className={cn("w-56 max-sm:w-full", className)} />;
}
/** One of a few, kept in the address. */
export function UrlSelect({
  name,
  label,
  options,
}: {
  name: string;
  label: string;
  options: readonly (readonly [string, string])[];
}) {
  const [filters, set] = useFilters();
  return (
    <FilterSelect
      label={label}
      value={filters[name] ?? ""}
      options={options}
      onChange={(value) => set({ [name]: value || undefined })}
    />
  );
}
/** A filter that a link set, such as the owner; it can be taken away. */
export function UrlChip({ name, label }: { name: string; label: string }) {
  const [filters, set] = useFilters();
  if (!filters[name]) return null;
  return (
    <button
      type="button"
      aria-label={admin.removeFilter(label)}
      onClick={() => set({ [name]: undefined })}
      className="inline-flex h-8 cursor-pointer items-center gap-1.5 rounded-md border border-line bg-sunken px-2.5 text-sm hover:text-text"
    >
      <span className="text-muted">{label}</span>
      <code className="max-w-40 truncate">{filters[name]}</code>
      <X size={14} aria-hidden />
    </button>
  );
}

const LINK = "hover:underline";
/** Somebody, with a link to all that an operator may know of them. */
export function Person({ id, name }: { id: string | null | undefined; name?: string | null | undefined }) {
  if (!id) return <span className="text-muted">–</span>;
  if (!id.startsWith("user_")) return <span className="break-words">{name ?? id}</span>;
  return (
    <Link to="/admin/users/$userId" params={{ userId: id }} className={cn(LINK, "break-words")}>
      {name ?? <code className="text-sm">{id}</code>}
    </Link>
  );
}
export const JobLink = ({ id, children }: { id: string; children?: ReactNode }) => (
  <Link to="/jobs/$jobId" params={{ jobId: id }} className={cn(LINK, "break-words")}>
    {children ?? <code className="text-sm">{id}</code>}
  </Link>
);
export const NodeLink = ({ id, children }: { id: string; children?: ReactNode }) => (
  <Link to="/nodes/$nodeId" params={{ nodeId: id }} className={cn(LINK, "break-words")}>
    {children ?? <code className="text-sm">{id}</code>}
  </Link>
);
/** The API's own words, with a capital letter: `payment_difference` is "Payment difference". */
export const inWords = (text: string): string => text.charAt(0).toUpperCase() + text.slice(1).replaceAll("_", " ");
export const options = (words: readonly string[]): [string, string][] => words.map((text) => [text, inWords(text)]);
