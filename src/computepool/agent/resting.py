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
        self._began = False
        self._frozen = False
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
    def process(self) -> Process | None:
        """The running command, if there is one."""
        return self._process

    @property
    def seconds(self) -> float:
        """How long the attempt has rested since its first command began, up to now. Moments of copying do not count."""
        return self._seconds + (self._clock.monotonic() - self._since if self._since is not None else 0.0)

    async def until_awake(self) -> None:
        await self._awake.wait()

    async def begin(self, process: Process) -> None:
        """This is the command now. Raises SandboxError."""
        self._process = process
        self._began = True
        await self._settle()

    def end(self) -> None:
        """It is gone."""
        self._process = None
        self._frozen = self._told = False

    def is_over(self) -> None:
        """No other command will follow: the time that is counted ends here."""
        self._count(rests=False)

    async def hold(self, reason: RestReason) -> None:
        """Raises SandboxError if the command cannot be made to stand still: then it is still to be."""
        self._reasons.add(reason)
        self._awake.clear()
        await self._settle()

    async def let_go(self, reason: RestReason) -> None:
        """Raises SandboxError if the command still stands still: `settle` tries again."""
        self._reasons.discard(reason)
        if not self._reasons:
            self._awake.set()
        await self._settle()

    async def settle(self) -> None:
        """Once more, after an engine that did not answer."""
        await self._settle()

    @property
    def is_settled(self) -> bool:
        return self._process is None or self._frozen is bool(self._reasons)

    async def _settle(self) -> None:
        """One change at a time: a container's engine takes a moment for each."""
        async with self._turn:
            process, wanted = self._process, bool(self._reasons)
            rests = bool(self._reasons - {RestReason.COPY})
            if process is None:
                self._count(rests=rests)
                return
            if wanted and not self._frozen:
                await process.freeze()
                self._frozen = True
            elif not wanted and self._frozen:
                await process.thaw()
                self._frozen = False
            self._count(rests=rests)
            if process is self._process and rests is not self._told:
                self._told = rests
                self._on_change(rests)

    def _count(self, *, rests: bool) -> None:
        """Between two commands it rests as well, once the first has begun."""
        now = self._clock.monotonic()
        if rests and self._since is None and self._began:
            self._since = now
        elif not rests and self._since is not None:
            self._seconds += now - self._since
            self._since = None
