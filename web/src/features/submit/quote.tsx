import type { UseQueryResult } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, CircleAlert, WandSparkles } from "lucide-react";
import type { Schemas } from "@/api/client";
import { useMoney } from "@/api/hooks";
import { Money } from "@/components/money";
import { Skeleton } from "@/components/skeleton";
import { Trouble } from "@/components/trouble";
import { count, country, plural } from "@/lib/amounts";
import { cn } from "@/lib/cn";
import { submit as text } from "@/texts/submit";

type Quote = Schemas["Quote"];
type Relaxation = Schemas["RelaxationView"];

export function Price({ quote }: { quote: Quote }) {
  if (quote.own) return <span className="text-xl font-semibold">{text.free}</span>;
  if (quote.price_micros === null) return <span className="text-xl font-semibold text-muted">{text.noPrice}</span>;
  return (
    <span className="text-2xl font-semibold">
      <Money micros={quote.price_micros} />{" "}
      <span className="text-base font-normal tracking-normal text-muted">{text.perSlice}</span>
    </span>
  );
}

function Begin({ begin, start, summary }: Pick<Quote, "begin" | "start" | "summary">) {
  return (
    <div
      className={cn(
        "flex gap-2 rounded-md px-3 py-2",
        begin.allowed ? "bg-good-soft text-good" : "bg-warn-soft text-warn",
      )}
    >
      {begin.allowed ? (
        <Check size={16} aria-hidden className="mt-0.5 shrink-0" />
      ) : (
        <CircleAlert size={16} aria-hidden className="mt-0.5 shrink-0" />
      )}
      <p className="text-pretty">{begin.allowed ? (start ?? summary) : (begin.reason ?? summary)}</p>
    </div>
  );
}

/** One row a rule, as long as the share of nodes that it removes. */
function Gates({ quote }: { quote: Quote }) {
  return (
    <section aria-label={text.gates}>
      <h3 className="flex justify-between text-sm font-medium">
        {text.fits(quote.feasible, quote.nodes_total)}
        {quote.feasible > 0 && <span className="font-normal text-muted">{text.freeNow(quote.free_now)}</span>}
      </h3>
      <ul className="mt-2 grid gap-2">
        {quote.gates.map(({ gate, removed, detail }) => (
          <li key={gate} className="text-sm">
            <span className="flex justify-between gap-3">
              <span className="min-w-0 text-pretty text-muted">{detail}</span>
              <span className="shrink-0">−{count(removed)}</span>
            </span>
            <span aria-hidden className="mt-1 block h-1 overflow-hidden rounded-full bg-sunken">
              <span
                className="block h-full rounded-full bg-edge"
                style={{ width: `${(100 * removed) / Math.max(1, quote.nodes_total)}%` }}
              />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}

function Relax({ changes, apply }: { changes: Relaxation[]; apply: (change: Relaxation) => void }) {
  if (changes.length === 0) return null;
  return (
    <section aria-label={text.relax}>
      <h3 className="text-sm font-medium">{text.relax}</h3>
      <div className="mt-2 flex flex-wrap gap-1.5">
        {changes.map((change) => (
          <button
            key={change.field + change.words}
            type="button"
            onClick={() => apply(change)}
            className="inline-flex cursor-pointer items-start gap-1.5 rounded-md border border-line bg-live-soft px-2.5 py-1 text-left text-sm text-live hover:border-live"
          >
            <WandSparkles size={14} aria-hidden className="mt-1 shrink-0" />
            <span>
              {change.words}
              {!change.free_now && <span className="text-muted">, {text.relaxLater}</span>}
            </span>
          </button>
        ))}
      </div>
    </section>
  );
}

function Costs({ quote }: { quote: Quote }) {
  const { cost, begin } = quote;
  if (!cost || cost.length === 0) return null;
  return (
    <section aria-label={text.cost}>
      <dl className="grid gap-1 text-sm">
        {cost.map(({ code, label, micros }) => (
          <div key={code} className={cn("flex justify-between gap-4", code === "at_most" && "font-medium")}>
            <dt className={cn("min-w-0 text-pretty", code !== "at_most" && "text-muted")}>{label}</dt>
            <dd className="shrink-0">
              <Money micros={micros} />
            </dd>
          </div>
        ))}
        {begin.available_micros !== null && (
          <div className="flex justify-between gap-4 border-t border-line pt-1">
            <dt className="text-muted">{text.wallet}</dt>
            <dd>
              <Money micros={begin.available_micros} />
            </dd>
          </div>
        )}
      </dl>
    </section>
  );
}

function Best({ nodes }: { nodes: Schemas["NodePrice"][] }) {
  if (nodes.length === 0) return null;
  return (
    <section aria-label={text.nodes}>
      <h3 className="text-sm font-medium">{text.nodes}</h3>
      <ul className="mt-1 divide-y divide-line text-sm">
        {nodes.map((node) => (
          <li key={node.node_id} className="flex items-baseline justify-between gap-3 py-1.5">
            <Link
              to="/market/nodes/$nodeId"
              params={{ nodeId: node.node_id }}
              className="min-w-0 truncate hover:underline"
              target="_blank"
            >
              {node.gpus[0] ?? plural(node.cpus, text.core, text.cores)}
              {node.country && <span className="text-muted"> · {country(node.country)}</span>}
            </Link>
            {node.own ? (
              <span className="text-good">{text.own}</span>
            ) : (
              node.price_micros !== null && <Money micros={node.price_micros} per="h" />
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** What it costs, where it fits, and what would help. The old answer stays while a new one is asked for. */
export function QuotePanel({ query, apply }: { query: UseQueryResult<Quote>; apply: (change: Relaxation) => void }) {
  const money = useMoney();
  const quote = query.data;
  if (!quote) {
    if (query.error) return <Trouble error={query.error} retry={() => void query.refetch()} compact />;
    return (
      <div className="grid gap-4">
        <Skeleton className="h-8 w-40" />
        <Skeleton className="h-10" />
        <Skeleton className="h-24" />
        <Skeleton className="h-24" />
      </div>
    );
  }
  return (
    <div className="grid gap-4" aria-busy={query.isFetching}>
      {money && (
        <p aria-live="polite">
          <Price quote={quote} />
        </p>
      )}
      <Begin begin={quote.begin} start={quote.start} summary={quote.summary} />
      <Relax changes={quote.relaxations} apply={apply} />
      <Costs quote={quote} />
      <Gates quote={quote} />
      <Best nodes={quote.nodes} />
    </div>
  );
}
