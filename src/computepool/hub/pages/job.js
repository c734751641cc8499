// One job: what became of its slices, why it waits, and its log as it is written.

import { Log } from "./log.js";
import { Outputs } from "./outputs.js";
import { ago, badge, copyLine, h, local, many, notice, put, seconds, sync } from "./parts.js";
import { get, hubNow, post, SignedOut } from "./session.js";
import { watchCost } from "./wallet.js";

const FINAL = ["succeeded", "failed", "canceled"];
const SURE_MS = 4000;

export function showJob(place, id) {
  const path = `jobs/${encodeURIComponent(id)}`;
  const state = badge("unknown", "…"), pretended = badge("simulated");
  const title = h("h1", { id: "job-title", tabindex: "-1" }, "Job");
  const cancel = h("button", { type: "button", class: "button danger", hidden: true, click: askCancel }, "Cancel job");
  const facts = h("dl", { class: "facts" }), card = h("div", { class: "card", hidden: true }, facts);
  const message = h("p", { class: "message", hidden: true });
  const why = h("section", { class: "card why", "aria-label": "Why it waits", hidden: true });
  const slices = h("div", { class: "slices", role: "group", "aria-label": "Slices" });
  const attempts = h("tbody");
  const attemptsCard = h("section", { "aria-label": "Attempts", hidden: true }, h("h2", {}, "Attempts"), slices,
    h("div", { class: "card flush" }, h("table", { class: "rows attempts" }, h("thead", {}, h("tr", {},
      ...["State", "Node", "Isolation"].map((name) => h("th", { scope: "col" }, name)),
      ...["Ended", "Duration", "Log"].map((name) => h("th", { scope: "col", class: "number" }, name)))), attempts)));
  const told = h("p", { class: "message", hidden: true });
  const outputs = new Outputs(path, id);
  const log = new Log(path), costOf = watchCost(path);
  place.replaceChildren(h("p", {}, h("a", { href: "#" }, "← All jobs")),
    h("div", { class: "bar-title" }, h("div", { class: "head" }, title, state, pretended), cancel), message,
    card, why, attemptsCard, told, outputs.node, log.node);
  title.focus({ preventScroll: true });
  pretended.hidden = true;
  let chosen = { slice: null, attempt: null }, shown = null, sure = 0, cost = "";

  async function askCancel() {
    if (Date.now() > sure) { // a second click within a few seconds means it
      sure = Date.now() + SURE_MS;
      put(cancel, "Really cancel?");
      setTimeout(() => put(cancel, "Cancel job"), SURE_MS);
      return;
    }
    try {
      show(await post(`${path}/cancel`));
      notice("The job is being canceled.");
    } catch (error) {
      notice(error.message);
    }
  }

  function choose(slice, attempt = null) {
    chosen = { slice, attempt };
    show(shown);
  }

  function show(job) {
    shown = job;
    document.title = `${job.name || job.id} · ComputePool`;
    put(title, job.name || job.id);
    state.hidden = false;
    state.update(job.cancel_requested_at && !job.finished_at ? "canceling" : job.state);
    cancel.hidden = FINAL.includes(job.state) || job.cancel_requested_at !== null;
    pretended.hidden = !job.simulated;
    pretended.title = "It runs on simulated nodes: nothing of it is really run.";
    message.hidden = !job.message;
    put(message, job.message);
    card.hidden = false;
    sync(facts, factsOf(job, cost), ([name]) => name, makeFact);
    // Whoever opens a job that failed wants to see what did; a slice once shown stays until another is chosen.
    chosen.slice ??= (job.state === "failed" && job.slices.find((one) => one.state === "failed")?.index) || 0;
    const slice = job.slices.find((one) => one.index === chosen.slice) ?? job.slices[0];
    slices.hidden = job.slices.length < 2;
    sync(slices, job.slices, (one) => one.index, (one) => makeSlice(one, choose));
    for (const button of slices.children) button.setAttribute("aria-pressed", button.dataset.key === String(slice.index));
    attemptsCard.hidden = job.slices.every((one) => one.attempts.length === 0);
    sync(attempts, slice.attempts, (one) => one.id, (one) => makeAttempt(one, () => choose(slice.index, one.number)));
    const attempt = slice.attempts.find((one) => one.number === chosen.attempt) ?? slice.attempts.at(-1);
    // What a mouse finds in a row's title is said here too: a finger finds no titles.
    put(told, attempt?.verdict ? `Attempt ${attempt.number}: ${endOf(attempt)}` : "");
    told.hidden = !told.textContent;
    log.follow(slice.index, attempt, job.slices.length > 1);
  }

  async function refresh() {
    const job = await get(path);
    cost = await costOf(job).catch(() => ""); // whoever may not see it
    show(job);
    const waits = job.counts.queued > 0 && !FINAL.includes(job.state);
    if (waits) showWhy(why, await get(`${path}/why`));
    why.hidden = !waits;
    await outputs.refresh(job);
  }

  return { id, refresh: () => refresh().catch(tell), close: () => log.close() };

  function tell(error) {
    if (error instanceof SignedOut || error.status === undefined) throw error;
    put(title, error.status === 404 ? "No such job" : "The job cannot be shown");
    state.hidden = pretended.hidden = true;
    message.hidden = false;
    put(message, error.message);
  }
}

