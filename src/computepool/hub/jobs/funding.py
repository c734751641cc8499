"""Whether there is money for attempts, and setting it aside: in the transaction of the lease."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, cast

from sqlalchemy import ColumnElement, Table, case, func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.core.owners import PLATFORM
from computepool.hub.jobs.tables import Job
from computepool.hub.jobs.terms import Part, Terms, least_to_begin, next_part
from computepool.hub.jobs.verification import Role
from computepool.hub.ledger.holds import HoldRow, Pockets, open_hold, spendable
from computepool.hub.ledger.settlement import seconds_for
from computepool.protocol.units import format_credits, format_duration

if TYPE_CHECKING:
    from computepool.hub.jobs.service import Lease

_HOLDS = cast(Table, HoldRow.__table__)
_TOTAL = _HOLDS.c.promotional + _HOLDS.c.available + _HOLDS.c.earnings
_USED = func.sum(case((_HOLDS.c.resolved_at.is_(None), _TOTAL), else_=_HOLDS.c.spent_micros))
_OPEN = func.count(case((_HOLDS.c.resolved_at.is_(None), 1)))


class Want(StrEnum):
    """What an attempt could not be had for."""

    CREDITS = "credits"
    """Its renter has too few: it waits for more."""
    ROOM_IN_BUDGET = "room_in_budget"
    """What is left of its job's budget is set aside for other slices: it waits for what they do not use."""
    BUDGET = "budget"
    """What it may cost is spent. Nothing will change that."""


@dataclass(frozen=True, slots=True)
class Unfunded:
    attempt_id: str
    job_id: str
    slice_index: int
    fence: int
    """Of the slice's last lease."""
    root: str
    """Whose budget it is about."""
    owner_id: str
    want: Want
    needed_micros: int
    had_micros: int
    """What its renter had when the transaction began; of a budget, what is left of it."""
    price_micros: int = 0
    """Of an hour on the node that it would have had."""
    whole_micros: int = 0
    """Of a budget, what it was before anything was spent."""
    is_slices: bool = False
    """The budget is the slice's own: its ceiling for as long as it may run."""

    @property
    def words(self) -> str:
        """Why it will never begin, if its budget is why; and what to change."""
        needed, left = format_credits(self.needed_micros), format_credits(self.had_micros)
        price = f"at {format_credits(self.price_micros)} an hour"
        if self.is_slices:
            return (
                f"The slice ran out of budget: earlier attempts left {left} of what it may cost, but another attempt "
                f"needs a hold of {needed}, {price}. Raise `max_price` or `max_runtime`."
            )
        seconds = seconds_for(self.had_micros, self.price_micros) if self.price_micros else 0
        shorter = f", or set `max_runtime` to {format_duration(seconds)} or less" if seconds else ""
        if self.had_micros < self.whole_micros:
            return (
                f"The job ran out of budget: {left} of {format_credits(self.whole_micros)} are left, but a "
                f"slice needs a hold of {needed} to start, {price}. Raise `budget`{shorter}."
            )
        return (
            f"The budget of {left} is too small to start: a slice needs a hold of {needed}, {price}. "
            f"Raise `budget`{shorter}."
        )


@dataclass(slots=True)
class Used:
    micros: int
    open_holds: int


