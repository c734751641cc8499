"""Does everything still add up? Sums all postings anew: the balances may be wrong, the postings are the truth."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Select, func, literal, select, union_all
from sqlalchemy.orm import Session

from computepool.hub.ledger.accounts import may_hold
from computepool.hub.ledger.tables import BalanceRow, EntryRow, PostingRow
from computepool.protocol.units import spell_credits

PROBLEMS_LIMIT = 100
_CAME = select(PostingRow.destination.label("account"), PostingRow.micros.label("micros"))
_WENT = select(PostingRow.source.label("account"), (literal(0) - PostingRow.micros).label("micros"))
_BOTH = union_all(_CAME, _WENT).subquery()
_SUMMED = select(_BOTH.c.account, func.sum(_BOTH.c.micros)).group_by(_BOTH.c.account)
_KEPT = select(BalanceRow.account, func.sum(BalanceRow.micros)).group_by(BalanceRow.account)
_HAS_NONE = ~select(PostingRow.entry_id).where(PostingRow.entry_id == EntryRow.id).exists()
_EMPTY = select(EntryRow.key).where(_HAS_NONE).limit(PROBLEMS_LIMIT)
_POSTINGS = select(func.count(), func.sum(PostingRow.micros)).select_from(PostingRow)
_ENTRIES = select(func.count()).select_from(EntryRow)

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
    summed, kept = _sums(session, _SUMMED), _sums(session, _KEPT)
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
    problems += [f"entry {key} moves nothing" for key in session.scalars(_EMPTY)]
    for invariant in invariants:
        problems += invariant(session)
    postings, moved = session.execute(_POSTINGS).one()
    return Report(
        entries=session.scalar(_ENTRIES) or 0,
        postings=postings,
        accounts=len(kept),
        moved_micros=int(moved or 0),
        problems=tuple(problems[:PROBLEMS_LIMIT]),
    )


def _sums(session: Session, query: Select[str, int]) -> dict[str, int]:
    return {name: int(micros) for name, micros in session.execute(query)}
