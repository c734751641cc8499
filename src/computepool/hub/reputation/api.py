from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query
from pydantic import BaseModel, Field
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.http import Authenticate, Caller, Principal, Routes, Scope
from computepool.hub.core.texts import STORABLE
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.market.standing import Standing
from computepool.hub.nodes.api import load_node
from computepool.hub.nodes.reliability_view import ReliabilityView
from computepool.hub.reputation import contests, repository, service
from computepool.hub.reputation.contests import Resolution, Resolved
from computepool.hub.reputation.views import (
    ContestPage,
    EventView,
    HistoryPage,
    contest_view,
    event_view,
    formula_view,
    reliability_of,
)

PAGE_LIMIT = 500
WORDS_LIMIT = 1000
EventId = Annotated[int, Path(ge=1, le=2**62)]
Before = Annotated[int | None, Query(ge=1, le=2**62)]
Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT)]
Changed = Callable[[str, Standing], None]
"""Tells the scheduler's memory what was changed in the database."""


class Contest(BaseModel):
    model_config = {"extra": "forbid"}

    reason: str = Field(min_length=1, max_length=WORDS_LIMIT, pattern=STORABLE)


class Decision(BaseModel):
    model_config = {"extra": "forbid"}

    resolution: Resolution
    note: str = Field(default="", max_length=WORDS_LIMIT, pattern=STORABLE)


def router(authenticate: Authenticate, context: Context, changed: Changed) -> APIRouter:
    routes = Routes(authenticate, tags=["reputation"])
    _add_owners(routes, context)
    _add_operators(routes, context, changed)
    return routes.router


def _add_owners(routes: Routes, context: Context) -> None:
    half_life = context.settings.reliability_half_life

    @routes.get("/nodes/{node_id}/reliability", visible="own", scope=Scope.NODES_READ)
    async def show_reliability(node_id: str, caller: Caller, limit: Limit = 50, cursor: Before = None) -> HistoryPage:
        """How reliable a node is taken to be, what that is made of, and everything that moved it."""
        return await context.db.read(_history, caller, node_id, cursor, limit, context.now(), half_life)

    @routes.post("/nodes/{node_id}/reliability/{event_id}/contest", visible="own", scope=Scope.NODES_WRITE)
    async def contest_event(node_id: str, event_id: EventId, body: Contest, caller: Caller) -> EventView:
        """Say that it was not the node's fault. An operator looks at it; upheld, it is taken off the score."""
        return await context.db.run(_contest, caller, node_id, event_id, body.reason, context.now())


def _add_operators(routes: Routes, context: Context, changed: Changed) -> None:
    half_life, unbroken = context.settings.reliability_half_life, Unbroken()

    async def mark(node_id: str, wanted: bool, caller: Principal) -> ReliabilityView:
        async def both() -> ReliabilityView:
            view, standing = await context.db.run(_mark, caller, node_id, wanted, context.now(), half_life)
            changed(node_id, standing)
            return view

        return await unbroken.run(both())

    @routes.get("/admin/contests", visible="admin")
    async def list_contests(
        limit: Limit = 100,
        cursor: Before = None,
        all: Annotated[bool, Query(description="Settled ones too.")] = False,
    ) -> ContestPage:
        """What owners of nodes object to, newest first."""
        rows = await context.db.read(repository.list_contests, is_open=not all, before=cursor, limit=limit + 1)
        items = [contest_view(*row) for row in rows[:limit]]
        return ContestPage(items=items, next=items[-1].id if len(rows) > limit else None)

    @routes.post("/admin/contests/{event_id}/resolve", visible="admin")
    async def resolve_contest(event_id: EventId, body: Decision, caller: Caller) -> EventView:
        """Uphold or dismiss a contest. What is upheld counts as if it had never happened."""

        async def both() -> Resolved:
            done = await context.db.run(
                contests.resolve, event_id, body.resolution, body.note, caller.user_id, context.now(), half_life
            )
            if done.standing is not None:
                changed(done.event.node_id, done.standing)
            return done

        return event_view((await unbroken.run(both())).event)

    @routes.post("/admin/nodes/{node_id}/verify", visible="admin")
    async def verify_node(node_id: str, caller: Caller) -> ReliabilityView:
        """Its owner, and where the earnings go, were checked. The rest of what `verified` needs is measured."""
        return await mark(node_id, True, caller)

    @routes.post("/admin/nodes/{node_id}/unverify", visible="admin")
    async def unverify_node(node_id: str, caller: Caller) -> ReliabilityView:
        """Take that back: from the next lease on."""
        return await mark(node_id, False, caller)


def _history(
    session: Session,
    principal: Principal,
    node_id: str,
    before: int | None,
    limit: int,
    now: datetime,
    half_life: timedelta,
) -> HistoryPage:
    node = load_node(session, principal, node_id)
    record = repository.find(session, node_id)
    rows = repository.list_events(session, repository.record_id_of(node), before, limit + 1)
    items = [event_view(row) for row in rows[:limit]]
    return HistoryPage(
        reliability=reliability_of(session, node, now, half_life),
        formula=formula_view(record, now, half_life),
        items=items,
        next=items[-1].id if len(rows) > limit else None,
    )


def _contest(
    session: Session, principal: Principal, node_id: str, event_id: int, reason: str, now: datetime
) -> EventView:
    node = load_node(session, principal, node_id)
    return event_view(contests.contest(session, node, event_id, reason, principal.user_id, now))


def _mark(
    session: Session, principal: Principal, node_id: str, wanted: bool, now: datetime, half_life: timedelta
) -> tuple[ReliabilityView, Standing]:
    node = load_node(session, principal, node_id)
    standing = service.mark(session, node, wanted, principal.user_id, now, half_life)
    return reliability_of(session, node, now, half_life), standing
