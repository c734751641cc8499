"""The pool for everybody: the map, the leaderboard, and the figures of the landing page."""

from datetime import datetime

from fastapi import APIRouter

from computepool.hub.accounts.public_names import list_public_names
from computepool.hub.core.money import Micros, priced_routes
from computepool.hub.engine import Engine
from computepool.hub.figures.rollups import Period
from computepool.hub.figures.work import WorkSum, total
from computepool.hub.market.regions import spell_millis
from computepool.hub.market.requirements import MILLI
from computepool.hub.scheduling.census import CellKey, Census
from computepool.protocol.model import Documented
from computepool.protocol.public_events import MapCell, MapMessage, PublicGpuPrice, PublicStats, SimulatedStats

PLACES_SHOWN = 100
CARDS_SHOWN = 20
ALWAYS_SHOWN = "rtx-4090"
SECONDS_PER_HOUR = 3600


class MapView(Documented):
    """Where the pool's nodes are, by country. It tells no machine's place."""

    cells: list[MapCell]
    """Nodes that are alike, counted."""
    countries: int
    """Where real nodes are that can be reached now."""
    nodes: int
    """Real ones, in every state."""
    simulated: int
    """Nodes without real hardware."""


class WorkDone(Documented):
    """For others than the nodes' owners."""

    gpu_hours: float
    """In attempts that ended well."""
    core_hours: float
    """The same of attempts without a GPU."""
    attempts: int
    """That ended well."""
    slices: int
    """Different slices among these attempts."""
    earned_micros: Micros
    """For all attempts that ended, before anything was given back."""


class LeaderboardPlace(Documented):
    place: int
    """From 1. Those who did the same share one."""
    name: str
    """The public name that its owner chose."""
    work: WorkDone
    """What its nodes did for others."""


