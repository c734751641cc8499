import { Menu as BaseMenu } from "@base-ui/react/menu";
import type { ReactElement, ReactNode } from "react";
import { cn } from "@/lib/cn";

/** A list of actions behind a button. */
export function Menu({ trigger, children }: { trigger: ReactElement<Record<string, unknown>>; children: ReactNode }) {
  return (
    <BaseMenu.Root>
      <BaseMenu.Trigger render={trigger} />
      <BaseMenu.Portal>
        <BaseMenu.Positioner align="end" sideOffset={4} className="z-30">
          <BaseMenu.Popup className="min-w-48 rounded-lg border border-line bg-surface p-1 shadow-lg outline-none">
            {children}
          </BaseMenu.Popup>
        </BaseMenu.Positioner>
      </BaseMenu.Portal>
    </BaseMenu.Root>
  );
}

const ITEM =
  "flex w-full cursor-pointer items-center gap-2 rounded-md px-2.5 py-1.5 text-left outline-none data-highlighted:bg-sunken data-disabled:cursor-default data-disabled:opacity-50";
/** `link`: an element such as `<Link to="/account" />`; else `onClick`. */
export function MenuItem({
  link,
  onClick,
  danger,
  disabled,
  children,
}: {
  link?: ReactElement<Record<string, unknown>>;
  onClick?: () => void;
  danger?: boolean;
  disabled?: boolean;
  children: ReactNode;
}) {
  return (
    <BaseMenu.Item
      {...(link ? { render: link } : {})}
      {...(onClick ? { onClick } : {})}
      disabled={disabled ?? false}
      className={cn(ITEM, danger && "text-bad")}
    >
      {children}
    </BaseMenu.Item>
  );
}
export const MenuLine = () => <BaseMenu.Separator className="my-1 h-px bg-line" />;
export const MenuNote = ({ children }: { children: ReactNode }) => (
  <div className="px-2.5 py-1.5 text-sm text-muted">{children}</div>
);
