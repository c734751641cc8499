"""How a link begins: the node proves itself by a signed challenge, what it holds is settled, its line attached."""

import asyncio
import base64
import contextlib
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import TypeVar

import structlog
from sqlalchemy.orm import Session

from computepool import __version__
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.context import Context
from computepool.hub.core.keyring import Keyring
from computepool.hub.gateway.line import NodeLine
from computepool.hub.gateway.pipe import Pipe, PipeClosed
from computepool.hub.gateway.reconcile import Reconciled, is_live_attempt, manifest_of_attempt, reconcile
from computepool.hub.gateway.reports import Reports
from computepool.hub.gateway.session import AgentSession, InFlight
from computepool.hub.history.recorder import History
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.market.feasibility import Traits
from computepool.hub.nodes.errors import KeyEnded, NodeMoved
from computepool.hub.nodes.notices import notice_for
from computepool.hub.nodes.repository import list_earlier_keys
from computepool.hub.nodes.service import flag_clone, recent_clone
from computepool.hub.nodes.tables import Node
from computepool.hub.scheduling.fleet import FleetNode, free_of, held_of, traits_of
from computepool.hub.scheduling.leases import LeaseKeeper
from computepool.hub.scheduling.presence import Presence
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import (
    LINK_PROOF,
    PROTOCOL_VERSION,
    Challenge,
    Goodbye,
    Hello,
    KeyAnnouncement,
    KeyRetirement,
    MalformedMessage,
    Proof,
    Welcome,
    link_challenge,
    parse_from_agent,
)
from computepool.protocol.model import Wire
from computepool.protocol.receipt import OLDER_REASONS
from computepool.protocol.signing import SignatureRefused, Signed, key_id_of, load_public_key, verify
from computepool.protocol.states import AttemptState, NodeState, Verdict
from computepool.protocol.timing import HEARTBEAT_SECONDS, LEASE_SECONDS, OFFLINE_AFTER_SECONDS
from computepool.protocol.versions import is_older

log = structlog.get_logger()

HANDSHAKE_SECONDS = 20.0
IN_FLIGHT_BYTES = 16 * 1024**2
"""Of reports of all nodes that are handled at the same time, besides one of each."""
ENDING_BATCH = 100
"""Links that are ended in one turn of the event loop."""
FAREWELL_SECONDS = 3.0
"""A hub that stops does not wait longer for peers that do not listen."""
CLONED = (
    "Another agent is connected as this node: was its disk or home folder copied? If this machine is the copy, remove "
    "its agent folder and join it as a node of its own: computepool join. If the other one is, replace the key here, "
    "and the other's ends: computepool agent stop, then computepool agent rotate-key."
)
First = TypeVar("First", Hello, Proof)
Appraise = Callable[[Traits, Capacity], Traits]


class Dismissed(Exception):
    """The agent is sent away, and told why and whether to come back."""

    def __init__(self, code: str, message: str, *, retry: bool) -> None:
        super().__init__(message)
        self.goodbye = Goodbye(code=code, message=message, retry=retry)


@dataclass
class Connected:
    """Who is at the other end of an open link."""

    instance_id: str
    pipe: Pipe
    refused: tuple[str, float] | None = None
    """Which other start of the agent was refused for its sake, and when that first happened."""

    def is_cloned(self, instance_id: str, seen_at: float, now: float) -> bool:
        """Whether it was heard since the other one was first refused. Until then it may be the remains of a machine
        that lost its power, and the other one that machine, started again."""
        if self.refused is None or self.refused[0] != instance_id:
            self.refused = (instance_id, now)
        return seen_at > self.refused[1]


@dataclass(frozen=True)
class Introduced:
    """An agent that has proven to be the node it says it is."""

    hello: Hello
    proof: Proof
    sign_key: bytes


