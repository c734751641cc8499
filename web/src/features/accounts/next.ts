import { useNavigate, useSearch } from "@tanstack/react-router";
import { useEffect } from "react";
import { useSignedIn } from "@/api/hooks";

/** An address of this app, never of another site. */
export const safe = (next: string | undefined): string => (next && /^\/(?![/\\])/.test(next) ? next : "/jobs");

/** Goes on to where the person wanted to go, once signed in. */
export function useNext(): string | undefined {
  const { next } = useSearch({ strict: false }) as { next?: string };
  const signedIn = useSignedIn();
  const go = useNavigate();
  useEffect(() => {
    if (signedIn) void go({ href: safe(next), replace: true });
  }, [signedIn, next, go]);
  return next;
}
