"""Giving back what was paid for attempts that are over: from the hosts who got it and with the fee on it, each credit
to the kind of pocket that it came from.

What is still paid for an attempt is what all of its entries come to together. So whatever came back before, by a
verdict, a check or another dispute, cannot come back again.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry
from computepool.hub.ledger.holds import HoldRow, Pockets
from computepool.hub.ledger.journal import lock_accounts, post
from computepool.hub.ledger.refunds import from_host, paired
from computepool.hub.ledger.settlement import Share
from computepool.hub.ledger.tables import EntryRow, PostingRow

REFUNDED = "dispute_refund"
AT_ONCE = 500
HOSTS_POCKETS = (Kind.PROMOTIONAL, Kind.EARNINGS, Kind.DEBT)
FEES, SUBSIDY = platform(Platform.FEES), platform(Platform.SUBSIDY)


@dataclass(frozen=True, slots=True)
class Paid:
    """What a renter pays for an attempt, as things are now."""

    attempt_id: str
    job_id: str
    renter_id: str
    host_id: str
    cost: Pockets
    fee: Share
    """Of it, the platform's."""

    @property
    def host(self) -> Share:
        return Share(self.cost.promotional - self.fee.promotional, self.cost.real - self.fee.real)


@dataclass(frozen=True, slots=True)
class Refunded:
    micros: int = 0
    owed_micros: int = 0
    """Of that, what hosts had spent already."""


def paid_of(nets: Mapping[str, int], attempt_id: str, job_id: str, renter_id: str, host_id: str) -> Paid:
    """`nets`: by account, what the attempt's entries came to. The renter's side and the fees say all: a host's pockets
    are mixed with what it owed."""
    promotional, available, earnings = (
        max(0, -nets.get(account(renter_id, kind), 0)) for kind in (Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS)
    )
    # What came back while they owed the pool went there.
    real = max(0, available + earnings - max(0, nets.get(account(renter_id, Kind.DEBT), 0)))
    available = min(available, real)
    cost = Pockets(promotional, available, real - available)
    fee = Share(_within(nets.get(SUBSIDY, 0), promotional), _within(nets.get(FEES, 0), real))
    return Paid(attempt_id, job_id, renter_id, host_id, cost, fee)


def part_of(paid: Paid, micros: int) -> Paid:
    """So much of it: presents, which were spent first, come back last."""
    back = paid.cost.without(paid.cost.first(paid.cost.total - micros))
    fee = Share(
        _share(paid.fee.promotional, back.promotional, paid.cost.promotional),
        _share(paid.fee.real, back.real, paid.cost.real),
    )
    return Paid(paid.attempt_id, paid.job_id, paid.renter_id, paid.host_id, back, fee)


