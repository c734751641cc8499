"""A light client of the Docker Engine API on a unix socket; podman's service speaks the same.

Every request is bounded in time: an engine that hangs must not hang the agent.

EngineError (a SandboxError)
├── EngineGone       it does not answer, or went away in the middle of it
└── EngineRefused    it answered, and said no
"""

import asyncio
import contextlib
import json
import socket
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from computepool.agent.sandbox.interface import SandboxError

from .unix_http import EngineConnectionBroken, Request, send

Kind = Literal["docker", "podman"]
Json = dict[str, Any]
Query = Mapping[str, str | Sequence[str]]

ANSWER_SECONDS = 30.0
"""For what an engine does at once; a machine under load may take its time to start a container."""
HEADER_LIMIT_BYTES = 65_536
TESTED_API = (1, 41)
"""What this client was made for. Engines speak a range of versions, and newer ones have left it behind."""
PODMAN_POLL = "50ms"
RUNTIMES = ("runc", "crun")
"""As `protocol.versions` calls them; said here again because tests run this file as a user who has no libraries."""


class EngineError(SandboxError):
    pass


class EngineGone(EngineError):
    pass


class EngineRefused(EngineError):
    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


@dataclass(frozen=True)
class EngineFacts:
    """What an engine says of itself."""

    kind: Kind
    version: str
    runtimes: Mapping[str, Json]
    rootless: bool
    security: tuple[str, ...]
    """What it guards containers with: with another answer it has to prove itself again."""
    cgroup_version: int
    storage: Path
    architecture: str = "amd64"
    """Of the images that it runs, as registries call it."""
    parts: Mapping[str, str] = field(default_factory=dict)
    """The versions that it tells of itself and of the runtimes that it was started with, by name."""

    @property
    def gvisor_runtime(self) -> str | None:
        """The name under which this engine knows gVisor. Docker takes it by name; podman's API cannot be asked."""
        if self.kind != "docker":
            return None
        by_path = [name for name, how in self.runtimes.items() if Path(how.get("path") or "").name == "runsc"]
        by_kind = [name for name, how in self.runtimes.items() if "runsc" in str(how.get("runtimeType") or "")]
        return next(iter([*by_path, *by_kind]), None)


@dataclass(frozen=True)
class Ended:
    """What an engine says of a container that is over."""

    code: int
    out_of_memory: bool
    error: str


