"""A dispute's life: opened by a renter or by a bank, resolved by an operator, once.

While it is open, what was earned with its jobs is not cashed out.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import delete, select, update
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.errors import Conflict
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.notices import ADMINS, mail_topic
from computepool.hub.core.paging import read_list
from computepool.hub.core.records import ADMIN_TOPIC, HUB_ACTOR, record
from computepool.hub.disputes.errors import (
    AlreadyResolved,
    BankDecides,
    DisputedBefore,
    NoDispute,
    NotFinished,
    NothingPaid,
    TooLate,
    TooMuch,
)
from computepool.hub.disputes.refunding import Refunded, list_paid, refund
from computepool.hub.disputes.tables import NEXT, REASON_LIMIT, Dispute, DisputeKind, DisputeState, Outcome
from computepool.hub.disputes.undoing import undo_refunds
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.verification import Role
from computepool.hub.ledger.journal import balances
from computepool.hub.ledger.returns import Paid
from computepool.hub.ledger.write_offs import PAYS_FIRST, return_to_pool
from computepool.hub.payments.cash_out_rows import HeldBackRow
from computepool.hub.payments.hooks import Chargeback

CHARGED_JOBS_LIMIT = 2_000
"""Of a renter whose bank took money back: the newest ones."""
WITH_THE_BANK = "opened"
"""What `bank` is until the bank has decided."""


def open_dispute(
    session: Session,
    dispute_id: str,
    job: Job,
    reason: str,
    window: timedelta,
    actor: str,
    now: datetime,
    *,
    at_any_time: bool = False,
) -> Dispute:
    """`at_any_time`: an operator opens it, who can see whether hosts were paid out already."""
    jobs = [job.id, *_replicas_of(session, job.id)]
    cost = sum(one.cost.total for one in list_paid(session, jobs)) if job.finished_at is not None else 0
    refused = refuse_dispute(job.id, job.finished_at, cost, None, None if at_any_time else window, now)
    if refused is not None:
        raise refused
    row = _add(session, dispute_id, DisputeKind.JOB, job.id, job.owner_id, cost, reason, actor, now, job_id=job.id)
    if row is None:
        raise DisputedBefore(job.id, session.scalars(select(Dispute.id).where(Dispute.subject == job.id)).one())
    _hold_back(session, dispute_id, jobs)
    for host_id in sorted({one.host_id for one in list_paid(session, jobs)}):
        record(
            session,
            "dispute.about_you",
            dispute_id,
            now,
            actor=actor,
            topics=(f"host/{host_id}", mail_topic(host_id)),
            job=job.id,
        )
    return row


def refuse_dispute(
    job_id: str,
    finished_at: datetime | None,
    cost_micros: int,
    dispute_id: str | None,
    window: timedelta | None,
    now: datetime,
) -> Conflict | None:
    """Why a job cannot be disputed. `dispute_id`: of one about it; `window`: None for an operator, at any time."""
    if finished_at is None:
        return NotFinished(job_id)
    if window is not None and now > finished_at + window:
        return TooLate(job_id, finished_at + window)
    if not cost_micros:
        return NothingPaid(job_id)
    return DisputedBefore(job_id, dispute_id) if dispute_id is not None else None


def find_about(session: Session, job_ids: Sequence[str]) -> dict[str, tuple[str, bool]]:
    """By job, the dispute about it, and whether that is open."""
    query = select(Dispute.subject, Dispute.id, Dispute.state).where(Dispute.subject.in_(job_ids))
    return {job_id: (dispute_id, state == DisputeState.OPEN) for job_id, dispute_id, state in session.execute(query)}


def resolve(
    session: Session,
    dispute_id: str,
    outcome: Outcome,
    micros: int | None,
    note: str,
    actor: str,
    now: datetime,
) -> Dispute:
    """`micros` are needed for a partial refund. Nobody gets more than was paid and is still paid."""
    row = _need(session, dispute_id)
    if row.state == DisputeState.OPEN and row.bank == WITH_THE_BANK and outcome is not Outcome.NONE:
        raise BankDecides(dispute_id)
    _take(session, row.id, outcome, note, actor, now)
    jobs = held_back(session, dispute_id)
    paid = list_paid(session, jobs, lock=True)
    before = _spendable(session, row.owner_id)
    given = refund(session, f"dispute/{dispute_id}", paid, _amount(row, outcome, micros, paid), note, actor, now)
    if given.micros:  # a debt that the pool bore meanwhile would have been filled by it
        more = _spendable(session, row.owner_id) - before
        return_to_pool(session, f"dispute/{dispute_id}/written_off", row.owner_id, more, now)
    closed = _close(session, row, outcome, given, note, actor, now)
    if row.kind == DisputeKind.JOB:
        about: dict[str, Any] = {"job": row.job_id, "outcome": outcome, "note": note}
        for host_id in sorted({one.host_id for one in paid}):
            topics: tuple[str, ...] = (f"host/{host_id}", mail_topic(host_id))
            record(session, "dispute.decided_about_you", dispute_id, now, actor=actor, topics=topics, **about)
    return closed


def heard_of_chargeback(context: Context, session: Session, news: Chargeback, now: datetime) -> None:
    """`Hooks.on_chargeback`: the ledger has taken it from the payer, or given it back, already."""
    row = session.scalars(select(Dispute).where(Dispute.subject == news.object_id)).one_or_none()
    if row is None:
        since = now - max(context.settings.hold_back, timedelta(days=1))
        row = _add(
            session,
            context.new_id("dispute"),
            DisputeKind.CHARGEBACK,
            news.object_id,
            news.owner_id,
            news.micros,
            f"The bank took {news.payment_id} back: {news.reason}"[:REASON_LIMIT],
            HUB_ACTOR,
            now,
            bank=news.state,
        )
        if row is None:
            return
        _hold_back(session, row.id, _paid_jobs(session, news.owner_id, since))
    if news.state != WITH_THE_BANK:  # heard late, it does not open again what the bank has decided
        session.execute(update(Dispute).where(Dispute.id == row.id).values(bank=news.state))
    if news.state == "won" and row.state == DisputeState.OPEN:
        words = "The bank gave the money back."
        _take(session, row.id, Outcome.NONE, words, HUB_ACTOR, now)
        _close(session, row, Outcome.NONE, Refunded(), words, HUB_ACTOR, now)
    elif news.state == "won" and undo_refunds(session, row.id, now):  # lost at first, and refunded since
        session.execute(update(Dispute).where(Dispute.id == row.id).values(refunded_micros=0, owed_micros=0))


def held_back(session: Session, dispute_id: str) -> list[str]:
    return list(session.scalars(select(HeldBackRow.job_id).where(HeldBackRow.dispute_id == dispute_id)))


def subjects_of(session: Session, row: Dispute) -> list[str]:
    """The jobs that it is about, also when it is over."""
    if row.job_id is not None:
        return [row.job_id, *_replicas_of(session, row.job_id)]
    return held_back(session, row.id)


def subjects_of_all(session: Session, rows: Sequence[Dispute]) -> dict[str, list[str]]:
    """The same for many, by dispute, in two statements."""
    jobs = {row.id: [row.job_id] if row.job_id is not None else [] for row in rows}
    by_job = {row.job_id: row.id for row in rows if row.job_id is not None}
    replicas = select(Job.rerun_of, Job.id).where(Job.rerun_of.in_(list(by_job)), Job.role == Role.REPLICA)
    for job_id, replica_id in session.execute(replicas):
        jobs[by_job[str(job_id)]].append(replica_id)
    chargebacks = [row.id for row in rows if row.job_id is None]
    held = select(HeldBackRow.dispute_id, HeldBackRow.job_id).where(HeldBackRow.dispute_id.in_(chargebacks))
    for dispute_id, job_id in session.execute(held):
        jobs[dispute_id].append(job_id)
    return jobs


def most_of(row: Dispute, paid: Sequence[Paid]) -> int:
    """What a full refund is."""
    most = sum(one.cost.total for one in paid)
    return min(most, row.micros) if row.kind == DisputeKind.CHARGEBACK else most


def list_disputes(
    session: Session,
    owner_ids: frozenset[str] | None,
    state: DisputeState | None,
    order: str,
    cursor: str | None,
    limit: int,
    *,
    kind: DisputeKind | None = None,
) -> tuple[list[Dispute], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all. `owner_ids`: None for everybody's."""
    query = select(Dispute)
    if owner_ids is not None:
        query = query.where(Dispute.owner_id.in_(sorted(owner_ids)))
    if state is not None:
        query = query.where(Dispute.state == state)
    if kind is not None:
        query = query.where(Dispute.kind == kind)
    return read_list(session, query, [Dispute.id], cursor, limit, order)


