"""People at their machines: they come, stay for a while and go, and what their policy says is then done for real."""

import asyncio
import contextlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from computepool.agent.clock import Clock
from computepool.agent.owner.decide import Decision
from computepool.agent.owner.ladder import hardest, parse_ladder
from computepool.agent.owner.policy import LEAVE_AT_ONCE, Policy

LADDER = parse_ladder(["suspend 1m", "checkpoint 40s", "evict"])


class Person:
    """Outlives the agent, as does what they told it."""

    def __init__(self) -> None:
        self.came_at: float | None = None
        self.paused_at: float | None = None
        self.news = asyncio.Event()

    def come(self, now: float) -> None:
        self.came_at = now if self.came_at is None else self.came_at
        self.news.set()

    def go(self) -> None:
        self.came_at = None
        self.news.set()


class SimulatedWatch:
    """In place of `agent.owner.watch.OwnerWatch`, which looks many times a minute: this one is told."""

    def __init__(self, person: Person, clock: Clock, on_change: Callable[[Decision], None]) -> None:
        self._person = person
        self._clock = clock
        self._on_change = on_change
        self._next_seconds: float | None = None
        self.policy = Policy()
        self.policy_file = SimpleNamespace(problem="")
        self.paused_until = None
        self.decision = Decision(False, "not looked yet", own_welcome=True)

    @property
    def paused_by(self) -> str | None:
        return None if self._person.paused_at is None else "machine"

    def pause(self, for_seconds: float | None = None) -> None:
        self._person.paused_at = self._clock.monotonic()
        self._person.news.set()
        self._refresh()

    def resume(self) -> None:
        self._person.paused_at = None
        self._refresh()

    def look_again(self) -> None:
        pass

    async def first_look(self) -> Decision:
        self._refresh()
        return self.decision

    async def run(self) -> None:
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(self._next_seconds):
                    await self._person.news.wait()
            self._person.news.clear()
            self._refresh()

    def status(self) -> dict[str, Any]:
        return {}

    def _refresh(self) -> None:
        now, person = self._clock.monotonic(), self._person
        began = [(LADDER, person.came_at), (LEAVE_AT_ONCE, person.paused_at)]
        due = [(ladder, now - since) for ladder, since in began if since is not None]
        paused = person.paused_at
        steps = [left for ladder, stayed in due if (left := ladder.seconds_to_next(stayed)) is not None]
        self._next_seconds = min(steps) + 0.01 if steps else None
        self.decision = Decision(
            strangers_welcome=not due,
            reason="somebody is here" if due else "nobody is here",
            own_welcome=paused is None,
            reaction=hardest(*(ladder.at(stayed) for ladder, stayed in due)),
            own_reaction=hardest(*([] if paused is None else [LEAVE_AT_ONCE.at(now - paused)])),
        )
        self._on_change(self.decision)
