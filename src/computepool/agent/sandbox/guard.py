"""Marks on everything the agent starts, and a guard who ends what is marked when the agent is gone.

bubblewrap dies with its parent, but not in the first milliseconds: until its sandbox is set up it does not yet listen
for that. A plain process dies with the agent, but not its children. Both windows are closed here.
"""

import asyncio
import contextlib
import itertools
import os
import secrets
import sys

from . import marked
from .interface import Offload

SWEEP_ROUNDS = 500
SWEEP_PAUSE_SECONDS = 0.005


class ProcessGuard:
    def __init__(self, instance: str, offload: Offload = asyncio.to_thread) -> None:
        self._prefix = f"{instance}."
        # Of this run of the agent: an old guard must not end what a new agent starts.
        self._run = f"{instance}.{secrets.token_hex(4)}."
        self._offload = offload
        self._runs = itertools.count(1)
        self._pid: int | None = None
        self._lifeline = -1

    def mark(self) -> str:
        """A mark for one command; from now on somebody watches."""
        if not self._is_watched():
            self._start()
        return f"{self._run}{next(self._runs)}."

    def _is_watched(self) -> bool:
        return self._pid is not None and os.waitpid(self._pid, os.WNOHANG) == (0, 0)

    def _start(self) -> None:
        """The guard lives as long as the other end of its input is open, that is, as long as the agent does."""
        self._release()
        lifeline, self._lifeline = os.pipe()
        self._pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", marked.__file__, self._run],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, lifeline, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
        os.close(lifeline)

    def _release(self) -> None:
        if self._lifeline >= 0:
            os.close(self._lifeline)
            self._lifeline = -1

    async def end(self, mark: str, *, but: str | None = None) -> int:
        """End whatever carries a mark; how many processes that were."""
        ended: set[int] = set()
        for _ in range(SWEEP_ROUNDS):
            pids = await self._offload(marked.kill_marked, mark, but)
            if not pids:
                break
            ended |= set(pids)
            await asyncio.sleep(SWEEP_PAUSE_SECONDS)
        return len(ended)

    async def sweep(self) -> list[str]:
        """End what earlier runs left."""
        ended = await self.end(self._prefix, but=self._run)
        return [f"{ended} processes of earlier jobs"] if ended else []

    async def close(self) -> None:
        if self._lifeline >= 0:
            with contextlib.suppress(BrokenPipeError):  # somebody ended it
                os.write(self._lifeline, marked.FAREWELL)
        self._release()
        pid, self._pid = self._pid, None
        if pid is not None:
            with contextlib.suppress(ChildProcessError):
                await self._offload(os.waitpid, pid, 0)
