import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ChevronRight, X } from "lucide-react";
import { type ReactNode, useState } from "react";
import type { Schemas } from "@/api/client";
import { flat } from "@/api/queries/pages";
import { type EntryKind, entriesQuery, explainQuery } from "@/api/queries/wallet";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { Empty } from "@/components/empty";
import { FilterSelect, useFilters } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { More } from "@/components/more";
import { SkeletonRows } from "@/components/skeleton";
import { Trouble } from "@/components/trouble";
import { When } from "@/components/when";
import { cn } from "@/lib/cn";
import { wallet as texts } from "@/texts/wallet";

const t = texts.entries;
type Entry = Schemas["EntryView"];
const KINDS: Record<keyof typeof t.kinds, EntryKind[]> = {
  work: [
    "settle",
    "give_back",
    "clawback",
    "clawback_overturned",
    "restitution",
    "dispute_refund",
    "dispute_refund_undone",
  ],
  holds: ["hold"],
  given: ["grant", "withdrawal", "welcome", "voucher"],
  bought: ["top_up", "refund_asked", "refund", "refund_failed", "chargeback", "chargeback_won"],
  paid: ["cash_out", "cash_out_returned", "pay_out"],
  other: ["storage", "debt_filled", "write_off", "write_off_returned"],
};
const DAY_MS = 86_400_000;
type Filters = { kind?: string; days?: string; job?: string; node?: string };

/** From the beginning of that day, so that the same filter is the same query all day. */
const since = (days: string) => new Date(Math.floor(Date.now() / DAY_MS - Number(days)) * DAY_MS).toISOString();

export function Entries() {
  const [filters, set] = useFilters<Filters>();
  const kind = filters.kind && filters.kind in KINDS ? (filters.kind as keyof typeof KINDS) : undefined;
  const query = useInfiniteQuery(
    entriesQuery({
      ...(kind ? { kind: KINDS[kind] } : {}),
      ...(filters.days && filters.days in t.times ? { since: since(filters.days) } : {}),
      ...(filters.job ? { job: filters.job } : {}),
      ...(filters.node ? { node: filters.node } : {}),
    }),
  );
  const rows = query.data && flat(query.data);
  const isFiltered = Boolean(filters.kind || filters.days || filters.job || filters.node);
  const clear = () => set({ kind: "", days: "", job: "", node: "" });
  return (
    <Card flush>
      <header className="flex flex-wrap items-center gap-2 px-4 py-3">
        <h2 className="mr-auto font-medium">{t.title}</h2>
        {filters.job && <Chip text={t.ofJob(filters.job)} close={() => set({ job: "" })} />}
        {filters.node && <Chip text={t.ofNode(filters.node)} close={() => set({ node: "" })} />}
        <FilterSelect
          label={t.anyKind}
          value={kind ?? ""}
          options={Object.entries(t.kinds)}
          onChange={(next) => set({ kind: next })}
        />
        <FilterSelect
          label={t.anyTime}
          value={filters.days ?? ""}
          options={Object.entries(t.times)}
          onChange={(days) => set({ days })}
        />
      </header>
      {rows === undefined ? (
        query.error ? (
          <div className="p-4">
            <Trouble error={query.error} retry={() => void query.refetch()} />
          </div>
        ) : (
          <SkeletonRows rows={6} className="h-14" />
        )
      ) : rows.length > 0 ? (
        <ul aria-label={t.title} className="divide-y divide-line border-t border-line">
          {grouped(rows, !filters.job).map((group) =>
            group.length > 1 ? (
              <JobRow key={group[0]!.job_id} entries={group} />
            ) : (
              <EntryRow key={group[0]!.id} entry={group[0]!} />
            ),
          )}
        </ul>
      ) : isFiltered ? (
        <Empty title={t.noneLike} about={t.noneLikeAbout}>
          <Button onClick={clear}>{t.clear}</Button>
        </Empty>
      ) : (
        <Empty title={t.none} about={t.noneAbout} />
      )}
      <More query={query} />
    </Card>
  );
}

const Chip = ({ text, close }: { text: string; close: () => void }) => (
  <Button size="sm" onClick={close} className="max-w-56">
    <span className="truncate">{text}</span> <X size={12} aria-hidden />
  </Button>
);

/** The entries of a job together, where its newest one is; all others alone. */
function grouped(entries: Entry[], byJob: boolean): Entry[][] {
  const groups = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = (byJob && entry.job_id) || entry.id;
    groups.set(key, [...(groups.get(key) ?? []), entry]);
  }
  return [...groups.values()];
}

