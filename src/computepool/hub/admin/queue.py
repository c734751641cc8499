"""What needs a person: one list over all features, the longest waiting first.

Each kind answers two questions: how many there are, and which come after an instant. What needs nobody any more is not
in it, so nothing has to be ticked off here. Admins hear of new ones by `AdminEvent`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.core.actions import ALLOWED, ActionView, refused, unless
from computepool.hub.disputes.service import WITH_THE_BANK
from computepool.hub.disputes.tables import Dispute, DisputeKind, DisputeState
from computepool.hub.disputes.views import dispute_actions
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.freezing import frozen_since
from computepool.hub.mail.tables import Mail, MailState
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.cash_out_errors import Frozen
from computepool.hub.payments.cash_out_rows import CashOutRow, CashOutState
from computepool.hub.payments.manual import BY_HAND
from computepool.hub.payments.tables import DifferenceRow
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.trust.tables import Accusation, AccusationState

TIES = 100
"""Items of one kind with exactly the same instant that a page finds."""
MAILS_SHOWN = timedelta(days=7)


class QueueKind(StrEnum):
    LEDGER = "ledger"
    DISPUTE = "dispute"
    CASH_OUT = "cash_out"
    ACCUSATION = "accusation"
    CONTEST = "contest"
    PAYMENT_DIFFERENCE = "payment_difference"
    MAIL = "mail"
    COUNTRY = "country"


ABOUT_MONEY = frozenset(
    {QueueKind.LEDGER, QueueKind.DISPUTE, QueueKind.CASH_OUT, QueueKind.PAYMENT_DIFFERENCE, QueueKind.COUNTRY}
)


@dataclass(frozen=True, slots=True)
class QueuedItem:
    kind: QueueKind
    id: str
    since: datetime
    title: str
    path: str
    """Below the API's prefix."""
    detail: str = ""
    micros: int | None = None
    owner_id: str | None = None
    owner_email: str | None = None
    actions: dict[str, ActionView] = field(default_factory=dict)

    @property
    def key(self) -> tuple[datetime, str, str]:
        return self.since, self.kind.value, self.id


Lister = Callable[[Session, datetime, datetime, int], Sequence[QueuedItem]]


def list_waiting(
    session: Session, kinds: Sequence[QueueKind], after: tuple[datetime, str, str] | None, limit: int, now: datetime
) -> list[QueuedItem]:
    """The longest waiting first, without countries, which the market clock knows."""
    least = after[0] if after is not None else datetime(1970, 1, 1, tzinfo=UTC)
    found = [one for kind in kinds if kind in _LISTERS for one in _LISTERS[kind](session, least, now, limit + TIES)]
    found = sorted((one for one in found if after is None or one.key > after), key=lambda one: one.key)[:limit]
    return _with_emails(session, found)


def count_waiting(session: Session, kinds: Sequence[QueueKind], now: datetime) -> dict[QueueKind, int]:
    queries = {kind: select(func.count()).select_from(table).where(*where) for kind, table, where in _sources(now)}
    found = {kind: session.scalar(queries[kind]) or 0 for kind in kinds if kind in queries}
    if QueueKind.LEDGER in kinds:
        found[QueueKind.LEDGER] = int(frozen_since(session) is not None)
    return found


def _sources(now: datetime) -> list[tuple[QueueKind, type[Any], tuple[Any, ...]]]:
    """What waits, of each kind that is a table."""
    return [
        (QueueKind.DISPUTE, Dispute, (Dispute.state == DisputeState.OPEN,)),
        (QueueKind.CASH_OUT, CashOutRow, (CashOutRow.ended_at.is_(None), _for_operators())),
        (QueueKind.ACCUSATION, Accusation, (Accusation.state == AccusationState.OPEN,)),
        (
            QueueKind.CONTEST,
            ReputationEvent,
            (ReputationEvent.contested_at.is_not(None), ReputationEvent.resolution.is_(None)),
        ),
        (QueueKind.PAYMENT_DIFFERENCE, DifferenceRow, (DifferenceRow.settled_at.is_(None),)),
        (QueueKind.MAIL, Mail, (Mail.state == MailState.GIVEN_UP, Mail.ended_at > now - MAILS_SHOWN)),
    ]


def _for_operators() -> Any:
    """To be decided, or approved and to be paid by hand."""
    return (CashOutRow.state == CashOutState.REQUESTED) | (CashOutRow.way == BY_HAND)


def _where(kind: QueueKind, now: datetime) -> tuple[Any, ...]:
    return next(where for known, _, where in _sources(now) if known is kind)


def _oldest(query: Any, since: Any, least: datetime, limit: int) -> Any:
    return query.where(since >= least).order_by(since).limit(limit)


def _with_emails(session: Session, items: list[QueuedItem]) -> list[QueuedItem]:
    owners = {one.owner_id for one in items if one.owner_id is not None}
    rows = session.execute(select(User.id, User.email).where(User.id.in_(sorted(owners)))).all() if owners else []
    emails = {row.id: row.email for row in rows}
    return [replace(one, owner_email=emails.get(one.owner_id or "")) for one in items]


