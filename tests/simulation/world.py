"""The whole grid in one process: a hub, agents behind lines that break, a renter who does not give up."""

import asyncio
import random
import shutil
from collections.abc import Callable
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from simulation.invariants import Watch
from simulation.jobs import KINDS, Ledger, Outdoors, SimulatedOutput, SimulatedSandbox
from simulation.market_life import Hosts
from simulation.money import choose_instalments
from simulation.owners import Person, SimulatedWatch
from simulation.parts import (
    AgentEnd,
    Faults,
    HubEnd,
    MemoryStore,
    SimulatedDatabase,
    SimulatedTransfer,
    Wire,
    offload_in_place,
)
from simulation.specs import make_checked_spec, make_spec
from simulation.troubles import Troubles
from simulation.virtual_time import Process, VirtualClock, VirtualLoop, spawn
from support.agents import offload_inline

from computepool.agent.agent import Agent, Parts
from computepool.agent.home import AgentHome, Identity, NodeRecord
from computepool.agent.link.base import Link, LinkUnavailable
from computepool.agent.owner.decide import Decision
from computepool.agent.owner.watch import OwnerWatch
from computepool.agent.ports import LinkKind
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.core.bus import Bus
from computepool.hub.core.context import Context as HubContext
from computepool.hub.core.errors import PoolError
from computepool.hub.core.facts import load_facts
from computepool.hub.core.http import Principal, Role, Scope
from computepool.hub.core.idempotency import digest_of
from computepool.hub.core.keyring import load_keyring
from computepool.hub.core.settings import Settings
from computepool.hub.engine import Engine
from computepool.hub.jobs import queries, submission
from computepool.hub.jobs.views import JobView
from computepool.hub.nodes.tables import Node
from computepool.protocol.capacity import Capacity, Gpu
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import IsolationLevel, NodeState

OWNER, STRANGER, LAB, FARM = "user_owner", "user_stranger", "user_lab", "user_farm"
OWNERS = (OWNER, LAB, FARM)
"""Whose the nodes are; the first of them rents too, and the stranger only rents."""
SECRET = b"a secret key for the simulation, 32+"
GIB = 1024**3
ANSWER_SECONDS = 5.0
"""For so much virtual time a renter waits for the answer to a submit."""
LOOK_SECONDS = 5.0
"""What must not run is found as it starts, goes on, wakes up or is overtaken; this is for what lasts too long."""


@dataclass(eq=False)
class SimulatedNode:
    node_id: str
    home: AgentHome
    identity: Identity
    clock: VirtualClock
    person: Person | None = None
    """Who sits at it; a machine in a cellar has nobody."""
    process: Process | None = None
    agent: Agent | None = None
    wires: list[Wire] = field(default_factory=list)
    partitioned_until: float = 0.0
    in_peace_until: float = 0.0
    """Nothing else happens to it before."""
    troubled_at: float = 0.0
    """When something last happened to it, or will have ended, that may cost it its attempts."""
    starts: int = 0
    cheats: bool = False
    gpus: int = 0


@dataclass
class Plan:
    """How large a world is, and how long its troubles last. Virtual seconds."""

    nodes: int = 3
    jobs: int = 7
    trouble_seconds: float = 400.0
    calm_seconds: float = 2500.0
    hub_restarts_only: bool = False


