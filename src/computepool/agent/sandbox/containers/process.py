"""A command that runs in a container: waiting, stopping, freezing, and telling truly how it ended."""

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from computepool.agent.sandbox.cgroup import Usage
from computepool.agent.sandbox.interface import Exit, Reason, UsageNow
from computepool.agent.sandbox.proctree import signal_all
from computepool.agent.sandbox.running import COULD_NOT_RUN, readable
from computepool.agent.sandbox.space import folder_bytes
from computepool.agent.sandbox.watchdog import Watchdog
from computepool.agent.trees import Uncountable

from .engine import Ended, Engine, EngineError, EngineGone
from .usage import ContainerGroup

log = logging.getLogger(__name__)

NOTHING = Usage(cpu_seconds=0.0, peak_memory_bytes=0, oom_kills=0)
USAGE_SECONDS = 1.0
SETTLE_SECONDS = 20.0
"""How long an engine may take to notice the end of a container whose first process is gone."""
KILL_ROUNDS = 3
LOST = "the container engine stopped answering while the job ran; its output may not be whole"


@dataclass
class ContainerProcess:
    engine: Engine
    container: str
    pid: int
    output_fd: int
    group: ContainerGroup | None
    watchdog: Watchdog
    # Also counts the folder once more at the end, where no limit of the kernel stops one big file.
    counts_at_end: bool
    # Why the command cannot be run, if that is why it ended with such a code; asked afterwards.
    problem: Callable[[], Awaitable[str]]
    over: Callable[[], None]
    _stopping: bool = False
    _frozen: bool = False
    _limit: Reason | None = None
    _usage: Usage = NOTHING
    _supervision: asyncio.Task[Exit] = field(init=False)
    _killing: set[asyncio.Task[None]] = field(default_factory=set)

    def __post_init__(self) -> None:
        self.watchdog.kill = self._over_limit
        self._supervision = asyncio.create_task(self._supervise(), name=f"container-{self.container[:12]}")

    def sift(self, data: bytes) -> bytes:
        """The engine says nothing of its own here: what it has to say of a start that failed, it says elsewhere."""
        return data

    @property
    def complaint(self) -> str:
        return ""

    async def wait(self) -> Exit:
        return await asyncio.shield(self._supervision)

    async def stop(self, grace_seconds: float) -> None:
        if self._supervision.done():
            return
        self._stopping = True
        if grace_seconds > 0:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(grace_seconds):
                    with contextlib.suppress(EngineError):
                        await self._terminate()
                        await self.thaw()
                    await asyncio.shield(self._supervision)
                return
        await self._kill()
        await self.wait()

    async def _terminate(self) -> None:
        """SIGTERM to all of it. Where its processes are not this host's to see, the first one has to pass it on."""
        if self.group and self._sees_processes:
            with contextlib.suppress(PermissionError):
                # Not to the first one, which would pass it on, and the command would get it twice.
                signal_all([pid for pid in self.group.pids() if pid != self.pid], signal.SIGTERM)
                return
        # An engine signals nothing that is frozen.
        await self.thaw()
        await self.engine.kill(self.container, "SIGTERM")

    @property
    def _sees_processes(self) -> bool:
        """gVisor's processes on the host are its own machinery; the job's are inside of them."""
        return self.group is not None and not self.counts_at_end

    def usage_now(self) -> UsageNow | None:
        return self.group.usage_now() if self.group is not None and not self._supervision.done() else None

    async def freeze(self) -> None:
        if self._supervision.done() or self._frozen:
            return
        self._frozen = True
        try:
            await self.engine.pause(self.container)
        except EngineError:
            self._frozen = False
            raise

    async def thaw(self) -> None:
        if self._supervision.done() or not self._frozen:
            return
        await self.engine.unpause(self.container)
        self._frozen = False

    def _over_limit(self, reason: Reason) -> None:
        self._limit = self._limit or reason
        task = asyncio.create_task(self._kill())
        self._killing.add(task)
        task.add_done_callback(self._killing.discard)

    async def _kill(self) -> None:
        # Killed first, frozen processes never run a step of their own again.
        self._kill_here()
        for _ in range(KILL_ROUNDS):
            try:
                await self.thaw()
                await self.engine.kill(self.container, "SIGKILL")
            except EngineGone:
                return
            except EngineError as error:
                log.warning("container.kill_refused", extra={"container": self.container[:12], "why": str(error)})
            if self._supervision.done():
                return
            await asyncio.wait([self._supervision], timeout=1.0)

    def _kill_here(self) -> None:
        """Without the engine, as far as this agent may."""
        with contextlib.suppress(OSError):
            signal_all(self.group.pids() if self.group else [], signal.SIGKILL)

    async def _supervise(self) -> Exit:
        watching = [asyncio.create_task(self.watchdog.run()), asyncio.create_task(self._watch_usage())]
        lost = ""
        ended: Ended | None = None
        try:
            ended = await self._end()
            await self._count_once_more()
        except (EngineError, TimeoutError) as error:
            log.warning("container.lost", extra={"container": self.container[:12], "why": str(error)})
            self._kill_here()
            lost = LOST
        finally:
            for task in watching:
                task.cancel()
            await asyncio.gather(*watching, return_exceptions=True)
        result = await self._exit(ended, lost)
        self.over()
        return result

    async def _end(self) -> Ended:
        """Noticed by two witnesses: the kernel, in time to read what was used, and the engine, who knows the code."""
        waiting = asyncio.create_task(self.engine.wait(self.container))
        witness = asyncio.create_task(self._first_process_gone())
        try:
            await asyncio.wait([waiting, witness], return_when=asyncio.FIRST_COMPLETED)
            self._read_usage()
            if waiting.done():
                waiting.result()
            return await self._settle()
        finally:
            for task in (waiting, witness):
                task.cancel()
            await asyncio.gather(waiting, witness, return_exceptions=True)

    async def _settle(self) -> Ended:
        pause = 0.005
        async with asyncio.timeout(SETTLE_SECONDS):
            while True:
                ended = await self.engine.ended(self.container)
                if ended:
                    return ended
                await asyncio.sleep(pause)
                pause = min(pause * 1.5, 0.2)

    async def _first_process_gone(self) -> None:
        """Never returns where the process cannot be seen from here."""
        try:
            pidfd = os.pidfd_open(self.pid) if self.group else -1
        except (OSError, AttributeError):
            pidfd = -1
        if pidfd < 0:
            await asyncio.get_running_loop().create_future()
        try:
            await readable(pidfd)
        finally:
            os.close(pidfd)

    async def _watch_usage(self) -> None:
        """So that something is known even if the last look comes too late."""
        while True:
            self._read_usage()
            await asyncio.sleep(USAGE_SECONDS)

    def _read_usage(self) -> None:
        usage = self.group.usage() if self.group else None
        if usage:
            self._usage = usage

    async def _count_once_more(self) -> None:
        if not self.counts_at_end or self._limit or self._stopping:
            return
        with contextlib.suppress(OSError):
            try:
                used = await folder_bytes(self.watchdog.root, enough=self.watchdog.limits.disk_bytes)
            except Uncountable:
                used = self.watchdog.limits.disk_bytes + 1
            if used > self.watchdog.limits.disk_bytes:
                self._limit = "disk"

    async def _exit(self, ended: Ended | None, lost: str) -> Exit:
        usage = self._usage
        code = ended.code if ended else 128 + signal.SIGKILL
        number = code - 128
        ended_by = number if number in signal.valid_signals() and number > 0 else None
        reason: Reason = "exited"
        detail = ""
        if self._limit:
            reason = self._limit
        elif self._stopping:
            reason = "killed"
        elif ended is None:
            reason, detail = "engine_lost", lost
        elif code != 0 and (usage.oom_kills or ended.out_of_memory):
            reason = "memory"
        elif ended_by == signal.SIGXFSZ:
            reason = "disk"
        elif code in COULD_NOT_RUN and (detail := await self.problem()):
            reason = "not_runnable"
        return Exit(code, ended_by, reason, usage.cpu_seconds, usage.peak_memory_bytes, True, detail)
