import {
  cloneElement,
  type KeyboardEvent,
  type MouseEvent,
  type ReactElement,
  type ReactNode,
  Suspense,
  useContext,
  useId,
  useState,
} from "react";
import { type ItemProps, MenuParts } from "./menu-parts";
import { onDemand } from "./on-demand";

// The list, with Base UI and what positions it, is 50 kB: it comes with the first menu that is opened.
const [Popup, intent] = onDemand(() => import("./menu-popup"));

/** A list of actions behind a button. */
export function Menu({ trigger, children }: { trigger: ReactElement<Record<string, unknown>>; children: ReactNode }) {
  const id = useId();
  const [anchor, setAnchor] = useState<HTMLElement | null>(null);
  const [open, setOpen] = useState(false);
  const [byKeyboard, setByKeyboard] = useState(false);
  const show = (button: HTMLElement, keyboard: boolean) => {
    setAnchor(button);
    setByKeyboard(keyboard);
    setOpen(true);
  };
  return (
    <>
      {cloneElement(trigger, {
        id,
        "aria-haspopup": "menu",
        "aria-expanded": open,
        ...intent,
        // A press with Enter or the space bar is a click without a pointer.
        onClick: (event: MouseEvent<HTMLElement>) => show(event.currentTarget, event.detail === 0),
        onKeyDown: (event: KeyboardEvent<HTMLElement>) => {
          if (event.key !== "ArrowDown") return;
          event.preventDefault();
          show(event.currentTarget, true);
        },
      })}
      {anchor && (
        <Suspense>
          <Popup labelledBy={id} anchor={anchor} open={open} onOpenChange={setOpen} byKeyboard={byKeyboard}>
            {children}
          </Popup>
        </Suspense>
      )}
    </>
  );
}

/** `link`: an element such as `<Link to="/account" />`; else `onClick`. */
export function MenuItem(props: ItemProps) {
  const { Item } = useContext(MenuParts)!;
  return <Item {...props} />;
}
export function MenuLine() {
  const { Line } = useContext(MenuParts)!;
  return <Line />;
}
export const MenuNote = ({ children }: { children: ReactNode }) => (
  <div className="px-2.5 py-1.5 text-sm text-muted">{children}</div>
);
