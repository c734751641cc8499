import { useMemo } from "react";
import { middleOf, readWorld } from "./world";
import grid from "./world-small.json";

export type Spot = { country: string; nodes: number; tier: number };

const world = readWorld(grid);
const dots = (indices: number[]) => indices.map((index) => `M${middleOf(index, world.columns).join(" ")}h0`).join("");
const land = dots(world.land);

/** The pool as lit dots of the land: more nodes, more dots. A picture, not a table: the map page has the numbers. */
export function DotMap({ spots, className, label }: { spots: Spot[]; className?: string; label: string }) {
  const lit = useMemo(() => {
    const taken = new Map<string, number>();
    const byTier = new Map<number, number[]>();
    for (const { country, nodes, tier } of spots) {
      const cells = world.cells.get(country) ?? [];
      const from = taken.get(country) ?? 0;
      const end = Math.min(cells.length, from + Math.max(1, Math.round(Math.sqrt(nodes))));
      taken.set(country, end);
      byTier.set(tier, (byTier.get(tier) ?? []).concat(cells.slice(from, end)));
    }
    return [...byTier].map(([tier, cells]) => [tier, dots(cells)] as const);
  }, [spots]);
  return (
    // A dot is a line of no length with a round cap: one path for all of a colour.
    <svg
      viewBox={`0 0 ${world.columns} ${world.rows}`}
      className={className}
      role="img"
      aria-label={label}
      fill="none"
      strokeLinecap="round"
    >
      <path d={land} stroke="var(--map-land)" strokeWidth=".6" />
      {lit.map(([tier, path]) => (
        <path key={tier} d={path} stroke={`var(--tier-${tier})`} strokeWidth=".86" />
      ))}
    </svg>
  );
}
