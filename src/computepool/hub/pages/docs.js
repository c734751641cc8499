// The REST API, read from the hub's own OpenAPI document: routes by tag, and the shapes that they take and give.

import { $, h, put } from "./parts.js";

const METHODS = ["get", "head", "post", "put", "patch", "delete"];
const VISIBLE = {
  public: "anybody", own: "its owner", admin: "admins", node: "agents, by their key", signed: "holders of a signed URL",
};

// ── shapes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

const nameOf = (reference) => reference.split("/").pop();
const isNull = (shape) => shape.type === "null";

function joined(parts, between) {
  return parts.flatMap((part, i) => (i ? [between, ...part] : part));
}

// A shape in few words, as pieces of text and links.
function words(shape) {
  if (!shape || Object.keys(shape).length === 0) return ["anything"];
  if (shape.$ref) return [h("a", { href: `#schema-${nameOf(shape.$ref)}` }, nameOf(shape.$ref))];
  const choice = shape.anyOf ?? shape.oneOf ?? shape.allOf;
  if (choice) {
    const some = joined(choice.filter((one) => !isNull(one)).map(words), " or ");
    return choice.some(isNull) ? [...some, " or null"] : some;
  }
  if (shape.const !== undefined) return [JSON.stringify(shape.const)];
  if (shape.enum) return [shape.enum.map((value) => JSON.stringify(value)).join(" | ")];
  if (shape.type === "array") return ["list of ", ...words(shape.items)];
  if (shape.type === "object" && shape.additionalProperties) return ["object of ", ...words(shape.additionalProperties)];
  return [shape.format ?? shape.contentMediaType ?? shape.type ?? "anything"];
}

function limits(shape) {
  const parts = [shape, ...(shape.anyOf ?? [])];
  const found = (key) => parts.map((part) => part[key]).find((value) => value !== undefined);
  const known = [["minimum", "≥ "], ["maximum", "≤ "], ["minLength", "at least ", " characters"],
    ["maxLength", "at most ", " characters"], ["maxItems", "at most ", " items"], ["pattern", "matches "]];
  const texts = known.filter(([key]) => found(key) !== undefined)
    .map(([key, before, after = ""]) => `${before}${found(key)}${after}`);
  if (shape.default !== undefined && shape.default !== null) texts.push(`default ${JSON.stringify(shape.default)}`);
  return texts.join(", ");
}

function fieldTable(caption, fields) {
  const rows = fields.map(({ name, place, required, shape, about }) => h("tr", {},
    h("td", { class: "field" }, h("code", {}, name),
      required ? h("span", { class: "must", title: "required" }, "*") : ""),
    h("td", {}, ...words(shape), place ? h("span", { class: "muted" }, ` in ${place}`) : ""),
    h("td", { class: "muted" }, [limits(shape ?? {}), about].filter(Boolean).join(". "))));
  return h("table", { class: "fields" }, h("caption", {}, caption), h("tbody", {}, ...rows));
}

// ── routes ─────────────────────────────────────────────────────────────────────────────────────────────────────────

function bodies(content) {
  return Object.entries(content ?? {}).map(([type, { schema }]) => (
    h("p", {}, ...words(schema), h("span", { class: "muted" }, ` as ${type}`))));
}

function answers(responses, shared) {
  return Object.entries(responses ?? {}).map(([code, told]) => {
    const { description, content, ...more } = told.$ref ? shared[nameOf(told.$ref)] : told;
    const found = more["x-codes"] ? [] : bodies(content);
    return h("div", { class: "answer" }, h("code", {}, code),
      h("div", {}, ...(found.length ? found : [h("p", { class: "muted" }, ...prose(description))])));
  });
}

// What stands between backticks is code.
const prose = (text) => text.split("`").map((part, i) => (i % 2 ? h("code", {}, part) : part));

// The first sentence says more than a name made from the handler's.
const aboutOf = (route) => (route.description ?? route.summary ?? "").split(/(?<=[.:])\s/)[0].replace(/[.:]$/, "");

