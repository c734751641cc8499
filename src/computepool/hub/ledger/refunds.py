"""Credits that go back after they were paid: from the host who got them, and with the fee on them, to the pocket that
they came from. A host who has spent them owes them: that is posted from `debt`, which later earnings fill up first.
"""

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.ledger.accounts import SPENT_FIRST, Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.journal import lock_accounts, post
from computepool.hub.ledger.settlement import Payer, Settlement, Share, settle

Amounts = Sequence[tuple[str, int]]
"""(account, micros)"""


@dataclass(frozen=True, slots=True)
class Back:
    """What was given back."""

    seconds: int = 0
    cost_micros: int = 0
    """To the renter."""
    earned_micros: int = 0
    """By the host."""


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
        kept = hold.paid_seconds - part
        before = settle(hold.pockets, hold.price_micros, hold.paid_seconds, fee_bps, Payer.RENTER)
        after = settle(hold.pockets, hold.price_micros, kept, fee_bps, Payer.RENTER)
        back = before.cost.without(after.cost)
        if back.total:
            taken = Share(
                before.host.promotional - after.host.promotional,
                before.host.real - after.host.real,
            )
            sources = _from_platform(back.total) if by_platform else _from_both(session, host_id, before, after, taken)
            entry = Entry(
                f"give_back/{attempt_id}/{hold.number}/{kept}",
                "give_back",
                paired(sources, [(account(hold.owner_id, kind), getattr(back, kind)) for kind in SPENT_FIRST]),
                job_id=hold.job_id,
                attempt_id=attempt_id,
                note=note,
                details={
                    "seconds": part,
                    "kept_seconds": kept,
                    "cost_micros": back.total,
                    "host_micros": 0 if by_platform else taken.total,
                },
            )
            post(session, entry, now)
        session.execute(
            update(HoldRow)
            .where(HoldRow.attempt_id == attempt_id, HoldRow.number == hold.number)
            .values(paid_seconds=kept, spent_micros=after.cost.total)
        )
        earned = 0 if by_platform else before.host.total - after.host.total
        total = Back(total.seconds + part, total.cost_micros + back.total, total.earned_micros + earned)
    return total


def undo(nets: Mapping[str, int], host_id: str, host_has: Mapping[Kind, int]) -> tuple[Posting, ...]:
    """What takes back all that an attempt moved. `nets`: by account, what its entries came to together."""
    hosts = {account(host_id, kind) for kind in (Kind.PROMOTIONAL, Kind.EARNINGS, Kind.DEBT)}
    others = [(name, micros) for name, micros in sorted(nets.items()) if name not in hosts]
    # What the host still has of it. Not by pocket: a present that it could not give back any more it owes.
    total = max(0, -sum(micros for _, micros in others))
    presents = min(total, max(0, nets.get(account(host_id, Kind.PROMOTIONAL), 0)))
    taken = from_host(host_id, Share(presents, total - presents), host_has)
    sources = [*taken, *((name, micros) for name, micros in others if micros > 0)]
    return paired(sources, [(name, -micros) for name, micros in others if micros < 0])


def from_host(host_id: str, taken: Share, has: Mapping[Kind, int]) -> Amounts:
    """Out of the pockets that it went to, and what is not there any more as a debt."""
    earnings, presents = min(taken.real, has[Kind.EARNINGS]), min(taken.promotional, has[Kind.PROMOTIONAL])
    return [
        (account(host_id, Kind.EARNINGS), earnings),
        (account(host_id, Kind.PROMOTIONAL), presents),
        (account(host_id, Kind.DEBT), taken.total - earnings - presents),
    ]


def paired(sources: Iterable[tuple[str, int]], destinations: Iterable[tuple[str, int]]) -> tuple[Posting, ...]:
    """Postings that take from the ones exactly what the others get."""
    giving, getting = deque(sources), deque(destinations)
    if sum(micros for _, micros in giving) != sum(micros for _, micros in getting):
        raise AssertionError(f"{list(giving)} is not what {list(getting)} is")
    found: list[Posting] = []
    while giving and getting:
        (source, has), (destination, needs) = giving.popleft(), getting.popleft()
        micros = min(has, needs)
        if micros:
            found.append(Posting(source, destination, micros))
        if has > micros:
            giving.appendleft((source, has - micros))
        if needs > micros:
            getting.appendleft((destination, needs - micros))
    return tuple(found)


def _from_platform(micros: int) -> Amounts:
    return [(platform(Platform.SUBSIDY), micros)]


def _from_both(session: Session, host_id: str, before: Settlement, after: Settlement, taken: Share) -> Amounts:
    names = {kind: account(host_id, kind) for kind in (Kind.PROMOTIONAL, Kind.EARNINGS)}
    has = lock_accounts(session, names.values())
    return [
        *from_host(host_id, taken, {kind: has[name] for kind, name in names.items()}),
        (platform(Platform.FEES), before.fee.real - after.fee.real),
        (platform(Platform.SUBSIDY), before.fee.promotional - after.fee.promotional),
    ]
