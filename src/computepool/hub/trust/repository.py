"""Checks, answers, audit records and what is given back, in the database."""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from functools import cache
from typing import Any, cast

from sqlalchemy import BigInteger, Executable, Table, bindparam, func, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.jobs.verification import Role
from computepool.hub.ledger.accounts import HOSTS_POCKETS, account
from computepool.hub.ledger.claims import net_of
from computepool.hub.ledger.settlement import NOTHING, Share
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation.record import JUDGES_FROM
from computepool.hub.reputation.tables import Reputation
from computepool.hub.trust.auditing import AuditRecord
from computepool.hub.trust.clawback import LONGEST, Earning
from computepool.hub.trust.judgement import Finding
from computepool.hub.trust.results import Result
from computepool.hub.trust.tables import AuditRecordRow, Check, CheckBudget, CheckResult, Clawback, ClawbackState
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Manifest
from computepool.protocol.receipt import Receipt
from computepool.protocol.signing import Signed
from computepool.protocol.states import JOB_FINAL, AttemptState, Verdict

EARNINGS_LIMIT = 100_000
ANSWERS_LIMIT = 100_000
MAX_BUDGET = 2**62


def find_check(session: Session, subject: str) -> Check | None:
    return session.scalar(select(Check).where(Check.subject == subject))


def list_results(session: Session, check_id: str) -> Sequence[CheckResult]:
    """The oldest first: attempts' ids sort by age, and so do equal times."""
    query = select(CheckResult).where(CheckResult.check_id == check_id)
    return session.scalars(query.order_by(CheckResult.at, CheckResult.attempt_id)).all()


def count_results(session: Session, check_ids: Sequence[str]) -> dict[str, int]:
    """By check, how many answers it has."""
    query = select(CheckResult.check_id, func.count()).where(CheckResult.check_id.in_(check_ids))
    return {row[0]: row[1] for row in session.execute(query.group_by(CheckResult.check_id))}


def list_results_of(session: Session, check_ids: Sequence[str]) -> dict[str, list[CheckResult]]:
    """By check, each list as `list_results` has it."""
    query = select(CheckResult).where(CheckResult.check_id.in_(check_ids))
    found: dict[str, list[CheckResult]] = {}
    for row in session.scalars(query.order_by(CheckResult.at, CheckResult.attempt_id)):
        found.setdefault(row.check_id, []).append(row)
    return found


def result_of(row: CheckResult) -> Result:
    return Result(row.owner_id, row.digest, row.may_judge, row.attempt_id)


def is_known_to_vary(session: Session, spec_digest: str) -> bool:
    """Reruns of the same spec disagreed before: its renter is wrong about it, and no node is judged by it."""
    known = select(Check.id).where(Check.spec_digest == spec_digest, Check.state == Finding.NOT_DETERMINISTIC).limit(1)
    return session.scalar(known) is not None


def count_open(session: Session, node_id: str) -> int:
    return session.scalar(select(func.count()).where(Check.node_id == node_id, Check.state == Finding.OPEN)) or 0


def list_owners_behind(session: Session, job_id: str, index: int) -> set[str]:
    """Those on whose word the result of a slice is known to be right."""
    found = select(Check).where(Check.job_id == job_id, Check.slice_index == index, Check.state == Finding.VALID)
    owners: set[str] = set()
    for check in session.scalars(found.where(Check.kind.in_(["audit", "replicas"]))):
        owners |= {check.owner_id} if check.owner_id is not None else set()
        owners |= {row.owner_id for row in list_results(session, check.id)}
    attempt = find_deciding(session, job_id, index)
    return owners | ({session.get_one(Node, attempt.node_id).owner_id} if attempt is not None else set())


def has_open_canary(session: Session, node_id: str) -> bool:
    query = select(Check.id).where(Check.node_id == node_id, Check.kind == "canary", Check.state == Finding.OPEN)
    return session.scalar(query.limit(1)) is not None


def count_judging_owners(session: Session, but: Iterable[str]) -> int:
    """Owners with a node that was found right often enough to judge others, without those who have a part in it."""
    judges = (Reputation.audited_ok >= JUDGES_FROM, Reputation.audited_wrong == 0, Node.owner_id.not_in(sorted(but)))
    query = select(func.count(Node.owner_id.distinct())).join(Reputation, Reputation.id == Node.id).where(*judges)
    return session.scalar(query) or 0


def list_open_of_job(session: Session, job_id: str) -> Sequence[Check]:
    """Of its replicas: audits of what it has delivered go on without it."""
    query = select(Check).where(Check.job_id == job_id, Check.kind == "replicas", Check.state == Finding.OPEN)
    return session.scalars(query.order_by(Check.id)).all()


def list_open_before(session: Session, before: datetime, limit: int) -> Sequence[Check]:
    """Audits and canaries that nobody has decided since then. Replicas are their renters' affair."""
    query = select(Check).where(Check.state == Finding.OPEN, Check.kind != "replicas", Check.created_at < before)
    return session.scalars(query.order_by(Check.id).limit(limit)).all()


