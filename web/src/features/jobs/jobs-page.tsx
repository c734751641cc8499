import { useInfiniteQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Plus } from "lucide-react";
import { useDeferredValue, useEffect, useState } from "react";
import { api, ask, type Schemas } from "@/api/client";
import { useMe, useMoney } from "@/api/hooks";
import { type JobFilters, jobsQuery } from "@/api/queries/jobs";
import { flat } from "@/api/queries/pages";
import { Button, buttonClass } from "@/components/button";
import { Card } from "@/components/card";
import { CommandLine } from "@/components/command-line";
import { Confirm } from "@/components/dialog";
import { Empty } from "@/components/empty";
import { FilterSelect, SearchField, useFilters } from "@/components/filters";
import { inputClass } from "@/components/input-class";
import { Meter } from "@/components/meter";
import { Money } from "@/components/money";
import { More } from "@/components/more";
import { Page } from "@/components/page";
import { SkeletonRows } from "@/components/skeleton";
import { State, Tag } from "@/components/state";
import { type Column, Table } from "@/components/table";
import { toast, toastError } from "@/components/toasts";
import { Trouble } from "@/components/trouble";
import { Took, When } from "@/components/when";
import { cn } from "@/lib/cn";
import { jobTexts } from "@/texts/jobs";

type Job = Schemas["JobSummary"];
const text = jobTexts.list;

export default function JobsPage() {
  const [filters, setFilters] = useFilters<JobFilters>();
  const query = useInfiniteQuery(jobsQuery(useDeferredValue(filters)));
  const jobs = query.data ? flat(query.data) : [];
  const money = useMoney();
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const cancelable = jobs.filter((job) => job.actions?.cancel.allowed);
  const selected = cancelable.filter((job) => chosen.has(job.id));
  const choose = (ids: string[], on: boolean) => {
    const next = new Set(chosen);
    for (const id of ids) on ? next.add(id) : next.delete(id);
    setChosen(next);
  };
  const isFiltered = Object.entries(filters).some(([name, value]) => value && name !== "order");

  return (
    <Page
      title={text.title}
      beside={query.data && <span className="text-muted">{text.total(query.data.pages[0]?.total)}</span>}
      actions={
        <Link to="/submit" className={buttonClass({ look: "primary" })}>
          <Plus size={15} aria-hidden /> {text.new}
        </Link>
      }
    >
      {(jobs.length > 0 || isFiltered || !query.data) && <Filters filters={filters} set={setFilters} />}
      {selected.length > 0 && <Chosen jobs={selected} done={() => setChosen(new Set())} />}
      <Card flush className={cn("mt-4", query.isPlaceholderData && "opacity-60 transition-opacity")}>
        {!query.data && query.error && (
          <div className="p-4">
            <Trouble error={query.error} retry={() => void query.refetch()} />
          </div>
        )}
        {!query.data && !query.error && <SkeletonRows rows={8} className="h-15" />}
        {query.data &&
          jobs.length === 0 &&
          (isFiltered ? <NoMatch clear={setFilters} filters={filters} /> : <NoJobs />)}
        {jobs.length > 0 && (
          <Table
            label={text.label}
            columns={columns(money, cancelable, chosen, choose)}
            rows={jobs}
            keyOf={(job) => job.id}
          />
        )}
        <More query={query} />
        {query.data?.pages[0]?.searched_since && (
          <p className="border-t border-line p-4 text-muted">
            {text.searched} <When at={query.data.pages[0].searched_since} />.
          </p>
        )}
      </Card>
    </Page>
  );
}

function Filters({ filters, set }: { filters: JobFilters; set: (changes: Partial<JobFilters>) => void }) {
  const isAdmin = useMe()?.role === "admin";
  return (
    <div className="flex flex-wrap items-center gap-2">
      <TypedFilter
        label={text.search}
        value={filters.q ?? ""}
        onChange={(q) => set({ q })}
        className="w-56 max-sm:w-full"
      />
      <FilterSelect
        label={text.state}
        value={filters.state ?? ""}
        options={text.states}
        onChange={(state) => set({ state })}
      />
      <TypedFilter label={text.node} value={filters.node ?? ""} onChange={(node) => set({ node })} className="w-36" />
      <div className="flex gap-2 max-sm:w-full">
        {(["since", "until"] as const).map((name) => (
          <label key={name} className="flex min-w-0 flex-1 items-center gap-1.5 text-sm text-muted">
            {text[name]}
            <input
              type="date"
              value={filters[name] ?? ""}
              onChange={(event) => set({ [name]: event.target.value })}
              className={cn(inputClass, "h-8! min-w-0 px-2! text-base text-text sm:w-auto!")}
            />
          </label>
        ))}
      </div>
      <FilterSelect
        label={text.order}
        value={filters.order ?? ""}
        options={text.orders}
        onChange={(order) => set({ order })}
      />
      {isAdmin && (
        <label className="flex h-8 cursor-pointer items-center gap-2">
          <input
            type="checkbox"
            checked={!!filters.mine}
            onChange={(event) => set({ mine: event.target.checked ? "1" : "" })}
          />
          {text.mine}
        </label>
      )}
    </div>
  );
}

