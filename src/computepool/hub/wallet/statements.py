"""A month or a year of one wallet: what there was, every entry, what there is. Opening + changes = closing."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import case, func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import find_user
from computepool.hub.core.errors import Invalid
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.accounts import Kind, account, kind_of
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.wallet.explain_store import read_facts
from computepool.hub.wallet.explaining import HOLD
from computepool.hub.wallet.facts import EntryFacts, Parties
from computepool.hub.wallet.payments import Money, money_of
from computepool.hub.wallet.periods import Period
from computepool.hub.wallet.views import ENTRY_PREFIX

LINES_LIMIT = 200_000
"""More entries than that are asked for month by month."""
AT_ONCE = 500


@dataclass(frozen=True, slots=True)
class Line:
    entry_id: str
    at: datetime
    kind: str
    job_id: str | None
    attempt_id: str | None
    note: str
    pockets: Mapping[str, int]
    """By pocket, what it has more or less."""
    fee_paid: int = 0
    """Of what a renter pays, or gets back, the platform's part."""
    fee_withheld: int = 0
    """Of what is paid for a host's work, or given back, the platform's part: it is not in `change`."""
    balance: int = 0
    """Of all pockets together, after it."""

    @property
    def change(self) -> int:
        return sum(self.pockets.values())


@dataclass(frozen=True, slots=True)
class Statement:
    owner_id: str
    owner_name: str
    period: Period
    made_at: datetime
    opening: Mapping[str, int]
    """By pocket."""
    closing: Mapping[str, int]
    lines: Sequence[Line] = field(default_factory=tuple)

    @property
    def is_over(self) -> bool:
        """Nothing comes into this period any more."""
        return self.period.end <= self.made_at

    @property
    def until(self) -> datetime:
        """What it goes up to."""
        return min(self.period.end, self.made_at)

    @property
    def totals(self) -> dict[str, int]:
        """By kind of entry, what all of them changed. Holds change nothing: they move credits between pockets."""
        found: Counter[str] = Counter()
        for one in self.lines:
            found[one.kind] += one.change
        return {kind: found[kind] for kind in sorted(found)}

    @property
    def fees_paid(self) -> int:
        return sum(one.fee_paid for one in self.lines)

    @property
    def fees_withheld(self) -> int:
        return sum(one.fee_withheld for one in self.lines)


def make_statement(session: Session, owner_id: str, period: Period, now: datetime) -> Statement:
    opening = _balance_before(session, owner_id, period.start)
    names = [account(owner_id, kind) for kind in Kind]
    mine = (
        select(PostingRow.entry_id)
        .join(EntryRow, EntryRow.id == PostingRow.entry_id)
        .where(or_(PostingRow.source.in_(names), PostingRow.destination.in_(names)))
        .where(EntryRow.created_at >= period.start, EntryRow.created_at < period.end)
        .distinct()
        .order_by(PostingRow.entry_id)
    )
    ids = list(session.scalars(mine.limit(LINES_LIMIT + 1)))
    if len(ids) > LINES_LIMIT:
        raise Invalid(
            f"There are more than {LINES_LIMIT} entries in {period.name}.", hint="Ask for its months instead."
        )
    lines: list[Line] = []
    balance = sum(opening.values())
    for start in range(0, len(ids), AT_ONCE):
        rows = session.scalars(select(EntryRow).where(EntryRow.id.in_(ids[start : start + AT_ONCE])))
        facts = read_facts(session, sorted(rows, key=lambda row: row.id))
        for one, fees in zip(facts, _fees(session, owner_id, facts), strict=True):
            balance += one.change_of(owner_id)
            lines.append(_line(one, owner_id, fees, balance))
        session.expunge_all()
    closing = Counter(opening)
    for line in lines:
        closing.update(line.pockets)
    user = find_user(session, owner_id)
    name = f"{user.name} <{user.email}>" if user is not None else owner_id
    return Statement(owner_id, name, period, now, opening, _all_pockets(closing), lines)


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _balance_before(session: Session, owner_id: str, start: datetime) -> dict[str, int]:
    found: Counter[str] = Counter()
    for kind in Kind:
        name = account(owner_id, kind)
        net = func.sum(case((PostingRow.destination == name, PostingRow.micros), else_=-PostingRow.micros))
        query = select(net).join(EntryRow, EntryRow.id == PostingRow.entry_id)
        query = query.where(or_(PostingRow.source == name, PostingRow.destination == name))
        found[kind_of(name)] = int(session.scalar(query.where(EntryRow.created_at < start)) or 0)
    return _all_pockets(found)


def _all_pockets(found: Mapping[str, int]) -> dict[str, int]:
    return {kind.value: found.get(kind.value, 0) for kind in Kind}


def _line(entry: EntryFacts, owner_id: str, fees: tuple[int, int], balance: int) -> Line:
    return Line(
        entry_id=f"{ENTRY_PREFIX}{entry.id}",
        at=entry.at,
        kind=entry.kind,
        job_id=entry.job_id,
        attempt_id=entry.attempt_id,
        note=entry.note,
        pockets=entry.pockets_of(owner_id),
        fee_paid=fees[0],
        fee_withheld=fees[1],
        balance=balance,
    )


def _fees(session: Session, owner_id: str, entries: Sequence[EntryFacts]) -> Iterable[tuple[int, int]]:
    """(paid as a renter, withheld from a host) of each entry, as `explain` has it."""
    wanted = sorted({one.attempt_id for one in entries if one.attempt_id is not None and one.kind != HOLD})
    roles = _roles(session, wanted)
    history = _histories(session, [one for one, parties in roles.items() if parties.host_id == owner_id])
    for one in entries:
        parties = roles.get(one.attempt_id or "")
        if parties is None or one.kind == HOLD:
            yield 0, 0
        elif owner_id == parties.renter_id:
            yield money_of(one, parties, "renter", Money()).fee, 0
        else:
            before = Money()
            for earlier in history.get(one.attempt_id or "", ()):
                if earlier.id < one.id:
                    before += money_of(earlier, parties, "host", before)
            yield 0, money_of(one, parties, "host", before).fee


def _roles(session: Session, attempt_ids: Sequence[str]) -> dict[str, Parties]:
    query = select(Attempt.id, Attempt.terms["host_id"].as_string(), Job.owner_id)
    rows = session.execute(query.join(Job, Job.id == Attempt.job_id).where(Attempt.id.in_(attempt_ids)))
    return {attempt_id: Parties(host_id or "", renter_id) for attempt_id, host_id, renter_id in rows}


def _histories(session: Session, attempt_ids: Sequence[str]) -> dict[str, list[EntryFacts]]:
    """What was ever posted for them but holds, the oldest first: what is taken back is measured against it."""
    query = select(EntryRow).where(EntryRow.attempt_id.in_(attempt_ids), EntryRow.kind != HOLD)
    found: dict[str, list[EntryFacts]] = {one: [] for one in attempt_ids}
    for entry in read_facts(session, session.scalars(query.order_by(EntryRow.id)).all()):
        found[entry.attempt_id or ""].append(entry)
    return found
