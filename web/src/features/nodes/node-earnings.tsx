import { useQuery } from "@tanstack/react-query";
import { earningsQuery } from "@/api/queries/wallet";
import { Card } from "@/components/card";
import { Chart } from "@/components/chart";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { CENT, credits } from "@/lib/money";
import { nodes as texts } from "@/texts/nodes";

const t = texts.earnings;
/** The noon of a day of UTC, in seconds: so that its bar stands on that day in every zone. */
const noon = (day: string) => Date.parse(`${day}T12:00:00Z`) / 1000;

export function NodeEarnings({ nodeId }: { nodeId: string }) {
  const query = useQuery(earningsQuery(nodeId));
  return (
    <Card title={t.title} about={t.about} aside={query.data && <Money micros={query.data.earned_micros} />}>
      <Loaded query={query} skeleton={<Skeleton className="h-40 w-full" />}>
        {({ days, items }) =>
          items.length === 0 ? (
            <p className="text-muted">{t.none}</p>
          ) : (
            <Chart
              label={t.chart}
              x={days.map(({ day }) => noon(day))}
              series={[
                { name: t.series, colour: "--good-dot", bars: true, values: days.map((day) => day.earned_micros) },
              ]}
              step={CENT}
              format={(micros) => credits(Math.round(micros))}
            />
          )
        }
      </Loaded>
    </Card>
  );
}
