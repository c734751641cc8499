"""Nodes as the API shows them: what each has, runs and earns, what is known of it, and what its reader may do."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, cast

from pydantic import ConfigDict
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import names_of
from computepool.hub.api.market_views import AskView, ask_view
from computepool.hub.core.actions import ActionView, refused, unless
from computepool.hub.core.http import Principal, Scope
from computepool.hub.core.money import MONEY, MoneyOff
from computepool.hub.engine import Engine
from computepool.hub.ledger.timeline import DayStart
from computepool.hub.market.feasibility import Free
from computepool.hub.market.requirements import MILLI
from computepool.hub.market.tiers import Basis, Mark
from computepool.hub.nodes import actions, service
from computepool.hub.nodes.benchmarks import UNVERIFIED, Benchmark, hardware_digest, list_benchmarks
from computepool.hub.nodes.notices import notice_for
from computepool.hub.nodes.owner_requests import find_policies
from computepool.hub.nodes.prices import PriceView, price_view
from computepool.hub.nodes.tables import Node, NodePolicy
from computepool.hub.reputation.views import ReliabilityView, reliability_by_node
from computepool.hub.scheduling.fleet_node import FleetNode, Held, allowed_slices
from computepool.hub.wallet.earnings import earned_by_node
from computepool.protocol.benchmark import Figures
from computepool.protocol.capacity import Capacity
from computepool.protocol.messages import Availability, GpuLoad
from computepool.protocol.model import Documented, ShownAs
from computepool.protocol.states import AttemptState, NodeState

RUNNING_SHOWN = 20
"""Of the attempts that a node has at once; `running_attempts` counts all of them."""
ON_THE_MACHINE = "On the machine itself: computepool agent stop, then computepool agent rotate-key."


class Room(Documented):
    cpus: float
    memory_bytes: int
    disk_bytes: int
    gpus: int


class LineFigures(Documented):
    """A node's connection to the hub."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    round_trip_seconds: float | None = None
    """There and back."""
    down_bytes_per_second: float | None = None
    """From the hub to the node."""
    up_bytes_per_second: float | None = None
    """From the node to the hub."""


class DeviceFigures(Documented):
    """What was measured of one device. Of one that was not measured, most is left out."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    device: str
    """`cpu`, or the id of a card."""
    mark: Mark
    """What the hub makes of it."""
    words: str
    tier_millis: int
    """The multiplier of its price, in thousandths."""
    tier_basis: Basis
    """Whether the tier is the card's, was measured, or is only claimed."""
    backend: str | None = None
    """What computed, such as `cuda`."""
    reported: Figures | None = None
    """What the agent says that it measured itself."""
    gflops: float | None = None
    """Billions of operations a second, by the hub's clock."""
    reported_gflops: float | None = None
    """The same by the agent's clock."""
    fill_seconds: float | None = None
    """How long it took to compute."""
    digest_seconds: float | None = None
    """How long it took to read everything once more."""
    filled_bytes: int | None = None
    """How much memory was filled."""


class BenchmarkView(Documented):
    """What the hub measured of a node, and what it makes of it."""

    mark: Mark
    """Whether the node is as fast as its cards are."""
    words: str
    tier: float | None
    """The multiplier of its price."""
    tier_basis: Basis | None
    """Whether the tier is the card's, was measured, or is only claimed."""
    devices: list[Annotated[dict[str, Any], ShownAs(DeviceFigures)]]
    """The figures of each. What is `reported` in them is what the agent says; the rest is the hub's."""
    line: Annotated[dict[str, Any], ShownAs(LineFigures)]
    measured_at: datetime | None


class RunningAttempt(Documented):
    """What a node works on now."""

    attempt_id: str
    job_id: str
    own: bool
    """The job is the host's own: nothing is paid."""
    state: AttemptState
    state_since: datetime
    """Since when it is in this state; after a start of the hub, that start."""
    gpus: list[str]
    """The ids of the GPUs that it has."""
    cpus: float
    """The cores that it has."""
    memory_bytes: int
    """The memory that it has."""