function makeRoute(method, path, route, shared) {
  const who = route["x-scope"] ?? route["x-visible"] ?? "";
  const visible = VISIBLE[route["x-visible"]] ?? route["x-visible"] ?? "";
  const parts = [];
  if (route.description) parts.push(h("p", {}, ...prose(route.description)));
  parts.push(h("p", { class: "muted" }, `For ${visible}`,
    ...(route["x-scope"] ? [", with the scope ", h("code", {}, route["x-scope"])] : []), "."));
  const parameters = (route.parameters ?? []).map((one) => (
    { name: one.name, place: one.in, required: one.required, shape: one.schema, about: one.description }));
  if (parameters.length) parts.push(fieldTable("Parameters", parameters));
  if (route.requestBody) parts.push(h("h4", {}, "Body"), ...bodies(route.requestBody.content));
  parts.push(h("h4", {}, "Answers"), ...answers(route.responses, shared));
  const node = h("details", { class: "route", id: `${method}-${path}` },
    h("summary", {}, h("span", { class: `method is-${method}` }, method.toUpperCase()),
      h("code", { class: "path" }, path),
      h("span", { class: "about" }, ...prose(aboutOf(route))), h("span", { class: "badge scope" }, who)),
    h("div", { class: "inside" }, ...parts));
  node.searched = [method, path, route.summary, route.description, who].join(" ").toLowerCase();
  return node;
}

function makeSchema([name, schema]) {
  const required = new Set(schema.required ?? []);
  const fields = Object.entries(schema.properties ?? {}).map(([field, shape]) => (
    { name: field, required: required.has(field), shape, about: shape.description }));
  const about = schema.description ? [h("p", {}, ...prose(schema.description))] : [];
  const inside = fields.length ? fieldTable("Fields", fields) : h("p", {}, ...words(schema));
  const node = h("details", { class: "route", id: `schema-${name}` },
    h("summary", {}, h("code", { class: "path" }, name)), h("div", { class: "inside" }, ...about, inside));
  node.searched = `${name} ${schema.description ?? ""}`.toLowerCase();
  return node;
}

function show(api) {
  put($("version"), api.info.version);
  const tags = new Map();
  for (const [path, methods] of Object.entries(api.paths)) {
    for (const method of METHODS.filter((one) => methods[one])) {
      const tag = methods[method].tags?.[0] ?? "other";
      tags.set(tag, [...(tags.get(tag) ?? []), makeRoute(method, path, methods[method], api.components.responses)]);
    }
  }
  $("routes").replaceChildren(...Array.from(tags, ([tag, routes]) => h("section", { "aria-label": tag },
    h("h2", {}, tag), h("div", { class: "card flush" }, ...routes))));
  const schemas = Object.entries(api.components?.schemas ?? {})
    .sort(([a], [b]) => a.localeCompare(b));
  $("schema-list").replaceChildren(...schemas.map(makeSchema));
  $("schemas").hidden = schemas.length === 0;
  $("document").replaceChildren(h("a", { href: "/openapi.json" }, "openapi.json"));
}

// ── finding ────────────────────────────────────────────────────────────────────────────────────────────────────────

function filter() {
  const wanted = $("filter").value.toLowerCase().split(/\s+/).filter(Boolean);
  const sections = [...$("routes").children, $("schemas")];
  for (const section of sections) {
    const found = [...section.querySelectorAll(".route")];
    for (const one of found) one.hidden = !wanted.every((word) => one.searched.includes(word));
    section.hidden = found.every((one) => one.hidden);
  }
  put($("problem"), sections.every((section) => section.hidden) ? "Nothing has all of these words." : "");
}

function openNamed() {
  const named = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (!(named instanceof HTMLDetailsElement)) return;
  if (named.hidden) { // a link to a shape that the search has put away
    $("filter").value = "";
    filter();
  }
  named.open = true;
  named.scrollIntoView({ block: "start" });
}

$("filter").addEventListener("input", filter);
$("filter-form").addEventListener("submit", (event) => event.preventDefault());
addEventListener("hashchange", openNamed);

try {
  const answer = await fetch("/openapi.json");
  if (!answer.ok) throw new Error(`the hub answered ${answer.status}`);
  show(await answer.json());
  openNamed();
} catch (error) {
  put($("problem"), `The API's description could not be read: ${error.message}. Reload the page to try again.`);
}
