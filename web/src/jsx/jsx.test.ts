import { expect, test } from "vitest";
import { visible } from "./jsx-runtime";

test("deceitful characters are made visible in texts and in what is read aloud", () => {
  expect(visible({ children: "evil\u202ecod.exe" }).children).toBe("evil⟨202E⟩cod.exe");
  expect(visible({ children: ["a\u0000", 1, "b"] }).children).toEqual(["a⟨0000⟩", 1, "b"]);
  expect(visible({ "aria-label": "\u200bname" })["aria-label"]).toBe("⟨200B⟩name");
});

test("other properties and ordinary texts are the same objects as before", () => {
  const props = { value: "a\u202eb", children: "Grüße, 東京 👋\n\t" };
  expect(visible(props)).toBe(props);
});
