import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { lazy, type ReactNode, Suspense } from "react";
import type { Schemas } from "@/api/client";
import { useMoney } from "@/api/hooks";
import { cloneQuery, jobQuery, logInfoQuery, slicesQuery, timelineQuery } from "@/api/queries/jobs";
import { flat } from "@/api/queries/pages";
import { catalogQuery } from "@/api/queries/public";
import { Card, Fact, Facts } from "@/components/card";
import { CopyButton } from "@/components/command-line";
import { useFilters } from "@/components/filters";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Page } from "@/components/page";
import { Skeleton, SkeletonRows } from "@/components/skeleton";
import { lookOf, State, Tag } from "@/components/state";
import { intoSight } from "@/components/tabs";
import { Trouble } from "@/components/trouble";
import { Took, useNow, When } from "@/components/when";
import { count } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { patiently } from "@/lib/patiently";
import { jobTexts } from "@/texts/jobs";
import { LogView } from "./log/log-view";
import { indicesOf, SliceCard } from "./slice-grid";
import { History, TimelineStrip } from "./timeline";
import { Why } from "./why";

// The log comes first: what is beside it, or behind a tab, is loaded after it.
const Usage = lazy(patiently(() => import("./usage").then((module) => ({ default: module.Usage }))));
const JobActions = lazy(patiently(() => import("./job-actions").then((module) => ({ default: module.JobActions }))));
const Dispute = lazy(patiently(() => import("./dispute").then((module) => ({ default: module.Dispute }))));
const Outputs = lazy(patiently(() => import("./outputs").then((module) => ({ default: module.Outputs }))));
const Cost = lazy(patiently(() => import("./cost").then((module) => ({ default: module.Cost }))));
const Receipts = lazy(patiently(() => import("./receipts").then((module) => ({ default: module.Receipts }))));

type Job = Schemas["JobView"];
type Attempt = Schemas["AttemptView"];
type Search = { slice?: string; attempt?: string; tab?: string; file?: string };
const back = { to: "/jobs", name: jobTexts.list.title };
const LOG_HEIGHT = "h-[calc(100dvh-22rem)] min-h-[28rem]";

export default function JobPage() {
  const { jobId } = useParams({ strict: false }) as { jobId: string };
  const [search] = useFilters<Search>();
  const grid = useQuery(slicesQuery(jobId)).data;
  const indices = indicesOf(grid?.indices, grid?.slices.length ?? 0);
  // Of a job that failed, a slice that did: its log says why.
  const failed = grid?.state === "failed" ? grid.slices.search("f") : 0;
  const slice = Number(search.slice ?? indices[Math.max(0, failed)] ?? 0) || 0;
  const query = useQuery(jobQuery(jobId, slice));
  const job = query.data;
  if (!job) {
    return (
      <Page title={jobId} back={back}>
        {query.error ? <Trouble error={query.error} retry={() => void query.refetch()} /> : <Waiting />}
      </Page>
    );
  }
  return <Shown job={job} slice={slice} grid={grid} indices={indices} search={search} />;
}

const Waiting = () => (
  <>
    <Skeleton className="h-18 w-full rounded-lg" />
    <div className="mt-4 grid gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
      <Skeleton className={cn("rounded-lg", LOG_HEIGHT)} />
      <Skeleton className="h-64 rounded-lg" />
    </div>
  </>
);

type ShownProps = {
  job: Job;
  slice: number;
  grid: Schemas["SliceGrid"] | undefined;
  indices: number[];
  search: Search;
};

