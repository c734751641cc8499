import { type ComponentType, type LazyExoticComponent, lazy, type SyntheticEvent } from "react";
import { patiently } from "@/lib/patiently";

/** What loads code before the press that needs it: props for the element that is pressed. */
export type Intent = {
  onPointerEnter: (event: SyntheticEvent) => void;
  onFocus: (event: SyntheticEvent) => void;
};

/**
 * A component whose code is loaded when it is first drawn, or a little earlier: when the pointer or the focus reaches
 * the button that opens it.
 */
export function onDemand<P>(
  load: () => Promise<{ default: ComponentType<P> }>,
): [LazyExoticComponent<ComponentType<P>>, Intent] {
  // A failure shows when the component is drawn; loading ahead stays silent.
  const ahead = () => void load().catch(() => undefined);
  return [lazy(patiently(load)), { onPointerEnter: ahead, onFocus: ahead }];
}