def list_open_reruns(session: Session, job_id: str) -> Sequence[Job]:
    query = select(Job).where(Job.rerun_of == job_id, Job.role.in_([Role.AUDIT, Role.CANARY]))
    return session.scalars(query.where(Job.state.not_in(sorted(JOB_FINAL))).order_by(Job.id)).all()


# ── what a check costs the platform ───────────────────────────────────────────────────────────────────────────────────


def paid_for(session: Session, attempt: Attempt) -> Share:
    """What its host has of it, as things are now."""
    if attempt.terms is None:
        return NOTHING
    nets, host_id = net_of(session, attempt.id), str(attempt.terms["host_id"])
    promotional, earnings, debt = (nets.get(account(host_id, kind), 0) for kind in HOSTS_POCKETS)
    return Share(max(0, promotional), max(0, earnings + debt))


def reserve_subsidy(session: Session, micros: int, limit_micros: int | None, now: datetime) -> bool:
    """Add to what the checks of this day of UTC may cost together, unless that would exceed the limit; None is no
    limit. False: nothing was added. Two transactions cannot both take the last of it: the second waits for the row."""
    if limit_micros is not None and micros > limit_micros:
        return False
    connection = session.connection()
    day = now.astimezone(UTC).date().isoformat()
    values = {"day": day, "micros": micros, "limit_micros": MAX_BUDGET if limit_micros is None else limit_micros}
    return connection.execute(_reserving(connection.dialect.name), values).first() is not None


@cache
def _reserving(dialect: str) -> Executable:
    table = cast(Table, CheckBudget.__table__)
    row = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(table).values(
        day=bindparam("day"), micros=bindparam("micros")
    )
    total = table.c.micros + row.excluded.micros
    return row.on_conflict_do_update(
        index_elements=["day"], set_={"micros": total}, where=total <= bindparam("limit_micros", type_=BigInteger)
    ).returning(table.c.micros)


def earned_by_check(session: Session, check: Check) -> int:
    """What all nodes that a check asked have earned by it."""
    asked = select(Job.id, Job.rerun).where(Job.rerun_of == check.job_id, Job.role == Role.AUDIT)
    jobs = [job_id for job_id, rerun in session.execute(asked) if rerun and rerun["audit_of"] == check.subject]
    if check.kind == "canary" and check.attempt_id is not None:
        jobs.append(session.get_one(Attempt, check.attempt_id).job_id)
    return int(session.scalar(select(func.sum(Attempt.earned_micros)).where(Attempt.job_id.in_(jobs))) or 0)


# ── attempts ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def receipt_of(attempt: Attempt) -> Receipt:
    """Its signature was checked when it came."""
    if attempt.receipt is None:
        raise AssertionError(f"{attempt.id} ended by itself, and left no receipt")
    return Receipt.model_validate_json(Signed.model_validate_json(attempt.receipt).body)


def gpu_class_of(attempt: Attempt, node: Node) -> str | None:
    """The model of the GPUs that it was given; None for a CPU."""
    granted = Manifest.model_validate_json(Signed.model_validate_json(attempt.manifest).body).grant.gpus
    if not granted:
        return None
    gpus = Capacity.model_validate(node.capacity).gpus
    return next((gpu.slug for gpu in gpus if gpu.id in granted), None)


def began_elsewhere(session: Session, attempt: Attempt, owner_id: str) -> bool:
    """It went on from what another owner's node had saved: whose mistake it is, if it is one, nobody can say."""
    if attempt.resumed_from is None:
        return False
    earlier = (
        select(Attempt.id)
        .join(Node, Node.id == Attempt.node_id)
        .where(Attempt.job_id == attempt.job_id, Attempt.slice_index == attempt.slice_index)
        .where(Attempt.number < attempt.number, Node.owner_id != owner_id)
    )
    return session.scalar(earlier.limit(1)) is not None


def find_deciding(session: Session, job_id: str, index: int) -> Attempt | None:
    """The attempt that a slice succeeded with, if it did; or the one that others proved right."""
    replaced = session.scalar(select(Slice.result_attempt).where(Slice.job_id == job_id, Slice.index == index))
    if replaced is not None:
        return session.get(Attempt, replaced)
    query = select(Attempt).where(Attempt.job_id == job_id, Attempt.slice_index == index, Attempt.verdict == Verdict.OK)
    return session.scalar(query.order_by(Attempt.number.desc()).limit(1))


def mark_wrong(session: Session, attempt_id: str, reason: str, detail: str) -> None:
    """It said that all went well, and others proved that it did not."""
    values: dict[str, Any] = {"state": AttemptState.FAILED, "verdict": Verdict.HOST, "reason": reason, "detail": detail}
    session.execute(update(Attempt).where(Attempt.id == attempt_id).values(values))


