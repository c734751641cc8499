import { useQuery } from "@tanstack/react-query";
import { Link, useParams } from "@tanstack/react-router";
import type { Schemas } from "@/api/client";
import { marketNodeQuery } from "@/api/queries/market";
import { buttonClass } from "@/components/button";
import { Card, Fact, Facts, Figure, Figures } from "@/components/card";
import { CopyButton } from "@/components/command-line";
import { Loaded } from "@/components/loaded";
import { Money } from "@/components/money";
import { Page } from "@/components/page";
import { Skeleton } from "@/components/skeleton";
import { State, Tag } from "@/components/state";
import { type Column, Table } from "@/components/table";
import { When } from "@/components/when";
import { bytes, count, country } from "@/lib/amounts";
import { credits } from "@/lib/money";
import { date } from "@/lib/time";
import { market, marketNode as text } from "@/texts/market";
import { PriceChart, UptimeChart } from "./node-charts";
import { cardsOf } from "./offer-list";

type MarketNode = Schemas["MarketNodeView"];
type Card_ = Schemas["PublicCard"];

const CARDS: Column<Card_>[] = [
  { name: text.card, cell: ({ name }) => <span className="font-medium">{name}</span> },
  { name: text.memory, align: "right", cell: ({ memory_bytes }) => bytes(memory_bytes) },
  {
    name: text.speed,
    align: "right",
    cell: ({ gflops }) => (gflops == null ? <span className="text-muted">–</span> : text.gflops(gflops)),
  },
  { name: text.driver, className: "max-sm:hidden", cell: ({ driver }) => driver || "–" },
  { name: text.runtime, className: "max-sm:hidden", cell: ({ runtime }) => runtime || "–" },
];

function Headline({ node }: { node: MarketNode }) {
  const { price, record } = node;
  return (
    <section className="overflow-hidden rounded-lg border border-line">
      <Figures>
        {price ? (
          <Figure
            name={text.price}
            value={<Money micros={price.price_micros} per="h" />}
            note={`${price.per === "gpu" ? text.perGpu : text.perCore}; ${text.priceNote(credits(price.suggested_micros))}`}
          />
        ) : (
          <Figure name={text.cores} value={count(node.cpus)} note={bytes(node.memory_bytes)} />
        )}
        <Figure
          name={text.reliability}
          value={market.share(record.lower)}
          note={text.reliabilityNote(market.share(record.mean))}
        />
        <Figure name={text.uptime} value={market.share(record.uptime_30d)} note={text.uptimeNote} />
        <Figure name={text.done} value={count(record.ok_attempts)} note={text.doneNote} />
      </Figures>
    </section>
  );
}

function Machine({ node }: { node: MarketNode }) {
  return (
    <Card title={text.specs}>
      <Facts>
        <Fact name={text.owner}>{node.owner_name ?? <span className="text-muted">{text.noName}</span>}</Fact>
        <Fact name={text.cpu}>{node.cpu_model || "–"}</Fact>
        <Fact name={text.cores}>{count(node.cpus)}</Fact>
        <Fact name={text.memory}>{bytes(node.memory_bytes)}</Fact>
        <Fact name={text.disk}>{bytes(node.disk_bytes)}</Fact>
        <Fact name={text.place}>{node.country ? country(node.country) : "–"}</Fact>
        {node.region && <Fact name={text.region}>{node.region}</Fact>}
        <Fact name={text.isolation}>{node.isolation ? market.isolation[node.isolation] : "–"}</Fact>
        <Fact name={text.network}>{node.network ? text.yes : text.no}</Fact>
        {node.tags.length > 0 && (
          <Fact name={text.tags}>
            <span className="flex flex-wrap justify-end gap-1">
              {node.tags.map((tag) => (
                <Tag key={tag}>{tag}</Tag>
              ))}
            </span>
          </Fact>
        )}
        <Fact name={text.since}>{date(node.record.first_seen)}</Fact>
        <Fact name={text.audited}>{text.auditedOf(node.record.audited.ok, node.record.audited.wrong)}</Fact>
        {node.record.quarantined_until && (
          <Fact name={text.quarantined}>
            <When at={node.record.quarantined_until} />
          </Fact>
        )}
        <Fact name={text.id}>
          <span className="flex items-center justify-end gap-1 font-mono text-sm">
            <span className="min-w-0 truncate">{node.node_id}</span>
            <CopyButton text={node.node_id} className="-my-1" />
          </span>
        </Fact>
      </Facts>
    </Card>
  );
}

