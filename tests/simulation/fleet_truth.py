"""What a database would say of a fleet, kept in memory: the hub's transactions, without SQL. Which ends lead to what,
and what they say of a node, is decided by the hub's own pure functions."""

import asyncio
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import lru_cache
from random import Random
from typing import Any

from simulation.feasible import Holding

from computepool.hub.core import facts
from computepool.hub.jobs import ending, policy, service
from computepool.hub.jobs.deciding import End
from computepool.hub.jobs.ending import Applied, Ended, Requeued
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.metering import hub_seconds
from computepool.hub.jobs.policy import Ending, Tries
from computepool.hub.jobs.service import Lease, NewJob, Outcome
from computepool.hub.ledger.settlement import cost_of, rule_of
from computepool.hub.market import repository as market
from computepool.hub.reputation import record as records
from computepool.hub.reputation.declining import after_decline
from computepool.hub.reputation.record import Happening, Record, fresh, standing_of
from computepool.hub.reputation.reliability import HALF_LIFE, weight_of
from computepool.hub.scheduling import presence
from computepool.hub.trust import service as verification
from computepool.protocol.manifest import Manifest
from computepool.protocol.receipt import EndReason
from computepool.protocol.signing import Signed
from computepool.protocol.states import ATTEMPT_LIVE, AttemptState, JobState, Verdict

HOP_SECONDS = 0.01


@lru_cache(maxsize=256)
def read_order(body: str) -> Manifest:
    """Of one attempt: the watch, the truth and the node each read it."""
    return Manifest.model_validate_json(body)


class BrokeOff(Exception):
    """The database did not do it."""


@dataclass
class SliceRow:
    job_id: str
    index: int
    owner_id: str
    retries: int
    state: JobState = JobState.QUEUED
    fence: int = 0
    failures: int = 0
    losses: int = 0
    avoid: tuple[str, ...] = ()
    lost_by_others: int = 0
    """Ends that were neither the renter's doing nor a preemption: what `losses` may come to."""


@dataclass
class AttemptRow:
    lease: Lease
    holding: Holding
    state: AttemptState = AttemptState.LEASED
    started_at: datetime | None = None
    asked_to_leave: bool = False
    ended: int = 0

    @property
    def is_live(self) -> bool:
        return self.state in ATTEMPT_LIVE


