"""What `explain` has to know of a job, read for one who may see it: its renter, or the host of one of its attempts."""

from collections import defaultdict
from collections.abc import Sequence

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.visibility import sees
from computepool.hub.core.http import Principal
from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.verification import Role
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.entries import Posting
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.nodes.tables import Node
from computepool.hub.trust.tables import Check, Clawback, ClawbackState
from computepool.hub.trust.views import checks_of_job
from computepool.hub.wallet.explain_views import CheckedView, Explained, View
from computepool.hub.wallet.explaining import explain_attempt, summary
from computepool.hub.wallet.facts import AttemptFacts, EntryFacts, Parties, RecordFacts
from computepool.hub.wallet.payments import other_view
from computepool.protocol.states import JOB_FINAL, JobState, Verdict

SLICES_LIMIT = 100
REPLICAS_LIMIT = 100
RECORDS_LIMIT = 20
"""Of one attempt."""
OTHERS_LIMIT = 100


def explain_job(
    session: Session, principal: Principal, job_id: str, view: View | None, from_slice: int, slice_limit: int
) -> Explained:
    """`view`: None lets it follow from who asks. Whoever is neither renter nor host is told that there is no job."""
    job = session.get(Job, job_id)
    if job is None:
        raise NoSuchJob(job_id)
    is_renter = sees(principal, job.owner_id)
    if view is None and job.owner_id not in principal.owner_ids and _has_attempt(session, job_id, principal.owner_ids):
        return _explain(session, job, [job_id], principal.owner_ids, from_slice, slice_limit)
    view = view or ("renter" if is_renter else "host")
    if view == "renter":
        if not is_renter:
            raise NoSuchJob(job_id)
        return _explain(session, job, _as_one(session, job), None, from_slice, slice_limit)
    hosts = None if principal.is_admin else principal.owner_ids
    if not _has_attempt(session, job_id, hosts):
        raise NoSuchJob(job_id)
    return _explain(session, job, [job_id], hosts or frozenset(), from_slice, slice_limit)


def _explain(
    session: Session,
    job: Job,
    job_ids: Sequence[str],
    hosts: frozenset[str] | None,
    from_slice: int,
    slice_limit: int,
) -> Explained:
    """`hosts`: whose attempts, in a host's view; an empty set is everybody's."""
    view: View = "renter" if hosts is None else "host"
    attempts = _attempts(session, job, job_ids, hosts, from_slice, slice_limit)
    entries = _entries_of(session, [one.id for one in attempts])
    shown = [explain_attempt(one, entries[one.id], view) for one in attempts]
    viewers = {job.owner_id} if hosts is None else hosts or {one.parties.host_id for one in attempts}
    others = _others(session, job_ids, sorted(viewers))
    change, held, count = _totals(session, job_ids, sorted(viewers))
    after = _next_slice(session, job_ids, hosts, from_slice + slice_limit)
    never_ran = job.state in JOB_FINAL and not (shown or from_slice or after is not None)
    return Explained(
        job_id=job.id,
        view=view,
        state=JobState(job.state) if view == "renter" else None,
        verdict=Verdict(job.verdict) if view == "renter" and job.verdict is not None else None,
        attempts=shown,
        others=[other_view(one, viewer) for viewer, one in others],
        checks=_checks(session, job) if view == "renter" else [],
        held_micros=held,
        change_micros=change,
        entries=count,
        next_slice=after,
        words=summary(shown, len(others), change, held, view, never_ran=never_ran),
    )


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────

_HOST = func.coalesce(Attempt.terms["host_id"].as_string(), Node.owner_id)
"""Who was to be paid when it was leased; where nothing is paid, whose the node is."""


def _as_one(session: Session, job: Job) -> list[str]:
    """The job and its replicas: its renter pays for both."""
    replicas = select(Job.id).where(Job.rerun_of == job.id, Job.role == Role.REPLICA, Job.owner_id == job.owner_id)
    return [job.id, *session.scalars(replicas.order_by(Job.id).limit(REPLICAS_LIMIT))]


def _has_attempt(session: Session, job_id: str, hosts: frozenset[str] | None) -> bool:
    query = select(Attempt.id).join(Node, Node.id == Attempt.node_id).where(Attempt.job_id == job_id)
    if hosts is not None:
        query = query.where(_HOST.in_(sorted(hosts)))
    return session.scalar(query.limit(1)) is not None


def _attempts(
    session: Session,
    job: Job,
    job_ids: Sequence[str],
    hosts: frozenset[str] | None,
    from_slice: int,
    slice_limit: int,
) -> list[AttemptFacts]:
    query = (
        select(Attempt, Node.name, _HOST)
        .join(Node, Node.id == Attempt.node_id)
        .where(Attempt.job_id.in_(job_ids))
        .where(Attempt.slice_index >= from_slice, Attempt.slice_index < from_slice + slice_limit)
        .order_by(Attempt.slice_index, Attempt.job_id != job.id, Attempt.job_id, Attempt.number)
    )
    if hosts:
        query = query.where(_HOST.in_(sorted(hosts)))
    rows = session.execute(query).all()
    ids = [row[0].id for row in rows]
    records, findings = _records(session, ids), _findings(session, ids)
    return [
        AttemptFacts(
            id=one.id,
            job_id=one.job_id,
            slice=one.slice_index,
            number=one.number,
            node_id=one.node_id,
            node_name=name,
            state=one.state,
            verdict=one.verdict,
            reason=one.reason,
            own=one.own,
            price_micros=one.price_micros,
            price=one.price,
            parties=Parties(host_id, job.owner_id),
            billed_seconds=one.billed_seconds,
            is_replica=one.job_id != job.id,
            check_id=findings[one.id][0],
            wrong_itself=findings[one.id][1] == one.id,
            records=tuple(records[one.id]),
        )
        for one, name, host_id in rows
    ]


