import { type ReactNode, useId } from "react";
import { cn } from "@/lib/cn";
import { Prose } from "./prose";

type Props = {
  title?: string;
  aside?: ReactNode;
  about?: ReactNode;
  flush?: boolean;
  className?: string;
  children: ReactNode;
};
/** A part of a page with a title. `flush`: what is inside reaches the edges, such as a table. */
export function Card({ title, aside, about, flush, className, children }: Props) {
  const id = useId();
  return (
    <section
      aria-labelledby={title ? id : undefined}
      className={cn("overflow-hidden rounded-lg border border-line bg-surface", className)}
    >
      {title && (
        <header
          className={cn("flex flex-wrap items-baseline justify-between gap-x-4 px-4 pt-3.5", flush ? "pb-3" : "pb-2")}
        >
          <h2 id={id} className="font-medium">
            {title}
          </h2>
          {aside && <div className="text-sm text-muted">{aside}</div>}
          {about && (
            <p className="w-full text-sm text-muted text-pretty">
              <Prose>{about}</Prose>
            </p>
          )}
        </header>
      )}
      <div className={flush ? undefined : cn("px-4 pb-4", !title && "pt-4")}>{children}</div>
    </section>
  );
}

export const Facts = ({ children, className }: { children: ReactNode; className?: string }) => (
  <dl className={className}>{children}</dl>
);
export const Fact = ({ name, children }: { name: ReactNode; children: ReactNode }) => (
  <div className="flex justify-between gap-4 py-1">
    <dt className="shrink-0 text-muted">{name}</dt>
    <dd className="min-w-0 text-right break-words">{children}</dd>
  </div>
);

/** One number that matters, with its name and a note. */
export function Figure({
  name,
  value,
  unit,
  note,
}: {
  name: string;
  value: ReactNode;
  unit?: ReactNode;
  note?: ReactNode;
}) {
  return (
    <div className="px-5 py-4">
      <dt className="text-sm text-muted">{name}</dt>
      <dd className="mt-1 text-2xl font-semibold">
        {value}
        {unit && <span className="ml-1 text-base font-normal tracking-normal text-muted">{unit}</span>}
      </dd>
      {note && <dd className="mt-0.5 text-sm text-muted">{note}</dd>}
    </div>
  );
}
/** Figures in a row, with lines between them. */
export const Figures = ({ children, className }: { children: ReactNode; className?: string }) => (
  <dl className={cn("grid grid-cols-2 gap-px overflow-hidden bg-line sm:grid-cols-4 *:bg-surface", className)}>
    {children}
  </dl>
);
