import type { ReactNode } from "react";
import { Prose } from "./prose";

/** Nothing is here yet: why, and the next step. `children`: a command line or a button. */
export function Empty({ title, about, children }: { title: string; about?: ReactNode; children?: ReactNode }) {
  return (
    <div className="mx-auto flex max-w-lg flex-col items-center px-4 py-12 text-center">
      <p className="text-lg font-medium">{title}</p>
      {about && (
        <p className="mt-1 text-muted text-pretty">
          <Prose>{about}</Prose>
        </p>
      )}
      {children && <div className="mt-5 flex w-full flex-col items-center gap-3">{children}</div>}
    </div>
  );
}
