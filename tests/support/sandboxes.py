"""One way to run a command in a sandbox, for tests."""

import asyncio
import os
import tempfile
from collections.abc import Callable
from pathlib import Path

from support.waiting import patience

from computepool.agent.sandbox import Command, Exit, Limits, Process, Sandbox
from computepool.agent.sandbox.running import readable

ROOMY = Limits(cpus=2.0, memory_bytes=512 << 20, pids=200, disk_bytes=256 << 20)


async def come_to_rest(read: Callable[[], object], seconds: float = 0.3) -> None:
    """Wait until what is read has not changed for this long."""
    before: object = None
    async with asyncio.timeout(patience()):
        while before != (before := read()):  # noqa: ASYNC110 - no event says that something does not happen
            await asyncio.sleep(seconds)


async def read_all(process: Process) -> bytes:
    pieces: list[bytes] = []
    while True:
        await readable(process.output_fd)
        piece = os.read(process.output_fd, 1 << 16)
        if not piece:
            os.close(process.output_fd)
            return b"".join(pieces)
        pieces.append(piece)


class Bench:
    """A sandbox, and a fresh attempt's folder for each command."""

    def __init__(self, sandbox: Sandbox) -> None:
        self.sandbox = sandbox

    def folder(self) -> Path:
        folder = Path(tempfile.mkdtemp(prefix="test-", dir=self.sandbox.attempts_folder))
        (folder / "work").mkdir()
        return folder

    async def start(self, *argv: str, limits: Limits = ROOMY, folder: Path | None = None, **more) -> Process:
        command = Command(argv=argv, env=more.pop("env", {}), folder=folder or self.folder(), limits=limits, **more)
        return await self.sandbox.start(command)

    async def finish(self, *argv: str, **more) -> tuple[Exit, str]:
        process = await self.start(*argv, **more)
        output = await read_all(process)
        return await process.wait(), output.decode(errors="replace")

    def run(self, *argv: str, **more) -> tuple[Exit, str]:
        return asyncio.run(self.finish(*argv, **more))

    def shell(self, script: str, **more) -> tuple[Exit, str]:
        return self.run("/bin/sh", "-c", script, **more)


def processes_with(text: str) -> list[int]:
    """Processes of the whole machine whose command line contains a text."""
    found = []
    for place in Path("/proc").iterdir():
        if place.name.isdigit() and int(place.name) != os.getpid():
            try:
                if text.encode() in (place / "cmdline").read_bytes():
                    found.append(int(place.name))
            except OSError:
                continue
    return found
