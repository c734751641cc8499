import { type ComponentType, createContext, type ReactElement, type ReactNode } from "react";

export type ItemProps = {
  link?: ReactElement<Record<string, unknown>>;
  onClick?: () => void;
  danger?: boolean;
  disabled?: boolean;
  children: ReactNode;
};
/** How a menu draws what it holds: known once its code is loaded. */
export const MenuParts = createContext<{ Item: ComponentType<ItemProps>; Line: ComponentType } | null>(null);
