import type { ReactNode } from "react";
import { useTitle } from "@/components/page";
import { Prose } from "@/components/prose";

/** A small card in the middle, for forms that stand alone. */
export function Narrow({
  title,
  about,
  below,
  children,
}: {
  title: string;
  about?: ReactNode;
  below?: ReactNode;
  children: ReactNode;
}) {
  useTitle(title);
  return (
    <div className="mx-auto w-full max-w-[26rem] px-4 py-12 sm:py-20">
      <div className="rounded-lg border border-line bg-surface p-6 sm:p-8">
        <h1 className="text-xl font-semibold">{title}</h1>
        {about && (
          <p className="mt-1 text-muted text-pretty">
            <Prose>{about}</Prose>
          </p>
        )}
        <div className="mt-6">{children}</div>
      </div>
      {below && (
        <p className="mt-4 text-center text-sm text-muted">
          <Prose>{below}</Prose>
        </p>
      )}
    </div>
  );
}
