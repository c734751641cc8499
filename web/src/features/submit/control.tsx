import { type ComponentProps, type ReactNode, useId } from "react";
import type { Schemas } from "@/api/client";
import { inputClass } from "@/components/input-class";
import { cn } from "@/lib/cn";

export type Problem = Schemas["SpecProblem"];
export type Given = { id: string; "aria-describedby"?: string | undefined; "aria-invalid"?: true | undefined };

/** A label, a control, a hint, and what the API says is wrong with the field of that name. */
export function Control({
  label,
  field,
  problems,
  hint,
  className,
  children,
}: {
  label: ReactNode;
  field: string;
  problems: Problem[];
  hint?: ReactNode;
  className?: string;
  children: (given: Given) => ReactNode;
}) {
  const id = useId();
  const own = problems.filter((problem) => problem.field === field || problem.field.startsWith(`${field}.`));
  const told = own.length > 0 || hint;
  return (
    <div className={cn("min-w-0", className)}>
      <label htmlFor={id} className="mb-1 block text-sm font-medium">
        {label}
      </label>
      {children({
        id,
        "aria-describedby": told ? `${id}-about` : undefined,
        "aria-invalid": own.length > 0 || undefined,
      })}
      {told && (
        <div id={`${id}-about`} className="mt-1 text-sm">
          {own.length > 0
            ? own.map((problem) => (
                <p key={problem.field + problem.message} className="text-bad">
                  {problem.message}
                  {problem.hint && <span className="text-muted"> {problem.hint}</span>}
                </p>
              ))
            : hint && <p className="text-muted text-pretty">{hint}</p>}
        </div>
      )}
    </div>
  );
}

const BOX = cn(inputClass, "h-8! aria-invalid:border-bad");

/** Any text; `options` are offered while typing. */
export function TextBox({
  options,
  given,
  className,
  ...rest
}: ComponentProps<"input"> & { options?: string[]; given: Given }) {
  return (
    <>
      <input
        {...given}
        {...rest}
        list={options && `${given.id}-list`}
        autoComplete="off"
        className={cn(BOX, className)}
      />
      {options && (
        <datalist id={`${given.id}-list`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </>
  );
}
export const SelectBox = ({ given, className, ...rest }: ComponentProps<"select"> & { given: Given }) => (
  <select {...given} {...rest} className={cn(BOX, "pr-7", className)} />
);
export const TextBlock = ({ given, className, ...rest }: ComponentProps<"textarea"> & { given: Given }) => (
  <textarea
    {...given}
    {...rest}
    spellCheck={false}
    className={cn(inputClass, "h-auto! py-2 font-mono text-sm aria-invalid:border-bad", className)}
  />
);
