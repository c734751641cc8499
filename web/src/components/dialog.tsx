import { cloneElement, type MouseEvent, type ReactElement, type ReactNode, Suspense, useRef, useState } from "react";
import { onDemand } from "./on-demand";

// Base UI's dialogs are 25 kB: they come with the first one that is opened.
const [Window, intent] = onDemand(() => import("./dialog-window"));
const [Question] = onDemand(() => import("./dialog-question"));

type Trigger = ReactElement<Record<string, unknown>>;
type Props = {
  trigger?: Trigger;
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
  title: string;
  about?: ReactNode;
  children: ReactNode;
};
/** A window above the page. `trigger`: the button that opens it; or `open` and `onOpenChange`. */
export function Dialog({ trigger, open: isGivenOpen, onOpenChange, title, about, children }: Props) {
  const opener = useOpener();
  const open = isGivenOpen ?? opener.open;
  const change = (next: boolean) => {
    opener.setOpen(next);
    onOpenChange?.(next);
  };
  const used = useRef(false);
  used.current ||= open;
  return (
    <>
      {trigger && opener.button(trigger, open, change)}
      {used.current && (
        <Suspense>
          <Window open={open} onOpenChange={change} opener={opener.element} title={title} about={about}>
            {children}
          </Window>
        </Suspense>
      )}
    </>
  );
}

type ConfirmProps = {
  trigger: Trigger;
  title: string;
  about?: ReactNode;
  action: string;
  danger?: boolean;
  run: () => Promise<unknown>;
  children?: ReactNode;
};
/** Asks before something that cannot be undone. Stays open, and says why, when `run` fails. */
export function Confirm({ trigger, ...question }: ConfirmProps) {
  const { button, element, open, setOpen } = useOpener();
  const used = useRef(false);
  used.current ||= open;
  return (
    <>
      {button(trigger, open, setOpen)}
      {used.current && (
        <Suspense>
          <Question open={open} onOpenChange={setOpen} opener={element} {...question} />
        </Suspense>
      )}
    </>
  );
}

/** The button of a dialog, which gets the focus back when the dialog closes. */
function useOpener() {
  const [open, setOpen] = useState(false);
  const element = useRef<HTMLElement | null>(null);
  const button = (trigger: Trigger, isOpen: boolean, change: (open: boolean) => void) =>
    cloneElement(trigger, {
      "aria-haspopup": "dialog",
      "aria-expanded": isOpen,
      ...intent,
      onClick: (event: MouseEvent<HTMLElement>) => {
        element.current = event.currentTarget;
        change(true);
      },
    });
  return { open, setOpen, element, button };
}
