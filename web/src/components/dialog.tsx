import { AlertDialog } from "@base-ui/react/alert-dialog";
import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import { type ReactElement, type ReactNode, useState } from "react";
import { common } from "@/texts/common";
import { Button } from "./button";
import { Trouble } from "./trouble";

const BACKDROP = "dialog-backdrop fixed inset-0 z-30 bg-backdrop";
const POPUP =
  "dialog-popup fixed top-1/2 left-1/2 z-30 flex max-h-[calc(100dvh-2rem)] w-[30rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col overflow-y-auto rounded-lg border border-line bg-surface p-5 shadow-xl outline-none";

type Props = {
  trigger?: ReactElement<Record<string, unknown>>;
  open?: boolean;
  onOpenChange?: (open: boolean) => void;
  title: string;
  about?: ReactNode;
  children: ReactNode;
};
/** A window above the page. `trigger`: the button that opens it; or `open` and `onOpenChange`. */
export function Dialog({ trigger, open, onOpenChange, title, about, children }: Props) {
  return (
    <BaseDialog.Root
      {...(open === undefined ? {} : { open })}
      {...(onOpenChange ? { onOpenChange: (next: boolean) => onOpenChange(next) } : {})}
    >
      {trigger && <BaseDialog.Trigger render={trigger} />}
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={BACKDROP} />
        <BaseDialog.Popup className={POPUP}>
          <div className="flex items-start justify-between gap-4">
            <BaseDialog.Title className="text-lg font-semibold">{title}</BaseDialog.Title>
            <BaseDialog.Close
              aria-label={common.close}
              className="-m-1.5 cursor-pointer rounded-md p-1.5 text-muted hover:bg-sunken hover:text-text"
            >
              <X size={16} aria-hidden />
            </BaseDialog.Close>
          </div>
          {about && <BaseDialog.Description className="mt-1 text-muted text-pretty">{about}</BaseDialog.Description>}
          <div className="mt-4">{children}</div>
        </BaseDialog.Popup>
      </BaseDialog.Portal>
    </BaseDialog.Root>
  );
}

type ConfirmProps = {
  trigger: ReactElement<Record<string, unknown>>;
  title: string;
  about?: ReactNode;
  action: string;
  danger?: boolean;
  run: () => Promise<unknown>;
  children?: ReactNode;
};
/** Asks before something that cannot be undone. Stays open, and says why, when `run` fails. */
export function Confirm({ trigger, title, about, action, danger = true, run, children }: ConfirmProps) {
  const [open, setOpen] = useState(false);
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const go = async () => {
    setPending(true);
    setError(null);
    try {
      await run();
      setOpen(false);
    } catch (failure) {
      setError(failure);
    } finally {
      setPending(false);
    }
  };
  return (
    <AlertDialog.Root
      open={open}
      onOpenChange={(next) => {
        setOpen(next);
        setError(null);
      }}
    >
      <AlertDialog.Trigger render={trigger} />
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup className={POPUP}>
          <AlertDialog.Title className="text-lg font-semibold">{title}</AlertDialog.Title>
          {about && <AlertDialog.Description className="mt-1 text-muted text-pretty">{about}</AlertDialog.Description>}
          {children && <div className="mt-4">{children}</div>}
          {error != null && (
            <div className="mt-4">
              <Trouble error={error} compact />
            </div>
          )}
          <div className="mt-6 flex justify-end gap-2">
            <AlertDialog.Close render={<Button />}>{common.cancel}</AlertDialog.Close>
            <Button look={danger ? "danger" : "primary"} pending={pending} onClick={() => void go()}>
              {action}
            </Button>
          </div>
        </AlertDialog.Popup>
      </AlertDialog.Portal>
    </AlertDialog.Root>
  );
}