function Shown({ job, slice, grid, indices, search }: ShownProps) {
  const [, set] = useFilters<Search>();
  const money = useMoney();
  const attempts = job.slices.find((one) => one.index === slice)?.attempts ?? [];
  const attempt = attempts.find(({ number }) => String(number) === search.attempt) ?? attempts.at(-1);
  const over = !!job.finished_at;
  const tabs: [string, string][] = [
    ["", jobTexts.tabs.log],
    ["outputs", jobTexts.tabs.outputs],
    ...(money ? [["cost", jobTexts.tabs.cost] as [string, string]] : []),
    ["receipts", jobTexts.tabs.receipts],
    ["history", jobTexts.tabs.history],
    ["spec", jobTexts.tabs.spec],
  ];
  const tab = search.tab ?? "";
  return (
    <Page
      title={job.name}
      back={back}
      beside={
        <>
          <State of={job.state} />
          {job.simulated && <Tag>{jobTexts.simulated}</Tag>}
          {job.cancel_requested_at && !over && <Tag tone="warn">{jobTexts.canceling}</Tag>}
          {job.slice_count > 1 && (
            <span className="text-muted">{jobTexts.slices(job.counts.succeeded ?? 0, job.slice_count)}</span>
          )}
        </>
      }
      actions={
        <Suspense fallback={<Skeleton className="h-8 w-80 max-w-full" />}>
          <JobActions job={job} />
        </Suspense>
      }
    >
      <Verdict job={job} />
      <TimelineStrip
        jobId={job.id}
        slice={slice}
        attempt={attempt?.number ?? 0}
        over={attempt ? !!attempt.finished_at : over}
      />
      <div className="mt-4 grid min-w-0 grid-cols-1 gap-4 lg:grid-cols-[minmax(0,1fr)_20rem]">
        <div className="min-w-0">
          <nav aria-label={jobTexts.tabs.label} className="mb-4 flex gap-1 overflow-x-auto border-b border-line">
            {tabs.map(([key, name]) => (
              <Link
                key={key}
                ref={tab === key ? intoSight : undefined}
                to="."
                search={((before: Search) => ({ ...before, tab: key || undefined, file: undefined })) as never}
                replace
                activeOptions={{ exact: true, includeSearch: true }}
                aria-current={tab === key ? "page" : undefined}
                className={cn(
                  "-mb-px border-b-2 px-3 py-2 whitespace-nowrap",
                  tab === key ? "border-text font-medium text-text" : "border-transparent text-muted hover:text-text",
                )}
              >
                {name}
              </Link>
            ))}
          </nav>
          {tab === "" &&
            (attempt ? <Log job={job} slice={slice} attempt={attempt.number} /> : !over && <Why jobId={job.id} />)}
          {tab === "" && !attempt && over && <p className="text-muted">{jobTexts.log.empty}</p>}
          <Suspense fallback={<SkeletonRows />}>
            {tab === "outputs" && (
              <Outputs jobId={job.id} slices={job.slice_count} removed={!!job.outputs_removed_at} />
            )}
            {tab === "cost" && <Cost jobId={job.id} slice={slice} />}
            {tab === "receipts" && <Receipts jobId={job.id} />}
          </Suspense>
          {tab === "history" && <History jobId={job.id} />}
          {tab === "spec" && <Spec jobId={job.id} />}
        </div>
        <aside className="flex min-w-0 flex-col gap-4">
          {grid && grid.slices.length > 1 && (
            <SliceCard
              letters={grid.slices}
              legend={grid.legend}
              indices={indices}
              chosen={slice}
              onChoose={(index) => set({ slice: String(index), attempt: undefined })}
            />
          )}
          {attempt && (
            <Suspense>
              <Usage jobId={job.id} slice={slice} attempt={attempt.number} isLive={!attempt.finished_at} />
            </Suspense>
          )}
          {money && <CostCard job={job} attempt={attempt} />}
          {job.dispute_id && (
            <Suspense>
              <Dispute id={job.dispute_id} />
            </Suspense>
          )}
          <RunsOn job={job} slice={slice} attempt={attempt} />
        </aside>
      </div>
    </Page>
  );
}

