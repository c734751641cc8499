import "@fontsource-variable/geist/wght.css";
import "@fontsource-variable/geist-mono/wght.css";
import "./app.css";
import { CSPProvider } from "@base-ui/react/csp-provider";
import { QueryClientProvider } from "@tanstack/react-query";
import { RouterProvider } from "@tanstack/react-router";
import { StrictMode } from "react";
import { createRoot } from "react-dom/client";
import { live } from "@/api/live";
import { followEvents } from "@/api/live-table";
import { begun } from "@/api/session";
import { toastError } from "@/components/toasts";
import { makeQueries } from "./queries";
import { makeRouter } from "./router";

const RELOADED = "computepool.reloaded-at";
const RELOAD_PAUSE_MS = 30_000;

// A chunk cannot be loaded. If the hub answers, it was updated while this tab was open: the new page has the new names.
// If it does not answer, the page stays, and the next use of the chunk asks for it again.
addEventListener("vite:preloadError", async () => {
  if (Date.now() - Number(sessionStorage.getItem(RELOADED)) < RELOAD_PAUSE_MS) return;
  const answer = await fetch("/healthz", { cache: "no-store" }).catch(() => null);
  if (!answer?.ok) return;
  sessionStorage.setItem(RELOADED, String(Date.now()));
  location.reload();
});

// A sign-in link that is opened in a tab that shows the app already changes only the fragment.
addEventListener("hashchange", () => {
  if (location.hash.startsWith("#sign-in=")) location.reload();
});

const queries = makeQueries();
const router = makeRouter(queries);
followEvents(queries);

// Whoever reads by ear or by keyboard begins at the new page, not at the link that led there.
router.subscribe("onResolved", ({ pathChanged, fromLocation }) => {
  if (pathChanged && fromLocation) document.getElementById("main")?.focus({ preventScroll: true });
});

void begun.then(({ link, refusal, job }) => {
  live.begin();
  if (refusal) toastError(refusal);
  // Sign-in links lead to the start page or a job; older return addresses of payments to the wallet.
  if (job) void router.navigate({ to: "/jobs/$jobId", params: { jobId: job }, replace: true });
  else if (link === "used" && location.pathname === "/") void router.navigate({ to: "/jobs", replace: true });
  else if (location.hash === "#wallet") void router.navigate({ to: "/wallet", replace: true });
});

// The landing page comes with its text in it, which stays on the screen until the same can be drawn in its place.
void router.load().then(() => {
  const place = document.getElementById("root")!;
  createRoot(place).render(
    <StrictMode>
      <CSPProvider disableStyleElements>
        <QueryClientProvider client={queries}>
          <RouterProvider router={router} />
        </QueryClientProvider>
      </CSPProvider>
    </StrictMode>,
  );
});
