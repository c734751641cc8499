import { keepPreviousData, useInfiniteQuery } from "@tanstack/react-query";
import { lazy, Suspense, useCallback, useMemo } from "react";
import type { Schemas } from "@/api/client";
import { useConfig, useMoney, useRefreshWithPool } from "@/api/hooks";
import { type OfferParameters, offersQuery } from "@/api/queries/market";
import { flat } from "@/api/queries/pages";
import { Button } from "@/components/button";
import { Card } from "@/components/card";
import { CommandLine } from "@/components/command-line";
import { Empty } from "@/components/empty";
import { useFilters } from "@/components/filters";
import { inputClass } from "@/components/input-class";
import { Page } from "@/components/page";
import { Skeleton, SkeletonRows } from "@/components/skeleton";
import { Trouble } from "@/components/trouble";
import { cn } from "@/lib/cn";
import { patiently } from "@/lib/patiently";
import { market as text } from "@/texts/market";
import { OfferFilters, type Parameters } from "./offer-filters";
import { OfferList } from "./offer-list";

const PriceHistory = lazy(patiently(() => import("./price-history")));
const OWN = new Set(["days", "segment"]);
const NO_OFFERS: Schemas["Offer"][] = [];

function Nothing({
  page,
  values,
  set,
}: {
  page: Schemas["OfferPage"];
  values: Parameters;
  set: (c: Parameters) => void;
}) {
  const address = useConfig()?.public_url ?? location.origin;
  const helpful = page.to_drop.filter(({ left_without }) => left_without > 0);
  const isFiltered = Object.entries(values).some(([name, value]) => value && name !== "simulated" && name !== "order");
  const hidden = page.simulated > 0 && (
    <Button onClick={() => set({ simulated: "true" })}>
      {text.hidden(page.simulated)}: {text.show.toLowerCase()}
    </Button>
  );
  if (!isFiltered) {
    return (
      <Empty title={text.empty} about={text.emptyAbout}>
        <CommandLine line={`computepool join ${address}`} />
        {hidden}
      </Empty>
    );
  }
  return (
    <Empty title={text.none} about={helpful.length ? text.noneAbout : text.noneAlone}>
      {helpful.map(({ filter, parameter, left_without }) => (
        <Button key={filter} onClick={() => parameter && set({ [parameter]: "" })}>
          {text.drop(filter, left_without)}
        </Button>
      ))}
      {hidden}
      <Button look="quiet" onClick={() => set(Object.fromEntries(Object.keys(values).map((name) => [name, ""])))}>
        {text.clear}
      </Button>
    </Empty>
  );
}

export default function MarketPage() {
  useRefreshWithPool(["market", "offers"]);
  const [search, set] = useFilters<Parameters>();
  const money = useMoney();
  const values = useMemo(
    () => Object.fromEntries(Object.entries(search).filter(([name, value]) => value && !OWN.has(name))),
    [search],
  );
  const query = useInfiniteQuery({ ...offersQuery(values as OfferParameters), placeholderData: keepPreviousData });
  const offers = useMemo(() => (query.data ? flat(query.data) : NO_OFFERS), [query.data]);
  const first = query.data?.pages[0];
  const { hasNextPage, isFetchingNextPage, fetchNextPage } = query;
  const loadMore = useCallback(() => {
    if (hasNextPage && !isFetchingNextPage) void fetchNextPage();
  }, [hasNextPage, isFetchingNextPage, fetchNextPage]);
  const filtered = Object.keys(values).filter((name) => name !== "order");
  return (
    <Page title={text.title} about={text.about}>
      <div className="grid items-start gap-6 lg:grid-cols-[15rem_minmax(0,1fr)]">
        <details
          open={matchMedia("(min-width: 64rem)").matches || undefined}
          className="rounded-lg border border-line bg-surface lg:sticky lg:top-20 lg:max-h-[calc(100dvh-6rem)] lg:overflow-y-auto"
        >
          <summary className="flex cursor-pointer items-center justify-between px-4 py-3 font-medium lg:pointer-events-none lg:list-none">
            {text.filters}
            {filtered.length > 0 && <span className="text-sm font-normal text-muted">{filtered.length}</span>}
          </summary>
          <div className="px-4 pb-4">
            <OfferFilters values={values} set={set} />
            {filtered.length > 0 && (
              <Button
                size="sm"
                className="mt-4 w-full"
                onClick={() => set(Object.fromEntries(filtered.map((name) => [name, ""])))}
              >
                {text.clear}
              </Button>
            )}
          </div>
        </details>
        <div className="grid min-w-0 gap-4">
          {money && (
            <Suspense fallback={<Skeleton className="h-64 rounded-lg" />}>
              <PriceHistory
                days={search.days ?? ""}
                segment={search.segment ?? ""}
                simulated={search.simulated === "true"}
                set={set}
              />
            </Suspense>
          )}
          <Card flush>
            <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-line px-4 py-2.5">
              <output className="font-medium">{first ? text.offers(first.total) : " "}</output>
              {first && first.simulated > 0 && (
                <span className="text-sm text-muted">
                  {text.hidden(first.simulated)}.{" "}
                  <button
                    type="button"
                    className="cursor-pointer text-accent underline underline-offset-4"
                    onClick={() => set({ simulated: "true" })}
                  >
                    {text.show}
                  </button>
                </span>
              )}
              <span className="flex-1" />
              <select
                aria-label={text.order}
                value={values.order ?? ""}
                onChange={(event) => set({ order: event.target.value })}
                className={cn(inputClass, "h-8! w-auto! pr-7")}
              >
                {Object.entries(text.orders).map(([key, name]) => (
                  <option key={key} value={key}>
                    {name}
                  </option>
                ))}
              </select>
            </div>
            {query.error && !query.data ? (
              <div className="p-4">
                <Trouble error={query.error} retry={() => void query.refetch()} />
              </div>
            ) : !first ? (
              <SkeletonRows rows={8} className="h-15" />
            ) : offers.length ? (
              <OfferList offers={offers} loadMore={hasNextPage ? loadMore : undefined} />
            ) : (
              <Nothing page={first} values={values} set={set} />
            )}
          </Card>
        </div>
      </div>
    </Page>
  );
}
