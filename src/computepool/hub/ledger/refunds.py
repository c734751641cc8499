"""Seconds that were paid for and go back by a verdict: from the host who got them, and with the fee on them, to the
pocket that they came from. What the host has spent it owes to the renter: `returns` says why, `claims` what becomes of
it.
"""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.ledger.accounts import SPENT_FIRST, SUBSIDY, Kind, account
from computepool.hub.ledger.claims import add_claim
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import HoldRow, Pockets
from computepool.hub.ledger.journal import lock_accounts, post
from computepool.hub.ledger.returns import Return, as_far_as_there, paired, postings_of_return
from computepool.hub.ledger.settlement import Payer, Share, settle


@dataclass(frozen=True, slots=True)
class Back:
    """What was given back."""

    seconds: int = 0
    cost_micros: int = 0
    """To the renter, what the host owes them included."""
    earned_micros: int = 0
    """By the host."""

    def __add__(self, other: "Back") -> "Back":
        return Back(
            self.seconds + other.seconds,
            self.cost_micros + other.cost_micros,
            self.earned_micros + other.earned_micros,
        )


def give_back(
    session: Session,
    attempt_id: str,
    host_id: str,
    seconds: int,
    fee_bps: int,
    now: datetime,
    *,
    by_platform: bool = False,
    note: str = "",
) -> Back:
    """So many of the seconds that instalments paid for, the last ones first. `by_platform`: the host keeps its share.

    Whoever calls has locked the accounts of both.
    """
    query = select(HoldRow).where(HoldRow.attempt_id == attempt_id, HoldRow.paid_seconds > 0)
    total = Back()
    for hold in session.scalars(query.order_by(HoldRow.number.desc())).all():
        part = min(hold.paid_seconds, seconds - total.seconds)
        if part <= 0:
            break
        total += _give_back(session, hold, host_id, part, fee_bps, now, by_platform, note)
    return total


def _give_back(
    session: Session,
    hold: HoldRow,
    host_id: str,
    part: int,
    fee_bps: int,
    now: datetime,
    by_platform: bool,
    note: str,
) -> Back:
    kept = hold.paid_seconds - part
    cost, fee = _difference(hold, kept, fee_bps)
    done = Back(part)
    if cost.total:
        postings, one = _from_platform(hold, cost) if by_platform else _from_both(session, hold, host_id, cost, fee)
        done = Back(part, one.cost_micros, one.host_micros)
        figures = {"cost_micros": done.cost_micros, "host_micros": done.earned_micros}
        details: dict[str, Any] = {"seconds": part, "kept_seconds": kept, **figures}
        if one.owed or one.lost:
            details |= {"owed_micros": one.owed, "lost_micros": one.lost}
        if postings:
            entry = Entry(
                f"give_back/{hold.attempt_id}/{hold.number}/{kept}",
                "give_back",
                postings,
                job_id=hold.job_id,
                attempt_id=hold.attempt_id,
                note=note,
                details=details,
            )
            post(session, entry, now)
            add_claim(session, hold.attempt_id, hold.job_id, host_id, hold.owner_id, one.owed, now)
    session.execute(
        update(HoldRow)
        .where(HoldRow.attempt_id == hold.attempt_id, HoldRow.number == hold.number)
        .values(paid_seconds=kept, spent_micros=hold.spent_micros - done.cost_micros)
    )
    return done


def _difference(hold: HoldRow, kept: int, fee_bps: int) -> tuple[Pockets, Share]:
    """(cost, of that the fee) of the seconds that are not kept."""
    before = settle(hold.pockets, hold.price_micros, hold.paid_seconds, fee_bps, Payer.RENTER)
    after = settle(hold.pockets, hold.price_micros, kept, fee_bps, Payer.RENTER)
    fee = Share(before.fee.promotional - after.fee.promotional, before.fee.real - after.fee.real)
    return before.cost.without(after.cost), fee


def _from_platform(hold: HoldRow, cost: Pockets) -> tuple[tuple[Posting, ...], Return]:
    to = [(account(hold.owner_id, kind), getattr(cost, kind)) for kind in SPENT_FIRST]
    return paired([(SUBSIDY, cost.total)], to), Return(cost, Share(), Share())


def _from_both(
    session: Session, hold: HoldRow, host_id: str, cost: Pockets, fee: Share
) -> tuple[tuple[Posting, ...], Return]:
    names = {kind: account(host_id, kind) for kind in (Kind.PROMOTIONAL, Kind.EARNINGS)}
    has = lock_accounts(session, names.values())
    one = as_far_as_there(cost, fee, {kind: has[name] for kind, name in names.items()})
    return postings_of_return(one, hold.owner_id, host_id), one
