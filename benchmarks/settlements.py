"""Open holds, and the settling of them by the product's own functions."""

import asyncio
import itertools
import random
import secrets
import time
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, cast

from sqlalchemy import Table, event, insert
from sqlalchemy.orm import Session

from computepool.hub.core.db import Database
from computepool.hub.core.ids import new_id
from computepool.hub.core.owners import Owner, OwnerKind
from computepool.hub.core.together import Together
from computepool.hub.jobs import money
from computepool.hub.jobs.money import Settled
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.jobs.terms import Terms
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import open_hold
from computepool.hub.ledger.journal import post
from computepool.hub.ledger.settlement import cost_of
from computepool.protocol.receipt import EndReason, Usage
from computepool.protocol.states import AttemptState, JobState, Verdict
from computepool.protocol.units import MICROS_PER_CREDIT

OWNERS = 64
"""Of each side."""
PRICE_MICROS = 7_300_001
HELD_SECONDS = 3600
RAN_SECONDS = 1_234.5
FEE_BPS = 1000
NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
RATE = {"base_micros": PRICE_MICROS, "tier": 1.0, "region": 1.0, "spot": 1.0}
BATCH = 500


class Rate(NamedTuple):
    per_second: float
    per_commit: float
    """How many shared one."""


class Books:
    """Renters with credits, and hosts."""

    def __init__(self, db: Database) -> None:
        self._db = db
        self._random = random.Random(5)
        self.renters, self.hosts = ([_new("user") for _ in range(OWNERS)] for _ in range(2))
        owners = [{"id": one, "kind": OwnerKind.USER, "created_at": NOW} for one in (*self.renters, *self.hosts)]
        with Session(db.engine) as session, session.begin():
            session.execute(insert(cast(Table, Owner.__table__)), owners)
            for renter in self.renters:
                grant = Posting(platform(Platform.CLEARING), account(renter, Kind.AVAILABLE), 10**9 * MICROS_PER_CREDIT)
                post(session, Entry(f"grant/{renter}", "grant", (grant,)), NOW)

    def open_holds(self, count: int, renters: Sequence[str] = ()) -> list[AttemptView]:
        """Of running attempts, each with an hour set aside. `renters`: all, unless told."""
        whose = renters or self.renters
        views = [attempt(self._random.choice(whose), self._random.choice(self.hosts)) for _ in range(count)]
        for first in range(0, count, BATCH):
            with Session(self._db.engine) as session, session.begin():
                for view in views[first : first + BATCH]:
                    _hold(session, view)
        return views

    async def settle(self, views: Sequence[AttemptView], clients: int) -> "Rate":
        """By so many clients at once. Each waits until its own is durable."""
        waiting, commits = list(views), itertools.count()
        event.listen(self._db.engine, "commit", count := lambda _connection: next(commits))
        together = Together(self._settle_one, self._settle_many)

        async def client() -> None:
            while waiting:
                await together.ask(waiting.pop())

        began = time.perf_counter()
        await asyncio.gather(*(client() for _ in range(clients)))
        seconds = time.perf_counter() - began
        event.remove(self._db.engine, "commit", count)
        return Rate(len(views) / seconds, len(views) / next(commits))

    async def _settle_one(self, view: AttemptView) -> Settled:
        return (await self._settle_many([view]))[0]

    async def _settle_many(self, views: Sequence[AttemptView]) -> list[Settled]:
        return await self._db.run(settle, views)


def attempt(renter_id: str, host_id: str) -> AttemptView:
    terms = Terms(host_id, FEE_BPS, False, HELD_SECONDS, cost_of(PRICE_MICROS, HELD_SECONDS), None)
    job_id = _new("job")
    return AttemptView(
        attempt_id=_new("attempt"),
        state=AttemptState.RUNNING,
        fence=1,
        node_id=_new("node"),
        job_id=job_id,
        slice_index=0,
        slice_state=JobState.RUNNING,
        slice_fence=1,
        failures=0,
        losses=0,
        avoid=[],
        retries_allowed=0,
        cancel_requested=False,
        owner_id=renter_id,
        own=False,
        price_micros=PRICE_MICROS,
        started_at=NOW,
        asked_to_leave=False,
        leave_for=None,
        root=job_id,
        leased_at=NOW,
        exited_at=NOW + timedelta(seconds=RAN_SECONDS),
        rested_since=None,
        rested_seconds=0.0,
        settled_seconds=0,
        billed_seconds=0,
        cost_micros=0,
        earned_micros=0,
        price=RATE,
        terms=terms.to_wire(),
    )


def settle(session: Session, views: Sequence[AttemptView]) -> list[Settled]:
    """What the hub does for the money of attempts whose receipts arrive at the same moment."""
    ending = Ending(Verdict.OK, EndReason.EXITED, 0)
    bills = [money.Bill(view, ending, Usage(running_seconds=RAN_SECONDS)) for view in views]
    settled = money.settle(session, bills, NOW + timedelta(seconds=RAN_SECONDS + 1))
    if not all(one.cost_micros for one in settled):
        raise RuntimeError("an attempt was settled for nothing")
    return settled


_ticks = itertools.count()


def _new(kind: str) -> str:
    """In the order of time, as a hub's are."""
    return new_id(kind, NOW + timedelta(milliseconds=next(_ticks)), secrets.randbits)


def _hold(session: Session, view: AttemptView) -> None:
    micros = cost_of(PRICE_MICROS, HELD_SECONDS)
    open_hold(session, view.owner_id, view.job_id, 0, view.attempt_id, 1, micros, PRICE_MICROS, HELD_SECONDS, NOW)
