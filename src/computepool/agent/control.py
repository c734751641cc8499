"""Local control of a running agent: one JSON object per line over a socket in its folder, which only its user opens.

{"do": "status"}                      →  {"ok": true, "status": {…}}
{"do": "pause", "for_seconds": 7200}  →  the same, or {"ok": false, "error": "…"}
"""

import asyncio
import contextlib
import json
import math
import os
import socket
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

from computepool.agent.agent import Agent
from computepool.protocol.states import NodeState

ANSWER_SECONDS = 15.0
LINE_LIMIT_BYTES = 64 * 1024
_SOCKET_PATH_LIMIT = 100
ACTIONS: Mapping[str, frozenset[str]] = {
    "status": frozenset(),
    "pause": frozenset({"for_seconds"}),
    "resume": frozenset(),
    "drain": frozenset(),
    "stop": frozenset(),
}
"""What can be asked for, and which arguments each takes."""
LONGEST_PAUSE_SECONDS = 366 * 86_400.0


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
        request = json.loads(line)
        action = request.pop("do")
    except (ValueError, KeyError, TypeError, AttributeError):
        return {"ok": False, "error": 'a request looks like {"do": "status"}'}
    problem = _problem_with(action, request)
    if problem:
        return {"ok": False, "error": problem}
    match action:
        case "pause":
            agent.pause(request.get("for_seconds"))
        case "resume":
            agent.resume()
        case "drain":
            agent.drain()
        case "stop":
            task = asyncio.ensure_future(agent.stop())
            stopping.add(task)
            task.add_done_callback(stopping.discard)
            # It begins after this answer, which must not read as if nothing happened.
            return {"ok": True, "status": {**agent.status(), "state": NodeState.DRAINING}}
    return {"ok": True, "status": agent.status()}


def _problem_with(action: object, arguments: Mapping[str, object]) -> str | None:
    """A wish that is not understood whole is refused: half of it may be the opposite of what was meant."""
    if not isinstance(action, str) or action not in ACTIONS:
        return f"unknown action {action!r}; there are {', '.join(ACTIONS)}"
    strange = sorted(set(arguments) - ACTIONS[action])
    if strange:
        return f"{action} does not take {', '.join(strange)}; this agent may be older than the command"
    seconds = arguments.get("for_seconds")
    if seconds is None:
        return None
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not math.isfinite(seconds):
        return "for_seconds is a number"
    if not 0 < seconds <= LONGEST_PAUSE_SECONDS:
        return "a pause lasts more than nothing and at most a year; without for_seconds it lasts until resume"
    return None


def ask_agent(
    path: Path, action: str, answer_seconds: float = ANSWER_SECONDS, /, **arguments: object
) -> dict[str, Any]:
    """Ask the agent whose socket is at `path` to do something; its status afterwards. For the CLI; blocking."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as line:
        line.settimeout(answer_seconds)
        try:
            with _reachable(path) as address:
                line.connect(address)
            line.sendall(json.dumps({"do": action, **arguments}).encode() + b"\n")
            with line.makefile("rb") as answers:
                answer = json.loads(answers.readline() or b"{}")
        except TimeoutError:
            raise AgentNotRunning(
                f"the agent in {path.parent} runs, but has not answered for {answer_seconds:g} seconds: somebody "
                "stopped it (kill -CONT lets it go on), or the machine is too busy. Try again"
            ) from None
        except (FileNotFoundError, ConnectionRefusedError):
            raise AgentNotRunning(f"no agent runs in {path.parent}. Start it with `computepool agent start`") from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or error
            raise AgentNotRunning(
                f"no agent answers in {path.parent}: {why}. Start it with `computepool agent start`"
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
