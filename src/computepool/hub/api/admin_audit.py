"""The audit, for operators: who did what to which object, and when."""

import json
import re
from dataclasses import replace
from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import find_user_by_email
from computepool.hub.admin.audit import AuditSearch, list_actions, names_of, search_audit
from computepool.hub.api.history_views import in_utc
from computepool.hub.core.http import Routes
from computepool.hub.core.paging import BadCursor, Cursor, cursor_of, read_cursor
from computepool.hub.core.tables import AuditRow
from computepool.hub.core.texts import GivenInstant
from computepool.hub.engine import Engine
from computepool.protocol.model import Documented

PAGE_LIMIT = 500
NAME_LIMIT = 254
ACTION_LIMIT = 60
TEXT_LIMIT = 100
_MONEY = re.compile("budget|ceiling|cost|credit|debt|earn|fee|micros|money|paid|price|refund|spen|spot", re.IGNORECASE)


class AuditDetail(Documented):
    """Something else that was recorded."""

    name: str
    """Its name, which depends on the action."""
    value: str
    """Its value: a text as it is, anything else as JSON."""


class AuditLine(Documented):
    """Somebody did something."""

    id: int
    """Grows with every record of the pool."""
    at: datetime
    """When."""
    actor: str
    """Who: the id of a user or a node, or `hub`."""
    actor_name: str | None
    """The user's e-mail address, or the node's name."""
    action: str
    """What, such as `cash_out.approved`."""
    subject: str
    """To what: the id of an object."""
    subject_name: str | None
    """What people call it, where it is a user, a node or a job."""
    details: list[AuditDetail]
    """What else was recorded."""


class AuditLines(Documented):
    items: list[AuditLine]
    next: str | None
    """The cursor of the following page; null on the last. With `q`, a node as `actor` or an action of every job, a page
    looks through 50,000 records: it may be short, or empty, and have one."""


class AuditActions(Documented):
    items: list[str]
    """The actions that every job records, and all others that there are records of, in the order of the alphabet."""


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = Routes(engine.directory.authenticate, tags=["admin"])

    @routes.get("/admin/audit", visible="admin")
    async def search_audit(
        actor: Annotated[
            str | None,
            Query(max_length=NAME_LIMIT, description="The id of a user or a node, an e-mail address, or hub."),
        ] = None,
        action: Annotated[
            str | None, Query(max_length=ACTION_LIMIT, description="The action, or its beginning such as `cash_out.`")
        ] = None,
        subject: Annotated[
            str | None, Query(max_length=NAME_LIMIT, description="The id of an object, or a user's e-mail address.")
        ] = None,
        q: Annotated[
            str | None,
            Query(
                min_length=2,
                max_length=TEXT_LIMIT,
                description="A text in the action, the ids or the details. A page looks through 50,000 records.",
            ),
        ] = None,
        since: Annotated[GivenInstant | None, Query(description="The first instant; without a zone it is UTC.")] = None,
        until: Annotated[GivenInstant | None, Query(description="The instant after the last.")] = None,
        order: Annotated[
            Literal["-at", "at"], Query(description="`-at`: the newest first. `at`: the oldest first.")
        ] = "-at",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
        cursor: Cursor = None,
    ) -> AuditLines:
        """Who did what to which object. Every change that the hub makes leaves a record."""
        asked = AuditSearch(
            actor=actor,
            action=action or None,
            subject=subject,
            text=q,
            since=in_utc(since) if since is not None else None,
            until=in_utc(until) if until is not None else None,
            ascending=order == "at",
        )
        return await context.db.read(_search, asked, cursor, limit, context.settings.money == "on")

    @routes.get("/admin/audit/actions", visible="admin")
    async def list_audit_actions() -> AuditActions:
        """What can be asked for as `action`."""
        return AuditActions(items=await context.db.read(list_actions))

    return routes.router


def _search(session: Session, asked: AuditSearch, cursor: str | None, limit: int, with_money: bool) -> AuditLines:
    order = "at" if asked.ascending else "-at"
    after: int | None = None
    if cursor is not None:
        known, number = read_cursor(cursor, [str, int])
        if known != order or not isinstance(number, int):
            raise BadCursor
        after = number
    found = search_audit(session, _by_ids(session, asked), after, limit)
    names = names_of(session, [one for row in found.rows for one in (row.actor, row.subject)])
    return AuditLines(
        items=[_line(row, names, with_money) for row in found.rows],
        next=None if found.next is None else cursor_of(order, found.next),
    )


def _by_ids(session: Session, asked: AuditSearch) -> AuditSearch:
    """With ids in place of e-mail addresses; one that nobody has stays, and finds nothing."""

    def by_id(named: str | None) -> str | None:
        if named is None or "@" not in named:
            return named
        user = find_user_by_email(session, named.strip().lower())
        return user.id if user is not None else named

    return replace(asked, actor=by_id(asked.actor), subject=by_id(asked.subject))


def _line(row: AuditRow, names: dict[str, str], with_money: bool) -> AuditLine:
    """Where money is off, without details from before that speak of it."""
    details = [
        AuditDetail(name=name, value=value if isinstance(value, str) else json.dumps(value, default=str))
        for name, value in row.details.items()
        if value is not None
    ]
    return AuditLine(
        id=row.id,
        at=row.at,
        actor=row.actor,
        actor_name=names.get(row.actor),
        action=row.action,
        subject=row.subject,
        subject_name=names.get(row.subject),
        details=[one for one in details if with_money or not _MONEY.search(f"{one.name} {one.value}")],
    )
