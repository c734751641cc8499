"""Nodes: how machines join, and what their owners see and change."""

import base64
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Concatenate, ParamSpec, cast

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from computepool.hub.accounts.errors import TooManyTries
from computepool.hub.accounts.visibility import owned_by
from computepool.hub.api.market_views import AskView, ask_view
from computepool.hub.core.context import Context
from computepool.hub.core.http import Caller, IdempotencyKey, Principal, Routes, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields, repeatable_bits
from computepool.hub.core.money import MONEY, MoneyOff, need_money, priced_routes
from computepool.hub.core.records import record
from computepool.hub.core.settings import Settings
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.market.feasibility import Free
from computepool.hub.market.requirements import MILLI
from computepool.hub.market.tiers import Basis, Mark
from computepool.hub.nodes import repository, service
from computepool.hub.nodes.benchmarks import UNVERIFIED, Benchmark, hardware_digest, list_benchmarks
from computepool.hub.nodes.errors import (
    BadJoinToken,
    BadProof,
    KeyEnded,
    KeyTaken,
    NodeMoved,
    NoSuchNode,
    ReplacedAlready,
)
from computepool.hub.nodes.notices import notice_for
from computepool.hub.nodes.prices import PriceChange, PriceView, price_view, set_price
from computepool.hub.nodes.tables import JoinToken, Node
from computepool.hub.reputation.views import ReliabilityView, reliability_by_node
from computepool.hub.scheduling.fleet_node import allowed_slices
from computepool.protocol.benchmark import Figures
from computepool.protocol.capacity import Capacity
from computepool.protocol.countries import Country
from computepool.protocol.enrol import NAME_PATTERN, EnrolReply, EnrolRequest, NodeKeyReply, NodeKeyRequest
from computepool.protocol.messages import Availability, GpuLoad
from computepool.protocol.model import Documented, ShownAs
from computepool.protocol.signing import key_id_of
from computepool.protocol.spec_fields import TAG
from computepool.protocol.states import NodeState

P = ParamSpec("P")
PAGE_LIMIT = 500
ENROL_LIMIT_BYTES = 256 * 1024
"""A machine with many GPUs has much to tell before it is known."""
NODE_KEY_LIMIT_BYTES = 8 * 1024
JOIN_TOKEN_ROUTE = "POST nodes/join-tokens"
Tag = Annotated[str, Field(pattern=f"^{TAG.pattern}$")]


class NewJoinToken(Documented):
    uses: int = Field(default=1, ge=1, le=service.JOIN_TOKEN_MOST_USES)
    expires_in_seconds: int = Field(
        default=int(service.JOIN_TOKEN_DEFAULT.total_seconds()),
        ge=1,
        le=int(service.JOIN_TOKEN_LONGEST.total_seconds()),
    )


class JoinTokenView(Documented):
    token: str
    """Shown once."""
    uses: int
    expires_at: datetime


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


class NodeView(Documented):
    id: str
    name: str
    state: NodeState
    owner_id: str
    country: str | None
    tags: list[str]
    capacity: Capacity
    free: Room | None
    running_attempts: int
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


class NodePage(Documented):
    items: list[NodeView]
    next: str | None


class NodeChange(Documented):
    model_config = ConfigDict(extra="forbid")

    name: str | None = Field(default=None, min_length=1, max_length=64, pattern=NAME_PATTERN)
    country: Country | None = None
    """Null if nobody is to know."""
    tags: list[Tag] | None = Field(default=None, max_length=32)
    price: PriceChange | None = None
    """A floor or a fixed price for the leases to come; null leaves it to the pool."""


def router(engine: Engine) -> APIRouter:
    routes = priced_routes(engine.directory.authenticate, engine.context.settings, tags=["nodes"])
    _add_joining(routes, engine)
    _add_own(routes, engine)
    return routes.router


