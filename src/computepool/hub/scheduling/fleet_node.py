"""A node as the scheduler sees it: what it has, what is left of it, what it holds, and whether it can be reached."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from computepool.hub.jobs.policy import NOT_BEGUN, STALLED, UNTOLD, UNTOLD_SECONDS, Ending
from computepool.hub.jobs.receipts import Order, order_of
from computepool.hub.market.allowance import slices_at_once
from computepool.hub.market.feasibility import Free, Traits, alike_gpus, fits, is_by_host
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Grant, Manifest
from computepool.protocol.messages import HOLDING_LIMIT, Availability, GpuLoad
from computepool.protocol.signing import Signed
from computepool.protocol.states import BEFORE_RUNNING, AttemptState, IsolationLevel, NodeState
from computepool.protocol.timing import (
    BEGIN_SECONDS,
    EVICT_GRACE_SECONDS,
    FETCH_SECONDS,
    HEARTBEAT_SECONDS,
    LAST_CHECKPOINT_SECONDS,
    OVERDUE_SECONDS,
    PROGRESS_SECONDS,
    STOP_GRACE_SECONDS,
)
from computepool.protocol.units import MIB
from computepool.protocol.versions import unsafe_software

ATTEMPTS_LIMIT = HOLDING_LIMIT // 2
"""On one node at once, however small they are: a node also has results that wait for their acknowledgement."""

START_SECONDS = 6 * 3600.0
"""Until an attempt runs: images and inputs may be large, and lines slow."""
TRIAL_START_SECONDS = 45 * 60.0
"""The same on a node that has no record: it may also wait for the `setup` of another, and has nothing to show for it.
`FETCH_SECONDS` more for a slice with an image or an https input, which the hub cannot see arrive."""
STORE_BYTES_PER_SECOND = 1 << 20
"""So much longer it may take for what comes from the hub's own store. How much that is, the job decides."""
HEARD_SECONDS = 2 * HEARTBEAT_SECONDS
"""The most that counts between two heartbeats: for the rest of the time the node could not be heard."""
REST_SECONDS = 24 * 3600.0
"""For which an attempt may stand still, all in all, and for which its outputs may be on their way."""

GPU_SHARE_PERCENT = 90
"""Of a node's cores, memory and disk, divided by its GPUs: what a slice is given with one, where its spec says nothing
else."""
SHARE_STEP_BYTES = 64 * MIB

