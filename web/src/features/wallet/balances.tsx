import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { walletQuery } from "@/api/queries/wallet";
import { Card } from "@/components/card";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { cn } from "@/lib/cn";

/** What can be spent, large; then what else there is, each with the API's sentence. Empty rare ones are left out. */
const ALWAYS = new Set(["available", "promotional", "earnings", "held"]);

export function Balances({ actions }: { actions: ReactNode }) {
  const query = useQuery(walletQuery);
  return (
    <Card flush>
      <Loaded query={query} skeleton={<Skeleton className="m-5 h-28" />}>
        {({ balances: [first, ...others] }) => (
          <div className="grid gap-px bg-line lg:grid-cols-[minmax(0,1fr)_minmax(0,1.6fr)] *:bg-surface">
            {first && (
              <div className="flex flex-col p-5">
                <p className="text-muted">{first.title}</p>
                <p className="mt-1 text-2xl font-semibold" data-balance={first.name}>
                  <Money micros={first.micros} />
                </p>
                <p className="mt-1 text-sm text-muted text-pretty">{first.meaning}</p>
                <div className="mt-4 flex flex-wrap gap-2">{actions}</div>
              </div>
            )}
            <dl className="grid content-start gap-x-8 gap-y-4 p-5 sm:grid-cols-2">
              {others
                .filter((balance) => ALWAYS.has(balance.name) || balance.micros !== 0)
                .map((balance) => (
                  <div
                    key={balance.name}
                    className="grid grid-cols-[minmax(0,1fr)_auto] items-baseline gap-x-3 content-start"
                  >
                    <dt>{balance.title}</dt>
                    <dd data-balance={balance.name} className={cn("font-medium", balance.micros === 0 && "text-muted")}>
                      <Money micros={balance.micros} />
                    </dd>
                    <dd className="col-span-2 text-sm text-muted text-pretty">{balance.meaning}</dd>
                  </div>
                ))}
            </dl>
          </div>
        )}
      </Loaded>
    </Card>
  );
}
