"""What each owner has stored, counted in the transactions that change it, and the limits on it.

Whoever authorises an upload calls `charge` with what it adds: the bytes count from then on, since nothing but time
keeps them from coming. What was written already, a log, is only counted (`count`). `release` is for what was deleted.
The row is locked last, whatever else a transaction locks.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import cast

from sqlalchemy import Executable, Table, bindparam, case, func, or_, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.artifacts.errors import DailyStorageExceeded, StorageExceeded, StorageUnpaid
from computepool.hub.artifacts.tables import Artifact, StorageCharge, StorageUsage
from computepool.hub.core.http import Role
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.records import tell
from computepool.hub.core.settings import Settings
from computepool.hub.ledger.holds import spendable
from computepool.hub.ledger.journal import has_paid

TOPIC = "storage"
"""Told after a commit that counted what nobody could refuse any more."""
EXCEEDING_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class Quotas:
    """None is no limit."""

    bytes: int | None = None
    objects: int | None = None
    daily_bytes: int | None = None
    """Of accounts that never paid, in a day of UTC."""
    unpaid_days: int | None = None
    """For which an owner may go on storing more while a charge for storage is unpaid."""


NO_QUOTAS = Quotas()


def quotas_of(settings: Settings) -> Quotas:
    """What holds for everybody who has no limits of their own. Where nothing is paid for, nobody has to have paid."""
    daily_bytes = settings.storage_limit_bytes_per_day if settings.money == "on" else 0
    return Quotas(
        settings.storage_limit_bytes or None,
        settings.storage_limit_objects or None,
        daily_bytes or None,
        settings.storage_grace_days if settings.storage_price_micros else None,
    )


@dataclass(frozen=True, slots=True)
class Stored:
    """Of one owner, as its row says."""

    owner_id: str
    bytes: int
    objects: int
    day: str | None
    day_bytes: int
    limit_bytes: int | None
    limit_objects: int | None
    unpaid_since: str | None = None

    def bytes_on(self, now: datetime) -> int:
        """What was added on the day of `now`."""
        return self.day_bytes if self.day == day_of(now) else 0


@dataclass(frozen=True, slots=True)
class Amount:
    bytes: int = 0
    objects: int = 0

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(self.bytes + other.bytes, self.objects + other.objects)


_TABLE = cast(Table, StorageUsage.__table__)
_COLUMNS = tuple(_TABLE.c[name] for name in Stored.__dataclass_fields__)


def day_of(now: datetime) -> str:
    return now.astimezone(UTC).date().isoformat()


def seconds_to_tomorrow(now: datetime) -> int:
    tomorrow = datetime.combine(now.astimezone(UTC).date() + timedelta(days=1), datetime.min.time(), UTC)
    return max(1, int((tomorrow - now).total_seconds()))


@cache
def _adding(dialect: str) -> Executable:
    """One statement adds to a row, or makes it, and tells what is in it then."""
    row = (sqlite.insert if dialect == "sqlite" else postgresql.insert)(_TABLE).values(
        owner_id=bindparam("owner_id"),
        bytes=bindparam("bytes"),
        objects=bindparam("objects"),
        day=bindparam("day"),
        day_bytes=bindparam("day_bytes"),
    )
    same_day = _TABLE.c.day == row.excluded.day
    adds = row.excluded.day_bytes > 0
    return row.on_conflict_do_update(
        index_elements=["owner_id"],
        set_={
            "bytes": _TABLE.c.bytes + row.excluded.bytes,
            "objects": _TABLE.c.objects + row.excluded.objects,
            "day": case((adds, row.excluded.day), else_=_TABLE.c.day),
            "day_bytes": case(
                (same_day, _TABLE.c.day_bytes + row.excluded.day_bytes),
                (adds, row.excluded.day_bytes),
                else_=_TABLE.c.day_bytes,
            ),
        },
    ).returning(*_COLUMNS)


def _add(session: Session, owner_id: str, amount: Amount, now: datetime, returned_bytes: int = 0) -> Stored:
    values = {
        "owner_id": owner_id,
        "bytes": amount.bytes,
        "objects": amount.objects,
        "day": day_of(now),
        "day_bytes": max(0, amount.bytes) - returned_bytes,
    }
    connection = session.connection()
    return Stored(*connection.execute(_adding(connection.dialect.name), values).one())


def charge(
    session: Session, owner_id: str, amount: Amount, now: datetime, quotas: Quotas, *, replaced: Iterable[Artifact] = ()
) -> None:
    """Count what is about to come. Raises StorageExceeded: then nothing may come.

    It comes in the place of `replaced`, which no longer count for the day, if it is still the day on which they did.
    They are released when they are deleted.
    """
    today = day_of(now)
    returned_bytes = sum(artifact.size_bytes for artifact in replaced if day_of(artifact.created_at) == today)
    if amount.objects or amount.bytes:
        stored = _add(session, owner_id, amount, now, returned_bytes)
        error = why_exceeded(session, stored, now, quotas)
        if error is not None:
            raise error


def check_room(session: Session, owner_id: str, size_bytes: int, now: datetime, quotas: Quotas) -> None:
    """Raise what `charge` would raise for one more object of this size, and count nothing."""
    stored = find_stored(session, owner_id)
    more = replace(
        stored,
        bytes=stored.bytes + size_bytes,
        objects=stored.objects + 1,
        day=day_of(now),
        day_bytes=stored.bytes_on(now) + size_bytes,
    )
    error = why_exceeded(session, more, now, quotas)
    if error is not None:
        raise error


def count(session: Session, added: Mapping[str, Amount], now: datetime) -> None:
    """Count what is there already, by owner."""
    for owner_id, amount in sorted(added.items()):
        if amount.objects or amount.bytes:
            tell(session, TOPIC, now, stored=_add(session, owner_id, amount, now))


def release(session: Session, freed: Iterable[tuple[str, int]], now: datetime) -> None:
    """These (owner, bytes) are deleted, an object each."""
    by_owner: dict[str, Amount] = {}
    for owner_id, size_bytes in freed:
        by_owner[owner_id] = by_owner.get(owner_id, Amount()) + Amount(-size_bytes, -1)
    for owner_id, amount in sorted(by_owner.items()):
        _add(session, owner_id, amount, now)


def exceeds(stored: Stored, now: datetime, quotas: Quotas) -> bool:
    """Whether it is more than a limit, if the limit is for this owner at all."""
    limits = own_quotas(stored, quotas)
    return (
        (limits.bytes is not None and stored.bytes > limits.bytes)
        or (limits.objects is not None and stored.objects > limits.objects)
        or (limits.daily_bytes is not None and stored.bytes_on(now) > limits.daily_bytes)
        or _is_overdue(stored, now, limits)
    )


def own_quotas(stored: Stored, quotas: Quotas) -> Quotas:
    """With the owner's own limits, where there are some. Whom the operator gave room is not counted by the day."""
    return Quotas(
        stored.limit_bytes if stored.limit_bytes is not None else quotas.bytes,
        stored.limit_objects if stored.limit_objects is not None else quotas.objects,
        quotas.daily_bytes if stored.limit_bytes is None else None,
        quotas.unpaid_days,
    )