class NodeActions(Documented):
    """What the reader may do with the node."""

    edit: ActionView
    """Change name, tags or country: `PATCH /nodes/{node_id}`."""
    price: Annotated[ActionView | None, MONEY]
    """Set or remove a price: `PATCH /nodes/{node_id}`. null in a pool without money."""
    drain: ActionView
    """Finish what runs and take nothing new: `POST /nodes/{node_id}/drain`."""
    resume: ActionView
    """Take work again after a drain: `POST /nodes/{node_id}/resume`."""
    remove: ActionView
    """Take it out of the pool for good: `POST /nodes/{node_id}/ban`."""
    pause: ActionView
    """Take the machine back at once, through its agent: `POST /nodes/{node_id}/pause`."""
    unpause: ActionView
    """End such a pause: `POST /nodes/{node_id}/unpause`."""
    policy: ActionView
    """Change its hours and when it counts as idle: `PATCH /nodes/{node_id}/policy`."""
    rotate_key: ActionView
    """Replace the node's key."""


class NodeView(Documented):
    id: str
    name: str
    state: NodeState
    owner_id: str
    owner_name: str | None
    """null for an owner that is not a user."""
    country: str | None
    tags: list[str]
    capacity: Capacity
    free: Room | None
    running_attempts: int
    """How many attempts it has now."""
    running: list[RunningAttempt]
    """What these are, the first 20. Price and earnings of each: `GET /nodes/{node_id}/attempts`."""
    earned_today_micros: Annotated[int | None, MONEY]
    """What it earned since midnight of UTC, what was given back taken off."""
    availability: Availability | None
    """What its owner leaves to strangers right now; None for a node that is not there."""
    gpu_loads: list[GpuLoad]
    notice: str
    """What its owner should know: why it gets less work than it could, or that a copy of it was refused."""
    clone_seen_at: datetime | None
    """When a second agent with this node's key was last refused."""
    agent_version: str
    created_at: datetime
    last_seen_at: datetime | None
    benchmark: BenchmarkView
    reliability: ReliabilityView
    slices_at_once: int | None
    """Slices of others that it gets at once, by what was measured of it and what it has earned; None for as many as it
    claims to hold."""
    price: Annotated[PriceView | None, MONEY]
    """What its host set; None where it is left to the pool."""
    ask: Annotated[AskView | None, MONEY]
    """What strangers pay for it now. What runs keeps the price that it was leased at."""
    actions: NodeActions
    """What the reader may do with it."""


class NodePage(Documented):
    items: list[NodeView]
    next: str | None
    total: int | None


@dataclass(frozen=True)
class StoredFacts:
    """What the database has of some nodes, besides their rows."""

    measured: Mapping[str, Benchmark]
    past: Mapping[str, ReliabilityView]
    owners: Mapping[str, str]
    earned: Mapping[str, int]
    policies: Mapping[str, NodePolicy]


async def views_of(engine: Engine, nodes: Sequence[Node], reader: Principal) -> list[NodeView]:
    """With a handful of statements, however many nodes there are."""
    context = engine.context
    half_life, day_start = context.settings.reliability_half_life, engine.day_start
    facts = await context.db.read(_facts, nodes, context.now(), half_life, day_start)
    return [_view(engine, node, facts, reader) for node in nodes]


def _facts(
    session: Session, nodes: Sequence[Node], now: datetime, half_life: timedelta, day_start: DayStart
) -> StoredFacts:
    measured = list_benchmarks(session, [node.id for node in nodes])
    return StoredFacts(
        measured=measured,
        past=reliability_by_node(session, nodes, measured, now, half_life),
        policies=find_policies(session, [node.id for node in nodes]),
        owners=names_of(session, {node.owner_id for node in nodes}),
        earned=earned_by_node(session, nodes, now.astimezone(UTC).date(), day_start.first_entry(session, now)),
    )


