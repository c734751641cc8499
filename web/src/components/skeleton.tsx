import { cn } from "@/lib/cn";
import { common } from "@/texts/common";

/** Stands where something will be, in its shape: `<Skeleton className="h-6 w-40" />`. */
export const Skeleton = ({ className }: { className?: string }) => (
  <div aria-hidden className={cn("skeleton rounded bg-line", className)} />
);

export function SkeletonRows({ rows = 5, className = "h-11" }: { rows?: number; className?: string }) {
  return (
    <div role="status" aria-label={common.loading} className="divide-y divide-line">
      {Array.from({ length: rows }, (_, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the rows are all alike
        <div key={row} className={cn("flex items-center gap-4 px-4", className)}>
          <Skeleton className="h-3.5 w-1/3" />
          <Skeleton className="h-3.5 w-1/6" />
          <span className="flex-1" />
          <Skeleton className="h-3.5 w-16" />
        </div>
      ))}
    </div>
  );
}
