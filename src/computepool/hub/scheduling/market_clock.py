"""The market's clock: every minute it counts what is in use, lets the spot factors follow, and gives the nodes
concerned their new asks. What runs keeps the price of its lease.

A hundred thousand nodes are looked at in pieces, with a breath after each: nobody waits for all of them.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import structlog

from computepool.hub.core.bus import LISTENER_QUEUE_LIMIT
from computepool.hub.core.context import Context
from computepool.hub.core.pruning import prune_in_batches
from computepool.hub.core.records import Event
from computepool.hub.market import repository
from computepool.hub.market.book import Book
from computepool.hub.market.settings import tables_of
from computepool.hub.market.spot import Segment, Use, restored
from computepool.hub.nodes.benchmarks import TOPIC
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.states import NodeState

log = structlog.get_logger()

TICK_SECONDS = 60.0
POINT_SECONDS = 600.0
"""How often a point of the history is kept."""
HOUR_SECONDS = 3600
COUNTED_AT_ONCE = 1000
"""Nodes looked at without a breath: a millisecond or two."""
REPRICED_AT_ONCE = 200
"""Changed nodes have to be put on other shelves, which takes longer."""


class MarketClock:
    def __init__(self, context: Context, book: Book, scheduler: Scheduler) -> None:
        self._context = context
        self._book = book
        self._scheduler = scheduler
        self._ticked_at = context.clock.monotonic()
        self._kept_at = self._ticked_at
        self._kept_hour: int | None = None
        self._news: asyncio.Queue[Event] | None = None
        self._told: set[str] = set()
        """Countries without a region that the operator has heard of."""
        self.unlisted: Counter[str] = Counter()
        """Countries that are in no region, with how many nodes each, as last counted."""

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        """Know the market as it was left, and hear of every examination from here on."""
        with self._context.bus.listen(TOPIC) as news:
            self._news = news
            await self.load()
            yield

    async def load(self) -> None:
        """Before nodes are appraised for the first time."""
        db, book, now = self._context.db, self._book, self._context.now()
        settings = await db.read(repository.load_settings)
        book.replace_tables(tables_of({name: row.value for name, row in settings.items()}))
        book.host_prices = await db.read(repository.list_host_prices)
        for row in await db.read(repository.list_measured):
            book.learn_speed(row)
        for segment, point in (await db.read(repository.load_spots, now)).items():
            book.spots[segment] = restored(point.level_millis, point.use_millis, point.spot_millis, book.tables.bounds)
            book.used[segment] = Use(point.busy, point.total)
        self._ticked_at = self._kept_at = self._context.clock.monotonic()

    async def tick(self) -> None:
        used = await self._count()
        now = self._context.clock.monotonic()
        seconds, self._ticked_at = now - self._ticked_at, now
        changed = self._book.step(used, seconds)
        measured = await self._hear()
        if changed or measured:
            await self.reprice(changed, measured)
        self._tell_unlisted()
        if now - self._kept_at >= POINT_SECONDS:
            self._kept_at = now
            await self._keep_points()

    async def reprice(self, segments: frozenset[Segment] | None = None, node_ids: frozenset[str] = frozenset()) -> None:
        """Give nodes their asks anew: of these segments, and these nodes; None for all."""
        book, fleet, moved = self._book, self._scheduler.fleet, False
        async for piece in self._pieces(REPRICED_AT_ONCE):
            for node in piece:
                node_id = node.traits.node_id
                place = book.place_of(node_id)
                if segments is None or place is None or node_id in node_ids:
                    appraised = book.appraise(node.traits, node.capacity)
                elif place.cpu in segments or place.gpu in segments:
                    appraised = book.ask_again(node.traits)
                else:
                    continue
                if appraised != node.traits:
                    node.traits, moved = appraised, True
            fleet.catch_up()
        if moved:
            self._scheduler.wake()  # what was too dear for somebody may not be any more

    async def tidy(self) -> None:
        await prune_in_batches(self._context.db, repository.prune_points, self._context.now())

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _count(self) -> dict[Segment, Use]:
        busy: dict[Segment, int] = {}
        total: dict[Segment, int] = {}
        countries: Counter[str | None] = Counter()
        async for piece in self._pieces():
            for node in piece:
                countries[node.traits.country] += 1
                for segment, use in self._use_of(node):
                    busy[segment] = busy.get(segment, 0) + use.busy
                    total[segment] = total.get(segment, 0) + use.total
        tables = self._book.tables
        self.unlisted = Counter(
            {code: number for code, number in countries.items() if code is not None and not tables.is_listed(code)}
        )
        return {segment: Use(busy[segment], total[segment]) for segment in total}

    def _use_of(self, node: FleetNode) -> Iterator[tuple[Segment, Use]]:
        """Of a node that is there. What its owner keeps is no part of the market, unless a job has it; nor is what it
        only claims to have: a price that claims could move would cost nothing to move."""
        if node.line is None or node.state is not NodeState.ONLINE:
            return
        traits, left = node.traits, node.availability
        place = self._book.place_of(traits.node_id)
        if place is None:
            return
        gpus, free, cpu_millis = list(traits.gpus), node.free.gpus, traits.cpu_millis
        if traits.trial is not None:
            measured = traits.trial.measured
            gpus, free = ([gpu for gpu in some if gpu.id in measured.gpus] for some in (gpus, free))
            cpu_millis = min(cpu_millis, measured.cpu_millis)
        if place.gpu is not None and gpus:
            kept = sum(gpu.id in left.gpus_in_use for gpu in free) if left.strangers else len(free)
            yield place.gpu, Use(len(gpus) - len(free), len(gpus) - kept)
        if cpu_millis:
            busy = min(traits.cpu_millis - node.free.cpu_millis, cpu_millis)
            open_to_all = left.strangers and not left.gpu_only
            yield place.cpu, Use(busy, cpu_millis if open_to_all else busy)

    async def _hear(self) -> frozenset[str]:
        """Nodes that were examined since the last look."""
        if self._news is None or self._news.empty():
            return frozenset()
        missed = self._news.qsize() >= LISTENER_QUEUE_LIMIT - 1  # the bus may have dropped some
        found = set()
        while not self._news.empty():
            found.add(str(self._news.get_nowait().payload["subject"]))
        rows = await self._context.db.read(repository.list_measured, None if missed else sorted(found))
        for row in rows:
            self._book.learn_speed(row)
        return frozenset(row.node_id for row in rows)

    async def _keep_points(self) -> None:
        now = self._context.now()
        hour = int(now.timestamp()) // HOUR_SECONDS
        there = {
            segment: spot
            for segment, spot in self._book.spots.items()
            if self._book.used.get(segment, Use()).total or spot.published_millis != 1000
        }
        await self._context.db.run(repository.add_points, there, self._book.used, now, hourly=hour != self._kept_hour)
        self._kept_hour = hour

    def _tell_unlisted(self) -> None:
        """Once for each country and start: the operator decides what an hour is worth there."""
        for country in self.unlisted:
            if country not in self._told:
                self._told.add(country)
                log.warning("market.country_without_region", country=country, factor=1)

    async def _pieces(self, size: int = COUNTED_AT_ONCE) -> AsyncIterator[list[FleetNode]]:
        """Nodes that were there when it began; one that left meanwhile does no harm."""
        nodes = list(self._scheduler.fleet)
        for start in range(0, len(nodes), size):
            yield nodes[start : start + size]
            await asyncio.sleep(0)
