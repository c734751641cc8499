import { useMe, useMoney, useResuming, useSignedIn } from "@/api/hooks";
import { shell } from "@/texts/shell";

export type NavLink = { to: string; name: string };

/** What the header and the palette offer, by who is signed in. */
export function useNav(): { main: NavLink[]; all: NavLink[] } {
  const resuming = useResuming();
  const signedIn = useSignedIn() || resuming;
  const isAdmin = useMe()?.role === "admin";
  const money = useMoney();
  const { nav } = shell;
  const pool = [
    { to: "/market", name: nav.market },
    { to: "/map", name: nav.map },
  ];
  const leaderboard = { to: "/leaderboard", name: nav.leaderboard };
  const docs = { to: "/docs", name: nav.docs };
  if (!signedIn) return { main: [...pool, leaderboard, docs], all: [...pool, leaderboard, docs] };
  const main = [
    { to: "/jobs", name: nav.jobs },
    { to: "/nodes", name: nav.nodes },
    ...pool,
    ...(money ? [{ to: "/wallet", name: nav.wallet }] : []),
    ...(isAdmin ? [{ to: "/admin", name: nav.admin }] : []),
  ];
  return {
    main,
    all: [...main, { to: "/submit", name: nav.submit }, leaderboard, docs, { to: "/account", name: nav.account }],
  };
}
