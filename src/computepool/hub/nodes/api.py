from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, Concatenate, ParamSpec

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from computepool.hub.accounts.visibility import owned_by
from computepool.hub.core.context import Context
from computepool.hub.core.http import Authenticate, Caller, IdempotencyKey, Principal, Scope
from computepool.hub.core.idempotency import claim, digest_of_fields, repeatable_bits
from computepool.hub.core.keyring import Keyring
from computepool.hub.core.money import MONEY, need_money, priced_routes
from computepool.hub.core.records import record
from computepool.hub.core.settings import Settings
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.nodes import repository, service
from computepool.hub.nodes.benchmark_view import BenchmarkView, benchmark_view
from computepool.hub.nodes.benchmarks import Benchmark, list_benchmarks
from computepool.hub.nodes.errors import NoSuchNode
from computepool.hub.nodes.notices import notice_for
from computepool.hub.nodes.prices import AskView, PriceChange, PriceView, price_view, set_price
from computepool.hub.nodes.reliability_view import LookBack, ReliabilityView
from computepool.hub.nodes.tables import JoinToken, Node
from computepool.protocol.capacity import Capacity
from computepool.protocol.countries import Country
from computepool.protocol.enrol import NAME_PATTERN, EnrolReply, EnrolRequest
from computepool.protocol.messages import Availability, GpuLoad
from computepool.protocol.spec_fields import TAG
from computepool.protocol.states import NodeState

P = ParamSpec("P")
PAGE_LIMIT = 500
ENROL_LIMIT_BYTES = 256 * 1024
"""A machine with many GPUs has much to tell before it is known."""
JOIN_TOKEN_ROUTE = "POST nodes/join-tokens"
Tag = Annotated[str, Field(pattern=f"^{TAG.pattern}$")]


class NewJoinToken(BaseModel):
    uses: int = Field(default=1, ge=1, le=service.JOIN_TOKEN_MOST_USES)
    expires_in_seconds: int = Field(
        default=int(service.JOIN_TOKEN_DEFAULT.total_seconds()),
        ge=1,
        le=int(service.JOIN_TOKEN_LONGEST.total_seconds()),
    )


class JoinTokenView(BaseModel):
    token: str
    """Shown once."""
    uses: int
    expires_at: datetime


class Room(BaseModel):
    cpus: float
    memory_bytes: int
    disk_bytes: int
    gpus: int


class Live(BaseModel):
    """What only the scheduler's memory knows of a node."""

    state: NodeState
    free: Room
    running_attempts: int
    seen_seconds_ago: float | None
    availability: Availability
    gpu_loads: tuple[GpuLoad, ...] = ()
    ask: AskView | None = None
    slices_at_once: int | None = None


class NodeView(BaseModel):
    id: str
    name: str
    state: NodeState
    owner_id: str
    country: str | None
    tags: list[str]
    capacity: dict[str, Any]
    free: Room | None
    running_attempts: int
    availability: Availability | None
    """What its owner leaves to strangers right now; None for a node that is not there."""
    gpu_loads: list[GpuLoad]
    notice: str
    """Why it gets less work than it could."""
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


class NodePage(BaseModel):
    items: list[NodeView]
    next: str | None


class NodeChange(BaseModel):
    model_config = {"extra": "forbid"}

    name: str | None = Field(default=None, min_length=1, max_length=64, pattern=NAME_PATTERN)
    country: Country | None = None
    """Null if nobody is to know."""
    tags: list[Tag] | None = Field(default=None, max_length=32)
    price: PriceChange | None = None
    """A floor or a fixed price for the leases to come; null leaves it to the pool."""


LookLive = Callable[[str], Live | None]
Changed = Callable[[Node], Awaitable[None]]
"""Tells the scheduler's memory what was changed in the database."""


