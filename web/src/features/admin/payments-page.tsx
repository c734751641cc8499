import { useInfiniteQuery } from "@tanstack/react-query";
import { api, ask, type Schemas } from "@/api/client";
import { differencesQuery, paymentEventsQuery, paymentRequestsQuery, topUpsQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Money } from "@/components/money";
import { State, Tag } from "@/components/state";
import { Choices } from "@/components/tabs";
import { When } from "@/components/when";
import { count } from "@/lib/amounts";
import { credits } from "@/lib/money";
import { admin } from "@/texts/admin";
import { adminHub } from "@/texts/admin-hub";
import { Act, type ActSpec, Acts } from "./act";
import { settle } from "./acts";
import { inWords, Listing, options, Person, Section, UrlChip, UrlSelect } from "./section";

const { payments: text } = adminHub;
type Tab = keyof typeof text.tabs;

const reconcile: ActSpec = {
  name: text.reconcile,
  title: text.reconcileTitle,
  about: text.reconcileAbout,
  fields: [{ name: "days", label: text.reconcileDays, kind: "number", value: "7" }],
  done: text.reconciled,
  run: async ({ days }) => {
    const query = days ? { days: Number(days) } : {};
    const { last } = await ask(api.POST("/api/v1/admin/payments/reconcile", { params: { query } }));
    return last ? text.comparedCount(count(last.compared), count(last.differences)) : undefined;
  },
};

function Differences() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(differencesQuery({ state: filters.state }));
  const last = query.data?.pages[0]?.last;
  const minor = (value: number | null) => (value == null ? "–" : count(value));
  return (
    <>
      <div className="flex flex-wrap items-center gap-3">
        <Act act={reconcile} size="md" />
        {last && (
          <p className="text-sm text-muted">
            {text.lastCompared} <When at={last.made_at} ago />:{" "}
            {text.comparedCount(count(last.compared), count(last.differences))}
          </p>
        )}
      </div>
      <Listing
        label={text.tabs.differences}
        query={query}
        keyOf={({ id }) => String(id)}
        filters={<UrlSelect name="state" label={text.openOnly} options={[["all", text.all]]} />}
        empty={<Empty title={text.noDifferences} about={text.noDifferencesAbout} />}
        columns={[
          {
            name: text.difference,
            cell: ({ kind, message, movement }) => (
              <>
                <Tag tone="warn">{inWords(kind)}</Tag>
                <p className="mt-1">{message}</p>
                <code className="text-xs break-all text-muted">{movement}</code>
              </>
            ),
          },
          {
            name: text.here,
            align: "right",
            cell: ({ here_minor }) => <span title={text.minor}>{minor(here_minor)}</span>,
          },
          {
            name: text.there,
            align: "right",
            cell: ({ there_minor }) => <span title={text.minor}>{minor(there_minor)}</span>,
          },
          { name: text.found, className: "max-sm:hidden", cell: ({ found_at }) => <When at={found_at} ago /> },
          {
            name: admin.state,
            cell: ({ id, settled_at }) =>
              settled_at ? <State of="resolved">{text.settled}</State> : <Acts acts={[settle(id)]} />,
          },
        ]}
      />
    </>
  );
}

const refund = ({ id: top_up_id, available_micros, admin_actions }: Schemas["AdminTopUpView"]): ActSpec => ({
  name: text.refund,
  view: admin_actions.refund,
  danger: true,
  title: text.refundTitle,
  about: text.refundAbout,
  fields: [
    { name: "credits", label: admin.amount, hint: text.refundMost(credits(available_micros)), kind: "number" },
    { name: "note", label: admin.note },
  ],
  done: text.refunded,
  run: async ({ credits = "", note = "" }, key) => {
    const params = { path: { top_up_id }, header: { "Idempotency-Key": key } };
    return (await ask(api.POST("/api/v1/admin/top-ups/{top_up_id}/refund", { params, body: { credits, note } })))
      .message;
  },
});

const TOP_UPS = ["pending", "open", "requires_action", "processing", "paid", "failed", "expired"];
function TopUps() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(topUpsQuery({ state: filters.state, owner: filters.owner }));
  return (
    <Listing
      label={text.tabs["top-ups"]}
      query={query}
      keyOf={({ id }) => id}
      filters={
        <>
          <UrlSelect name="state" label={admin.anyState} options={options(TOP_UPS)} />
          <UrlChip name="owner" label={admin.owner} />
        </>
      }
      empty={<Empty title={text.noTopUps} about={text.noTopUpsAbout} />}
      columns={[
        { name: text.owner, cell: ({ owner_id, email }) => <Person id={owner_id} name={email} /> },
        {
          name: text.amount,
          align: "right",
          cell: ({ micros, amount }) => (
            <>
              <Money micros={micros} />
              <p className="text-sm whitespace-nowrap text-muted">{amount}</p>
            </>
          ),
        },
        { name: text.way, className: "max-md:hidden", cell: ({ way }) => inWords(way) },
        { name: text.made, className: "max-sm:hidden", cell: ({ created_at }) => <When at={created_at} ago /> },
        {
          name: admin.state,
          cell: ({ state, message }) => (
            <>
              <State of={state} />
              <p className="mt-1 text-sm text-muted max-sm:hidden">{message}</p>
            </>
          ),
        },
        { name: admin.actions, align: "right", cell: (one) => <Acts acts={[refund(one)]} /> },
      ]}
    />
  );
}

