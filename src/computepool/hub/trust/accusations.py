"""What an admin decides about the findings of other nodes, and how admins see them."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import Select, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.core.actions import ActionView, unless
from computepool.hub.core.notices import mail_topic
from computepool.hub.core.paging import count_rows, read_rows
from computepool.hub.core.records import record as note
from computepool.hub.jobs import repository as repository_of_jobs
from computepool.hub.jobs.tables import Attempt
from computepool.hub.jobs.verification import NOTHING_ELSE, Consequences
from computepool.hub.nodes.tables import Node
from computepool.hub.trust import audits, replication
from computepool.hub.trust.consequences import Means
from computepool.hub.trust.errors import AlreadyDecided, NoSuchAccusation
from computepool.hub.trust.tables import Accusation, AccusationState, Check, CheckKind
from computepool.protocol.model import Documented


class AccusationActions(Documented):
    confirm: ActionView
    """Say that the result was wrong: `POST /admin/accusations/{accusation_id}/confirm`."""
    dismiss: ActionView
    """Say that the node is not to blame: `POST /admin/accusations/{accusation_id}/dismiss`."""


class AccusationView(Documented):
    """A result that other nodes found wrong, for an admin to decide."""

    id: str
    state: AccusationState
    """open, confirmed or dismissed."""
    kind: CheckKind
    """replicas, audit or canary: how it was found."""
    proven: bool
    """Whether nodes with a record of right results found it. Else only the pay of this attempt is at stake."""
    check_id: str
    job_id: str
    slice: int
    attempt_id: str
    node_id: str
    node_name: str
    owner_id: str
    """Of the node."""
    owner_email: str | None
    """A team has none."""
    note: str | None
    created_at: datetime
    decided_at: datetime | None
    decided_by: str | None
    decided_by_email: str | None
    """Null before, and where it was not a person."""
    actions: AccusationActions
    """What an admin may do about it."""


class AccusationPage(Documented):
    items: list[AccusationView]
    next: str | None
    total: int | None


def page_of_accusations(
    session: Session, states: Sequence[str], node_id: str | None, order: str, cursor: str | None, limit: int
) -> AccusationPage:
    query = _with_names()
    if states:
        query = query.where(Accusation.state.in_(states))
    if node_id is not None:
        query = query.where(Accusation.node_id == node_id)
    ascending = not order.startswith("-")
    rows, after = read_rows(session, query, [Accusation.id], cursor, limit, ascending=ascending, order="created_at")
    return AccusationPage(items=_views(session, rows), next=after, total=count_rows(session, query))


def show(session: Session, accusation_id: str) -> AccusationView:
    """Raises NoSuchAccusation."""
    row = session.execute(_with_names().where(Accusation.id == accusation_id)).one_or_none()
    if row is None:
        raise NoSuchAccusation(accusation_id)
    return _views(session, [cast(tuple[Accusation, Check, str], row)])[0]


def confirm(
    session: Session, accusation_id: str, actor: str, words: str | None, now: datetime, means: Means
) -> Consequences:
    """The result was wrong: everything that follows from that takes effect now."""
    accusation, check = _decide(session, accusation_id, AccusationState.CONFIRMED, actor, words, now)
    if check.kind != "replicas":
        return audits.find_guilty(session, check, now, means, accusation.created_at)
    attempt = session.get_one(Attempt, accusation.attempt_id)
    sentence = replication.find_outvoted(
        session, check, attempt, now, means, proven=accusation.proven, found_at=accusation.created_at
    )
    return Consequences(
        standings=((attempt.node_id, sentence.standing),), banned=(attempt.node_id,) if sentence.banned else ()
    )


def dismiss(session: Session, accusation_id: str, actor: str, words: str | None, now: datetime) -> Consequences:
    """The node loses nothing, and its earnings are free again."""
    _, check = _decide(session, accusation_id, AccusationState.DISMISSED, actor, words, now)
    if check.kind != "replicas":
        audits.dismiss(session, check, now)
    return NOTHING_ELSE


def _decide(
    session: Session, accusation_id: str, state: AccusationState, actor: str, words: str | None, now: datetime
) -> tuple[Accusation, Check]:
    """Raises NoSuchAccusation, AlreadyDecided."""
    accusation = session.get(Accusation, accusation_id)
    if accusation is None:
        raise NoSuchAccusation(accusation_id)
    check = session.get_one(Check, accusation.check_id)
    # In this order everybody locks who decides about the result of a job.
    repository_of_jobs.lock_jobs(session, [check.job_id])
    session.refresh(accusation, with_for_update=True)
    refused = _refuse_decision(accusation)
    if refused is not None:
        raise refused
    accusation.state, accusation.note = state, words
    accusation.decided_at, accusation.decided_by = now, actor
    session.flush()
    topics = (f"owner/{accusation.owner_id}", *([mail_topic(accusation.owner_id)] if state == "dismissed" else []))
    about = {"accusation": accusation.id, "attempt": accusation.attempt_id, "note": words}
    note(session, f"node.accusation_{state}", accusation.node_id, now, topics=topics, actor=actor, **about)
    return accusation, check


def _refuse_decision(accusation: Accusation) -> AlreadyDecided | None:
    is_open = accusation.state == AccusationState.OPEN
    return None if is_open else AlreadyDecided(accusation.id, accusation.state)


def _with_names() -> Select[Accusation, Check, str]:
    return (
        select(Accusation, Check, Node.name)
        .join(Check, Check.id == Accusation.check_id)
        .join(Node, Node.id == Accusation.node_id)
    )


def _views(session: Session, rows: Sequence[tuple[Accusation, Check, str]]) -> list[AccusationView]:
    people = {person for row in rows for person in (row[0].owner_id, row[0].decided_by) if person is not None}
    emails = emails_of(session, people)
    return [_view(accusation, check, name, emails) for accusation, check, name in rows]


def _view(accusation: Accusation, check: Check, node_name: str, emails: Mapping[str, str]) -> AccusationView:
    decide = unless(_refuse_decision(accusation))
    return AccusationView(
        id=accusation.id,
        state=AccusationState(accusation.state),
        kind=cast("CheckKind", check.kind),
        proven=accusation.proven,
        check_id=check.id,
        job_id=check.job_id,
        slice=check.slice_index,
        attempt_id=accusation.attempt_id,
        node_id=accusation.node_id,
        node_name=node_name,
        owner_id=accusation.owner_id,
        owner_email=emails.get(accusation.owner_id),
        note=accusation.note,
        created_at=accusation.created_at,
        decided_at=accusation.decided_at,
        decided_by=accusation.decided_by,
        decided_by_email=emails.get(accusation.decided_by or ""),
        actions=AccusationActions(confirm=decide, dismiss=decide),
    )
