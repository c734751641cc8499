// A page made of nothing but the generated types: it signs in, submits a job from a zip, follows it live over the one
// socket, and downloads the result. `tests/e2e/test_typescript_page.py` runs it in a browser.

import type { components, operations } from "./api";
import type { components as live } from "./events";

type Schemas = components["schemas"];
type Messages = live["schemas"];
type Ok<Id extends keyof operations> = operations[Id]["responses"] extends infer Responses
  ? Responses extends { 200: { content: { "application/json": infer Body } } } ? Body
    : Responses extends { 201: { content: { "application/json": infer Body } } } ? Body
      : never
  : never;
type FromHub = Messages["HelloMessage"] | Messages["EventMessage"] | Messages["LogMessage"] | Messages["WatchEndedMessage"];

export interface Told {
  state: Schemas["JobState"];
  log: string;
  outputs: Record<string, string>;
  events: string[];
  protocol: string;
}

async function call<Id extends keyof operations>(hub: string, path: string, token: string, options: RequestInit = {}): Promise<Ok<Id>> {
  const headers = new Headers(options.headers);
  if (token) headers.set("Authorization", `Bearer ${token}`);
  const answer = await fetch(`${hub}/api/v1/${path}`, { ...options, headers });
  if (!answer.ok) throw new Error(((await answer.json()) as Schemas["ErrorBody"]).error.message);
  return (await answer.json()) as Ok<Id>;
}

const json = (body: object): RequestInit => ({
  method: "POST",
  headers: { "Content-Type": "application/json" },
  body: JSON.stringify(body),
});

const bytes = (base64: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));

/** Until the job has ended and its whole log was sent. */
function follow(hub: string, token: string, jobId: string): Promise<{ log: string; events: string[]; protocol: string }> {
  return new Promise((resolve, reject) => {
    const socket = new WebSocket(`${hub.replace(/^http/, "ws")}/api/v1/events`, ["computepool.v1", `bearer.${token}`]);
    const text = new TextDecoder();
    const events: string[] = [];
    let log = "";
    let ended = false;
    let sent = false;
    const settle = (): void => {
      if (!ended || !sent) return;
      resolve({ log, events, protocol: socket.protocol });
      socket.close();
    };
    socket.onerror = () => reject(new Error("the socket was refused"));
    socket.onclose = () => reject(new Error("the socket was closed"));
    socket.onmessage = ({ data }: MessageEvent<string>) => {
      const message = JSON.parse(data) as FromHub;
      if (message.type === "hello") {
        const wanted: Messages["FollowLogMessage"] = { type: "follow_log", job_id: jobId, slice: 0, attempt: null, offset: 0 };
        socket.send(JSON.stringify(wanted));
      } else if (message.type === "event") {
        const event = message.event;
        events.push(event.type);
        ended ||= event.type === "job" && event.job_id === jobId && event.change === "ended";
      } else if (message.type === "log") {
        log += text.decode(bytes(message.data), { stream: true });
      } else if (message.type === "watch_ended") {
        sent = true;
      }
      settle();
    };
  });
}

export async function story(hub: string, email: string, password: string, zip: string): Promise<Told> {
  const config = await call<"public_config">(hub, "config", "");
  if (!config.sign_in.methods.includes("password")) throw new Error("no passwords here");
  const account: Schemas["LoginRequest"] = { email, password };
  const pair = await call<"accounts_login">(hub, "auth/login", "", json(account));
  const spec: Schemas["WrittenSpec"] = { name: "from a page", run: "python3 main.py", outputs: ["out/**"] };
  const form = new FormData();
  form.append("spec", JSON.stringify(spec));
  form.append("bundle", new Blob([bytes(zip)], { type: "application/zip" }), "work.zip");
  const job = await call<"jobs_submit">(hub, "jobs", pair.access_token, { method: "POST", body: form });
  const followed = await follow(hub, pair.access_token, job.id);
  const shown = await call<"jobs_show">(hub, `jobs/${job.id}`, pair.access_token);
  const stored = await call<"jobs_list_artifacts">(hub, `jobs/${job.id}/artifacts`, pair.access_token);
  const outputs: Record<string, string> = {};
  for (const file of stored.items) {
    const parts = await Promise.all(file.downloads.map(async (url) => (await fetch(new URL(url, hub))).blob()));
    outputs[file.path] = await new Blob(parts).text();
  }
  return { state: shown.state, outputs, ...followed };
}

declare global {
  interface Window {
    story: typeof story;
  }
}
window.story = story;
