"""A churning fleet and its renters, without agents and SQL: the hub's own scheduler, leases, market and reputation over
rows in memory. A few dozen nodes and hundreds of slices take a fraction of a second."""

import asyncio
import random
from collections import Counter
from collections.abc import Coroutine
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from simulation.fleet_hosts import CANCELED, Host
from simulation.fleet_troubles import FleetTroubles
from simulation.fleet_truth import Truth, TruthKeeper
from simulation.fleet_watch import FleetWatch, Violated
from simulation.virtual_time import VirtualClock, VirtualLoop

from computepool.hub.core.settings import Settings
from computepool.hub.jobs.brief import brief_of
from computepool.hub.jobs.service import NewJob
from computepool.hub.market.allowance import MeasuredCapacity
from computepool.hub.market.book import Book, Speeds
from computepool.hub.market.rates import HostPrice
from computepool.hub.nodes.benchmarks import hardware_digest
from computepool.hub.reputation.record import fresh, standing_of
from computepool.hub.reputation.reliability import HALF_LIFE
from computepool.hub.scheduling.fleet import FleetNode, free_of, traits_of
from computepool.hub.scheduling.leases import LeaseKeeper
from computepool.hub.scheduling.limits import Limits
from computepool.hub.scheduling.market_clock import MarketClock
from computepool.hub.scheduling.presence import Presence
from computepool.hub.scheduling.quotes import with_its_ceiling
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.hub.trust import service as verification
from computepool.protocol.capacity import Capacity, Gpu
from computepool.protocol.signing import Signed
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import IsolationLevel, NodeState
from computepool.protocol.timing import HEARTBEAT_SECONDS

HOSTS = ("user_farm", "user_student", "user_lab")
RENTERS = ("user_many", "user_cards", "user_thrifty", "user_lab")
"""The last one has nodes of its own."""
NEWCOMER = "user_newcomer"
GIB = 1024**3
CARDS = ("rtx-4090", "rtx-3060")
LOOK_SECONDS = 20.0
CREDIT = 1_000_000
TROUBLE_SECONDS = 350.0
CALM_SECONDS = 20_000.0


class PlainSigner:
    """In place of the hub's keys: nobody here doubts a signature."""

    def sign(self, type: str, body: bytes) -> Signed:
        return Signed.model_construct(type=type, key_id="", body=body.decode(), signature="")