def router(
    authenticate: Authenticate,
    context: Context,
    keyring: Keyring,
    look_live: LookLive,
    changed: Changed,
    look_back: LookBack,
) -> APIRouter:
    routes, unbroken = priced_routes(authenticate, context.settings, tags=["nodes"]), Unbroken()

    async def views(nodes: Sequence[Node]) -> list[NodeView]:
        return await _views(context, look_live, look_back, nodes)

    async def change(fn: Callable[Concatenate[Session, P], Node], *args: P.args, **kwargs: P.kwargs) -> NodeView:
        """In the database, and then in the scheduler's memory: both, even if the caller gives up in between."""

        async def both() -> Node:
            node = await context.db.run(fn, *args, **kwargs)
            await changed(node)
            return node

        return (await views([await unbroken.run(both())]))[0]

    @routes.post("/nodes/join-tokens", visible="own", scope=Scope.NODES_WRITE, status_code=201)
    async def create_join_token(body: NewJoinToken, caller: Caller, key: IdempotencyKey = None) -> JoinTokenView:
        """A token that lets machines enrol as nodes of the caller.

        Its text is in this answer alone, and in that to the same request repeated with the same key.
        """
        return await context.db.run(_create_join_token, context, caller.user_id, body, key)

    @routes.post("/nodes/enroll", visible="public", body_limit_bytes=ENROL_LIMIT_BYTES, status_code=201)
    async def enroll(body: EnrolRequest) -> EnrolReply:
        """A machine becomes a node. Proven by a join token, and a signature with the key that it brings.

        May be repeated with the same token and key while the token has not expired: a lost answer costs nothing.
        """
        node = await context.db.run(service.enrol, context.new_id("node"), body, context.now())
        await _tell(changed, await context.db.read(_with_replaced, node))
        return EnrolReply(node_id=node.id, name=node.name, hub_id=context.hub_id, keys=keyring.pinned)

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

    @routes.get("/nodes/{node_id}", visible="own", scope=Scope.NODES_READ)
    async def show_node(node_id: str, caller: Caller) -> NodeView:
        """One machine: what it has, what it does, and what is known of it."""
        return (await views([await context.db.read(load_node, caller, node_id)]))[0]

    @routes.patch("/nodes/{node_id}", visible="own", scope=Scope.NODES_WRITE)
    async def change_node(node_id: str, body: NodeChange, caller: Caller) -> NodeView:
        """Name, tags, country or price. What is left out stays as it is."""
        return await change(_change, caller, node_id, body, context.settings, context.now())

    @routes.post("/nodes/{node_id}/drain", visible="own", scope=Scope.NODES_WRITE)
    async def drain_node(node_id: str, caller: Caller) -> NodeView:
        """What runs is finished; nothing new starts, until it is resumed."""
        return await change(_drain, caller, node_id, True, context.now())

    @routes.post("/nodes/{node_id}/resume", visible="own", scope=Scope.NODES_WRITE)
    async def resume_node(node_id: str, caller: Caller) -> NodeView:
        """Take work again after a drain."""
        return await change(_drain, caller, node_id, False, context.now())

    @routes.post("/nodes/{node_id}/ban", visible="own", scope=Scope.NODES_WRITE)
    async def ban_node(node_id: str, caller: Caller) -> NodeView:
        """Take it out of the pool for good."""
        return await change(_ban, caller, node_id, context.now())

    return routes.router


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


async def _views(context: Context, look_live: LookLive, look_back: LookBack, nodes: Sequence[Node]) -> list[NodeView]:
    measured = await context.db.read(list_benchmarks, [node.id for node in nodes])
    now, minimum = context.now(), context.settings.agent_minimum
    past = await context.db.read(look_back, nodes, now)
    return [_view(node, look_live(node.id), measured.get(node.id), past[node.id], now, minimum) for node in nodes]


def _view(
    node: Node,
    live: Live | None,
    measured: Benchmark | None,
    past: ReliabilityView,
    now: datetime,
    minimum: str,
) -> NodeView:
    capacity = Capacity.model_validate(node.capacity)
    seen = node.last_seen_at
    if live is not None and live.seen_seconds_ago is not None:
        seen = now - timedelta(seconds=live.seen_seconds_ago)
    return NodeView(
        id=node.id,
        name=node.name,
        state=live.state if live is not None else NodeState(node.state),
        owner_id=node.owner_id,
        country=node.country,
        tags=node.tags,
        capacity=node.capacity,
        free=live.free if live is not None else None,
        running_attempts=live.running_attempts if live is not None else 0,
        availability=live.availability if live is not None else None,
        gpu_loads=list(live.gpu_loads) if live is not None else [],
        notice=notice_for(node.agent_version, minimum, capacity, past=past.notice),
        agent_version=node.agent_version,
        created_at=node.created_at,
        last_seen_at=seen,
        benchmark=benchmark_view(measured, capacity),
        reliability=past,
        slices_at_once=live.slices_at_once if live is not None else None,
        price=price_view(node),
        ask=live.ask if live is not None else None,
    )


async def _tell(changed: Changed, nodes: list[Node]) -> None:
    for node in nodes:
        await changed(node)


def _with_replaced(session: Session, node: Node) -> list[Node]:
    """The node, and the one whose place it took."""
    return [node, session.get_one(Node, node.replaces)] if node.replaces is not None else [node]


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
