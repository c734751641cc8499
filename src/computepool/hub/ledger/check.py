"""Does everything still add up? Sums all postings anew: the balances may be wrong, the postings are the truth."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import func, literal, select, union_all
from sqlalchemy.orm import Session

from computepool.hub.ledger.accounts import may_hold
from computepool.hub.ledger.tables import BalanceRow, EntryRow, PostingRow
from computepool.protocol.units import spell_credits

PROBLEMS_LIMIT = 100

Invariant = Callable[[Session], list[str]]
"""What else must be true of money, by the feature that knows: each problem in a sentence."""


@dataclass(frozen=True)
class Report:
    entries: int
    postings: int
    accounts: int
    moved_micros: int
    """All that was ever moved."""
    problems: tuple[str, ...] = ()

    @property
    def balanced(self) -> bool:
        return not self.problems


def check(session: Session, invariants: Sequence[Invariant] = ()) -> Report:
    """In one transaction, so that it sees one moment."""
    summed, kept = _sum_postings(session), _read_balances(session)
    problems = [
        f"{name} has {kept.get(name, 0)} micros, but its postings sum to {summed.get(name, 0)}"
        for name in sorted({*summed, *kept})
        if summed.get(name, 0) != kept.get(name, 0)
    ]
    problems += [
        f"{name} has {spell_credits(abs(micros))} {'too few' if micros < 0 else 'too many'}"
        for name, micros in sorted(kept.items())
        if not may_hold(name, micros)
    ]
    if total := sum(kept.values()):
        problems.append(f"all accounts together have {total} micros instead of none")
    problems += [f"entry {key} moves nothing" for key in _list_empty(session)]
    for invariant in invariants:
        problems += invariant(session)
    postings, moved = session.execute(select(func.count(), func.sum(PostingRow.micros)).select_from(PostingRow)).one()
    return Report(
        entries=session.scalar(select(func.count()).select_from(EntryRow)) or 0,
        postings=postings,
        accounts=len(kept),
        moved_micros=int(moved or 0),
        problems=tuple(problems[:PROBLEMS_LIMIT]),
    )


def _sum_postings(session: Session) -> dict[str, int]:
    came = select(PostingRow.destination.label("account"), PostingRow.micros.label("micros"))
    went = select(PostingRow.source.label("account"), (literal(0) - PostingRow.micros).label("micros"))
    both = union_all(came, went).subquery()
    rows = session.execute(select(both.c.account, func.sum(both.c.micros)).group_by(both.c.account))
    return {name: int(micros) for name, micros in rows}


def _read_balances(session: Session) -> dict[str, int]:
    query = select(BalanceRow.account, func.sum(BalanceRow.micros)).group_by(BalanceRow.account)
    return {name: int(micros) for name, micros in session.execute(query)}


def _list_empty(session: Session) -> list[str]:
    none = ~select(PostingRow.entry_id).where(PostingRow.entry_id == EntryRow.id).exists()
    return list(session.scalars(select(EntryRow.key).where(none).limit(PROBLEMS_LIMIT)))