class World:
    def __init__(self, seed: int, plan: Plan, folder: Path, template: Path) -> None:
        self.loop = VirtualLoop()
        self.rng = random.Random(seed)
        self.plan = plan
        self.faults = Faults(random.Random(seed + 1))
        self.folder = folder
        self.database = folder / "pool.db"
        shutil.copy(template, self.database)
        self.store = MemoryStore()
        self.ledger = Ledger()
        self.clock = VirtualClock(self.loop)
        self.hub: Engine | None = None
        self.hub_process: Process | None = None
        self.hub_up_since = 0.0
        self.nodes: list[SimulatedNode] = []
        self.watch = Watch(self)
        self.acknowledged: dict[str, str] = {}
        """Idempotency key → the job id that the hub answered with."""
        self.renters: dict[str, str] = {}
        self.prices: dict[str, int] = {}
        """What hosts ask for a core, where the hub is known to have heard it."""
        self.hosts = Hosts(self)
        self.those_who_rent = (OWNER, STRANGER)
        self.those_who_spend = (LAB, FARM) if seed % 2 else ()
        choose_instalments(short=self.rng.random() < 0.5)
        self.compares = not plan.hub_restarts_only and self.rng.random() < 0.5
        """Somebody wants their results compared, and somebody may make theirs up."""
        self._compared = range(len(KINDS) - (3 if self.those_who_spend else 0), len(KINDS) + 1)
        """Jobs: where hosts spend what they earn, more of them, so that it is not there when they are found out."""

    # ── the hub ──────────────────────────────────────────────────────────────────────────────────────────────────────

    async def start_hub(self) -> None:
        process = Process("hub")
        self.hub_process = process
        started = asyncio.Event()
        spawn(self.loop, process, self._run_hub(process, started))
        await started.wait()
        self.hub_up_since = self.loop.time()

    async def _run_hub(self, process: Process, started: asyncio.Event) -> None:
        db = SimulatedDatabase(self.database, self.faults, self.crash_hub, self.watch.check_commit)
        facts = await db.run(load_facts, "hub_simulated")
        keyring = await db.run(load_keyring, SECRET, self.clock.now())
        signer = BlobSigner(SECRET, self.clock)
        context = HubContext(
            # A canary for a node that left, or with nobody left to judge, would keep a world from coming to rest.
            settings=Settings(home=self.folder, canary_rate_per_day=0, confirm_findings=False),
            db=db,
            clock=self.clock,
            randbits=self.rng.getrandbits,
            bus=Bus(),
            offload=offload_in_place,
            secret_key=SECRET,
            hub_id=facts.hub_id,
            fence_epoch=facts.fence_epoch,
        )
        engine = Engine(context, keyring, self.store, signer)
        self.watch.hub_started(engine)
        await engine.start()
        self.hub = engine
        started.set()

    def crash_hub(self, away_seconds: float | None = None) -> None:
        if self.hub_process is not None and self.hub_process.alive:
            self.hub_process.alive = False
            self.hub = None
            for node in self.nodes:
                for wire in node.wires:
                    wire.break_now(hub_notices=True)
            # In a context of its own: what the dead process asked for does not happen.
            seconds = self.rng.uniform(0.5, 60.0) if away_seconds is None else away_seconds
            self.loop.call_later(seconds, self._restart, context=Context())

    def _restart(self) -> None:
        self._starting = self.loop.create_task(self.start_hub())

    # ── agents ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def add_node(self, index: int) -> None:
        home = AgentHome(self.folder / f"agent-{index}")
        home.prepare()
        identity = home.identity()
        person = Person() if index != 2 else None
        node = SimulatedNode(f"node_{index}", home, identity, VirtualClock(self.loop), person)
        node.clock.wall_error_seconds = self.rng.uniform(-300, 300)
        node.gpus = max(0, 2 - index)
        node.cheats = self.compares and index == 2 and self.rng.random() < 0.7
        assert self.hub is not None
        row = Node(
            id=node.node_id,
            owner_id=OWNERS[index % len(OWNERS)] if not self.plan.hub_restarts_only else OWNER,
            name=node.node_id,
            state=NodeState.OFFLINE,
            drain_requested=False,
            sign_key=identity.public_sign_key,
            seal_key=identity.public_seal_key,
            country="DE",
            tags=[],
            capacity=self._capacity(node).model_dump(mode="json"),
            agent_version="1",
            created_at=self.clock.now(),
        )
        await self.hub.context.db.run(lambda session: session.add(row))
        home.save_node(
            NodeRecord(
                hub_url="http://hub",
                hub_id=self.hub.context.hub_id,
                node_id=node.node_id,
                name=node.node_id,
                hub_keys=self.hub.keyring.public,
            )
        )
        self.nodes.append(node)
        self.start_agent(node)

    def _capacity(self, node: SimulatedNode) -> Capacity:
        level = (IsolationLevel.BUBBLEWRAP,)
        cards = [Gpu(id=f"gpu-{each}", name="Card", slug="card", memory_bytes=8 * GIB) for each in range(node.gpus)]
        return Capacity(
            cpus=2, memory_bytes=8 * GIB, disk_bytes=50 * GIB, gpus=tuple(cards), isolation=level, networked=level
        )

    def start_agent(self, node: SimulatedNode) -> None:
        node.starts += 1
        node.process = Process(f"{node.node_id}#{node.starts}", cheats=node.cheats)
        spawn(self.loop, node.process, self._run_agent(node))

    async def _run_agent(self, node: SimulatedNode) -> None:
        process, person = node.process, node.person
        node.agent = agent = Agent(
            Parts(
                home=node.home,
                node=node.home.node(),
                identity=node.identity,
                capacity=self._capacity(node),
                instance_id=f"{node.node_id}-{node.starts}".ljust(32, "x"),
                agent_version="1",
                clock=node.clock,
                rng=random.Random(self.rng.random()),
                offload=offload_inline,
                connect=lambda kind: self._connect(node, kind),
                sandboxes=[SimulatedSandbox(node.home.attempts, self.ledger)],
                transfer=SimulatedTransfer(self.store, self.faults, lambda: self._reaches_hub(node)),
                open_output=SimulatedOutput,
                outside=Outdoors(self.ledger),  # type: ignore[arg-type]  # a way out that leads nowhere
                open_watch=None if person is None else partial(_watch, person, node.clock),
            )
        )
        await agent.run()
        assert process is not None
        process.alive = False  # drained
        self.loop.call_later(self.rng.uniform(1, 60), self.start_agent, node, context=Context())

    def _reaches_hub(self, node: SimulatedNode) -> bool:
        return self.hub is not None and not self.hub_sleeps and self.loop.time() >= node.partitioned_until

    async def _connect(self, node: SimulatedNode, kind: LinkKind) -> Link:
        await asyncio.sleep(0.01)
        if self.hub is None or not self._reaches_hub(node) or kind is not LinkKind.WEBSOCKET:
            raise LinkUnavailable("the hub cannot be reached")
        wire = Wire(self.faults)
        node.wires = [*node.wires[-3:], wire]
        assert self.hub_process is not None
        spawn(self.loop, self.hub_process, self.hub.gateway.serve(HubEnd(wire)))
        return AgentEnd(wire)

    def crash_agent(self, node: SimulatedNode) -> None:
        if node.process is not None and node.process.alive:
            node.process.alive = False
            for wire in node.wires:
                wire.break_now(hub_notices=self.rng.random() < 0.7)
            self.loop.call_later(self.rng.choice((1.0, 20.0, 60.0, 300.0)), self.start_agent, node, context=Context())

    # ── the renter ───────────────────────────────────────────────────────────────────────────────────────────────────

    def principal(self, owner: str) -> Principal:
        return Principal(owner, Role.USER, frozenset(Scope), frozenset({owner}), "access")

    async def submit(self, key: str, owner: str, spec: dict[str, object]) -> None:
        """Until it is acknowledged. An answer may be lost after the work was done; the key makes that harmless."""
        while True:
            engine = self.hub
            if engine is not None:
                work = asyncio.ensure_future(self._submit_once(engine, key, owner, spec))
                done, _ = await asyncio.wait([work], timeout=ANSWER_SECONDS)
                if done and not self.faults.fires("submit_reply_lost", 0.2):
                    self.acknowledged[key] = work.result()
                    return
            await asyncio.sleep(self.rng.uniform(0.5, 10))

    async def _submit_once(self, engine: Engine, key: str, owner: str, spec: dict[str, object]) -> str:
        assert self.hub_process is not None
        parsed = parse_spec(spec)
        request = submission.Request(self.principal(owner), key, digest_of(repr(spec).encode()))
        job, brief, once = submission.prepare(engine.context, request, parsed, None)
        work = spawn(self.loop, self.hub_process, engine.submit(job, brief, once.store))
        return str(await work)

    async def cancel(self, job_id: str, owner: str) -> None:
        engine = self.hub
        if engine is None or self.hub_process is None:
            return
        spawn(self.loop, self.hub_process, engine.cancel(job_id, self.principal(owner)))

    async def show(self, key: str) -> JobView | None:
        if self.hub is None:
            return None
        with suppress(PoolError):
            return await self.hub.context.db.read(
                queries.show_job, self.principal(self.renters[key]), self.acknowledged[key]
            )
        return None

    # ── a run ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        """Ends at the first broken promise: whoever was interrupted by it would try again for ever."""
        story = asyncio.ensure_future(self._live())
        await asyncio.wait([story, self.watch.broken], return_when=asyncio.FIRST_COMPLETED)
        self.watch.raise_if_violated()
        story.result()

    async def _live(self) -> None:
        self.faults.enabled = False
        await self.start_hub()
        await self.watch.money.begin_with_paid_credits()
        for index in range(self.plan.nodes):
            await self.add_node(index)
        self.faults.enabled = True
        renters = [asyncio.create_task(self._rent(index)) for index in range(self.plan.jobs)]
        troubles = Troubles(self)
        trouble = asyncio.create_task(troubles.run())
        looking = asyncio.create_task(self._look())
        spending = asyncio.create_task(self.watch.money.spend_earnings())
        await asyncio.sleep(self.plan.trouble_seconds)
        trouble.cancel()
        self.faults.enabled = False
        troubles.calm_down()
        calming = asyncio.create_task(self.hosts.ask_for_nothing())
        giving = asyncio.create_task(self.watch.money.make_rich())
        try:
            async with asyncio.timeout(self.plan.calm_seconds):
                await asyncio.gather(*renters)
        except TimeoutError:
            self.watch.raise_if_violated()  # then it is no wonder
            raise
        await self._settle()
        looking.cancel()
        spending.cancel()
        calming.cancel()
        giving.cancel()
        self.watch.raise_if_violated()
        await self.watch.check_end()

    async def _look(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            self.watch.look()

    async def _settle(self) -> None:
        """Time for everything to come true: until it has, or until it is clear that it never will."""
        deadline = self.loop.time() + self.plan.calm_seconds
        while self.loop.time() < deadline:
            await asyncio.sleep(20)
            if self.hub is not None and self.watch.count_open_jobs() == 0:
                await asyncio.sleep(200)  # late results still come in, and must change nothing
                return

    @property
    def hub_sleeps(self) -> bool:
        return self.hub_process is not None and self.hub_process.asleep_until > self.loop.time()

    async def _rent(self, index: int) -> None:
        await asyncio.sleep(self.rng.uniform(0, self.plan.trouble_seconds * 0.6))
        owner = self.rng.choice((OWNER, STRANGER))
        if self.compares and index in self._compared:
            spec = make_checked_spec(self.rng, self.faults)
        else:
            spec = make_spec(self.rng, self.faults, KINDS[index % len(KINDS)], harmless=self.plan.hub_restarts_only)
        key = f"key-{index}"
        self.renters[key] = owner
        await self.submit(key, owner, spec)
        if self.faults.fires("cancel", 0.15):
            await asyncio.sleep(self.rng.uniform(0, 60))
            await self.cancel(self.acknowledged[key], owner)


def _watch(
    person: Person, clock: VirtualClock, *, on_change: Callable[[Decision], None], **_unused: object
) -> OwnerWatch:
    return SimulatedWatch(person, clock, on_change)  # type: ignore[return-value]  # what the agent asks of it, it has
