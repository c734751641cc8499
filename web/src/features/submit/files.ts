// Folders, files and archives that somebody dropped or chose. A folder or several files become a zip, made here, of what
// .gitignore and .computepoolignore leave in: the same files that the command line takes.
import { byteString, isIgnored, parseRules, type Rules } from "./ignore";

export type Sent = { path: string; file: File };
/** What goes with the job. `left`: what does not; a folder's path ends with a slash. `archive`: sent as it is. */
export type Bundle = { files: Sent[]; left: string[]; archive: File | null };

/** Lies in folders that `computepool get` made: results of one job are not sent along with the next. */
const RESULTS_MARK = ".computepool-results";
const NEVER_SENT = new Set([".git", ".computepool", RESULTS_MARK]);
/** Left out unless a rule takes them back, as in `!node_modules/`. */
const DEFAULTS = parseRules(
  "node_modules/ .hg/ .svn/ __pycache__/ .venv/ venv/ .mypy_cache/ .pytest_cache/ .ruff_cache/ .tox/ .ipynb_checkpoints/ .idea/ .vscode/ .DS_Store Thumbs.db".replaceAll(
    " ",
    "\n",
  ),
);
const ARCHIVE = /\.(zip|tar|tgz|tar\.gz)$/i;

export const sizeOf = (files: Sent[]): number => files.reduce((sum, { file }) => sum + file.size, 0);

type Item = { name: string; file: () => Promise<File> } | { name: string; items: () => Promise<Item[]> };

/** Of an input. With `webkitdirectory` the paths begin with the name of the folder, whose files are sent. */
export const chosen = (list: FileList | File[]): Promise<Bundle | null> => {
  const top: Item[] = [];
  const folders = new Map<string, Item[]>([["", top]]);
  const folder = (path: string): Item[] => {
    const known = folders.get(path);
    if (known) return known;
    const items: Item[] = [];
    const cut = path.lastIndexOf("/");
    folders.set(path, items);
    folder(path.slice(0, Math.max(0, cut))).push({ name: path.slice(cut + 1), items: async () => items });
    return items;
  };
  for (const file of list) {
    const path = file.webkitRelativePath.slice(file.webkitRelativePath.indexOf("/") + 1) || file.name;
    folder(path.slice(0, Math.max(0, path.lastIndexOf("/")))).push({ name: file.name, file: async () => file });
  }
  return bundleOf(top);
};

/** Of something dropped: one folder, whose files are sent, or several files and folders. */
export async function dropped(data: DataTransfer): Promise<Bundle | null> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const items = entries.map(itemOf);
  const only = items.length === 1 ? items[0] : undefined;
  return bundleOf(only && "items" in only ? await only.items() : items);
}

function itemOf(entry: FileSystemEntry): Item {
  const { name } = entry;
  if (entry.isFile)
    return { name, file: () => new Promise((done, failed) => (entry as FileSystemFileEntry).file(done, failed)) };
  return {
    name,
    items: async () => {
      const reader = (entry as FileSystemDirectoryEntry).createReader();
      const all: FileSystemEntry[] = [];
      for (;;) {
        const some = await new Promise<FileSystemEntry[]>((done, failed) => reader.readEntries(done, failed));
        if (some.length === 0) return all.map(itemOf);
        all.push(...some);
      }
    },
  };
}

async function bundleOf(items: Item[]): Promise<Bundle | null> {
  const only = items.length === 1 ? items[0]! : null;
  if (only && "file" in only && ARCHIVE.test(only.name)) return { files: [], left: [], archive: await only.file() };
  const bundle: Bundle = { files: [], left: [], archive: null };
  await walk(items, "", [], [], bundle);
  return bundle.files.length + bundle.left.length === 0 ? null : bundle;
}

/** From the top down. A folder that is left out is not opened: it may have a hundred thousand files. */
async function walk(items: Item[], above: string, git: Rules[], pool: Rules[], bundle: Bundle): Promise<void> {
  const gitRules = await withOwn(git, items, ".gitignore", above);
  const poolRules = await withOwn(pool, items, ".computepoolignore", above);
  for (const item of items) {
    const path = above + item.name;
    const isFolder = "items" in item;
    if (NEVER_SENT.has(item.name) || isIgnored([DEFAULTS, ...gitRules, ...poolRules], path, isFolder))
      bundle.left.push(isFolder ? `${path}/` : path);
    else if (isFolder) {
      const below = await item.items();
      if (below.some(({ name }) => name === RESULTS_MARK)) bundle.left.push(`${path}/`);
      else await walk(below, `${path}/`, gitRules, poolRules, bundle);
    } else bundle.files.push({ path, file: await item.file() });
  }
}

async function withOwn(rules: Rules[], items: Item[], name: string, base: string): Promise<Rules[]> {
  const item = items.find((one) => one.name === name);
  if (!item || !("file" in item)) return rules;
  const file = await item.file();
  return [...rules, parseRules(byteString(new Uint8Array(await file.arrayBuffer())), base)];
}

export async function packed(bundle: Bundle): Promise<Blob> {
  if (bundle.archive) return bundle.archive;
  const { downloadZip } = await import("client-zip");
  return downloadZip(
    bundle.files.map(({ path, file }) => ({ name: path, input: file, lastModified: file.lastModified })),
  ).blob();
}
