"""Debts that nobody will pay back: an operator decides that the pool bears one.

What its owner has left pays first. What is owed to renters is then paid as if the debt had been filled by its owner
(`claims`). If credits come to the owner after all for which they had owed it, by a bank or a contest that was won, the
pool gets back what it bore, before anything of that can be spent.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Conflict
from computepool.hub.core.records import record
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting, moved
from computepool.hub.ledger.journal import balances, lock_accounts, post, postings_of
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.protocol.units import format_credits, spell_credits

WRITTEN_OFF = "write_off"
RETURNED = "write_off_returned"
WRITE_OFF = platform(Platform.WRITE_OFF)
PAYS_FIRST = (Kind.EARNINGS, Kind.AVAILABLE)


class NothingOwed(Conflict):
    code = "nothing_owed"

    def __init__(self, owner_id: str) -> None:
        super().__init__(f"{owner_id} owes nothing, so there is nothing to write off.")


class MoreThanOwed(Conflict):
    code = "more_than_owed"

    def __init__(self, owner_id: str, micros: int, most: int) -> None:
        super().__init__(
            f"{spell_credits(micros)} is more than the {format_credits(most)} that {owner_id} owes and does not have.",
            hint="Without an amount all of it is written off.",
        )


@dataclass(frozen=True, slots=True)
class WrittenOff:
    micros: int
    """What the pool bears: nothing, if the owner had all of it."""
    filled_micros: int
    """What the owner had left, which went into the debt before."""


def write_off(
    session: Session, write_off_id: str, owner_id: str, micros: int | None, note: str, actor: str, now: datetime
) -> WrittenOff:
    """Once for each id. `micros`: all of it, if not said otherwise."""
    key, debt = f"{WRITTEN_OFF}/{write_off_id}", account(owner_id, Kind.DEBT)
    entry_id = session.scalar(select(EntryRow.id).where(EntryRow.key == key))
    if entry_id is None:
        has = balances(session, owner_id, lock=True)
        left = -has[Kind.DEBT]
        if not left:
            raise NothingOwed(owner_id)
        postings: list[Posting] = []
        for kind in PAYS_FIRST:
            filled = min(has[kind], left)
            postings += moved(account(owner_id, kind), debt, filled)
            left -= filled
        if micros is not None and micros > left:
            raise MoreThanOwed(owner_id, micros, left)
        borne = left if micros is None else micros
        postings += moved(WRITE_OFF, debt, borne)
        entry_id = post(session, Entry(key, WRITTEN_OFF, tuple(postings), actor=actor, note=note), now).id
        about = {"write_off": write_off_id, "micros": borne, "note": note}
        record(session, "debt.written_off", owner_id, now, actor=actor, topics=(f"wallet/{owner_id}",), **about)
    parts = postings_of(session, entry_id)
    borne = sum(one.micros for one in parts if one.source == WRITE_OFF)
    return WrittenOff(borne, sum(one.micros for one in parts) - borne)


def return_to_pool(
    session: Session, key: str, owner_id: str, most: int, now: datetime, kinds: Sequence[Kind] = PAYS_FIRST
) -> int:
    """Credits came to somebody whose debt the pool bore: up to `most` of them go to the pool. How much that was.

    Whoever calls has the pockets locked, and names the occasion by `key`."""
    borne = written_off(session, owner_id) if most > 0 else 0
    if borne <= 0:
        return 0
    has = lock_accounts(session, [account(owner_id, kind) for kind in kinds])
    left, postings = min(most, borne), list[Posting]()
    for name in (account(owner_id, kind) for kind in kinds):
        part = min(has[name], left)
        postings += moved(name, WRITE_OFF, part)
        left -= part
    if postings:
        post(session, Entry(key, RETURNED, tuple(postings), note="It had been written off as a debt."), now)
    return sum(one.micros for one in postings)


def written_off(session: Session, owner_id: str) -> int:
    """What the pool bears of somebody's debts, without what it got back."""
    of_kind = select(func.sum(PostingRow.micros)).join(EntryRow, EntryRow.id == PostingRow.entry_id)
    borne = of_kind.where(
        EntryRow.kind == WRITTEN_OFF,
        PostingRow.source == WRITE_OFF,
        PostingRow.destination == account(owner_id, Kind.DEBT),
    )
    back = of_kind.where(
        EntryRow.kind == RETURNED,
        PostingRow.source.in_([account(owner_id, kind) for kind in PAYS_FIRST]),
        PostingRow.destination == WRITE_OFF,
    )
    return int(session.scalar(borne) or 0) - int(session.scalar(back) or 0)
