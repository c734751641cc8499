import { useQuery } from "@tanstack/react-query";
import { Link, Outlet, useRouter, useRouterState } from "@tanstack/react-router";
import { Bell as BellIcon, CircleUser, Menu as MenuIcon, Search, SunMoon, X } from "lucide-react";
import { lazy, Suspense, useEffect, useState } from "react";
import { useConnection, useMe, useResuming, useSignedIn } from "@/api/hooks";
import { unreadQuery } from "@/api/queries/account";
import { onSessionChange } from "@/api/session";
import { Button, buttonClass } from "@/components/button";
import { Logo } from "@/components/logo";
import { Toasts } from "@/components/toasts";
import { cn } from "@/lib/cn";
import { patiently } from "@/lib/patiently";
import { chooseTheme, isDark } from "@/lib/theme";
import { shell } from "@/texts/shell";
import { AccountMenu } from "./account-menu";
import { useNav } from "./nav";

const Palette = lazy(patiently(() => import("./palette")));
const AWAY_SHOWN_MS = 2000;
const PALETTE_KEYS = /Mac|iPhone|iPad/.test(globalThis.navigator?.platform ?? "") ? "⌘K" : "Ctrl K";

function usePalette() {
  const [open, setOpen] = useState(false);
  const [used, setUsed] = useState(false);
  const show = (next: boolean) => {
    setUsed(true);
    setOpen(next);
  };
  useEffect(() => {
    const listen = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        setUsed(true);
        setOpen((before) => !before);
      }
    };
    addEventListener("keydown", listen);
    return () => removeEventListener("keydown", listen);
  }, []);
  return { open, used, show };
}

/** Says so while the hub is away, once that is more than a hiccup. */
function AwayBanner() {
  const isAway = useConnection() === "away";
  const [shown, setShown] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setShown(isAway), isAway ? AWAY_SHOWN_MS : 0);
    return () => clearTimeout(timer);
  }, [isAway]);
  return (
    <div
      role="status"
      className={cn(shown && isAway && "border-b border-line bg-warn-soft px-4 py-1.5 text-center text-sm text-warn")}
    >
      {shown && isAway ? shell.away : ""}
    </div>
  );
}

function Bell() {
  const unread = useQuery(unreadQuery).data;
  return (
    <Link
      to="/account/notices"
      aria-label={shell.notices(unread)}
      className={buttonClass({ look: "quiet", size: "icon", className: "relative" })}
    >
      <BellIcon size={16} aria-hidden />
      {unread !== 0 && unread !== undefined && (
        <span aria-hidden className="absolute top-1.5 right-1.5 size-2 rounded-full bg-live-dot" />
      )}
    </Link>
  );
}

function Account() {
  const signedIn = useSignedIn();
  const me = useMe();
  const path = useRouterState({ select: (state) => state.location.pathname });
  if (useResuming()) return <CircleUser size={16} aria-hidden className="m-2 text-muted" />;
  if (signedIn) {
    return <AccountMenu me={me} />;
  }
  const next = path === "/" || path.startsWith("/sign-") ? {} : { next: path };
  return (
    <>
      <Link to="/sign-in" search={next} className={buttonClass({ look: "quiet", className: "max-sm:hidden" })}>
        {shell.signIn}
      </Link>
      <Link to="/sign-up" search={next} className={buttonClass({ look: "primary", className: "ml-1" })}>
        {shell.signUp}
      </Link>
    </>
  );
}

const LINK = "rounded-md px-2.5 py-1.5 text-muted hover:text-text";
const ACTIVE = { className: "font-medium text-text!" };

export function Shell() {
  const palette = usePalette();
  const { main, all } = useNav();
  const signedIn = useSignedIn();
  const [menu, setMenu] = useState(false);
  const router = useRouter();
  const path = useRouterState({ select: (state) => state.location.pathname });
  // biome-ignore lint/correctness/useExhaustiveDependencies: another page was opened
  useEffect(() => setMenu(false), [path]);
  // Signed in or out, here or in another tab: pages for others decide anew who may see them.
  useEffect(() => onSessionChange(() => void router.invalidate()), [router]);
  return (
    <div className="flex min-h-dvh flex-col">
      <a
        href="#main"
        className="sr-only focus:not-sr-only focus:absolute focus:z-40 focus:m-2 focus:rounded-md focus:bg-surface focus:px-3 focus:py-2"
      >
        {shell.skip}
      </a>
      <header className="sticky top-0 z-20 border-b border-line bg-page">
        <div className="mx-auto flex h-14 max-w-7xl items-center gap-1 px-4 sm:px-6">
          <Link to="/" className="mr-auto flex items-center gap-2.5 text-lg font-semibold tracking-tight md:mr-5">
            <Logo /> ComputePool
          </Link>
          <nav aria-label={shell.main} className="hidden items-center gap-1 md:flex">
            {main.map(({ to, name }) => (
              <Link key={to} to={to} className={LINK} activeProps={ACTIVE}>
                {name}
              </Link>
            ))}
          </nav>
          <div className="hidden flex-1 md:block" />
          <button
            type="button"
            onClick={() => palette.show(true)}
            className="mr-2 hidden h-8 cursor-pointer items-center gap-2 rounded-md border border-line bg-surface pr-1.5 pl-2.5 text-sm text-muted hover:text-text lg:flex"
          >
            <Search size={14} aria-hidden /> {shell.goTo}
            <kbd className="ml-4 rounded border border-line bg-sunken px-1.5 font-sans text-xs">{PALETTE_KEYS}</kbd>
          </button>
          {!signedIn && (
            <Button
              look="quiet"
              size="icon"
              aria-label={shell.theme}
              onClick={() => chooseTheme(isDark() ? "light" : "dark")}
            >
              <SunMoon size={16} aria-hidden />
            </Button>
          )}
          {signedIn && <Bell />}
          <Account />
          <Button
            look="quiet"
            size="icon"
            className="md:hidden"
            aria-label={shell.menu}
            aria-expanded={menu}
            onClick={() => setMenu(!menu)}
          >
            {menu ? <X size={18} aria-hidden /> : <MenuIcon size={18} aria-hidden />}
          </Button>
        </div>
        {menu && (
          <nav aria-label={shell.menu} className="grid border-t border-line bg-surface p-2 md:hidden">
            {all.map(({ to, name }) => (
              <Link key={to} to={to} className="rounded-md px-3 py-2.5 text-lg text-muted" activeProps={ACTIVE}>
                {name}
              </Link>
            ))}
            {!signedIn && (
              <Link to="/sign-in" className="rounded-md px-3 py-2.5 text-lg text-muted">
                {shell.signIn}
              </Link>
            )}
          </nav>
        )}
        <AwayBanner />
      </header>
      <main id="main" tabIndex={-1} className="flex flex-1 flex-col outline-none">
        <Outlet />
      </main>
      <Suspense>{palette.used && <Palette open={palette.open} setOpen={palette.show} />}</Suspense>
      <Toasts />
    </div>
  );
}
