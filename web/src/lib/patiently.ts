const PAUSE_MS = 1_000;

/** Loads a part of the app. While the hub is away it waits for it, and then asks once more. */
export function patiently<T>(load: () => Promise<T>): () => Promise<T> {
  return () => load().catch(() => untilHubAnswers().then(load));
}

async function untilHubAnswers(): Promise<void> {
  for (;;) {
    const answer = await fetch("/healthz", { cache: "no-store" }).catch(() => null);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
