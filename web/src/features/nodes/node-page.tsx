import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { TriangleAlert } from "lucide-react";
import { useConfig, useMe } from "@/api/hooks";
import { type NodeView, nodeQuery } from "@/api/queries/nodes";
import { earningsQuery } from "@/api/queries/wallet";
import { Card, Figure, Figures } from "@/components/card";
import { Money } from "@/components/money";
import { Page } from "@/components/page";
import { Skeleton } from "@/components/skeleton";
import { State, Tag } from "@/components/state";
import { Trouble } from "@/components/trouble";
import { When } from "@/components/when";
import { percent } from "@/lib/amounts";
import { nodes as texts } from "@/texts/nodes";
import { Attempts } from "./attempts";
import { Benchmark, NodeFacts, NodeNotices, NodeNow, Verification } from "./node-about";
import { NodeActions } from "./node-actions";
import { NodeEarnings } from "./node-earnings";
import { Policy } from "./policy";
import { PriceEditor } from "./price-editor";
import { Reliability } from "./reliability";
import { Telemetry } from "./telemetry";

const t = texts.node;
const BACK = { to: "/nodes", name: t.back };

export default function NodePage() {
  const { nodeId } = useParams({ strict: false }) as { nodeId: string };
  const query = useQuery(nodeQuery(nodeId));
  if (query.data) return <Whole key={nodeId} node={query.data} />;
  return (
    <Page title={t.back} back={BACK}>
      {query.error ? <Trouble error={query.error} retry={() => void query.refetch()} /> : <Waiting />}
    </Page>
  );
}

function Whole({ node }: { node: NodeView }) {
  const money = useConfig()?.money ?? false;
  const isOwn = useMe()?.id === node.owner_id;
  const cards = new Map(node.capacity.gpus.map((gpu) => [gpu.id, gpu.slug]));
  return (
    <Page
      title={node.name}
      back={BACK}
      beside={
        <span className="flex flex-wrap items-center gap-2">
          <State of={node.state} />
          {node.capacity.simulated && <Tag>{texts.list.simulated}</Tag>}
          {node.reliability.verified && <Tag tone="good">{texts.list.verified}</Tag>}
          {node.tags
            .filter((tag) => tag !== "simulated")
            .map((tag) => (
              <Tag key={tag}>{tag}</Tag>
            ))}
        </span>
      }
      about={isOwn || !node.owner_name ? undefined : `${t.owner}: ${node.owner_name}`}
      actions={<NodeActions node={node} />}
    >
      <Warnings node={node} />
      <Summary node={node} money={money && isOwn} />
      <div className="mt-6 grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <div className="flex min-w-0 flex-col gap-6">
          <Attempts nodeId={node.id} running />
          <Telemetry nodeId={node.id} createdAt={node.created_at} cards={cards} />
          {money && isOwn && <NodeEarnings nodeId={node.id} />}
          <Attempts nodeId={node.id} running={false} />
          <Reliability nodeId={node.id} />
        </div>
        <div className="flex min-w-0 flex-col gap-6">
          <NodeNow node={node} />
          {money && node.ask && <PriceEditor node={node} />}
          <Policy nodeId={node.id} edit={node.actions.policy} />
          <Verification node={node} />
          <Benchmark node={node} />
          <NodeNotices nodeId={node.id} />
          <NodeFacts node={node} />
        </div>
      </div>
    </Page>
  );
}

function Warnings({ node }: { node: NodeView }) {
  if (!node.notice && !node.clone_seen_at) return null;
  return (
    <div role="note" className="mb-4 flex gap-3 rounded-lg border border-line bg-warn-soft p-4 text-warn">
      <TriangleAlert size={16} aria-hidden className="mt-0.5 shrink-0" />
      <div className="text-pretty">
        {node.notice && <p>{node.notice}</p>}
        {node.clone_seen_at && (
          <p>
            {t.cloned} <When at={node.clone_seen_at} ago />.
          </p>
        )}
      </div>
    </div>
  );
}

function Summary({ node, money }: { node: NodeView; money: boolean }) {
  const earnings = useQuery({ ...earningsQuery(node.id), enabled: money }).data;
  const { reliability } = node;
  return (
    <Card flush>
      <Figures className={money ? undefined : "sm:grid-cols-2!"}>
        {money && (
          <>
            <Figure name={t.today} value={<Money micros={node.earned_today_micros ?? 0} />} />
            <Figure name={t.month} value={earnings ? <Money micros={earnings.earned_micros} /> : "–"} />
          </>
        )}
        <Figure
          name={t.reliability}
          value={reliability.has_record ? percent(reliability.mean) : "–"}
          note={reliability.has_record ? t.reliabilityNote(reliability.ok_attempts) : texts.list.noRecord}
        />
        <Figure name={t.uptime} value={percent(reliability.uptime_30d)} />
      </Figures>
    </Card>
  );
}

const Waiting = () => (
  <div>
    <Skeleton className="h-24 w-full" />
    <div className="mt-6 grid gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
      <Skeleton className="h-96 w-full" />
      <Skeleton className="h-96 w-full" />
    </div>
  </div>
);
