"""Checks as renters, hosts and operators see them."""

from collections.abc import Sequence
from datetime import datetime
from typing import cast

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.core.money import Micros
from computepool.hub.core.paging import count_rows, read_rows
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.jobs.verification import Role
from computepool.hub.nodes.tables import Node
from computepool.hub.trust.repository import count_results, list_results_of
from computepool.hub.trust.tables import Check, CheckKind, CheckState, Clawback, ClawbackState
from computepool.protocol.model import Documented
from computepool.protocol.states import JobState

REPLICAS_SHOWN = 1_000


class ReplicaView(Documented):
    """One that runs a slice once more, for its renter."""

    job_id: str
    """Hidden from lists; its log is read by this id."""
    slice: int
    state: JobState
    node_id: str | None
    node_name: str | None
    agrees: bool | None
    """With what counts; None before that is known."""


class CheckView(Documented):
    """What became of one result that others computed too."""

    id: str
    kind: CheckKind
    """Whether replicas were compared, a result was drawn for an audit, or a node got a canary."""
    slice: int
    state: CheckState
    """`open` until it is decided. `nondeterm`: nobody can say, as honest runs differ."""
    detail: str | None
    answers: int
    created_at: datetime
    decided_at: datetime | None


class JobChecks(Documented):
    replicas: list[ReplicaView]
    checks: list[CheckView]


class AuditView(CheckView):
    """For operators."""

    job_id: str
    attempt_id: str | None
    node_id: str | None
    node_name: str | None
    owner_id: str | None
    owner_email: str | None
    """Of the node's owner; a team has none."""
    asked: int
    given_back_micros: Micros


class AuditPage(Documented):
    items: list[AuditView]
    next: str | None
    total: int | None


def checks_of_job(session: Session, job: Job) -> JobChecks:
    """Only what is decided: who knows that an audit is under way might tell."""
    query = select(Check).where(Check.job_id == job.id, Check.kind.in_(["audit", "replicas"]))
    query = query.where((Check.kind == "replicas") | Check.decided_at.is_not(None))
    rows = session.scalars(query.order_by(Check.slice_index, Check.id).limit(REPLICAS_SHOWN)).all()
    digests = _deciding_digests(session, [row for row in rows if row.kind == "replicas" and row.state == "valid"])
    return JobChecks(
        replicas=_replicas(session, job, digests) if job.role == Role.REPLICATED else [],
        checks=_check_views(session, rows),
    )


def _check_views(session: Session, checks: Sequence[Check]) -> list[CheckView]:
    answers = count_results(session, [check.id for check in checks])
    return [_check_view(check, answers.get(check.id, 0)) for check in checks]


def _check_view(check: Check, answers: int) -> CheckView:
    return CheckView(
        id=check.id,
        kind=cast("CheckKind", check.kind),
        slice=check.slice_index,
        state=cast("CheckState", check.state),
        detail=check.detail,
        answers=answers,
        created_at=check.created_at,
        decided_at=check.decided_at,
    )


def page_of_checks(
    session: Session, states: Sequence[str], node_id: str | None, order: str, cursor: str | None, limit: int
) -> AuditPage:
    query = select(Check, Node.name).outerjoin(Node, Node.id == Check.node_id)
    if states:
        query = query.where(Check.state.in_(states))
    if node_id is not None:
        query = query.where(Check.node_id == node_id)
    ascending = not order.startswith("-")
    rows, after = read_rows(session, query, [Check.id], cursor, limit, ascending=ascending, order="created_at")
    shown = [row for row, _ in rows]
    back = select(Clawback.check_id, func.sum(Clawback.micros)).where(Clawback.check_id.in_([row.id for row in shown]))
    back = back.where(Clawback.state != ClawbackState.BESIDE).group_by(Clawback.check_id)
    micros = {check_id: int(total) for check_id, total in session.execute(back)}
    emails = emails_of(session, {row.owner_id for row in shown if row.owner_id is not None})
    items = [
        AuditView(
            **view.model_dump(),
            job_id=row.job_id,
            attempt_id=row.attempt_id,
            node_id=row.node_id,
            node_name=name,
            owner_id=row.owner_id,
            owner_email=emails.get(row.owner_id or ""),
            asked=row.asked,
            given_back_micros=micros.get(row.id, 0),
        )
        for (row, name), view in zip(rows, _check_views(session, shown), strict=True)
    ]
    return AuditPage(items=items, next=after, total=count_rows(session, query))


def _deciding_digests(session: Session, checks: Sequence[Check]) -> dict[int, dict[str, bool]]:
    """By slice and attempt, whether its answer is the one that counts."""
    found: dict[int, dict[str, bool]] = {}
    results = list_results_of(session, [check.id for check in checks])
    for check in checks:
        rows = results[check.id]
        digests = [row.digest for row in rows]
        counts = max(digests, key=digests.count)
        found[check.slice_index] = {row.attempt_id: row.digest == counts for row in rows}
    return found


def _replicas(session: Session, job: Job, agreeing: dict[int, dict[str, bool]]) -> list[ReplicaView]:
    rows = session.execute(
        select(Slice.job_id, Slice.index, Slice.state, Attempt.id, Node.id, Node.name)
        .join(Job, Job.id == Slice.job_id)
        .outerjoin(
            Attempt,
            (Attempt.job_id == Slice.job_id) & (Attempt.slice_index == Slice.index) & (Attempt.fence == Slice.fence),
        )
        .outerjoin(Node, Node.id == Attempt.node_id)
        .where(Job.rerun_of == job.id, Job.role == Role.REPLICA)
        .order_by(Slice.index, Slice.job_id)
        .limit(REPLICAS_SHOWN)
    )
    return [
        ReplicaView(
            job_id=job_id,
            slice=index,
            state=JobState(state),
            node_id=node_id,
            node_name=name,
            agrees=agreeing.get(index, {}).get(attempt_id or ""),
        )
        for job_id, index, state, attempt_id, node_id, name in rows
    ]
