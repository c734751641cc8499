// The status page: the pool in numbers for everybody, and one's own nodes and jobs.

import { showVersion, watchAccount } from "./account.js";
import { showJob } from "./job.js";
import { $, ago, badge, bytes, clean, copyLine, gauge, h, local, many, notice, number, put, seconds, sync }
  from "./parts.js";
import { begin, couldResume, get, hubNow, post, resume, send, session, signedIn, SignedOut, Unreachable }
  from "./session.js";
import { showWallet } from "./wallet.js";

const PERIOD_MS = 2000;
const SLOWEST_MS = 15_000;
const JOBS_SHOWN = 15;
const ISOLATION = { // from weakest to strongest, as protocol/states.py has them
  process: ["not isolated", "Jobs run as plain processes of this machine. Only its owner's own jobs come here."],
  bubblewrap: ["sandboxed", "Jobs run in a bubblewrap sandbox, away from this machine's files."],
  container: ["container", "Jobs run in containers."],
  gvisor: ["gVisor", "Jobs run on a kernel of their own, gVisor."],
};

// ── the pool ───────────────────────────────────────────────────────────────────────────────────────────────────────

function makeFigure([label]) {
  const value = h("span", { class: "value" }), note = h("span", { class: "note" }), bar = gauge();
  const node = h("div", { class: "figure" }, h("dt", {}, label), h("dd", {}, value, " ", note, bar));
  node.update = ([, amount, text, part, whole]) => {
    put(value, amount);
    put(note, text);
    bar.hidden = !(whole > 0);
    bar.update(part, whole);
  };
  return node;
}

async function showStats() {
  const s = await (await send("stats")).json();
  const simulated = s.nodes_simulated ? `, ${s.nodes_simulated} simulated` : "";
  const figures = [
    ["Nodes online", s.nodes_online, `of ${s.nodes_total}${simulated}`, s.nodes_online, s.nodes_total],
    ["CPU cores free", number(s.cpus_free), `of ${number(s.cpus_total)}`, s.cpus_free, s.cpus_total],
    ["GPUs free", s.gpus_free, `of ${s.gpus_total}`, s.gpus_free, s.gpus_total],
    ["Memory", bytes(s.memory_bytes_total), "total", 0, 0],
    ["Running", s.slices_running, s.slices_running === 1 ? "slice" : "slices", 0, 0],
    ["Queued", s.slices_queued, s.slices_queued === 1 ? "slice" : "slices", 0, 0],
  ];
  sync($("figures"), figures, ([label]) => label, makeFigure);
}

// ── one's own ──────────────────────────────────────────────────────────────────────────────────────────────────────

function makeNode() {
  const state = badge("offline"), pretended = badge("simulated"), title = h("h3"), about = h("p", { class: "muted" }), level = badge("unknown");
  const lines = ["cores", "memory", "GPUs"].map((what) => {
    const text = h("span", { class: "amount" }), bar = gauge();
    return { what, text, bar, node: h("div", { class: "line" }, h("span", {}, what), text, bar) };
  });
  const running = h("p", { class: "running" });
  const node = h("li", { class: "card node" }, h("div", { class: "head" }, title, state), about,
    ...lines.map((line) => line.node), h("div", { class: "foot" }, h("span", {}, level, " ", pretended), running));
  node.update = (n) => {
    const has = n.capacity, away = n.state === "offline" || n.state === "banned", free = away ? null : n.free;
    put(title, n.name);
    state.update(n.state);
    pretended.hidden = !has.simulated;
    pretended.title = "Not a machine: it only pretends, for jobs that ask for the tag simulated.";
    const names = [...new Set((has.gpus ?? []).map((gpu) => gpu.name))].join(", ");
    put(about, [names, n.country, has.platform, ...n.tags.map((tag) => `#${tag}`)]
      .filter(Boolean).join(" · ") || n.id);
    const amounts = [[free?.cpus, has.cpus, number], [free?.memory_bytes, has.memory_bytes, bytes],
      [free?.gpus, (has.gpus ?? []).length, number]];
    lines.forEach(({ text, bar, node: line }, i) => {
      const [left, all, show] = amounts[i];
      line.hidden = all === 0;
      put(text, left === undefined ? show(all) : `${show(left)} of ${show(all)} free`);
      bar.hidden = left === undefined;
      bar.update(left ?? 0, all);
    });
    const best = Object.keys(ISOLATION).filter((name) => (has.isolation ?? []).includes(name)).pop() ?? "process";
    level.update(`isolation-${best}`, ISOLATION[best][0]);
    level.title = ISOLATION[best][1] + (has.soft_limits ? " Memory limits are kept by a watchdog." : "");
    const seen = n.last_seen_at ? `last seen ${ago(n.last_seen_at, hubNow())}` : "not seen yet";
    put(running, n.running_attempts ? `${n.running_attempts} running` : away ? seen : "idle");
  };
  return node;
}

const placed = new Map(); // where a job ran, by id and state: the list of jobs does not tell

async function nodeOf(job) {
  if (job.slice_count > 1) return many(job.slice_count, "slice");
  const key = `${job.id} ${job.state} ${job.started_at}`;
  if (!job.started_at) return "";
  if (!placed.has(key)) {
    const whole = await get(`jobs/${job.id}`);
    placed.set(key, whole.slices[0]?.attempts.at(-1)?.node_name ?? "");
  }
  return placed.get(key);
}

