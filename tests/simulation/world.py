"""The whole grid in one process: a hub, agents behind lines that break, a renter who does not give up."""

import asyncio
import random
import shutil
from contextlib import suppress
from contextvars import Context
from dataclasses import dataclass, field
from pathlib import Path

from simulation.invariants import Watch
from simulation.parts import (
    AgentEnd,
    Faults,
    HubEnd,
    Ledger,
    MemoryStore,
    NoTransfer,
    SimulatedDatabase,
    SimulatedOutput,
    SimulatedSandbox,
    Wire,
    offload_in_place,
)
from simulation.virtual_time import Process, VirtualClock, VirtualLoop, spawn
from sqlalchemy.orm import Session
from support.agents import offload_inline

from computepool.agent.agent import Agent, Parts
from computepool.agent.home import AgentHome, Identity, NodeRecord
from computepool.agent.link.base import Link, LinkUnavailable
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
from computepool.hub.jobs import ending, queries, submission
from computepool.hub.jobs.views import JobView
from computepool.hub.nodes.tables import Node
from computepool.protocol.capacity import Capacity
from computepool.protocol.spec import parse_spec
from computepool.protocol.states import JOB_FINAL, IsolationLevel, NodeState

OWNER = "user_owner"
SECRET = b"a secret key for the simulation, 32+"
GIB = 1024**3


@dataclass(eq=False)
class SimulatedNode:
    node_id: str
    home: AgentHome
    identity: Identity
    clock: VirtualClock
    process: Process | None = None
    wires: list[Wire] = field(default_factory=list)
    partitioned_until: float = 0.0
    starts: int = 0


