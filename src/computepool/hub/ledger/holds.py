"""Credits that are set aside for an attempt, so that what it costs is there. A hold resolves exactly once.

A long attempt has several, one after the other: each is captured for the time that it paid for, and the next is
opened. Which pocket the credits came from is remembered: what is not used goes back there, and a present stays a
present, whoever it is spent on.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, Table, text
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.driver import driver_of
from computepool.hub.core.tables import Base, Id
from computepool.hub.ledger.accounts import SPENT_FIRST, Kind, account
from computepool.hub.ledger.entries import Entry, Posting, moved_all
from computepool.hub.ledger.journal import NotEnough, balances, post, post_all

_OPEN = text("resolved_at IS NULL")
_MORE = text("resolved_at IS NULL AND NOT is_last")


@dataclass(frozen=True, slots=True)
class Pockets:
    """How much of an amount is of which kind."""

    promotional: int = 0
    available: int = 0
    earnings: int = 0

    def __post_init__(self) -> None:
        if min(self.promotional, self.available, self.earnings) < 0:
            raise ValueError(f"an amount below zero: {self}")

    @property
    def total(self) -> int:
        return self.promotional + self.available + self.earnings

    @property
    def real(self) -> int:
        """What somebody paid for, once."""
        return self.available + self.earnings

    def first(self, micros: int) -> "Pockets":
        """So much of it, in the order in which credits are spent."""
        if not 0 <= micros <= self.total:
            raise ValueError(f"{micros} of {self.total} micros")
        promotional = min(micros, self.promotional)
        available = min(micros - promotional, self.available)
        return Pockets(promotional, available, micros - promotional - available)

    def without(self, other: "Pockets") -> "Pockets":
        return Pockets(
            self.promotional - other.promotional, self.available - other.available, self.earnings - other.earnings
        )


class HoldRow(Base):
    __tablename__ = "ledger_holds"
    __table_args__ = (
        CheckConstraint("promotional >= 0 AND available >= 0 AND earnings >= 0", name="nothing_below_zero"),
        Index("ix_ledger_holds_open", "owner_id", sqlite_where=_OPEN, postgresql_where=_OPEN),
        Index("ix_ledger_holds_more", "attempt_id", sqlite_where=_MORE, postgresql_where=_MORE),
        Index("ix_ledger_holds_slice", "job_id", "slice_index"),
    )

    attempt_id: Mapped[str] = mapped_column(Id, primary_key=True)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """From 1, within its attempt."""
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    job_id: Mapped[str] = mapped_column(Id)
    slice_index: Mapped[int]
    promotional: Mapped[int] = mapped_column(BigInteger)
    available: Mapped[int] = mapped_column(BigInteger)
    earnings: Mapped[int] = mapped_column(BigInteger)
    price_micros: Mapped[int] = mapped_column(BigInteger)
    """For an hour, locked by the lease."""
    seconds: Mapped[int]
    """How long it lasts at that price."""
    opened_at: Mapped[datetime]
    resolved_at: Mapped[datetime | None]
    is_last: Mapped[bool]
    """It lasts for as long as its attempt may run."""
    spent_micros: Mapped[int] = mapped_column(BigInteger, default=0)
    """What its owner paid of it, without what was given back later."""
    paid_seconds: Mapped[int] = mapped_column(default=0)
    """What that paid for."""

    @property
    def pockets(self) -> Pockets:
        return Pockets(self.promotional, self.available, self.earnings)


_HOLDS = cast(Table, HoldRow.__table__)
_RESOLVE = (
    "WITH ended (attempt_id, number, resolved_at, spent, seconds) AS ({rows}) UPDATE ledger_holds "
    "SET resolved_at = ended.resolved_at, spent_micros = ended.spent, paid_seconds = ended.seconds FROM ended "
    "WHERE ledger_holds.attempt_id = ended.attempt_id AND ledger_holds.number = ended.number "
    "AND ledger_holds.resolved_at IS NULL RETURNING ledger_holds.attempt_id"
)
_END_COLUMNS = "attempt_id text, number integer, resolved_at timestamptz, spent bigint, seconds integer"
_FIND_OPEN = (
    "SELECT attempt_id, number, owner_id, job_id, promotional, available, earnings, seconds, is_last FROM ledger_holds "
    "WHERE resolved_at IS NULL AND attempt_id {among}"
)
_ADD_HOLD = _HOLDS.insert()


@dataclass(frozen=True, slots=True)
class OpenHold:
    attempt_id: str
    number: int
    owner_id: str
    job_id: str
    pockets: Pockets
    seconds: int
    is_last: bool


def spendable(session: Session, owner_id: str, *, lock: bool = False) -> Pockets:
    has = balances(session, owner_id, lock=lock)
    return Pockets(has[Kind.PROMOTIONAL], has[Kind.AVAILABLE], has[Kind.EARNINGS])


def open_hold(
    session: Session,
    owner_id: str,
    job_id: str,
    slice_index: int,
    attempt_id: str,
    number: int,
    micros: int,
    price_micros: int,
    seconds: int,
    now: datetime,
    *,
    is_last: bool = True,
    has: Pockets | None = None,
) -> Pockets:
    """Set so much aside, or raise NotEnough and set nothing aside. `has`: what there is, if it is locked already."""
    if has is None:
        has = spendable(session, owner_id, lock=True)
    if has.total < micros:
        raise NotEnough(account(owner_id, Kind.AVAILABLE), micros, has.total)
    taken = has.first(micros)
    held = account(owner_id, Kind.HELD)
    postings = moved_all((account(owner_id, kind), held, getattr(taken, kind)) for kind in SPENT_FIRST)
    entry = Entry(f"hold/{attempt_id}/{number}", "hold", postings, job_id=job_id, attempt_id=attempt_id)
    if not post(session, entry, now).is_new:
        raise AssertionError(f"hold {number} of {attempt_id} exists")
    row = {
        "attempt_id": attempt_id,
        "number": number,
        "owner_id": owner_id,
        "job_id": job_id,
        "slice_index": slice_index,
        "promotional": taken.promotional,
        "available": taken.available,
        "earnings": taken.earnings,
        "price_micros": price_micros,
        "seconds": seconds,
        "opened_at": now,
        "resolved_at": None,
        "is_last": is_last,
        "spent_micros": 0,
        "paid_seconds": 0,
    }
    session.connection().execute(_ADD_HOLD, row)
    return taken


@dataclass(frozen=True, slots=True)
class Resolution:
    """The one end of a hold. `entry` moves all of it, and nothing else, out of what is held."""

    hold: OpenHold
    entry: Entry
    spent: int = 0
    """What its owner pays of it."""
    paid_seconds: int = 0

    def __post_init__(self) -> None:
        held, total = account(self.hold.owner_id, Kind.HELD), self.hold.pockets.total
        if self.entry.changes.get(held) != -total:
            raise ValueError(f"{self.entry.key} does not resolve a hold of {total} micros")


def find_open(session: Session, attempt_id: str) -> OpenHold | None:
    """Whoever asks has locked the attempt."""
    return find_all_open(session, [attempt_id]).get(attempt_id)


def find_all_open(session: Session, attempt_ids: Sequence[str]) -> dict[str, OpenHold]:
    """By attempt. Whoever asks has locked them."""
    found = driver_of(session).run_among(_FIND_OPEN, attempt_ids)
    return {
        attempt_id: OpenHold(attempt_id, number, owner_id, job_id, Pockets(*amounts), seconds, bool(is_last))
        for attempt_id, number, owner_id, job_id, *amounts, seconds, is_last in found
    }


def resolve_all(session: Session, ends: Sequence[Resolution], now: datetime) -> None:
    """Of different attempts."""
    driver = driver_of(session)
    at = driver.stored(_HOLDS.c.resolved_at, now)
    rows = [(one.hold.attempt_id, one.hold.number, at, one.spent, one.paid_seconds) for one in ends]
    resolved = {attempt_id for (attempt_id,) in driver.run_rows(_RESOLVE, _END_COLUMNS, rows)}
    for one in ends:
        if one.hold.attempt_id not in resolved:
            raise AssertionError(f"hold {one.hold.number} of {one.hold.attempt_id} was resolved before")
    post_all(session, [one.entry for one in ends], now)


def given_back(owner_id: str, rest: Pockets) -> tuple[Posting, ...]:
    """What was not used, to where it came from."""
    if not rest.total:
        return ()
    held = account(owner_id, Kind.HELD)
    return moved_all((held, account(owner_id, kind), getattr(rest, kind)) for kind in SPENT_FIRST)
