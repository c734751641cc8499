import type { NodeView } from "@/api/queries/nodes";
import { Meter } from "@/components/meter";
import { bytes, percent } from "@/lib/amounts";
import { nodes as texts } from "@/texts/nodes";

const t = texts.list;

/** Each card of a machine with its load, heat, memory and power as the agent last told them. */
export function Cards({ node }: { node: NodeView }) {
  const { gpus, cpus, memory_bytes } = node.capacity;
  if (gpus.length === 0) {
    return <p className="text-sm text-muted">{t.noCards(t.cores(cpus), bytes(memory_bytes))}</p>;
  }
  const loads = new Map(node.gpu_loads.map((load) => [load.id, load]));
  return (
    <ul className="flex flex-col gap-2">
      {gpus.map((gpu) => {
        const load = loads.get(gpu.id);
        const told = [
          load?.utilisation != null && percent(load.utilisation),
          load?.temperature_celsius != null && `${Math.round(load.temperature_celsius)} °C`,
          load?.power_watts != null && `${Math.round(load.power_watts)} W`,
        ].filter(Boolean);
        const memory =
          load?.memory_used_bytes != null
            ? t.of(bytes(load.memory_used_bytes), bytes(gpu.memory_bytes))
            : bytes(gpu.memory_bytes);
        return (
          <li key={gpu.id} className="min-w-0">
            <div className="flex items-baseline justify-between gap-3">
              <span className="truncate">{gpu.slug}</span>
              <span className="shrink-0 text-sm text-muted">{memory}</span>
            </div>
            <div className="mt-1 flex items-center gap-3">
              <div className="min-w-12 flex-1">
                <Meter label={t.load(gpu.name)} part={load?.utilisation ?? 0} />
              </div>
              <span className="w-36 shrink-0 text-right text-sm text-muted">{told.join(" · ") || t.noSample}</span>
            </div>
          </li>
        );
      })}
    </ul>
  );
}