class Engine:
    def __init__(self, path: Path, *, answer_seconds: float = ANSWER_SECONDS) -> None:
        self.path = path
        self._seconds = answer_seconds
        self._facts: EngineFacts | None = None
        self._version: Json | None = None

    def __repr__(self) -> str:
        return f"Engine({str(self.path)!r})"

    async def ask(
        self,
        method: str,
        path: str,
        *,
        query: Query | None = None,
        body: Any = None,
        content: bytes | None = None,
        seconds: float | None = None,
    ) -> Any:
        """The answer, read as JSON if there is any. `seconds` instead of the usual patience; 0 waits for ever."""
        wait = self._seconds if seconds is None else seconds or None
        request = Request(method, await self._versioned(path), query or {}, body, content)
        try:
            async with asyncio.timeout(wait), send(self.path, request) as said:
                return _read(said.status, await said.read())
        except (OSError, EngineConnectionBroken) as error:
            raise self._gone(error) from error

    async def stream(
        self,
        method: str,
        path: str,
        *,
        query: Query,
        silence_seconds: float,
        content: AsyncIterator[bytes] | None = None,
    ) -> AsyncGenerator[Json, None]:
        """A long answer, one JSON object a line. Silent for too long means gone."""
        request = Request(method, await self._versioned(path), query, pieces=content, silence_seconds=silence_seconds)
        try:
            async with send(self.path, request) as said:
                lines = said.lines()
                if said.status >= 400:
                    _read(said.status, await said.read())
                while True:
                    async with asyncio.timeout(silence_seconds):
                        line = await anext(lines, None)
                    if line is None:
                        return
                    with contextlib.suppress(ValueError):
                        words = json.loads(line) if line.strip() else None
                        if isinstance(words, dict):
                            yield words
        except (OSError, EngineConnectionBroken) as error:
            raise self._gone(error) from error

    async def _versioned(self, path: str) -> str:
        if path == "/version" or path.startswith("/v"):
            return path
        return f"/v{api_version(await self.version())}{path}"

    async def version(self) -> Json:
        """Asked once."""
        if self._version is None:
            self._version = dict(await self.ask("GET", "/version"))
        return self._version

    def _gone(self, error: BaseException) -> EngineGone:
        why = str(error) or type(error).__name__
        return EngineGone(f"the container engine at {self.path} does not answer: {why}")

    async def facts(self) -> EngineFacts:
        """Asked once."""
        if self._facts is None:
            self._facts = _facts(await self.version(), await self.ask("GET", "/info"))
        return self._facts

    async def create(self, name: str, spec: Json) -> str:
        created = await self.ask("POST", "/containers/create", query={"name": name}, body=spec)
        return str(created["Id"])

    async def start(self, container: str) -> None:
        await self.ask("POST", f"/containers/{container}/start")

    async def inspect(self, container: str) -> Json:
        found = await self.ask("GET", f"/containers/{container}/json")
        return dict(found)

    async def first_pid(self, container: str) -> int:
        """The host's number of its first process; 0 if it is over already."""
        return int((await self.inspect(container))["State"].get("Pid") or 0)

    async def wait(self, container: str) -> None:
        """Until it is over, however long that takes."""
        if kind_of(await self.version()) == "docker":
            await self.ask("POST", f"/containers/{container}/wait", seconds=0)
        else:
            # Podman's answer to Docker's question looks only four times a second, and cannot be told otherwise.
            query = {"condition": ["stopped", "exited"], "interval": PODMAN_POLL}
            await self.ask("POST", f"/v4.0.0/libpod/containers/{container}/wait", query=query, seconds=0)

    async def ended(self, container: str) -> Ended | None:
        """None while it runs."""
        state = (await self.inspect(container))["State"]
        if state.get("Running") or state.get("Paused") or state.get("Status") in {"running", "paused", "stopping"}:
            return None
        return Ended(int(state.get("ExitCode") or 0), bool(state.get("OOMKilled")), str(state.get("Error") or ""))

    async def kill(self, container: str, signal: str) -> None:
        """What is over already needs no signal."""
        path = f"/containers/{container}/kill"
        await self._unless_done(container, path, lambda state: not state.get("Running"), {"signal": signal})

    async def pause(self, container: str) -> None:
        await self._unless_done(
            container,
            f"/containers/{container}/pause",
            lambda state: state.get("Paused") or state.get("Status") == "paused" or not state.get("Running"),
        )

    async def unpause(self, container: str) -> None:
        await self._unless_done(container, f"/containers/{container}/unpause", lambda state: not state.get("Paused"))

    async def _unless_done(
        self, container: str, path: str, done: Callable[[Json], Any], query: Query | None = None
    ) -> None:
        """A refusal is none if there is nothing left to do. Engines give all kinds of codes for that."""
        try:
            await self.ask("POST", path, query=query)
        except EngineRefused as refusal:
            if refusal.status == 404:
                return
            try:
                state = (await self.inspect(container))["State"]
            except EngineRefused:
                return
            if not done(state):
                raise

    async def remove(self, container: str) -> None:
        """Whatever it does, if it is still there. EngineRefused if others need it."""
        try:
            await self.ask("DELETE", f"/containers/{container}", query={"force": "true", "v": "true"})
        except EngineRefused as error:
            # 409 says that somebody else is removing it at this moment.
            if error.status not in {404, 409}:
                raise

    async def list_containers(self, labels: Mapping[str, str]) -> list[Json]:
        """Running or not."""
        filters = json.dumps({"label": [f"{name}={value}" for name, value in labels.items()]})
        return list(await self.ask("GET", "/containers/json", query={"all": "true", "filters": filters}))

    async def has_file(self, container: str, path: str) -> bool:
        """Whether a path exists in a container that need not run."""
        try:
            await self.ask("HEAD", f"/containers/{container}/archive", query={"path": path})
        except EngineRefused:
            return False
        return True

    async def attach(
        self, container: str, streams: Sequence[str] = ("stdout", "stderr")
    ) -> tuple[socket.socket, bytes]:
        """The container's output as it comes: a socket, and what was read from it already. With `stdin` among the
        streams, what is sent there is the container's input.

        Asked for before the container starts, so that nothing is lost.
        """
        place = await self._versioned(f"/containers/{container}/attach")
        wanted = "".join(f"&{stream}=1" for stream in streams)
        request = (
            f"POST {place}?stream=1{wanted} HTTP/1.1\r\n"
            "Host: engine\r\nConnection: Upgrade\r\nUpgrade: tcp\r\nContent-Length: 0\r\n\r\n"
        )
        loop = asyncio.get_running_loop()
        connection = socket.socket(socket.AF_UNIX)
        connection.setblocking(False)
        try:
            async with asyncio.timeout(self._seconds):
                await loop.sock_connect(connection, str(self.path))
                await loop.sock_sendall(connection, request.encode())
                answer = b""
                while b"\r\n\r\n" not in answer:
                    piece = await loop.sock_recv(connection, HEADER_LIMIT_BYTES)
                    if not piece or len(answer) > HEADER_LIMIT_BYTES:
                        raise EngineGone(f"the container engine at {self.path} hung up")
                    answer += piece
            head, _, rest = answer.partition(b"\r\n\r\n")
            status = int(head.split(None, 2)[1])
            if status not in {101, 200}:
                raise EngineRefused(status, rest.decode(errors="replace").strip() or head.decode(errors="replace"))
        except (OSError, TimeoutError, ValueError, IndexError) as error:
            connection.close()
            raise self._gone(error) from error
        except BaseException:
            connection.close()
            raise
        return connection, rest

    async def import_image(self, tar: bytes, *, labels: Mapping[str, str]) -> str:
        """The id of an image made from a root folder."""
        changes = [f"LABEL {name}={value}" for name, value in labels.items()]
        said = await self.ask("POST", "/images/create", query={"fromSrc": "-", "changes": changes}, content=tar)
        return str(said["status"])

    async def load_image(self, archive: AsyncIterator[bytes], *, silence_seconds: float) -> None:
        """An archive with images and their names, as `docker save` writes it."""
        said = self.stream(
            "POST", "/images/load", query={"quiet": "0"}, silence_seconds=silence_seconds, content=archive
        )
        async with contextlib.aclosing(said):
            async for line in said:
                if line.get("error"):
                    raise EngineRefused(500, str(line["error"]))

    async def tag_image(self, image: str, repository: str, tag: str) -> None:
        await self.ask("POST", f"/images/{image}/tag", query={"repo": repository, "tag": tag})

    async def find_image(self, name: str) -> Json | None:
        """By name, digest or id, among those that are here."""
        try:
            return dict(await self.ask("GET", f"/images/{name}/json"))
        except EngineRefused as error:
            if error.status != 404:
                raise
            return None

    async def list_images(self, *, labels: Sequence[str] = ()) -> list[Json]:
        filters = json.dumps({"label": list(labels)}) if labels else "{}"
        return list(await self.ask("GET", "/images/json", query={"filters": filters}))

    async def remove_image(self, name: str) -> None:
        """Never by force: what a container uses, or another name holds, stays. Raises EngineRefused."""
        await self.ask("DELETE", f"/images/{name}")