/** Asks when the person stops typing. */
function TypedFilter({
  label,
  value,
  onChange,
  className,
}: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  className: string;
}) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const timer = setTimeout(() => onChange(typed), 250);
    return () => clearTimeout(timer);
  }, [typed, value, onChange]);
  return <SearchField label={label} value={typed} onChange={setTyped} className={className} />;
}

function Chosen({ jobs, done }: { jobs: Job[]; done: () => void }) {
  const queries = useQueryClient();
  const cancel = async () => {
    const asked = jobs.map(({ id }) =>
      ask(api.POST("/api/v1/jobs/{job_id}/cancel", { params: { path: { job_id: id } } })),
    );
    const results = await Promise.allSettled(asked);
    const failed = results.find((result) => result.status === "rejected");
    if (failed) toastError(failed.reason as Error);
    toast({ title: text.canceled(results.filter((result) => result.status === "fulfilled").length) });
    done();
    void queries.invalidateQueries({ queryKey: ["jobs"] });
  };
  return (
    <div role="status" className="mt-3 flex flex-wrap items-center gap-3 rounded-lg bg-sunken px-4 py-2">
      <span className="font-medium">{text.selected(jobs.length)}</span>
      <Confirm
        trigger={
          <Button size="sm" look="danger">
            {text.cancel(jobs.length)}
          </Button>
        }
        title={`${text.cancel(jobs.length)}?`}
        about={text.cancelAbout}
        action={text.cancel(jobs.length)}
        run={cancel}
      />
      <Button size="sm" look="quiet" onClick={done}>
        {text.unselect}
      </Button>
    </div>
  );
}

function columns(
  money: boolean,
  cancelable: Job[],
  chosen: ReadonlySet<string>,
  choose: (ids: string[], on: boolean) => void,
): Column<Job>[] {
  const { columns } = text;
  const ids = cancelable.map((job) => job.id);
  const all: (Column<Job> | false)[] = [
    cancelable.length > 0 && {
      name: columns.select,
      head: (
        <input
          type="checkbox"
          aria-label={text.selectAll}
          checked={ids.every((id) => chosen.has(id))}
          onChange={(event) => choose(ids, event.target.checked)}
        />
      ),
      className: "w-8 pr-0",
      cell: (job) =>
        job.actions?.cancel.allowed && (
          <input
            type="checkbox"
            aria-label={text.select(job.name)}
            checked={chosen.has(job.id)}
            onChange={(event) => choose([job.id], event.target.checked)}
          />
        ),
    },
    {
      name: columns.job,
      className: "w-full max-w-0 min-w-40",
      cell: (job) => (
        <div className="min-w-0">
          <div className="flex items-center gap-2">
            <Link to="/jobs/$jobId" params={{ jobId: job.id }} className="truncate font-medium hover:underline">
              {job.name}
            </Link>
            {job.simulated && <Tag>{jobTexts.simulated}</Tag>}
          </div>
          <div className="truncate text-sm text-muted">{job.message ?? job.resources}</div>
        </div>
      ),
    },
    {
      name: columns.state,
      className: "max-sm:pl-0",
      cell: (job) => (
        <div>
          <State of={job.state} />
          {job.progress.total > 1 && (
            <div className="mt-1.5 w-24" title={text.progress(job.progress.succeeded, job.progress.total)}>
              <Meter
                label={text.progress(job.progress.succeeded, job.progress.total)}
                part={job.progress.succeeded / job.progress.total}
                tone={job.state === "failed" ? "bg-bad-dot" : "bg-good-dot"}
              />
            </div>
          )}
        </div>
      ),
    },
    {
      name: columns.node,
      className: "max-md:hidden min-w-40 max-w-48",
      cell: (job) =>
        job.nodes[0] ? (
          <span className="block truncate">{text.nodes(job.nodes[0].name, job.nodes.length - 1)}</span>
        ) : (
          <span className="text-muted">–</span>
        ),
    },
    money && {
      name: columns.cost,
      align: "right",
      className: "max-lg:hidden",
      cell: (job) => (job.cost_micros == null ? "–" : <Money micros={job.cost_micros} />),
    },
    {
      name: columns.submitted,
      align: "right",
      className: "max-sm:hidden",
      cell: (job) => <When at={job.created_at} ago />,
    },
    {
      name: columns.took,
      align: "right",
      className: "whitespace-nowrap max-lg:hidden",
      cell: (job) => <Took from={job.started_at} to={job.finished_at} />,
    },
  ];
  return all.filter((column) => column !== false);
}

const NoJobs = () => (
  <Empty title={text.empty} about={text.emptyAbout}>
    <Link to="/submit" className={buttonClass({ look: "primary" })}>
      {text.new}
    </Link>
    <CommandLine line={text.emptyCommand} />
  </Empty>
);

const NoMatch = ({ filters, clear }: { filters: JobFilters; clear: (changes: Partial<JobFilters>) => void }) => (
  <Empty title={text.nothing}>
    <Button onClick={() => clear(Object.fromEntries(Object.keys(filters).map((name) => [name, undefined])))}>
      {text.clear}
    </Button>
  </Empty>
);
