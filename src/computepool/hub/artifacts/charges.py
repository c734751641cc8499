"""What storage beyond the free bytes costs: one charge for each owner and day of UTC, paid whole by one ledger entry.

A day is charged once, for what is stored when the day's first round comes. A day on which the hub does not run costs
nothing. Rounding, written out: bytes beyond the free ones, times the price of a GB and day, divided by the bytes of a
GB, rounded down to a micro. A charge that the owner cannot pay whole stays unpaid: the owner is told, no balance goes
below zero, and a later round takes it when the credits are there, the oldest day first.
"""

from dataclasses import dataclass
from datetime import date, datetime, timedelta

import structlog
from sqlalchemy import and_, func, literal, or_, select, update
from sqlalchemy.orm import Session

from computepool.hub.artifacts.tables import StorageCharge, StorageUsage
from computepool.hub.artifacts.usage import TOPIC, day_of, find_stored, is_unlimited, unpaid_of
from computepool.hub.core.context import Context
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.notices import mail_topic
from computepool.hub.core.records import record, tell
from computepool.hub.core.settings import Settings
from computepool.hub.ledger.accounts import SUBSIDY, Kind, Platform, account, platform
from computepool.hub.ledger.check import PROBLEMS_LIMIT
from computepool.hub.ledger.entries import Entry, moved_all
from computepool.hub.ledger.holds import Pockets, spendable
from computepool.hub.ledger.journal import post
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.protocol.units import GIB, about_bytes, spell_credits

