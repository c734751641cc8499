"""`up --demo`: simulated nodes and sample jobs beside the pool, in a process of their own that ends with it."""

import asyncio
import contextlib
import os
import signal
import sys
from pathlib import Path

from computepool.cli.errors import tell

NODES = 12
LOG = "simulate.log"
STOP_SECONDS = 20.0
"""For the nodes to give back what they pretend to run, and to say goodbye."""


class Demo:
    def __init__(self, home: Path, *, verbose: bool) -> None:
        self._home = home
        self._verbose = verbose
        self._child: asyncio.subprocess.Process | None = None
        self._watcher: asyncio.Task[None] | None = None

    async def start(self) -> None:
        log = None if self._verbose else _open_log(self._home / LOG)
        words = ["simulate", "--nodes", str(NODES), "--sample-jobs", "--home", str(self._home), "--while-stdin-open"]
        try:
            self._child = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "computepool", *words, *(["-v"] if self._verbose else [])),
                # It holds the other end of a pipe, so that it ends with us, however we end.
                stdin=asyncio.subprocess.PIPE,
                stdout=log,
                stderr=log,
                start_new_session=True,
                # This pool, whichever the environment names.
                env={**os.environ, "COMPUTEPOOL_URL": "", "COMPUTEPOOL_TOKEN": ""},
            )
        finally:
            if log is not None:
                os.close(log)
        self._watcher = asyncio.create_task(self._watch(self._child))

    async def _watch(self, child: asyncio.subprocess.Process) -> None:
        code = await child.wait()
        where = "" if self._verbose else f" See {self._home / LOG}"
        tell(f"The simulated nodes have ended ({code}); the pool goes on.{where}", fg="yellow")

    async def stop(self) -> None:
        if self._watcher is not None:
            self._watcher.cancel()
            await asyncio.gather(self._watcher, return_exceptions=True)
        child = self._child
        if child is None or child.returncode is not None:
            return
        with contextlib.suppress(ProcessLookupError):
            child.send_signal(signal.SIGINT)
        try:
            async with asyncio.timeout(STOP_SECONDS):
                await child.wait()
        except TimeoutError:
            self.kill()
            await child.wait()

    def kill(self) -> None:
        if self._child is not None and self._child.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._child.kill()


def _open_log(path: Path) -> int:
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
