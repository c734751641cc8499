"""A command's pipe, read by the event loop itself: no thread, no copy in between."""

import asyncio
import os
from collections.abc import Callable

from computepool.agent.sandbox.interface import Process

READ_BYTES = 64 * 1024
LAST_BYTES = 1024 * 1024
"""At most this much is taken after the command is gone: the largest that a pipe holds."""


class PipeOutput:
    """Owns the file descriptor, and closes it when it is read to its end."""

    def __init__(self, process: Process) -> None:
        self._fd = process.output_fd
        self._sift = process.sift
        self._loop = asyncio.get_running_loop()
        self._on_data: Callable[[bytes], None] = lambda _: None
        self._on_end: Callable[[], None] = lambda: None
        os.set_blocking(self._fd, False)

    def start(self, on_data: Callable[[bytes], None], on_end: Callable[[], None]) -> None:
        self._on_data, self._on_end = on_data, on_end
        self._loop.add_reader(self._fd, self._readable)

    def _readable(self) -> None:
        self._read(READ_BYTES)

    def _read(self, size: int) -> int:
        """How much was read; 0 when there is nothing now, or never again."""
        if self._fd < 0:
            return 0
        try:
            data = os.read(self._fd, size)
        except BlockingIOError:
            return 0
        except OSError:
            data = b""
        if data:
            if said := self._sift(data):
                self._on_data(said)
            return len(data)
        self._end()
        return 0

    def _end(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)
            os.close(self._fd)
            self._fd = -1
            self._on_end()

    def pause(self) -> None:
        if self._fd >= 0:
            self._loop.remove_reader(self._fd)

    def resume(self) -> None:
        if self._fd >= 0:
            self._loop.add_reader(self._fd, self._readable)

    def close(self) -> None:
        taken = 0
        while taken < LAST_BYTES and (size := self._read(READ_BYTES)):
            taken += size
        self._end()
