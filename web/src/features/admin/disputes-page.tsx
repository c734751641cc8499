import { useInfiniteQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { disputesQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Money } from "@/components/money";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { admin } from "@/texts/admin";
import { Listing, options, Person, Section, UrlChip, UrlSelect } from "./section";

const { disputes: text, dispute: one } = admin;

export default function DisputesPage() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(disputesQuery(filters));
  return (
    <Section title={text.title} about={text.about}>
      <Listing
        label={text.title}
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title={text.empty} about={text.emptyAbout} />}
        filters={
          <>
            <UrlSelect name="state" label={admin.anyState} options={options(["open", "resolved"])} />
            <UrlSelect name="kind" label={text.kind} options={options(["job", "chargeback"])} />
            <UrlChip name="owner" label={admin.owner} />
          </>
        }
        columns={[
          {
            name: text.subject,
            cell: ({ id, subject, reason }) => (
              <>
                <Link
                  to="/admin/disputes/$disputeId"
                  params={{ disputeId: id }}
                  className="font-medium break-words hover:underline"
                >
                  {subject}
                </Link>
                <p className="line-clamp-1 max-w-96 text-sm text-muted">{reason}</p>
              </>
            ),
          },
          {
            name: text.renter,
            className: "max-sm:hidden",
            cell: ({ owner_id, owner_email }) => <Person id={owner_id} name={owner_email} />,
          },
          {
            name: text.amount,
            align: "right",
            cell: ({ micros, refunded_micros, state }) => (
              <>
                <Money micros={micros} />
                {state === "resolved" && refunded_micros > 0 && (
                  <p className="text-sm text-muted">
                    {text.refunded} <Money micros={refunded_micros} />
                  </p>
                )}
              </>
            ),
          },
          { name: text.opened, className: "max-md:hidden", cell: ({ opened_at }) => <When at={opened_at} ago /> },
          {
            name: admin.state,
            cell: ({ state, outcome }) => (
              <State of={state}>{outcome ? (one.outcomes[outcome] ?? outcome) : undefined}</State>
            ),
          },
        ]}
      />
    </Section>
  );
}