type RowProps = { at: string; title: string; about: string | null; change: bigint; children: ReactNode };
function Row({ at, title, about, change, children }: RowProps) {
  const [open, setOpen] = useState(false);
  return (
    <li>
      <button
        type="button"
        aria-expanded={open}
        onClick={() => setOpen(!open)}
        className="grid w-full cursor-pointer grid-cols-[1rem_minmax(0,1fr)_auto] items-baseline gap-x-3 px-4 py-2.5 text-left hover:bg-sunken/60 sm:grid-cols-[1rem_9rem_minmax(0,1fr)_auto]"
      >
        <ChevronRight
          size={14}
          aria-hidden
          className={cn("translate-y-0.5 text-muted transition-transform", open && "rotate-90")}
        />
        <span className="text-sm text-muted max-sm:order-3 max-sm:col-start-2">
          <When at={at} />
        </span>
        <span className="min-w-0">
          {title}
          {about && <span className="block truncate text-sm text-muted">{about}</span>}
        </span>
        <span className="font-medium">
          {change === 0n ? <span className="text-muted">–</span> : <Money micros={change} signed />}
        </span>
      </button>
      {open && children}
    </li>
  );
}

const EntryRow = ({ entry }: { entry: Entry }) => (
  <Row
    at={entry.at}
    title={entry.title}
    about={entry.job_name ?? entry.node_name ?? entry.note}
    change={BigInt(entry.change_micros)}
  >
    <Explanation entry={entry} />
  </Row>
);

/** A job with the sum of its entries that are shown here. */
function JobRow({ entries }: { entries: Entry[] }) {
  const { at, job_name, node_name } = entries[0]!;
  const change = entries.reduce((sum, entry) => sum + BigInt(entry.change_micros), 0n);
  const title = job_name ?? (node_name ? t.jobOn(node_name) : t.job);
  return (
    <Row at={at} title={title} about={t.sumOf(entries.length)} change={change}>
      <ul className="divide-y divide-line border-t border-line bg-sunken/40 sm:pl-6">
        {entries.map((entry) => (
          <EntryRow key={entry.id} entry={entry} />
        ))}
      </ul>
    </Row>
  );
}

/** Each movement of an entry, and of a job's entry the whole story in the API's sentences. */
function Explanation({ entry }: { entry: Entry }) {
  const [, set] = useFilters<Filters>();
  return (
    <div className="border-t border-line bg-sunken/40 px-4 py-3 pl-11">
      <dl className="grid gap-x-8 gap-y-1 text-sm sm:grid-cols-[8rem_minmax(0,1fr)]">
        <dt className="text-muted">{t.movement}</dt>
        <dd>
          {entry.lines.map((line, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: the lines of an entry never change
            <p key={place}>
              <Money micros={line.micros} className="font-medium" /> {place_(line.source)}{" "}
              <span className="text-muted">{t.to}</span> {place_(line.destination)}
            </p>
          ))}
        </dd>
        {entry.note && (
          <>
            <dt className="text-muted">{t.note}</dt>
            <dd className="break-words">{entry.note}</dd>
          </>
        )}
        {entry.job_id && (
          <>
            <dt className="text-muted">{t.job}</dt>
            <dd className="flex flex-wrap gap-x-3">
              {entry.job_name ? (
                <Link to="/jobs/$jobId" params={{ jobId: entry.job_id }} className="text-accent hover:underline">
                  {entry.job_name}
                </Link>
              ) : (
                <code className="break-all">{entry.job_id}</code>
              )}
              <button
                type="button"
                className="cursor-pointer text-muted hover:underline"
                onClick={() => set({ job: entry.job_id! })}
              >
                {t.ofJob("").trim()}
              </button>
            </dd>
          </>
        )}
        {entry.node_id && (
          <>
            <dt className="text-muted">{t.node}</dt>
            <dd>{entry.node_name ?? entry.node_id}</dd>
          </>
        )}
        {entry.reverses && (
          <>
            <dt className="text-muted">{t.reverses}</dt>
            <dd>
              <code>{entry.reverses}</code>
            </dd>
          </>
        )}
        <dt className="text-muted">{t.entry}</dt>
        <dd>
          <code>{entry.id}</code>
        </dd>
      </dl>
      {entry.job_id && <JobExplained jobId={entry.job_id} />}
    </div>
  );
}
const place_ = (name: string) => t.places[name] ?? name;

function JobExplained({ jobId }: { jobId: string }) {
  const query = useQuery(explainQuery(jobId));
  return (
    <div className="mt-3 border-t border-line pt-2 text-sm">
      <h3 className="font-medium">{t.explain}</h3>
      <Loaded query={query} skeleton={<SkeletonRows rows={2} className="h-7" />}>
        {({ words, attempts }) => (
          <div className="mt-1 max-w-prose text-pretty text-muted">
            {[...words, ...attempts.slice(0, 5).flatMap((attempt) => attempt.words)].map((sentence, place) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: sentences of one answer, in its order
              <p key={place}>{sentence}</p>
            ))}
          </div>
        )}
      </Loaded>
    </div>
  );
}
