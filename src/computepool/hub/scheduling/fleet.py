"""The nodes as the scheduler sees them: what each has, what is left of it, and whether it can be reached.

A projection: it changes only after the commit that justifies it, and is rebuilt from the truth on start. Room is taken
a moment earlier, by a reservation that is given back if the commit fails.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from computepool.hub.jobs.receipts import Order, order_of
from computepool.hub.market.feasibility import Free, Gate, Traits, closed_gate, fits, matching_gpus
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Grant, Manifest
from computepool.protocol.messages import HOLDING_LIMIT, Availability, GpuLoad
from computepool.protocol.signing import Signed
from computepool.protocol.states import AttemptState, IsolationLevel, NodeState
from computepool.protocol.timing import OVERDUE_SECONDS, STOP_GRACE_SECONDS
from computepool.protocol.versions import unsafe_software

CANDIDATES = 64
"""Nodes that would do, of which the best is taken."""

ATTEMPTS_LIMIT = HOLDING_LIMIT // 2
"""On one node at once, however small they are: a node also has results that wait for their acknowledgement."""

START_SECONDS = 6 * 3600.0
"""Until an attempt runs: images and inputs may be large, and lines slow."""
REST_SECONDS = 24 * 3600.0
"""For which an attempt may stand still, all in all, and for which its outputs may be on their way."""
BEFORE_RUNNING = frozenset({AttemptState.LEASED, AttemptState.PREPARING})

AVAILABLE = Availability()
REACHABLE = frozenset({NodeState.ONLINE, NodeState.PAUSED, NodeState.DRAINING})


class Line(Protocol):
    """How a node is told things while it is connected. The gateway has one for each."""

    def offer(self, attempt_id: str, manifest: Signed, downloads: Mapping[str, tuple[str, ...]]) -> None: ...

    def stop(self, attempt_id: str, fence: int, reason: str) -> None: ...

    def seen(self, cursor: int) -> None:
        """The agent has every command up to this number."""
        ...


@dataclass(slots=True)
class Held:
    """An attempt on a node, and the room that it takes."""

    attempt_id: str
    fence: int
    grant: Grant
    order: Order
    renewed_at: float
    """On the hub's elapsed clock. After a start of the hub: that start, so that its own downtime costs nobody."""
    renewed: bool = True
    """False until the node renewed it since the hub started, or came to itself."""
    state: AttemptState = AttemptState.LEASED
    since: float = field(init=False)
    """When its node said so; after a start of the hub, that start."""
    spent: dict[AttemptState, float] = field(default_factory=dict)
    """Seconds in each state, before it came to this one."""
    stopped_at: float | None = None
    """When its node was told to end it."""

    def __post_init__(self) -> None:
        self.since = self.renewed_at

    def is_overdue(self, now: float) -> bool:
        """Its node, which can be heard, should have ended it long ago, or got further."""
        if self.stopped_at is not None and now - self.stopped_at > STOP_GRACE_SECONDS + OVERDUE_SECONDS:
            return True
        here = now - self.since
        total = here + self.spent.get(self.state, 0.0)
        if self.state is AttemptState.RUNNING:
            longest = self.order.max_runtime_seconds
            # What stood still may be told late, each time: only one stretch is taken by the minute.
            return here > longest + OVERDUE_SECONDS or total > longest + REST_SECONDS
        return total > (START_SECONDS if self.state in BEFORE_RUNNING else REST_SECONDS)

    def note(self, state: AttemptState, now: float) -> None:
        """Where it is now, as its node says."""
        if state is not self.state:
            self.spent[self.state] = self.spent.get(self.state, 0.0) + now - self.since
            self.state, self.since = state, now

    def begin_anew(self, now: float, absent_seconds: float) -> None:
        """The hub could not listen for a while. That time counts for nothing."""
        self.renewed_at, self.renewed = now, False
        self.since += absent_seconds
        if self.stopped_at is not None:
            self.stopped_at += absent_seconds

    @property
    def job_id(self) -> str:
        return self.order.job_id


