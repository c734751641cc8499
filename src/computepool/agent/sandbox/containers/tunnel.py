"""The agent's end of a door that is kept open from inside: many connections through a container's input and errors.

Some networks cannot be entered from outside: gVisor's is its own, and that of a container belongs to the engine of
another user. There a small program (door/door.c) listens inside, and everything that comes to it comes here in frames:
kind, number of the connection, two bytes of nothing, four for a length (little-endian), and what DATA carries.

    OPEN      from inside: somebody has connected. The number is free again once both sides have sent END or RESET
    DATA      never more than the other side has room for: WINDOW at first, and what CREDIT adds
    END       this side sends no more
    RESET     this side neither sends nor takes any more
    CREDIT    so many bytes were taken; it may still come after the last END

Inside, the job may say anything in the program's place. Whoever breaks these rules has lost the way out; nobody can
make the agent keep more than a bounded amount. What goes where is not decided here: every connection is handed to
whoever serves the door, as one that arrives at a listening socket.
"""

import asyncio
import logging
import socket
import struct
import tempfile
from dataclasses import dataclass, field
from pathlib import Path

from computepool.agent.removal import remove_tree
from computepool.agent.sandbox.interface import ServeEgress

from .output import STDERR, Frames

log = logging.getLogger(__name__)

CONNECTIONS = 128
WINDOW = 65_536
PIECE_BYTES = 16_384
UNREAD_BYTES = CONNECTIONS * PIECE_BYTES + (1 << 20)
"""More than all connections together may have on their way in: whoever lets it come to this does not read."""
READ_BYTES = 1 << 17
HEAD = struct.Struct("<BBxxI")
OPEN, DATA, END, RESET, CREDIT = range(1, 6)


class TunnelBroken(Exception):
    """What came from inside is against the rules."""


@dataclass
class Line:
    """One connection."""

    number: int
    credit: int = WINDOW
    """What the other side has room for."""
    room: int = WINDOW
    """What it may send."""
    pending: bytearray = field(default_factory=bytearray)
    sent_end: bool = False
    got_end: bool = False
    is_lost: bool = False
    moved: asyncio.Event = field(default_factory=asyncio.Event)
    """Something has come from inside."""
    credited: asyncio.Event = field(default_factory=asyncio.Event)

    def goes_on(self) -> bool:
        return not self.is_lost


