"""As much HTTP as it takes to talk to an engine on a unix socket, with the standard library alone.

One connection per request, closed afterwards: to a unix socket that costs less than finding out that a kept one is
dead. An answer that ends too early is an error, never a short answer.
"""

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

HEAD_LIMIT_BYTES = 1 << 20
PIECE_BYTES = 1 << 16


class EngineConnectionBroken(Exception):
    """The other side hung up in the middle, or does not speak HTTP."""


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: Mapping[str, str | Sequence[str]]
    body: Any = None
    content: bytes | None = None
    pieces: AsyncIterator[bytes] | None = None
    """A long body, sent as it comes."""
    silence_seconds: float | None = None
    """How long the other side may take nothing of it."""

    def to_bytes(self) -> bytes:
        """All but a long body."""
        target = f"{self.path}?{urlencode(self.query, doseq=True)}" if self.query else self.path
        content, kind = self.content, "application/x-tar"
        if content is None:
            content, kind = (json.dumps(self.body).encode(), "application/json") if self.body is not None else (b"", "")
        head = [f"{self.method} {target} HTTP/1.1", "Host: engine", "Connection: close"]
        head += [f"Content-Type: {kind}"] if kind else []
        if self.pieces is not None:
            head += ["Content-Type: application/x-tar", "Transfer-Encoding: chunked"]
        elif content or self.method == "POST":
            head += [f"Content-Length: {len(content)}"]
        return "\r\n".join([*head, "", ""]).encode() + content


@dataclass
class Answer:
    status: int
    headers: Mapping[str, str]
    _reader: asyncio.StreamReader
    _has_body: bool

    async def pieces(self) -> AsyncIterator[bytes]:
        """The body as it comes."""
        if not self._has_body:
            return
        if self.headers.get("transfer-encoding", "").lower() == "chunked":
            async for piece in self._chunks():
                yield piece
        elif "content-length" in self.headers:
            left = int(self.headers["content-length"])
            while left:
                piece = await self._reader.read(min(left, PIECE_BYTES))
                if not piece:
                    raise EngineConnectionBroken("it hung up in the middle of an answer")
                left -= len(piece)
                yield piece
        else:
            while piece := await self._reader.read(PIECE_BYTES):
                yield piece

    async def _chunks(self) -> AsyncIterator[bytes]:
        while True:
            size = int((await self._reader.readuntil(b"\r\n")).partition(b";")[0], 16)
            piece = await self._reader.readexactly(size + 2)
            if not size:
                return
            yield piece[:-2]

    async def read(self) -> bytes:
        return b"".join([piece async for piece in self.pieces()])

    async def lines(self) -> AsyncIterator[bytes]:
        rest = b""
        async for piece in self.pieces():
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                yield line
        yield rest


@contextlib.asynccontextmanager
async def send(path: Path, request: Request) -> AsyncIterator[Answer]:
    """The answer, while it is read. Raises OSError, Broken."""
    reader, writer = await asyncio.open_unix_connection(str(path), limit=HEAD_LIMIT_BYTES)
    try:
        writer.write(request.to_bytes())
        await writer.drain()
        if request.pieces is not None:
            await _send_pieces(writer, request.pieces, request.silence_seconds)
        yield await _answer(reader, request.method)
    except (asyncio.IncompleteReadError, asyncio.LimitOverrunError, ValueError, IndexError) as error:
        raise EngineConnectionBroken(f"it hung up: {error}") from error
    finally:
        writer.close()


async def _send_pieces(
    writer: asyncio.StreamWriter, pieces: AsyncIterator[bytes], silence_seconds: float | None
) -> None:
    """One that does not read to the end has an answer already."""
    try:
        async for piece in pieces:
            if piece:
                writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                async with asyncio.timeout(silence_seconds):
                    await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
    except ConnectionError:
        return


async def _answer(reader: asyncio.StreamReader, method: str) -> Answer:
    first, *lines = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").strip().split("\r\n")
    headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    status = int(first.split()[1])
    return Answer(status, headers, reader, method != "HEAD" and status not in {204, 304})
