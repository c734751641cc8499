import { useInfiniteQuery } from "@tanstack/react-query";
import type { Schemas } from "@/api/client";
import { cashOutsQuery } from "@/api/queries/admin";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { Money } from "@/components/money";
import { State } from "@/components/state";
import { When } from "@/components/when";
import { credits } from "@/lib/money";
import { admin } from "@/texts/admin";
import { ActMenu, type ActSpec, Acts } from "./act";
import { approve, markPaid, reject, reverse } from "./acts";
import { Listing, options, Person, Section, UrlChip, UrlSelect } from "./section";

const { cashOuts: text } = admin;
const STATES = ["requested", "approved", "paid", "rejected", "failed", "canceled"];

const actsOf = ({ id, admin_actions: may }: Schemas["AdminCashOutView"]): ActSpec[] => [
  approve(id, may.approve),
  markPaid(id, may.mark_paid),
  reject(id, may.reject),
  reverse(id, may.reverse),
];

export default function CashOutsPage() {
  const [filters] = useFilters();
  const query = useInfiniteQuery(cashOutsQuery(filters));
  const frozen = query.data?.pages[0]?.frozen;
  return (
    <Section title={text.title} about={text.about}>
      {frozen && <p className="rounded-lg bg-bad-soft px-4 py-3 text-bad">{text.frozen}</p>}
      <Listing
        label={text.title}
        query={query}
        keyOf={({ id }) => id}
        empty={<Empty title={text.empty} about={text.emptyAbout} />}
        filters={
          <>
            <UrlSelect name="state" label={admin.anyState} options={options(STATES)} />
            <UrlChip name="owner" label={admin.owner} />
          </>
        }
        columns={[
          {
            name: text.host,
            cell: (one) => (
              <>
                <Person id={one.owner_id} name={one.email} />
                {one.debt_micros > 0 && <p className="text-sm text-bad">{text.debt(credits(one.debt_micros))}</p>}
                {one.note && <p className="line-clamp-2 text-sm text-muted">{one.note}</p>}
              </>
            ),
          },
          {
            name: text.amount,
            align: "right",
            cell: (one) => (
              <>
                <Money micros={one.micros} />
                <p className="text-sm whitespace-nowrap text-muted">{one.amount}</p>
                {one.returned_micros > 0 && (
                  <p className="text-sm text-muted">{text.returned(credits(one.returned_micros))}</p>
                )}
              </>
            ),
          },
          {
            name: text.asked,
            className: "max-sm:hidden",
            cell: ({ created_at, way }) => (
              <>
                <When at={created_at} ago />
                {way && <p className="text-sm text-muted">{way}</p>}
              </>
            ),
          },
          {
            name: admin.state,
            cell: ({ state, message, reference }) => (
              <>
                <State of={state} />
                <p className="mt-1 min-w-40 text-sm text-muted max-sm:hidden">{message}</p>
                {reference && <code className="text-sm">{reference}</code>}
              </>
            ),
          },
          {
            name: admin.actions,
            align: "right",
            cell: (one) => (
              <div className="flex items-center justify-end gap-2">
                <div className="max-lg:hidden">
                  <Acts acts={actsOf(one)} />
                </div>
                <ActMenu label={admin.actionsOf(one.id)} acts={actsOf(one)} />
              </div>
            ),
          },
        ]}
      />
    </Section>
  );
}
