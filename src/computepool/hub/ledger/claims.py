"""What is owed to renters: hosts had to give it back, and had spent it. It is paid when the host's debt is filled.

Each was posted from the host's `debt` to the pool's account `restitution`. So what that account has is what all claims
come to, and as much of a host's claims as exceeds its debt has been paid by the host. What the host owes the pool
itself comes first: it was paid to somebody already.
"""

from datetime import datetime

from sqlalchemy import BigInteger, CheckConstraint, Index, func, select, text, update
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.notices import mail_topic
from computepool.hub.core.records import record
from computepool.hub.core.tables import Base, Id
from computepool.hub.ledger.accounts import RESTITUTION, Kind, account
from computepool.hub.ledger.entries import Entry, moved
from computepool.hub.ledger.journal import balance, lock_accounts, post
from computepool.hub.ledger.returns import last_spent, missing, paired, to_renter
from computepool.hub.ledger.tables import EntryRow, PostingRow

PAID = "restitution"
"""The kind of the entry that pays a claim, or a part of it."""
AT_ONCE = 100
_OPEN = text("owed_micros > 0")


class ClaimRow(Base):
    """Of the renter of an attempt, against its host."""

    __tablename__ = "ledger_claims"
    __table_args__ = (
        CheckConstraint("owed_micros >= 0 AND paid_micros >= 0", name="nothing_below_zero"),
        Index("ix_ledger_claims_host", "host_id", "created_at", sqlite_where=_OPEN, postgresql_where=_OPEN),
        Index("ix_ledger_claims_renter", "renter_id", sqlite_where=_OPEN, postgresql_where=_OPEN),
    )

    attempt_id: Mapped[str] = mapped_column(Id, primary_key=True)
    job_id: Mapped[str] = mapped_column(Id)
    host_id: Mapped[str] = mapped_column(Id)
    renter_id: Mapped[str] = mapped_column(Id)
    owed_micros: Mapped[int] = mapped_column(BigInteger)
    """Still."""
    paid_micros: Mapped[int] = mapped_column(BigInteger)
    """So far. It only grows: each payment is named by it."""
    created_at: Mapped[datetime]


def add_claim(
    session: Session, attempt_id: str, job_id: str, host_id: str, renter_id: str, micros: int, now: datetime
) -> None:
    """Whoever calls posts the same from the host's debt. More than once for an attempt is the sum."""
    if not micros:
        return
    about = {"attempt_id": attempt_id, "job_id": job_id, "host_id": host_id, "renter_id": renter_id}
    insert_if_absent(session, ClaimRow, ["attempt_id"], **about, owed_micros=0, paid_micros=0, created_at=now)
    _change(session, attempt_id, owed=micros)
    # To the renter alone: a host is not told whether a renter or the platform had paid.
    topics = (*_topics(renter_id), mail_topic(renter_id))
    record(session, "restitution.owed", attempt_id, now, topics=topics, job=job_id, micros=micros)


def cancel_claim(session: Session, attempt_id: str, most: int) -> int:
    """How much of it is not owed any more: not more than was. Whoever calls posts it out of `restitution`."""
    row = session.get(ClaimRow, attempt_id, with_for_update=True, populate_existing=True)
    micros = min(row.owed_micros, most) if row is not None else 0
    if micros:
        _change(session, attempt_id, owed=-micros)
    return micros


def owed_to(session: Session, renter_id: str) -> int:
    query = select(func.sum(ClaimRow.owed_micros)).where(ClaimRow.renter_id == renter_id, ClaimRow.owed_micros > 0)
    return int(session.scalar(query) or 0)


_OWED_BY_HOST = (
    select(ClaimRow.host_id, func.sum(ClaimRow.owed_micros))
    .where(ClaimRow.owed_micros > 0)
    .group_by(ClaimRow.host_id)
    .order_by(ClaimRow.host_id)
)


def list_payable(session: Session) -> list[str]:
    """Hosts who have earned something of what they owe renters."""
    claims = session.execute(_OWED_BY_HOST).all()

    def has(host_id: str) -> int:
        return sum(balance(session, account(host_id, kind)) for kind in (Kind.DEBT, Kind.EARNINGS))

    return [host_id for host_id, micros in claims if micros + has(host_id) > 0]


