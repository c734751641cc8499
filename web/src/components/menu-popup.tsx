import { Menu as BaseMenu } from "@base-ui/react/menu";
import { type ReactNode, useRef } from "react";
import { cn } from "@/lib/cn";
import { type ItemProps, MenuParts } from "./menu-parts";

type Props = {
  labelledBy: string;
  anchor: HTMLElement;
  open: boolean;
  onOpenChange: (open: boolean) => void;
  /** The first item then has the focus. */
  byKeyboard: boolean;
  children: ReactNode;
};
export default function MenuPopup({ labelledBy, anchor, open, onOpenChange, byKeyboard, children }: Props) {
  const popup = useRef<HTMLDivElement>(null);
  const focusFirst = (isOpen: boolean) => {
    if (isOpen && byKeyboard) popup.current?.querySelector<HTMLElement>("[role=menuitem]")?.focus();
  };
  return (
    <BaseMenu.Root open={open} onOpenChange={(next) => onOpenChange(next)} onOpenChangeComplete={focusFirst}>
      <BaseMenu.Portal>
        <BaseMenu.Positioner anchor={anchor} align="end" sideOffset={4} className="z-30">
          <BaseMenu.Popup
            ref={popup}
            aria-labelledby={labelledBy}
            finalFocus={() => anchor}
            className="min-w-48 rounded-lg border border-line bg-surface p-1 shadow-lg outline-none"
          >
            <MenuParts value={PARTS}>{children}</MenuParts>
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

const ITEM =
  "flex w-full cursor-pointer items-center gap-2 rounded-md px-2.5 py-1.5 text-left outline-none data-highlighted:bg-sunken data-disabled:cursor-default data-disabled:opacity-50";
const PARTS = {
  Item: ({ link, onClick, danger, disabled, children }: ItemProps) => (
    <BaseMenu.Item
      {...(link ? { render: link } : {})}
      {...(onClick ? { onClick } : {})}
      disabled={disabled ?? false}
      className={cn(ITEM, danger && "text-bad")}
    >
      {children}
    </BaseMenu.Item>
  ),
  Line: () => <BaseMenu.Separator className="my-1 h-px bg-line" />,
};