AVAILABLE = Availability()
MATTERS = frozenset({"traits", "state", "free", "drain_requested", "reported", "line", "availability", "cached"})
"""What matching looks at. Whoever writes one of these has told the fleet; only room within `free` is told apart."""
_UNSET = object()
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
    evicted: bool = False
    """It was told to make room, and may save a last checkpoint."""
    unheard_seconds: float = 0.0
    """How long the hub could not have heard its node, before it began to listen again. Counts until a renewal."""
    begun: bool = field(init=False)
    """Its node said something of it, besides that it has it."""
    quiet_seconds: float = 0.0
    """Since its node last did so: only the time in which the node could be heard."""
    heard_at: float = field(init=False)
    """When the node was last heard, as far as that is counted."""

    def __post_init__(self) -> None:
        self.since = self.heard_at = self.renewed_at
        self.begun = self.state is not AttemptState.LEASED

    def is_overdue(self, now: float) -> bool:
        """Its node, which can be heard, should have ended it long ago, or got further."""
        if self.stopped_at is not None and now - self.stopped_at > self._stop_seconds:
            return True
        here = now - self.since
        total = here + self.spent.get(self.state, 0.0)
        if self.state is AttemptState.RUNNING:
            longest = self.order.max_runtime_seconds
            # What stood still may be told late, each time: only one stretch is taken by the minute.
            return here > longest + OVERDUE_SECONDS or total > longest + REST_SECONDS
        return total > (self._with_store(START_SECONDS) if self.state in BEFORE_RUNNING else REST_SECONDS)

    @property
    def _stop_seconds(self) -> float:
        """For the command to leave, and for a last checkpoint to be read and sent. How large that is, the job
        decides."""
        if not self.evicted:
            return STOP_GRACE_SECONDS + OVERDUE_SECONDS
        more = 2 * LAST_CHECKPOINT_SECONDS if self.state is AttemptState.FINISHING else 0.0
        return EVICT_GRACE_SECONDS + OVERDUE_SECONDS + more

    def _with_store(self, seconds: float) -> float:
        return min(seconds + self.order.stored_bytes / STORE_BYTES_PER_SECOND, max(seconds, REST_SECONDS))

    def is_unproven(self, now: float) -> bool:
        """A node that has no record has said for long that it prepares it, and there is nothing to show for it."""
        if self.state not in BEFORE_RUNNING or self.order.own:
            return False
        total = now - self.since + sum(self.spent.get(state, 0.0) for state in BEFORE_RUNNING)
        return total > self._with_store(TRIAL_START_SECONDS + (FETCH_SECONDS if self.order.elsewhere else 0.0))

    def note(self, state: AttemptState, now: float) -> None:
        """Where it is now, as its node says."""
        if state is not self.state:
            self.spent[self.state] = self.spent.get(self.state, 0.0) + now - self.since
            self.state, self.since = state, now

    def start_seconds(self, now: float) -> float:
        """How long it has taken so far to begin."""
        return sum(self.spent.get(state, 0.0) for state in BEFORE_RUNNING) + now - self.since

    def told_of(self, now: float) -> None:
        """Its node said something of it: a state, some of its log, that it prepares it."""
        self.begun, self.quiet_seconds, self.heard_at = True, 0.0, now

    def beat(self, now: float) -> None:
        """Its node was heard, and said nothing of it. A long silence before that is the line's, and counts little."""
        self.quiet_seconds += min(max(0.0, now - self.heard_at), HEARD_SECONDS)
        self.heard_at = now

    def why_idle(self, *, tells: bool) -> Ending | None:
        """How it ends if its node, which can be heard, does nothing with it. The owner's own may wait.

        `tells`: its agent says which attempts it prepares. One that does not tell may wait in silence for another
        attempt that runs the same `setup`.
        """
        if self.state not in BEFORE_RUNNING or self.order.own:
            return None
        if not self.begun and (tells or not self.order.setup):
            return NOT_BEGUN if self.quiet_seconds > BEGIN_SECONDS else None
        if tells:
            return STALLED if self.quiet_seconds > PROGRESS_SECONDS else None
        return UNTOLD if self.quiet_seconds > UNTOLD_SECONDS else None

    def begin_anew(self, now: float, absent_seconds: float) -> None:
        """The hub could not listen for a while. That time counts for nothing."""
        self.unheard_seconds = absent_seconds + (0.0 if self.renewed else self.unheard_seconds)
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
    strangers: int = 0
    """How many of them are strangers'."""
    tells_preparing: bool = False
    """Its agent says in heartbeats which attempts it prepares. Older ones do not."""
    changed: "dict[str, FleetNode] | None" = field(default=None, init=False, repr=False, compare=False)
    """Where its fleet looks for nodes that are not what they were; None while it is in no fleet."""

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in MATTERS:
            object.__setattr__(self, name, value)
        elif getattr(self, name, _UNSET) is not value:
            object.__setattr__(self, name, value)
            self.mark()

    def mark(self) -> None:
        """It is looked at anew before the next choice."""
        changed = getattr(self, "changed", None)
        if changed is not None:
            changed[self.traits.node_id] = self

    @property
    def takes_work(self) -> bool:
        return self.line is not None and self.state is self.reported is NodeState.ONLINE and not self.drain_requested


def left_to(needs: Requirements, node: FleetNode) -> bool:
    """The owner comes first, and is never held back."""
    if is_by_host(needs, node.traits):
        return True
    return node.availability.strangers and (needs.gpu is not None or not node.availability.gpu_only)