def _add_joining(routes: Routes, engine: Engine) -> None:
    context, unbroken = engine.context, Unbroken()

    @routes.post("/nodes/join-tokens", visible="own", scope=Scope.NODES_WRITE, status_code=201)
    async def create_join_token(body: NewJoinToken, caller: Caller, key: IdempotencyKey = None) -> JoinTokenView:
        """A token that lets machines enrol as nodes of the caller.

        Its text is in this answer alone, and in that to the same request repeated with the same key.
        """
        return await context.db.run(_create_join_token, context, caller.user_id, body, key)

    @routes.post(
        "/nodes/enroll",
        visible="public",
        body_limit_bytes=ENROL_LIMIT_BYTES,
        status_code=201,
        errors=[BadJoinToken, BadProof, KeyTaken, ReplacedAlready, NoSuchNode, TooManyTries],
    )
    async def enroll(body: EnrolRequest) -> EnrolReply:
        """A machine becomes a node. Proven by a join token, and a signature with the key that it brings.

        May be repeated with the same token and key while the token has not expired: a lost answer costs nothing.
        """
        node = await context.db.run(service.enrol, context.new_id("node"), body, context.now())
        for each in await context.db.read(_with_replaced, node):
            await engine.node_changed(each)
        return EnrolReply(node_id=node.id, name=node.name, hub_id=context.hub_id, keys=engine.keyring.pinned)

    @routes.post(
        "/nodes/{node_id}/key",
        name="replace_key",
        visible="public",
        body_limit_bytes=NODE_KEY_LIMIT_BYTES,
        errors=[NoSuchNode, BadProof, KeyEnded, KeyTaken],
    )
    async def replace_node_key(node_id: str, body: NodeKeyRequest) -> NodeKeyReply:
        """A node replaces its keys. Proven by signatures with the key that it has and with the new one.

        The earlier key is refused from then on. May be repeated: a lost answer costs nothing.
        """

        async def both() -> None:
            if await context.db.run(service.replace_key, node_id, body, context.hub_id, context.now()):
                engine.gateway.key_replaced(node_id)

        await unbroken.run(both())
        return NodeKeyReply(node_id=node_id, key_id=await context.db.read(_key_id, node_id))


def _add_own(routes: Routes, engine: Engine) -> None:
    context, unbroken = engine.context, Unbroken()

    async def views(nodes: Sequence[Node]) -> list[NodeView]:
        return await _views(engine, nodes)

    async def change(fn: Callable[Concatenate[Session, P], Node], *args: P.args, **kwargs: P.kwargs) -> NodeView:
        """In the database, and then in the scheduler's memory: both, even if the caller gives up in between."""

        async def both() -> Node:
            node = await context.db.run(fn, *args, **kwargs)
            await engine.node_changed(node)
            return node

        return (await views([await unbroken.run(both())]))[0]

    @routes.get("/nodes", visible="own", scope=Scope.NODES_READ)
    async def list_nodes(
        caller: Caller,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: str | None = None,
    ) -> NodePage:
        """The caller's own machines; an admin sees everybody's."""
        nodes = await context.db.read(repository.list_nodes, owned_by(caller, Node.owner_id), cursor, limit + 1)
        shown = nodes[:limit]
        return NodePage(items=await views(shown), next=shown[-1].id if len(nodes) > limit else None)

    @routes.get("/nodes/{node_id}", visible="own", scope=Scope.NODES_READ, errors=[NoSuchNode])
    async def show_node(node_id: str, caller: Caller) -> NodeView:
        """One machine: what it has, what it does, and what is known of it."""
        return (await views([await context.db.read(load_node, caller, node_id)]))[0]

    @routes.patch("/nodes/{node_id}", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchNode, MoneyOff])
    async def change_node(node_id: str, body: NodeChange, caller: Caller) -> NodeView:
        """Name, tags, country or price. What is left out stays as it is."""
        return await change(_change, caller, node_id, body, context.settings, context.now())

    @routes.post("/nodes/{node_id}/drain", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchNode, NodeMoved])
    async def drain_node(node_id: str, caller: Caller) -> NodeView:
        """What runs is finished; nothing new starts, until it is resumed."""
        return await change(_drain, caller, node_id, True, context.now())

    @routes.post("/nodes/{node_id}/resume", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchNode, NodeMoved])
    async def resume_node(node_id: str, caller: Caller) -> NodeView:
        """Take work again after a drain."""
        return await change(_drain, caller, node_id, False, context.now())

    @routes.post("/nodes/{node_id}/ban", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchNode, NodeMoved])
    async def ban_node(node_id: str, caller: Caller) -> NodeView:
        """Take it out of the pool for good."""
        return await change(_ban, caller, node_id, context.now())