@dataclass
class Truth:
    """Rows, and the hub's transactions on them: each happens at once and as a whole."""

    slices: dict[tuple[str, int], SliceRow] = field(default_factory=dict)
    attempts: dict[str, AttemptRow] = field(default_factory=dict)
    live: dict[str, dict[str, AttemptRow]] = field(default_factory=dict)
    """By node."""
    records: dict[str, Record] = field(default_factory=dict)
    closed: dict[str, tuple[datetime | None, datetime]] = field(default_factory=dict)
    """Until when nodes are in quarantine, and since when that is known."""
    declined: dict[str, tuple[datetime | None, datetime]] = field(default_factory=dict)
    """The same for nodes that are not asked, because they declined."""
    not_begun: int = 0
    spent: Counter[str] = field(default_factory=Counter)
    counted: Counter[str] = field(default_factory=Counter)
    """Ends that moved a record, by attempt."""
    preempted: int = 0
    canceled: set[str] = field(default_factory=set)
    left: Counter[str] = field(default_factory=Counter)
    """Slices that are not over, by job."""
    on_lease: Callable[[Lease], None] = lambda lease: None

    def store(self, session: None, job: NewJob, leases: list[Lease]) -> str | Outcome:
        for index in job.indices:
            row = SliceRow(job.id, index, job.owner_id, job.retries_allowed)
            self.slices[job.id, index] = row
            self.left[job.id] += 1
        return self.lease(session, leases, None)

    def lease(self, session: None, leases: list[Lease], now: datetime | None) -> Outcome:
        granted = set()
        for one in leases:
            row = self.slices[one.job_id, one.slice_index]
            if row.state is JobState.QUEUED and row.fence == one.previous_fence:
                row.state, row.fence = JobState.RUNNING, one.fence
                body = Signed.model_validate_json(one.manifest).body
                grant = read_order(body).grant
                attempt = self.attempts[one.attempt_id] = AttemptRow(one, Holding(grant, one.own))
                self.live.setdefault(one.node_id, {})[one.attempt_id] = attempt
                granted.add(one.attempt_id)
                self.on_lease(one)
        return Outcome(frozenset(granted))

    def ask_to_leave(self, session: None, attempts: list[tuple[str, int]], now: datetime) -> set[str]:
        asked = {attempt_id for attempt_id, _ in attempts if self.attempts[attempt_id].is_live}
        for attempt_id in asked:
            self.attempts[attempt_id].asked_to_leave = True
        return asked

    def started(self, session: None, attempt_id: str, now: datetime) -> None:
        row = self.attempts[attempt_id]
        if not row.is_live:
            raise StaleLease(attempt_id, row.lease.fence, AttemptState.RUNNING)
        row.state, row.started_at = AttemptState.RUNNING, now

    def cancel(self, session: None, job_id: str) -> list[AttemptRow]:
        self.canceled.add(job_id)
        for row in self.slices.values():
            if row.job_id == job_id and row.state is JobState.QUEUED:
                row.state = JobState.CANCELED
                self.left[job_id] -= 1
        return [row for row in self.attempts.values() if row.lease.job_id == job_id and row.is_live]

    def end_attempt(
        self,
        session: None,
        attempt_id: str,
        fence: int,
        node_id: str,
        end: Ending,
        now: datetime,
        facts: Any = None,
        **_means: Any,
    ) -> Ended:
        row = self.attempts.get(attempt_id)
        if row is None:
            raise StaleLease(attempt_id, fence, end.attempt_state)  # its lease is still under way
        slice_row = self.slices[row.lease.job_id, row.lease.slice_index]
        if not row.is_live or row.lease.fence != fence or slice_row.fence != fence:
            raise StaleLease(attempt_id, fence, end.attempt_state)
        canceled = slice_row.job_id in self.canceled
        end = policy.as_asked(
            end, leaves_for=Verdict.PREEMPTED if row.asked_to_leave else None, cancel_requested=canceled
        )
        row.state, row.ended = end.attempt_state, row.ended + 1
        self.preempted += end.verdict is Verdict.PREEMPTED
        del self.live[node_id][attempt_id]
        standing = self._count(row, end, now)
        seconds = hub_seconds(row.started_at, None, None, 0.0, now)
        paid = rule_of(end.verdict) == rule_of(Verdict.OK)
        micros = cost_of(row.lease.price_micros, math.ceil(seconds)) if paid else 0
        self.spent[slice_row.owner_id] += micros
        ended = self._move_on(row, slice_row, end, now, canceled=canceled)
        return replace(ended, owner_id=slice_row.owner_id, spent_micros=micros, standing=standing)

    def end_attempts(self, session: None, ends: Sequence[End], now: datetime, _half_life: timedelta) -> list[Ended]:
        return [self.end_attempt(None, end.attempt_id, end.fence, end.node_id, end.ending, now) for end in ends]

    def _count(self, row: AttemptRow, end: Ending, now: datetime) -> Any:
        weight = weight_of(end.verdict, end.reason, saved=False)
        node_id = row.lease.node_id
        before = self.records.get(node_id) or fresh(now)
        if row.lease.own:
            return None
        if end.reason == EndReason.DECLINED:
            after = replace(before, declines=after_decline(before.declines, now))
        elif weight == 0:
            return None
        else:
            self.counted[row.lease.attempt_id] += 1
            after = records.after(before, Happening(end.verdict, weight, now), HALF_LIFE)
        self.records[node_id] = after
        self.not_begun += end.reason == policy.NOT_BEGUN.reason
        if after.declines != before.declines:
            self.declined[node_id] = (after.declines.until, now)
        if after.trouble.until != before.trouble.until:
            self.closed[node_id] = (after.trouble.until, now)
        return standing_of(after, now, HALF_LIFE)

    def _move_on(self, row: AttemptRow, one: SliceRow, end: Ending, now: datetime, *, canceled: bool) -> Ended:
        step = policy.next_step(end, Tries(one.failures, one.losses, one.retries), cancel_requested=canceled)
        if end.verdict.value in ("host", "owner", "hub") and end.reason not in ("declined", "not_begun"):
            one.lost_by_others += 1
        one.state, one.failures, one.losses = step.state, step.failures, step.losses
        if step.avoid_node:
            one.avoid = tuple(sorted({*one.avoid, row.lease.node_id}))
        ended = Ended(Applied.APPLIED, row.lease.attempt_id, one.job_id, one.index)
        if step.state is not JobState.QUEUED:
            self.left[one.job_id] -= 1
            return replace(ended, job_final=self.left[one.job_id] == 0)
        retry_at = now + timedelta(seconds=step.delay_seconds) if step.delay_seconds else None
        requeued = Requeued(one.job_id, one.index, one.fence, one.avoid, retry_at, held_back=not step.avoid_node)
        return replace(ended, requeued=requeued)


class TruthKeeper:
    """In place of the database. Now and then it fails before it did anything."""

    def __init__(self, truth: Truth, rng: Random) -> None:
        self.truth = truth
        self.breaks = 0.0
        self.broke_at = -1e9
        self.under_way = 0
        self._rng = rng
        self._instead: Mapping[Any, Callable[..., Any]] = {
            service.lease: truth.lease,
            service.ask_to_leave: truth.ask_to_leave,
            verification.end_attempt: truth.end_attempt,
            ending.end_attempts: truth.end_attempts,
            presence._move_node: lambda *_: True,
            market.add_points: lambda *_, **__: None,
            facts.find_last_sign: lambda *_: None,
            facts.say_alive: lambda *_: None,
        }

    async def read(self, fn: Callable[..., Any], *args: Any) -> Any:
        return self._instead[fn](None, *args)

    async def run(self, fn: Callable[..., Any], *args: Any, **named: Any) -> Any:
        self.under_way += 1
        try:
            await asyncio.sleep(self._rng.random() * HOP_SECONDS)
            if fn is service.lease and self._rng.random() < self.breaks:
                self.broke_at = asyncio.get_running_loop().time()
                raise BrokeOff
            result = self._instead.get(fn, fn)(None, *args, **named)
            await asyncio.sleep(self._rng.random() * HOP_SECONDS)
            return result
        finally:
            self.under_way -= 1
