import { expect, test } from "vitest";
import { runText } from "./draft";

test("a program with its arguments is shown as a shell reads the same", () => {
  expect(runText(["python3", "-c", "print('it works')"])).toBe(`python3 -c 'print('\\''it works'\\'')'`);
  expect(runText(["true"])).toBe("true");
  expect(runText("echo $HOME")).toBe("echo $HOME");
});
