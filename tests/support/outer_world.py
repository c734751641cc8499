"""A small internet on loopback for jobs: a package index and a web site, behind a proxy such as a company has.

Names resolve to public addresses, as the agent insists; whatever the agent's own proxy lets through is carried to the
one server here, and noted.
"""

import asyncio
import base64
import contextlib
import hashlib
import io
import zipfile
from collections.abc import AsyncIterator
from ipaddress import ip_address
from typing import Any

from computepool.agent.clock import SystemClock
from computepool.agent.egress.upstream import Upstream
from computepool.agent.outside import Outside

INDEX = "packages.example"
SITE = "www.example"
NEVER = "never.example"
"""Whoever asks for its address waits."""
PUBLIC = "93.184.216.34"


def wheel(name: str, version: str, code: str) -> tuple[str, bytes]:
    """The smallest package that pip installs."""
    info = f"{name}-{version}.dist-info"
    files = {
        f"{name}.py": code,
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    lines = [f"{path},sha256={_digest(text)},{len(text)}" for path, text in files.items()]
    files[f"{info}/RECORD"] = "\n".join([*lines, f"{info}/RECORD,,", ""])
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return f"{name}-{version}-py3-none-any.whl", buffer.getvalue()


def _digest(text: str) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(text.encode()).digest()).rstrip(b"=").decode()


class OuterWorld:
    def __init__(self) -> None:
        self.requests: list[str] = []
        """`host path` of each, in order."""
        self.wheels: dict[str, bytes] = {}
        self.port = 0

    def publish(self, name: str, version: str, code: str) -> None:
        file, data = wheel(name, version, code)
        self.wheels[file] = data

    async def lookup(self, host: str, port: int) -> list:
        """A name that begins with an address means that address: for names that lead home."""
        del port
        if host == NEVER:
            await asyncio.Event().wait()
        with contextlib.suppress(ValueError):
            return [ip_address(host.removesuffix(".rebound.example"))]
        return [ip_address(PUBLIC)]

    def outside(self, **changes) -> Outside:
        usual: dict[str, Any] = {
            "clock": SystemClock(),
            "lookup": self.lookup,
            "upstream": Upstream("127.0.0.1", self.port),
            "indexes": frozenset({INDEX}),
            "mirrors": {"PIP_INDEX_URL": f"http://{INDEX}/simple", "PIP_TRUSTED_HOST": INDEX},
        }
        return Outside(**(usual | changes))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"CONNECT "):
                writer.write(b"HTTP/1.1 200 fine\r\n\r\n")
                head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            path = lines[0].split(" ")[1]
            host = next((line[6:] for line in lines if line.lower().startswith("host: ")), "")
            self.requests.append(f"{host} {path}")
            status, body = self._answer(host, path)
            kind = "text/html" if path.endswith("/") else "application/octet-stream"
            answer = (
                f"HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {len(body)}\r\nConnection: close\r\n"
            )
            writer.write(answer.encode() + b"\r\n" + body)
            await writer.drain()
        writer.close()

    def _answer(self, host: str, path: str) -> tuple[str, bytes]:
        if host.partition(":")[0] != INDEX:
            return "200 OK", b"hello from the site\n"
        if path.startswith("/files/"):
            data = self.wheels.get(path.removeprefix("/files/"))
            return ("200 OK", data) if data is not None else ("404 Not Found", b"")
        name = path.removeprefix("/simple/").strip("/")
        links = [f'<a href="/files/{file}">{file}</a>' for file in self.wheels if file.startswith(f"{name}-")]
        return ("200 OK", "\n".join(links).encode()) if links else ("404 Not Found", b"")


@contextlib.asynccontextmanager
async def outer_world() -> AsyncIterator[OuterWorld]:
    world = OuterWorld()
    server = await asyncio.start_server(world._serve, "127.0.0.1", 0)
    world.port = server.sockets[0].getsockname()[1]
    try:
        yield world
    finally:
        server.close()
