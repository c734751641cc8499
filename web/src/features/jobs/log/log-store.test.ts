import { expect, test } from "vitest";
import { LogStore } from "./log-store";

const bytes = (text: string) => new TextEncoder().encode(text);
const texts = (store: LogStore) => store.rows(0, 99).map((row) => row.runs.map((run) => run.text).join(""));

test("however a log is cut into pieces, its lines are the same", () => {
  const whole = bytes(
    "a\x1b[31mred\nstill \x1b[0mred\r\n 10%\r 50%\r100%\nÜ\x1b]8;;javascript:alert(1)\x07link\x1b]8;;\x07 end",
  );
  const expected = ["ared", "still red", "100%", "Ülink end"];
  for (let size = 1; size <= whole.length; size++) {
    const store = new LogStore();
    for (let at = 0; at < whole.length; at += size) store.append(whole.subarray(at, at + size));
    expect(texts(store)).toEqual(expected);
    expect(store.rows(1, 1)[0]!.runs.map((run) => run.style)).toEqual([1, 0]); // the colour goes on into the next line
  }
});

test("a search finds what is shown, across colours, and not what was overwritten", () => {
  const store = new LogStore();
  store.append(bytes("one \x1b[1mtw\x1b[0mo\nhidden\rshown\nTwo\n"));
  expect([...store.search("two", false)].flat()).toEqual([0, 2]);
  expect([...store.search("hidden", true)].flat()).toEqual([]);
});
