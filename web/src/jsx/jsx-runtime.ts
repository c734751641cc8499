// React's own runtime, with one addition: deceitful characters in texts are made visible, wherever they come from, so
// that no page can forget it. Values of inputs are left alone.
import { Fragment, jsx as reactJsx, jsxs as reactJsxs } from "react/jsx-runtime";
import { shown } from "@/lib/shown";

export type { JSX } from "react";
export { Fragment };

type Props = { children?: unknown; [name: string]: unknown };
const READ_ALOUD = ["aria-label", "title", "alt", "placeholder"];

export function visible(props: Props): Props {
  let result = props;
  const put = (name: string, value: unknown) => {
    if (result === props) result = { ...props };
    result[name] = value;
  };
  const { children } = props;
  if (typeof children === "string") {
    const text = shown(children);
    if (text !== children) put("children", text);
  } else if (Array.isArray(children) && children.some((child) => typeof child === "string" && shown(child) !== child)) {
    put(
      "children",
      children.map((child) => (typeof child === "string" ? shown(child) : child)),
    );
  }
  for (const name of READ_ALOUD) {
    const value = props[name];
    if (typeof value === "string" && shown(value) !== value) put(name, shown(value));
  }
  return result;
}

export const jsx: typeof reactJsx = (type, props, key) => reactJsx(type, visible(props as Props), key);
export const jsxs: typeof reactJsxs = (type, props, key) => reactJsxs(type, visible(props as Props), key);