def find_dispute(session: Session, dispute_id: str, owner_ids: frozenset[str] | None = None) -> Dispute:
    row = session.get(Dispute, dispute_id, populate_existing=True)
    if row is None or (owner_ids is not None and row.owner_id not in owner_ids):
        raise NoDispute(dispute_id)
    return row


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _spendable(session: Session, owner_id: str) -> int:
    """Without promotional credit."""
    has = balances(session, owner_id)
    return sum(has[kind] for kind in PAYS_FIRST)


def _need(session: Session, dispute_id: str) -> Dispute:
    return find_dispute(session, dispute_id)


def _add(
    session: Session,
    dispute_id: str,
    kind: DisputeKind,
    subject: str,
    owner_id: str,
    micros: int,
    reason: str,
    actor: str,
    now: datetime,
    *,
    job_id: str | None = None,
    bank: str | None = None,
) -> Dispute | None:
    """None: there is one about the same."""
    is_new = insert_if_absent(
        session,
        Dispute,
        ["subject"],
        id=dispute_id,
        kind=kind,
        subject=subject,
        job_id=job_id,
        owner_id=owner_id,
        opened_by=actor,
        reason=reason,
        state=DisputeState.OPEN,
        outcome=None,
        bank=bank,
        micros=micros,
        refunded_micros=0,
        owed_micros=0,
        note="",
        resolved_by=None,
        opened_at=now,
        resolved_at=None,
    )
    if not is_new:
        return None
    topics = (f"owner/{owner_id}", ADMIN_TOPIC, mail_topic(owner_id), mail_topic(ADMINS))
    about = {"kind": kind, "about": subject, "micros": micros, "reason": reason}
    record(session, "dispute.opened", dispute_id, now, actor=actor, topics=topics, **about)
    return session.get_one(Dispute, dispute_id)


