// Folders, files and archives that somebody dropped or chose. A folder or several files become a zip, made here.
export type Sent = { path: string; file: File };
/** What goes with the job. `archive`: sent as it is. */
export type Bundle = { files: Sent[]; left: Sent[]; archive: File | null };

const LEFT_OUT = new Set(
  "node_modules .git .hg .svn __pycache__ .venv venv .mypy_cache .pytest_cache .ruff_cache .tox .ipynb_checkpoints .DS_Store Thumbs.db .idea .vscode".split(
    " ",
  ),
);
const ARCHIVE = /\.(zip|tar|tgz|tar\.gz)$/i;

export const isLeftOut = (path: string): boolean => path.split("/").some((part) => LEFT_OUT.has(part));
/** Below the folder that was chosen. */
export const relativeTo = (path: string): string => path.slice(path.indexOf("/") + 1);
export const sizeOf = (files: Sent[]): number => files.reduce((sum, { file }) => sum + file.size, 0);

function bundleOf(all: Sent[]): Bundle | null {
  if (all.length === 0) return null;
  if (all.length === 1 && ARCHIVE.test(all[0]!.path)) return { files: [], left: [], archive: all[0]!.file };
  return {
    files: all.filter(({ path }) => !isLeftOut(path)),
    left: all.filter(({ path }) => isLeftOut(path)),
    archive: null,
  };
}

/** Of an input: with `webkitdirectory` the paths begin with the folder's name. */
export const chosen = (list: FileList): Bundle | null =>
  bundleOf(
    [...list].map((file) => ({
      file,
      path: file.webkitRelativePath ? relativeTo(file.webkitRelativePath) : file.name,
    })),
  );

export async function dropped(data: DataTransfer): Promise<Bundle | null> {
  const entries = [...data.items].map((item) => item.webkitGetAsEntry()).filter((entry) => entry !== null);
  const found: Sent[] = [];
  for (const entry of entries) await walk(entry, "", found);
  const isOneFolder = entries.length === 1 && entries[0]!.isDirectory;
  return bundleOf(isOneFolder ? found.map(({ path, file }) => ({ file, path: relativeTo(path) })) : found);
}

async function walk(entry: FileSystemEntry, above: string, found: Sent[]): Promise<void> {
  const path = above + entry.name;
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject));
    found.push({ path, file });
    return;
  }
  if (LEFT_OUT.has(entry.name)) {
    // Not walked through: it may have a hundred thousand files.
    found.push({ path, file: new File([], entry.name) });
    return;
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  for (;;) {
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject));
    if (some.length === 0) return;
    for (const child of some) await walk(child, `${path}/`, found);
  }
}

export async function packed(bundle: Bundle): Promise<Blob> {
  if (bundle.archive) return bundle.archive;
  const { downloadZip } = await import("client-zip");
  return downloadZip(
    bundle.files.map(({ path, file }) => ({ name: path, input: file, lastModified: file.lastModified })),
  ).blob();
}
