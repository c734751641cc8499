import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { accusationsQuery, checksQuery, contestsQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Money } from "@/components/money";
import { State, Tag } from "@/components/state";
import { Choices } from "@/components/tabs";
import { When } from "@/components/when";
import { admin } from "@/texts/admin";
import { Acts } from "./act";
import { confirmAccusation, dismissAccusation, refuseContest, uphold } from "./acts";
import { inWords, Listing, NodeLink, options, Person, Section, UrlChip, UrlSelect } from "./section";

const { checks: text } = admin;
type Tab = keyof typeof text.tabs;

const Evidence = ({ job, slice }: { job: string; slice: number }) => (
  <>
    <Link
      to="/jobs/$jobId"
      params={{ jobId: job }}
      search={{ slice: String(slice) }}
      className="whitespace-nowrap text-accent hover:underline"
    >
      {text.log}
    </Link>{" "}
    <span className="text-sm text-muted">{text.slice(slice)}</span>
  </>
);

function Accusations() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(accusationsQuery({ state: filters.state }));
  return (
    <Listing
      label={text.tabs.accusations}
      query={query}
      keyOf={({ id }) => id}
      filters={<UrlSelect name="state" label={admin.anyState} options={options(["open", "confirmed", "dismissed"])} />}
      empty={<Empty title={text.noAccusations} about={text.noAccusationsAbout} />}
      columns={[
        {
          name: text.node,
          cell: ({ node_id, node_name, owner_id }) => (
            <>
              <NodeLink id={node_id}>{node_name}</NodeLink>
              <p className="text-sm text-muted">
                <Person id={owner_id} />
              </p>
            </>
          ),
        },
        {
          name: text.found,
          cell: ({ kind, proven, note }) => (
            <>
              <Tag>{inWords(kind)}</Tag>
              <p className="mt-1 min-w-48 text-sm text-muted">{proven ? text.proven : text.unproven}</p>
              {note && <p className="text-sm">{note}</p>}
            </>
          ),
        },
        {
          name: text.evidence,
          cell: ({ job_id, slice }) => <Evidence job={job_id} slice={slice} />,
        },
        { name: text.when, className: "max-sm:hidden", cell: ({ created_at }) => <When at={created_at} ago /> },
        {
          name: admin.state,
          cell: ({ id, state }) =>
            state === "open" ? (
              <Acts acts={[confirmAccusation(id), dismissAccusation(id)]} />
            ) : (
              <State of={state} look={state === "confirmed" ? "bad" : "idle"} />
            ),
        },
      ]}
    />
  );
}

function Contests() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(contestsQuery({ state: filters.state }));
  return (
    <Listing
      label={text.tabs.contests}
      query={query}
      keyOf={({ id }) => String(id)}
      filters={<UrlSelect name="state" label={text.openOnly} options={[["all", text.all]]} />}
      empty={<Empty title={text.noContests} about={text.noContestsAbout} />}
      columns={[
        {
          name: text.node,
          cell: ({ node_id, node_name, owner_id }) => (
            <>
              <NodeLink id={node_id}>{node_name}</NodeLink>
              <p className="text-sm text-muted">
                <Person id={owner_id} />
              </p>
            </>
          ),
        },
        {
          name: text.event,
          cell: ({ reason, verdict, weight, at, attempt_id }) => (
            <>
              {inWords(reason)} <Tag tone="warn">{inWords(verdict)}</Tag>
              <p className="text-sm text-muted">
                <When at={at} />, {text.weight(weight.toFixed(2))}
              </p>
              <code className="text-xs text-muted">{attempt_id}</code>
            </>
          ),
        },
        {
          name: text.says,
          cell: ({ contest_reason, contested_at }) => (
            <>
              <p className="min-w-48 break-words whitespace-pre-wrap">{contest_reason}</p>
              <p className="text-sm text-muted">
                <When at={contested_at} ago />
              </p>
            </>
          ),
        },
        {
          name: admin.state,
          cell: ({ id, resolution, resolution_note }) =>
            resolution ? (
              <>
                <State of={resolution} look={resolution === "dismissed" ? "idle" : "good"} />
                <p className="text-sm text-muted">{resolution_note}</p>
              </>
            ) : (
              <Acts acts={[uphold(id), refuseContest(id)]} />
            ),
        },
      ]}
    />
  );
}

const STATES = ["open", "valid", "accused", "guilty", "dismissed", "nondeterm", "abandoned"];
const LOOKS = { open: "live", valid: "good", accused: "warn", guilty: "bad" } as const;
function Comparisons() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(checksQuery({ state: filters.state, node: filters.node }));
  return (
    <Listing
      label={text.tabs.checks}
      query={query}
      keyOf={({ id }) => id}
      filters={
        <>
          <UrlSelect name="state" label={admin.anyState} options={options(STATES)} />
          <UrlChip name="node" label={text.node} />
        </>
      }
      empty={<Empty title={text.noChecks} about={text.noChecksAbout} />}
      columns={[
        {
          name: text.node,
          cell: ({ node_id, node_name }) =>
            node_id ? (
              <NodeLink id={node_id}>{node_name ?? undefined}</NodeLink>
            ) : (
              <span className="text-muted">–</span>
            ),
        },
        {
          name: text.found,
          cell: ({ kind, answers, asked, detail }) => (
            <>
              <Tag>{inWords(kind)}</Tag>
              <p className="mt-1 text-sm text-muted">{text.compared(answers, asked)}</p>
              {detail && <p className="text-sm text-muted">{detail}</p>}
            </>
          ),
        },
        {
          name: text.evidence,
          cell: ({ job_id, slice }) => <Evidence job={job_id} slice={slice} />,
        },
        { name: text.when, className: "max-sm:hidden", cell: ({ created_at }) => <When at={created_at} ago /> },
        {
          name: text.givenBack,
          align: "right",
          className: "max-md:hidden",
          cell: ({ given_back_micros }) =>
            given_back_micros ? <Money micros={given_back_micros} /> : <span className="text-muted">–</span>,
        },
        {
          name: admin.state,
          cell: ({ state }) => <State of={state} look={LOOKS[state as keyof typeof LOOKS] ?? "idle"} />,
        },
      ]}
    />
  );
}

export default function ChecksPage() {
  const [filters, set] = useFilters<{ tab?: string; state?: string }>();
  const tab: Tab = filters.tab && filters.tab in text.tabs ? (filters.tab as Tab) : "accusations";
  const Shown = { accusations: Accusations, contests: Contests, checks: Comparisons }[tab];
  return (
    <Section title={text.title} about={text.about}>
      <div>
        <Choices
          label={text.title}
          value={tab}
          options={Object.entries(text.tabs) as [Tab, string][]}
          onChange={(chosen) => set({ tab: chosen, state: undefined })}
        />
      </div>
      <Shown />
    </Section>
  );
}