def shares_of(micros: int, amounts: Sequence[int]) -> list[int]:
    """`micros` over all of them, in proportion, to the micro. None gets more than it is."""
    total, before, given = sum(amounts), 0, []
    for amount in amounts:
        given.append(micros * (before + amount) // total - micros * before // total)
        before += amount
    return given


def list_paid(session: Session, job_ids: Iterable[str], *, lock: bool = False) -> list[Paid]:
    """All attempts of these jobs that something was paid for, oldest first. `lock`: the accounts of everybody in it."""
    jobs = sorted(job_ids)
    attempts = [one for some in batched(jobs, AT_ONCE) for one in _list_attempts(session, some)]
    if lock:
        names = {account(host_id, kind) for *_, host_id in attempts for kind in HOSTS_POCKETS}
        names |= {account(renter_id, kind) for _, _, renter_id, _ in attempts for kind in Kind}
        lock_accounts(session, names)
    nets: dict[str, Counter[str]] = {attempt_id: Counter() for attempt_id, *_ in attempts}
    for some in batched(jobs, AT_ONCE):  # with the locks: nobody gives anything back meanwhile
        _add_nets(session, some, nets)
    found = [paid_of(nets[one[0]], *one) for one in sorted(attempts)]
    return [one for one in found if one.cost.total]


def refund(
    session: Session, key: str, paid: Sequence[Paid], micros: int, note: str, actor: str, now: datetime
) -> Refunded:
    """In proportion to what each attempt cost. Whoever calls has their accounts locked."""
    given = owed = 0
    for one, share in zip(paid, shares_of(micros, [one.cost.total for one in paid]), strict=True):
        if share:
            owed += _refund_one(session, key, part_of(one, share), note, actor, now)
            given += share
    return Refunded(given, owed)


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _refund_one(session: Session, key: str, back: Paid, note: str, actor: str, now: datetime) -> int:
    names = {kind: account(back.host_id, kind) for kind in HOSTS_POCKETS}
    debt = account(back.renter_id, Kind.DEBT)
    has = lock_accounts(session, [*names.values(), debt])
    sources = [
        *from_host(back.host_id, back.host, {kind: has[name] for kind, name in names.items()}),
        (FEES, back.fee.real),
        (SUBSIDY, back.fee.promotional),
    ]
    owed = sum(micros for name, micros in sources if name == names[Kind.DEBT])
    entry = Entry(
        f"{key}/{back.attempt_id}",
        REFUNDED,
        paired(sources, _to_renter(back, -has[debt])),
        actor=actor,
        job_id=back.job_id,
        attempt_id=back.attempt_id,
        note=note,
        details={
            "dispute": key.partition("/")[2],
            "cost_micros": back.cost.total,
            "fee_micros": back.fee.total,
            "host_micros": back.host.total,
            "owed_micros": owed,
            "host_id": back.host_id,
            "renter_id": back.renter_id,
        },
    )
    if not post(session, entry, now).is_new:
        raise AssertionError(f"{entry.key} was given back before")
    _write_down(session, back)
    return owed


def _to_renter(back: Paid, owes: int) -> list[tuple[str, int]]:
    """To the pockets that it came from; what they owe the pool first, except out of presents."""
    filled = min(owes, back.cost.real)
    available = max(0, back.cost.available - filled)
    earnings = back.cost.real - filled - available
    parts = {
        Kind.PROMOTIONAL: back.cost.promotional,
        Kind.DEBT: filled,
        Kind.AVAILABLE: available,
        Kind.EARNINGS: earnings,
    }
    return [(account(back.renter_id, kind), micros) for kind, micros in parts.items()]


def _write_down(session: Session, back: Paid) -> None:
    """The attempt, and what its holds were spent on, say what it cost in the end."""
    cost, earned = back.cost.total, back.host.total
    session.execute(
        update(Attempt)
        .where(Attempt.id == back.attempt_id)
        .values(cost_micros=Attempt.cost_micros - cost, earned_micros=Attempt.earned_micros - earned)
    )
    holds = select(HoldRow).where(HoldRow.attempt_id == back.attempt_id, HoldRow.spent_micros > 0)
    for hold in session.scalars(holds.order_by(HoldRow.number.desc())).all():
        part = min(hold.spent_micros, cost)
        hold.spent_micros -= part
        cost -= part
    session.flush()


def _list_attempts(session: Session, job_ids: Sequence[str]) -> list[tuple[str, str, str, str]]:
    query = (
        select(Attempt.id, Attempt.job_id, Job.owner_id, Attempt.terms)
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.job_id.in_(job_ids), Attempt.finished_at.is_not(None), Attempt.cost_micros > 0)
    )
    return [
        (attempt_id, job_id, renter_id, terms["host_id"])
        for attempt_id, job_id, renter_id, terms in session.execute(query)
        if terms is not None
    ]


def _add_nets(session: Session, job_ids: Sequence[str], nets: Mapping[str, Counter[str]]) -> None:
    rows = session.execute(
        select(EntryRow.attempt_id, PostingRow.source, PostingRow.destination, PostingRow.micros)
        .join(PostingRow, PostingRow.entry_id == EntryRow.id)
        .where(EntryRow.job_id.in_(job_ids))
    )
    for attempt_id, source, destination, micros in rows:
        if attempt_id is not None and attempt_id in nets:
            nets[attempt_id][source] -= micros
            nets[attempt_id][destination] += micros


def batched(items: Sequence[str], size: int) -> Iterator[Sequence[str]]:
    """SQLite takes some thousands of values in a statement, and not more."""
    return (items[start : start + size] for start in range(0, len(items), size))


def _within(value: int, most: int) -> int:
    return max(0, min(value, most))


def _share(amount: int, part: int, whole: int) -> int:
    return amount * part // whole if whole else 0
