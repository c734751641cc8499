import { expect, test } from "vitest";
import { factor, readFactor, readRows, rowsOf } from "./table-values";

test("factors are exact both ways", () => {
  for (const millis of [0, 1, 50, 999, 1000, 1250, 12_345]) expect(readFactor(factor(millis))).toBe(millis);
  expect(factor(1250)).toBe("1.25");
  expect(factor(10_000)).toBe("10");
  expect(() => readFactor("much")).toThrow("much");
});

test("every table comes back as it was", () => {
  const tiers = { cards: { "rtx-4090": 1000, "h100-80gb": 2750 }, cpu_millis: 80 };
  const regions = { items: [{ name: "eu", factor_millis: 1100, countries: ["DE", "FR"] }] };
  const rates = { base_micros: 250_000, preemptible_percent: 60, spot_least_millis: 800, spot_most_millis: 2000 };
  expect(readRows("tiers", rowsOf("tiers", tiers))).toEqual(tiers);
  expect(readRows("regions", rowsOf("regions", regions))).toEqual(regions);
  expect(readRows("rates", rowsOf("rates", rates))).toEqual(rates);
});
