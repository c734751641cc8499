"""Local control of a running agent: one JSON object per line over a socket in its folder, which only its user opens.

{"do": "status"}  →  {"ok": true, "status": {…}}
"""

import asyncio
import contextlib
import json
import os
import socket
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from computepool.agent.agent import Agent

ANSWER_SECONDS = 15.0
LINE_LIMIT_BYTES = 64 * 1024
_SOCKET_PATH_LIMIT = 100
ACTIONS = ("status", "pause", "resume", "drain", "stop")


class AgentNotRunning(Exception):
    """No agent answers in this folder."""


@contextlib.asynccontextmanager
async def serve_control(agent: Agent, path: Path) -> AsyncIterator[None]:
    """While open, the agent takes its owner's wishes from the socket at `path`."""
    stopping: set[asyncio.Task[None]] = set()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, ValueError, asyncio.LimitOverrunError):
            while line := await reader.readline():
                writer.write(json.dumps(_answer(agent, line, stopping)).encode() + b"\n")
                await writer.drain()
        writer.close()

    # Whoever holds the folder's lock owns the socket; what lies there is of an agent that died.
    _remove(path)
    with _reachable(path) as address:
        # The folder is closed to everybody else.
        server = await asyncio.start_unix_server(talk, address, limit=LINE_LIMIT_BYTES)
    try:
        yield
    finally:
        server.close()
        _remove(path)
        await asyncio.gather(*stopping, return_exceptions=True)


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)


def _answer(agent: Agent, line: bytes, stopping: set[asyncio.Task[None]]) -> dict[str, Any]:
    try:
        action = json.loads(line)["do"]
    except (ValueError, KeyError, TypeError):
        return {"ok": False, "error": 'a request looks like {"do": "status"}'}
    match action:
        case "status":
            return {"ok": True, "status": agent.status()}
        case "pause":
            agent.pause()
        case "resume":
            agent.resume()
        case "drain":
            agent.drain()
        case "stop":
            task = asyncio.ensure_future(agent.stop())
            stopping.add(task)
            task.add_done_callback(stopping.discard)
        case _:
            return {"ok": False, "error": f"unknown action {action!r}; there are {', '.join(ACTIONS)}"}
    return {"ok": True, "status": agent.status()}


def ask_agent(path: Path, action: str) -> dict[str, Any]:
    """Ask the agent whose socket is at `path` to do something; its status afterwards. For the CLI; blocking."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(ANSWER_SECONDS)
        try:
            with _reachable(path) as address:
                line.connect(address)
            line.sendall(json.dumps({"do": action}).encode() + b"\n")
            with line.makefile("rb") as answers:
                answer = json.loads(answers.readline() or b"{}")
        except (OSError, ValueError) as error:
            raise AgentNotRunning(
                f"no agent answers in {path.parent} ({error}). Start it with `computepool agent start`"
            ) from None
    if not answer.get("ok"):
        raise AgentNotRunning(str(answer.get("error", "the agent did not answer")))
    status = answer["status"]
    assert isinstance(status, dict)
    return status


@contextlib.contextmanager
def _reachable(path: Path) -> Iterator[str]:
    """An address for the socket: the kernel takes about 100 bytes, and a home may lie deeper than that."""
    if len(os.fsencode(path)) <= _SOCKET_PATH_LIMIT or not Path("/proc/self/fd").is_dir():
        yield str(path)
        return
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        yield f"/proc/self/fd/{folder}/{path.name}"
    finally:
        os.close(folder)
