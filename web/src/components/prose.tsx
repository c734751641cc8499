import { Fragment, type ReactNode } from "react";

/** A text in which what stands between backticks is code. Anything else is drawn as it is. */
export function Prose({ children }: { children: ReactNode }) {
  if (typeof children !== "string" || !children.includes("`")) return children;
  return children.split("`").map((part, index) =>
    index % 2 ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text do not move
      <code key={index} className="rounded bg-sunken px-1 text-[0.92em]">
        {part}
      </code>
    ) : (
      // biome-ignore lint/suspicious/noArrayIndexKey: the parts of a text do not move
      <Fragment key={index}>{part}</Fragment>
    ),
  );
}