class FleetWorld:
    def __init__(self, seed: int) -> None:
        self.loop = VirtualLoop()
        self.clock = VirtualClock(self.loop)
        self.rng = random.Random(seed)
        self.fired: Counter[str] = Counter()
        self.truth = Truth()
        self.db = TruthKeeper(self.truth, random.Random(seed + 1))
        self.hosts: dict[str, Host] = {}
        self.left = 0
        """Hosts that left for good."""
        self.end_attempt = verification.end_attempt
        self._kept: list[asyncio.Future[None]] = []
        self._jobs = 0

    def open(self) -> None:
        """On its loop."""
        context: Any = SimpleNamespace(
            settings=Settings(),
            db=self.db,
            clock=self.clock,
            now=self.clock.now,
            randbits=self.rng.getrandbits,
            hub_id="hub_simulated",
            fence_epoch=1,
            new_id=self._new_id,
        )
        self.book = Book(unproven_slices=self.rng.choice((0, 2)))
        self.scheduler = Scheduler(context, PlainSigner(), lambda brief, saved: {}, lambda attempt_id: None)  # type: ignore[arg-type]  # signs
        # There is no ledger here: nobody is ever short of credits.
        self.scheduler.purse.load(dict.fromkeys((*RENTERS, NEWCOMER, "user_large"), 10**17))
        self.market = MarketClock(context, self.book, self.scheduler)
        self.presence = Presence(context, self.scheduler)
        self.leases = LeaseKeeper(context, self.scheduler, self.presence, lambda attempt_id: None)
        self.watch = FleetWatch(self)

    def _new_id(self, kind: str) -> str:
        """Sorts by age."""
        self._jobs += 1
        return f"{kind}_{self._jobs:08}"

    def keep(self, task: "asyncio.Future[None]") -> None:
        self._kept.append(task)

    # ── nodes ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def join(self, owner: str | None = None) -> Host:
        rng, number = self.rng, len(self.hosts)
        node_id = f"node_{number}"
        gpus = tuple(
            Gpu(id=f"gpu-{index}", name=card, slug=card, memory_bytes=(24 if card == CARDS[0] else 12) * GIB)
            for card in [rng.choice(CARDS)]
            for index in range(rng.choice((0, 0, 1, 2, 4)))
        )
        level = (
            (IsolationLevel.PROCESS,) if rng.random() < 0.05 else (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP)
        )
        cpus = rng.choice((2, 4, 8)) if not gpus else 4 * len(gpus)
        capacity = Capacity(
            cpus=cpus, memory_bytes=cpus * 4 * GIB, disk_bytes=100 * GIB, gpus=gpus, isolation=level, networked=level
        )
        traits = traits_of(node_id, owner or rng.choice(HOSTS), rng.choice(("DE", "IN", "US")), (), capacity)
        node = FleetNode(traits, node_id, NodeState.OFFLINE, capacity, free_of(traits), seen_at=self.loop.time())
        host = self.hosts[node_id] = Host(self, node)
        if rng.random() < 0.1:
            host.breaks_jobs = rng.choice((0.3, 1.0))
            self.fired["bad_host"] += 1
        elif rng.random() < 0.1:
            host.is_idle = True
        elif rng.random() < 0.1:
            host.declines = True
        if rng.random() < 0.5:
            measured = MeasuredCapacity(cpus, frozenset(gpu.id for gpu in gpus))
            self.book.speeds[node_id] = Speeds(hardware_digest(capacity), {}, measured)
        self.set_price(host)
        self.scheduler.fleet.put(node)
        return host

    async def connect(self, host: Host) -> None:
        node = host.node
        node.line, node.reported, node.seen_at = host, NodeState.ONLINE, self.clock.monotonic()
        host.heard.set()
        await self.presence.settle(node)
        self.scheduler.wake()

    def set_price(self, host: Host) -> None:
        """A new one for the leases to come, or the pool's."""
        node, rng = host.node, self.rng
        per = "gpu" if node.capacity.gpus else "core"
        fair = 2 * CREDIT if per == "gpu" else CREDIT // 8
        floor, fixed = rng.choice(((None, None), (None, 3 * fair), (fair, None), (None, fair // 2), (None, 40 * fair)))
        price = None if floor is fixed else HostPrice(per, floor, fixed)  # type: ignore[arg-type]  # one of the two
        self.book.set_host_price(node.traits.node_id, price)
        node.traits = self.book.appraise(node.traits, node.capacity)
        self.scheduler.wake()

    def mark(self, host: Host) -> None:
        """The operator has checked its owner: from now on its claim is believed."""
        now, node_id = self.clock.now(), host.node.traits.node_id
        record = self.truth.records[node_id] = replace(self.truth.records.get(node_id) or fresh(now), marked=True)
        if not host.gone:
            self.scheduler.standings.put(node_id, standing_of(record, now, HALF_LIFE))
            self.scheduler.wake()

    async def leave(self, host: Host) -> None:
        """For good: as the engine does it when a node is banned."""
        host.gone, host.awake = True, False
        host.heard.clear()
        self.left += 1
        node = host.node
        self.scheduler.fleet.remove(node.traits.node_id)
        self.book.forget(node.traits.node_id)
        node.line, node.state = None, NodeState.BANNED
        await asyncio.shield(self._go(self.leases.lose_all(node)))  # as in the hub, nobody breaks that off
        self.scheduler.wake()

    # ── renters ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def submit(self, owner: str, spec: dict[str, Any]) -> str:
        parsed = parse_spec(spec)
        job_id = self._new_id("job")
        job = NewJob(
            id=job_id,
            owner_id=owner,
            submitted_by=owner,
            name="job",
            spec={},
            spec_digest="sha256:spec",
            bundle=None,
            priority=parsed.priority,
            retries_allowed=parsed.retries,
            slices=parsed.slices,
        )
        brief = brief_of(job_id, owner, "job", parsed, "sha256:spec", None)
        brief, ceiling = with_its_ceiling(self.scheduler.fleet, self.book, brief)
        return await self.scheduler.submit(replace(job, ceiling_micros=ceiling), brief, self.truth.store)  # type: ignore[arg-type]  # no session

    async def cancel(self, job_id: str) -> None:
        live = await self.db.run(self.truth.cancel, job_id)
        self.scheduler.canceled(job_id, final=self.truth.left[job_id] == 0)
        for row in live:
            host = self.hosts[row.lease.node_id]
            held = host.node.attempts.get(row.lease.attempt_id)
            if held is not None:
                held.stopped_at = self.clock.monotonic()
            if host.node.line is not None:
                host.stop(row.lease.attempt_id, row.lease.fence, CANCELED.reason)

    def make_spec(self, owner: str) -> dict[str, Any]:
        rng = self.rng
        seconds = rng.choice((5, 20, 60, 120))
        spec: dict[str, Any] = {
            "run": ["sim", str(seconds), rng.choice("00000001")],
            "resources": {"cpus": rng.choice((1, 1, 2)), "memory": "1GB", "disk": "1GB"},
            "max_runtime": f"{seconds + 30}s",
            "retries": rng.choice((0, 2)),
        }
        if owner == "user_many":
            spec["slices"] = rng.choice((10, 20, 50))
        elif owner == "user_cards":
            spec["resources"]["gpu"] = {"count": rng.choice((1, 1, 2, 4))}
            spec["slices"] = rng.choice((1, 4))
        else:
            spec["slices"] = rng.choice((1, 5, 10))
            spec["priority"] = rng.choice((0, 0, 5))
        if owner == "user_thrifty":
            spec["max_price"] = rng.choice(("0.05", "0.2", "1"))
            spec["preemptible"] = rng.random() < 0.8
        elif rng.random() < 0.2:
            spec["preemptible"] = True
        where = rng.choice(({}, {}, {}, {"country": ["DE"]}, {"min_reliability": 0.3}, {"trust": "mine"}))
        if where and not (where.get("trust") and owner != "user_lab"):
            spec["where"] = where
        return spec

    async def _rent(self, owner: str) -> None:
        rng = self.rng
        for _ in range(2):
            await asyncio.sleep(rng.uniform(0, TROUBLE_SECONDS * 0.4))
            job_id = await self.submit(owner, self.make_spec(owner))
            if rng.random() < 0.1:
                self.fired["cancel"] += 1
                await asyncio.sleep(rng.uniform(0, 60))
                await self.cancel(job_id)

    # ── a run ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        self.open()
        story = asyncio.ensure_future(self._live())
        await asyncio.wait([story, self.watch.broken], return_when=asyncio.FIRST_COMPLETED)
        self.watch.raise_if_violated()
        story.result()

    async def _live(self) -> None:
        for _ in range(self.rng.choice((6, 8, 10, 20))):
            await self.connect(self.join())
        if self.rng.random() < 0.4:
            self.scheduler.limits.set("user_many", Limits(slices=self.rng.choice((3, 10))))
            self.fired["limited_renter"] += 1
        for work in (self.scheduler.run(), self.leases.run(), self._beat(), self._tick()):
            self._go(work)
        looking = self._go(self._look())
        renters = [self._go(self._rent(owner)) for owner in RENTERS]
        troubles = FleetTroubles(self)
        self.db.breaks = 0.02
        trouble = self._go(troubles.run())
        await asyncio.sleep(TROUBLE_SECONDS)
        trouble.cancel()
        self.db.breaks = 0.0
        await troubles.calm_down()
        await troubles.find_large(has_two_gpus)
        await asyncio.gather(*renters)
        await self._rest_of_it()
        looking.cancel()
        self.watch.look()
        self.watch.check_end()

    async def _rest_of_it(self) -> None:
        """In peace: one who needs two GPUs of a node where others, with shorter slices, never leave two at once; and a
        newcomer with a single slice beside a renter with many."""
        big = min(filter(has_two_gpus, self.hosts.values()), key=lambda host: len(host.node.capacity.gpus))
        self.book.set_host_price(big.node.traits.node_id, None)
        big.node.traits = self.book.appraise(big.node.traits, big.node.capacity)
        there, least = {"node": big.node.traits.node_id}, {"cpus": 1, "memory": "1GB"}
        for seconds in (35, 50):
            small = {"run": ["sim", str(seconds), "0"], "max_runtime": "80s", "resources": {**least, "gpu": 1}}
            await self.submit("user_cards", {**small, "where": there, "slices": 11 * len(big.node.capacity.gpus)})
        many = {"run": ["sim", "60", "0"], "slices": 25, "max_runtime": "90s", "resources": least}
        await self.submit("user_many", many)
        two = {"run": ["sim", "20", "0"], "max_runtime": "60s", "resources": {**least, "gpu": {"count": 2}}}
        large = await self.submit("user_large", {**two, "where": there})
        single = await self.submit(NEWCOMER, {"run": ["sim", "5", "0"], "max_runtime": "30s"})
        self.watch.expect_soon(large=large, single=single)
        end = self.loop.time() + CALM_SECONDS
        while self.loop.time() < end:
            await asyncio.sleep(30.0)
            if not self.watch.somebody_could_go_on():
                await asyncio.sleep(60.0)
                return
        raise Violated(f"{len(self.scheduler.queue)} slices still wait after {CALM_SECONDS:.0f} s of peace")

    def _go(self, work: Coroutine[Any, Any, None]) -> "asyncio.Task[None]":
        task = asyncio.create_task(work)
        self._kept.append(task)
        return task

    async def _beat(self) -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            for host in self.hosts.values():
                host.beat()

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(60.0)
            await self.market.tick()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.watch.look()


def has_two_gpus(host: Host) -> bool:
    """And takes strangers' work now."""
    node = host.node
    is_open = node.traits.standing.quarantined_until is None and node.traits.standing.slots is None
    return not host.gone and is_open and len(node.capacity.gpus) >= 2 and len(node.capacity.isolation) > 1
