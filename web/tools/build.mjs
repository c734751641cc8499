// Builds the app: the browser's files, the landing page as HTML, licences, and compressed twins of everything that is text.
// `node tools/build.mjs FOLDER`. The folder is replaced as a whole when everything has been made.
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { brotliCompressSync, constants, gzipSync } from "node:zlib";
import { build } from "vite";

const web = fileURLToPath(new URL("..", import.meta.url));
const target = resolve(process.argv[2] ?? join(web, "dist"));
const work = mkdtempSync(join(web, ".build-"));
const out = join(work, "out");

/** Every package of which something is in the bundle, with its licence. */
function licences() {
  const packages = new Map();
  return {
    name: "licences",
    generateBundle() {
      for (const id of this.getModuleIds()) {
        const found = /^\0?(.*\/node_modules\/((?:@[^/]+\/)?[^/]+))\//.exec(id);
        if (found) packages.set(found[2], found[1]);
      }
      packages.set("tailwindcss", join(web, "node_modules/tailwindcss"));
      const texts = [...packages]
        .sort(([a], [b]) => (a < b ? -1 : 1))
        .map(([name, folder]) => {
          const { version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
          const file = readdirSync(folder).find((entry) => /^(licen[cs]e|copying|ofl)/i.test(entry));
          return `${name} ${version} (${license})\n\n${file ? readFileSync(join(folder, file), "utf8").trim() : "No licence text is packaged."}\n`;
        });
      this.emitFile({ type: "asset", fileName: "licences.txt", source: texts.join(`\n${"─".repeat(78)}\n\n`) });
    },
  };
}

/** The landing page shows before any script runs. Scripts then draw the same in its place. */
async function prerender() {
  await build({
    root: web,
    logLevel: "warn",
    build: {
      ssr: "src/app/prerender.tsx",
      outDir: join(work, "ssr"),
      copyPublicDir: false,
      rolldownOptions: { output: { entryFileNames: "prerender.mjs" } },
    },
    ssr: { noExternal: true },
  });
  const { prerender: render } = await import(pathToFileURL(join(work, "ssr/prerender.mjs")).href);
  const html = await render("/");
  if (/<script|<style|\sstyle=|\son[a-z]+=/.test(html))
    throw new Error("the landing page has inline styles or scripts, which the policy forbids");
  const manifest = JSON.parse(readFileSync(join(out, ".vite/manifest.json"), "utf8"));
  const assets = readdirSync(join(out, "assets"));
  const font = assets.find((name) => /^geist-latin-wght-normal.*\.woff2$/.test(name));
  const home = manifest["src/features/home/home-page.tsx"];
  const preloads = [home.file, ...(home.imports ?? []).map((key) => manifest[key].file)]
    .map((file) => `<link rel="modulepreload" crossorigin href="/${file}">`)
    .join("");
  const index = readFileSync(join(out, "index.html"), "utf8");
  const fontLink = `<link rel="preload" as="font" type="font/woff2" crossorigin href="/assets/${font}">`;
  const withFont = index.replace("<script src", `${fontLink}<script src`);
  writeFileSync(join(out, "index.html"), withFont);
  writeFileSync(
    join(out, "landing.html"),
    withFont
      .replace("<script src", `${preloads}<script src`)
      .replace('<div id="root"></div>', `<div id="root">${html}</div>`),
  );
}

/** Beside each text file its .br and .gz, so that the hub compresses nothing. */
function compress() {
  for (const name of readdirSync(out, { recursive: true })) {
    const file = join(out, name);
    if (!/\.(js|css|svg|json|txt)$/.test(name) || name.startsWith(".vite") || statSync(file).size < 1024) continue;
    const bytes = readFileSync(file);
    const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length };
    writeFileSync(`${file}.br`, brotliCompressSync(bytes, { params }));
    writeFileSync(`${file}.gz`, gzipSync(bytes, { level: 9 }));
  }
}

try {
  await build({ root: web, logLevel: "warn", plugins: [licences()], build: { outDir: out, emptyOutDir: true } });
  await prerender();
  compress();
  rmSync(target, { recursive: true, force: true });
  if (existsSync(dirname(target)) && statSync(dirname(target)).dev === statSync(out).dev) renameSync(out, target);
  else cpSync(out, target, { recursive: true });
} finally {
  rmSync(work, { recursive: true, force: true });
}