class LeaderboardView(Documented):
    period: Period
    """The last 7 or 30 days of UTC, today included, or all days."""
    items: list[LeaderboardPlace]
    """Owners who have a public name, by GPU hours, then core hours: at most 100."""
    others: WorkDone
    """Everybody else's together: owners without a public name, and beyond the hundredth place."""
    total: WorkDone
    """What everybody's nodes did."""
    counted_at: datetime | None
    """When it was counted; null until it was."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["public"])

    @routes.get("/map", visible="public", shared_seconds=1)
    async def show_map() -> MapView:
        """How many nodes there are, by country, tier and state. `public/events?map=true` tells changes."""
        census = engine.census
        census.look()
        nodes, simulated = census.sums["nodes"], census.sums["simulated_nodes"]
        return MapView(
            cells=cells_since(census, 0), countries=census.countries(), nodes=nodes - simulated, simulated=simulated
        )

    @routes.get("/leaderboard", visible="public", shared_seconds=1)
    async def leaderboard(period: Period = "30d") -> LeaderboardView:
        """Who did most for others. Only owners who chose a public name (`PATCH me`) are named; simulated nodes do not
        count."""
        figures = engine.figures.now
        work = {owner_id: one for (owner_id, simulated), one in figures.work.get(period, {}).items() if not simulated}
        names = await context.db.read(list_public_names)
        items = _places({names[owner_id]: one for owner_id, one in work.items() if owner_id in names})
        everything = total(work.values())
        named = total(one for _, _, one in items)
        return LeaderboardView(
            period=period,
            items=[LeaderboardPlace(place=place, name=name, work=_done(one)) for place, name, one in items],
            others=_done(everything - named),
            total=_done(everything),
            counted_at=figures.counted_at,
        )

    return routes.router


def cells_since(census: Census, version: int) -> list[MapCell]:
    """Those that changed since then: from 0 on, all that somebody is in."""
    changed = [(key, cell) for key, cell in census.cells.items() if cell.version > version and (cell.nodes or version)]
    changed.sort(key=lambda one: _order(one[0]))
    return [MapCell(**key._asdict(), nodes=cell.nodes, busy=cell.busy) for key, cell in changed]


def map_message(census: Census, version: int) -> MapMessage:
    return MapMessage(whole=version == 0, cells=cells_since(census, version))


def read_stats(engine: Engine) -> PublicStats:
    """From memory: nodes as they are now, and the newest offers and roll-ups."""
    census, figures, settings = engine.census, engine.figures.now, engine.context.settings
    census.look()
    sums, has_money = census.sums, settings.money == "on"
    work, today, done = figures.totals, figures.today, figures.done
    return PublicStats(
        nodes_total=sums["nodes"],
        nodes_online=sums["online"],
        nodes_simulated=sums["simulated_online"],
        cpus_total=sums["cpu_millis"] / MILLI,
        cpus_free=sums["cpu_millis_free"] / MILLI,
        memory_bytes_total=sums["memory_bytes"],
        gpus_total=sums["gpus"],
        gpus_free=sums["gpus_free"],
        slices_running=sums["running"],
        slices_queued=len(engine.scheduler.queue),
        uptime_seconds=engine.context.clock.monotonic() - engine.started_at,
        countries=census.countries(),
        jobs_today=today.jobs - today.simulated_jobs,
        jobs_done=done.jobs,
        gpu_hours=_hours(work.get(False, WorkSum()).gpu_seconds),
        earned_by_hosts_micros=work.get(False, WorkSum()).earned_micros if has_money else None,
        paid_to_hosts_micros=done.paid_out_micros if has_money else None,
        gpu_prices=tuple(_gpu_prices(engine)) if has_money else None,
        simulated=SimulatedStats(
            nodes_total=sums["simulated_nodes"],
            nodes_online=sums["simulated_online"],
            gpus_total=sums["simulated_gpus"],
            slices_running=sums["simulated_running"],
            jobs_today=today.simulated_jobs,
            jobs_done=done.simulated_jobs,
            gpu_hours=_hours(work.get(True, WorkSum()).gpu_seconds),
        ),
        counted_at=figures.counted_at,
    )


def _gpu_prices(engine: Engine) -> list[PublicGpuPrice]:
    """By kind of card. A node with several kinds has one price for each of its GPUs."""
    offered: dict[str, list[int]] = {ALWAYS_SHOWN: []}
    for offer in engine.offers.known:
        if not offer.simulated:
            for gpu in set(offer.gpus):
                offered.setdefault(gpu, []).append(offer.price_micros or 0)
    most = sorted(offered.items(), key=lambda one: (one[0] != ALWAYS_SHOWN, -len(one[1]), one[0]))[:CARDS_SHOWN]
    return [
        PublicGpuPrice(
            gpu=gpu,
            tier=spell_millis(engine.book.tier(gpu).millis),
            from_micros=min(prices, default=None),
            offers=len(prices),
        )
        for gpu, prices in most
    ]


def _places(work: dict[str, WorkSum]) -> list[tuple[int, str, WorkSum]]:
    """The first hundred. Who did nothing has no place."""
    ranked = sorted(
        ((name, one) for name, one in work.items() if one.attempts),
        key=lambda item: (-item[1].gpu_seconds, -item[1].core_seconds, -item[1].attempts, item[0]),
    )[:PLACES_SHOWN]
    found: list[tuple[int, str, WorkSum]] = []
    for number, (name, one) in enumerate(ranked, start=1):
        before = found[-1] if found else None
        is_same = before is not None and _rank(before[2]) == _rank(one)
        found.append((before[0] if before is not None and is_same else number, name, one))
    return found


def _rank(work: WorkSum) -> tuple[int, int, int]:
    return work.gpu_seconds, work.core_seconds, work.attempts


def _done(work: WorkSum) -> WorkDone:
    return WorkDone(
        gpu_hours=_hours(work.gpu_seconds),
        core_hours=_hours(work.core_seconds),
        attempts=work.attempts,
        slices=work.slices,
        earned_micros=work.earned_micros,
    )


def _hours(seconds: int) -> float:
    return round(seconds / SECONDS_PER_HOUR, 2)


def _order(key: CellKey) -> tuple[str, ...]:
    return (str(key.simulated), key.country or "", key.tier, key.state)
