"""An event loop in virtual time, with processes that can be killed.

Nothing waits: when everything sleeps, the clock jumps to the next timer. Code that belongs to a simulated process (the
hub, an agent) runs with that process in its context; a killed process runs not one more line, as after `kill -9` — no
`finally`, no farewell. What it held on disk is all that its next start finds.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from typing import Any

LONGEST_SECONDS = 50_000.0
MAX_ROUNDS_AT_ONCE = 5_000_000
"""Rounds of the loop in which the virtual clock may stand still. No world needs a hundredth of them."""
ROUNDING_SECONDS = 1e-9
EPOCH = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(eq=False)
class Process:
    """Something that can die."""

    name: str
    alive: bool = True
    asleep_until: float = 0.0
    """A laptop's lid is closed until then: it runs nothing."""
    slept: float = 0.0
    """For how long its timers have stood still, with the sleep that is not over yet."""
    cheats: bool = False
    """A machine that makes up its answers."""

    def sleep(self, now: float, seconds: float) -> None:
        """Elapsed time goes on (CLOCK_BOOTTIME), its timers do not (CLOCK_MONOTONIC): they fire so much later."""
        begin = max(now, self.asleep_until)
        self.slept += max(0.0, now + seconds - begin)
        self.asleep_until = max(self.asleep_until, now + seconds)


CURRENT: ContextVar[Process | None] = ContextVar("process", default=None)


class Stuck(AssertionError):
    """Everybody waits, and nothing will ever happen."""


class VirtualLoop(asyncio.SelectorEventLoop):
    """asyncio's own loop, but for the kernel that it never asks: nothing here waits for a file or a thread."""

    _ready: deque[asyncio.Handle]
    _scheduled: list["_Step"]

    def __init__(self) -> None:
        self._virtual_now = 0.0
        self._rounds_at_once = 0
        super().__init__()
        self.errors: list[dict[str, Any]] = []
        self.set_exception_handler(lambda _loop, context: self.errors.append(context))
        self._kept: list[asyncio.Task[Any]] = []
        """Every task there was: one of a dead process that is collected would be closed, and its `finally` run."""
        self.set_task_factory(self._make_task)  # type: ignore[arg-type]  # it takes what asyncio passes

    def _make_task(
        self, _loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any], context: Context | None = None
    ) -> asyncio.Task[Any]:
        task: asyncio.Task[Any] = asyncio.Task(work, loop=self, context=context)
        self._kept.append(task)
        return task

    def time(self) -> float:
        return self._virtual_now

    def call_soon(  # type: ignore[override]  # any callback, as asyncio itself calls it
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        step = _Step(self._virtual_now, callback, args, self, copy_context() if context is None else context)
        self._ready.append(step)
        return step

    call_soon_threadsafe = call_soon  # type: ignore[assignment]  # there are no other threads

    def call_at(  # type: ignore[override]  # any callback, as asyncio itself calls it
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        step = _Step(when, callback, args, self, copy_context() if context is None else context)
        heappush(self._scheduled, step)
        return step

    def _run_once(self) -> None:
        """One round, as asyncio's: what is due, in order. If nothing is, the moment of the next timer has come."""
        ready, scheduled = self._ready, self._scheduled
        while scheduled and scheduled[0]._cancelled:
            heappop(scheduled)
        self._rounds_at_once += 1
        if self._rounds_at_once > MAX_ROUNDS_AT_ONCE:
            raise Stuck(f"{MAX_ROUNDS_AT_ONCE} rounds at virtual second {self._virtual_now:g}: something spins")
        if not ready:
            if not scheduled:
                raise Stuck("nobody has anything left to do")
            if scheduled[0]._when > self._virtual_now:
                self._virtual_now = scheduled[0]._when
                self._rounds_at_once = 0
            if self._virtual_now > LONGEST_SECONDS:
                raise Stuck(f"nothing came to an end in {LONGEST_SECONDS:.0f} virtual seconds")
        while scheduled and scheduled[0]._when <= self._virtual_now + ROUNDING_SECONDS:
            ready.append(heappop(scheduled))
        for _ in range(len(ready)):
            step = ready.popleft()
            if not step._cancelled:
                step._run()

    def _timer_handle_cancelled(self, handle: asyncio.TimerHandle) -> None:
        """It is left out when its moment comes."""


class _Step(asyncio.TimerHandle):
    """Something that a process will do, unless it dies first or takes it back: also while it sleeps."""

    __slots__ = ("process", "slept")

    _loop: VirtualLoop
    _when: float

    def __init__(
        self, when: float, callback: Callable[..., object], args: tuple[Any, ...], loop: VirtualLoop, context: Context
    ) -> None:
        super().__init__(when, callback, args, loop, context)
        self.process = process = context.get(CURRENT)
        self.slept = process.slept if process is not None else 0.0
        """How long its process had slept when this was planned: what it sleeps after that comes on top."""

    def _run(self) -> None:
        process = self.process
        if process is not None:
            if not process.alive:
                return
            if process.slept > self.slept:
                self._when += process.slept - self.slept
                self.slept = process.slept
            due = max(self._when, process.asleep_until)
            if due > self._loop._virtual_now + ROUNDING_SECONDS:
                self._when = due
                heappush(self._loop._scheduled, self)
                return
        super()._run()


class VirtualClock:
    """A process's clocks: elapsed time runs through sleep, wall time may be wrong and may jump."""

    def __init__(self, loop: VirtualLoop) -> None:
        self._loop = loop
        self.wall_error_seconds = 0.0
        self.slept_seconds = 0.0
        """As after a sleep of the machine: time went on, and the timers stood still."""

    def now(self) -> datetime:
        return EPOCH + timedelta(seconds=self.monotonic() + self.wall_error_seconds)

    def monotonic(self) -> float:
        return self._loop.time() + self.slept_seconds


def spawn(loop: VirtualLoop, process: Process, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
    """Start work as part of a process: whatever it starts belongs to the process too."""
    context = copy_context()
    context.run(CURRENT.set, process)
    return loop.create_task(work, context=context)
