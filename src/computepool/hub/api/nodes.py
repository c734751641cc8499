"""Nodes: how machines join, and what their owners see and change."""

import base64
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Concatenate, ParamSpec

from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from computepool.hub.accounts.errors import TooManyTries
from computepool.hub.accounts.visibility import owned_by, sees
from computepool.hub.api.node_views import NodePage, NodeView, views_of
from computepool.hub.core.errors import PoolError
from computepool.hub.core.http import Caller, Principal, Routes, Scope
from computepool.hub.core.money import MoneyOff, need_money, priced_routes
from computepool.hub.core.records import record
from computepool.hub.core.settings import Settings
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.nodes import service
from computepool.hub.nodes.actions import is_draining, refuse_change
from computepool.hub.nodes.errors import (
    BadJoinToken,
    BadProof,
    KeyEnded,
    KeyTaken,
    NodeMoved,
    NoSuchNode,
    ReplacedAlready,
)
from computepool.hub.nodes.listing import NodeFilter, NodeOrder
from computepool.hub.nodes.listing import list_nodes as list_page
from computepool.hub.nodes.prices import PriceChange, price_view, set_price
from computepool.hub.nodes.tables import Node
from computepool.protocol.countries import Country
from computepool.protocol.enrol import NAME_PATTERN, EnrolReply, EnrolRequest, NodeKeyReply, NodeKeyRequest
from computepool.protocol.model import Documented
from computepool.protocol.signing import key_id_of
from computepool.protocol.spec_fields import TAG
from computepool.protocol.states import NodeState

P = ParamSpec("P")
PAGE_LIMIT = 500
ENROL_LIMIT_BYTES = 256 * 1024
"""A machine with many GPUs has much to tell before it is known."""
NODE_KEY_LIMIT_BYTES = 8 * 1024
Tag = Annotated[str, Field(pattern=f"^{TAG.pattern}$")]


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

    async def change(
        fn: Callable[Concatenate[Session, Principal, P], Node], caller: Principal, *args: P.args, **kwargs: P.kwargs
    ) -> NodeView:
        """In the database, and then in the scheduler's memory: both, even if the caller gives up in between."""

        async def both() -> Node:
            node = await context.db.run(fn, caller, *args, **kwargs)
            await engine.node_changed(node)
            return node

        return (await views_of(engine, [await unbroken.run(both())], caller))[0]

    @routes.get("/nodes", visible="own", scope=Scope.NODES_READ)
    async def list_nodes(
        caller: Caller,
        state: NodeState | None = None,
        search: Annotated[str | None, Query(max_length=100, description="Part of a name or of an id.")] = None,
        owner_id: Annotated[str | None, Query(max_length=40, description="Of this owner alone, for an admin.")] = None,
        owner: Annotated[
            str | None, Query(max_length=40, deprecated=True, description="An older name of `owner_id`.")
        ] = None,
        gpu: Annotated[str | None, Query(max_length=100, description="With a card of this name.")] = None,
        country: Country | None = None,
        tag: Annotated[Tag | None, Query(description="With this tag.")] = None,
        simulated: Annotated[bool | None, Query(description="Simulated nodes alone, or real ones.")] = None,
        order: Annotated[NodeOrder, Query(description="What to sort by; with `-` the other way round.")] = "-created",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: str | None = None,
    ) -> NodePage:
        """The caller's own machines; an admin sees everybody's."""
        wanted = NodeFilter(state, search, owner_id or owner, gpu, country, tag, simulated)
        visible = owned_by(caller, Node.owner_id)
        nodes, following, total = await context.db.read(list_page, visible, wanted, order, cursor, limit)
        return NodePage(items=await views_of(engine, nodes, caller), next=following, total=total)

    @routes.get("/nodes/{node_id}", visible="own", scope=Scope.NODES_READ, errors=[NoSuchNode])
    async def show_node(node_id: str, caller: Caller) -> NodeView:
        """One machine: what it has, what it does, and what is known of it."""
        return (await views_of(engine, [await context.db.read(load_node, caller, node_id)], caller))[0]

    @routes.patch("/nodes/{node_id}", visible="own", scope=Scope.NODES_WRITE, errors=[NoSuchNode, NodeMoved, MoneyOff])
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


def _with_replaced(session: Session, node: Node) -> list[Node]:
    """The node, and the one whose place it took."""
    return [node, session.get_one(Node, node.replaces)] if node.replaces is not None else [node]


def _key_id(session: Session, node_id: str) -> str:
    return key_id_of(base64.b64decode(session.get_one(Node, node_id).sign_key))


def load_node(session: Session, principal: Principal, node_id: str) -> Node:
    node = session.get(Node, node_id)
    if node is None or not sees(principal, node.owner_id):
        raise NoSuchNode(node_id)
    return node


def _raise(error: PoolError | None) -> None:
    if error is not None:
        raise error


def _change(
    session: Session, principal: Principal, node_id: str, change: NodeChange, settings: Settings, now: datetime
) -> Node:
    node = load_node(session, principal, node_id)
    _raise(refuse_change(node))
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
    _raise(refuse_change(node))
    if is_draining(node, wanted) is None:
        node.drain_requested = wanted
        action = "node.drain" if wanted else "node.resume"
        record(session, action, node_id, now, actor=principal.user_id, topics=service.topics_of(node))
    return node


def _ban(session: Session, principal: Principal, node_id: str, now: datetime) -> Node:
    node = load_node(session, principal, node_id)
    service.change_state(session, node, NodeState.BANNED, now, actor=principal.user_id)
    session.refresh(node)
    return node
