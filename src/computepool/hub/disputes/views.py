"""Disputes as renters see them, and as operators need to see them to decide."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from pydantic import Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.core.actions import ALLOWED, ActionView, unless
from computepool.hub.core.http import API_PREFIX
from computepool.hub.disputes.errors import AlreadyResolved, BankDecides
from computepool.hub.disputes.refunding import REFUNDED, batched, list_paid, uncovered
from computepool.hub.disputes.service import WITH_THE_BANK, most_of, subjects_of, subjects_of_all
from computepool.hub.disputes.tables import Dispute, DisputeKind, DisputeState, Outcome
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.views import StoredSpec
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.journal import balance
from computepool.hub.ledger.returns import Paid
from computepool.hub.ledger.tables import EntryRow
from computepool.hub.nodes.benchmarks import list_benchmarks
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.cash_out_reversals import list_reversible
from computepool.hub.payments.hooks import ChargebackState
from computepool.hub.reputation.views import ReliabilityView, reliability_by_node
from computepool.protocol.model import Documented
from computepool.protocol.receipt import Receipt
from computepool.protocol.signing import Signed
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import JobState, Verdict

ATTEMPTS_SHOWN = 1_000
PAID_OUT_SHOWN = timedelta(days=30)
"""Later a host has hardly anything of it in their account at the processor."""


class DisputeView(Documented):
    id: str
    kind: DisputeKind
    job_id: str | None
    owner_id: str
    reason: str
    state: DisputeState
    outcome: Outcome | None
    micros: int
    """What it is about."""
    refunded_micros: int
    note: str
    opened_at: datetime
    resolved_at: datetime | None


class DisputeList(Documented):
    items: list[DisputeView]
    next: str | None
    total: int | None


class DisputeActions(Documented):
    """What an admin may do about it."""

    refund: ActionView
    """Give back everything, or a part."""
    refuse: ActionView
    """Give back nothing."""


class AdminDisputeView(DisputeView):
    owner_email: str | None = None
    """Of the renter; a team has none."""
    subject: str
    opened_by: str
    opened_by_email: str | None = None
    """Null where it was not a person."""
    resolved_by: str | None
    resolved_by_email: str | None = None
    """Null before, and where it was not a person."""
    bank: ChargebackState | None
    """Of a chargeback: opened, won or lost."""
    owed_micros: int
    """Of what was given back, what hosts had spent already, and owe now."""
    uncovered_micros: int = 0
    """Of an open one: what hosts do not have any more of a full refund. The pool would pay it, until they have earned
    it."""
    actions: DisputeActions | None = None
    """What an admin may do about it."""


class AdminDisputeList(Documented):
    items: list[AdminDisputeView]
    next: str | None
    total: int | None = None


class JobFacts(Documented):
    id: str
    name: str
    state: JobState
    verdict: Verdict | None
    exit_code: int | None
    message: str | None
    submitted_at: datetime
    finished_at: datetime | None
    spec: StoredSpec


class AttemptFacts(Documented):
    attempt_id: str
    job_id: str
    """Of a replica: the hidden job that it belongs to."""
    slice: int
    number: int
    node_id: str
    node_name: str
    host_id: str | None
    verdict: Verdict | None
    reason: EndedBy | None
    exit_code: int | None
    started_at: datetime | None
    finished_at: datetime | None
    billed_seconds: int
    cost_micros: int
    """What its renter pays, without what came back."""
    host_micros: int
    """What its host would give back of that; the rest is the fee."""
    log: str
    """Where it is read."""
    receipt: Receipt | None
    """What its node signed."""


class NodeFacts(Documented):
    node_id: str
    name: str
    owner_id: str
    owner_email: str | None = None
    reliability: ReliabilityView
    refunded_before: int
    """Attempts of it for which disputes gave something back."""
    earnings_micros: int
    """Of its owner: what is there to be taken back."""


class PaidOutFacts(Documented):
    """What a host owes, and was paid not long ago: the processor may take it back."""

    owner_id: str
    owner_email: str | None = None
    cash_out_id: str
    way: str
    micros: int


class DisputeFacts(Documented):
    """All that an operator needs to decide."""

    dispute: AdminDisputeView
    refundable_micros: int
    """What would come back with `full`."""
    jobs: list[JobFacts]
    attempts: list[AttemptFacts]
    nodes: list[NodeFacts]
    paid_out: list[PaidOutFacts] = Field(default_factory=list)
    """Of what hosts owe: what `admin cash-outs reverse` may bring back."""


def dispute_view(row: Dispute) -> DisputeView:
    return DisputeView.model_validate(row, from_attributes=True)


def people_of(row: Dispute) -> set[str]:
    """Whose addresses an operator sees beside it."""
    return {row.owner_id, row.opened_by, *([row.resolved_by] if row.resolved_by else [])}


def admin_view(row: Dispute, emails: Mapping[str, str], uncovered_micros: int = 0) -> AdminDisputeView:
    """`emails`: of `people_of` it, by id."""
    update = {
        "owner_email": emails.get(row.owner_id),
        "opened_by_email": emails.get(row.opened_by),
        "resolved_by_email": emails.get(row.resolved_by or ""),
        "uncovered_micros": uncovered_micros,
        "actions": dispute_actions(row),
    }
    return AdminDisputeView.model_validate(row, from_attributes=True).model_copy(update=update)


def dispute_actions(row: Dispute) -> DisputeActions:
    if row.state != DisputeState.OPEN:
        over = unless(AlreadyResolved(row.id))
        return DisputeActions(refund=over, refuse=over)
    return DisputeActions(refund=unless(BankDecides(row.id) if row.bank == WITH_THE_BANK else None), refuse=ALLOWED)


def admin_views(session: Session, rows: Sequence[Dispute]) -> list[AdminDisputeView]:
    """Each with what a full refund would cost the pool."""
    emails = emails_of(session, {person for row in rows for person in people_of(row)})
    is_open = [row for row in rows if row.state == DisputeState.OPEN]
    subjects = subjects_of_all(session, is_open)
    paid: dict[str, list[Paid]] = {}
    for one in list_paid(session, {job_id for jobs in subjects.values() for job_id in jobs}):
        paid.setdefault(one.job_id, []).append(one)
    missing = {
        row.id: _uncovered(session, row, [one for job_id in sorted(subjects[row.id]) for one in paid.get(job_id, [])])
        for row in is_open
    }
    return [admin_view(row, emails, missing.get(row.id, 0)) for row in rows]


def dispute_facts(session: Session, row: Dispute, half_life: timedelta, now: datetime) -> DisputeFacts:
    job_ids = sorted(subjects_of(session, row))
    jobs = [one for some in batched(job_ids, 500) for one in session.scalars(select(Job).where(Job.id.in_(some)))]
    attempts = [
        one
        for some in batched(job_ids, 500)
        for one in session.scalars(select(Attempt).where(Attempt.job_id.in_(some)).order_by(Attempt.id))
    ]
    paying = list_paid(session, job_ids)
    paid = {one.attempt_id: one for one in paying}
    hosts = {one.terms["host_id"] for one in attempts if one.terms is not None}
    if row.job_id is None:  # of a chargeback only what was paid for matters
        attempts = [one for one in attempts if one.id in paid]
    shown = attempts[:ATTEMPTS_SHOWN]
    nodes = _nodes(session, sorted({one.node_id for one in shown}))
    emails = emails_of(session, {*people_of(row), *hosts, *(node.owner_id for node in nodes.values())})
    return DisputeFacts(
        dispute=admin_view(row, emails, _uncovered(session, row, paying)),
        refundable_micros=most_of(row, paying),
        jobs=[_job_facts(one) for one in jobs[:ATTEMPTS_SHOWN]],
        attempts=[
            _attempt_facts(one, nodes[one.node_id], paid[one.id].host.total if one.id in paid else 0) for one in shown
        ],
        nodes=_node_facts(session, list(nodes.values()), emails, half_life, now),
        paid_out=_paid_out(session, hosts, emails, now - PAID_OUT_SHOWN),
    )


def _uncovered(session: Session, row: Dispute, paid: Sequence[Paid] | None = None) -> int:
    if row.state != DisputeState.OPEN:
        return 0
    if paid is None:
        paid = list_paid(session, subjects_of(session, row))
    return uncovered(session, paid, most_of(row, paid))


def _paid_out(session: Session, host_ids: set[str], emails: Mapping[str, str], since: datetime) -> list[PaidOutFacts]:
    owed = {host_id: -balance(session, account(host_id, Kind.DEBT)) for host_id in host_ids}
    found = []
    for cash_out, left in list_reversible(session, [host_id for host_id, micros in owed.items() if micros], since):
        if micros := min(owed[cash_out.owner_id], left):
            owed[cash_out.owner_id] -= micros
            host_id = cash_out.owner_id
            about = {"owner_id": host_id, "owner_email": emails.get(host_id)}
            about |= {"cash_out_id": cash_out.id, "way": cash_out.way}
            found.append(PaidOutFacts.model_validate({**about, "micros": micros}))
    return found


def _job_facts(job: Job) -> JobFacts:
    return JobFacts(
        id=job.id,
        name=job.name,
        state=JobState(job.state),
        verdict=None if job.verdict is None else Verdict(job.verdict),
        exit_code=job.exit_code,
        message=job.message,
        submitted_at=job.created_at,
        finished_at=job.finished_at,
        spec=job.spec,
    )


def _attempt_facts(one: Attempt, node: Node, host_micros: int) -> AttemptFacts:
    log = f"{API_PREFIX}/jobs/{one.job_id}/logs?slice={one.slice_index}&attempt={one.number}"
    return AttemptFacts(
        attempt_id=one.id,
        job_id=one.job_id,
        slice=one.slice_index,
        number=one.number,
        node_id=one.node_id,
        node_name=node.name,
        host_id=one.terms["host_id"] if one.terms is not None else None,
        verdict=None if one.verdict is None else Verdict(one.verdict),
        reason=one.reason,
        exit_code=one.exit_code,
        started_at=one.started_at,
        finished_at=one.finished_at,
        billed_seconds=one.billed_seconds,
        cost_micros=one.cost_micros,
        host_micros=host_micros,
        log=log,
        receipt=_receipt_in(one.receipt) if one.receipt is not None else None,
    )


def _receipt_in(signed: str) -> Receipt:
    return Receipt.model_validate_json(Signed.model_validate_json(signed).body)


def _nodes(session: Session, node_ids: Sequence[str]) -> dict[str, Node]:
    return {
        node.id: node
        for some in batched(node_ids, 500)
        for node in session.scalars(select(Node).where(Node.id.in_(some)))
    }


def _node_facts(
    session: Session, nodes: list[Node], emails: Mapping[str, str], half_life: timedelta, now: datetime
) -> list[NodeFacts]:
    pasts = reliability_by_node(session, nodes, list_benchmarks(session, [node.id for node in nodes]), now, half_life)
    earnings = {owner: balance(session, account(owner, Kind.EARNINGS)) for owner in {node.owner_id for node in nodes}}
    refunded = count_refunded(session, [node.id for node in nodes])
    return [
        NodeFacts(
            node_id=node.id,
            name=node.name,
            owner_id=node.owner_id,
            owner_email=emails.get(node.owner_id),
            reliability=pasts[node.id],
            refunded_before=refunded.get(node.id, 0),
            earnings_micros=earnings[node.owner_id],
        )
        for node in nodes
    ]


def count_refunded(session: Session, node_ids: Sequence[str]) -> dict[str, int]:
    """By node, how many of its attempts were disputed with success."""
    found: dict[str, int] = {}
    for some in batched(node_ids, 500):
        query = (
            select(Attempt.node_id, func.count(EntryRow.id.distinct()))
            .join(EntryRow, EntryRow.attempt_id == Attempt.id)
            .where(EntryRow.kind == REFUNDED, Attempt.node_id.in_(some))
            .group_by(Attempt.node_id)
        )
        found.update((node_id, count) for node_id, count in session.execute(query))
    return found
