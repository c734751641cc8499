/** A part of a whole, as a bar with a name for those who cannot see it. */
export function Meter({ label, part, tone = "bg-live-dot" }: { label: string; part: number; tone?: string }) {
  const percent = Math.round(Math.min(1, Math.max(0, part)) * 100);
  return (
    <div
      role="meter"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      aria-valuenow={percent}
      className="h-1.5 overflow-hidden rounded-full bg-sunken"
    >
      <div className={`h-full rounded-full ${tone}`} style={{ width: `${percent}%` }} />
    </div>
  );
}
