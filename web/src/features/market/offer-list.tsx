import { Link } from "@tanstack/react-router";
import { useWindowVirtualizer } from "@tanstack/react-virtual";
import { useEffect, useRef } from "react";
import type { Schemas } from "@/api/client";
import { Money } from "@/components/money";
import { Tag } from "@/components/state";
import { bytes, country } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { tierColour } from "@/lib/tiers";
import { market as text } from "@/texts/market";

type Offer = Schemas["Offer"];
const ROW_PX = 60;
const GRID =
  "grid grid-cols-[minmax(0,1fr)_auto] gap-x-4 md:grid-cols-[minmax(0,2.2fr)_minmax(0,1.2fr)_minmax(0,1fr)_6.5rem_6.5rem_7rem]";

/** "2× rtx-4090", or every kind that it has. */
export function cardsOf(gpus: string[]): string {
  const kinds = new Map<string, number>();
  for (const gpu of gpus) kinds.set(gpu, (kinds.get(gpu) ?? 0) + 1);
  return [...kinds].map(([name, many]) => (many > 1 ? `${many}× ${name}` : name)).join(", ") || text.noGpu;
}

function Row({ offer }: { offer: Offer }) {
  const speed = offer.price_per_tflops_micros;
  return (
    <Link
      to="/market/nodes/$nodeId"
      params={{ nodeId: offer.node_id }}
      className={cn(GRID, "h-full items-center px-4 hover:bg-sunken/60 focus-visible:outline-offset-[-2px]")}
    >
      <span className="min-w-0">
        <span className="flex items-center gap-2 font-medium">
          <svg viewBox="0 0 8 8" className="size-2 shrink-0" aria-hidden>
            <circle cx="4" cy="4" r="4" fill={`var(--tier-${tierColour(offer.tier)})`} />
          </svg>
          <span className="truncate">{cardsOf(offer.gpus)}</span>
          {offer.verified && <Tag tone="good">{text.isVerified}</Tag>}
          {offer.simulated && <Tag>{text.isSimulated}</Tag>}
        </span>
        <span className="block truncate pl-4 text-sm text-muted">
          {offer.gpus.length > 0 &&
            `${bytes(offer.gpu_memory_bytes)} · ${text.free(offer.gpus_free, offer.gpus.length)}`}
          {offer.gpus.length === 0 && (
            <span className="md:hidden">{`${text.cores(offer.cpus)} · ${bytes(offer.memory_bytes)}`}</span>
          )}
          <span className="md:hidden">{offer.country ? ` · ${offer.country}` : ""}</span>
        </span>
      </span>
      <span className="max-md:hidden">
        <span className="block truncate">{text.cores(offer.cpus)}</span>
        <span className="block truncate text-sm text-muted">
          {text.memoryAndDisk(bytes(offer.memory_bytes), bytes(offer.disk_bytes))}
        </span>
      </span>
      <span className="max-md:hidden">
        <span className="block truncate">{offer.country ? country(offer.country) : "–"}</span>
        <span className="block truncate text-sm text-muted">{text.isolation[offer.isolation]}</span>
      </span>
      <span className="text-right max-md:hidden">
        {speed == null ? (
          <span className="text-sm text-muted">{text.notMeasured}</span>
        ) : (
          <Money micros={speed} per="h" />
        )}
      </span>
      <span className="text-right max-md:hidden" title={`${text.share(offer.reliability_mean)}`}>
        {text.share(offer.reliability)}
      </span>
      <span className="text-right">
        {offer.price_micros == null ? "–" : <Money micros={offer.price_micros} per="h" className="font-medium" />}
        <span className="block text-sm text-muted md:hidden">{text.reliable(offer.reliability)}</span>
      </span>
    </Link>
  );
}

/** Only the rows that are on the screen exist; the next page is read before its first row is reached. */
export function OfferList({ offers, loadMore }: { offers: Offer[]; loadMore: (() => void) | undefined }) {
  const box = useRef<HTMLDivElement>(null);
  const list = useWindowVirtualizer({
    count: offers.length,
    estimateSize: () => ROW_PX,
    overscan: 12,
    scrollMargin: box.current?.offsetTop ?? 0,
  });
  const rows = list.getVirtualItems();
  const last = rows.at(-1)?.index ?? 0;
  useEffect(() => {
    if (loadMore && last >= offers.length - 40) loadMore();
  }, [last, offers.length, loadMore]);
  return (
    <>
      <div
        aria-hidden
        className={cn(GRID, "h-9 items-center border-b border-line bg-sunken/50 px-4 text-sm font-medium text-muted")}
      >
        <span className="pl-4">{text.machine}</span>
        <span className="max-md:hidden">{text.room}</span>
        <span className="max-md:hidden">{text.place}</span>
        <span className="text-right max-md:hidden">{text.perSpeed}</span>
        <span className="text-right max-md:hidden">{text.reliability}</span>
        <span className="text-right">{text.price}</span>
      </div>
      <div ref={box} role="list" aria-label={text.list} className="relative" style={{ height: list.getTotalSize() }}>
        {rows.map((row) => (
          <div
            key={offers[row.index]!.node_id}
            role="listitem"
            aria-setsize={offers.length}
            aria-posinset={row.index + 1}
            className="absolute inset-x-0 top-0 border-b border-line"
            style={{ height: ROW_PX, transform: `translateY(${row.start - list.options.scrollMargin}px)` }}
          >
            <Row offer={offers[row.index]!} />
          </div>
        ))}
      </div>
    </>
  );
}
