"""What jobs add to what an owner has stored: logs, which nobody announces before they are there.

A log is counted when its attempt ends, in the same transaction, and while it grows whenever it has grown a lot. Whoever
has more than they may begins nothing new, and their logs are counted every few lines. The sum of all that is counted is
`storage_usage`; `reconcile` makes it so again.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from computepool.hub.artifacts import usage
from computepool.hub.artifacts.tables import Artifact, StorageUsage
from computepool.hub.artifacts.usage import Amount, Quotas, Stored, quotas_of
from computepool.hub.core.context import Context
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.records import Event
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.jobs.tables import Attempt, Job
from computepool.protocol.states import ATTEMPT_LIVE

COUNTED_BYTES = 8 * 1024**2
"""A log that has grown by so much is counted while it grows: few do."""
COUNTED_BYTES_WHEN_FULL = 64 * 1024
"""The same for those who have more than they may."""


def count_logs(session: Session, ends: Iterable[tuple[AttemptView, Mapping[str, Any]]], now: datetime) -> None:
    """Of attempts that end, with the facts about each."""
    added: dict[str, Amount] = {}
    for view, facts in ends:
        log_bytes = facts.get("log_bytes")
        if log_bytes is not None and log_bytes != view.log_bytes:
            amount = Amount(log_bytes - view.log_bytes, (log_bytes > 0) - (view.log_bytes > 0))
            added[view.owner_id] = added.get(view.owner_id, Amount()) + amount
    if added:
        usage.count(session, added, now)


def count_log(session: Session, attempt_id: str, fence: int, log_bytes: int, now: datetime, quotas: Quotas) -> None:
    """Of an attempt that goes on. Raises StorageExceeded if its owner may store no more."""
    row = session.execute(
        select(Attempt.log_bytes, Job.owner_id)
        .join(Job, Job.id == Attempt.job_id)
        .where(Attempt.id == attempt_id, Attempt.fence == fence, Attempt.state.in_(sorted(ATTEMPT_LIVE)))
        .with_for_update(of=Attempt)
    ).first()
    if row is not None and log_bytes > row.log_bytes:
        session.execute(update(Attempt).where(Attempt.id == attempt_id).values(log_bytes=log_bytes))
        usage.charge(session, row.owner_id, Amount(log_bytes - row.log_bytes, int(not row.log_bytes)), now, quotas)


@dataclass(frozen=True, slots=True)
class ReconciledStorage:
    owner_id: str
    counted: Amount
    stored: Amount


def reconcile(session: Session, owner_id: str) -> ReconciledStorage:
    """Count anew what an owner has stored, and write it down. Nobody changes it meanwhile: whoever adds to it, or
    deletes, waits for the row, and what they change then is not in this sum."""
    empty = {"bytes": 0, "objects": 0, "day_bytes": 0}
    insert_if_absent(session, StorageUsage, ["owner_id"], owner_id=owner_id, **empty)
    row = session.scalars(
        select(StorageUsage)
        .where(StorageUsage.owner_id == owner_id)
        .with_for_update()
        .execution_options(populate_existing=True)
    ).one()
    counted = Amount(row.bytes, row.objects)
    stored = measure(session, owner_id)
    row.bytes, row.objects = stored.bytes, stored.objects
    session.flush()
    return ReconciledStorage(owner_id, counted, stored)


def measure(session: Session, owner_id: str) -> Amount:
    """The sum of everything that is counted."""
    return _sum(
        session.execute(
            select(func.sum(Artifact.size_bytes), func.count()).where(
                Artifact.owner_id == owner_id, Artifact.freed_at.is_(None)
            )
        ).one()
    ) + _sum(
        session.execute(
            select(func.sum(Attempt.log_bytes), func.count())
            .join(Job, Job.id == Attempt.job_id)
            .where(Job.owner_id == owner_id, Job.logs_removed_at.is_(None), Attempt.log_bytes > 0)
        ).one()
    )


def _sum(row: Any) -> Amount:
    return Amount(int(row[0] or 0), int(row[1]))


class StorageWatch:
    """Remembers who may have stored too much, so that nobody else is asked about it."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self._exceeding: set[str] = set()
        self._counted: dict[str, int] = {}
        """By attempt, what is counted of a log that has grown large."""

    @property
    def _quotas(self) -> Quotas:
        return quotas_of(self._context.settings)

    async def load(self) -> None:
        """At the start, and when the pool's limits changed."""
        self._exceeding.update(await self._context.db.read(usage.list_exceeding, self._context.now(), self._quotas))

    def hear(self, events: Iterable[Event]) -> None:
        for event in events:
            if event.topic == usage.TOPIC:
                stored: Stored = event.payload["stored"]
                if usage.exceeds(stored, event.at, self._quotas):
                    self._exceeding.add(stored.owner_id)

    async def check(self, owner_id: str) -> None:
        """Before something new begins. Raises StorageExceeded."""
        if owner_id in self._exceeding:
            await self._context.db.read(usage.check, owner_id, self._context.now(), self._quotas)
            self._exceeding.discard(owner_id)

    async def log_grew(self, owner_id: str, attempt_id: str, fence: int, log_bytes: int) -> None:
        """Raises StorageExceeded if its owner may store no more."""
        counted = self._counted.get(attempt_id, 0)
        step = COUNTED_BYTES_WHEN_FULL if owner_id in self._exceeding else COUNTED_BYTES
        if log_bytes - counted >= step:
            await self._context.db.run(count_log, attempt_id, fence, log_bytes, self._context.now(), self._quotas)
            self._counted[attempt_id] = log_bytes

    def log_ended(self, attempt_id: str) -> None:
        self._counted.pop(attempt_id, None)
