import { cva, type VariantProps } from "class-variance-authority";
import type { ComponentProps } from "react";
import { cn } from "@/lib/cn";
import { Spinner } from "./spinner";

/** Also for links that look like buttons: `<Link className={buttonClass({ look: "primary" })}>`. */
export const buttonClass = cva(
  "inline-flex shrink-0 cursor-pointer items-center justify-center gap-1.5 rounded-md font-medium whitespace-nowrap transition-colors disabled:cursor-default disabled:opacity-50",
  {
    variants: {
      look: {
        primary: "bg-ink text-on-ink hover:bg-ink/88",
        plain: "border border-line bg-surface hover:bg-sunken",
        quiet: "text-muted hover:bg-sunken hover:text-text",
        danger: "border border-line bg-surface text-bad hover:bg-bad-soft",
      },
      size: { sm: "h-7 px-2.5 text-sm", md: "h-8 px-3 text-base", lg: "h-10 px-4 text-lg", icon: "size-8" },
    },
    defaultVariants: { look: "plain", size: "md" },
  },
);

type Props = ComponentProps<"button"> & VariantProps<typeof buttonClass> & { pending?: boolean };
/** `pending`: what it began is not done yet. */
export function Button({ className, look, size, pending, disabled, children, ...rest }: Props) {
  return (
    <button
      type="button"
      className={cn(buttonClass({ look, size }), className)}
      disabled={disabled || pending}
      aria-busy={pending || undefined}
      {...rest}
    >
      {pending && <Spinner />}
      {children}
    </button>
  );
}