class Tunnel:
    """Runs on the event loop that made it, until the container ends, or `close`."""

    def __init__(
        self, source: socket.socket, rest: bytes, serve: ServeEgress, *, unread_bytes: int = UNREAD_BYTES
    ) -> None:
        """`source` is the engine's stream, with `rest` read already; `serve` gets what comes to the door."""
        self._unread_bytes = unread_bytes
        self._source = source
        self._frames = Frames(only=STDERR)
        self._heard = bytearray()
        self._lines: dict[int, Line] = {}
        self._attending: set[asyncio.Task[None]] = set()
        self._writer: asyncio.StreamWriter | None = None
        # Nobody else's: other users of this machine must not come in by it.
        self._folder = Path(tempfile.mkdtemp(prefix="computepool-door-"))
        self._place = str(self._folder / "door")
        listener = socket.socket(socket.AF_UNIX)
        listener.bind(self._place)
        listener.listen(CONNECTIONS)
        serve(listener)
        self._running = asyncio.get_running_loop().create_task(self._run(rest))

    def close(self) -> None:
        for task in (self._running, *self._attending):
            task.cancel()
        if self._writer is None:
            self._source.close()
        remove_tree(self._folder)

    async def wait_closed(self) -> None:
        await asyncio.gather(self._running, *self._attending, return_exceptions=True)

    async def _run(self, rest: bytes) -> None:
        try:
            reader, self._writer = await asyncio.open_connection(sock=self._source)
            data = rest
            while True:
                for piece in self._frames.open(memoryview(data)):
                    await self._hear(piece)
                data = await reader.read(READ_BYTES)
                if not data:
                    return
        except TunnelBroken as error:
            log.warning("door.broken", extra={"why": str(error)})
        except OSError as error:
            log.debug("door.closed error=%s", error)
        finally:
            for line in list(self._lines.values()):
                self._lose(line)
            if self._writer is not None:
                self._writer.transport.abort()

    # ── from inside ──

    async def _hear(self, piece: memoryview) -> None:
        self._heard += piece
        place = 0
        while len(self._heard) - place >= HEAD.size:
            kind, number, length = HEAD.unpack_from(self._heard, place)
            payload = length if kind == DATA else 0
            if payload > WINDOW:
                raise TunnelBroken("a piece is longer than any may be")
            if len(self._heard) - place < HEAD.size + payload:
                break
            start = place + HEAD.size
            place = start + payload
            if kind == OPEN:
                await self._until_few()
            self._obey(kind, number, length, self._heard[start:place])
            if self._writer is None or self._writer.transport.is_closing():
                raise TunnelBroken("what is sent inside is not read there")
        del self._heard[:place]

    async def _until_few(self) -> None:
        """Connections that are over inside may take a moment here; nobody opens new ones faster than that."""
        while len(self._attending) >= 2 * CONNECTIONS:
            await asyncio.wait(self._attending, return_when=asyncio.FIRST_COMPLETED)

    def _obey(self, kind: int, number: int, length: int, payload: bytearray) -> None:
        line = self._lines.get(number)
        if kind == OPEN and line is None and number < CONNECTIONS:
            self._lines[number] = line = Line(number)
            task = asyncio.get_running_loop().create_task(self._attend(line))
            self._attending.add(task)
            task.add_done_callback(self._attending.discard)
        elif line is None and kind == CREDIT:
            return  # our last word was still on its way
        elif line is None or kind == OPEN:
            raise TunnelBroken(f"frame {kind} for connection {number}, which is not what that one is waiting for")
        elif kind == DATA and not line.got_end and length <= line.room:
            line.room -= length
            line.pending += payload
        elif kind == CREDIT and line.credit + length <= WINDOW:
            line.credit += length
            line.credited.set()
        elif kind in (END, RESET) and not line.got_end:
            line.got_end = True
            if kind == RESET:
                self._lose(line)
            self._forget_if_over(line)
        else:
            raise TunnelBroken(f"frame {kind} is out of place")
        line.moved.set()

    # ── one connection ──

    async def _attend(self, line: Line) -> None:
        try:
            reader, writer = await asyncio.open_unix_connection(self._place)
        except OSError:
            self._lose(line)
            return
        giving = asyncio.create_task(self._give(line, writer))
        taking = asyncio.create_task(self._take(line, reader))
        try:
            await asyncio.gather(giving, taking)
            writer.close()
            await writer.wait_closed()
        except OSError:
            self._lose(line)
        finally:
            writer.transport.abort()
            for task in (giving, taking):
                task.cancel()
            await asyncio.gather(giving, taking, return_exceptions=True)

    async def _give(self, line: Line, writer: asyncio.StreamWriter) -> None:
        """To whoever serves, what came from inside."""
        while True:
            await line.moved.wait()
            line.moved.clear()
            if line.is_lost:
                raise ConnectionResetError
            if line.pending:
                piece, line.pending = line.pending, bytearray()
                writer.write(piece)
                await writer.drain()
                if not line.got_end:
                    line.room += len(piece)
                    self._send(CREDIT, line, len(piece))
            if line.got_end and not line.pending:
                writer.write_eof()
                return

    async def _take(self, line: Line, reader: asyncio.StreamReader) -> None:
        """From whoever serves, as much as there is room for inside."""
        while line.goes_on():
            if not line.credit:
                line.credited.clear()
                await line.credited.wait()
                continue
            piece = await reader.read(min(line.credit, PIECE_BYTES))
            if not line.goes_on():
                return
            if not piece:
                line.sent_end = True
                self._send(END, line)
                self._forget_if_over(line)
                return
            line.credit -= len(piece)
            self._send(DATA, line, len(piece), piece)
            if self._writer is not None:
                await self._writer.drain()

    def _lose(self, line: Line) -> None:
        line.is_lost = True
        line.moved.set()
        line.credited.set()
        if not line.sent_end:
            line.sent_end = True
            self._send(RESET, line)
        self._forget_if_over(line)

    def _forget_if_over(self, line: Line) -> None:
        if line.sent_end and line.got_end and self._lines.get(line.number) is line:
            del self._lines[line.number]

    def _send(self, kind: int, line: Line, length: int = 0, payload: bytes = b"") -> None:
        writer = self._writer
        if writer is None or writer.transport.is_closing():
            return
        writer.write(HEAD.pack(kind, line.number, length) + payload)
        if writer.transport.get_write_buffer_size() > self._unread_bytes:
            writer.transport.abort()
