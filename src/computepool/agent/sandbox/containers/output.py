"""From the engine's stream of a container's output to a plain pipe, as fast as its reader takes it.

The engine packs every piece in a frame: a byte for the stream, three of nothing, four for the length. Here the frames
are opened and what is in them goes on in as few system calls as there can be, without being copied in between.
When the pipe is full nothing more is read, so that the job waits as it would on a pipe of its own.
"""

import asyncio
import os
import socket

HEADER_BYTES = 8
STDOUT, STDERR = 1, 2
CHUNK_BYTES = 1 << 18
# The kernel takes no more pieces than this at once.
PIECES = 512


class Frames:
    """Takes a stream apart, whatever pieces it comes in. `only` one of the two: podman sends both to whoever asks."""

    def __init__(self, only: int | None = None) -> None:
        self._only = only
        self._is_wanted = True
        self._header = b""
        self._left = 0

    def open(self, data: memoryview) -> list[memoryview]:
        """What was in it, as views of the same memory."""
        found: list[memoryview] = []
        place, end = 0, len(data)
        while place < end:
            if self._left:
                piece = data[place : place + self._left]
                if self._is_wanted:
                    found.append(piece)
                place += len(piece)
                self._left -= len(piece)
                continue
            wanted = HEADER_BYTES - len(self._header)
            self._header += bytes(data[place : place + wanted])
            place += wanted
            if len(self._header) == HEADER_BYTES:
                self._left = int.from_bytes(self._header[4:], "big")
                self._is_wanted = self._only in (None, self._header[0])
                self._header = b""
        return found


class Pump:
    """Runs on the event loop that made it, until the stream ends or nobody reads any more."""

    def __init__(self, source: socket.socket, rest: bytes, only: int | None = None) -> None:
        self._loop = asyncio.get_running_loop()
        self._source = source
        self._frames = Frames(only)
        self._buffer = bytearray(CHUNK_BYTES)
        self._view = memoryview(self._buffer)
        self._waiting: list[memoryview] = []
        self._done = False
        self.output_fd, self._sink = os.pipe()
        os.set_blocking(self.output_fd, False)
        os.set_blocking(self._sink, False)
        self._loop.add_reader(source, self._take)
        if rest:
            self._pass_on(self._frames.open(memoryview(rest)))

    def _take(self) -> None:
        try:
            count = self._source.recv_into(self._buffer)
        except BlockingIOError:
            return
        except OSError:
            count = 0
        if count:
            self._pass_on(self._frames.open(self._view[:count]))
        else:
            self.close()

    def _pass_on(self, pieces: list[memoryview]) -> None:
        try:
            left = self._write(pieces)
        except OSError:  # nobody reads it any more
            self.close()
            return
        if left and not self._waiting:
            self._loop.remove_reader(self._source)
            self._loop.add_writer(self._sink, self._go_on)
        self._waiting = left

    def _go_on(self) -> None:
        try:
            self._waiting = self._write(self._waiting)
        except OSError:
            self.close()
            return
        if not self._waiting:
            self._loop.remove_writer(self._sink)
            self._loop.add_reader(self._source, self._take)

    def _write(self, pieces: list[memoryview]) -> list[memoryview]:
        """What did not fit."""
        while pieces:
            try:
                written = os.writev(self._sink, pieces[:PIECES])
            except BlockingIOError:
                return pieces
            pieces = _after(pieces, written)
        return pieces

    def close(self) -> None:
        """The reader then sees the end. What is waiting for a slow reader is lost, so only when all has come."""
        if self._done:
            return
        self._done = True
        self._loop.remove_reader(self._source)
        self._loop.remove_writer(self._sink)
        self._source.close()
        os.close(self._sink)


def _after(pieces: list[memoryview], count: int) -> list[memoryview]:
    for number, piece in enumerate(pieces):
        if count < len(piece):
            return [piece[count:], *pieces[number + 1 :]]
        count -= len(piece)
    return []
