import type { UseInfiniteQueryResult } from "@tanstack/react-query";
import { common } from "@/texts/common";
import { Button } from "./button";

/** The next page of a list with a cursor: see `pages` in api/queries/pages.ts. */
export function More({
  query,
}: {
  query: Pick<UseInfiniteQueryResult, "hasNextPage" | "isFetchingNextPage" | "fetchNextPage">;
}) {
  if (!query.hasNextPage) return null;
  return (
    <div className="flex justify-center border-t border-line p-3">
      <Button pending={query.isFetchingNextPage} onClick={() => void query.fetchNextPage()}>
        {common.more}
      </Button>
    </div>
  );
}
