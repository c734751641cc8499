import { cn } from "@/lib/cn";
import { credits } from "@/lib/money";

/** Credits from micros. `per`: "h" for a price. `signed`: an entry, coloured by its direction. */
export function Money({
  micros,
  per,
  signed,
  places,
  className,
}: {
  micros: number | bigint;
  per?: string;
  signed?: boolean;
  places?: number;
  className?: string;
}) {
  const amount = BigInt(micros);
  return (
    <span className={cn("whitespace-nowrap", signed && amount > 0n && "text-good", className)}>
      {signed && amount > 0n ? "+" : ""}
      {credits(amount, places)} <span className="text-[0.92em] text-muted">cr{per ? `/${per}` : ""}</span>
    </span>
  );
}
