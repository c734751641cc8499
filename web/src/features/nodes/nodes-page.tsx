import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { useConfig, useMe } from "@/api/hooks";
import { type NodeView, nodesQuery } from "@/api/queries/nodes";
import { flat } from "@/api/queries/pages";
import { earningsQuery } from "@/api/queries/wallet";
import { Button } from "@/components/button";
import { Card, Figure, Figures } from "@/components/card";
import { Dialog } from "@/components/dialog";
import { Empty } from "@/components/empty";
import { FilterSelect, SearchField, useFilters } from "@/components/filters";
import { Money } from "@/components/money";
import { More } from "@/components/more";
import { Page } from "@/components/page";
import { Trouble } from "@/components/trouble";
import { count } from "@/lib/amounts";
import { nodes as texts } from "@/texts/nodes";
import { AddMachine } from "./add-machine";
import { JoinTokens } from "./join-tokens";
import { NodeHeads, NodeRow, NodeRowsSkeleton } from "./node-row";
import { WouldEarn } from "./would-earn";

const t = texts.list;
const STATES: NodeView["state"][] = ["online", "paused", "draining", "quarantined", "offline", "banned"];
const word = (state: string) => state.charAt(0).toUpperCase() + state.slice(1);
type Filters = { q?: string; state?: string; gpu?: string; tag?: string; add?: string };

export default function NodesPage() {
  const me = useMe();
  const money = useConfig()?.money ?? false; // nothing about money is asked before that is known
  const [filters, set] = useFilters<Filters>();
  // An admin would see everybody's: those are on the admin's own pages.
  const owner = me?.role === "admin" ? me.id : undefined;
  const isReady = me !== undefined;
  const all = useInfiniteQuery({ ...nodesQuery({ owner }), enabled: isReady });
  const query = useInfiniteQuery({
    ...nodesQuery({
      owner,
      search: filters.q,
      state: STATES.find((state) => state === filters.state),
      gpu: filters.gpu,
      tag: filters.tag,
    }),
    enabled: isReady,
  });
  const isFiltered = Boolean(filters.q || filters.state || filters.gpu || filters.tag);
  const known = all.data ? flat(all.data) : [];
  const rows = query.data ? flat(query.data) : undefined;
  const isEmpty = all.data !== undefined && known.length === 0;
  return (
    <Page
      title={t.title}
      actions={
        !isEmpty && (
          <Button look="primary" onClick={() => set({ add: "1" })}>
            <Plus size={16} aria-hidden /> {texts.add.title}
          </Button>
        )
      }
    >
      {isEmpty ? (
        <Welcome money={money} />
      ) : (
        <>
          <Totals money={money} nodes={known} total={all.data?.pages[0]?.total ?? null} />
          <div className="mt-6 mb-3 flex flex-wrap items-center gap-2">
            <SearchField
              label={t.search}
              value={filters.q ?? ""}
              onChange={(q) => set({ q })}
              className="w-56 max-sm:w-full"
            />
            <FilterSelect
              label={t.anyState}
              value={filters.state ?? ""}
              options={STATES.map((state) => [state, word(state)] as const)}
              onChange={(state) => set({ state })}
            />
            <FilterSelect
              label={t.anyGpu}
              value={filters.gpu ?? ""}
              options={options(
                known.flatMap((node) => node.capacity.gpus.map((gpu) => gpu.slug)),
                filters.gpu,
              )}
              onChange={(gpu) => set({ gpu })}
            />
            <FilterSelect
              label={t.anyTag}
              value={filters.tag ?? ""}
              options={options(
                known.flatMap((node) => node.tags),
                filters.tag,
              )}
              onChange={(tag) => set({ tag })}
            />
            <span className="flex-1" />
            <span role="status" className="text-sm text-muted">
              {isFiltered && query.data?.pages[0]?.total != null && t.shown(query.data.pages[0].total)}
            </span>
          </div>
          <Card flush>
            {rows && rows.length > 0 && (
              <>
                <NodeHeads />
                <ul aria-label={t.table} className="divide-y divide-line">
                  {rows.map((node) => (
                    <NodeRow key={node.id} node={node} />
                  ))}
                </ul>
              </>
            )}
            {rows?.length === 0 && (
              <Empty title={t.nothing} about={t.nothingAbout}>
                <Button onClick={() => set({ q: "", state: "", gpu: "", tag: "" })}>{t.clear}</Button>
              </Empty>
            )}
            {!rows &&
              (query.error ? (
                <div className="p-4">
                  <Trouble error={query.error} retry={() => void query.refetch()} />
                </div>
              ) : (
                <NodeRowsSkeleton />
              ))}
            <More query={query} />
          </Card>
          <JoinTokens />
          <Dialog
            open={Boolean(filters.add)}
            onOpenChange={(open) => set({ add: open ? "1" : "" })}
            title={texts.add.title}
            about={texts.add.about}
          >
            <AddMachine />
          </Dialog>
        </>
      )}
    </Page>
  );
}

const options = (words: string[], chosen: string | undefined) =>
  [...new Set(chosen ? [...words, chosen] : words)].sort().map((name) => [name, name] as const);

function Totals({ money, nodes, total }: { money: boolean; nodes: NodeView[]; total: number | null }) {
  const earnings = useQuery({ ...earningsQuery(), enabled: money }).data;
  const online = nodes.filter((node) => node.state === "online").length;
  const running = nodes.reduce((sum, node) => sum + node.running_attempts, 0);
  return (
    <Card flush>
      <Figures className={money ? undefined : "sm:grid-cols-2!"}>
        <Figure
          name={t.machines}
          value={count(total ?? nodes.length)}
          note={`${count(online)} ${word("online").toLowerCase()}`}
        />
        <Figure name={t.running} value={count(running)} note={t.busy(running).replace(/^\S+ /, "")} />
        {money && (
          <>
            <Figure
              name={t.earnedToday}
              value={earnings ? <Money micros={earnings.days.at(-1)?.earned_micros ?? 0} /> : "–"}
            />
            <Figure name={t.earnedMonth} value={earnings ? <Money micros={earnings.earned_micros} /> : "–"} />
          </>
        )}
      </Figures>
    </Card>
  );
}

/** Nobody has added a machine yet: the commands, and what a card would earn. */
const Welcome = ({ money }: { money: boolean }) => (
  <div className="grid gap-6 lg:grid-cols-2">
    <Card title={texts.empty.title} about={texts.empty.about} className="min-w-0">
      <AddMachine />
    </Card>
    {money && <WouldEarn />}
  </div>
);
