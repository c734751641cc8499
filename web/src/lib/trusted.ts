// The page's policy forbids to make scripts of strings. This is the only exception, and it takes only the hub's own files.
// A worker: `import url from "./x.worker.ts?worker&url"`, then `new Worker(ownScript(url), { type: "module" })`.
type Policy = { createScriptURL: (url: string) => string };
type Types = { createPolicy: (name: string, rules: Policy) => Policy };
const own = (url: string) => {
  if (new URL(url, location.href).origin !== location.origin) throw new TypeError(`not a file of this hub: ${url}`);
  return url;
};
const types = (globalThis as { trustedTypes?: Types }).trustedTypes;
const policy = types?.createPolicy("computepool", { createScriptURL: own });
export const ownScript = (url: string): string => policy?.createScriptURL(url) ?? own(url);
