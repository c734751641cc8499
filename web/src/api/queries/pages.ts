import { infiniteQueryOptions, type QueryKey } from "@tanstack/react-query";

type ListPage<T> = { items: T[]; next?: string | null; total?: number | null };

/** A list that comes in pages: `useInfiniteQuery(pages(["jobs"], (cursor) => ask(api.GET(…))))`. `flat(data)` has the rows. */
export const pages = <P extends ListPage<unknown>>(
  queryKey: QueryKey,
  read: (cursor: string | undefined) => Promise<P>,
) =>
  infiniteQueryOptions({
    queryKey,
    queryFn: ({ pageParam }) => read(pageParam),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: (page) => page.next ?? undefined,
  });

export const flat = <T>(data: { pages: { items: T[] }[] }): T[] => data.pages.flatMap((page) => page.items);