STORAGE = "storage"
ROUND_SECONDS = 600.0
OWNERS_AT_ONCE = 200
CHARGES_AT_ONCE = 400
"""Unpaid days of one owner that one transaction takes."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class StoragePrice:
    micros: int
    """For a GB and a day."""
    free_bytes: int
    grace_days: int

    def cost_of_day(self, stored_bytes: int) -> int:
        """In micros, rounded down."""
        return max(0, stored_bytes - self.free_bytes) * self.micros // GIB

    def refused_from(self, unpaid_since: str) -> str:
        """The first day on which nothing more is stored."""
        return (date.fromisoformat(unpaid_since) + timedelta(days=self.grace_days)).isoformat()


def price_of(settings: Settings) -> StoragePrice | None:
    """None where storage costs nothing."""
    micros = settings.storage_price_micros
    return StoragePrice(micros, settings.storage_free_bytes, settings.storage_grace_days) if micros else None


async def charge_storage(context: Context) -> None:
    """Charge everybody for this day who was not charged yet, and take what is unpaid. Run it several times a day."""
    price = price_of(context.settings)
    if price is None:
        return
    now, after = context.now(), ""
    while owners := await context.db.read(list_to_charge, day_of(now), price, after, OWNERS_AT_ONCE):
        for owner_id in owners:
            try:
                await context.db.run(charge_owner, owner_id, price, now)
            except Exception:
                log.exception("storage.not_charged", owner_id=owner_id)  # the next round tries again
        after = owners[-1]


def list_to_charge(session: Session, day: str, price: StoragePrice, after: str, limit: int) -> list[str]:
    """Owners who store more than is free and were not charged for this day, and those who have not paid an earlier
    one."""
    charged = select(StorageCharge.day).where(StorageCharge.owner_id == StorageUsage.owner_id, StorageCharge.day == day)
    is_due = and_(StorageUsage.bytes > price.free_bytes, ~charged.exists())
    query = select(StorageUsage.owner_id).where(
        StorageUsage.owner_id > after, or_(StorageUsage.unpaid_since.is_not(None), is_due)
    )
    return list(session.scalars(query.order_by(StorageUsage.owner_id).limit(limit)))


def charge_owner(session: Session, owner_id: str, price: StoragePrice, now: datetime) -> None:
    """Once for a day, however often it is called."""
    if is_unlimited(session, owner_id):
        return
    stored, day = find_stored(session, owner_id), day_of(now)
    due_micros = price.cost_of_day(stored.bytes)
    if due_micros:
        insert_if_absent(
            session,
            StorageCharge,
            ["owner_id", "day"],
            owner_id=owner_id,
            day=day,
            bytes=stored.bytes,
            free_bytes=price.free_bytes,
            price_micros=price.micros,
            due_micros=due_micros,
            created_at=now,
            paid_at=None,
        )
    _pay(session, owner_id, now)
    oldest = session.scalar(
        select(func.min(StorageCharge.day)).where(StorageCharge.owner_id == owner_id, StorageCharge.paid_at.is_(None))
    )
    if oldest != stored.unpaid_since:
        session.execute(update(StorageUsage).where(StorageUsage.owner_id == owner_id).values(unpaid_since=oldest))
    if oldest is None:
        return
    if stored.unpaid_since is None:
        record(
            session,
            "storage.unpaid",
            owner_id,
            now,
            topics=(f"wallet/{owner_id}", mail_topic(owner_id)),
            micros=unpaid_of(session, owner_id),
            bytes=stored.bytes,
            free_bytes=price.free_bytes,
            refused_from=price.refused_from(oldest),
        )
    tell(session, TOPIC, now, stored=find_stored(session, owner_id))


def _pay(session: Session, owner_id: str, now: datetime) -> None:
    unpaid = session.scalars(
        select(StorageCharge)
        .where(StorageCharge.owner_id == owner_id, StorageCharge.paid_at.is_(None))
        .order_by(StorageCharge.day)
        .limit(CHARGES_AT_ONCE)
        .with_for_update()
    ).all()
    if not unpaid:
        return
    has = spendable(session, owner_id, lock=True)
    for charge in unpaid:
        if has.total < charge.due_micros:
            break
        paid = has.first(charge.due_micros)
        post(session, _entry(charge, paid), now)
        charge.paid_at = now
        has = has.without(paid)
    session.flush()


def _entry(charge: StorageCharge, paid: Pockets) -> Entry:
    """Promotional credit goes back to where it came from, as a fee that is paid with it does."""
    storage = platform(Platform.STORAGE)
    lines = (
        (Kind.PROMOTIONAL, SUBSIDY, paid.promotional),
        (Kind.AVAILABLE, storage, paid.available),
        (Kind.EARNINGS, storage, paid.earnings),
    )
    note = (
        f"{charge.day}: {about_bytes(charge.bytes)} stored, {about_bytes(charge.free_bytes)} of it free; the rest at "
        f"{spell_credits(charge.price_micros)} for a GB and day, rounded down."
    )
    return Entry(
        f"{STORAGE}/{charge.owner_id}/{charge.day}",
        STORAGE,
        moved_all((account(charge.owner_id, kind), destination, micros) for kind, destination, micros in lines),
        note=note,
        details={
            "day": charge.day,
            "bytes": charge.bytes,
            "free_bytes": charge.free_bytes,
            "price_micros": charge.price_micros,
        },
    )


_KEY = literal(f"{STORAGE}/") + StorageCharge.owner_id + "/" + StorageCharge.day
_POSTED = func.coalesce(func.sum(PostingRow.micros), 0)
_EXPECTED = func.max(StorageCharge.due_micros)
_IS_PAID = StorageCharge.paid_at.is_not(None)
_POSTED_OTHERWISE = (
    select(_KEY, _EXPECTED, _IS_PAID, _POSTED)
    .outerjoin(EntryRow, EntryRow.key == _KEY)
    .outerjoin(PostingRow, PostingRow.entry_id == EntryRow.id)
    .group_by(StorageCharge.owner_id, StorageCharge.day, StorageCharge.paid_at)
    .having(or_(and_(_IS_PAID, _POSTED != _EXPECTED), and_(~_IS_PAID, _POSTED > 0)))
    .limit(PROBLEMS_LIMIT)
)
_COUNT_ENTRIES = select(func.count()).where(EntryRow.kind == STORAGE)
_COUNT_PAID = select(func.count()).where(_IS_PAID).select_from(StorageCharge)


def charges_are_paid_once(session: Session) -> list[str]:
    """A charge that is paid has one entry of just that amount, and no other storage was ever paid for."""
    problems = [
        f"{name} is {'paid' if paid else 'not paid'} and cost {due} micros; its entry moved {moved}"
        for name, due, paid, moved in session.execute(_POSTED_OTHERWISE)
    ]
    entries = session.scalar(_COUNT_ENTRIES) or 0
    charges = session.scalar(_COUNT_PAID) or 0
    if entries != charges:
        problems.append(f"{entries} entries paid for storage, and {charges} charges are paid")
    return problems
