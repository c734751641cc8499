import { TriangleAlert } from "lucide-react";
import { ApiError, isPassing } from "@/api/errors";
import { common } from "@/texts/common";
import { Button } from "./button";

/** What went wrong, in the hub's own words: message, hint, fields, and another try where that may help. */
export function Trouble({
  error,
  retry,
  compact,
}: {
  error: unknown;
  retry?: (() => void) | undefined;
  compact?: boolean;
}) {
  const told = error instanceof Error ? error : new Error(String(error));
  const hint = told instanceof ApiError ? told.hint : null;
  const fields = told instanceof ApiError ? told.fields : [];
  return (
    <div
      role="alert"
      className={
        compact ? "flex gap-2 text-bad" : "mx-auto flex max-w-lg gap-3 rounded-lg border border-line bg-surface p-5"
      }
    >
      <TriangleAlert size={16} aria-hidden className="mt-0.5 shrink-0 text-bad" />
      <div className="min-w-0 break-words">
        <p className={compact ? undefined : "font-medium"}>{told.message}</p>
        {fields.map((field) => (
          <p key={field.field} className="text-sm">
            <code>{field.field}</code> {field.message}
          </p>
        ))}
        {hint && <p className="text-sm text-muted">{hint}</p>}
        {retry && (isPassing(error) || !compact) && (
          <Button size="sm" className="mt-3" onClick={retry}>
            {common.tryAgain}
          </Button>
        )}
      </div>
    </div>
  );
}