def put_result(session: Session, job_id: str, index: int, attempt_id: str) -> None:
    """From now on the outputs of another attempt are the slice's."""
    session.execute(update(Slice).where(Slice.job_id == job_id, Slice.index == index).values(result_attempt=attempt_id))


# ── what a node's audits came to ─────────────────────────────────────────────────────────────────────────────────────


def record_id_of(node: Node) -> str:
    return node.record_id or node.id


def find_record(session: Session, record_id: str) -> AuditRecord:
    row = session.get(AuditRecordRow, record_id)
    return AuditRecord() if row is None else AuditRecord(row.valid_in_a_row, row.guilty, row.last_valid_at)


def save_record(session: Session, record_id: str, record: AuditRecord) -> None:
    insert_if_absent(session, AuditRecordRow, ["id"], id=record_id, valid_in_a_row=0, guilty=0, last_valid_at=None)
    values = {
        "valid_in_a_row": record.valid_in_a_row,
        "guilty": record.guilty,
        "last_valid_at": record.last_valid_at,
    }
    session.execute(update(AuditRecordRow).where(AuditRecordRow.id == record_id).values(values))


def begin_anew(session: Session, owner_id: str) -> None:
    """One of an owner's nodes was proven wrong: every result of all of them is audited for a while."""
    records = select(func.coalesce(Node.record_id, Node.id)).where(Node.owner_id == owner_id)
    session.execute(update(AuditRecordRow).where(AuditRecordRow.id.in_(records)).values(valid_in_a_row=0))


def list_earnings(
    session: Session, record_id: str, now: datetime, accused: str, limit: int = EARNINGS_LIMIT
) -> list[tuple[Earning, str]]:
    """(what it earned, whose job it was) of the time that may be taken back: first the attempt that is accused, then
    the newest."""
    found = session.execute(
        select(Attempt, Job.owner_id, Check.state, _TAKEN)
        .join(Job, Job.id == Attempt.job_id)
        .join(Node, Node.id == Attempt.node_id)
        .outerjoin(Check, Check.subject == Attempt.id)
        .where(func.coalesce(Node.record_id, Node.id) == record_id)
        .where(Attempt.own.is_(False), Attempt.finished_at >= now - LONGEST)
        .where(or_(Attempt.earned_micros > 0, _TAKEN.is_not(None)))
        .order_by(Attempt.id != accused, Attempt.finished_at.desc(), Attempt.id.desc())
        .limit(limit)
    ).all()
    return [
        (_earning_of(attempt, attempt.finished_at, taken, audited=state == Finding.VALID), renter)
        for attempt, renter, state, taken in found
        if attempt.finished_at is not None
    ]


def find_earning(session: Session, attempt: Attempt) -> Earning | None:
    """What is to be given back of it alone; None if nothing was ever paid for it."""
    taken = session.scalar(select(_TAKEN).where(Attempt.id == attempt.id))
    if attempt.finished_at is None or not (attempt.cost_micros or attempt.earned_micros or taken):
        return None
    return _earning_of(attempt, attempt.finished_at, taken)


_TAKEN = (
    select(func.max(Clawback.micros))
    .where(Clawback.attempt_id == Attempt.id, Clawback.state.in_([ClawbackState.PENDING, ClawbackState.DONE]))
    .scalar_subquery()
)
"""What an earlier finding takes back of an attempt."""


def _earning_of(attempt: Attempt, at: datetime, taken: int | None, *, audited: bool = False) -> Earning:
    """What goes back is what was paid: the fee on it is the platform's loss."""
    micros = taken or attempt.cost_micros or attempt.earned_micros
    return Earning(attempt.id, at, micros, audited, taken=taken is not None)


def add_clawbacks(
    session: Session, check_id: str, node: Node, earnings: Iterable[tuple[Earning, str]], now: datetime
) -> int:
    """What they come to together, without what is taken back already."""
    total = 0
    for earning, renter_id in earnings:
        new = insert_if_absent(
            session,
            Clawback,
            ["attempt_id", "check_id"],
            attempt_id=earning.attempt_id,
            check_id=check_id,
            node_id=node.id,
            host_id=node.owner_id,
            renter_id=renter_id,
            micros=earning.micros,
            state=ClawbackState.PENDING,
            created_at=now,
        )
        total += earning.micros if new and not earning.taken else 0
    return total


# ── after a start ────────────────────────────────────────────────────────────────────────────────────────────────────


def list_answers(session: Session) -> list[tuple[str, int, CheckResult]]:
    """(job, slice, answer) of the replicated slices whose others are still at it, for the scheduler's memory."""
    query = (
        select(Check.job_id, Check.slice_index, CheckResult)
        .join(CheckResult, CheckResult.check_id == Check.id)
        .where(Check.state == Finding.OPEN, Check.kind == "replicas")
        .limit(ANSWERS_LIMIT)
    )
    return [(job_id, index, row) for job_id, index, row in session.execute(query)]
