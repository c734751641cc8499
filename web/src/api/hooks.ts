import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect, useEffectEvent, useRef, useSyncExternalStore } from "react";
import { type Connection, type FromHub, live, type OfKind } from "./live";
import { meQuery } from "./queries/account";
import { configQuery } from "./queries/public";
import { isResuming, isSignedIn, onSessionChange } from "./session";

export const useSignedIn = (): boolean => useSyncExternalStore(onSessionChange, isSignedIn, () => false);
export const useResuming = (): boolean => useSyncExternalStore(onSessionChange, isResuming, () => false);
/** Who is signed in; undefined before that is known, and when nobody is. */
export function useMe() {
  const signedIn = useSignedIn();
  return useQuery({ ...meQuery, enabled: signedIn }).data;
}
export const useConfig = () => useQuery(configQuery).data;
/** Whether this pool works with money. True until it is known not to. */
export const useMoney = (): boolean => useConfig()?.money ?? true;
export const useConnection = (): Connection => useSyncExternalStore(live.onState, live.state, () => "idle");

/** Every message of one kind while the component is there. `useLive("public")` only keeps the public figures live. */
export function useLive<K extends FromHub["type"]>(kind: K, hear?: (message: OfKind<K>) => void): void {
  const told = useEffectEvent((message: OfKind<K>) => hear?.(message));
  useEffect(() => live.on(kind, (message) => told(message)), [kind]);
}

const REFRESH_PAUSE_MS = 5000;

/** Reads these queries again when the pool's free capacity has changed, at most every five seconds. */
export function useRefreshWithPool(queryKey: readonly string[]) {
  const queries = useQueryClient();
  const last = useRef({ at: 0, figures: "" });
  useLive("public", ({ stats }) => {
    const figures = [stats.nodes_online, stats.gpus_free, stats.cpus_free].join();
    if (figures === last.current.figures || Date.now() - last.current.at < REFRESH_PAUSE_MS) return;
    const isFirst = last.current.figures === "";
    last.current = { at: Date.now(), figures };
    if (!isFirst) void queries.invalidateQueries({ queryKey });
  });
}