def pay_claims(session: Session, host_id: str, now: datetime) -> int:
    """As far as the host's debt is filled, the oldest first. What the host has earned and not spent fills it before:
    that is what comes back of jobs which it rented itself. What was paid, in micros."""
    earnings, debt = account(host_id, Kind.EARNINGS), account(host_id, Kind.DEBT)
    mine = (ClaimRow.host_id == host_id, ClaimRow.owed_micros > 0)
    oldest = select(ClaimRow.renter_id).where(*mine).order_by(ClaimRow.created_at, ClaimRow.attempt_id).limit(AT_ONCE)
    renters = sorted(set(session.scalars(oldest)))
    pockets = (Kind.AVAILABLE, Kind.EARNINGS, Kind.DEBT)
    has = lock_accounts(session, [earnings, debt, *(account(one, kind) for one in renters for kind in pockets)])
    # With the locks: nobody else pays them, and no debt is filled meanwhile.
    query = select(ClaimRow).where(*mine, ClaimRow.renter_id.in_(renters))
    query = query.order_by(ClaimRow.created_at, ClaimRow.attempt_id).limit(AT_ONCE)
    rows = session.scalars(query.with_for_update().execution_options(populate_existing=True)).all()
    total = int(session.scalar(select(func.sum(ClaimRow.owed_micros)).where(*mine)) or 0)
    filled = min(has[earnings], -has[debt])
    payable = total - (-has[debt] - filled)
    if payable <= 0 or not rows:
        return 0
    if filled:
        key = f"debt_filled/{rows[0].attempt_id}/{rows[0].paid_micros}"
        post(session, Entry(key, "debt_filled", moved(earnings, debt, filled)), now)
    paid = 0
    for row in rows:
        micros = min(row.owed_micros, payable - paid)
        if micros:
            _pay(session, row, micros, now)
            paid += micros
    return paid


def net_of(session: Session, attempt_id: str) -> dict[str, int]:
    """By account, what all entries of an attempt came to. What is held is nobody's any more."""
    nets: dict[str, int] = {}
    rows = session.execute(
        select(PostingRow.source, PostingRow.destination, PostingRow.micros)
        .join(EntryRow, EntryRow.id == PostingRow.entry_id)
        .where(EntryRow.attempt_id == attempt_id)
    )
    for source, destination, micros in rows:
        nets[source] = nets.get(source, 0) - micros
        nets[destination] = nets.get(destination, 0) + micros
    return {name: micros for name, micros in nets.items() if micros}


def claims_are_kept(session: Session) -> list[str]:
    """For `ledger.check`: all that is kept for renters is owed to one of them."""
    has = balance(session, RESTITUTION)
    owed = int(session.scalar(select(func.sum(ClaimRow.owed_micros))) or 0)
    return [] if has == owed else [f"{RESTITUTION} has {has} micros, and renters are owed {owed}"]


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _pay(session: Session, row: ClaimRow, micros: int, now: datetime) -> None:
    debt = account(row.renter_id, Kind.DEBT)
    owes = -lock_accounts(session, [debt])[debt]
    back = last_spent(missing(net_of(session, row.attempt_id), row.renter_id), micros)
    entry = Entry(
        f"{PAID}/{row.attempt_id}/{row.paid_micros + micros}",
        PAID,
        paired([(RESTITUTION, micros)], to_renter(row.renter_id, back, owes)),
        job_id=row.job_id,
        attempt_id=row.attempt_id,
        note="The debt of its host is filled.",
        details={"cost_micros": micros, "host_id": row.host_id, "renter_id": row.renter_id},
    )
    if not post(session, entry, now).is_new:
        raise AssertionError(f"{entry.key} was paid before")
    left = row.owed_micros - micros
    topics = _topics(row.renter_id)
    if not row.paid_micros or not left:  # with the first part and the last: a host may pay it job by job
        topics += (mail_topic(row.renter_id),)
    _change(session, row.attempt_id, owed=-micros, paid=micros)
    record(
        session, "restitution.paid", row.attempt_id, now, topics=topics, job=row.job_id, micros=micros, owed_micros=left
    )


def _change(session: Session, attempt_id: str, *, owed: int, paid: int = 0) -> None:
    values = {"owed_micros": ClaimRow.owed_micros + owed, "paid_micros": ClaimRow.paid_micros + paid}
    session.execute(update(ClaimRow).where(ClaimRow.attempt_id == attempt_id).values(values))


def _topics(renter_id: str) -> tuple[str, ...]:
    return (f"owner/{renter_id}",)
