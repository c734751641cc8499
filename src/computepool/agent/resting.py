"""A command that stands still for a while: why, and for how long. What it holds in memory, it keeps."""

import asyncio
from collections.abc import Callable
from enum import StrEnum

from computepool.agent.clock import Clock
from computepool.agent.sandbox.interface import Process


class RestReason(StrEnum):
    OWNER = "owner"
    """The machine's owner wants it to be quiet."""
    LEASE = "lease"
    """Nobody renewed its lease: soon its slice may be another node's."""
    COPY = "copy"
    """Its checkpoint is being copied. A moment, of which nobody is told."""


class Rest:
    """Reasons come and go, also before there is a command; it runs while there is none of them."""

    def __init__(self, clock: Clock, on_change: Callable[[bool], None]) -> None:
        """`on_change` is told whether the running command now rests."""
        self._clock = clock
        self._on_change = on_change
        self._reasons: set[RestReason] = set()
        self._process: Process | None = None
        self._since: float | None = None
        self._told = False
        self._seconds = 0.0
        self._turn = asyncio.Lock()
        self._awake = asyncio.Event()
        self._awake.set()

    @property
    def reasons(self) -> frozenset[RestReason]:
        return frozenset(self._reasons)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def seconds(self) -> float:
        """How long commands of this attempt have rested, up to now."""
        return self._seconds + (self._clock.monotonic() - self._since if self._since is not None else 0.0)

    async def until_awake(self) -> None:
        await self._awake.wait()

    async def begin(self, process: Process) -> None:
        """This is the command now."""
        self._process = process
        await self._settle()

    def end(self) -> None:
        """It is gone."""
        self._process = None
        self._told = False
        self._count()

    async def hold(self, reason: RestReason) -> None:
        self._reasons.add(reason)
        self._awake.clear()
        await self._settle()

    async def let_go(self, reason: RestReason) -> None:
        self._reasons.discard(reason)
        if not self._reasons:
            self._awake.set()
        await self._settle()

    async def _settle(self) -> None:
        """One change at a time: a container's engine takes a moment for each."""
        async with self._turn:
            process, wanted = self._process, bool(self._reasons)
            if process is None:
                return
            if wanted and self._since is None:
                await process.freeze()
                self._since = self._clock.monotonic()
            elif not wanted and self._since is not None:
                await process.thaw()
                self._count()
            rests = bool(self._reasons - {RestReason.COPY})
            if process is self._process and rests is not self._told:
                self._told = rests
                self._on_change(rests)

    def _count(self) -> None:
        if self._since is not None:
            self._seconds += self._clock.monotonic() - self._since
            self._since = None
