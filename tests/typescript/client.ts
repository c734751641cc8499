// A client made of nothing but the generated types. It is compiled and not run: the compiler is the test.

import type { components, operations } from "./api";

type Schemas = components["schemas"];
type Answer<Id extends keyof operations> = operations[Id]["responses"] extends infer Responses
  ? Responses extends { 200: { content: { "application/json": infer Body } } } ? Body
    : Responses extends { 201: { content: { "application/json": infer Body } } } ? Body
      : never
  : never;

class PoolError extends Error {
  constructor(readonly detail: Schemas["ErrorDetail"]) {
    super(detail.message);
  }
}

async function call<Id extends keyof operations>(method: string, path: string, token: string, body?: object): Promise<Answer<Id>> {
  const answer = await fetch(`/api/v1/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, "Content-Type": "application/json" },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new PoolError(((await answer.json()) as Schemas["ErrorBody"]).error);
  return (await answer.json()) as Answer<Id>;
}

export async function story(email: string, password: string): Promise<string> {
  const login: Schemas["LoginRequest"] = { email, password };
  const pair = await call<"accounts_login">("POST", "auth/login", "", login);
  const spec: Schemas["WrittenSpec"] = { run: ["python", "train.py"], resources: { gpu: "rtx-4090:2", memory: "16GB.." } };
  const job = await call<"jobs_submit">("POST", "jobs", pair.access_token, spec);
  const state: Schemas["JobState"] = job.state;
  const asked: string = job.spec.resources.memory;
  const price: number | null | undefined = job.slices[0]?.attempts[0]?.price?.spot_millis;
  const why = await call<"jobs_why">("GET", `jobs/${job.id}/why`, pair.access_token);
  const removed: number | undefined = why.waiting[0]?.gates[0]?.removed;
  const node = await call<"nodes_show">("GET", "nodes/node_1", pair.access_token);
  const card: string | undefined = node.capacity.gpus[0]?.slug;
  const entries = await call<"wallet_entries">("GET", "wallet/entries", pair.access_token);
  const kind: "settle" | "hold" | undefined = entries.items.map((entry) => entry.kind).find((one) => one === "settle" || one === "hold");
  const next: string | null = entries.next;
  try {
    await call<"jobs_cancel">("POST", `jobs/${job.id}/cancel`, pair.access_token);
  } catch (error) {
    if (error instanceof PoolError && error.detail.code === "no_such_job") return "gone";
    throw error;
  }
  return [state, asked, price, removed, card, kind, next].join(" ");
}
