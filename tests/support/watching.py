"""An OwnerWatch in virtual time, over a machine whose signals a test sets."""

import asyncio
from collections import Counter
from datetime import UTC, datetime, timedelta

from simulation.virtual_time import VirtualLoop

from computepool.agent.owner.pauses import PauseBook
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.owner.readings import Idle
from computepool.agent.owner.watch import OwnerWatch, Signals

SIGNALS = ("seat", "terminal", "full_screen", "on_battery", "cpu_celsius", "metered", "data_used_bytes", "gpus")


class LoopClock:
    def now(self):
        return datetime(2026, 3, 4, 12, tzinfo=UTC) + timedelta(seconds=self.monotonic())

    def monotonic(self):
        return asyncio.get_running_loop().time() + 10_000


class Desk:
    """A desktop whose owner left an hour ago. `touch` is the owner's hand."""

    def __init__(self, folder, policy=""):
        self.folder = folder
        (folder / "policy.toml").write_text(policy)
        self.clock = LoopClock()
        self.touched_at = self.clock.monotonic() - 3600
        self.values = {
            "seat": True, "terminal": None, "full_screen": None, "on_battery": False, "cpu_celsius": 40.0,
            "metered": False, "data_used_bytes": 0, "gpus": (),
        }  # fmt: skip
        self.reads: Counter[str] = Counter()
        self.hanging: set[str] = set()
        self.working = False
        self.told = []
        """(when, decision)"""

    def touch(self):
        self.touched_at = self.clock.monotonic()

    def value(self, name):
        self.reads[name] += 1
        value = self.values[name]
        if isinstance(value, Exception):
            raise value
        return value

    def idle(self):
        self.reads["idle"] += 1
        return Idle(self.clock.monotonic() - self.touched_at)

    async def offload(self, function, /, *arguments, **named):
        await asyncio.sleep(0.001)
        for name in list(self.hanging):
            if (name == "idle") == (arguments and arguments[0] == self.idle):
                await asyncio.sleep(1000)
        return function(*arguments, **named)

    def signals(self):
        return Signals(idle=self.idle, **{name: lambda name=name: self.value(name) for name in SIGNALS})

    def watch(self):
        return OwnerWatch(
            policy_file=PolicyFile(self.folder),
            pauses=PauseBook(self.folder, self.clock, lambda: "boot"),
            signals=self.signals(),
            clock=self.clock,
            offload=self.offload,
            on_change=lambda decision: self.told.append((self.clock.monotonic(), decision)),
            strangers_work=lambda: self.working,
            zone=UTC,
        )


def in_virtual_time(folder, story, policy=""):
    """Runs `await story(desk, watch)` while the watch watches."""

    async def whole():
        desk = Desk(folder, policy)
        watch = desk.watch()
        assert not watch.decision.strangers_welcome, "nobody has looked yet"
        assert watch.decision.own_welcome
        task = asyncio.ensure_future(watch.run())
        await watch.first_look()
        try:
            await story(desk, watch)
        finally:
            assert not task.done() or task.exception() is None
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    loop = VirtualLoop()
    try:
        loop.run_until_complete(whole())
        assert not loop.errors, loop.errors
    finally:
        loop.close()