def why_exceeded(session: Session, stored: Stored, now: datetime, quotas: Quotas) -> StorageExceeded | None:
    """The refusal, if this owner has more than it may. The questions that cost something are asked last."""
    if not exceeds(stored, now, quotas) or is_unlimited(session, stored.owner_id):
        return None
    limits = own_quotas(stored, quotas)
    if _is_overdue(stored, now, limits):
        unpaid_micros = unpaid_of(session, stored.owner_id)
        if spendable(session, stored.owner_id).total < unpaid_micros:  # else the next charge takes it
            return StorageUnpaid(unpaid_micros)
    if limits.bytes is not None and stored.bytes > limits.bytes:
        return StorageExceeded.of_bytes(limits.bytes)
    if limits.objects is not None and stored.objects > limits.objects:
        return StorageExceeded.of_objects(limits.objects)
    if limits.daily_bytes is None or stored.bytes_on(now) <= limits.daily_bytes:
        return None
    if has_paid(session, stored.owner_id):
        return None
    return DailyStorageExceeded(limits.daily_bytes, seconds_to_tomorrow(now))


def _is_overdue(stored: Stored, now: datetime, quotas: Quotas) -> bool:
    if stored.unpaid_since is None or quotas.unpaid_days is None:
        return False
    return stored.unpaid_since <= day_of(now - timedelta(days=quotas.unpaid_days))


