import { expect, test } from "vitest";
import { chosen, dropped } from "./files";
import { isIgnored, parseRules } from "./ignore";

function inFolder(path: string, text = ""): File {
  const file = new File([text], path.slice(path.lastIndexOf("/") + 1));
  return Object.defineProperty(file, "webkitRelativePath", { value: path });
}
const byteText = (text: string) => String.fromCharCode(...new TextEncoder().encode(text));

test.each([
  ["*.log", ["a.log", "logs/b.log"], ["a.log.txt"]],
  ["/build", ["build"], ["docs/build"]],
  ["docs/build", ["docs/build"], ["x/docs/build"]],
  ["*.log\n!keep.log", ["a.log"], ["keep.log"]],
  ["**/out", ["out", "a/b/out"], ["outer"]],
  ["src/**/*.py", ["src/a.py", "src/deep/er/a.py"], ["a.py", "src/a.txt"]],
  ["src/*.py", ["src/a.py"], ["src/deep/a.py"]],
  ["foo.[!c]", ["foo.h"], ["foo.c"]],
  ["[[:digit:]].txt", ["9.txt"], ["x.txt"]],
  ["t??st", ["tést"], ["test"]],
  ["\\!odd\n\\#odd\n# x", ["!odd", "#odd"], ["odd", "x"]],
  ["x   \ntrail\\ ", ["x", "trail "], ["trail"]],
  ["foo.[c\n[[:nonsense:]]\nx\\", [], ["foo.[c", "foo.c", "x"]],
  ["a.log\r\nb.log\r\n", ["a.log", "b.log"], ["c.log"]],
])("rules %j are matched as git matches them", (rules, ignored, kept) => {
  const layers = [parseRules(byteText(rules))];
  expect(ignored.filter((path) => !isIgnored(layers, path, false))).toEqual([]);
  expect(kept.filter((path) => isIgnored(layers, path, false))).toEqual([]);
});

test("a chosen folder is sent without what its rule files name", async () => {
  const bundle = await chosen([
    inFolder("project/train.py"),
    inFolder("project/.gitignore", "data/\n*.log\n!keep.log\n"),
    inFolder("project/run.log"),
    inFolder("project/keep.log"),
    inFolder("project/data/large.bin"),
    inFolder("project/data/deep/larger.bin"),
    inFolder("project/.git/config"),
    inFolder("project/node_modules/a/index.js"),
    inFolder("project/src/data"),
    inFolder("project/src/.gitignore", "/secret\n"),
    inFolder("project/src/secret"),
    inFolder("project/src/deep/secret"),
    inFolder("project/src/.computepoolignore", "!secret\n"),
  ]);
  expect(bundle?.files.map(({ path }) => path)).toEqual([
    "train.py",
    ".gitignore",
    "keep.log",
    "src/data",
    "src/.gitignore",
    "src/secret",
    "src/deep/secret",
    "src/.computepoolignore",
  ]);
  expect(bundle?.left).toEqual(["run.log", "data/", ".git/", "node_modules/"]);
});

test("one archive is sent as it is, and no files are no bundle", async () => {
  const archive = inFolder("", "PK");
  Object.defineProperty(archive, "name", { value: "code.tar.gz" });
  expect(await chosen([archive])).toEqual({ files: [], left: [], archive });
  expect(await chosen([])).toBeNull();
});

test("a dropped folder is walked without opening what its rules name", async () => {
  const opened: string[] = [];
  const file = (name: string, text = "") => ({
    name,
    isFile: true,
    file: (done: (file: File) => void) => done(new File([text], name)),
  });
  const folder = (name: string, entries: object[]) => ({
    name,
    isFile: false,
    createReader: () => {
      opened.push(name);
      const rest = [entries, []];
      return { readEntries: (done: (some: object[]) => void) => done(rest.shift()!) };
    },
  });
  const project = folder("project", [
    folder("checkpoints", [file("large.pt")]),
    file(".gitignore", "checkpoints/\n"),
    folder("src", [file("train.py")]),
  ]);
  const data = { items: [{ webkitGetAsEntry: () => project }] } as unknown as DataTransfer;
  const bundle = await dropped(data);
  expect(bundle?.files.map(({ path }) => path)).toEqual([".gitignore", "src/train.py"]);
  expect(bundle?.left).toEqual(["checkpoints/"]);
  expect(opened).toEqual(["project", "src"]);
});
