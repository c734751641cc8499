import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowRight } from "lucide-react";
import { useMemo } from "react";
import { useConfig, useLive, useMoney, useSignedIn } from "@/api/hooks";
import { mapQuery, statsQuery, versionQuery } from "@/api/queries/public";
import { buttonClass } from "@/components/button";
import { Figure, Figures } from "@/components/card";
import { CommandLine } from "@/components/command-line";
import { DotMap, type Spot } from "@/components/dot-map";
import { useTitle } from "@/components/page";
import { cardName, count } from "@/lib/amounts";
import { credits } from "@/lib/money";
import { TIER_NAMES, tierColour } from "@/lib/tiers";
import { home as text } from "@/texts/home";

const CAN_BE_REACHED = new Set(["online", "draining", "paused"]);

function PoolFigures() {
  const stats = useQuery(statsQuery).data;
  const money = useMoney();
  const figures = text.figures;
  const use = (free: number, total: number) => (total ? figures.inUse(1 - free / total) : figures.noGpus);
  const card = stats?.gpu_prices?.find((one) => one.from_micros !== null);
  const real = stats && stats.jobs_today + stats.jobs_done > 0;
  return (
    <Figures className="rounded-b-lg border-t border-line">
      <Figure
        name={figures.gpus}
        value={stats ? count(stats.gpus_free) : "–"}
        unit={stats && figures.of(stats.gpus_total)}
        note={stats ? use(stats.gpus_free, stats.gpus_total) : " "}
      />
      <Figure
        name={figures.jobs}
        value={stats ? count(real ? stats.jobs_today : stats.simulated.jobs_today) : "–"}
        note={stats ? figures.waiting(stats.slices_queued) : " "}
      />
      {money && card ? (
        <Figure
          name={cardName(card.gpu)}
          value={credits(card.from_micros ?? 0)}
          unit="cr/h"
          note={figures.offers(card.offers)}
        />
      ) : (
        <Figure
          name={figures.cpus}
          value={stats ? count(Math.round(stats.cpus_free)) : "–"}
          unit={stats && figures.of(Math.round(stats.cpus_total))}
          note={stats ? use(stats.cpus_free, stats.cpus_total || 1) : " "}
        />
      )}
      <Figure
        name={figures.nodes}
        value={stats ? count(stats.nodes_online) : "–"}
        note={
          stats
            ? stats.nodes_simulated
              ? figures.simulated(stats.nodes_simulated)
              : figures.enrolled(stats.nodes_total)
            : " "
        }
      />
    </Figures>
  );
}

/** The nodes that can be reached, by country. The caption says when all of them are simulated. */
function PoolMap() {
  useLive("map");
  const map = useQuery(mapQuery).data;
  const reached = (map?.cells ?? []).filter((cell) => cell.country && CAN_BE_REACHED.has(cell.state));
  const places = JSON.stringify(
    reached.map(({ country, nodes, tier }) => ({ country, nodes, tier: tierColour(tier) })),
  );
  const spots = useMemo(() => JSON.parse(places) as Spot[], [places]);
  const countries = new Set(spots.map((spot) => spot.country)).size;
  return (
    <>
      <DotMap spots={spots} className="w-full px-5 pt-5" label={text.map} />
      <figcaption className="flex flex-wrap items-center gap-x-4 gap-y-1 px-6 pt-2 pb-4 text-xs text-muted">
        <span>{text.tier}</span>
        {TIER_NAMES.map((name, tier) => (
          <span key={name} className="flex items-center gap-1.5">
            <svg viewBox="0 0 8 8" className="size-2" aria-hidden>
              <circle cx="4" cy="4" r="4" fill={`var(--tier-${tier})`} />
            </svg>
            {name}
          </span>
        ))}
        <span className="flex-1" />
        <span>{map ? text.countries(countries, !reached.some((cell) => !cell.simulated)) : ""}</span>
      </figcaption>
    </>
  );
}

