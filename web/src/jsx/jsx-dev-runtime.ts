// What the development server compiles to.
import { Fragment, jsxDEV as reactJsxDEV } from "react/jsx-dev-runtime";
import { visible } from "./jsx-runtime";

export type { JSX } from "react";
export { Fragment };

export const jsxDEV: typeof reactJsxDEV = (type, props, ...rest) =>
  reactJsxDEV(type, visible(props as Record<string, unknown>), ...rest);
