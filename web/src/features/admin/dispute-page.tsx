import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import { api, ask, type Schemas } from "@/api/client";
import { disputeQuery } from "@/api/queries/admin";
import { Card, Fact, Facts } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { credits } from "@/lib/money";
import { admin } from "@/texts/admin";
import { type ActField, type ActSpec, Acts } from "./act";
import { Attempts, DisputedNodes, Jobs } from "./dispute-evidence";
import { Person, Section } from "./section";

const { dispute: text } = admin;
type Found = Schemas["DisputeFacts"];

function actsOf({ dispute, refundable_micros }: Found): ActSpec[] {
  const note: ActField = { name: "note", label: admin.note, hint: text.noteHint, kind: "long" };
  const resolve = (outcome: Schemas["Outcome"], note = "", credits: string | null = null) =>
    ask(
      api.POST("/api/v1/admin/disputes/{dispute_id}/resolve", {
        params: { path: { dispute_id: dispute.id } },
        body: { outcome, note, credits },
      }),
    );
  const { refund, refuse } = dispute.actions ?? {};
  return [
    {
      name: text.refundAll,
      view: refund,
      look: "primary",
      title: text.refundAllTitle,
      about: text.refundAllAbout,
      fields: [note],
      done: text.done,
      run: ({ note }) => resolve("full", note),
    },
    {
      name: text.refundPart,
      view: refund,
      title: text.refundPartTitle,
      about: text.refundPartAbout,
      fields: [
        {
          name: "credits",
          label: admin.amount,
          hint: `${text.refundable}: ${credits(refundable_micros)} cr`,
          kind: "number",
        },
        note,
      ],
      done: text.done,
      run: ({ note, credits }) => resolve("partial", note, credits ?? null),
    },
    {
      name: text.refuse,
      view: refuse,
      danger: true,
      title: text.refuseTitle,
      about: text.refuseAbout,
      fields: [note],
      done: text.done,
      run: ({ note }) => resolve("none", note),
    },
  ];
}

function Amounts({ found }: { found: Found }) {
  const { dispute } = found;
  return (
    <Card title={text.facts}>
      <Facts>
        <Fact name={text.about}>
          <Money micros={dispute.micros} />
        </Fact>
        {dispute.state === "open" && (
          <Fact name={text.refundable}>
            <Money micros={found.refundable_micros} />
          </Fact>
        )}
        {dispute.uncovered_micros > 0 && (
          <Fact name={text.uncovered}>
            <Money micros={dispute.uncovered_micros} className="text-bad" />
            <p className="text-sm text-muted">{text.uncoveredAbout}</p>
          </Fact>
        )}
        {dispute.state === "resolved" && (
          <>
            <Fact name={text.refunded}>
              <Money micros={dispute.refunded_micros} />
            </Fact>
            <Fact name={text.owed}>
              <Money micros={dispute.owed_micros} />
            </Fact>
          </>
        )}
        <Fact name={text.renter}>
          <Person id={dispute.owner_id} name={dispute.owner_email} />
        </Fact>
        <Fact name={text.opened}>
          <When at={dispute.opened_at} ago />
        </Fact>
        {dispute.bank && <Fact name={text.bank}>{dispute.bank}</Fact>}
        {dispute.resolved_at && (
          <>
            <Fact name={text.resolved}>
              <When at={dispute.resolved_at} ago />
            </Fact>
            <Fact name={text.resolvedBy}>
              <Person id={dispute.resolved_by} name={dispute.resolved_by_email} />
            </Fact>
          </>
        )}
      </Facts>
    </Card>
  );
}

function PaidOut({ paid }: { paid: Found["paid_out"] }) {
  if (paid.length === 0) return null;
  return (
    <Card title={text.paidOut} about={text.paidOutAbout}>
      <ul className="divide-y divide-line">
        {paid.map((one) => (
          <li key={one.cash_out_id} className="flex flex-wrap items-center justify-between gap-2 py-2">
            <span>
              <Person id={one.owner_id} name={one.owner_email} /> <span className="text-muted">{one.way}</span>
            </span>
            <span className="flex items-center gap-3">
              <Money micros={one.micros} />
              <Link
                to="/admin/cash-outs"
                search={{ owner: one.owner_id, state: "paid" }}
                className="text-accent hover:underline"
              >
                {text.toCashOuts}
              </Link>
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

export default function DisputePage() {
  const { disputeId = "" } = useParams({ strict: false });
  const query = useQuery(disputeQuery(disputeId));
  const dispute = query.data?.dispute;
  return (
    <Section
      title={text.titleOf(query.data?.jobs[0]?.name ?? dispute?.subject ?? "")}
      back={{ to: "/admin/disputes", name: text.back }}
      beside={
        dispute && <State of={dispute.state}>{dispute.outcome ? text.outcomes[dispute.outcome] : undefined}</State>
      }
    >
      <Loaded query={query} skeleton={<Skeleton className="h-96 rounded-lg" />}>
        {(found) => (
          <>
            <div className="grid items-start gap-4 md:grid-cols-[minmax(0,1fr)_20rem]">
              <div className="grid gap-4">
                <Card title={found.dispute.kind === "chargeback" ? text.bankSays : text.says}>
                  <p className="whitespace-pre-wrap break-words">{found.dispute.reason || text.noWords}</p>
                </Card>
                {found.dispute.state === "open" ? (
                  <Card title={text.decide}>
                    <Acts acts={actsOf(found)} explain />
                  </Card>
                ) : (
                  <Card title={text.decision}>
                    <p className="font-medium">{text.outcomes[found.dispute.outcome ?? ""]}</p>
                    <p className="whitespace-pre-wrap break-words text-muted">{found.dispute.note}</p>
                  </Card>
                )}
              </div>
              <Amounts found={found} />
            </div>
            <Jobs jobs={found.jobs} />
            <Attempts attempts={found.attempts} />
            <DisputedNodes nodes={found.nodes} />
            <PaidOut paid={found.paid_out} />
          </>
        )}
      </Loaded>
    </Section>
  );
}
