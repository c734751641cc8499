import { Link } from "@tanstack/react-router";
import { ChevronLeft } from "lucide-react";
import { type ReactNode, useEffect } from "react";
import { cn } from "@/lib/cn";
import { common } from "@/texts/common";
import { Prose } from "./prose";

/** Sets the tab's title. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = title ? `${title} · ComputePool` : "ComputePool";
  }, [title]);
}

/** To the page that this one is a part of. */
export const Back = ({ to, name }: { to: string; name: string }) => (
  <nav aria-label={common.breadcrumb} className="mb-1.5 text-sm text-muted">
    <Link to={to} className="inline-flex items-center gap-0.5 hover:text-text hover:underline">
      <ChevronLeft size={14} aria-hidden className="-ml-1" />
      {name}
    </Link>
  </nav>
);

type Props = {
  title: string;
  back?: { to: string; name: string };
  beside?: ReactNode;
  actions?: ReactNode;
  about?: ReactNode;
  medium?: boolean;
  children: ReactNode;
};
/** The frame of a page: its title, what can be done, and the rest. `beside`: next to the title, such as a state. `medium`: for what is read or filled in. */
export function Page({ title, back, beside, actions, about, medium, children }: Props) {
  useTitle(title);
  return (
    <div className={cn("mx-auto w-full flex-1 px-4 pt-6 pb-12 sm:px-6", medium ? "max-w-4xl" : "max-w-7xl")}>
      {back && <Back {...back} />}
      <div className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <h1 className="min-w-0 text-2xl font-semibold break-words">{title}</h1>
        {beside}
        <span className="flex-1" />
        {actions && <div className="flex flex-wrap items-center gap-2">{actions}</div>}
      </div>
      {about && (
        <p className="mt-1 max-w-2xl text-muted text-pretty">
          <Prose>{about}</Prose>
        </p>
      )}
      <div className="mt-6">{children}</div>
    </div>
  );
}
