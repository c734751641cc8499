// Who is signed in. The access token is in memory only. At an https address the hub keeps the refresh token in a cookie
// that no script can read, and all tabs share it. On plain HTTP it is in this tab's sessionStorage, and other tabs of the
// same browser borrow the access token, so that a page opened in a new tab is signed in too. (ADR 0048.)
import { ApiError, errorOf, SignedOut, Unreachable } from "./errors";
import type { components } from "./schema";

type TokenPair = components["schemas"]["TokenPair"];
type Access = { token: string; until: number };
type Told = { ask?: string; session?: string | undefined; answer?: string; access?: Access; ended?: boolean };
export type SignInPath = "auth/login" | "auth/register" | "auth/one-time" | "me/password";

const STORED = "computepool.refresh-token";
/** Says only that this browser has been signed in, so that a cookie is worth asking for. */
const SEEN = "computepool.has-session";
const MARGIN_MS = 60_000;
const BORROW_MS = 200;
const TIMEOUT_MS = 30_000;

let access: Access | null = null;
let renewing: Promise<void> | null = null;
let clockSkewMs = 0;
let userId: string | null = null;
let isKnown = false;
const listeners = new Set<() => void>();
const channel = globalThis.document && globalThis.BroadcastChannel ? new BroadcastChannel("computepool") : null;
const asked = new Map<string, (access: Access) => void>();

const mayHaveCookie = () => location.protocol === "https:" && localStorage.getItem(SEEN) === "1";
const sessionOf = (refreshToken: string | null) => refreshToken?.split(".")[0];

export const isSignedIn = () => access !== null;
/** Nobody is signed in yet, but this browser has been: it takes a moment to know. */
export const isResuming = () =>
  access === null &&
  !isKnown &&
  typeof location !== "undefined" &&
  (mayHaveCookie() || sessionStorage.getItem(STORED) !== null);
/** Now by the hub's clock, for ages and time limits. */
export const hubNow = () => Date.now() + clockSkewMs;
/** Called when somebody signs in or out. Returns what ends it. */
export function onSessionChange(listener: () => void): () => void {
  listeners.add(listener);
  return () => void listeners.delete(listener);
}

/** One request, as it is. Throws Unreachable when nobody answers. */
export async function send(request: Request): Promise<Response> {
  let response: Response;
  try {
    response = await fetch(request);
  } catch (error) {
    if (request.signal.aborted) throw error;
    throw new Unreachable();
  }
  const told = Date.parse(response.headers.get("Date") ?? "");
  if (told) clockSkewMs = Math.abs(told - Date.now()) > 2000 ? told - Date.now() : 0;
  return response;
}

/** As the person who is signed in; once more with a new token where the old one no longer holds. */
export async function sendAsUser(request: Request): Promise<Response> {
  await begun;
  const again = request.clone();
  const response = await send(withToken(request, await freshToken()));
  if (response.status !== 401) return response;
  if (access) access.until = 0;
  return send(withToken(again, await freshToken()));
}

function withToken(request: Request, token: string): Request {
  request.headers.set("Authorization", `Bearer ${token}`);
  return request;
}

async function post(path: string, body: object, token?: string): Promise<Response> {
  const headers = new Headers({ "Content-Type": "application/json" });
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await send(
    new Request(`/api/v1/${path}`, { method: "POST", headers, body: JSON.stringify(body), signal }),
  );
  if (!response.ok) throw await errorOf(response);
  return response;
}

/** By password, registration, a sign-in link, or with a new password. */
export async function signIn(path: SignInPath, body: object): Promise<void> {
  const token = path === "me/password" ? await freshToken() : undefined;
  const pair = (await (await post(path, { ...body, browser: true }, token)).json()) as TokenPair;
  keep(pair);
}

export async function signOut(): Promise<void> {
  const own = sessionStorage.getItem(STORED);
  const token = access?.token;
  forget();
  channel?.postMessage({ ended: true } satisfies Told);
  await post("auth/logout", own ? { refresh_token: own } : {}, token).catch(() => undefined);
}

