"""Engines that come up after the agent, or go while it runs: Docker is started minutes after a login, or upgraded.

What is new proves itself before it is offered; what is gone is offered no more. Jobs that run are left alone.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from computepool.agent.sandbox import FoundEngine, Sandbox, SelfTest, self_test
from computepool.agent.sandbox.available import chosen_engines
from computepool.protocol.states import IsolationLevel

log = logging.getLogger(__name__)

LOOK_SECONDS = 60.0
AGAIN_SECONDS = 5.0
"""An engine that did not answer may be restarting, or have too much to do."""
QUIET_SECONDS = 5.0
"""No test of a sandbox begins beside a job that has just begun."""
FORGIVE_LOOKS = 60
"""After so many looks one that failed its test may try again: its owner has perhaps mended it."""

Key = tuple[Any, ...]
Choice = tuple[FoundEngine, bool]


def key_of(one: FoundEngine, gvisor: bool) -> Key:
    """An engine with another answer, or another start, is another one."""
    return gvisor, one.engine.path, one.stamp, repr(one.facts)


class EngineWatch:
    def __init__(
        self,
        *,
        found: Sequence[FoundEngine],
        sandboxes: Sequence[Sandbox],
        look: Callable[[Sequence[FoundEngine]], Awaitable[list[FoundEngine]]],
        make: Callable[[FoundEngine, bool], Sandbox],
        prove: Callable[[Sandbox], Awaitable[SelfTest]] = self_test,
        again_seconds: float = AGAIN_SECONDS,
        quiet_seconds: float = QUIET_SECONDS,
    ) -> None:
        """`found` and `sandboxes` as they were at the start, the latter those that were proven.

        `make` gives the sandbox of an engine, with gVisor or without; `look` is `look_again`, or a test's.
        """
        self._look = look
        self._make = make
        self._prove = prove
        self._again_seconds = again_seconds
        self._quiet_seconds = quiet_seconds
        self._known = list(found)
        self._levels = {sandbox.level: sandbox for sandbox in sandboxes if sandbox.takes_images}
        self._others = [sandbox for sandbox in sandboxes if not sandbox.takes_images]
        self._offered: dict[Key, Sandbox] = {}
        self._failed: dict[Key, str] = {}
        for one, gvisor in chosen_engines(found):
            if (sandbox := self._levels.get(_level(gvisor))) is not None:
                self._offered[key_of(one, gvisor)] = sandbox
            else:
                self._failed[key_of(one, gvisor)] = "it did not hold what it promises when the agent started"
        self._retired: list[Sandbox] = []
        self._looks = 0
        self.on_change: Callable[[Sequence[Sandbox]], Awaitable[None]] = _ignore
        self.is_beginning: Callable[[], bool] = lambda: False
        """Whether a job has only just begun, or is about to."""
        self.is_idle: Callable[[], bool] = lambda: True

    @property
    def sandboxes(self) -> list[Sandbox]:
        """What may be offered now, strongest first."""
        containers = sorted(self._offered.values(), key=lambda sandbox: -sandbox.level.rank)
        return [*containers, *self._others]

    @property
    def found(self) -> Sequence[FoundEngine]:
        """Those that answer, whether they hold what they promise or not."""
        return self._known

    def status(self) -> list[dict[str, Any]]:
        """The engines that this agent sees, with what they are good for."""
        levels: dict[Any, list[str]] = {}
        for key, sandbox in self._offered.items():
            levels.setdefault(key[1], []).append(sandbox.level.value)
        return [
            {
                "kind": one.facts.kind,
                "version": one.facts.version,
                "socket": str(one.engine.path),
                "levels": sorted(levels.get(one.engine.path, [])),
                "problem": next((why for key, why in self._failed.items() if key[1] == one.engine.path), ""),
            }
            for one in self._known
        ]

    async def run(self) -> None:
        while True:
            await asyncio.sleep(LOOK_SECONDS)
            await self.look()

    async def look(self) -> None:
        """Once. Cheap if nothing has changed."""
        self._looks += 1
        if self._looks % FORGIVE_LOOKS == 0:
            self._failed.clear()
        found = await self._look(self._known)
        if self._gone(found):
            await asyncio.sleep(self._again_seconds)
            found = await self._look(self._known)
        self._known = found
        await self._withdraw(self._gone(found))
        wanted = {key_of(*choice): choice for choice in chosen_engines(found)}
        self._failed = {key: why for key, why in self._failed.items() if key in wanted}
        for key, choice in wanted.items():
            if key not in self._offered and key not in self._failed:
                await self._try(key, choice)
        await self._close_retired()

    def _gone(self, found: Sequence[FoundEngine]) -> list[Key]:
        there = {key_of(*choice) for choice in chosen_engines(found)}
        return [key for key in self._offered if key not in there]

    async def _withdraw(self, keys: Sequence[Key]) -> None:
        for key in keys:
            sandbox = self._offered.pop(key)
            # What runs in it runs on, as far as its engine lets it.
            self._retired.append(sandbox)
            log.warning("engine.gone", extra={"socket": str(key[1]), "level": sandbox.level.value})
        if keys:
            await self.on_change(self.sandboxes)

    async def _try(self, key: Key, choice: Choice) -> None:
        while self.is_beginning():  # noqa: ASYNC110 - time itself ends it
            await asyncio.sleep(self._quiet_seconds)
        sandbox = self._make(*choice)
        # Until it is offered: an agent that ends meanwhile closes it.
        self._retired.append(sandbox)
        result = await self._prove(sandbox)
        if not result.ok:
            self._failed[key] = "; ".join(result.problems)
            log.warning("sandbox.unproven", extra={"level": sandbox.level.value, "why": self._failed[key]})
            self._retired.remove(sandbox)
            await sandbox.close()
            return
        for what in await sandbox.sweep():
            log.warning("sandbox.swept", extra={"what": what})
        self._retired.remove(sandbox)
        self._offered[key] = sandbox
        log.info("engine.found", extra={"socket": str(key[1]), "level": sandbox.level.value})
        await self.on_change(self.sandboxes)

    async def _close_retired(self) -> None:
        if self._retired and self.is_idle():
            retired, self._retired = self._retired, []
            for sandbox in retired:
                await sandbox.close()

    async def close(self) -> None:
        """All of them, with those that were there at the start."""
        for sandbox in (*self._retired, *self._offered.values(), *self._others):
            await sandbox.close()


def _level(gvisor: bool) -> IsolationLevel:
    return IsolationLevel.GVISOR if gvisor else IsolationLevel.CONTAINER


async def _ignore(sandboxes: Sequence[Sandbox]) -> None:
    del sandboxes
