"""The door of a container without one: its program run here, and the agent's end of it, as an engine joins them.

`through_door` gives a port on which the program listens; whatever connects there arrives at `answer`.
"""

import asyncio
import contextlib
import platform
import shutil
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from support.waiting import async_eventually, patience

from computepool.agent.sandbox.containers.door import find_door
from computepool.agent.sandbox.containers.output import STDERR
from computepool.agent.sandbox.containers.tunnel import Tunnel

Answer = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
EMULATED = "x86_64" if platform.machine() == "aarch64" else "aarch64"
EMULATOR = f"qemu-{EMULATED}" + ("-static" if shutil.which(f"qemu-{EMULATED}-static") else "")
WAIT = [sys.executable, "-c", "import time; time.sleep(3600)"]


@dataclass
class Joined:
    port: int
    process: asyncio.subprocess.Process
    tunnel: Tunnel

    async def connect(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        async with asyncio.timeout(patience()):
            while True:
                with contextlib.suppress(ConnectionRefusedError):
                    return await asyncio.open_connection("127.0.0.1", self.port)
                await asyncio.sleep(0.01)


@contextlib.asynccontextmanager
async def served(answer: Answer) -> AsyncIterator[Callable[[socket.socket], None]]:
    """What takes a listening socket, as the agent's proxy does."""
    servers: list[asyncio.Task[None]] = []
    answering: set[asyncio.StreamWriter] = set()

    async def attend(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        answering.add(writer)
        try:
            await answer(reader, writer)
        finally:
            writer.close()
            answering.discard(writer)

    async def serve(listener: socket.socket) -> None:
        async with await asyncio.start_server(attend, sock=listener):
            await asyncio.get_running_loop().create_future()

    def take(listener: socket.socket) -> None:
        servers.append(asyncio.get_running_loop().create_task(serve(listener)))

    try:
        yield take
    finally:
        for server in servers:
            server.cancel()
        await asyncio.gather(*servers, return_exceptions=True)
        await async_eventually(lambda: not answering, "every connection ends")
        await asyncio.sleep(0.01)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


@contextlib.asynccontextmanager
async def through_door(
    folder: Path,
    answer: Answer,
    *,
    command: Sequence[str] = WAIT,
    machine: str | None = None,
    under: Sequence[str] = (),
    serving: bool = True,
) -> AsyncIterator[Joined]:
    """`command` runs behind the door, as a job does; `under` an emulator of another machine. Not `serving` is a proxy
    that is closed already."""
    found = find_door(machine)
    assert found is not None
    program = folder / "door"
    shutil.copy(found, program)
    program.chmod(0o755)
    port = free_port()
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *under, str(program), str(port), *command, stdin=pipe, stdout=pipe, stderr=pipe, cwd=folder
    )
    ours, theirs = socket.socketpair()
    reader, writer = await asyncio.open_connection(sock=theirs)
    async with served(answer) as serve:
        tunnel = Tunnel(ours, b"", serve if serving else socket.socket.close)
        moving = [asyncio.create_task(_out(process, writer)), asyncio.create_task(_into(reader, process))]
        try:
            yield Joined(port, process, tunnel)
        finally:
            await close(tunnel)
            for task in moving:
                task.cancel()
            await asyncio.gather(*moving, return_exceptions=True)
            writer.close()
            if process.returncode is None:
                process.kill()
            assert process.stdin is not None
            process.stdin.close()  # which ends the copy that listens
            await process.wait()
            assert process.stderr is not None
            await asyncio.wait_for(process.stderr.read(), patience())  # until that has closed its end too


async def close(tunnel: Tunnel) -> None:
    tunnel.close()
    await tunnel.wait_closed()
    # What was aborted says so in the next round of the loop.
    for _ in range(3):
        await asyncio.sleep(0)


def framed(data: bytes, stream: int = STDERR) -> bytes:
    return bytes([stream, 0, 0, 0]) + len(data).to_bytes(4, "big") + data


async def _out(process: asyncio.subprocess.Process, writer: asyncio.StreamWriter) -> None:
    assert process.stderr is not None
    while piece := await process.stderr.read(1 << 16):
        writer.write(framed(piece))
        await writer.drain()
    writer.close()


async def _into(reader: asyncio.StreamReader, process: asyncio.subprocess.Process) -> None:
    assert process.stdin is not None
    while piece := await reader.read(1 << 16):
        process.stdin.write(piece)
        await process.stdin.drain()