const KINDS = ["checkout", "card", "charge", "confirm", "refund", "account", "pay_out", "reversal"];
const REQUESTS = { waiting: "warn", done: "good", refused: "bad", dropped: "idle" } as const;
function Requests() {
  const [filters] = useFilters();
  const { state, kind, owner } = filters;
  const query = useInfiniteQuery(paymentRequestsQuery({ state, kind, owner }));
  return (
    <Listing
      label={text.tabs.requests}
      query={query}
      keyOf={({ key }) => key}
      filters={
        <>
          <UrlSelect name="state" label={admin.anyState} options={options(Object.keys(REQUESTS))} />
          <UrlSelect name="kind" label={text.kind} options={options(KINDS)} />
          <UrlChip name="owner" label={admin.owner} />
        </>
      }
      empty={<Empty title={text.noRequests} about={text.noRequestsAbout} />}
      columns={[
        {
          name: text.request,
          cell: ({ kind, message, key }) => (
            <>
              <span className="font-medium">{inWords(kind)}</span>
              <p className="text-sm text-muted">{message}</p>
              <code className="text-xs break-all text-muted">{key}</code>
            </>
          ),
        },
        { name: text.owner, className: "max-sm:hidden", cell: ({ owner_id }) => <Person id={owner_id} /> },
        { name: text.tries, align: "right", className: "max-sm:hidden", cell: ({ tries }) => count(tries) },
        {
          name: text.made,
          className: "max-md:hidden",
          cell: ({ created_at, next_try_at }) => (
            <>
              <When at={created_at} ago />
              {next_try_at && (
                <p className="text-sm text-muted">
                  {text.nextTry} <When at={next_try_at} ago />
                </p>
              )}
            </>
          ),
        },
        { name: admin.state, cell: ({ state }) => <State of={state} look={REQUESTS[state]} /> },
      ]}
    />
  );
}

const replay = (event_id: string): ActSpec => ({
  name: text.replay,
  title: text.replayTitle,
  about: text.replayAbout,
  done: text.replayed,
  run: async () =>
    (await ask(api.POST("/api/v1/admin/payments/events/{event_id}/replay", { params: { path: { event_id } } })))
      .message,
});
const EVENTS = { received: "warn", applied: "good", unknown: "bad", ignored: "idle" } as const;
function Events() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(paymentEventsQuery({ state: filters.state }));
  return (
    <Listing
      label={text.tabs.events}
      query={query}
      keyOf={({ id }) => id}
      filters={<UrlSelect name="state" label={admin.anyState} options={options(Object.keys(EVENTS))} />}
      empty={<Empty title={text.noEvents} about={text.noEventsAbout} />}
      columns={[
        {
          name: text.event,
          cell: ({ type, message, about }) => (
            <>
              <code className="font-medium">{type}</code>
              <p className="text-sm text-muted">{message}</p>
              {about && <code className="text-xs break-all text-muted">{about}</code>}
            </>
          ),
        },
        { name: text.received, className: "max-sm:hidden", cell: ({ received_at }) => <When at={received_at} ago /> },
        { name: admin.state, cell: ({ state }) => <State of={state} look={EVENTS[state]} /> },
        {
          name: admin.actions,
          align: "right",
          cell: ({ id, state }) => (state === "applied" ? null : <Acts acts={[replay(id)]} />),
        },
      ]}
    />
  );
}

export default function PaymentsPage() {
  const [filters, set] = useFilters<{ tab?: string; state?: string; kind?: string }>();
  const tab: Tab = filters.tab && filters.tab in text.tabs ? (filters.tab as Tab) : "differences";
  const Shown = { differences: Differences, "top-ups": TopUps, requests: Requests, events: Events }[tab];
  return (
    <Section title={text.title} about={text.about}>
      <div>
        <Choices
          label={text.title}
          value={tab}
          options={Object.entries(text.tabs) as [Tab, string][]}
          onChange={(chosen) => set({ tab: chosen, state: undefined, kind: undefined })}
        />
      </div>
      <Shown />
    </Section>
  );
}
