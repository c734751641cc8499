"""A bank gives money back that it had kept at first, and an operator had refunded by then: the refund is taken back.

The renter has the money again, so the hosts get what they had earned. It does not count against the renter's limits
once more: the days on which it was spent are over.
"""

from collections import Counter
from collections.abc import Mapping
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.records import record
from computepool.hub.disputes.refunding import REFUNDED
from computepool.hub.jobs.given_back import write_down
from computepool.hub.ledger.accounts import FEES, HOSTS_POCKETS, SUBSIDY, Kind, account, kind_of, owner_of
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import lock_accounts, post, postings_of
from computepool.hub.ledger.returns import paired
from computepool.hub.ledger.tables import EntryRow

UNDONE = "dispute_refund_undone"


def undo_refunds(session: Session, dispute_id: str, now: datetime) -> int:
    """What the renter pays again, in micros. Each refund once."""
    refunds = select(EntryRow).where(
        EntryRow.kind == REFUNDED, EntryRow.key.startswith(f"dispute/{dispute_id}/", autoescape=True)
    )
    rows = session.scalars(refunds.order_by(EntryRow.id)).all()
    names = {account(row.details["renter_id"], kind) for row in rows for kind in Kind}
    names |= {account(row.details["host_id"], kind) for row in rows for kind in HOSTS_POCKETS}
    lock_accounts(session, names)
    return sum(_undo_one(session, row, now) for row in rows)


def _undo_one(session: Session, row: EntryRow, now: datetime) -> int:
    renter_id, host_id = row.details["renter_id"], row.details["host_id"]
    names = [account(renter_id, kind) for kind in Kind] + [account(host_id, kind) for kind in HOSTS_POCKETS]
    has = lock_accounts(session, names)
    postings = _back(postings_of(session, row.id), renter_id, host_id, has)
    if not postings or row.attempt_id is None:
        return 0
    cost = sum(one.micros for one in postings)
    host = sum(one.micros for one in postings if owner_of(one.destination) == host_id)
    entry = Entry(
        f"{row.key}/undone",
        UNDONE,
        postings,
        job_id=row.job_id,
        attempt_id=row.attempt_id,
        note="The bank gave the money back after all.",
        details={"cost_micros": cost, "host_micros": host, "host_id": host_id, "renter_id": renter_id},
        reverses=row.id,
    )
    if not post(session, entry, now).is_new:
        raise AssertionError(f"{entry.key} was taken back before")
    write_down(session, row.attempt_id, -cost, -host)
    topics = (f"wallet/{renter_id}", f"wallet/{host_id}")
    record(session, "dispute.refund_undone", row.attempt_id, now, topics=topics, micros=cost)
    return cost


def _back(refund: tuple[Posting, ...], renter_id: str, host_id: str, has: Mapping[str, int]) -> tuple[Posting, ...]:
    """Promotional credit as far as it is there: it is never owed."""
    gone: Counter[str] = Counter()
    got: Counter[str] = Counter()
    for one in refund:
        gone[one.source] += one.micros
        got[kind_of(one.destination)] += one.micros
    real, there = got.total() - got[Kind.PROMOTIONAL], has[account(renter_id, Kind.PROMOTIONAL)]
    available = min(real, has[account(renter_id, Kind.AVAILABLE)])
    earnings = min(real - available, has[account(renter_id, Kind.EARNINGS)])
    parts = {Kind.AVAILABLE: available, Kind.EARNINGS: earnings, Kind.DEBT: real - available - earnings}
    hosts, debt = real - gone[FEES], account(host_id, Kind.DEBT)
    repaid = min(hosts, -has[debt])
    presents = min(got[Kind.PROMOTIONAL], there)
    given = min(presents, got[Kind.PROMOTIONAL] - gone[SUBSIDY])
    return (
        *paired(
            [(account(renter_id, kind), micros) for kind, micros in parts.items()],
            [(FEES, gone[FEES]), (debt, repaid), (account(host_id, Kind.EARNINGS), hosts - repaid)],
        ),
        *paired(
            [(account(renter_id, Kind.PROMOTIONAL), presents)],
            [(account(host_id, Kind.PROMOTIONAL), given), (SUBSIDY, presents - given)],
        ),
    )