class Gateway:
    """What all links share."""

    def __init__(
        self,
        context: Context,
        keyring: Keyring,
        scheduler: Scheduler,
        presence: Presence,
        leases: LeaseKeeper,
        reports: Reports,
        appraise: Appraise,
        bulk: BulkLane,
        history: History,
    ) -> None:
        """`appraise` adds to what an agent says of its node what the hub knows of it."""
        self._context = context
        self._keyring = keyring
        self._scheduler = scheduler
        self._history = history
        self._presence = presence
        self._leases = leases
        self._reports = reports
        self._appraise = appraise
        self._bulk = bulk
        self._stream_id = context.new_id("stream")
        self._lines: dict[str, NodeLine] = {}
        self._connected: dict[str, Connected] = {}
        self._ending: set[asyncio.Task[None]] = set()
        self._in_flight = InFlight(IN_FLIGHT_BYTES)

    async def serve(self, pipe: Pipe, proven: Callable[[], None] = lambda: None) -> None:
        """Speak with one agent until either side ends it. `proven` is called once it is known who it is."""
        node_id: str | None = None
        try:
            async with asyncio.timeout(HANDSHAKE_SECONDS):
                known = await self._introduce(pipe)
            proven()
            # From here on the agent is not waited for, and what is decided is not left half-way.
            node_id = known.hello.node_id
            await self._take_over(known.hello, pipe)
            async with self._presence.changing(node_id):  # a node's links are settled one after the other, as they came
                if not self._is_current(node_id, pipe):
                    return  # another link came since: what this one holds is old
                session = await self._join_fleet(known, pipe)
            await session.run()
        except Dismissed as dismissed:
            log.info("agent.dismissed", code=dismissed.goodbye.code, reason=str(dismissed))
            await _try_to_send(pipe, dismissed.goodbye)
        except MalformedMessage as error:
            log.warning("agent.malformed", reason=str(error))
            await _try_to_send(pipe, Goodbye(code="malformed", message=str(error)[:500], retry=True))
        except (PipeClosed, TimeoutError):
            pass
        finally:
            if node_id is not None:
                self._detach(node_id, pipe)
            await pipe.close()

    async def close(self) -> None:
        """The hub stops: say so, so that agents come back soon and do not wonder."""
        goodbye = Goodbye(code="hub_stopping", message="The hub is stopping.", retry=True)
        for number, connected in enumerate(list(self._connected.values()), start=1):
            self._hang_up(connected.pipe, goodbye)
            if not number % ENDING_BATCH:
                await asyncio.sleep(0)  # the others are still answered
        if self._ending:
            await asyncio.wait(self._ending, timeout=FAREWELL_SECONDS)

    def dismiss(self, node_id: str) -> None:
        """The node is no longer part of the pool."""
        self._lines.pop(node_id, None)
        connected = self._connected.pop(node_id, None)
        if connected is not None:
            message = "This node was taken out of the pool."
            self._hang_up(connected.pipe, Goodbye(code="banned", message=message, retry=False))

    def key_replaced(self, node_id: str) -> None:
        """The node has another key: the link that it opened with the earlier one ends. Its leases stay."""
        connected = self._connected.get(node_id)
        if connected is not None:
            self._detach(node_id, connected.pipe)
            goodbye = Goodbye(code="key_replaced", message="This node's key was replaced: connect with it.", retry=True)
            self._hang_up(connected.pipe, goodbye)

    def tell(self, node_id: str, message: Wire) -> None:
        """A node that is there."""
        self._line(node_id).tell(message)

    def stop_attempt(self, node_id: str, attempt_id: str, fence: int, reason: str) -> None:
        """Tell a node to end an attempt: now, or when it is there again."""
        node = self._scheduler.fleet.get(node_id)
        held = node.attempts.get(attempt_id) if node is not None else None
        if held is not None and held.fence == fence and held.stopped_at is None:
            held.stopped_at = self._context.clock.monotonic()
        self._line(node_id).stop(attempt_id, fence, reason)

    # ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────

    async def _introduce(self, pipe: Pipe) -> Introduced:
        hello = await _expect(pipe, Hello)
        if hello.protocol > PROTOCOL_VERSION:
            raise Dismissed("protocol", f"This hub speaks protocol {PROTOCOL_VERSION}: upgrade it.", retry=True)
        row = await self._context.db.read(_find_node, hello.node_id)
        if row is None or row.state == NodeState.BANNED:
            raise _unknown_node()
        nonce = secrets.token_urlsafe(24)
        await pipe.send(Challenge(nonce=nonce, hub_time=self._context.now()).to_bytes())
        proof = await _expect(pipe, Proof)
        key = base64.b64decode(row.sign_key)
        if not self._is_proven(key, hello, proof, nonce):
            for earlier in await self._context.db.read(list_earlier_keys, row.id):
                if self._is_proven(base64.b64decode(earlier.sign_key), hello, proof, nonce):
                    raise _key_ended(earlier.ended_at)
            raise Dismissed("bad_proof", "The challenge was not signed with this node's key.", retry=False)
        return Introduced(hello, proof, key)

    def _is_proven(self, key: bytes, hello: Hello, proof: Proof, nonce: str) -> bool:
        body = link_challenge(self._context.hub_id, hello.node_id, hello.instance_id, nonce).decode()
        signed = Signed(type=LINK_PROOF, key_id=key_id_of(key), body=body, signature=proof.signature)
        try:
            verify(signed, LINK_PROOF, {key_id_of(key): load_public_key(key)})
        except SignatureRefused:
            return False
        return True

    async def _take_over(self, hello: Hello, pipe: Pipe) -> None:
        """One link a node. A second one of the same start replaces the first; of another start, it is a clone."""
        earlier = self._connected.get(hello.node_id)
        if earlier is not None and earlier.instance_id != hello.instance_id:
            node, now = self._scheduler.fleet.get(hello.node_id), self._context.clock.monotonic()
            if node is not None and now - node.seen_at < OFFLINE_AFTER_SECONDS:
                if earlier.is_cloned(hello.instance_id, node.seen_at, now):
                    await self._context.db.run(flag_clone, hello.node_id, hello.instance_id, self._context.now())
                raise Dismissed("cloned", CLONED, retry=True)
        self._connected[hello.node_id] = Connected(hello.instance_id, pipe)
        if earlier is not None:
            self._line(hello.node_id).detach()
            self._hang_up(earlier.pipe)

    async def _join_fleet(self, known: Introduced, pipe: Pipe) -> AgentSession:
        node_id, proof = known.hello.node_id, known.proof
        line = self._line(node_id)
        same_stream = proof.stream_id == line.stream_id
        cursor = proof.cursor if same_stream else 0
        if same_stream:
            line.seen(cursor)
        try:
            result = await self._context.db.run(
                reconcile,
                node_id,
                NodeState(proof.state),
                proof.capacity,
                known.hello.agent_version,
                proof.holding,
                line.unseen_offers(),
                self._context.now(),
                self._context.settings.reliability_half_life,
            )
        except NodeMoved:
            raise _unknown_node() from None  # banned since it said hello
        if node_id not in self._connected and self._scheduler.fleet.get(node_id) is None:
            raise _unknown_node()  # banned since it was settled
        if base64.b64decode(result.node.sign_key) != known.sign_key:
            raise _key_ended(self._context.now())  # replaced since it proved itself
        outdated = is_older(known.hello.agent_version, self._context.settings.agent_minimum)
        node = self._fleet_node(result.node, proof, outdated)
        self._scheduler.standings.put(node_id, result.standing)
        node.state, node.reported = result.state, NodeState(proof.state)
        node.availability, node.cached = proof.availability, frozenset(proof.cached)
        session = AgentSession(
            self._context,
            self._presence,
            self._leases,
            self._reports,
            pipe,
            node,
            known.sign_key,
            self._scheduler.wake,
            result.measured,
            self._in_flight,
            self._bulk,
            self._history,
        )
        node.seen_at = self._context.clock.monotonic()
        welcome = Welcome(
            hub_id=self._context.hub_id,
            stream_id=line.stream_id,
            hub_time=self._context.now(),
            heartbeat_seconds=HEARTBEAT_SECONDS,
            lease_seconds=LEASE_SECONDS,
            hub_version=__version__,
            agent_minimum=self._context.settings.agent_minimum,
            notice=notice_for(
                known.hello.agent_version,
                self._context.settings.agent_minimum,
                proof.capacity,
                clone_seen_at=recent_clone(result.node, self._context.now()),
            ),
            end_reasons=tuple(OLDER_REASONS),
        )
        session.post(welcome)
        if self._keyring.announcement is not None:
            session.post(KeyAnnouncement(announcement=self._keyring.announcement))
        for retirement in self._keyring.retirements:
            session.post(KeyRetirement(retirement=retirement))
        await self._settle(node, line, result)
        self._leases.renew(node, [one for one in proof.holding if not one.gone])
        if self._is_current(node_id, pipe):
            node.line = line
            line.attach(session.post_raw, cursor, node.attempts)
        self._scheduler.wake()
        log.info("agent.connected", node_id=node_id, version=known.hello.agent_version, holding=len(proof.holding))
        return session

    async def _settle(self, node: FleetNode, line: NodeLine, result: Reconciled) -> None:
        """What the node and the hub disagreed on. Commands go to the line, and out when it is attached."""
        for view, manifest in result.taken_back:
            self._hold(node, manifest, view.state, view.price_micros)
            self._scheduler.taken_back(view.job_id, view.slice_index)
        for view in result.held:
            if view.attempt_id not in node.attempts:  # the hub was cut off between a commit and its memory
                manifest = await self._context.db.read(manifest_of_attempt, view.attempt_id)
                await self._hold_if_live(node, manifest, view)
        for view in result.lost:
            await self._leases.lose(
                node, view.attempt_id, view.fence, Ending(Verdict.HOST, "forgotten_by_agent", lost=True)
            )
        for view, manifest in result.unheard:
            if line.is_offering(view.attempt_id):
                continue  # the scheduler was faster
            signed = Signed.model_validate_json(manifest)
            order = Manifest.model_validate_json(signed.body)
            wanted = order.expires_at > self._context.now() and not view.cancel_requested
            # Else the line would take its offer for one of an attempt that has ended.
            if view.attempt_id not in node.attempts and not await self._hold_if_live(node, manifest, view):
                continue
            if not (wanted and self._scheduler.offer_again(line, order, signed)):
                await self._leases.lose(
                    node, view.attempt_id, view.fence, Ending(Verdict.HUB, "never_delivered", lost=True)
                )
        for view in result.stopping:
            reason = "canceled" if view.cancel_requested else "evicted"
            self.stop_attempt(node.traits.node_id, view.attempt_id, view.fence, reason)
        for one in result.stale:
            line.stop(one.attempt_id, one.fence, "superseded")

    async def _hold_if_live(self, node: FleetNode, signed: str, view: AttemptView) -> bool:
        """Its end may have been written since both sides were compared, and memory have heard of it. Held first: one
        that is written after the look finds it here."""
        self._hold(node, signed, view.state, view.price_micros)
        is_live = await self._context.db.read(is_live_attempt, view.attempt_id)
        if not is_live and view.attempt_id in node.attempts:
            self._scheduler.release(node, view.attempt_id)
        return is_live

    def _hold(self, node: FleetNode, signed: str, state: AttemptState, price_micros: int | None) -> None:
        body = Signed.model_validate_json(signed).body
        manifest = Manifest.model_validate_json(body)
        if manifest.attempt_id not in node.attempts:
            held = held_of(manifest, body, self._context.clock.monotonic(), state=state)
            self._scheduler.hold(node, held, price_micros)

    def _fleet_node(self, row: Node, proof: Proof, outdated: bool) -> FleetNode:
        node = self._scheduler.fleet.get(row.id)
        said = traits_of(
            row.id,
            row.owner_id,
            row.country,
            row.tags,
            proof.capacity,
            outdated=outdated,
            enrolled_by=row.enrolled_by,
            known=node.traits if node is not None else None,
        )
        traits = self._appraise(said, proof.capacity)
        if node is None:
            node = FleetNode(traits, row.name, NodeState.OFFLINE, proof.capacity, free_of(traits))
            node.drain_requested = row.drain_requested
            self._scheduler.fleet.put(node)
        else:
            node.traits, node.name, node.capacity = traits, row.name, proof.capacity
            node.free = free_of(traits, node.attempts.values())
        return node

    def _line(self, node_id: str) -> NodeLine:
        return self._lines.setdefault(node_id, NodeLine(self._stream_id))

    def _is_current(self, node_id: str, pipe: Pipe) -> bool:
        connected = self._connected.get(node_id)
        return connected is not None and connected.pipe is pipe

    def _hang_up(self, pipe: Pipe, last_words: Goodbye | None = None) -> None:
        """Nobody waits for it: a peer that is gone without a word may keep a farewell waiting for minutes."""
        task = asyncio.create_task(_end(pipe, last_words))
        self._ending.add(task)
        task.add_done_callback(self._ending.discard)

    def _detach(self, node_id: str, pipe: Pipe) -> None:
        """The link is over; the node's line and its leases stay."""
        if self._is_current(node_id, pipe):
            del self._connected[node_id]
            self._line(node_id).detach()
            node = self._scheduler.fleet.get(node_id)
            if node is not None:
                node.line = None


async def _expect(pipe: Pipe, wanted: type[First]) -> First:
    message = parse_from_agent(await pipe.receive())
    if not isinstance(message, wanted):
        raise Dismissed("handshake", f"Expected a {wanted.__name__.lower()} message.", retry=True)
    return message


async def _end(pipe: Pipe, last_words: Goodbye | None) -> None:
    if last_words is not None:
        await _try_to_send(pipe, last_words)
    await pipe.close()


async def _try_to_send(pipe: Pipe, message: Wire) -> None:
    with contextlib.suppress(PipeClosed):
        await pipe.send(message.to_bytes())


def _unknown_node() -> Dismissed:
    return Dismissed("unknown_node", "This node is not, or no longer, part of the pool.", retry=False)


def _key_ended(ended_at: datetime) -> Dismissed:
    ended = KeyEnded(ended_at)
    return Dismissed(ended.code, f"{ended.message} {ended.hint}", retry=False)


def _find_node(session: Session, node_id: str) -> Node | None:
    return session.get(Node, node_id)