def held_of(
    manifest: Manifest,
    body: str,
    renewed_at: float,
    *,
    renewed: bool = True,
    state: AttemptState = AttemptState.LEASED,
) -> Held:
    """What a manifest gave to its node; `body` is the exact text that was signed."""
    order = order_of(manifest, body)
    return Held(manifest.attempt_id, manifest.fence, manifest.grant, order, renewed_at, renewed, state)


@dataclass(slots=True)
class FleetNode:
    traits: Traits
    name: str
    state: NodeState
    """As it is written down. What is known already, and not yet written, is in the next two."""
    capacity: Capacity
    free: Free
    drain_requested: bool = False
    reported: NodeState | None = None
    """What the agent last said of itself; None if it said nothing since the hub's start."""
    line: Line | None = None
    seen_at: float = 0.0
    availability: Availability = AVAILABLE
    """What its owner leaves to strangers right now."""
    loads: tuple[GpuLoad, ...] = ()
    cached: frozenset[str] = frozenset()
    """What it would not have to fetch: digests, and `image:` with a name."""
    attempts: dict[str, Held] = field(default_factory=dict)

    @property
    def takes_work(self) -> bool:
        return self.line is not None and self.state is self.reported is NodeState.ONLINE and not self.drain_requested


class Fleet:
    def __init__(self) -> None:
        self._nodes: dict[str, FleetNode] = {}

    def __iter__(self) -> Iterator[FleetNode]:
        return iter(self._nodes.values())

    def __len__(self) -> int:
        return len(self._nodes)

    def get(self, node_id: str) -> FleetNode | None:
        return self._nodes.get(node_id)

    def put(self, node: FleetNode) -> None:
        self._nodes[node.traits.node_id] = node

    def remove(self, node_id: str) -> FleetNode | None:
        return self._nodes.pop(node_id, None)

    def choose(
        self,
        needs: Requirements,
        avoid: Iterable[str] = (),
        *,
        avoided_too: bool = False,
        wanted: Collection[str] = (),
    ) -> FleetNode | None:
        """The best node with room for it now. Own nodes first, for they are free; then those that have at hand what is
        `wanted`; then the fullest, to keep room whole.

        A node in `avoid` is taken only when the caller says so and no other could ever run it.
        """
        avoided = frozenset(avoid)
        best = self._best_with_room(needs, avoided, wanted)
        if best is not None or not avoided or not avoided_too or self._anybody_else_could(needs, avoided):
            return best
        return self._best_with_room(needs, frozenset(), wanted)

    def _best_with_room(
        self, needs: Requirements, avoided: frozenset[str], wanted: Collection[str]
    ) -> FleetNode | None:
        """The best of the first few that would do: in a large fleet, looking at all of them costs more than it wins."""
        # One tight pass leaves few nodes to look at closely; every attribute is read in place, for speed.
        cpu_millis = needs.cpu_millis
        roomy = [
            node
            for node in self._nodes.values()
            if node.line is not None and node.state is NodeState.ONLINE and node.free.cpu_millis >= cpu_millis
        ]
        roomy.sort(key=lambda node: node.traits.owner_id != needs.owner_id)
        found: list[FleetNode] = []
        for node in roomy:
            if (
                node.takes_work
                and node.traits.node_id not in avoided
                and has_room(node, needs)
                and closed_gate(needs, node.traits) is None
            ):
                found.append(node)
                if len(found) == CANDIDATES:
                    break
        return min(found, key=lambda node: _rank(node, needs, wanted), default=None)

    def _anybody_else_could(self, needs: Requirements, avoided: frozenset[str]) -> bool:
        return any(
            node.takes_work and node.traits.node_id not in avoided and closed_gate(needs, node.traits) is None
            for node in self._nodes.values()
        )

    def gate(self, needs: Requirements, node: FleetNode) -> Gate | None:
        """Why this node is not running it now, or None if it could."""
        gate = closed_gate(needs, node.traits)
        if gate is not None:
            return gate
        if not node.takes_work:
            return Gate.STATE
        if not _left_to(needs, node):
            return Gate.OWNER
        return None if has_room(node, needs) else Gate.BUSY


