import { expect, test } from "vitest";
import { bytes, plural } from "./amounts";
import { credits, parseCredits } from "./money";
import { parseSearch, stringifySearch } from "./search";
import { shown } from "./shown";
import { clock, duration, relative } from "./time";
import { programOf } from "./user-agent";

test("credits are exact at any size and never floats", () => {
  expect(credits(27_400_000)).toBe("27.40");
  expect(credits(9_007_199_254_740_993n)).toBe("9,007,199,254.74");
  expect(credits(-1_005_000)).toBe("−1.01");
  expect(credits(1200)).toBe("0.0012");
  expect(credits(0)).toBe("0.00");
  expect(credits(99_999_999, 0)).toBe("100");
});

test("an amount that somebody typed is read exactly or not at all", () => {
  expect(parseCredits("12.5")).toBe(12_500_000n);
  expect(parseCredits(" 0,000001 ")).toBe(1n);
  for (const wrong of ["", "1e3", "-1", "1.2345678", "12 34", "0x10"]) expect(parseCredits(wrong)).toBeNull();
});

test("times are short, and durations have two units at most", () => {
  expect(duration(521)).toBe("8 min 41 s");
  expect(duration(7200)).toBe("2 h");
  expect(duration(0.93)).toBe("0.9 s");
  const now = Date.parse("2026-05-05T12:00:00Z");
  expect(relative("2026-05-05T11:57:00Z", now)).toBe("3 min ago");
  expect(relative("2026-05-07T12:00:00Z", now)).toBe("in 2 d");
  expect(clock("2020-02-02T12:00:00Z", now)).toContain("2020");
});

test("the address carries plain words and leaves out what is empty", () => {
  expect(stringifySearch({ q: "a b&c", state: "", page: undefined })).toBe("?q=a+b%26c");
  expect(parseSearch("?q=a+b%26c&live=1")).toEqual({ q: "a b&c", live: "1" });
  expect(stringifySearch({})).toBe("");
});

test("browsers are told in few words, programs as they call themselves", () => {
  const chrome =
    "Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/156.0.0.0 Safari/537.36";
  expect(programOf(chrome)).toBe("Chrome 156 on Linux");
  expect(programOf(`${chrome} Edg/156.0`)).toBe("Edge 156 on Linux");
  expect(programOf("computepool/0.1.0 Firefox/1")).toBe("computepool/0.1.0 Firefox/1");
});

test("amounts", () => {
  expect(bytes(24 * 1024 ** 3)).toBe("24 GB");
  expect(plural(1, "node", "nodes")).toBe("1 node");
  expect(shown("👨‍👩‍👧 é नमस्ते")).toBe("👨‍👩‍👧 é नमस्ते");
});
