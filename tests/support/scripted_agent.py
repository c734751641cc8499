"""An agent that does what a test tells it: real keys, real messages, over an in-memory link. It may misbehave."""

import asyncio
import base64
import contextlib
import hashlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import count
from typing import Any, TypeVar

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy.orm import Session
from support.engine import ALICE, Pool
from support.waiting import patience

from computepool.hub.gateway.pipe import PipeClosed
from computepool.hub.nodes import service as nodes
from computepool.hub.nodes.benchmarks import hardware_digest, save_benchmark
from computepool.hub.nodes.tables import Node
from computepool.hub.scheduling.scoring import claimed_gflops
from computepool.protocol.benchmark import CPU
from computepool.protocol.capacity import Capacity, Gpu
from computepool.protocol.enrol import ENROL_PROOF, EnrolRequest, enrol_proof_body
from computepool.protocol.manifest import Manifest, open_manifest
from computepool.protocol.messages import (
    LINK_PROOF,
    AttemptRef,
    Challenge,
    Finished,
    FromHub,
    Gone,
    Goodbye,
    Heartbeat,
    HeartbeatAck,
    Hello,
    Holding,
    LogAck,
    LogChunk,
    Offer,
    Proof,
    Refused,
    ReportAck,
    Stop,
    Update,
    Welcome,
    link_challenge,
    parse_from_hub,
)
from computepool.protocol.model import Wire
from computepool.protocol.receipt import RECEIPT, EndReason, OutputRef, Receipt, Usage
from computepool.protocol.signing import Signed, key_id_of, load_public_key, sign
from computepool.protocol.states import BEFORE_RUNNING, AttemptState, IsolationLevel

GIB = 1024**3
M = TypeVar("M")


class MemoryPipe:
    """The hub's end of an in-memory link; the agent's end is `to_hub` and `from_hub`."""

    def __init__(self) -> None:
        self.to_hub: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.from_hub: asyncio.Queue[bytes | None] = asyncio.Queue()
        self.closed = False
        self.deaf = False
        """What the hub says is lost on the way."""
        self.torn = False
        """What the hub says cannot be sent, though it still hears the agent."""

    async def receive(self) -> bytes:
        raw = await self.to_hub.get()
        if raw is None or self.closed:
            raise PipeClosed
        return raw

    async def send(self, raw: bytes) -> None:
        if self.closed or self.torn:
            raise PipeClosed
        if not self.deaf:
            self.from_hub.put_nowait(raw)

    async def close(self) -> None:
        self.hang_up()

    def hang_up(self) -> None:
        if not self.closed:
            self.closed = True
            self.to_hub.put_nowait(None)
            self.from_hub.put_nowait(None)


@dataclass(eq=False)
class Work:
    """An attempt that the agent was offered."""

    offer: Offer
    manifest: Manifest
    state: AttemptState = AttemptState.LEASED
    log: bytes = b""
    sequence: int = 0
    began: float | None = None
    """On the pool's clock, when it said that the command runs."""

    @property
    def id(self) -> str:
        return self.manifest.attempt_id

    @property
    def fence(self) -> int:
        return self.manifest.fence

    @property
    def ref(self) -> AttemptRef:
        return AttemptRef(attempt_id=self.id, fence=self.fence)

    def next_sequence(self) -> int:
        self.sequence += 1
        return self.sequence