def _create_join_token(
    session: Session, context: Context, user_id: str, body: NewJoinToken, key: str | None
) -> JoinTokenView:
    token_id, now, chance = context.new_id("join"), context.now(), context.randbits
    if key is not None:
        asked = digest_of_fields(**body.model_dump())
        earlier = claim(session, user_id, key, JOIN_TOKEN_ROUTE, asked, token_id, now)
        chance = repeatable_bits(context.secret_key, JOIN_TOKEN_ROUTE, key, earlier or token_id)
        if earlier is not None:
            row = session.get_one(JoinToken, earlier)
            return JoinTokenView(token=service.new_join_token(chance), uses=body.uses, expires_at=row.expires_at)
    token, lifetime = service.new_join_token(chance), timedelta(seconds=body.expires_in_seconds)
    row = service.create_join_token(session, token_id, user_id, token, body.uses, lifetime, now, actor=user_id)
    return JoinTokenView(token=token, uses=row.uses_left, expires_at=row.expires_at)


async def _views(engine: Engine, nodes: Sequence[Node]) -> list[NodeView]:
    context, half_life = engine.context, engine.context.settings.reliability_half_life
    measured = await context.db.read(list_benchmarks, [node.id for node in nodes])
    past = await context.db.read(reliability_by_node, nodes, context.now(), half_life)
    return [_view(engine, node, measured.get(node.id), past[node.id]) for node in nodes]


def _view(engine: Engine, node: Node, measured: Benchmark | None, past: ReliabilityView) -> NodeView:
    context, now, capacity = engine.context, engine.context.now(), Capacity.model_validate(node.capacity)
    live = engine.scheduler.fleet.get(node.id)
    clone_seen_at = service.recent_clone(node, now)
    seen = node.last_seen_at
    if live is not None and live.reported is not None:  # since the hub's start; else it was seen when its row says
        seen = now - timedelta(seconds=context.clock.monotonic() - live.seen_at)
    return NodeView(
        id=node.id,
        name=node.name,
        state=live.state if live is not None else NodeState(node.state),
        owner_id=node.owner_id,
        country=node.country,
        tags=node.tags,
        capacity=capacity,
        free=_room(live.free) if live is not None else None,
        running_attempts=len(live.attempts) if live is not None else 0,
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
        why = "it only pretends to compute" if capacity.simulated else "it was not examined yet"
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


def _with_replaced(session: Session, node: Node) -> list[Node]:
    """The node, and the one whose place it took."""
    return [node, session.get_one(Node, node.replaces)] if node.replaces is not None else [node]


def _key_id(session: Session, node_id: str) -> str:
    return key_id_of(base64.b64decode(session.get_one(Node, node_id).sign_key))


def load_node(session: Session, principal: Principal, node_id: str) -> Node:
    node = session.get(Node, node_id)
    if node is None or not (principal.is_admin or node.owner_id in principal.owner_ids):
        raise NoSuchNode(node_id)
    return node


def _change(
    session: Session, principal: Principal, node_id: str, change: NodeChange, settings: Settings, now: datetime
) -> Node:
    node = load_node(session, principal, node_id)
    values = change.model_dump(exclude_none=True, exclude={"price", "country"})
    if "country" in change.model_fields_set:
        values["country"] = change.country
    if "tags" in values:
        values["tags"] = sorted(set(values["tags"]))
    for name, value in values.items():
        setattr(node, name, value)
    if "price" in change.model_fields_set:
        need_money(settings)
        before = price_view(node)
        set_price(node, change.price)
        after = price_view(node)
        values |= {"price_before": before and before.model_dump(), "price": after and after.model_dump()}
    topics = service.topics_of(node)
    record(session, "node.changed", node_id, now, actor=principal.user_id, topics=topics, **values)
    return node


def _drain(session: Session, principal: Principal, node_id: str, wanted: bool, now: datetime) -> Node:
    node = load_node(session, principal, node_id)
    if node.drain_requested != wanted:
        node.drain_requested = wanted
        action = "node.drain" if wanted else "node.resume"
        record(session, action, node_id, now, actor=principal.user_id, topics=service.topics_of(node))
    return node


def _ban(session: Session, principal: Principal, node_id: str, now: datetime) -> Node:
    node = load_node(session, principal, node_id)
    service.change_state(session, node, NodeState.BANNED, now, actor=principal.user_id)
    session.refresh(node)
    return node
