import { Dialog as BaseDialog } from "@base-ui/react/dialog";
import { X } from "lucide-react";
import type { ReactNode, RefObject } from "react";
import { common } from "@/texts/common";

export const BACKDROP = "dialog-backdrop fixed inset-0 z-30 bg-backdrop";
export const POPUP =
  "dialog-popup fixed top-1/2 left-1/2 z-30 flex max-h-[calc(100dvh-2rem)] w-[30rem] max-w-[calc(100vw-2rem)] -translate-x-1/2 -translate-y-1/2 flex-col overflow-y-auto rounded-lg border border-line bg-surface p-5 shadow-xl outline-none";

export type WindowProps = {
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** Has the focus again after it was closed; else what had it before. */
  opener: RefObject<HTMLElement | null>;
  title: string;
  about?: ReactNode;
};
/** Where the focus goes on closing: `true` is what had it before. */
export const focusAfter = (opener: RefObject<HTMLElement | null>) => () => opener.current ?? true;

export default function DialogWindow({
  open,
  onOpenChange,
  opener,
  title,
  about,
  children,
}: WindowProps & { children: ReactNode }) {
  return (
    <BaseDialog.Root open={open} onOpenChange={(next) => onOpenChange(next)}>
      <BaseDialog.Portal>
        <BaseDialog.Backdrop className={BACKDROP} />
        <BaseDialog.Popup className={POPUP} finalFocus={focusAfter(opener)}>
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