function Benchmark({ node: { benchmark, gpus } }: { node: MarketNode }) {
  return (
    <Card title={text.benchmark} aside={text.marks[benchmark.mark]}>
      <Facts>
        <Fact name={text.tier}>
          {benchmark.tier ?? (gpus.length ? "–" : "CPU")}
          {benchmark.tier_basis && gpus.length > 0 && (
            <span className="text-muted"> {text.basis[benchmark.tier_basis]}</span>
          )}
        </Fact>
        <Fact name={text.cpu}>{benchmark.cpu_gflops == null ? "–" : text.gflops(benchmark.cpu_gflops)}</Fact>
        <Fact name={text.measuredAt}>
          <When at={benchmark.measured_at} />
        </Fact>
      </Facts>
    </Card>
  );
}

function Body({ node }: { node: MarketNode }) {
  return (
    <div className="grid gap-4">
      <Headline node={node} />
      <div className="grid items-start gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="grid min-w-0 gap-4">
          <Card title={text.cards} flush={node.gpus.length > 0}>
            {node.gpus.length ? (
              <Table
                label={text.cards}
                columns={CARDS}
                rows={node.gpus}
                keyOf={(card) => `${node.gpus.indexOf(card)} ${card.slug}`}
              />
            ) : (
              <p className="text-muted">{text.noCards}</p>
            )}
          </Card>
          <Card title={text.uptimeByDay}>
            {node.record.uptime.length ? (
              <UptimeChart days={node.record.uptime} />
            ) : (
              <p className="text-muted">{text.notYet}</p>
            )}
          </Card>
          {node.price_history && (
            <Card
              title={text.priceByDay}
              aside={node.price ? (node.price.per === "gpu" ? text.perGpu : text.perCore) : null}
            >
              {node.price_history.length ? (
                <PriceChart days={node.price_history} />
              ) : (
                <p className="text-muted">{text.notYet}</p>
              )}
            </Card>
          )}
        </div>
        <div className="grid gap-4">
          <Machine node={node} />
          <Benchmark node={node} />
        </div>
      </div>
    </div>
  );
}

export default function PublicNodePage() {
  const { nodeId } = useParams({ from: "/market/nodes/$nodeId" });
  const query = useQuery(marketNodeQuery(nodeId));
  const node = query.data;
  return (
    <Page
      title={node ? (node.gpus.length === 0 && node.cpu_model) || cardsOf(node.gpus.map(({ slug }) => slug)) : nodeId}
      back={{ to: "/market", name: text.back }}
      beside={
        node && (
          <span className="flex flex-wrap items-center gap-2">
            <State of={node.state} />
            {node.record.verified && <Tag tone="good">{market.isVerified}</Tag>}
            {node.simulated && <Tag>{market.isSimulated}</Tag>}
            <span className="text-sm text-muted">
              {node.takes_work ? text.takesWork : text.noWork}
              {node.busy && `, ${text.busy}`}
            </span>
          </span>
        )
      }
      actions={
        node && (
          <Link to="/submit" search={{ node: nodeId }} className={buttonClass({ look: "primary" })}>
            {text.run}
          </Link>
        )
      }
    >
      <Loaded
        query={query}
        skeleton={
          <div className="grid gap-4">
            <Skeleton className="h-28 rounded-lg" />
            <div className="grid gap-4 lg:grid-cols-[minmax(0,1fr)_22rem]">
              <Skeleton className="h-72 rounded-lg" />
              <Skeleton className="h-72 rounded-lg" />
            </div>
          </div>
        }
      >
        {(found) => <Body node={found} />}
      </Loaded>
    </Page>
  );
}