# ── of each kind ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _ledger(session: Session, least: datetime, now: datetime, limit: int) -> Sequence[QueuedItem]:
    since = frozen_since(session)
    if since is None or since < least:
        return []
    title = "The ledger does not add up: nobody is paid out until it does."
    return [QueuedItem(QueueKind.LEDGER, "ledger", since, title, "admin/ledger", actions={"check": ALLOWED})]


def _disputes(session: Session, least: datetime, now: datetime, limit: int) -> Sequence[QueuedItem]:
    query = select(Dispute, Job.name).outerjoin(Job, Job.id == Dispute.job_id).where(*_where(QueueKind.DISPUTE, now))
    found = []
    for row, name in session.execute(_oldest(query, Dispute.opened_at, least, limit)):
        with_the_bank = row.bank == WITH_THE_BANK
        title = f"A renter disputes the job {name}."
        if row.kind == DisputeKind.CHARGEBACK:
            title = "A bank took back a payment" + (", and has not decided yet." if with_the_bank else ".")
        found.append(
            QueuedItem(
                QueueKind.DISPUTE,
                row.id,
                row.opened_at,
                title,
                f"admin/disputes/{row.id}",
                row.reason,
                row.micros,
                row.owner_id,
                actions=dict(dispute_actions(row)),
            )
        )
    return found


def _cash_outs(session: Session, least: datetime, now: datetime, limit: int) -> Sequence[QueuedItem]:
    frozen = unless(Frozen() if frozen_since(session) is not None else None)
    query = select(CashOutRow).where(*_where(QueueKind.CASH_OUT, now))
    found = []
    for row in session.scalars(_oldest(query, CashOutRow.created_at, least, limit)):
        is_new = row.state == CashOutState.REQUESTED
        decided = refused("It is approved already.")
        found.append(
            QueuedItem(
                QueueKind.CASH_OUT,
                row.id,
                row.created_at,
                "A host asks to be paid out." if is_new else "A cash-out is approved, and is to be paid by hand.",
                f"admin/cash-outs?state={row.state}",
                row.note,
                row.micros,
                row.owner_id,
                actions={
                    "approve": frozen if is_new else decided,
                    "reject": ALLOWED,
                    "mark_paid": refused("It has to be approved first.") if is_new else ALLOWED,
                },
            )
        )
    return found


def _accusations(session: Session, least: datetime, now: datetime, limit: int) -> Sequence[QueuedItem]:
    query = select(Accusation, Node.name).join(Node, Node.id == Accusation.node_id)
    query = query.where(*_where(QueueKind.ACCUSATION, now))
    return [
        QueuedItem(
            QueueKind.ACCUSATION,
            row.id,
            row.created_at,
            f"Other nodes found a result of {name} wrong.",
            "admin/accusations?state=open",
            "By nodes with a record of right results." if row.proven else "Outvoted by replicas.",
            owner_id=row.owner_id,
            actions={"confirm": ALLOWED, "dismiss": ALLOWED},
        )
        for row, name in session.execute(_oldest(query, Accusation.created_at, least, limit))
    ]


def _contests(session: Session, least: datetime, now: datetime, limit: int) -> Sequence[QueuedItem]:
    query = select(ReputationEvent, Node.name, Node.owner_id).join(Node, Node.id == ReputationEvent.node_id)
    query = query.where(*_where(QueueKind.CONTEST, now))
    return [
        QueuedItem(
            QueueKind.CONTEST,
            str(row.id),
            row.contested_at,
            f"A host contests what counts against {name}.",
            "admin/contests",
            row.contest_reason or "",
            owner_id=owner_id,
            actions={"uphold": ALLOWED, "dismiss": ALLOWED},
        )
        for row, name, owner_id in session.execute(_oldest(query, ReputationEvent.contested_at, least, limit))
    ]


def _differences(session: Session, least: datetime, now: datetime, limit: int) -> Sequence[QueuedItem]:
    query = select(DifferenceRow).where(*_where(QueueKind.PAYMENT_DIFFERENCE, now))
    return [
        QueuedItem(
            QueueKind.PAYMENT_DIFFERENCE,
            str(row.id),
            row.found_at,
            "The payment processor and the ledger disagree.",
            "admin/payments/differences",
            row.words,
            actions={"settle": ALLOWED},
        )
        for row in session.scalars(_oldest(query, DifferenceRow.found_at, least, limit))
    ]


def _mails(session: Session, least: datetime, now: datetime, limit: int) -> Sequence[QueuedItem]:
    query = select(Mail).where(*_where(QueueKind.MAIL, now))
    return [
        QueuedItem(
            QueueKind.MAIL,
            row.id,
            row.ended_at or row.created_at,
            f"A mail could not be delivered: {row.subject}",
            "admin/mails?state=given_up",
            row.words,
            owner_id=row.user_id,
            actions={"resend": ALLOWED if row.body else refused("Its text was not kept.")},
        )
        for row in session.scalars(_oldest(query, Mail.ended_at, least, limit))
    ]


_LISTERS: dict[QueueKind, Lister] = {
    QueueKind.LEDGER: _ledger,
    QueueKind.DISPUTE: _disputes,
    QueueKind.CASH_OUT: _cash_outs,
    QueueKind.ACCUSATION: _accusations,
    QueueKind.CONTEST: _contests,
    QueueKind.PAYMENT_DIFFERENCE: _differences,
    QueueKind.MAIL: _mails,
}
