import { useInfiniteQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { timelineQuery } from "@/api/queries/jobs";
import { flat } from "@/api/queries/pages";
import { Card } from "@/components/card";
import { More } from "@/components/more";
import { Skeleton, SkeletonRows } from "@/components/skeleton";
import { lookOf, Tag } from "@/components/state";
import { Table } from "@/components/table";
import { Trouble } from "@/components/trouble";
import { Took, When } from "@/components/when";
import { cn } from "@/lib/cn";
import { fullTime } from "@/lib/time";
import { jobTexts } from "@/texts/jobs";

type Event = Schemas["TimelineEvent"];
const text = jobTexts.timeline;
const BARS = {
  live: "bg-live-dot",
  good: "bg-good-dot",
  warn: "bg-warn-dot",
  bad: "bg-bad-dot",
  held: "bg-held-dot",
  idle: "bg-edge",
};

/** The steps of one attempt, or of the job while it has none. */
function stepsOf(events: Event[], attempt: number): Event[] {
  const steps = events.filter(
    (event) => text.steps[event.action] && (event.attempt === null || event.attempt === attempt),
  );
  const end = steps.findIndex((event) => event.attempt !== null && isEnd(event));
  return end < 0 ? steps : steps.filter((event, i) => i <= end || event.attempt !== null);
}
const isEnd = (event: Event) =>
  lookOf(word(event)) !== "live" && !/submitted|requested|suspended|taken/.test(event.action);
const word = (event: Event) => event.action.split(".")[1] ?? "";

export function TimelineStrip({
  jobId,
  slice,
  attempt,
  over,
}: {
  jobId: string;
  slice: number;
  attempt: number;
  over: boolean;
}) {
  const query = useInfiniteQuery(timelineQuery(jobId, slice));
  const steps = query.data ? stepsOf(flat(query.data), attempt) : [];
  if (!query.data && query.error) return null; // the history tab tells
  return (
    <ol
      aria-label={text.label}
      className="grid auto-cols-fr overflow-hidden rounded-lg border border-line bg-surface max-sm:divide-y max-sm:divide-line sm:grid-flow-col"
    >
      {!query.data &&
        [0, 1, 2, 3].map((step) => (
          <li key={step} className="px-5 py-3.5">
            <Skeleton className="h-4 w-20" />
            <Skeleton className="mt-2 h-3.5 w-16" />
          </li>
        ))}
      {steps.map((step, i) => {
        const next = steps[i + 1];
        const isNow = !next && !over;
        const look = next
          ? "good"
          : isNow
            ? word(step) === "submitted"
              ? "idle"
              : lookOf(word(step))
            : lookOf(word(step));
        return (
          <li
            key={step.id}
            aria-current={isNow ? "step" : undefined}
            title={`${step.message} ${fullTime(step.at)}`}
            className="relative flex min-w-0 items-baseline gap-x-3 px-4 py-2 sm:block sm:py-3 sm:pt-3.5"
          >
            <span
              aria-hidden
              className={cn(
                "absolute inset-y-0 left-0 w-[3px] sm:inset-x-0 sm:inset-y-auto sm:top-0 sm:h-[3px] sm:w-auto",
                BARS[look],
              )}
            />
            <span className="block w-24 truncate font-medium sm:w-auto">{text.steps[step.action]}</span>
            <span className="flex flex-1 flex-wrap justify-between gap-x-2 text-sm text-muted sm:mt-0.5">
              <When at={step.at} />
              {next ? <Took from={step.at} to={next.at} /> : isNow && <Took from={step.at} />}
            </span>
          </li>
        );
      })}
    </ol>
  );
}

export function History({ jobId }: { jobId: string }) {
  const query = useInfiniteQuery(timelineQuery(jobId));
  const events = query.data ? flat(query.data) : [];
  const { history } = jobTexts;
  return (
    <Card title={history.title} flush>
      {!query.data &&
        (query.error ? <Trouble error={query.error} retry={() => void query.refetch()} /> : <SkeletonRows />)}
      {query.data && (
        <Table
          label={history.title}
          rows={events}
          keyOf={(event) => String(event.id)}
          columns={[
            { name: history.when, className: "w-px", cell: (event) => <When at={event.at} /> },
            {
              name: history.what,
              cell: (event) => (
                <>
                  {event.message}{" "}
                  {event.reason && <span className="text-muted">{event.reason.replaceAll("_", " ")}</span>}{" "}
                  {event.verdict && event.verdict !== "ok" && <Tag tone="warn">{event.verdict}</Tag>}
                </>
              ),
            },
            {
              name: history.where,
              className: "max-sm:hidden",
              cell: (event) =>
                event.attempt !== null && (
                  <span className="text-muted">
                    {history.onNode(event.slice ?? 0, event.attempt, event.node_name ?? "")}
                  </span>
                ),
            },
            {
              name: history.who,
              className: "max-sm:hidden",
              cell: (event) => <span className="text-muted">{event.by}</span>,
            },
          ]}
        />
      )}
      <More query={query} />
    </Card>
  );
}
