import { useQuery } from "@tanstack/react-query";
import { disputeQuery } from "@/api/queries/jobs";
import { Card, Fact, Facts } from "@/components/card";
import { Money } from "@/components/money";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { jobTexts } from "@/texts/jobs";

const text = jobTexts.dispute;

/** The dispute about a job, and the operator's decision. */
export function Dispute({ id }: { id: string }) {
  const dispute = useQuery(disputeQuery(id)).data;
  if (!dispute) return null;
  return (
    <Card
      title={text.title}
      aside={
        <State of={dispute.state} look={dispute.outcome === null ? "warn" : "idle"}>
          {dispute.outcome ? text.outcomes[dispute.outcome] : text.open}
        </State>
      }
    >
      <p className="text-pretty break-words">{dispute.reason}</p>
      <Facts className="mt-2">
        <Fact name={text.opened}>
          <When at={dispute.opened_at} ago />
        </Fact>
        {dispute.resolved_at && (
          <>
            <Fact name={text.refunded}>
              <Money micros={dispute.refunded_micros} />
            </Fact>
            {dispute.note && <Fact name={text.note}>{dispute.note}</Fact>}
          </>
        )}
      </Facts>
    </Card>
  );
}
