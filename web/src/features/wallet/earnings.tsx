import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { earningsQuery } from "@/api/queries/wallet";
import { buttonClass } from "@/components/button";
import { Card } from "@/components/card";
import { Chart } from "@/components/chart";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { CENT, credits } from "@/lib/money";
import { wallet as texts } from "@/texts/wallet";

const t = texts.earnings;
const noon = (day: string) => Date.parse(`${day}T12:00:00Z`) / 1000;

/** What one's nodes earned: by day, and by node. */
export function Earnings() {
  const query = useQuery(earningsQuery());
  return (
    <Card title={t.title} about={t.about} aside={query.data && <Money micros={query.data.earned_micros} />}>
      <Loaded query={query} skeleton={<Skeleton className="h-40 w-full" />}>
        {({ days, nodes }) =>
          nodes.length === 0 ? (
            <div className="flex flex-wrap items-center justify-between gap-3">
              <p className="text-muted">{t.none}</p>
              <Link to="/nodes" search={{ add: "1" }} className={buttonClass()}>
                {t.add}
              </Link>
            </div>
          ) : (
            <div className="grid gap-6 sm:grid-cols-[minmax(0,1fr)_14rem]">
              <Chart
                label={t.chart}
                x={days.map(({ day }) => noon(day))}
                series={[
                  { name: t.series, colour: "--good-dot", bars: true, values: days.map((day) => day.earned_micros) },
                ]}
                step={CENT}
                format={(micros) => credits(Math.round(micros))}
              />
              <div className="min-w-0">
                <h3 className="mb-1 text-sm text-muted">{t.byNode}</h3>
                <ul className="max-h-44 overflow-y-auto">
                  {nodes.map((node) => (
                    <li key={node.node_id} className="flex justify-between gap-3 py-1">
                      <Link to="/nodes/$nodeId" params={{ nodeId: node.node_id }} className="truncate hover:underline">
                        {node.node_name}
                      </Link>
                      <Money micros={node.earned_micros} />
                    </li>
                  ))}
                </ul>
              </div>
            </div>
          )
        }
      </Loaded>
    </Card>
  );
}
