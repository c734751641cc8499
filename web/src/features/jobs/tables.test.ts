import { expect, test } from "vitest";
import { indicesOf } from "./slice-grid";
import { cellsOf, rowsOf } from "./tables";

test("CSV is read as people write it, up to a number of rows", () => {
  expect(rowsOf('a,"b, c"\r\n1,"say ""hi""\nthere"\n,', ",", 10)).toEqual([
    ["a", "b, c"],
    ["1", 'say "hi"\nthere'],
    ["", ""],
  ]);
  expect(rowsOf("a\nb\nc\n", ",", 2)).toEqual([["a"], ["b"]]);
  expect(rowsOf('"never closed, ', ",", 5)).toEqual([["never closed, "]]);
});

test("a notebook is its sources and what they printed; anything else is none", () => {
  const cells = [
    { cell_type: "markdown", source: ["# A\n", "b"] },
    { cell_type: "code", source: "1", outputs: [{ text: ["x"] }, { data: { "text/html": "<b>", "text/plain": "2" } }] },
    null,
  ];
  expect(cellsOf(JSON.stringify({ cells }))).toEqual([
    { isCode: false, source: "# A\nb", output: "" },
    { isCode: true, source: "1", output: "x\n2" },
    { isCode: false, source: "", output: "" },
  ]);
  for (const other of ["", "{", "[]", "null", '{"cells": 3}']) expect(cellsOf(other)).toBeNull();
});

test("slices of a retry keep their numbers", () => {
  expect(indicesOf("0-2, 17", 4)).toEqual([0, 1, 2, 17]);
  expect(indicesOf(null, 3)).toEqual([0, 1, 2]);
});
