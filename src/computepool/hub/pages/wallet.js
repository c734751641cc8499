// One's credits: what can be spent, what is held, what was earned; and what a job cost.

import { h, put, sync } from "./parts.js";
import { get } from "./session.js";

const MICROS = 1_000_000;
let isOff = false; // a pool without money says so once

// About how much, for reading: exact amounts are the command line's.
const amount = (micros) => {
  const small = micros !== 0 && Math.abs(micros) < MICROS / 10;
  return (micros / MICROS).toLocaleString("en", small ? { maximumSignificantDigits: 2 } : { maximumFractionDigits: 2 });
};

function makeFigure([label]) {
  const value = h("span", { class: "value" }), note = h("span", { class: "note" });
  const node = h("div", { class: "figure" }, h("dt", {}, label), h("dd", {}, value, " ", note));
  node.update = ([, micros, text]) => {
    put(value, amount(micros));
    put(note, text);
  };
  return node;
}

// Nothing where money is off.
async function ask(path) {
  if (isOff) return null;
  try {
    return await get(path);
  } catch (error) {
    if (error.code !== "money_off") throw error;
    isOff = true;
    return null;
  }
}

export async function showWallet(section, figures) {
  const has = await ask("wallet");
  section.hidden = has === null;
  if (has === null) return;
  const present = has.promotional_micros ? `${amount(has.promotional_micros)} of it promotional` : "credits";
  const rows = [
    ["Spendable", has.spendable_micros, present],
    ["Held", has.held_micros, "for what runs now"],
    ["Earned", has.earnings_micros, "by your machines"],
    ...(has.cashing_out_micros ? [["Cashing out", has.cashing_out_micros, "on its way to you"]] : []),
    ...(has.debt_micros ? [["Debt", -has.debt_micros, "your next earnings go there"]] : []),
    ...(has.owed_to_you_micros ? [["Owed to you", has.owed_to_you_micros, "by hosts, when they have earned it"]] : []),
  ];
  sync(figures, rows, ([label]) => label, makeFigure);
}

// In words: what a job cost so far, and what is held for it. Asked when the job has moved on, or a minute has passed.
export function watchCost(path) {
  let known = "", words = "";
  return async (job) => {
    const key = `${job.finished_at ?? Math.floor(Date.now() / 60_000)} ${JSON.stringify(job.counts)}`;
    if (key === known) return words;
    const told = await ask(`${path}/explain?slice_limit=1&view=renter`);
    known = key;
    if (told === null || !told.entries) return (words = told === null ? "" : "nothing");
    const held = told.held_micros ? `, and ${amount(told.held_micros)} held` : "";
    const cost = amount(-told.change_micros);
    return (words = `${cost} ${cost === "1" ? "credit" : "credits"}${held}`);
  };
}
