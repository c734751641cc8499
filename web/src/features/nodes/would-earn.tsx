import { useQuery } from "@tanstack/react-query";
import { useMe } from "@/api/hooks";
import { cardEarningsQuery } from "@/api/queries/nodes";
import { Card } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Table } from "@/components/table";
import { nodes as texts } from "@/texts/nodes";

const t = texts.empty;

/** What each card of the pool's table would earn here, for whoever thinks about joining. */
export function WouldEarn() {
  const me = useMe();
  const query = useQuery(cardEarningsQuery(undefined, me?.country ?? undefined));
  const fee = query.data?.items[0]?.fee_bps;
  return (
    <Card title={t.earn} about={fee === undefined ? undefined : t.earnAbout(`${fee / 100} %`)} flush>
      <Loaded query={query}>
        {({ items }) => (
          <Table
            label={t.earn}
            rows={items}
            keyOf={(card) => card.gpu}
            columns={[
              { name: t.card, cell: (card) => card.gpu },
              { name: t.price, align: "right", cell: (card) => <Money micros={card.price_micros} per="h" /> },
              {
                name: t.day,
                align: "right",
                className: "max-sm:hidden",
                cell: (card) =>
                  card.per_day ? (
                    <Money micros={card.per_day.net_micros} />
                  ) : (
                    <span className="text-muted">{t.noData}</span>
                  ),
              },
              { name: t.full, align: "right", cell: (card) => <Money micros={card.full_day.net_micros} /> },
            ]}
          />
        )}
      </Loaded>
    </Card>
  );
}
