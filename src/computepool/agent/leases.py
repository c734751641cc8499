"""The agent's side of leases: when the hub last renewed each, and what must not go on without one.

A job that can reach the world stands still before another node may be given its slice, and ends soon after. One that
cannot is harmless: it runs on, and its result counts if nobody else has the slice by then.
"""

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Coroutine
from typing import Any

from computepool.agent.attempt import Attempt
from computepool.agent.clock import Clock, HubTime
from computepool.agent.resting import RestReason
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import LEASE_OVER
from computepool.protocol.timing import LEASE_SECONDS

log = logging.getLogger(__name__)


class Leases:
    def __init__(
        self,
        clock: Clock,
        hub_time: HubTime,
        *,
        attempts: Callable[[], list[Attempt]],
        soon: Callable[[Coroutine[Any, Any, None]], None],
        end: Callable[[Attempt, str], None],
    ) -> None:
        self._clock = clock
        self._hub_time = hub_time
        self._attempts = attempts
        self._soon = soon
        self._end = end
        self._matter = asyncio.Event()
        self._beats: deque[float] = deque()
        """When the heartbeats were made that this line has not yet answered. Answers come in order."""

    def new_line(self) -> None:
        self._beats.clear()

    def beat(self) -> None:
        self._beats.append(self._clock.monotonic())

    def answered(self) -> float | None:
        """When the heartbeat was made that was answered now: the hub renewed not before that."""
        return self._beats.popleft() if self._beats else None

    def renewed(self, attempt: Attempt, beat_at: float) -> None:
        attempt.renewed_monotonic = max(attempt.renewed_monotonic or 0.0, beat_at)
        if RestReason.LEASE in attempt.rest.reasons and attempt.has_lease(self._clock.monotonic()):
            self._soon(attempt.rest.let_go(RestReason.LEASE))

    def began(self, manifest: Manifest) -> float:
        """When the hub gave this lease: its offer may have waited for the line."""
        if manifest.network:
            self._matter.set()
        age = (self._hub_time.now() - manifest.issued_at).total_seconds()
        return self._clock.monotonic() - max(0.0, age)

    async def until_they_matter(self) -> None:
        """Until something is here that must not outlive its lease."""
        if not any(attempt.manifest.network and attempt.ended is None for attempt in self._attempts()):
            self._matter.clear()
        await self._matter.wait()

    def keep(self) -> None:
        now = self._clock.monotonic()
        for attempt in self._attempts():
            over = attempt.ended is not None or attempt.gone
            if over or not attempt.manifest.network or attempt.has_lease(now):
                continue
            if attempt.renewed_monotonic is not None and now - attempt.renewed_monotonic > LEASE_SECONDS:
                self._end(attempt, LEASE_OVER)
            elif RestReason.LEASE not in attempt.rest.reasons:
                log.warning("attempt.frozen", extra={"attempt_id": attempt.id, "reason": "no word from the hub"})
                self._soon(attempt.rest.hold(RestReason.LEASE))
