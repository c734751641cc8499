"""Searching the audit records: who did what to which object, fast with millions of rows.

Records are numbered as time goes by. Every page is a short walk through one index: of the actor, of the subject, of
each action that matches, or of the numbers. What has no index is looked for in a bounded number of records a page: a
text, what nodes or the hub did, and the actions of every job.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, String, cast, func, or_, select, text, union_all
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.core.records import HUB_ACTOR
from computepool.hub.core.tables import BY_PEOPLE, OF_EVERY_JOB, OF_FEW_JOBS, AuditRow
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.timeline import SLACK
from computepool.hub.nodes.tables import Node

WINDOW = 50_000
"""Records in which a page looks for what has no index."""
ACTIONS_LIMIT = 300
NAMES_AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class AuditSearch:
    actor: str | None = None
    action: str | None = None
    """The whole of it, or its beginning."""
    subject: str | None = None
    text: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    ascending: bool = False


@dataclass(frozen=True, slots=True)
class AuditFound:
    rows: Sequence[AuditRow]
    next: int | None
    """The number after which the following page begins; None on the last."""


def search_audit(session: Session, asked: AuditSearch, after: int | None, limit: int) -> AuditFound:
    """The newest first, or with `ascending` the oldest."""
    least, most = _numbers(session, asked, after)
    if least > most:
        return AuditFound([], None)
    cut = None
    if _has_no_index(asked):
        if asked.ascending and most - least >= WINDOW:
            most = cut = least + WINDOW - 1
        elif most - least >= WINDOW:
            least = cut = most - WINDOW + 1
    query = _matching(session, asked, least, most, limit + 1)
    if query is None:
        return AuditFound([], cut)
    rows = session.scalars(query).all()
    if len(rows) > limit:
        return AuditFound(rows[:limit], rows[limit - 1].id)
    return AuditFound(rows, cut)


def _has_no_index(asked: AuditSearch) -> bool:
    if asked.text is not None or asked.subject is not None:
        return asked.text is not None
    if asked.actor is not None:
        return not _is_person(asked.actor)
    return asked.action is not None and _is_of_every_job(asked.action)


def _is_person(actor: str) -> bool:
    return actor != HUB_ACTOR and not actor.startswith("node_")


def _is_of_every_job(prefix: str) -> bool:
    return any(action.startswith(prefix) for action in OF_EVERY_JOB)


def _matching(session: Session, asked: AuditSearch, least: int, most: int, limit: int) -> Select[AuditRow] | None:
    """None: there is no such action."""
    row = AuditRow
    conditions: list[ColumnElement[bool]] = [row.id >= least, row.id <= most]
    if asked.since is not None:
        conditions.append(row.at >= asked.since)
    if asked.until is not None:
        conditions.append(row.at < asked.until)
    if asked.actor is not None:
        conditions.append(row.actor == asked.actor)
        if _is_person(asked.actor):
            conditions.append(text(BY_PEOPLE))  # type: ignore[arg-type]  # a text is a condition too
    if asked.subject is not None:
        conditions.append(row.subject == asked.subject)
    if asked.text is not None:
        found = [
            func.lower(column).contains(asked.text.lower(), autoescape=True)
            for column in (row.action, row.actor, row.subject, cast(row.details, String))
        ]
        conditions.append(or_(*found))
    order = row.id.asc() if asked.ascending else row.id.desc()
    is_one_walk = asked.actor is not None or asked.subject is not None or _has_no_index(asked)
    if asked.action is None or is_one_walk:
        if asked.action is not None:
            conditions.append(row.action.startswith(asked.action, autoescape=True))
        return select(row).where(*conditions).order_by(order).limit(limit)
    actions = list_actions(session, asked.action)
    if not actions:
        return None
    # Each action is a piece of an index that has the numbers in order: of each, the first few are enough.
    newest = select(row.id).where(*conditions).order_by(order).limit(limit)
    few = newest.where(text(OF_FEW_JOBS))
    ids = union_all(*(select(few.where(row.action == action).subquery().c.id) for action in actions)).subquery()
    return select(row).where(row.id.in_(select(ids.c.id))).order_by(order).limit(limit)


def list_actions(session: Session, prefix: str = "") -> list[str]:
    """Those of every job, and the others that there are, each by one look into the index."""
    found = [action for action in OF_EVERY_JOB if action.startswith(prefix)]
    after, row = prefix, AuditRow
    is_next = row.action >= after
    while len(found) < ACTIONS_LIMIT:
        few = select(row.action).where(is_next, text(OF_FEW_JOBS))
        action = session.scalar(few.order_by(row.action).limit(1))
        if action is None or not action.startswith(prefix):
            break
        found.append(action)
        is_next = row.action > action
    return sorted(found)


def _numbers(session: Session, asked: AuditSearch, after: int | None) -> tuple[int, int]:
    """The first and the last that can be meant."""
    least = session.scalar(select(func.min(AuditRow.id))) or 1
    most = session.scalar(select(func.max(AuditRow.id))) or 0
    if asked.since is not None:
        least = _first_since(session, asked.since - SLACK, least, most)
    if asked.until is not None:
        most = _first_since(session, asked.until + SLACK, least, most) - 1
    if after is not None:
        least, most = (max(least, after + 1), most) if asked.ascending else (least, min(most, after - 1))
    return least, most


def _first_since(session: Session, instant: datetime, least: int, most: int) -> int:
    """The number of the first record from then on. Records that were written at once may be in another order."""
    beyond = most + 1
    while least < beyond:
        middle = (least + beyond) // 2
        found = session.execute(
            select(AuditRow.id, AuditRow.at).where(AuditRow.id >= middle).order_by(AuditRow.id).limit(1)
        ).one_or_none()
        if found is None or found.at >= instant:
            beyond = middle
        else:
            least = found.id + 1
    return least


def names_of(session: Session, ids: Sequence[str]) -> dict[str, str]:
    """By id, what people call it: a user's e-mail address, the name of a node or a job."""
    found: dict[str, str] = {}
    for kind, key, name in (("user", User.id, User.email), ("node", Node.id, Node.name), ("job", Job.id, Job.name)):
        some = sorted({one for one in ids if one.startswith(f"{kind}_")})
        for start in range(0, len(some), NAMES_AT_ONCE):
            rows = session.execute(select(key, name).where(key.in_(some[start : start + NAMES_AT_ONCE])))
            found |= {row[0]: row[1] for row in rows}
    return found
