import { useState } from "react";
import { expect, test } from "vitest";
import { render } from "vitest-browser-react";
import { DropZone } from "./drop-zone";
import type { Bundle } from "./files";

function Zone() {
  const [bundle, setBundle] = useState<Bundle | null>(null);
  return <DropZone bundle={bundle} kept={null} onChange={setBundle} />;
}

test("the page says how many files of a folder its .gitignore leaves out", async () => {
  const screen = await render(<Zone />);
  const list = new DataTransfer();
  for (const [path, text] of [
    ["project/train.py", "print(1)"],
    ["project/.gitignore", "*.log\n/data"],
    ["project/a.log", "x".repeat(1000)],
    ["project/data/large.bin", "x".repeat(5000)],
  ] as const) {
    const file = new File([text], path.slice(path.lastIndexOf("/") + 1));
    list.items.add(Object.defineProperty(file, "webkitRelativePath", { value: path }));
  }
  const field = document.querySelector<HTMLInputElement>("input[webkitdirectory]")!;
  // The browser's own list would lose the paths that only a person's choice gives to its files.
  Object.defineProperty(field, "files", { value: list.files });
  field.dispatchEvent(new Event("change", { bubbles: true }));
  await expect.element(screen.getByText("2 files, 19 B")).toBeVisible();
  await expect.element(screen.getByText("2 files and folders left out: a.log, data/")).toBeVisible();
});