def _take(session: Session, dispute_id: str, outcome: Outcome, note: str, actor: str, now: datetime) -> None:
    """The right to resolve it: of two operators, one has it."""
    earlier = [state for state, later in NEXT.items() if DisputeState.RESOLVED in later]
    mine = (
        update(Dispute)
        .where(Dispute.id == dispute_id, Dispute.state.in_(earlier))
        .values(state=DisputeState.RESOLVED, outcome=outcome, note=note, resolved_by=actor, resolved_at=now)
        .returning(Dispute.id)
    )
    if session.execute(mine).first() is None:
        raise AlreadyResolved(dispute_id)


def _close(
    session: Session, row: Dispute, outcome: Outcome, given: Refunded, note: str, actor: str, now: datetime
) -> Dispute:
    figures = {"refunded_micros": given.micros, "owed_micros": given.owed_micros}
    session.execute(update(Dispute).where(Dispute.id == row.id).values(**figures))
    session.execute(delete(HeldBackRow).where(HeldBackRow.dispute_id == row.id))
    topics = (f"owner/{row.owner_id}", ADMIN_TOPIC, mail_topic(row.owner_id))
    details: dict[str, Any] = {"about": row.subject, "outcome": outcome, "note": note, **figures}
    record(session, "dispute.resolved", row.id, now, actor=actor, topics=topics, **details)
    return session.get_one(Dispute, row.id, populate_existing=True)


def _amount(row: Dispute, outcome: Outcome, micros: int | None, paid: list[Paid]) -> int:
    most = most_of(row, paid)
    if outcome is Outcome.PARTIAL:
        if micros is None or micros > most:
            raise TooMuch(micros or 0, most)
        return micros
    return most if outcome is Outcome.FULL else 0


def _hold_back(session: Session, dispute_id: str, job_ids: Iterable[str]) -> None:
    session.add_all(HeldBackRow(dispute_id=dispute_id, job_id=job_id) for job_id in job_ids)
    session.flush()


def _replicas_of(session: Session, job_id: str) -> list[str]:
    """The same renter paid for them."""
    return list(session.scalars(select(Job.id).where(Job.rerun_of == job_id, Job.role == Role.REPLICA)))


def _paid_jobs(session: Session, owner_id: str, since: datetime) -> list[str]:
    """What a renter got for money that is gone: jobs whose hosts were not paid out yet."""
    query = (
        select(Job.id)
        .where(Job.owner_id == owner_id, Job.finished_at >= since)
        .where(select(Attempt.id).where(Attempt.job_id == Job.id, Attempt.cost_micros > 0).exists())
    )
    return list(session.scalars(query.order_by(Job.id.desc()).limit(CHARGED_JOBS_LIMIT)))