def _next_slice(session: Session, job_ids: Sequence[str], hosts: frozenset[str] | None, start: int) -> int | None:
    query = select(func.min(Attempt.slice_index)).join(Node, Node.id == Attempt.node_id)
    query = query.where(Attempt.job_id.in_(job_ids), Attempt.slice_index >= start)
    return session.scalar(query.where(_HOST.in_(sorted(hosts))) if hosts else query)


def _entries_of(session: Session, attempt_ids: Sequence[str]) -> dict[str, list[EntryFacts]]:
    query = select(EntryRow).where(EntryRow.attempt_id.in_(attempt_ids)).order_by(EntryRow.id)
    found: dict[str, list[EntryFacts]] = defaultdict(list)
    for one in read_facts(session, session.scalars(query).all()):
        found[one.attempt_id or ""].append(one)
    return found


def read_facts(session: Session, rows: Sequence[EntryRow]) -> list[EntryFacts]:
    """Entries with their postings, in the order of the rows."""
    query = select(PostingRow).where(PostingRow.entry_id.in_([row.id for row in rows]))
    postings: dict[int, list[Posting]] = defaultdict(list)
    for one in session.scalars(query.order_by(PostingRow.entry_id, PostingRow.number)):
        postings[one.entry_id].append(Posting(one.source, one.destination, one.micros))
    return [
        EntryFacts(
            id=row.id,
            kind=row.kind,
            at=row.created_at,
            postings=tuple(postings[row.id]),
            note=row.note,
            details=row.details,
            job_id=row.job_id,
            attempt_id=row.attempt_id,
        )
        for row in rows
    ]


def _others(session: Session, job_ids: Sequence[str], viewers: Sequence[str]) -> list[tuple[str, EntryFacts]]:
    """Entries about the job and none of its attempts, by whom they concern."""
    query = select(EntryRow).where(EntryRow.job_id.in_(job_ids), EntryRow.attempt_id.is_(None))
    rows = session.scalars(query.order_by(EntryRow.id).limit(OTHERS_LIMIT)).all()
    return [(one, entry) for entry in read_facts(session, rows) for one in viewers if entry.pockets_of(one)]


def _totals(session: Session, job_ids: Sequence[str], viewers: Sequence[str]) -> tuple[int, int, int]:
    """(what the viewers have more or less by all entries of the job, what of it is held, how many entries)."""
    names = [account(one, kind) for one in viewers for kind in Kind]
    held = [account(one, Kind.HELD) for one in viewers]
    attempts = select(Attempt.id).where(Attempt.job_id.in_(job_ids))

    def net(of: Sequence[str]) -> object:
        came = case((PostingRow.destination.in_(of), PostingRow.micros), else_=0)
        went = case((PostingRow.source.in_(of), PostingRow.micros), else_=0)
        return func.coalesce(func.sum(came - went), 0)

    row = session.execute(
        select(net(names), net(held), func.count(EntryRow.id.distinct()))  # type: ignore[call-overload]
        .select_from(EntryRow)
        .join(PostingRow, PostingRow.entry_id == EntryRow.id)
        .where(or_(EntryRow.job_id.in_(job_ids), EntryRow.attempt_id.in_(attempts)))
        .where(or_(PostingRow.source.in_(names), PostingRow.destination.in_(names)))
    ).one()
    return int(row[0]), int(row[1]), int(row[2])


def _records(session: Session, attempt_ids: Sequence[str]) -> dict[str, list[RecordFacts]]:
    query = select(AuditRow).where(AuditRow.subject.in_(attempt_ids)).order_by(AuditRow.id)
    found: dict[str, list[RecordFacts]] = defaultdict(list)
    for row in session.scalars(query):
        if len(found[row.subject]) < RECORDS_LIMIT:
            found[row.subject].append(RecordFacts(row.id, row.at, row.action))
    return found


def _findings(session: Session, attempt_ids: Sequence[str]) -> dict[str, tuple[str | None, str | None]]:
    """By attempt, the check by which it gave back what it earned, and whom that accused. One that lasts before others,
    and the last before those that did not."""
    lasts = Clawback.state == ClawbackState.DONE
    query = select(Clawback.attempt_id, Clawback.check_id, Check.attempt_id).join(Check, Check.id == Clawback.check_id)
    query = query.where(Clawback.attempt_id.in_(attempt_ids), Clawback.state != ClawbackState.BESIDE)
    found: dict[str, tuple[str | None, str | None]] = dict.fromkeys(attempt_ids, (None, None))
    for attempt_id, check_id, accused in session.execute(query.order_by(lasts, Clawback.created_at, Check.id)):
        found[attempt_id] = (check_id, accused)
    return found


def _checks(session: Session, job: Job) -> list[CheckedView]:
    return [
        CheckedView(id=one.id, slice=one.slice, state=one.state, detail=one.detail, decided_at=one.decided_at)
        for one in checks_of_job(session, job).checks
    ]
