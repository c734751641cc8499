import type { UseQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { SkeletonRows } from "./skeleton";
import { Trouble } from "./trouble";

/** What a query gave: a skeleton before, the trouble where there is no answer. Old data stays while it is asked anew. */
export function Loaded<T>({
  query,
  skeleton,
  children,
}: {
  query: Pick<UseQueryResult<T>, "data" | "error"> & { refetch: () => unknown };
  skeleton?: ReactNode;
  children: (data: T) => ReactNode;
}) {
  if (query.data !== undefined) return children(query.data);
  if (query.error) {
    return (
      <div className="p-4">
        <Trouble error={query.error} retry={() => void query.refetch()} />
      </div>
    );
  }
  return skeleton ?? <SkeletonRows />;
}
