"""Giving back what was paid for attempts that are over: from the hosts who got it and with the fee on it, each credit
to the kind of pocket that it came from.

What is still paid for an attempt is what all of its entries come to together. So whatever came back before, by a
verdict, a check or another dispute, cannot come back again; nor can what a host owes the renter.

Here an operator decides. So the renter gets all of it at once, also what the host has spent: until the host has earned
it, that is the pool's risk, and the operator is told how much it is.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.jobs.given_back import write_down
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.accounts import FEES, HOSTS_POCKETS, SUBSIDY, Kind, account
from computepool.hub.ledger.entries import Entry
from computepool.hub.ledger.journal import lock_accounts, named_balances, post
from computepool.hub.ledger.returns import Paid, from_host, paid_of, paired, to_renter
from computepool.hub.ledger.settlement import Share
from computepool.hub.ledger.tables import EntryRow, PostingRow

REFUNDED = "dispute_refund"
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Refunded:
    micros: int = 0
    owed_micros: int = 0
    """Of that, what hosts had spent already."""


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


def uncovered(session: Session, paid: Sequence[Paid], micros: int) -> int:
    """Of a refund of so much, what the hosts do not have any more: until they have earned it, the pool pays it."""
    there = (Kind.EARNINGS, Kind.PROMOTIONAL)
    names = sorted({account(one.host_id, kind) for one in paid for kind in there})
    has = named_balances(session, names)
    missing = 0
    for one, share in zip(paid, shares_of(micros, [one.cost.total for one in paid]), strict=True):
        pockets = {kind: has[account(one.host_id, kind)] for kind in there}
        for name, part in from_host(one.host_id, part_of(one, share).host, pockets):
            if name in has:
                has[name] -= part
            else:
                missing += part
    return missing


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
        paired(sources, to_renter(back.renter_id, back.cost, -has[debt])),
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
    write_down(session, back.attempt_id, back.cost.total, back.host.total)
    return owed


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


def _share(amount: int, part: int, whole: int) -> int:
    return amount * part // whole if whole else 0