def kept_from(needs: Requirements, node: FleetNode) -> tuple[str, ...]:
    return () if is_by_host(needs, node.traits) else node.availability.gpus_in_use


def allowed_slices(node: FleetNode) -> int | None:
    """How many strangers' slices it gets at once; None for as many as it claims to hold."""
    return slices_at_once(node.traits.standing, node.traits.trial)


def has_slot(node: FleetNode) -> bool:
    """For one more stranger's slice."""
    if node.traits.standing.declined_until is not None:
        return False
    allowed = allowed_slices(node)
    return allowed is None or node.strangers < allowed


def has_room(node: FleetNode, needs: Requirements) -> bool:
    return (
        left_to(needs, node)
        and fits(needs, node.free, kept_from(needs, node))
        and len(node.attempts) < ATTEMPTS_LIMIT
        and (node.traits.owner_id == needs.owner_id or has_slot(node))
    )


def grant_on(node: FleetNode, needs: Requirements) -> Grant:
    """Of a node that has room for it."""
    gpus = alike_gpus(needs, node.free.gpus, kept_from(needs, node)) if needs.gpu is not None else []
    return amounts_on(node.traits, node.free, needs).model_copy(update={"gpus": tuple(gpu.id for gpu in gpus)})


def amounts_on(node: Traits, free: Free, needs: Requirements) -> Grant:
    """Without GPUs: what is asked; and of what is left open, the share that the slice has of the node, as far as it is
    free. That is its share of the GPUs, less a tenth, so that small slices have room beside it; or of the cores."""
    part, whole = 0, 1
    if needs.gpu_count:
        cards = [gpu for gpu in node.gpus if not gpu.integrated] or node.gpus
        part, whole = needs.gpu_count * GPU_SHARE_PERCENT, max(needs.gpu_count, len(cards)) * 100
    elif needs.by_share:
        part, whole = needs.cpu_millis, max(needs.cpu_millis, node.cpu_millis)

    def given(key: str, asked: int, free: int, all_of_it: int, step: int) -> int:
        if key not in needs.by_share:
            return asked
        return max(asked, min(free, all_of_it * part // whole) // step * step)

    return Grant(
        cpus=given("cpus", needs.cpu_millis, free.cpu_millis, node.cpu_millis, MILLI) / MILLI,
        memory_bytes=given("memory", needs.memory_bytes, free.memory_bytes, node.memory_bytes, SHARE_STEP_BYTES),
        disk_bytes=given("disk", needs.disk_bytes, free.disk_bytes, node.disk_bytes, SHARE_STEP_BYTES),
    )


def take_room(node: FleetNode, held: Held) -> None:
    node.attempts[held.attempt_id] = held
    node.strangers += not held.order.own
    _change_room(node, held.grant, -1)


def give_room_back(node: FleetNode, attempt_id: str) -> Held | None:
    held = node.attempts.pop(attempt_id, None)
    if held is not None:
        node.strangers -= not held.order.own
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
    node.mark()


def traits_of(
    node_id: str,
    owner_id: str,
    country: str | None,
    tags: Iterable[str],
    capacity: Capacity,
    *,
    outdated: bool = False,
    enrolled_by: str | None = None,
    known: Traits | None = None,
) -> Traits:
    """What a node says it has. `known` is what it was until now: its price, standing and speed are not its to say."""
    said = Traits(
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
        enrolled_by=enrolled_by,
        unsafe=frozenset(one.name for one in unsafe_software(capacity.software)),
        simulated=capacity.simulated,
        owner_keys=None if capacity.owner_keys is None else frozenset(capacity.owner_keys),
        links=capacity.links,
    )
    if known is None:
        return said
    return replace(
        said,
        ask=known.ask,
        standing=known.standing,
        gpu_gflops=known.gpu_gflops,
        core_gflops=known.core_gflops,
        trial=known.trial,
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
