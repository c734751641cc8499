import { QueryClientProvider } from "@tanstack/react-query";
import { createMemoryHistory, RouterProvider } from "@tanstack/react-router";
import { renderToString } from "react-dom/server";
import { makeQueries } from "./queries";
import { makeRouter } from "./router";

/** The page at `path` as HTML, as it looks before anything is known. Used by tools/build.mjs. */
export async function prerender(path: string): Promise<string> {
  const queries = makeQueries();
  const router = makeRouter(queries, createMemoryHistory({ initialEntries: [path] }));
  await router.load();
  return renderToString(
    <QueryClientProvider client={queries}>
      <RouterProvider router={router} />
    </QueryClientProvider>,
  );
}