function factsOf(job, cost) {
  const { run, resources } = job.spec;
  const command = Array.isArray(run) ? run.map(quoted).join(" ") : run;
  const took = job.started_at && (Date.parse(job.finished_at ?? "") || hubNow()) - Date.parse(job.started_at);
  const counts = Object.entries(job.counts).filter(([, count]) => count).map(([name, count]) => `${count} ${name}`);
  return [
    ["Id", job.id],
    ["Command", command ?? ""],
    ["Needs", Object.entries(resources ?? {}).filter(([, value]) => value != null).map(need).join(", ")],
    ["Slices", job.slice_count > 1 ? counts.join(", ") : ""],
    ["Submitted", `${local(job.created_at)} (${ago(job.created_at, hubNow())})`],
    ["Duration", took ? seconds(took / 1000) : ""],
    ["Cost", cost],
    ["Exit code", job.exit_code ?? ""],
    ["Verdict", [job.verdict, reasonOf(job) && `(${reasonOf(job)})`].filter(Boolean).join(" ")],
    ["Retry of", job.retry_of ?? ""],
  ].filter(([, value]) => value !== "");
}

// As a shell would read it back.
const quoted = (word) => (/^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'"'"'`)}'`);

// In words. That a command exited is told by its exit code already.
const reasonOf = (ended) => (ended.reason === "exited" ? "" : (ended.reason ?? "").replaceAll("_", " "));

const endOf = (one) => [one.verdict && `verdict: ${one.verdict}`, reasonOf(one), one.detail].filter(Boolean).join(" · ");

function need([name, value]) {
  if (name !== "gpu" || typeof value !== "object") return `${name} ${String(value).replace(/\.\.$/, "+")}`;
  const kind = [value.name ?? "any GPU", value.memory].filter(Boolean).join(" ");
  return `${value.count ?? 1} × ${kind.replace(/\.\.$/, "+")}`;
}

function makeFact([name]) {
  const value = name === "Id" || name === "Command" ? h("code") : h("span");
  const width = ["Id", "Command", "Needs"].includes(name) ? "wide" : "";
  const node = h("div", { class: width }, h("dt", {}, name), h("dd", {}, value));
  node.update = ([, text]) => put(value, text);
  return node;
}

function makeSlice(slice, choose) {
  const node = h("button", { type: "button", class: "chip", click: () => choose(slice.index) });
  node.update = ({ index, state }) => {
    node.className = `chip is-${state}`;
    put(node, index);
    node.title = `Slice ${index}: ${state}`;
    node.setAttribute("aria-label", node.title);
  };
  return node;
}

function makeAttempt(attempt, choose) {
  const state = badge(attempt.state);
  const cells = ["place", "level", "exit number", "took number"].map((name) => h("td", { class: name }));
  const button = h("button", { type: "button", class: "button small", click: choose }, "Show");
  const row = h("tr", {}, h("td", { class: "state" }, state), ...cells, h("td", { class: "act" }, button));
  row.update = (one) => {
    state.update(one.state);
    row.title = endOf(one);
    put(cells[0], one.node_name);
    put(cells[1], one.isolation === "process" ? "not isolated" : one.isolation ?? "");
    put(cells[2], one.exit_code === null ? reasonOf(one) : `exit ${one.exit_code}`);
    const from = one.started_at ?? one.leased_at;
    put(cells[3], seconds(((Date.parse(one.finished_at ?? "") || hubNow()) - Date.parse(from)) / 1000));
    button.setAttribute("aria-label", `Show the log of attempt ${one.number}`);
  };
  return row;
}

function showWhy(place, answer) {
  const first = answer.waiting[0];
  const gates = first?.gates ?? [], suggestions = first?.suggestions ?? [];
  const text = JSON.stringify([answer.summary, gates, suggestions, first?.position]);
  if (place.dataset.shown === text) return;
  place.dataset.shown = text;
  const is = (count) => (count === 1 ? "is" : "are");
  const ahead = first?.position ? `${many(first.position, "slice")} ${is(first.position)} served before it.` : "";
  place.replaceChildren(h("h2", {}, "Why it waits"), h("p", {}, answer.summary, " ", ahead),
    ...(gates.length ? [h("ul", { class: "plain" }, ...gates.map((gate) => h("li", {},
      h("strong", {}, many(gate.removed, "node")), ` ${is(gate.removed)} out: ${gate.detail}`)))] : []),
    ...(suggestions.length ? [h("p", {}, "What would help:"),
      h("ul", {}, ...suggestions.map((one) => h("li", {}, one)))] : []),
    copyLine(`computepool why ${answer.job_id}`, "why it waits, on the command line"));
}
