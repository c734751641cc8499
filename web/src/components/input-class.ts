/** How a text field or a list looks. */
export const inputClass =
  "h-9 w-full rounded-md border border-edge bg-surface px-3 placeholder:text-muted disabled:opacity-60 data-invalid:border-bad";