/** What became of it, in the hub's words. */
function Verdict({ job }: { job: Job }) {
  if (!job.message) return null;
  const look = lookOf(job.state);
  const tone = look === "bad" ? "bg-bad-soft" : look === "good" ? "bg-good-soft" : "bg-sunken";
  return (
    <div className={cn("mb-4 rounded-lg px-4 py-3", tone)}>
      <p className="text-pretty">{job.message}</p>
      {job.failures.length > 0 && job.slice_count > 1 && (
        <ul className="mt-1 text-sm">
          {job.failures.map((failure) => (
            <li key={failure.slices}>
              {jobTexts.grid.some(failure.slices, failure.count)}: {failure.state}
              {failure.reason && `, ${failure.reason.replaceAll("_", " ")}`}
              {failure.exit_code != null && ` (${jobTexts.node.exit.toLowerCase()} ${failure.exit_code})`}
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function Log({ job, slice, attempt }: { job: Job; slice: number; attempt: number }) {
  const [, set] = useFilters<Search>();
  const info = useQuery(logInfoQuery(job.id, slice, attempt)).data;
  const title: ReactNode = (
    <>
      <span className="font-medium">{jobTexts.log.title}</span>
      {job.slice_count > 1 && <span className="text-muted">{jobTexts.log.slice(slice)}</span>}
      {info && info.attempts.length > 1 && (
        <select
          aria-label={jobTexts.log.attempt}
          value={attempt}
          onChange={(event) => set({ attempt: event.target.value })}
          className="h-7 rounded-md border border-line bg-surface px-2 text-sm"
        >
          {info.attempts.map(({ number, state }) => (
            <option key={number} value={number}>
              {jobTexts.log.attemptOf(number, state)}
            </option>
          ))}
        </select>
      )}
    </>
  );
  return (
    <LogView
      key={`${job.id} ${slice} ${attempt}`}
      source={{ jobId: job.id, slice, attempt }}
      title={title}
      download={info?.url ?? null}
      ended={!!job.finished_at || !!info?.complete}
      className={LOG_HEIGHT}
    />
  );
}

/** What was billed, and about what has come since by the hub's clock: attempts are billed hour by hour. */
function CostSoFar({ billed, running }: { billed: number; running: Schemas["RunningCost"] }) {
  const seconds = Math.max(0, Math.floor((useNow() - Date.parse(running.at)) / 1000));
  const since = (BigInt(running.per_hour_micros) * BigInt(seconds)) / 3600n;
  return (
    <>
      {jobTexts.cost.about} <Money micros={BigInt(billed) + BigInt(running.unbilled_micros) + since} places={4} />
    </>
  );
}

function CostCard({ job, attempt }: { job: Job; attempt: Attempt | undefined }) {
  const text = jobTexts.cost;
  return (
    <Card title={text.title}>
      <Facts>
        {job.cost_micros != null && (
          <Fact name={job.finished_at ? text.final : text.soFar}>
            {job.running_cost ? (
              <CostSoFar billed={job.cost_micros} running={job.running_cost} />
            ) : (
              <Money micros={job.cost_micros} />
            )}
          </Fact>
        )}
        {attempt?.own ? (
          <Fact name={text.price}>{text.own}</Fact>
        ) : (
          attempt?.price_micros != null && (
            <Fact name={text.price}>
              <Money micros={attempt.price_micros} per="h" />
            </Fact>
          )
        )}
        {job.ceiling_micros != null && (
          <Fact name={text.ceiling}>
            <Money micros={job.ceiling_micros} per="h" />
          </Fact>
        )}
        {!!job.running_cost?.held_micros && (
          <Fact name={text.held}>
            <Money micros={job.running_cost.held_micros} />
          </Fact>
        )}
        {job.spec.budget && <Fact name={text.budget}>{job.spec.budget}</Fact>}
      </Facts>
    </Card>
  );
}

function RunsOn({ job, slice, attempt }: { job: Job; slice: number; attempt: Attempt | undefined }) {
  const text = jobTexts.node;
  const verdicts = useQuery(catalogQuery).data?.verdicts;
  const meaning = verdicts?.find(({ value }) => value === attempt?.verdict)?.text;
  return (
    <Card
      title={attempt?.finished_at ? text.ran : text.title}
      aside={attempt ? <State of={attempt.state} /> : text.waits}
    >
      <Facts>
        {attempt && (
          <>
            <Fact name={text.node}>
              <Link to="/market/nodes/$nodeId" params={{ nodeId: attempt.node_id }} className="hover:underline">
                {attempt.node_name}
              </Link>
            </Fact>
            {attempt.isolation && <Fact name={text.isolation}>{attempt.isolation}</Fact>}
            <Fact name={text.started}>
              <When at={attempt.started_at} />
            </Fact>
            <Fact name={text.took}>
              <Took from={attempt.started_at} to={attempt.finished_at} />
            </Fact>
            {attempt.exit_code != null && <Fact name={text.exit}>{attempt.exit_code}</Fact>}
            {attempt.verdict && (
              <Fact name={text.verdict}>
                {attempt.verdict}
                {attempt.verdict !== "ok" && <span className="block text-sm text-muted">{meaning}</span>}
              </Fact>
            )}
            {attempt.resumed_from != null && <Fact name={text.resumed}>{attempt.resumed_from}</Fact>}
            <Checkpoints jobId={job.id} slice={slice} attempt={attempt.number} />
          </>
        )}
        <Fact name={text.resources}>{job.resources}</Fact>
        <Fact name={text.submitted}>
          <When at={job.created_at} />
        </Fact>
        {job.retry_of && (
          <Fact name={jobTexts.retryOf}>
            <Link to="/jobs/$jobId" params={{ jobId: job.retry_of }} className="font-mono text-sm hover:underline">
              {job.retry_of}
            </Link>
          </Fact>
        )}
        <Fact name="Id">
          <span className="inline-flex items-center gap-1 font-mono text-xs break-all">
            {job.id} <CopyButton text={job.id} className="-my-1" />
          </span>
        </Fact>
      </Facts>
      {attempt?.detail && <p className="mt-2 text-sm text-muted text-pretty">{attempt.detail}</p>}
    </Card>
  );
}

function Checkpoints({ jobId, slice, attempt }: { jobId: string; slice: number; attempt: number }) {
  const { data } = useInfiniteQuery(timelineQuery(jobId, slice));
  const saved = (data ? flat(data) : []).filter(
    (event) => event.action === "attempt.checkpoint" && event.attempt === attempt,
  );
  if (saved.length === 0) return null;
  return (
    <Fact name={jobTexts.node.checkpoints}>
      {count(saved.length)}, <When at={saved.at(-1)?.at} ago />
    </Fact>
  );
}

function Spec({ jobId }: { jobId: string }) {
  const query = useQuery(cloneQuery(jobId));
  return (
    <Card
      title={jobTexts.spec.title}
      about={jobTexts.spec.about}
      aside={query.data && <CopyButton text={query.data.yaml} label={jobTexts.spec.copy} />}
      flush
    >
      <Loaded query={query}>
        {({ yaml }) => (
          // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls, with the keyboard too
          <pre tabIndex={0} className="overflow-x-auto border-t border-line px-4 py-3 font-mono text-sm">
            {yaml}
          </pre>
        )}
      </Loaded>
    </Card>
  );
}
