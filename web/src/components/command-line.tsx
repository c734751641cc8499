import { Check, Copy } from "lucide-react";
import { useState } from "react";
import { cn } from "@/lib/cn";
import { copyText } from "@/lib/copy";
import { common } from "@/texts/common";
import { toast } from "./toasts";

/** Copies a text and says so. */
export function CopyButton({ text, label, className }: { text: string; label?: string; className?: string }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    if (!(await copyText(text))) {
      toast({ title: common.cannotCopy, tone: "warn" });
      return;
    }
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button
      type="button"
      onClick={() => void copy()}
      aria-label={label ?? common.copy(text)}
      className={cn("shrink-0 cursor-pointer rounded p-1.5 text-muted hover:bg-surface hover:text-text", className)}
    >
      {done ? <Check size={14} aria-hidden className="text-good" /> : <Copy size={14} aria-hidden />}
      <span className="sr-only" role="status">
        {done ? common.copied : ""}
      </span>
    </button>
  );
}

/** One command for a terminal, to be copied. */
export function CommandLine({ line, className }: { line: string; className?: string }) {
  return (
    <div
      className={cn(
        "flex w-full items-baseline gap-2 rounded-md border border-line bg-sunken pl-3 text-left font-mono text-sm",
        className,
      )}
    >
      <span aria-hidden className="text-muted select-none">
        $
      </span>
      <code className="min-w-0 flex-1 py-2 wrap-anywhere">{line}</code>
      <CopyButton text={line} className="m-1 self-start" />
    </div>
  );
}
