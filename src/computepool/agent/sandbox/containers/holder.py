"""Starts the lifeline of one engine, and lets go of it in order."""

import contextlib
import os
import sys
from pathlib import Path

from computepool.agent.sandbox.interface import Offload

from . import lifeline


class Lifeline:
    def __init__(self, engine: Path, label: str, offload: Offload) -> None:
        self._engine = engine
        self._label = label
        self._offload = offload
        self._pid: int | None = None
        self._fd = -1

    def ensure(self) -> None:
        """From now on somebody watches."""
        if self._pid is not None and os.waitpid(self._pid, os.WNOHANG) == (0, 0):
            return
        self._release()
        theirs, self._fd = os.pipe()
        self._pid = os.posix_spawn(
            sys.executable,
            [sys.executable, "-I", "-S", lifeline.__file__, str(self._engine), self._label],
            {},
            file_actions=[
                (os.POSIX_SPAWN_DUP2, theirs, 0),
                (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                (os.POSIX_SPAWN_OPEN, 2, os.devnull, os.O_WRONLY, 0),
            ],
            setsid=True,
        )
        os.close(theirs)

    def _release(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1

    async def close(self, *, all_removed: bool) -> None:
        """Without `all_removed` it still ends what is left, by itself."""
        if self._fd >= 0 and all_removed:
            with contextlib.suppress(BrokenPipeError):  # somebody ended it
                os.write(self._fd, lifeline.FAREWELL)
        self._release()
        pid, self._pid = self._pid, None
        if pid is not None and all_removed:
            with contextlib.suppress(ChildProcessError):
                await self._offload(os.waitpid, pid, 0)
