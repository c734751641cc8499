"""Bytes from one side to the other, counted, at the reader's pace: no more is kept than two buffers a connection."""

import asyncio
import contextlib
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any

from .meter import Direction, Meter
from .requests import MAX_LINE_BYTES, Request
from .upstream import Streams

PIECE_BYTES = 32 * 1024
MAX_TRAILERS = 32


class Silence(Exception):
    """Nothing has come from either side for too long."""


@dataclass
class Line:
    client: Streams
    target: Streams
    last_at: float = 0.0


class Relay:
    def __init__(self, meter: Meter, idle_seconds: float, now: Callable[[], float]) -> None:
        self._meter = meter
        self._idle_seconds = idle_seconds
        self._now = now

    async def tunnel(self, line: Line) -> None:
        """Until both sides have said all they wanted."""
        line.last_at = self._now()
        up = self._pump(line, line.client[0], line.target[1], "out")
        await _both(up, self._pump(line, line.target[0], line.client[1], "in"))

    async def exchange(self, line: Line, request: Request) -> None:
        """One request, and its answer until the server closes. What the client sends beyond it goes nowhere: it could
        be a request for another name, which nobody has checked."""
        line.last_at = self._now()
        up = asyncio.create_task(self._send(line, request))
        down = asyncio.create_task(self._pump(line, line.target[0], line.client[1], "in"))
        try:
            await asyncio.wait({up, down}, return_when=asyncio.FIRST_COMPLETED)
            # A server may answer before it has read everything, and close: its answer counts.
            if up.done() and (error := up.exception()) and not isinstance(error, OSError):
                raise error
            await down
        finally:
            await _end(up, down)

    async def _send(self, line: Line, request: Request) -> None:
        await self._write(line, request.head, line.target[1], "out")
        if request.chunked:
            await self._send_chunks(line)
        else:
            await self._send_exactly(line, request.body_bytes)

    async def _send_exactly(self, line: Line, count: int) -> None:
        while count:
            piece = await self._read(line, line.client[0], min(count, PIECE_BYTES))
            if not piece:
                raise EOFError
            count -= len(piece)
            await self._write(line, piece, line.target[1], "out")

    async def _send_chunks(self, line: Line) -> None:
        while True:
            head = await self._send_line(line)
            try:
                size = int(head.split(b";")[0].strip(), 16)
            except ValueError:
                raise EOFError from None
            if not 0 <= size < 1 << 40:
                raise EOFError
            if size == 0:
                break
            await self._send_exactly(line, size + 2)
        for _ in range(MAX_TRAILERS):
            if await self._send_line(line) == b"\r\n":
                return
        raise EOFError

    async def _send_line(self, line: Line) -> bytes:
        try:
            async with asyncio.timeout(self._idle_seconds):
                text = await line.client[0].readuntil(b"\r\n")
        except asyncio.LimitOverrunError as error:
            raise EOFError from error
        except TimeoutError:
            raise Silence from None
        if len(text) > MAX_LINE_BYTES:
            raise EOFError
        await self._write(line, text, line.target[1], "out")
        return text

    async def _pump(
        self, line: Line, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, direction: Direction
    ) -> None:
        while piece := await self._read(line, reader, PIECE_BYTES):
            await self._write(line, piece, writer, direction)
        with contextlib.suppress(OSError):
            if writer.can_write_eof():
                writer.write_eof()

    async def _read(self, line: Line, reader: asyncio.StreamReader, most: int) -> bytes:
        while True:
            try:
                async with asyncio.timeout(self._idle_seconds):
                    return await reader.read(most)
            except TimeoutError:
                # The other direction may be busy all the while.
                if self._now() - line.last_at >= self._idle_seconds:
                    raise Silence from None

    async def _write(self, line: Line, piece: bytes, writer: asyncio.StreamWriter, direction: Direction) -> None:
        await self._meter.count(len(piece), direction)
        writer.write(piece)
        try:
            async with asyncio.timeout(self._idle_seconds):
                await writer.drain()
        except TimeoutError:
            raise Silence from None
        line.last_at = self._now()


async def _both(*works: Coroutine[Any, Any, None]) -> None:
    """Until both are through, or one fails."""
    tasks = [asyncio.create_task(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        for task in done:
            task.result()
    finally:
        await _end(*tasks)


async def _end(*tasks: asyncio.Task[None]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