/** The access token, renewed when it is about to end. Throws SignedOut where there is none. */
export async function freshToken(): Promise<string> {
  if (access === null || access.until - MARGIN_MS < Date.now()) {
    renewing ??= renew().finally(() => {
      renewing = null;
    });
    await renewing;
  }
  if (access === null) throw new SignedOut();
  return access.token;
}

/** The hub has closed this session. */
export function expire(): void {
  if (access) access.until = 0;
}

async function renew(): Promise<void> {
  const own = sessionStorage.getItem(STORED);
  const cookie = mayHaveCookie();
  const lent = !own && cookie ? null : await borrow(own);
  if (lent) {
    // A duplicated tab has a copy of the refresh token; used twice, it would end the session of both.
    sessionStorage.removeItem(STORED);
    adopt(lent);
    return;
  }
  if (!own && !cookie) {
    forget();
    throw new SignedOut();
  }
  try {
    const body = own ? { refresh_token: own, browser: true } : { browser: true };
    keep((await (await post("auth/refresh", body)).json()) as TokenPair);
  } catch (error) {
    if (!(error instanceof ApiError) || error.status !== 401) throw error;
    forget();
    throw new SignedOut();
  }
}

function keep(pair: TokenPair): void {
  if (pair.refresh_token) sessionStorage.setItem(STORED, pair.refresh_token);
  else {
    sessionStorage.removeItem(STORED);
    localStorage.setItem(SEEN, "1");
  }
  const isOther = userId !== pair.user_id;
  userId = pair.user_id;
  adopt({ token: pair.access_token, until: Date.now() + pair.expires_in * 1000 }, isOther);
}

function adopt(newAccess: Access, isOther = false): void {
  const isNew = access === null || isOther;
  access = newAccess;
  if (isNew) tell();
}

function forget(): void {
  const was = access !== null;
  access = null;
  userId = null;
  sessionStorage.removeItem(STORED);
  localStorage.removeItem(SEEN);
  if (was) tell();
}

function tell(): void {
  for (const listener of listeners) listener();
}

channel?.addEventListener("message", ({ data }: MessageEvent<Told>) => {
  if (data.ended) forget();
  if (data.answer && data.access) asked.get(data.answer)?.(data.access);
  const own = sessionStorage.getItem(STORED);
  if (!data.ask || !own || access === null || access.until - MARGIN_MS < Date.now()) return;
  if (!data.session || data.session === sessionOf(own))
    channel.postMessage({ answer: data.ask, access } satisfies Told);
});

/** Another tab's access token: of the same session, where this tab has one. */
function borrow(own: string | null): Promise<Access | null> {
  if (!channel) return Promise.resolve(null);
  return new Promise<Access | null>((resolve) => {
    const ask = crypto.getRandomValues(new Uint32Array(4)).join("-");
    asked.set(ask, resolve);
    setTimeout(() => resolve(null), BORROW_MS);
    channel.postMessage({ ask, session: sessionOf(own) } satisfies Told);
  }).finally(() => asked.clear());
}

/** A sign-in link that the address had in it, and whether it worked. */
export type Begun = { link: "none" | "used" | "refused"; refusal: Error | null; job: string | null };

/** Once, when the page opens: by the link in the address, this tab's session, the cookie, or another tab's. */
async function begin(): Promise<Begun> {
  if (typeof location === "undefined") return { link: "none", refusal: null, job: null }; // prerendering
  const rest = new URLSearchParams(location.hash.slice(1));
  const link = rest.get("sign-in");
  const job = rest.get("job");
  if (link === null) {
    await freshToken().catch(() => undefined);
    return { link: "none", refusal: null, job };
  }
  rest.delete("sign-in");
  // Before anything can show or keep the token.
  history.replaceState(history.state, "", location.pathname + location.search + (rest.size ? `#${rest}` : ""));
  try {
    await signIn("auth/one-time", { token: link });
    return { link: "used", refusal: null, job };
  } catch (refusal) {
    await freshToken().catch(() => undefined);
    return { link: "refused", refusal: refusal as Error, job };
  }
}
export const begun: Promise<Begun> = begin().finally(() => {
  const was = isResuming();
  isKnown = true;
  if (was && access === null) tell();
});
