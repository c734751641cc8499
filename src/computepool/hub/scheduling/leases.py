"""The leases' clock: who has been silent for how long, and what follows.

Renewals come with heartbeats and touch only memory. A node silent for 45 s is offline; an attempt that was not renewed
for 135 s is lost and its slice queued again. So is one whose node renews it but does not end it when it should, and a
stranger's that a node which can be heard does not begin. If that one can reach the world, it is only not renewed any
more: so it stands still before its slice is another's. After a start of the hub all clocks begin anew: its downtime is
nobody's fault, and what was running still runs somewhere. The same when it could not listen: its machine slept, or
something kept it from its work.

Who is not blamed is not paid for it either. The platform pays only where the hub knows by itself that it was away for
so long that leases ended: it writes down that it lives, and compares. A node's word is not enough, nor is a restart.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace

import structlog

from computepool.hub.artifacts.store import StoreError
from computepool.hub.core.context import Context
from computepool.hub.core.facts import find_last_sign, say_alive
from computepool.hub.jobs.deciding import End
from computepool.hub.jobs.ending import Ended
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.policy import UNPROVEN, Ending
from computepool.hub.market.allowance import is_on_trial
from computepool.hub.scheduling.fleet import REACHABLE, FleetNode, Held
from computepool.hub.scheduling.presence import Presence
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.messages import AttemptRef
from computepool.protocol.states import BEFORE_RUNNING, Verdict
from computepool.protocol.timing import (
    HEARTBEAT_SECONDS,
    LEASE_SECONDS,
    RECONNECT_LIMIT_WITH_JOB_SECONDS,
    REQUEUE_AFTER_SECONDS,
)

log = structlog.get_logger()

SWEEP_EVERY_SECONDS = 5.0
PULSE_SECONDS = 2.0
ABSENT_AFTER_SECONDS = 20.0
"""A hub that did nothing for so long has not listened either. Much less than the time after which a node is offline."""
SIGN_SECONDS = 30.0
OUR_FAULT_SECONDS = LEASE_SECONDS - HEARTBEAT_SECONDS - RECONNECT_LIMIT_WITH_JOB_SECONDS
"""An absence of ours from which on a lease may have ended by it: it was renewed before, and is found again after."""


class LeaseKeeper:
    def __init__(
        self,
        context: Context,
        scheduler: Scheduler,
        presence: Presence,
        lost: Callable[[str], None],
        log_size: Callable[[str], Awaitable[int]] | None = None,
    ) -> None:
        """`lost` is told of every attempt that was given up. `log_size` tells how much of its log there is."""
        self._context = context
        self._scheduler = scheduler
        self._presence = presence
        self._lost = lost
        self._log_size = log_size
        self._awake_at = context.clock.monotonic()
        self._signed_at: float | None = None
        self._losing: set[tuple[str, int]] = set()
        """(attempt, fence) whose loss is being written: however long that takes, nobody renews them meanwhile."""

    async def keep_awake(self) -> None:
        """A pulse beside the sweeps, which may take long themselves: a slow database is no absence.

        With it nodes that changed are put on their shelves, so that nobody who asks for one waits for thousands.
        """
        while True:
            await self._scheduler.fleet.settle()
            await asyncio.sleep(PULSE_SECONDS)
            self._notice_absence()

    async def run(self) -> None:
        self._awake_at = self._context.clock.monotonic()
        await self._attempt(self._notice_downtime)
        while True:
            await asyncio.sleep(SWEEP_EVERY_SECONDS)
            await self._attempt(self.sweep)
            await self._attempt(self._sign)

    async def _attempt(self, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except Exception:
            log.exception("leases.failed", work=work.__name__)

    async def _notice_downtime(self) -> None:
        """How long nobody could be heard before this start."""
        last = await self._context.db.read(find_last_sign)
        away = 0.0 if last is None else max(0.0, (self._context.now() - last).total_seconds())
        for node in self._scheduler.fleet:
            for held in node.attempts.values():
                if not held.renewed:
                    held.unheard_seconds = away

    async def _sign(self) -> None:
        """Only while somebody might be paid for an absence."""
        now = self._context.clock.monotonic()
        is_due = self._signed_at is None or now - self._signed_at >= SIGN_SECONDS
        if is_due and self._scheduler.occupancy.has_paid:
            self._signed_at = now
            await self._context.db.run(say_alive, self._context.now())

    def heard(self, node: FleetNode, preparing: Iterable[AttemptRef] | None) -> None:
        """A heartbeat came: what the node does not tell of any more, and does not run, it may not keep for long."""
        now = self._context.clock.monotonic()
        node.tells_preparing = preparing is not None
        told = {ref.attempt_id: ref.fence for ref in preparing or ()}
        for held in node.attempts.values():
            if held.state in BEFORE_RUNNING:
                if told.get(held.attempt_id) == held.fence:
                    held.told_of(now)
                else:
                    held.beat(now)

    def renew(self, node: FleetNode, holding: Iterable[AttemptRef]) -> list[AttemptRef]:
        """Which of them the node still has the lease of. In memory only."""
        now = self._context.clock.monotonic()
        node.seen_at = now
        renewed = []
        for ref in holding:
            held = node.attempts.get(ref.attempt_id)
            if (ref.attempt_id, ref.fence) in self._losing:
                continue
            if held is not None and held.fence == ref.fence and not (held.order.network and _too_late(node, held, now)):
                held.renewed_at = now
                held.renewed = True
                renewed.append(AttemptRef(attempt_id=ref.attempt_id, fence=ref.fence))
        return renewed

    async def sweep(self) -> None:
        self._notice_absence()
        now = self._context.clock.monotonic()
        for node in list(self._scheduler.fleet):
            if self._presence.state_of(node) is not node.state:
                await self._presence.settle(node)
            over = []
            for held in node.attempts.values():
                if now - held.renewed_at > REQUEUE_AFTER_SECONDS:
                    over.append(self._give_up(node, held.attempt_id, held.fence, _why_over(node, held, now)))
                elif node.state in REACHABLE and not held.order.network and (late := _too_late(node, held, now)):
                    over.append(self._give_up(node, held.attempt_id, held.fence, late))
            await asyncio.gather(*over)  # at once: those that can share a transaction do
        orphans, self._scheduler.orphans = self._scheduler.orphans, []
        await asyncio.gather(*(self._give_up_orphan(*one) for one in orphans))

    def _notice_absence(self) -> None:
        """Whoever was silent while we could not hear may have said all that was due: nobody is judged by that time."""
        now = self._context.clock.monotonic()
        absent, self._awake_at = now - self._awake_at, now
        if absent < ABSENT_AFTER_SECONDS:
            return
        log.warning("hub.was_absent", seconds=round(absent))
        for node in self._scheduler.fleet:
            if node.state in REACHABLE:
                node.seen_at = now
            for held in node.attempts.values():
                held.begin_anew(now, absent)

    async def lose_all(self, node: FleetNode) -> None:
        """The node left the pool: nothing it holds will be taken from it any more."""
        held = list(node.attempts.values())
        await asyncio.gather(*(self._give_up_orphan(node, one.attempt_id, one.fence) for one in held))

    async def lose(self, node: FleetNode, attempt_id: str, fence: int, ended: Ending) -> Ended | None:
        """Nobody will finish this attempt any more: its slice waits for another node."""
        node_id = node.traits.node_id
        log.info("attempt.lost", attempt_id=attempt_id, node_id=node_id, reason=ended.reason)
        self._losing.add((attempt_id, fence))
        try:
            held = node.attempts.get(attempt_id)
            end = End(attempt_id, fence, node_id, ended, await self._facts(attempt_id))
            result = await self._scheduler.endings.end(end, held.job_id if held is not None else None)
        except StaleLease:
            held = node.attempts.get(attempt_id)
            if held is not None and held.fence == fence:
                self._scheduler.release(node, attempt_id)  # it ended otherwise in the meantime
                self._scheduler.wake()
            return None
        finally:
            self._losing.discard((attempt_id, fence))
        self._scheduler.ended(node_id, result)
        self._lost(attempt_id)
        return result

    async def _facts(self, attempt_id: str) -> dict[str, int]:
        """No receipt tells how long its log is."""
        if self._log_size is None:
            return {}
        try:
            return {"log_bytes": await self._log_size(attempt_id)}
        except StoreError:
            return {}

    async def _give_up_orphan(self, node: FleetNode, attempt_id: str, fence: int) -> None:
        if not await self._give_up(node, attempt_id, fence, _BANNED):
            self._scheduler.orphans.append((node, attempt_id, fence))  # no sweep sees this node again

    async def _give_up(self, node: FleetNode, attempt_id: str, fence: int, ended: Ending) -> bool:
        """One that cannot be ended now, for whatever reason, must not keep the others: the next sweep tries again."""
        try:
            await self.lose(node, attempt_id, fence, ended)
        except Exception:
            log.exception("leases.give_up_failed", attempt_id=attempt_id)
            return False
        return True


def _why_over(node: FleetNode, held: Held, now: float) -> Ending:
    if node.state in REACHABLE and (late := _too_late(node, held, now)):
        return late
    if held.renewed:
        return Ending(Verdict.HOST, "lease_expired", lost=True)
    return Ending(Verdict.HUB, "hub_downtime", lost=True, is_hubs_fault=was_our_fault(held))


def _too_late(node: FleetNode, held: Held, now: float) -> Ending | None:
    """How it ends if its node, which can be heard, should have ended it long ago, or got further."""
    if held.is_overdue(now):
        return _OVERDUE
    if node.traits.simulated:
        return None
    if held.is_unproven(now) and is_on_trial(node.traits.standing, node.traits.trial):
        # One whose agent does not tell what it prepares may be an older one, which has no limits of its own.
        return UNPROVEN if node.tells_preparing else replace(UNPROVEN, verdict=Verdict.HUB)
    return held.why_idle(tells=node.tells_preparing)


def was_our_fault(held: Held) -> bool:
    """By our own clock: we were away for so long that its lease may have ended, and it was not renewed since."""
    return not held.renewed and held.unheard_seconds >= OUR_FAULT_SECONDS


_OVERDUE = Ending(Verdict.HOST, "overdue", detail="the node did not end it in time", lost=True)
_BANNED = Ending(Verdict.HOST, "node_banned", lost=True)
