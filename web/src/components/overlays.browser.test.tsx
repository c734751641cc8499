import { expect, test } from "vitest";
import { userEvent } from "vitest/browser";
import { render } from "vitest-browser-react";
import { Button } from "./button";
import { Confirm, Dialog } from "./dialog";
import { Menu, MenuItem, MenuLine } from "./menu";

test("a menu opens by key with its first item, and gives the focus back", async () => {
  const chosen: string[] = [];
  const screen = await render(
    <Menu trigger={<Button>More</Button>}>
      <MenuItem onClick={() => chosen.push("dispute")}>Dispute</MenuItem>
      <MenuLine />
      <MenuItem onClick={() => chosen.push("remove")}>Remove</MenuItem>
    </Menu>,
  );
  const button = screen.getByRole("button", { name: "More" });
  (button.element() as HTMLElement).focus();
  await userEvent.keyboard("{Enter}");
  await expect.element(screen.getByRole("menu", { name: "More" })).toBeVisible();
  await expect.element(screen.getByRole("menuitem", { name: "Dispute" })).toHaveFocus();
  await userEvent.keyboard("{ArrowDown}{Enter}");
  await expect.element(screen.getByRole("menu")).not.toBeInTheDocument();
  expect(chosen).toEqual(["remove"]);
  await expect.element(button).toHaveFocus();
});

test("a menu opens by pointer, and closes with Escape or a press on its button", async () => {
  const screen = await render(
    <Menu trigger={<Button>More</Button>}>
      <MenuItem>Dispute</MenuItem>
    </Menu>,
  );
  const button = screen.getByText("More");
  await button.click();
  await expect.element(screen.getByRole("menuitem")).toBeVisible();
  expect(button.element().getAttribute("aria-expanded")).toBe("true");
  await userEvent.keyboard("{Escape}");
  await expect.element(screen.getByRole("menu")).not.toBeInTheDocument();
  await button.click();
  await expect.element(screen.getByRole("menuitem")).toBeVisible();
  await button.click({ force: true });
  await expect.element(screen.getByRole("menu")).not.toBeInTheDocument();
});

test("a dialog opens from its button and gives the focus back", async () => {
  const screen = await render(
    <Dialog trigger={<Button>Open</Button>} title="Redeem">
      <input aria-label="Code" />
    </Dialog>,
  );
  await screen.getByRole("button", { name: "Open" }).click();
  await expect.element(screen.getByRole("dialog", { name: "Redeem" })).toBeVisible();
  await userEvent.keyboard("{Escape}");
  await expect.element(screen.getByRole("dialog")).not.toBeInTheDocument();
  await expect.element(screen.getByRole("button", { name: "Open" })).toHaveFocus();
});

test("a question stays open and says why when its action failed", async () => {
  let tries = 0;
  const run = () => (tries++ === 0 ? Promise.reject(new Error("The hub is busy")) : Promise.resolve());
  const screen = await render(<Confirm trigger={<Button>Cancel</Button>} title="Sure?" action="Go" run={run} />);
  await screen.getByRole("button", { name: "Cancel" }).click();
  const question = screen.getByRole("alertdialog", { name: "Sure?" });
  // Without the app's styles the backdrop lies above the question: no pointer reaches it.
  const go = () => (question.getByRole("button", { name: "Go" }).element() as HTMLElement).click();
  await expect.element(question).toBeVisible();
  go();
  await expect.element(question.getByText("The hub is busy")).toBeVisible();
  go();
  await expect.element(screen.getByRole("alertdialog")).not.toBeInTheDocument();
  await expect.element(screen.getByRole("button", { name: "Cancel" })).toHaveFocus();
});
