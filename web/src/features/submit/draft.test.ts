import { expect, test } from "vitest";
import { asPython, EMPTY, fromWire, isSimulated, parseEnv, pythonOf, simulated, toSpec, withField } from "./draft";

test("a canonical spec becomes a form and the same spec again, without defaults that nobody wrote", () => {
  const draft = fromWire({
    run: "echo",
    slices: 1,
    priority: 0,
    retries: 2,
    optimize: "balanced",
    max_runtime: "1h",
    resources: { cpus: "4", memory: "16GB..", disk: "1GB..8GB", gpu: { count: 2, memory: "24GB.." } },
    where: { trust: "any", country: ["DE"] },
  });
  expect(toSpec(draft)).toEqual({
    run: "echo",
    retries: 2,
    max_runtime: "1h",
    resources: { cpus: "4", memory: "16GB..", disk: "1GB..8GB", gpu: { count: 2, memory: "24GB.." } },
    where: { country: ["DE"] },
  });
});

test("a suggestion changes one field, and null leaves it out", () => {
  const draft = withField(withField(EMPTY, "where.country", ["DE"]), "resources.cpus", 2);
  expect(toSpec(draft)).toEqual({ where: { country: ["DE"] }, resources: { cpus: "2" } });
  expect(toSpec(withField(draft, "where.country", null))).toEqual({ resources: { cpus: "2" } });
  expect(toSpec(withField(EMPTY, "network", false))).toEqual({});
  expect(isSimulated(simulated(EMPTY, true))).toBe(true);
});

test("scripts and variables survive the way to a spec and back", () => {
  expect(pythonOf(asPython("print(1)\nprint(2)"))).toBe("print(1)\nprint(2)");
  expect(pythonOf("echo")).toBeNull();
  expect(parseEnv("A=1\n\nB=x=y\nC")).toEqual({ A: "1", B: "x=y", C: "" });
});