function Ways() {
  const base = useConfig()?.public_url ?? globalThis.location?.origin ?? "https://pool.example";
  const fingerprint = useQuery(versionQuery).data?.fingerprint; // of a certificate that the hub signed itself
  const address = fingerprint ? `${base}#${fingerprint}` : base;
  const ways = [
    { title: text.runTitle, about: text.runAbout, line: "computepool run train.py --gpu 24GB.." },
    { title: text.shareTitle, about: text.shareAbout, line: `computepool join ${address}` },
    { title: text.ownTitle, about: text.ownAbout, line: "computepool up" },
  ];
  return (
    <section
      aria-label={text.ways}
      className="grid gap-px overflow-hidden rounded-lg border border-line bg-line md:grid-cols-3"
    >
      {ways.map(({ title, about, line }) => (
        <div key={title} className="flex min-w-0 flex-col bg-surface p-6">
          <h2 className="text-lg font-semibold">{title}</h2>
          <p className="mt-1.5 mb-5 flex-1 text-muted text-pretty">{about}</p>
          <CommandLine line={line} />
        </div>
      ))}
    </section>
  );
}

function Footer() {
  const version = useQuery(versionQuery).data?.version;
  const config = useConfig();
  const worth =
    config?.money && config.currency && config.credit_value
      ? new Intl.NumberFormat("en", { style: "currency", currency: config.currency, minimumFractionDigits: 0 }).format(
          1000 * Number(config.credit_value),
        )
      : null;
  return (
    <footer className="flex flex-wrap gap-x-5 gap-y-1 py-8 text-sm text-muted">
      <span>{text.version(version ?? "")}</span>
      <Link to="/docs" className="hover:text-text">
        {text.api}
      </Link>
      <a href="/licences.txt" className="hover:text-text">
        {text.licences}
      </a>
      <span className="flex-1" />
      {worth && <span>{text.worth(worth)}</span>}
    </footer>
  );
}

/** There, by way of an account where there is none yet. */
const way = (to: "/submit" | "/nodes", signedIn: boolean) =>
  signedIn ? ({ to } as const) : ({ to: "/sign-up", search: { next: to } } as const);

export default function HomePage() {
  useTitle("");
  useLive("public");
  const stats = useQuery(statsQuery).data;
  const signedIn = useSignedIn();
  const money = useMoney();
  return (
    <div className="mx-auto w-full max-w-7xl px-4 sm:px-6">
      <section className="grid items-center gap-x-12 gap-y-10 pt-10 pb-10 sm:pt-14 sm:pb-12 lg:grid-cols-[1fr_1.12fr]">
        <div>
          <p className="flex items-center gap-2 text-sm font-medium text-live">
            <span className="breathes size-1.5 rounded-full bg-live-dot" aria-hidden />{" "}
            {stats ? text.online(stats.nodes_online) : text.open}
          </p>
          <h1 className="mt-4 text-[2.25rem]/[2.5rem] font-semibold tracking-[-0.03em] text-balance sm:text-4xl">
            {text.title}
          </h1>
          <p className="mt-5 max-w-[34rem] text-lg text-muted text-pretty">{money ? text.about : text.aboutFree}</p>
          <div className="mt-8 flex flex-wrap gap-3">
            <Link {...way("/submit", signedIn)} className={buttonClass({ look: "primary", size: "lg" })}>
              {text.run} <ArrowRight size={16} aria-hidden />
            </Link>
            <Link {...way("/nodes", signedIn)} className={buttonClass({ size: "lg" })}>
              {text.share}
            </Link>
          </div>
          <details className="mt-4 max-w-[34rem] text-sm text-muted">
            <summary className="cursor-pointer list-none">
              {text.warning} <span className="text-accent underline underline-offset-4">{text.warningLink}</span>
            </summary>
            <p className="mt-2 text-pretty">{text.warningMore}</p>
          </details>
        </div>
        <figure className="min-w-0 rounded-lg border border-line bg-surface">
          <PoolMap />
          <PoolFigures />
        </figure>
      </section>
      <Ways />
      <Footer />
    </div>
  );
}