def _read(status: int, content: bytes) -> Any:
    said: Any = None
    if content:
        try:
            said = json.loads(content)
        except ValueError:
            said = content.decode(errors="replace").strip()
    if status < 400:
        return said
    message = said.get("message") or said.get("cause") if isinstance(said, dict) else said
    raise EngineRefused(status, str(message or f"the container engine answered {status}"))


def api_version(version: Json) -> str:
    """The tested one if the engine speaks it, else the nearest that it does."""
    oldest, newest = _numbers(version.get("MinAPIVersion")), _numbers(version.get("ApiVersion"))
    chosen = max(oldest, min(TESTED_API, newest)) if newest else TESTED_API
    return ".".join(map(str, chosen))


def _numbers(version: Any) -> tuple[int, ...]:
    parts = str(version or "").split(".")
    return tuple(map(int, parts)) if all(part.isdigit() for part in parts) else ()


def kind_of(version: Json) -> Kind:
    names = [str(part.get("Name", "")) for part in version.get("Components") or []]
    return "podman" if any("podman" in name.lower() for name in names) else "docker"


def _facts(version: Json, info: Json) -> EngineFacts:
    security = tuple(sorted(map(str, info.get("SecurityOptions") or [])))
    return EngineFacts(
        kind=kind_of(version),
        version=str(version.get("Version") or "unknown"),
        runtimes=dict(info.get("Runtimes") or {}),
        rootless=bool(info.get("Rootless")) or any("name=rootless" in one for one in security),
        security=security,
        cgroup_version=2 if str(info.get("CgroupVersion")) == "2" else 1,
        storage=Path(str(info.get("DockerRootDir") or "/var/lib/docker")),
        architecture=str(version.get("Arch") or "amd64"),
        parts=_parts(version),
    )


def _parts(version: Json) -> dict[str, str]:
    """Docker says `runc`, podman `OCI Runtime (runc)`."""
    found: dict[str, str] = {kind_of(version): str(version.get("Version") or "")}
    for part in version.get("Components") or []:
        name = str(part.get("Name", "")).removeprefix("OCI Runtime (").removesuffix(")")
        if name in RUNTIMES:
            found[name] = str(part.get("Version") or "")
    return found
