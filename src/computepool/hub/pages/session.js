// Who is signed in. The access token lives in memory. At an https address the hub keeps the refresh token in a cookie
// that no script can read, and all tabs share it. On plain HTTP it is in this tab's sessionStorage, and other tabs of
// the same browser borrow the access token, so that a job or /device opened in a new tab is signed in too.

const STORED = "computepool.refresh-token";
const MARGIN_MS = 60_000;
const BORROW_MS = 200;
const TIMEOUT_MS = 20_000;

export class Unreachable extends Error {}
export class SignedOut extends Error {}
export class HubError extends Error {
  constructor(status, detail) {
    const fields = (detail.fields ?? []).map((one) => `${one.field}: ${one.message}`);
    super([detail.message ?? `The hub answered ${status}.`, ...fields, detail.hint].filter(Boolean).join(" "));
    this.status = status;
    this.code = detail.code;
  }
}

export const session = new EventTarget(); // fires "change"
let access = null; // {token, until}
let renewing = null;
let clockSkewMs = 0;
let mayHaveCookie = location.protocol === "https:"; // until the hub says that there is none

export const signedIn = () => access !== null;
export const couldResume = () => access === null && (mayHaveCookie || sessionStorage.getItem(STORED) !== null);
export const hubNow = () => Date.now() + clockSkewMs;

export async function send(path, { method = "GET", body, token } = {}) {
  const headers = {};
  if (token) headers.Authorization = `Bearer ${token}`;
  if (body !== undefined) headers["Content-Type"] = "application/json";
  let response;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    response = await fetch(`/api/v1/${path}`, { method, headers, body: body && JSON.stringify(body), signal });
  } catch {
    throw new Unreachable("The hub does not answer.");
  }
  const told = Date.parse(response.headers.get("Date") ?? "");
  if (told) clockSkewMs = Math.abs(told - Date.now()) > 2000 ? told - Date.now() : 0;
  if (response.ok) return response;
  const answer = await response.json().catch(() => null);
  if (!answer?.error && response.status >= 502) throw new Unreachable("The hub does not answer."); // a proxy says so
  throw new HubError(response.status, answer?.error ?? {});
}

// As the person who is signed in.
export async function call(path, options = {}) {
  try {
    return await send(path, { ...options, token: await freshToken() });
  } catch (error) {
    if (!(error instanceof HubError) || error.status !== 401) throw error;
    if (access) access.until = 0;
    return send(path, { ...options, token: await freshToken() });
  }
}
export const get = async (path) => (await call(path)).json();
export const post = async (path, body = {}) => (await call(path, { method: "POST", body })).json();

// A sign-in link, this tab's own session, or another tab's. A link that will not do is thrown, after the others.
export async function begin() {
  const link = new URLSearchParams(location.hash.slice(1)).get("sign-in");
  if (link !== null) {
    const rest = new URLSearchParams(location.hash.slice(1)); // a link may lead to a job as well
    rest.delete("sign-in");
    // Before anything can show or keep the token.
    history.replaceState(null, "", location.pathname + location.search + (rest.size ? `#${rest}` : ""));
    try {
      return await signIn("auth/one-time", { token: link });
    } catch (error) {
      if (!(await resume())) throw error;
      return undefined;
    }
  }
  await resume();
}

export async function resume() {
  try {
    await freshToken();
    return true;
  } catch (error) {
    if (error instanceof SignedOut) return false;
    throw error;
  }
}

export async function signIn(path, body) {
  const pair = await (await send(path, { method: "POST", body: { ...body, browser: true } })).json();
  access = null; // whoever it was before
  keep(pair);
}

export async function signOut() {
  const own = sessionStorage.getItem(STORED);
  const token = access?.token;
  forget();
  channel.postMessage({ ended: true });
  await send("auth/logout", { method: "POST", body: own ? { refresh_token: own } : {}, token });
}

function keep(pair) {
  if (pair.refresh_token) sessionStorage.setItem(STORED, pair.refresh_token);
  else {
    sessionStorage.removeItem(STORED);
    mayHaveCookie = true;
  }
  adopt({ token: pair.access_token, until: Date.now() + pair.expires_in * 1000 });
}

function adopt(newAccess) {
  const isNew = access === null;
  access = newAccess;
  if (isNew) session.dispatchEvent(new Event("change"));
}

function forget() {
  const was = access !== null;
  access = null;
  mayHaveCookie = false;
  sessionStorage.removeItem(STORED);
  if (was) session.dispatchEvent(new Event("change"));
}

async function freshToken() {
  if (access === null || access.until - MARGIN_MS < Date.now()) {
    renewing ??= renew().finally(() => { renewing = null; });
    await renewing;
  }
  return access.token;
}

async function renew() {
  const own = sessionStorage.getItem(STORED);
  const lent = !own && mayHaveCookie ? null : await borrow(own); // tabs share the cookie
  if (lent) {
    // A duplicated tab has a copy of the refresh token; used twice, it would end the session of both.
    sessionStorage.removeItem(STORED);
    adopt(lent);
    return;
  }
  if (!own && !mayHaveCookie) {
    forget();
    throw new SignedOut("Sign in.");
  }
  try {
    const body = own ? { refresh_token: own, browser: true } : { browser: true };
    keep(await (await send("auth/refresh", { method: "POST", body })).json());
  } catch (error) {
    if (error instanceof HubError && error.status === 401) {
      forget();
      throw new SignedOut("Your session has ended. Sign in again.");
    }
    throw error;
  }
}

const channel = new BroadcastChannel("computepool");
const sessionOf = (refreshToken) => refreshToken?.split(".")[0];
const asked = new Map();

channel.addEventListener("message", async ({ data }) => {
  if (data.ended) forget();
  if (data.answer) asked.get(data.answer)?.(data.access);
  const own = sessionStorage.getItem(STORED);
  if (!data.ask || !own || access === null || access.until - MARGIN_MS < Date.now()) return;
  if (!data.session || data.session === sessionOf(own)) channel.postMessage({ answer: data.ask, access });
});

// Another tab's access token: of the same session, where this tab has one.
function borrow(own) {
  return new Promise((resolve) => {
    const ask = crypto.getRandomValues(new Uint32Array(4)).join("-");
    asked.set(ask, resolve);
    setTimeout(() => resolve(null), BORROW_MS);
    channel.postMessage({ ask, session: sessionOf(own) });
  }).finally(() => asked.clear());
}
