// Types of the API, made from the hub's own documents. `--check` only tells whether they are up to date.
import { createHash } from "node:crypto";
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import openapi, { astToString } from "openapi-typescript";

const place = (path) => fileURLToPath(new URL(path, import.meta.url));
const SNAPSHOTS = "../../tests/snapshots";

/** The messages of event streams are JSON Schemas, one for each message. Each becomes a component, each group a union. */
function asDocument({ version: _, ...groups }) {
  const schemas = {};
  const unions = { events: "PoolEvent", from_hub: "FromHub", from_reader: "FromReader" };
  for (const [group, messages] of Object.entries(groups)) {
    for (const [name, { $defs, ...schema }] of Object.entries(messages))
      Object.assign(schemas, $defs, { [name]: schema });
    schemas[unions[group]] = { anyOf: Object.keys(messages).map((name) => ({ $ref: `#/components/schemas/${name}` })) };
  }
  return { openapi: "3.1.0", info: { title: "events", version: "1" }, paths: {}, components: { schemas } };
}
const rewire = (text) => text.replaceAll("#/$defs/", "#/components/schemas/");

const made = [
  { from: `${SNAPSHOTS}/openapi.json`, to: "../src/api/schema.d.ts", read: (text) => JSON.parse(text) },
  {
    from: `${SNAPSHOTS}/event-messages.json`,
    to: "../src/api/events.d.ts",
    read: (text) => asDocument(JSON.parse(rewire(text))),
  },
];
let stale = false;
for (const { from, to, read } of made) {
  const source = readFileSync(place(from), "utf8");
  const digest = createHash("sha256").update(source).digest("hex");
  const types = astToString(await openapi(read(source), { defaultNonNullable: false }));
  const text = `// Made by \`npm run api\` from ${from.replace("../../", "")}, sha256 ${digest}. Do not edit.\n${types}`;
  if (!process.argv.includes("--check")) writeFileSync(place(to), text);
  else if (readFileSync(place(to), "utf8") !== text) {
    stale = true;
    console.error(`web${to.slice(2)} is not what ${from} says: run \`npm run api\` in web/`);
  }
}
process.exit(stale ? 1 : 0);
