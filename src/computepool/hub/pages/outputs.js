// What a job left behind, of the slices that are over, with links to fetch it.

import { bytes, copyLine, h } from "./parts.js";
import { get } from "./session.js";

const FINAL = ["succeeded", "failed", "canceled"];
const LINKS_MS = 5 * 60_000; // links are signed for some minutes, and asked for anew before these are over

export class Outputs {
  constructor(path, id) {
    [this.path, this.over, this.at] = [path, 0, 0];
    this.list = h("ul", { class: "plain" });
    this.more = h("div", { hidden: true }, h("p", {}, "All of it, also what is too large for one link:"),
      copyLine(`computepool get ${id}`, "fetch the outputs, on the command line"));
    this.node = h("section", { class: "card", "aria-label": "Outputs", hidden: true }, h("h2", {}, "Outputs"),
      this.list, this.more);
  }

  async refresh(job) {
    const over = FINAL.reduce((sum, state) => sum + (job.counts[state] ?? 0), 0);
    if (!over || (over === this.over && Date.now() < this.at + LINKS_MS)) return;
    const { items, next } = await get(`${this.path}/artifacts`);
    [this.over, this.at] = [over, Date.now()];
    this.list.replaceChildren(...items.map((one) => line(one, job.slice_count > 1)));
    this.more.hidden = !next && items.every((one) => one.downloads.length < 2);
    this.node.hidden = items.length === 0;
  }
}

function line(one, several) {
  const name = several ? `${one.slice}/${one.path}` : one.path;
  const [url, another] = one.downloads;
  const shown = url && !another ? h("a", { href: url, download: "" }, name) : h("span", {}, name);
  return h("li", {}, shown, " ", h("span", { class: "muted" }, bytes(one.size_bytes)));
}
