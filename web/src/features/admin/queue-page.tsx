import { useInfiniteQuery } from "@tanstack/react-query";
import { useMoney } from "@/api/hooks";
import { queueQuery } from "@/api/queries/admin";
import { flat } from "@/api/queries/pages";
import { Card } from "@/components/card";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { More } from "@/components/more";
import { SkeletonRows } from "@/components/skeleton";
import { Trouble } from "@/components/trouble";
import { count } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { admin } from "@/texts/admin";
import { QueueList } from "./queue-list";
import { inWords, Section } from "./section";

const { queue: text } = admin;

export default function QueuePage() {
  const [filters, set] = useFilters<{ kind?: string }>();
  const query = useInfiniteQuery(queueQuery({ kind: filters.kind }));
  const money = useMoney();
  const first = query.data?.pages[0];
  const items = query.data ? flat(query.data) : [];
  const kinds = Object.entries(first?.counts ?? {}).filter(([kind, number]) => number > 0 || kind === filters.kind);
  return (
    <Section title={text.title} about={text.about}>
      <fieldset aria-label={text.kind} className="flex flex-wrap gap-1.5">
        {[["", first?.total ?? 0] as const, ...kinds].map(([kind, number]) => (
          <button
            key={kind}
            type="button"
            aria-pressed={(filters.kind ?? "") === kind}
            onClick={() => set({ kind: kind || undefined })}
            className="inline-flex h-7 cursor-pointer items-center gap-1.5 rounded-full border border-line bg-surface px-3 text-sm text-muted hover:text-text aria-pressed:border-ink aria-pressed:bg-ink aria-pressed:text-on-ink"
          >
            {kind ? (text.kinds[kind] ?? inWords(kind)) : text.all} <span>{count(number)}</span>
          </button>
        ))}
      </fieldset>
      <Card flush className={cn(query.isPlaceholderData && "opacity-60")}>
        {!query.data && !query.error && <SkeletonRows className="h-20" />}
        {!query.data && query.error && (
          <div className="p-4">
            <Trouble error={query.error} retry={() => void query.refetch()} />
          </div>
        )}
        {query.data && items.length === 0 && (
          <Empty title={text.empty} about={money ? admin.overview.nothingAbout : admin.overview.nothingFree} />
        )}
        <QueueList items={items} />
        <More query={query} />
      </Card>
    </Section>
  );
}