function makeJob(job) {
  const state = badge("queued"), link = h("a", { href: `#job=${job.id}`, class: "cover" });
  const cells = ["place", "exit number", "took number", "when number"].map((name) => h("td", { class: name }));
  const row = h("tr", {}, h("td", { class: "state" }, state), h("td", { class: "name" }, link), ...cells);
  row.update = (j) => {
    state.update(j.cancel_requested_at && !j.finished_at ? "canceling" : j.state);
    put(link, `${j.name || j.id}${j.simulated ? " (simulated)" : ""}`);
    const [, exit, took, when] = cells;
    nodeOf(j).then((text) => put(cells[0], text), () => {});
    put(exit, j.exit_code === null ? "" : `exit ${j.exit_code}`);
    const until = Date.parse(j.finished_at ?? "") || hubNow();
    put(took, j.started_at ? seconds((until - Date.parse(j.started_at)) / 1000) : "");
    put(when, ago(j.created_at, hubNow()));
    when.title = local(j.created_at);
  };
  return row;
}

async function showMine() {
  const [nodes, jobs] = await Promise.all([get("nodes"), get(`jobs?limit=${JOBS_SHOWN}`),
    showWallet($("wallet"), $("pockets"))]);
  sync($("nodes"), nodes.items, (node) => node.id, makeNode);
  sync($("jobs").tBodies[0], jobs.items, (job) => job.id, makeJob);
  $("no-nodes").hidden = nodes.items.length > 0;
  $("no-jobs").hidden = jobs.items.length > 0;
  $("jobs").hidden = !jobs.items.length;
}

const here = ["localhost", "127.0.0.1", "[::1]"].includes(location.hostname);
const insecure = location.protocol === "https:" || here ? "" : " --insecure";
let address = location.origin;

async function addMachine() {
  try {
    const made = await post("nodes/join-tokens", { uses: 1 });
    const line = `computepool join ${address} --token ${made.token}${insecure}`;
    const advice = here ? "Only this machine can reach the hub at this address. For others, start it with "
      + "computepool up --host 0.0.0.0 and open this page at the machine's own address." : "";
    $("join").replaceChildren(h("p", {}, "Run this on the machine that joins:"), copyLine(line, "the join line"),
      h("p", { class: "muted" }, `Good for one machine, until ${local(made.expires_at)}. Shown only now. ${advice}`));
    $("join").hidden = false;
    $("join").querySelector("button").focus();
  } catch (error) {
    notice(error.message);
  }
}

function showHow(hubAddress) {
  address = hubAddress;
  const steps = [
    ["Sign a machine's command line in", `computepool login ${address}${insecure}`],
    ["Run something: it goes to a machine that has room", "computepool run -- python3 -c 'print(6 * 7)'"],
    ["Share a machine: “Add a machine” makes the token", `computepool join ${address} --token TOKEN${insecure}`],
  ];
  $("how").replaceChildren(...steps.map(([what, line]) => h("li", {}, h("p", {}, what), copyLine(line, what))));
}

// ── the loop ───────────────────────────────────────────────────────────────────────────────────────────────────────

let failures = 0;
let shownJob = null;
let resolveWait = () => {};
let isWoken = false;

function route() {
  const wanted = signedIn() ? new URLSearchParams(location.hash.slice(1)).get("job") : null;
  $("overview").hidden = wanted !== null;
  $("job").hidden = wanted === null;
  $("mine").hidden = !signedIn();
  if (!signedIn()) [$("nodes"), $("jobs").tBodies[0], $("join"), $("pockets")].forEach((part) => part.replaceChildren());
  $("join").hidden ||= !signedIn();
  if (wanted === shownJob?.id) return;
  shownJob?.close();
  shownJob = wanted === null ? null : showJob($("job"), wanted);
  if (wanted === null) document.title = "ComputePool";
  scrollTo(0, 0);
}

async function refresh() {
  try {
    if (couldResume()) await resume(); // the hub was away when the page was loaded
    const own = !signedIn() ? null : shownJob ? shownJob.refresh() : showMine();
    await Promise.all([showStats(), own]);
    failures = 0;
    $("offline").hidden = true;
  } catch (error) {
    if (error instanceof Unreachable) {
      failures += 1;
      $("offline").hidden = false;
      put($("offline"), "Hub unreachable, retrying…");
    } else if (error instanceof SignedOut) notice(error.message);
    else notice(clean(error.message));
  }
}

async function run() {
  for (;;) {
    isWoken = false;
    if (!document.hidden) await refresh();
    if (isWoken) continue; // while it was busy
    await new Promise((resolve) => {
      resolveWait = resolve;
      if (!document.hidden) setTimeout(resolve, Math.min(SLOWEST_MS, PERIOD_MS * 2 ** Math.min(failures, 5)));
    });
  }
}

const wake = () => { isWoken = true; resolveWait(); };
const again = () => { route(); wake(); };
addEventListener("hashchange", again);
addEventListener("online", wake);
document.addEventListener("visibilitychange", wake);
session.addEventListener("change", again);
$("add-machine").addEventListener("click", addMachine);

showHow(location.origin);
showVersion().then(showHow, () => {});
await begin().catch((error) => notice(error.message));
route();
watchAccount().catch((error) => notice(error.message));
run();
