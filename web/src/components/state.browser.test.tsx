import { expect, test } from "vitest";
import { render } from "vitest-browser-react";
import { State } from "./state";

test("a state is told by its word, not by its colour alone", async () => {
  const screen = await render(<State of="requires_action" />);
  await expect.element(screen.getByText("Requires action")).toBeVisible();
});