@dataclass(eq=False)
class ScriptedAgent:
    pool: Pool
    node_id: str
    key: Ed25519PrivateKey
    capacity: Capacity
    instance_id: str = ""
    state: str = "online"
    stream_id: str | None = None
    cursor: int = 0
    works: dict[str, Work] = field(default_factory=dict)
    """What it holds."""
    commands: list[Offer | Stop] = field(default_factory=list)
    """Every command it ever took, in order."""
    pipe: Any = None
    """Its end of the link, or None."""
    prepares: Callable[[], list[Work]] | None = field(init=False)
    """What its heartbeats say that it prepares: as a healthy agent has it, all that does not run yet. None for an agent
    of a version that does not tell."""
    _offered: dict[int, Work] = field(default_factory=dict)
    _starts: Any = field(default_factory=lambda: count(1))
    _unread: list[FromHub] = field(default_factory=list)
    _came: asyncio.Event = field(default_factory=asyncio.Event)
    _tasks: list[asyncio.Task[None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.prepares = self.unstarted
        self.reborn()

    # ── links ────────────────────────────────────────────────────────────────────────────────────────────────────────

    def reborn(self) -> None:
        """A new start of the agent's process: it remembers neither stream nor cursor."""
        self.instance_id = f"{self.node_id}#{next(self._starts)}".ljust(32, "x")
        self.stream_id, self.cursor = None, 0

    async def connect(self, **changes: Any) -> Welcome:
        answer = await self.try_to_connect(**changes)
        assert isinstance(answer, Welcome), answer
        return answer

    async def try_to_connect(
        self,
        *,
        hello: dict[str, Any] | None = None,
        proof: dict[str, Any] | None = None,
        key: Ed25519PrivateKey | None = None,
        holding: tuple[Holding, ...] | None = None,
    ) -> Welcome | Goodbye:
        """The handshake. An earlier link is left as it is: the hub has to sort that out."""
        pipe = MemoryPipe()
        task = asyncio.create_task(self.pool.engine.gateway.serve(pipe))
        self._tasks.append(task)
        said = Hello(node_id=self.node_id, instance_id=self.instance_id, agent_version="1")
        pipe.to_hub.put_nowait(said.model_copy(update=hello or {}).to_bytes())
        challenge = await _next(pipe)
        if isinstance(challenge, Goodbye):
            return challenge
        assert isinstance(challenge, Challenge)
        body = link_challenge(self.pool.engine.context.hub_id, self.node_id, self.instance_id, challenge.nonce)
        answer = Proof(
            signature=sign(key or self.key, "k", LINK_PROOF, body).signature,
            capacity=self.capacity,
            holding=self.holding if holding is None else holding,
            stream_id=self.stream_id,
            cursor=self.cursor,
            state=self.state,  # type: ignore[arg-type]  # one of the three
        )
        pipe.to_hub.put_nowait(answer.model_copy(update=proof or {}).to_bytes())
        welcome = await _next(pipe)
        if isinstance(welcome, Goodbye):
            return welcome
        assert isinstance(welcome, Welcome)
        if welcome.stream_id != self.stream_id:
            self.stream_id, self.cursor = welcome.stream_id, 0
        self.pipe = pipe
        self._unread = [message for message in self._unread if isinstance(message, Offer | Stop)]
        self._tasks.append(asyncio.create_task(self._read(pipe)))
        await self.pool.settle(0.01)
        return welcome

    async def disconnect(self) -> None:
        if self.pipe is not None:
            self.pipe.hang_up()
            self.pipe = None
        await self.pool.settle(0.01)

    def vanish(self) -> None:
        """As if its cable was cut: it says nothing more, and the hub notices nothing."""
        self.stop_beating()
        self.pipe = None

    def beat_on(self) -> None:
        """Heartbeats every ten seconds, as a healthy agent sends them."""

        async def beat() -> None:
            while True:
                if self.pipe is not None and not self.pipe.closed:
                    await self.send(self._heartbeat())
                await asyncio.sleep(10)

        self._beating = asyncio.create_task(beat())

    def stop_beating(self) -> None:
        task: asyncio.Task[None] | None = getattr(self, "_beating", None)
        if task is not None:
            task.cancel()

    @property
    def holding(self) -> tuple[Holding, ...]:
        return tuple(Holding(attempt_id=w.id, fence=w.fence, state=w.state) for w in self.works.values())

    # ── messages ─────────────────────────────────────────────────────────────────────────────────────────────────────

    async def send(self, message: Wire) -> None:
        assert self.pipe is not None
        self.pipe.to_hub.put_nowait(message.to_bytes())
        await asyncio.sleep(0)

    async def expect(self, kind: type[M], matching: Callable[[M], bool] = lambda message: True) -> M:
        """The first message of that kind that was not taken yet."""
        async with asyncio.timeout(patience()):
            while True:
                for message in self._unread:
                    if isinstance(message, kind) and matching(message):
                        self._unread.remove(message)
                        return message
                self._came.clear()
                await self._came.wait()

    def unread(self, kind: type[M]) -> list[M]:
        return [message for message in self._unread if isinstance(message, kind)]

    async def heartbeat(self) -> HeartbeatAck:
        await self.send(self._heartbeat())
        return await self.expect(HeartbeatAck)

    async def answer_to(self, message: Any) -> Any:
        """What the hub says to a report."""
        await self.send(message)
        return await self.expect(
            Wire,
            lambda answer: getattr(answer, "attempt_id", None) == message.attempt_id and not isinstance(answer, Stop),
        )

    # ── work ─────────────────────────────────────────────────────────────────────────────────────────────────────────

    async def take_offer(self) -> Work:
        """The next offer that was not looked at yet. It was verified and is held since it came."""
        return self._offered.pop(id(await self.expect(Offer)))

    def open(self, manifest: Signed) -> Manifest:
        engine = self.pool.engine
        keys: dict[str, Ed25519PublicKey] = {
            key.key_id: load_public_key(base64.b64decode(key.public_key)) for key in engine.keyring.public
        }
        now = self.pool.clock.now()
        return open_manifest(manifest, keys, hub_id=engine.context.hub_id, node_id=self.node_id, now=now)

    async def update(self, work: Work, state: str) -> Any:
        work.state = AttemptState(state)
        if work.state is AttemptState.RUNNING and work.began is None:
            work.began = self.pool.clock.monotonic()
        update = Update(
            **work.ref.model_dump(),
            sequence=work.next_sequence(),
            state=state,  # type: ignore[arg-type]  # one of the four
            isolation=self.capacity.isolation[-1],
        )
        return await self.answer_to(update)

    async def write_log(self, work: Work, data: bytes) -> Any:
        chunk = LogChunk(**work.ref.model_dump(), offset=len(work.log), data=data)
        answer = await self.answer_to(chunk)
        if isinstance(answer, LogAck):
            work.log += data
            assert answer.offset == len(work.log)
        return answer

    def receipt(self, work: Work, **changes: Any) -> Receipt:
        now = self.pool.clock.now()
        ran = 1.0 if work.began is None else self.pool.clock.monotonic() - work.began
        facts: dict[str, Any] = {
            "node_id": self.node_id,
            "job_id": work.manifest.job_id,
            "attempt_id": work.id,
            "fence": work.fence,
            "spec_digest": work.manifest.spec_digest,
            "manifest_digest": digest(work.offer.manifest.body.encode()),
            "isolation": self.capacity.isolation[-1],
            "exit_code": 0,
            "reason": EndReason.EXITED,
            "log_bytes": len(work.log),
            "log_digest": digest(work.log),
            "outputs": tuple[OutputRef, ...](),
            "usage": Usage(running_seconds=ran),
            "started_at": now,
            "finished_at": now,
        }
        return Receipt(**facts | changes)

    def finished(self, work: Work, *, key: Ed25519PrivateKey | None = None, **changes: Any) -> Finished:
        body = self.receipt(work, **changes).to_bytes()
        signed = sign(key or self.key, key_id_of(self.public), RECEIPT, body)
        return Finished(**work.ref.model_dump(), sequence=work.next_sequence(), receipt=signed)

    async def finish(self, work: Work, **changes: Any) -> Any:
        """The receipt; an acknowledged attempt is forgotten, as is one that is refused."""
        answer = await self.answer_to(self.finished(work, **changes))
        if isinstance(answer, ReportAck | Refused):
            self.works.pop(work.id, None)
        return answer

    async def run_next(self, **changes: Any) -> Work:
        """Take the next offer and do all of it."""
        work = await self.take_offer()
        await self.update(work, "running")
        await self.write_log(work, b"hello\n")
        answer = await self.finish(work, **changes)
        assert isinstance(answer, ReportAck), answer
        return work

    def serve(self, handle: Callable[[Work], Awaitable[Any]]) -> None:
        """Do the same with every offer from now on, one after the other, with heartbeats meanwhile."""

        async def serve() -> None:
            while True:
                with contextlib.suppress(TimeoutError):  # it was offered nothing for long
                    await handle(await self.take_offer())

        self.beat_on()
        self._tasks.append(asyncio.create_task(serve()))

    async def decline(self, work: Work) -> Any:
        return await self.finish(work, reason=EndReason.DECLINED, exit_code=None)

    async def do(self, work: Work) -> Any:
        await self.update(work, "running")
        return await self.finish(work)

    async def gone(self, work: Work, reason: str = "the agent was restarted") -> Any:
        self.works.pop(work.id, None)
        return await self.answer_to(Gone(**work.ref.model_dump(), reason=reason))

    @property
    def public(self) -> bytes:
        return self.key.public_key().public_bytes_raw()

    def _heartbeat(self) -> Heartbeat:
        refs = tuple(work.ref for work in self.works.values())
        return Heartbeat(
            cursor=self.cursor,
            holding=refs,
            state=self.state,  # type: ignore[arg-type]  # one of the three
            preparing=None if self.prepares is None else tuple(work.ref for work in self.prepares()),
        )

    def unstarted(self) -> list[Work]:
        """What it has and does not run yet."""
        return [work for work in self.works.values() if work.state in BEFORE_RUNNING]

    async def _read(self, pipe: MemoryPipe) -> None:
        while (raw := await pipe.from_hub.get()) is not None:
            if pipe is not self.pipe:
                return
            message = parse_from_hub(raw)
            assert message is not None
            if isinstance(message, Offer | Stop):
                if message.number <= self.cursor:
                    continue  # seen on an earlier link
                self.cursor = message.number
                self.commands.append(message)
                if isinstance(message, Offer):
                    work = Work(message, self.open(message.manifest))
                    self.works[work.id] = self._offered[id(message)] = work
            self._unread.append(message)
            self._came.set()


async def add_agent(
    pool: Pool,
    *,
    owner: str = ALICE,
    name: str = "node",
    cpus: float = 2,
    memory_bytes: int = 8 * GIB,
    disk_bytes: int = 50 * GIB,
    gpus: tuple[Gpu, ...] = (),
    isolation: tuple[IsolationLevel, ...] = (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP),
    country: str | None = None,
    tags: tuple[str, ...] = (),
    simulated: bool = False,
    networked: tuple[IsolationLevel, ...] = (),
    connect: bool = True,
) -> ScriptedAgent:
    """Enrolled with a join token and keys of its own, and connected."""
    capacity = Capacity(
        cpus=cpus,
        memory_bytes=memory_bytes,
        disk_bytes=disk_bytes,
        gpus=gpus,
        isolation=isolation,
        networked=networked,
        simulated=simulated,
    )
    key = Ed25519PrivateKey.generate()
    token = nodes.new_join_token()
    request = enrol_request(key, token, name=name, capacity=capacity, country=country, tags=tags)
    engine = pool.engine
    now = engine.context.now()

    def enrol(session: Session) -> Node:
        nodes.create_join_token(
            session, engine.context.new_id("join"), owner, token, 1, timedelta(minutes=15), now, actor=owner
        )
        return nodes.enrol(session, engine.context.new_id("node"), request, now)

    node = await engine.context.db.run(enrol)
    await engine.node_changed(node)
    agent = ScriptedAgent(pool, node.id, key, capacity)
    if connect:
        await agent.connect()
    return agent


MEASURED = {"mark": "matches", "words": "as fast as it should be", "tier_millis": 1000, "tier_basis": "measured"}
"""What the hub says of a device that is what it claims to be."""


async def measure(agent: ScriptedAgent, *, core_gflops: float = 20.0, backend: str = "numpy") -> None:
    """As if the hub had examined it, and it had all that it claims: each core and card is as fast as it should be."""
    pool, capacity = agent.pool, agent.capacity
    devices: list[dict[str, Any]] = [
        {"device": CPU, **MEASURED, "gflops": core_gflops * capacity.cpus, "backend": backend}
    ]
    devices += [{"device": gpu.id, **MEASURED, "gflops": claimed_gflops(gpu.slug)} for gpu in capacity.gpus]
    await pool.db.run(
        save_benchmark,
        agent.node_id,
        mark="matches",
        words="",
        tier_millis=800,
        tier_basis="card",
        hardware=hardware_digest(capacity),
        figures={"devices": devices, "line": {}},
        now=pool.clock.now(),
    )
    await pool.settle(0)  # commits are told to those who listen
    for _ in range(2):  # the first look hears of it, the second one counts it
        await pool.engine.market.tick()


def enrol_request(key: Ed25519PrivateKey, token: str, **fields: Any) -> EnrolRequest:
    sign_key = base64.b64encode(key.public_key().public_bytes_raw()).decode()
    seal_key = base64.b64encode(X25519PrivateKey.generate().public_key().public_bytes_raw()).decode()
    proof = sign(key, "k", ENROL_PROOF, enrol_proof_body(token, sign_key, seal_key))
    known: dict[str, Any] = {
        "token": token,
        "name": "node",
        "sign_key": sign_key,
        "seal_key": seal_key,
        "signature": proof.signature,
        "capacity": Capacity(cpus=2, memory_bytes=8 * GIB, disk_bytes=50 * GIB),
        "agent_version": "1",
    }
    return EnrolRequest(**known | fields)


def digest(data: bytes) -> str:
    return "sha256:" + hashlib.sha256(data).hexdigest()


async def _next(pipe: MemoryPipe) -> FromHub:
    async with asyncio.timeout(patience()):
        raw = await pipe.from_hub.get()
    assert raw is not None, "the hub closed the link without a word"
    message = parse_from_hub(raw)
    assert message is not None
    return message
