import { expect, test } from "vitest";
import { readValue, shownValue } from "./setting-value";

test("values are shown with their units, and read as their types", () => {
  const integer = { type: "integer", unit: "bytes", optional: true } as const;
  expect(shownValue(5 * 1024 ** 3, integer)).toBe("5 GB");
  expect(shownValue(null, integer)).toBe("none");
  expect(shownValue(90, { type: "number", unit: "seconds" })).toBe("1 min 30 s");
  expect(shownValue(1500, { type: "integer", unit: "slices" })).toBe("1,500 slices");
  expect(shownValue(1500, { type: "integer", unit: "hundredths of a percent" })).toBe("1,500 (15 %)");
  expect(shownValue(true, { type: "boolean", unit: null })).toBe("On");
  expect(readValue("", integer)).toBe(null);
  expect(readValue("12", integer)).toBe(12);
  expect(readValue("twelve", integer)).toBe("twelve");
  expect(readValue("", { type: "integer", optional: false })).toBe("");
  expect(readValue("0.10", { type: "decimal", optional: false })).toBe("0.10");
  expect(readValue("false", { type: "boolean", optional: false })).toBe(false);
});
