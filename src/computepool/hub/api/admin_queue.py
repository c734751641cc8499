"""What needs a person, for operators: one list over all features."""

from datetime import datetime
from typing import Annotated

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from computepool.hub.admin import queue
from computepool.hub.admin.queue import QueuedItem, QueueKind
from computepool.hub.core.actions import ALLOWED, ActionView
from computepool.hub.core.http import API_PREFIX
from computepool.hub.core.money import Micros, priced_routes
from computepool.hub.core.paging import BadCursor, Cursor, cursor_of, read_cursor
from computepool.hub.engine import Engine
from computepool.protocol.model import Documented

PAGE_LIMIT = 200


class QueueItem(Documented):
    """Something that waits for an operator."""

    kind: QueueKind
    """What it is: a ledger that does not add up, a dispute, a cash-out, an accusation, a contest, a difference to the
    payment processor, a mail that was given up, or a country that is in no region."""
    id: str
    """Its id, among those of its kind."""
    since: datetime | None
    """Since when it waits; null where that is not known."""
    title: str
    """What it is, in one sentence."""
    detail: str
    """What the person said who asked for it, or what was found; may be empty."""
    amount_micros: Micros
    """What it is about, in millionths of a credit; null where it is about no amount."""
    owner_id: str | None
    """Whom it concerns; null for nobody in particular."""
    owner_email: str | None
    """The e-mail address of that user."""
    path: str
    """Where the API has more about it."""
    actions: dict[str, ActionView]
    """What an admin may do about it, by name."""


class QueuePage(Documented):
    counts: dict[QueueKind, int]
    """How many wait, of each kind, whatever was asked for."""
    total: int
    """How many wait in all."""
    items: list[QueueItem]
    """The longest waiting first."""
    next: str | None


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = priced_routes(engine.directory.authenticate, context.settings, tags=["admin"])

    @routes.get("/admin/queue", visible="admin")
    async def list_queue(
        kind: Annotated[list[QueueKind] | None, Query(description="Only these kinds.")] = None,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
        cursor: Cursor = None,
    ) -> QueuePage:
        """What needs a person, the longest waiting first, and how many there are of each kind.

        Events of the type `admin` tell of new ones.
        """
        kinds = [one for one in QueueKind if context.settings.money == "on" or one not in queue.ABOUT_MONEY]
        wanted = [one for one in kinds if kind is None or one in kind]
        return await context.db.read(_page, engine, kinds, wanted, cursor, limit)

    return routes.router


def _page(
    session: Session, engine: Engine, kinds: list[QueueKind], wanted: list[QueueKind], cursor: str | None, limit: int
) -> QueuePage:
    now, unlisted = engine.context.now(), engine.market.unlisted
    found = queue.list_waiting(session, wanted, _after(cursor), limit + 1, now)
    counts = queue.count_waiting(session, kinds, now)
    if QueueKind.COUNTRY in kinds:
        counts[QueueKind.COUNTRY] = len(unlisted)
    items = [_item(one) for one in found[:limit]]
    is_last = len(found) <= limit
    if is_last and QueueKind.COUNTRY in wanted:
        items += [_country(code, count) for code, count in sorted(unlisted.items())]
    return QueuePage(
        counts=counts,
        total=sum(counts.values()),
        items=items,
        next=None if is_last else cursor_of(*found[limit - 1].key),
    )


def _after(cursor: str | None) -> tuple[datetime, str, str] | None:
    if cursor is None:
        return None
    since, kind, id = read_cursor(cursor, [datetime, str, str])
    if not isinstance(since, datetime) or since.tzinfo is None:
        raise BadCursor
    return since, str(kind), str(id)


def _item(one: QueuedItem) -> QueueItem:
    return QueueItem(
        kind=one.kind,
        id=one.id,
        since=one.since,
        title=one.title,
        detail=one.detail,
        amount_micros=one.micros,
        owner_id=one.owner_id,
        owner_email=one.owner_email,
        path=f"{API_PREFIX}/{one.path}",
        actions=one.actions,
    )


def _country(code: str, nodes: int) -> QueueItem:
    return QueueItem(
        kind=QueueKind.COUNTRY,
        id=code,
        since=None,
        title=f"{code} is in no region: its {nodes} {'node has' if nodes == 1 else 'nodes have'} the factor 1.0.",
        detail="",
        amount_micros=None,
        owner_id=None,
        owner_email=None,
        path=f"{API_PREFIX}/admin/market/regions",
        actions={"edit_regions": ALLOWED},
    )