@dataclass
class Plan:
    """How large a world is, and how long its troubles last. Virtual seconds."""

    nodes: int = 3
    jobs: int = 8
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
            settings=Settings(home=self.folder),
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
        await engine.start()
        self.hub = engine
        started.set()

    def crash_hub(self) -> None:
        if self.hub_process is not None and self.hub_process.alive:
            self.hub_process.alive = False
            self.hub = None
            for node in self.nodes:
                for wire in node.wires:
                    wire.break_now(hub_notices=True)
            # In a context of its own: what the dead process asked for does not happen.
            self.loop.call_later(self.rng.uniform(0.5, 60.0), self._restart, context=Context())

    def _restart(self) -> None:
        self._starting = self.loop.create_task(self.start_hub())

    # ── agents ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def add_node(self, index: int) -> None:
        home = AgentHome(self.folder / f"agent-{index}")
        home.prepare()
        identity = home.identity()
        node = SimulatedNode(f"node_{index}", home, identity, VirtualClock(self.loop))
        node.clock.wall_error_seconds = self.rng.uniform(-300, 300)
        assert self.hub is not None
        row = Node(
            id=node.node_id,
            owner_id=OWNER,
            name=node.node_id,
            state=NodeState.OFFLINE,
            drain_requested=False,
            sign_key=identity.public_sign_key,
            seal_key=identity.public_seal_key,
            country="DE",
            tags=[],
            capacity=self._capacity().model_dump(mode="json"),
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

    def _capacity(self) -> Capacity:
        return Capacity(cpus=2, memory_bytes=8 * GIB, disk_bytes=50 * GIB, isolation=(IsolationLevel.BUBBLEWRAP,))

    def start_agent(self, node: SimulatedNode) -> None:
        node.starts += 1
        node.process = Process(f"{node.node_id}#{node.starts}")
        spawn(self.loop, node.process, self._run_agent(node))

    async def _run_agent(self, node: SimulatedNode) -> None:
        agent = Agent(
            Parts(
                home=node.home,
                node=node.home.node(),
                identity=node.identity,
                capacity=self._capacity(),
                instance_id=f"{node.node_id}-{node.starts}".ljust(32, "x"),
                agent_version="1",
                clock=node.clock,
                rng=random.Random(self.rng.random()),
                offload=offload_inline,
                connect=lambda kind: self._connect(node, kind),
                sandboxes=[SimulatedSandbox(node.home.attempts, self.ledger)],
                transfer=NoTransfer(),
                open_output=SimulatedOutput,
            )
        )
        await agent.run()

    async def _connect(self, node: SimulatedNode, kind: LinkKind) -> Link:
        await asyncio.sleep(0.01)
        partitioned = self.loop.time() < node.partitioned_until
        if self.hub is None or self.hub_sleeps or partitioned or kind is not LinkKind.WEBSOCKET:
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
            self.loop.call_later(self.rng.choice((1.0, 20.0, 60.0, 300.0)), self.start_agent, node)

    # ── the renter ───────────────────────────────────────────────────────────────────────────────────────────────────

    def principal(self) -> Principal:
        return Principal(OWNER, Role.USER, frozenset(Scope), frozenset({OWNER}), "access")

    async def submit(self, key: str, spec: dict[str, object]) -> None:
        """Until it is acknowledged. An answer may be lost after the work was done; the key makes that harmless."""
        while True:
            engine = self.hub
            if engine is not None:
                work = asyncio.ensure_future(self._submit_once(engine, key, spec))
                done, _ = await asyncio.wait([work], timeout=5.0)
                if done and not self.faults.fires("submit_reply_lost", 0.2):
                    self.acknowledged[key] = work.result()
                    return
            await asyncio.sleep(self.rng.uniform(0.5, 10))

    async def _submit_once(self, engine: Engine, key: str, spec: dict[str, object]) -> str:
        assert self.hub_process is not None
        parsed = parse_spec(spec)
        request = submission.Request(self.principal(), key, digest_of(repr(spec).encode()))
        job, brief, once = submission.prepare(engine.context, request, parsed, None)
        work = spawn(self.loop, self.hub_process, engine.submit(job, brief, once.store))
        return str(await work)

    async def cancel(self, job_id: str) -> None:
        engine = self.hub
        if engine is None or self.hub_process is None:
            return
        spawn(self.loop, self.hub_process, self._cancel(engine, job_id))

    async def _cancel(self, engine: Engine, job_id: str) -> None:
        def act(session: Session) -> ending.Canceled:
            job = queries.load_job(session, self.principal(), job_id)
            return ending.cancel(session, job, engine.context.now(), actor=OWNER)

        canceled = await engine.context.db.run(act)
        engine.canceled(job_id, final=canceled.state in JOB_FINAL)
        for attempt_id, fence, node_id in canceled.live:
            engine.stop_attempt(node_id, attempt_id, fence, "canceled")

    async def show(self, job_id: str) -> JobView | None:
        if self.hub is None:
            return None
        with suppress(PoolError):
            return await self.hub.context.db.read(queries.show_job, self.principal(), job_id)
        return None

    # ── a run ────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def run(self) -> None:
        self.faults.enabled = False
        await self.start_hub()
        for index in range(self.plan.nodes):
            await self.add_node(index)
        self.faults.enabled = True
        renters = [asyncio.create_task(self._rent(index)) for index in range(self.plan.jobs)]
        trouble = asyncio.create_task(self._trouble())
        looking = asyncio.create_task(self._look_for_stuck())
        await asyncio.sleep(self.plan.trouble_seconds)
        trouble.cancel()
        self.faults.enabled = False
        await self._calm_down()
        async with asyncio.timeout(self.plan.calm_seconds):
            await asyncio.gather(*renters)
        await self._settle()
        if looking.done():
            looking.result()  # a promise that was broken on the way
        looking.cancel()
        await self.watch.check_end()

    async def _look_for_stuck(self) -> None:
        while True:
            await asyncio.sleep(5)
            self.watch.check_stuck()

    async def _settle(self) -> None:
        """Time for everything to come true: until it has, or until it is clear that it never will."""
        deadline = self.loop.time() + self.plan.calm_seconds
        while self.loop.time() < deadline:
            await asyncio.sleep(20)
            if self.hub is not None and self.watch.count_open_jobs() == 0:
                await asyncio.sleep(200)  # late results still come in, and must change nothing
                return

    async def _rent(self, index: int) -> None:
        await asyncio.sleep(self.rng.uniform(0, self.plan.trouble_seconds * 0.6))
        seconds = self.rng.choice((0.5, 5.0, 40.0, 130.0))
        code = self.rng.choice((0, 0, 0, 1))
        spec: dict[str, object] = {
            "run": ["sim", str(seconds), str(code), str(self.rng.choice((0, 100, 5000)))],
            "slices": self.rng.choice((1, 1, 3)),
            "retries": self.rng.choice((0, 2)),
            "resources": {"cpus": self.rng.choice((1, 2)), "memory": "1GB", "disk": "1GB"},
        }
        key = f"key-{index}"
        await self.submit(key, spec)
        if self.faults.fires("cancel", 0.15):
            await asyncio.sleep(self.rng.uniform(0, 60))
            await self.cancel(self.acknowledged[key])

    async def _trouble(self) -> None:
        kinds = [self._restart_hub, self._sleep_hub]
        if not self.plan.hub_restarts_only:
            kinds += [self._kill_agent, self._cut_line, self._partition, self._sleep, self._jump_clock]
        while True:
            await asyncio.sleep(self.rng.expovariate(1 / 25))
            self.rng.choice(kinds)()

    def _restart_hub(self) -> None:
        self.faults.fired["hub_crash"] += 1
        self.crash_hub()

    def _sleep_hub(self) -> None:
        """The laptop that the hub runs on: it hears nobody, and wakes up with clocks that went on."""
        if self.hub is not None and self.hub_process is not None and not self.hub_sleeps:
            self.faults.fired["hub_sleep"] += 1
            seconds = self.rng.choice((30.0, 100.0, 160.0, 200.0))
            self.hub_process.asleep_until = self.hub_up_since = self.loop.time() + seconds
            for node in self.nodes:
                for wire in node.wires:  # what is said to it is not heard; the hub finds its lines as they were
                    wire.break_now(hub_notices=self.rng.random() < 0.5)

    @property
    def hub_sleeps(self) -> bool:
        return self.hub_process is not None and self.hub_process.asleep_until > self.loop.time()

    def _kill_agent(self) -> None:
        self.faults.fired["agent_crash"] += 1
        self.crash_agent(self.rng.choice(self.nodes))

    def _cut_line(self) -> None:
        self.faults.fired["line_cut"] += 1
        for wire in self.rng.choice(self.nodes).wires:
            wire.break_now(hub_notices=self.rng.random() < 0.5)

    def _partition(self) -> None:
        """Long ones end around the moment when the lease does: there rescue and completion meet."""
        self.faults.fired["partition"] += 1
        node = self.rng.choice(self.nodes)
        seconds = self.rng.choice((5.0, 50.0, self.rng.uniform(110, 160), 200.0))
        node.partitioned_until = self.loop.time() + seconds
        for wire in node.wires:
            wire.break_now(hub_notices=self.rng.random() < 0.5)

    def _sleep(self) -> None:
        self.faults.fired["laptop_sleep"] += 1
        node = self.rng.choice(self.nodes)
        if node.process is not None:
            node.process.asleep_until = self.loop.time() + self.rng.choice((10.0, 100.0, 140.0, 400.0))

    def _jump_clock(self) -> None:
        self.faults.fired["clock_jump"] += 1
        self.rng.choice(self.nodes).clock.wall_error_seconds += self.rng.choice((-3600.0, 7200.0))

    async def _calm_down(self) -> None:
        """Everything that was broken is mended: from here on all that was promised must come true."""
        for node in self.nodes:
            node.partitioned_until = 0.0
            if node.process is not None:
                node.process.asleep_until = min(node.process.asleep_until, self.loop.time() + 1)
