// Two clients of the API: `api` asks as the person who is signed in, `open` as anybody. Both are typed by the hub's own
// document. `ask(api.GET(…))` gives the answer or throws ApiError, Unreachable or SignedOut.
import createClient from "openapi-fetch";
import { errorOf } from "./errors";
import type { components, paths } from "./schema";
import { send, sendAsUser } from "./session";

export type Schemas = components["schemas"];

const baseUrl = globalThis.location?.origin ?? "http://localhost";
export const api = createClient<paths>({ baseUrl, fetch: sendAsUser });
export const open = createClient<paths>({ baseUrl, fetch: send });

type Answer<T> = { data?: T; error?: unknown; response: Response };

export async function ask<T>(call: Promise<Answer<T>>): Promise<T> {
  const { data, error, response } = await call;
  if (response.ok) return data as T;
  throw await errorOf(
    new Response(JSON.stringify(error ?? null), { status: response.status, headers: response.headers }),
  );
}

/** The same key for the same intent, so that a request that is sent twice is done once. */
export const idempotencyKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, "0")).join("");