def actions_of(engine: Engine, node: Node, policy: NodePolicy | None, reader: Principal) -> NodeActions:
    if Scope.NODES_WRITE not in reader.scopes:
        no = refused("This token may only look: it lacks the scope nodes:write.")
        return NodeActions(**dict.fromkeys(NodeActions.model_fields, no))
    change = actions.refuse_change(node)
    priced = change or (MoneyOff() if engine.context.settings.money == "off" else None)
    return NodeActions(
        edit=unless(change),
        price=unless(priced),
        drain=unless(change or actions.is_draining(node, True)),
        resume=unless(change or actions.is_draining(node, False)),
        remove=unless(change),
        pause=unless(actions.refuse_pause(node, policy, reader) or actions.is_paused(policy, True)),
        unpause=unless(actions.refuse_pause(node, policy, reader) or actions.is_paused(policy, False)),
        policy=unless(actions.refuse_request(node, policy, reader)),
        rotate_key=refused(ON_THE_MACHINE if change is None else change.message),
    )


def _view(engine: Engine, node: Node, facts: StoredFacts, reader: Principal) -> NodeView:
    context, now = engine.context, engine.context.now()
    measured, past = facts.measured.get(node.id), facts.past[node.id]
    live = engine.scheduler.fleet.get(node.id)
    capacity = live.capacity if live is not None else Capacity.model_validate(node.capacity)
    clone_seen_at = service.recent_clone(node, now)
    seen = node.last_seen_at
    if live is not None and live.reported is not None:  # since the hub's start; else it was seen when its row says
        seen = now - timedelta(seconds=context.clock.monotonic() - live.seen_at)
    return NodeView(
        id=node.id,
        name=node.name,
        state=live.state if live is not None else NodeState(node.state),
        owner_id=node.owner_id,
        owner_name=facts.owners.get(node.owner_id),
        country=node.country,
        tags=node.tags,
        capacity=capacity,
        free=_room(live.free) if live is not None else None,
        running_attempts=len(live.attempts) if live is not None else 0,
        running=_running(live, now, context.clock.monotonic()) if live is not None else [],
        earned_today_micros=facts.earned.get(node.id, 0),
        availability=live.availability if live is not None else None,
        gpu_loads=list(live.loads) if live is not None else [],
        notice=notice_for(
            node.agent_version,
            context.settings.agent_minimum,
            capacity,
            past=past.notice,
            clone_seen_at=clone_seen_at,
        ),
        clone_seen_at=clone_seen_at,
        agent_version=node.agent_version,
        created_at=node.created_at,
        last_seen_at=seen,
        benchmark=_benchmark_view(measured, capacity),
        reliability=past,
        slices_at_once=allowed_slices(live) if live is not None else None,
        price=price_view(node),
        ask=ask_view(live.traits.ask, engine.book.place_of(node.id)) if live is not None else None,
        actions=actions_of(engine, node, facts.policies.get(node.id), reader),
    )


def _running(node: FleetNode, now: datetime, monotonic: float) -> list[RunningAttempt]:
    held = sorted(node.attempts.values(), key=lambda one: one.attempt_id)[:RUNNING_SHOWN]
    return [_running_attempt(one, now - timedelta(seconds=monotonic - one.since)) for one in held]


def _running_attempt(held: Held, since: datetime) -> RunningAttempt:
    return RunningAttempt(
        attempt_id=held.attempt_id,
        job_id=held.job_id,
        own=held.order.own,
        state=held.state,
        state_since=since,
        gpus=list(held.grant.gpus),
        cpus=held.grant.cpus,
        memory_bytes=held.grant.memory_bytes,
    )


def _room(free: Free) -> Room:
    return Room(
        cpus=free.cpu_millis / MILLI,
        memory_bytes=free.memory_bytes,
        disk_bytes=free.disk_bytes,
        gpus=len(free.gpus),
    )


def _benchmark_view(row: Benchmark | None, capacity: Capacity) -> BenchmarkView:
    if row is None:
        why = "simulated: no real hardware" if capacity.simulated else "it was not examined yet"
        return BenchmarkView(
            mark=cast("Mark", UNVERIFIED), words=why, tier=None, tier_basis=None, devices=[], line={}, measured_at=None
        )
    same = row.hardware == hardware_digest(capacity)
    return BenchmarkView(
        mark=cast("Mark", row.mark if same else UNVERIFIED),
        words=row.words if same else "its hardware or a driver changed since it was examined",
        tier=row.tier_millis / 1000,
        tier_basis=cast("Basis", row.tier_basis if same else "claimed"),
        devices=row.figures["devices"],
        line=row.figures["line"],
        measured_at=row.measured_at,
    )