def _left_to(needs: Requirements, node: FleetNode) -> bool:
    """The owner comes first, and is never held back."""
    if node.traits.owner_id == needs.owner_id:
        return True
    return node.availability.strangers and (needs.gpu is not None or not node.availability.gpu_only)


def _kept_from(needs: Requirements, node: FleetNode) -> tuple[str, ...]:
    return () if node.traits.owner_id == needs.owner_id else node.availability.gpus_in_use


def has_room(node: FleetNode, needs: Requirements) -> bool:
    return (
        _left_to(needs, node)
        and fits(needs, node.free, _kept_from(needs, node))
        and len(node.attempts) < ATTEMPTS_LIMIT
    )


def _rank(node: FleetNode, needs: Requirements, wanted: Collection[str]) -> tuple[bool, int, int, str]:
    cold = sum(one not in node.cached for one in wanted)
    return (node.traits.owner_id != needs.owner_id, cold, node.free.cpu_millis, node.traits.node_id)


def grant_on(node: FleetNode, needs: Requirements) -> Grant:
    gpus = matching_gpus(needs, node.free.gpus, _kept_from(needs, node))[: needs.gpu_count]
    return Grant(
        cpus=needs.cpu_millis / MILLI,
        memory_bytes=needs.memory_bytes,
        disk_bytes=needs.disk_bytes,
        gpus=tuple(gpu.id for gpu in gpus),
    )


def take_room(node: FleetNode, held: Held) -> None:
    node.attempts[held.attempt_id] = held
    _change_room(node, held.grant, -1)


def give_room_back(node: FleetNode, attempt_id: str) -> Held | None:
    held = node.attempts.pop(attempt_id, None)
    if held is not None:
        _change_room(node, held.grant, +1)
    return held


def _change_room(node: FleetNode, grant: Grant, sign: int) -> None:
    node.free.cpu_millis += sign * round(grant.cpus * MILLI)
    node.free.memory_bytes += sign * grant.memory_bytes
    node.free.disk_bytes += sign * grant.disk_bytes
    if sign < 0:
        node.free.gpus = [gpu for gpu in node.free.gpus if gpu.id not in grant.gpus]
    else:
        free = {gpu.id for gpu in node.free.gpus} | set(grant.gpus)
        node.free.gpus = [gpu for gpu in node.traits.gpus if gpu.id in free]


def traits_of(
    node_id: str,
    owner_id: str,
    country: str | None,
    tags: Iterable[str],
    capacity: Capacity,
    *,
    outdated: bool = False,
) -> Traits:
    return Traits(
        node_id=node_id,
        owner_id=owner_id,
        country=country,
        tags=frozenset(tags),
        isolation=tuple(IsolationLevel(level) for level in capacity.isolation),
        cpu_millis=round(capacity.cpus * MILLI),
        memory_bytes=capacity.memory_bytes,
        disk_bytes=capacity.disk_bytes,
        gpus=capacity.gpus,
        networked=capacity.networked,
        rules=capacity.rules,
        outdated=outdated,
        unsafe=frozenset(one.name for one in unsafe_software(capacity.software)),
        simulated=capacity.simulated,
    )


def free_of(traits: Traits, attempts: Iterable[Held] = ()) -> Free:
    """All of it, less what attempts hold."""
    held = list(attempts)
    taken_gpus = {gpu for one in held for gpu in one.grant.gpus}
    return Free(
        cpu_millis=traits.cpu_millis - sum(round(one.grant.cpus * MILLI) for one in held),
        memory_bytes=traits.memory_bytes - sum(one.grant.memory_bytes for one in held),
        disk_bytes=traits.disk_bytes - sum(one.grant.disk_bytes for one in held),
        gpus=[gpu for gpu in traits.gpus if gpu.id not in taken_gpus],
    )
