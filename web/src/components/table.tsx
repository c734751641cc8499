import type { ReactNode } from "react";
import { cn } from "@/lib/cn";

export type Column<Row> = {
  /** The head of the column; also its key. */
  name: string;
  /** Instead of its name, such as a box to select all. */
  head?: ReactNode;
  cell: (row: Row) => ReactNode;
  /** Its head is only for those who hear the table, as of a column of buttons. */
  bare?: boolean;
  align?: "right";
  /** Such as `max-sm:hidden`, for what a phone has no room for. */
  className?: string;
};

type Props<Row> = {
  label: string;
  columns: Column<Row>[];
  rows: Row[];
  keyOf: (row: Row) => string;
  rowClass?: (row: Row) => string | undefined;
};
/** A table that reads as one: real heads, scrolls sideways where it must. For more than a few hundred rows use a virtual list. */
export function Table<Row>({ label, columns, rows, keyOf, rowClass }: Props<Row>) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls, with the keyboard too
    <div role="group" className="overflow-x-auto" aria-label={label} tabIndex={0}>
      <table className="w-full text-left">
        <thead>
          <tr className="border-y border-line bg-sunken/50 text-sm text-muted">
            {columns.map((column) => (
              <th
                key={column.name}
                scope="col"
                className={cn(
                  "h-9 px-4 font-medium whitespace-nowrap",
                  column.align === "right" && "text-right",
                  column.className,
                )}
              >
                {column.bare ? <span className="sr-only">{column.name}</span> : (column.head ?? column.name)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody className="divide-y divide-line">
          {rows.map((row) => (
            <tr key={keyOf(row)} className={cn("hover:bg-sunken/60", rowClass?.(row))}>
              {columns.map((column) => (
                <td
                  key={column.name}
                  className={cn("px-4 py-2.5", column.align === "right" && "text-right", column.className)}
                >
                  {column.cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
