import { useQuery } from "@tanstack/react-query";
import { Check, Circle } from "lucide-react";
import { type NodeView, noticesQuery } from "@/api/queries/nodes";
import { Card, Fact, Facts } from "@/components/card";
import { State, Tag } from "@/components/state";
import { When } from "@/components/when";
import { bytes, country } from "@/lib/amounts";
import { nodes as texts } from "@/texts/nodes";
import { Cards } from "./cards";

const t = texts.about;
const speed = (value: number) => `${bytes(value)}/s`;

/** What strangers get of it now, and the cards as they are. */
export function NodeNow({ node }: { node: NodeView }) {
  const { availability } = node;
  return (
    <Card title={t.title}>
      {node.capacity.gpus.length > 0 && (
        <div className="mb-3">
          <Cards node={node} />
        </div>
      )}
      <Facts>
        {availability && (
          <Fact name={t.now}>
            {availability.strangers ? t.strangers : t.ownOnly}
            {availability.reason && <span className="block text-sm text-muted">{availability.reason}</span>}
            {availability.gpu_only && <span className="block text-sm text-muted">{t.gpuOnly}</span>}
          </Fact>
        )}
        {availability && availability.gpus_in_use.length > 0 && (
          <Fact name={t.inUse}>{availability.gpus_in_use.join(", ")}</Fact>
        )}
        {node.free && (
          <Fact name={t.free}>
            {texts.list.cores(node.free.cpus)}, {bytes(node.free.memory_bytes)}
          </Fact>
        )}
        {node.slices_at_once !== null && <Fact name={t.slices}>{node.slices_at_once}</Fact>}
      </Facts>
    </Card>
  );
}

export function NodeFacts({ node }: { node: NodeView }) {
  const { capacity } = node;
  return (
    <Card title={t.machine}>
      <Facts>
        {capacity.gpus.map((gpu) => (
          <Fact key={gpu.id} name={t.gpu}>
            {gpu.name}
            <span className="block text-sm text-muted">
              {[bytes(gpu.memory_bytes), gpu.runtime, gpu.driver].filter(Boolean).join(", ")}
            </span>
          </Fact>
        ))}
        <Fact name={t.cpu}>{capacity.cpu_model || t.unknown}</Fact>
        <Fact name={t.cpus}>{capacity.cpus}</Fact>
        <Fact name={t.memory}>{bytes(capacity.memory_bytes)}</Fact>
        <Fact name={t.disk}>{bytes(capacity.disk_bytes)}</Fact>
        <Fact name={t.platform}>{capacity.platform || t.unknown}</Fact>
        <Fact name={t.isolation}>{capacity.isolation.join(", ")}</Fact>
        <Fact name={t.country}>{node.country ? country(node.country) : t.unknown}</Fact>
        <Fact name={t.agent}>{node.agent_version}</Fact>
        <Fact name={t.joined}>
          <When at={node.created_at} ago />
        </Fact>
        <Fact name={t.seen}>
          <When at={node.last_seen_at} ago />
        </Fact>
        <Fact name={texts.node.id}>
          <code className="text-sm break-all">{node.id}</code>
        </Fact>
      </Facts>
    </Card>
  );
}

export function Benchmark({ node }: { node: NodeView }) {
  const { benchmark } = node;
  const { line } = benchmark;
  return (
    <Card
      title={t.benchmark}
      aside={
        benchmark.mark !== "unverified" && (
          <State of={benchmark.mark} look={benchmark.mark === "matches" ? "good" : "warn"} />
        )
      }
    >
      {benchmark.devices.length === 0 && <p className="mb-1 text-pretty first-letter:uppercase">{benchmark.words}</p>}
      <Facts>
        {benchmark.devices.map((device) => (
          <Fact key={device.device} name={device.device === "cpu" ? t.cpu : device.device}>
            {device.words}
          </Fact>
        ))}
        {benchmark.tier !== null && (
          <Fact name={t.tier}>
            {benchmark.tier}{" "}
            {benchmark.tier_basis && node.capacity.gpus.length > 0 && <Tag>{t.basis[benchmark.tier_basis]}</Tag>}
          </Fact>
        )}
        {line.round_trip_seconds != null && <Fact name={t.round}>{Math.round(line.round_trip_seconds * 1000)} ms</Fact>}
        {line.down_bytes_per_second != null && <Fact name={t.down}>{speed(line.down_bytes_per_second)}</Fact>}
        {line.up_bytes_per_second != null && <Fact name={t.up}>{speed(line.up_bytes_per_second)}</Fact>}
        {benchmark.measured_at && (
          <Fact name={t.measured}>
            <When at={benchmark.measured_at} ago />
          </Fact>
        )}
      </Facts>
    </Card>
  );
}

/** What is missing until renters that ask for verified nodes get this one. */
export function Verification({ node }: { node: NodeView }) {
  const { verified, missing_for_verified } = node.reliability;
  return (
    <Card title={t.verification} aside={verified && <Check size={16} className="text-good" aria-hidden />}>
      {verified ? (
        <p>{t.isVerified}</p>
      ) : (
        <>
          <p className="text-sm text-muted">{t.missing}</p>
          <ul className="mt-1.5 flex flex-col gap-1.5">
            {missing_for_verified.map((step) => (
              <li key={step} className="flex gap-2">
                <Circle size={12} aria-hidden className="mt-1 shrink-0 text-muted" />
                <span className="block text-pretty first-letter:uppercase">{step}</span>
              </li>
            ))}
          </ul>
        </>
      )}
    </Card>
  );
}

/** The newest notices about this node; nothing where there are none. */
export function NodeNotices({ nodeId }: { nodeId: string }) {
  const notices = useQuery(noticesQuery)
    .data?.items.filter((notice) => notice.subject_id === nodeId)
    .slice(0, 5);
  if (!notices?.length) return null;
  return (
    <Card title={t.notices}>
      <ul className="flex flex-col gap-2">
        {notices.map((notice) => (
          <li key={notice.id}>
            <p className="text-pretty">{notice.title}</p>
            <p className="text-sm text-muted text-pretty">
              <When at={notice.at} ago /> {notice.text}
            </p>
          </li>
        ))}
      </ul>
    </Card>
  );
}
