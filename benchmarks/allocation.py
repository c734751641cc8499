"""How long a slice takes to find its node among many: the real engine in this process, agents at in-memory links."""

import asyncio
import itertools
import random
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import structlog

from benchmarks.crowd import AT_ONCE, GIB, SMALL, Invented, SimulatedAgent, enrol, invent
from benchmarks.measure import Data, summary_ms
from computepool.agent.link.base import Link, LinkClosed
from computepool.hub import commands
from computepool.hub.core.http import Principal, Role
from computepool.hub.core.idempotency import digest_of
from computepool.hub.engine import Engine
from computepool.hub.gateway.pipe import PipeClosed
from computepool.hub.jobs import submission
from computepool.hub.market.requirements import requirements_of
from computepool.hub.opening import open_engine
from computepool.protocol.capacity import Capacity, Gpu
from computepool.protocol.spec import JobSpec, parse_spec
from computepool.protocol.timing import HEARTBEAT_SECONDS

SEED = 7
COUNTRIES = ("IN", "US", "DE", None)
CARDS = ("rtx-4090", 24), ("rtx-3090", 24), ("rtx-3060", 12)
SETTLE_SECONDS = 1.0
"""For the hub to take in all heartbeats."""
SILENT = 50
"""The level above all others, so that a thousand connections are not a thousand lines."""


class MemoryLink:
    """The agent's end; `pipe` is the hub's."""

    def __init__(self) -> None:
        self._up: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._down: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.pipe = _Pipe(self._up, self._down)

    async def send(self, raw: bytes) -> None:
        self._up.put_nowait(raw)

    async def receive(self) -> bytes:
        raw = await self._down.get()
        if raw is None:
            raise LinkClosed("the hub is gone")
        return raw

    async def close(self) -> None:
        self._up.put_nowait(None)


class _Pipe:
    def __init__(self, up: "asyncio.Queue[bytes | None]", down: "asyncio.Queue[bytes | None]") -> None:
        self._up = up
        self._down = down

    async def receive(self) -> bytes:
        raw = await self._up.get()
        if raw is None:
            raise PipeClosed
        return raw

    async def send(self, raw: bytes) -> None:
        self._down.put_nowait(raw)

    async def close(self) -> None:
        self._up.put_nowait(None)
        self._down.put_nowait(None)


def fleet(count: int) -> list[Invented]:
    """A pool of home computers: some without a card, most with one, some with two; in four places."""
    rng = random.Random(SEED)
    return invent([(_machine(rng), rng.choice(COUNTRIES)) for _ in range(count)])


def _machine(rng: random.Random) -> Capacity:
    cards = rng.choice((0, 1, 1, 2))
    name, memory_gib = rng.choice(CARDS)
    gpus = tuple(
        Gpu(id=f"gpu-{number}", name=name, slug=name, memory_bytes=memory_gib * GIB) for number in range(cards)
    )
    return SMALL.model_copy(update={"gpus": gpus, "cpus": float(rng.choice((4, 8, 16)))})


def wishes() -> Sequence[JobSpec]:
    """What people ask for; every one can be had somewhere."""
    asked: list[dict[str, Any]] = [
        {},
        {"resources": {"cpus": "2+", "memory": "4GB+"}},
        {"resources": {"gpu": "24GB+"}},
        {"resources": {"gpu": "rtx-4090"}},
        {"resources": {"gpu": "rtx-3060:2"}},
        {"where": {"country": ["IN"]}},
    ]
    return [parse_spec({"run": ["/bin/true"], **one}) for one in asked]


def measure(folder: Path, nodes: int, submits: int, looks: int) -> Data:
    settings = commands.load_settings(home=folder)
    commands.migrate(settings)
    owner_id = asyncio.run(commands.prepare(settings, None)).admin_id
    invented = fleet(nodes)
    enrol(invented, settings.effective_database_url, owner_id)
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(SILENT))
    return asyncio.run(_measure(settings, owner_id, invented, submits, looks))


async def _measure(settings: Any, owner_id: str, invented: Sequence[Invented], submits: int, looks: int) -> Data:
    engine = await open_engine(settings)
    await engine.start()
    serving: list[asyncio.Task[None]] = []
    try:
        began = time.perf_counter()
        await _connect_all(engine, invented, serving)
        connecting = time.perf_counter() - began
        submitted = await _submit(engine, owner_id, submits)
        leased = sum(len(node.attempts) for node in engine.scheduler.fleet)
        looked = _look(engine, owner_id, looks)
    finally:
        await engine.stop()
        await asyncio.gather(*serving)
        engine.context.db.close()
    return {
        "nodes": len(invented),
        "submit": summary_ms(submitted),
        "leased": leased,
        "choose": summary_ms(looked),
        "connecting_seconds": round(connecting, 2),
    }


async def _connect_all(engine: Engine, invented: Sequence[Invented], serving: "list[asyncio.Task[None]]") -> None:
    limit = asyncio.Semaphore(AT_ONCE)

    async def open_link() -> Link:
        link = MemoryLink()
        serving.append(asyncio.create_task(engine.gateway.serve(link.pipe)))
        return link

    async def connect(one: Invented) -> None:
        async with limit:
            agent = SimulatedAgent(one, "memory", engine.context.hub_id, open_link)
            connected.append((agent, (await agent.begin())[0]))

    connected: list[tuple[SimulatedAgent, Link]] = []

    async def beat() -> None:
        for agent, link in connected:
            await agent.beat(link)

    async def beat_on() -> None:
        while True:
            await asyncio.sleep(HEARTBEAT_SECONDS)
            await beat()

    beats = asyncio.create_task(beat_on())
    await asyncio.gather(*(connect(one) for one in invented))
    beats.cancel()
    await beat()  # nobody counts as silent while it is measured
    await asyncio.sleep(SETTLE_SECONDS)
    missing = sum(not node.takes_work for node in engine.scheduler.fleet)
    if missing:
        raise RuntimeError(f"{missing} of {len(invented)} nodes take no work")


async def _submit(engine: Engine, owner_id: str, count: int) -> list[float]:
    """Placed, signed, durable and on its way to the node; what HTTP and the reading of the spec cost is not in it."""
    caller = Principal(owner_id, Role.ADMIN, Role.ADMIN.scopes, frozenset({owner_id}), "access")
    samples = []
    for spec in itertools.islice(itertools.cycle(wishes()), count):
        request = submission.Request(caller, None, digest_of(b""))
        began = time.perf_counter()
        job, brief, once = submission.prepare(engine.context, request, spec, None)
        await engine.submit(job, brief, once.store)
        samples.append(time.perf_counter() - began)
        await asyncio.sleep(0)
    return samples


def _look(engine: Engine, owner_id: str, count: int) -> list[float]:
    """The choice of a node alone."""
    samples = []
    for spec in itertools.islice(itertools.cycle(wishes()), count):
        needs = requirements_of(spec, owner_id)
        began = time.perf_counter()
        engine.scheduler.fleet.choose(needs)
        samples.append(time.perf_counter() - began)
    return samples