def unpaid_of(session: Session, owner_id: str) -> int:
    """What an owner's storage cost and could not be paid, in micros."""
    unpaid = (StorageCharge.owner_id == owner_id, StorageCharge.paid_at.is_(None))
    return int(session.scalar(select(func.sum(StorageCharge.due_micros)).where(*unpaid)) or 0)


def is_unlimited(session: Session, owner_id: str) -> bool:
    """The operator's own: the pool itself, and admins."""
    if owner_id == PLATFORM:
        return True
    return session.scalar(select(User.role).where(User.id == owner_id)) == Role.ADMIN


def find_stored(session: Session, owner_id: str) -> Stored:
    row = session.execute(select(*_COLUMNS).where(_TABLE.c.owner_id == owner_id)).first()
    return Stored(*row) if row is not None else Stored(owner_id, 0, 0, None, 0, None, None)


def list_largest(session: Session, limit: int) -> list[Stored]:
    rows = session.execute(select(*_COLUMNS).order_by(_TABLE.c.bytes.desc(), _TABLE.c.owner_id).limit(limit))
    return [Stored(*row) for row in rows]


def sum_stored(session: Session) -> tuple[Amount, int]:
    """What everybody has stored, and how many owners that are."""
    bytes_, objects, owners = session.execute(
        select(func.sum(_TABLE.c.bytes), func.sum(_TABLE.c.objects), func.count())
    ).one()
    return Amount(int(bytes_ or 0), int(objects or 0)), int(owners)


def set_limits(session: Session, owner_id: str, limit_bytes: int | None, limit_objects: int | None) -> None:
    """An owner's own limits; None is the pool's default."""
    empty = {"bytes": 0, "objects": 0, "day_bytes": 0}
    insert_if_absent(session, StorageUsage, ["owner_id"], owner_id=owner_id, **empty)
    row = session.get_one(StorageUsage, owner_id, with_for_update=True)
    row.limit_bytes, row.limit_objects = limit_bytes, limit_objects
    session.flush()


def check(session: Session, owner_id: str, now: datetime, quotas: Quotas) -> None:
    """Raises StorageExceeded where somebody has more than they may."""
    error = why_exceeded(session, find_stored(session, owner_id), now, quotas)
    if error is not None:
        raise error


def list_exceeding(session: Session, now: datetime, quotas: Quotas) -> list[str]:
    """Owners that may have too much, for the memory of a hub that starts."""
    table = _TABLE.c
    over = [table.bytes > table.limit_bytes, table.objects > table.limit_objects]
    if quotas.bytes is not None:
        over.append(table.bytes > quotas.bytes)
    if quotas.objects is not None:
        over.append(table.objects > quotas.objects)
    if quotas.unpaid_days is not None:
        over.append(table.unpaid_since <= day_of(now - timedelta(days=quotas.unpaid_days)))
    if quotas.daily_bytes is not None:
        over.append((table.day == day_of(now)) & (table.day_bytes > quotas.daily_bytes))
    return list(session.scalars(select(table.owner_id).where(or_(*over)).limit(EXCEEDING_LIMIT)))
