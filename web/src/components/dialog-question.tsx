import { AlertDialog } from "@base-ui/react/alert-dialog";
import { type ReactNode, useState } from "react";
import { common } from "@/texts/common";
import { Button } from "./button";
import { BACKDROP, focusAfter, POPUP, type WindowProps } from "./dialog-window";
import { Trouble } from "./trouble";

type Props = WindowProps & { action: string; danger?: boolean; run: () => Promise<unknown>; children?: ReactNode };

export default function DialogQuestion({
  open,
  onOpenChange,
  opener,
  title,
  about,
  action,
  danger = true,
  run,
  children,
}: Props) {
  const [pending, setPending] = useState(false);
  const [error, setError] = useState<unknown>(null);
  const go = async () => {
    setPending(true);
    setError(null);
    try {
      await run();
      onOpenChange(false);
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
        onOpenChange(next);
        setError(null);
      }}
    >
      <AlertDialog.Portal>
        <AlertDialog.Backdrop className={BACKDROP} />
        <AlertDialog.Popup className={POPUP} finalFocus={focusAfter(opener)}>
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
