"""An event loop in virtual time, with processes that can be killed.

Nothing waits: when everything sleeps, the clock jumps to the next timer. Code that belongs to a simulated process (the
hub, an agent) runs with that process in its context; a killed process runs not one more line, as after `kill -9` — no
`finally`, no farewell. What it held on disk is all that its next start finds.
"""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

LONGEST_SECONDS = 50_000.0
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

    def sleep(self, now: float, seconds: float) -> None:
        """Elapsed time goes on (CLOCK_BOOTTIME), its timers do not (CLOCK_MONOTONIC): they fire so much later."""
        begin = max(now, self.asleep_until)
        self.slept += max(0.0, now + seconds - begin)
        self.asleep_until = max(self.asleep_until, now + seconds)


CURRENT: ContextVar[Process | None] = ContextVar("process", default=None)


class Stuck(AssertionError):
    """Everybody waits, and nothing will ever happen."""


class VirtualLoop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._virtual_now = 0.0
        super().__init__(_JumpingSelector(self))
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

    def advance(self, seconds: float) -> None:
        self._virtual_now += seconds
        if self._virtual_now > LONGEST_SECONDS:
            raise Stuck(f"nothing came to an end in {LONGEST_SECONDS:.0f} virtual seconds")

    def call_soon(  # type: ignore[override]  # any callback, as asyncio itself calls it
        self, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.Handle:
        context = copy_context() if context is None else context
        step = _step(context.get(CURRENT), callback, args, self._virtual_now)
        step.handle = super().call_soon(self._take, step, context=context)
        return step.handle

    def call_at(  # type: ignore[override]  # any callback, as asyncio itself calls it
        self, when: float, callback: Callable[..., object], *args: Any, context: Context | None = None
    ) -> asyncio.TimerHandle:
        context = copy_context() if context is None else context
        step = _step(context.get(CURRENT), callback, args, when)
        handle = step.handle = super().call_at(when, self._take, step, context=context)
        return handle

    def _take(self, step: "_Step") -> None:
        process = step.process
        if process is not None:
            if not process.alive or (step.handle is not None and step.handle.cancelled()):
                return
            if process.slept > step.slept:
                step.when += process.slept - step.slept
                step.slept = process.slept
            due = max(step.when, process.asleep_until)
            if due > self._virtual_now + 1e-9:
                super().call_at(due, self._take, step, context=copy_context())
                return
        step.callback(*step.args)


@dataclass(eq=False, slots=True)
class _Step:
    """Something that a process will do, unless it dies first or takes it back: also while it sleeps."""

    process: Process | None
    callback: Callable[..., object]
    args: tuple[Any, ...]
    when: float
    slept: float
    """How long its process had slept when this was planned: what it sleeps after that comes on top."""
    handle: asyncio.Handle | None = None


def _step(process: Process | None, callback: Callable[..., object], args: tuple[Any, ...], when: float) -> _Step:
    return _Step(process, callback, args, when, process.slept if process is not None else 0.0)


class _JumpingSelector(selectors.DefaultSelector):
    def __init__(self, loop: VirtualLoop) -> None:
        super().__init__()
        self._loop = loop

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready: list[tuple[selectors.SelectorKey, int]] = super().select(0)
        if ready:
            return ready
        if timeout is None:
            raise Stuck("nobody has anything left to do")
        self._loop.advance(max(0.0, timeout))
        return []


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