@dataclass(slots=True)
class Funds:
    """What renters have, in one transaction: it is locked, and counted down with every hold."""

    session: Session
    _has: dict[str, Pockets] = field(default_factory=dict)
    _had: dict[str, int] = field(default_factory=dict)
    _jobs: dict[str, Used] = field(default_factory=dict)
    _parts: dict[str, Part] = field(default_factory=dict)

    def look(self, leases: "Sequence[Lease]") -> None:
        """Lock what all of them may need, in the order in which everybody does."""
        for owner_id in sorted({one.owner_id for one in leases if is_charged(one.owner_id, one.terms)}):
            self._has[owner_id] = spendable(self.session, owner_id, lock=True)
            self._had[owner_id] = self._has[owner_id].total

    def refuse(self, lease: "Lease") -> Unfunded | None:
        """Why it cannot be paid for; or None, and then it counts as held."""
        terms = lease.terms
        if terms is None or not is_charged(lease.owner_id, terms):
            return None
        left, is_held, whole, is_slices = self._left(lease, terms)
        part = next_part(lease.price_micros, terms.max_seconds, 0, left)
        if part is None:
            want = Want.ROOM_IN_BUDGET if is_held else Want.BUDGET
            needed = least_to_begin(lease.price_micros, terms.max_seconds)
            refused = self._unfunded(lease, want, needed, max(0, left or 0))
            return replace(refused, price_micros=lease.price_micros, whole_micros=whole, is_slices=is_slices)
        has = self._has[lease.owner_id]
        if has.total < part.micros:
            return self._unfunded(lease, Want.CREDITS, part.micros, self._had[lease.owner_id])
        self._parts[lease.attempt_id] = part
        self._has[lease.owner_id] = has.without(has.first(part.micros))
        if terms.job_micros is not None:
            used = self._jobs[lease.root]
            used.micros += part.micros
            used.open_holds += 1
        return None

    def hold(self, leases: "Sequence[Lease]", now: datetime) -> None:
        """For those that were not refused, and came to be."""
        for one in leases:
            part = self._parts.get(one.attempt_id)
            if part is not None:
                open_hold(
                    self.session,
                    one.owner_id,
                    one.job_id,
                    one.slice_index,
                    one.attempt_id,
                    1,
                    part.micros,
                    one.price_micros,
                    part.seconds,
                    now,
                    is_last=part.is_last,
                )

    def _left(self, lease: "Lease", terms: Terms) -> tuple[int | None, bool, int, bool]:
        """Of its budgets the one with less: what is left, whether others of its job have a part of it set aside, what
        it was, and whether it is the slice's own."""
        lefts: list[tuple[int, bool, int, bool]] = []
        if terms.slice_micros is not None:
            earlier = used_by_slice(self.session, lease.job_id, lease.slice_index) if lease.number > 1 else Used(0, 0)
            lefts.append((terms.slice_micros - earlier.micros, False, terms.slice_micros, True))
        if terms.job_micros is not None:
            if lease.root not in self._jobs:
                self._jobs[lease.root] = used_by_job(self.session, lease.root)
            used = self._jobs[lease.root]
            lefts.append((terms.job_micros - used.micros, used.open_holds > 0, terms.job_micros, False))
        return min(lefts) if lefts else (None, False, 0, False)

    @staticmethod
    def _unfunded(lease: "Lease", want: Want, needed: int, had: int) -> Unfunded:
        return Unfunded(
            lease.attempt_id,
            lease.job_id,
            lease.slice_index,
            lease.previous_fence,
            lease.root,
            lease.owner_id,
            want,
            needed,
            had,
        )


def is_charged(owner_id: str, terms: Terms | None) -> bool:
    """What the platform runs for the sake of all is paid by its subsidy, when it has ended."""
    return terms is not None and owner_id != PLATFORM


def used_by_slice(session: Session, job_id: str, index: int) -> Used:
    return _used(session, (_HOLDS.c.job_id == job_id) & (_HOLDS.c.slice_index == index))


def used_by_job(session: Session, root: str) -> Used:
    """With those that run its slices once more for the same renter."""
    replicas = select(Job.id).where(Job.rerun_of == root, Job.role == Role.REPLICA)
    return _used(session, or_(_HOLDS.c.job_id == root, _HOLDS.c.job_id.in_(replicas)))


def _used(session: Session, which: ColumnElement[bool]) -> Used:
    row = session.connection().execute(select(_USED, _OPEN).where(which)).one()
    return Used(int(row[0] or 0), int(row[1]))
