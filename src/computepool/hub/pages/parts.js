// Small pieces for pages without a framework. Whatever the API tells reaches the page as text, never as markup.

export const $ = (id) => document.getElementById(id);

// Control characters, and those that turn the direction of text and so can make a name look like another.
const DECEITFUL = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;
export const clean = (text) => String(text ?? "").replace(DECEITFUL, "");

export function h(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (typeof value === "function") node.addEventListener(name, value);
    else if (value === true) node.setAttribute(name, "");
    else if (value !== false && value != null) node.setAttribute(name, value);
  }
  node.append(...children.map((child) => (child instanceof Node ? child : document.createTextNode(clean(child)))));
  return node;
}

export function put(node, text) {
  const wanted = clean(text);
  if (node.textContent !== wanted) node.textContent = wanted; // an unchanged text keeps the reader's selection
  return node;
}

// Brings the children of `parent` in line with `items`. `make(item)` gives an element with an `update(item)`.
export function sync(parent, items, keyOf, make) {
  const known = new Map(Array.from(parent.children, (row) => [row.dataset.key, row]));
  const rows = items.map((item) => {
    const key = String(keyOf(item));
    const row = known.get(key) ?? make(item);
    row.dataset.key = key;
    row.update(item);
    return row;
  });
  if (rows.length === parent.children.length && rows.every((row, i) => row === parent.children[i])) return;
  const focused = document.activeElement;
  parent.replaceChildren(...rows);
  if (focused !== document.activeElement && parent.contains(focused)) focused.focus({ preventScroll: true });
}

export function badge(state, text = state) {
  const node = h("span");
  node.update = (newState, newText = newState) => {
    node.className = `badge is-${/^[a-z-]+$/.test(newState) ? newState : "unknown"}`;
    put(node, newText);
  };
  node.update(state, text);
  return node;
}

export function gauge() {
  const fill = h("span");
  const node = h("span", { class: "gauge", "aria-hidden": "true" }, fill);
  node.update = (part, whole) => { fill.style.width = `${whole > 0 ? Math.min(100, (100 * part) / whole) : 0}%`; };
  return node;
}

let noticeTimer;
export function notice(text) {
  clearTimeout(noticeTimer);
  put($("notice"), text);
  noticeTimer = setTimeout(() => put($("notice"), ""), 6000);
}

export function copyLine(text, label) {
  const code = h("code", {}, text);
  const button = h("button", { type: "button", class: "button small", "aria-label": `Copy: ${label}`, click: copy }, "Copy");
  async function copy() {
    try {
      await navigator.clipboard.writeText(text); // only where the page came by https, or from this machine
      put(button, "Copied");
      notice("Copied.");
      setTimeout(() => put(button, "Copy"), 2000);
    } catch {
      getSelection().selectAllChildren(code);
      notice("Selected: press Ctrl+C to copy.");
    }
  }
  return h("div", { class: "command" }, h("pre", { tabindex: "0" }, code), button);
}

export function bytes(count) {
  const units = ["B", "KB", "MB", "GB", "TB", "PB"];
  let size = count, unit = 0;
  while (size >= 1024 && unit < units.length - 1) { size /= 1024; unit += 1; }
  return `${size >= 100 || unit === 0 ? Math.round(size) : Number(size.toFixed(1))} ${units[unit]}`;
}

export const number = (value) => Number(value.toFixed(value < 10 ? 1 : 0)).toLocaleString("en");
export const many = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;

export function seconds(value) {
  if (value < 0.1) return "< 0.1 s";
  if (value < 10) return `${value.toFixed(1)} s`;
  const s = Math.round(value);
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

export function ago(instant, now) {
  const s = (now - Date.parse(instant)) / 1000;
  return s < 5 ? "just now" : `${seconds(s).split(" ").slice(0, 2).join(" ")} ago`;
}

export const local = (instant) => new Date(instant).toLocaleString();
