"""One attempt's log on the node's disk, from the command's pipe until the hub has every byte.

The first half of the allowance is kept whole and can be sent at once. What comes after it goes round in a ring, so
that the end survives; when the command is done, a marker line says how much is missing between the two. What a full
disk does not take is left out as well: the log goes on behind a line that says so when there is room again.

    hub's offsets   0 ──────── head ────────┬─ marker ─┬──────── tail ────────►
    on disk         <id>.log                │          │ <id>.tail, a ring
"""

import contextlib
import errno
import hashlib
import os
from pathlib import Path

from computepool.agent.disk import is_full
from computepool.protocol.messages import LOG_LIMIT_BYTES
from computepool.protocol.model import Wire

MARKER_BYTES = 128
"""Kept free for the line that says what is missing."""
_READ_BYTES = 1024 * 1024
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW


class SealedLog(Wire):
    """How a finished log lies on disk: all that a restarted agent needs to go on sending it."""

    digest: str
    head_bytes: int = 0
    marker: str = ""
    tail_bytes: int = 0
    tail_start: int = 0
    """Where in the ring its oldest byte is."""

    @property
    def size_bytes(self) -> int:
        return self.head_bytes + len(self.marker.encode()) + self.tail_bytes


EMPTY_LOG = SealedLog(digest="sha256:" + hashlib.sha256().hexdigest())


class LogSpool:
    """Written by the reader of the pipe, read by the sender. The files appear with the first byte."""

    def __init__(self, path: Path, *, limit_bytes: int = LOG_LIMIT_BYTES) -> None:
        self._path = path
        self._tail_path = path.with_suffix(".tail")
        self._head_limit = limit_bytes // 2
        self._ring_bytes = limit_bytes - self._head_limit - MARKER_BYTES
        self._head_fd = self._tail_fd = -1
        self._has_files = False
        self._head = 0
        self._overflow = 0
        """Bytes that went into the ring, those it forgot included."""
        self._gap = 0
        """Bytes for which the disk had no room, and of which no line in the log tells yet."""
        self._hash = hashlib.sha256()
        self._sealed: SealedLog | None = None

    @classmethod
    def reopen(cls, path: Path, sealed: SealedLog, *, limit_bytes: int = LOG_LIMIT_BYTES) -> "LogSpool":
        """The log of an attempt that ended before the agent was restarted."""
        spool = cls(path, limit_bytes=limit_bytes)
        spool._sealed = sealed
        spool._head = sealed.head_bytes
        spool._has_files = True
        return spool

    @property
    def sealed(self) -> SealedLog | None:
        return self._sealed

    @property
    def ready_bytes(self) -> int:
        """How many bytes of the hub's log exist by now."""
        return self._head if self._sealed is None else self._sealed.size_bytes

    @property
    def stored_bytes(self) -> int:
        """What it takes of the node's disk."""
        return self._head + min(self._overflow, self._ring_bytes)

    def append(self, data: bytes) -> None:
        """Raises OSError when the disk fails, and not when it is full."""
        if self._gap and not self._tell_gap():
            self._gap += len(data)
        else:
            self._gap += len(data) - self._take(data)

    def _tell_gap(self) -> bool:
        line = f"\n[computepool: {self._gap} bytes of the log were dropped here: the node's disk was full]\n".encode()
        if self._take(line) < len(line):
            return False
        self._gap = 0
        return True

    def _take(self, data: bytes) -> int:
        """How many bytes of it the disk had room for."""
        before = self._head + self._overflow
        try:
            room = self._head_limit - self._head
            if room > 0:
                self._append_head(data if len(data) <= room else data[:room])
            if len(data) > room:
                self._append_tail(data[max(0, room) :])
        except OSError as error:
            if not is_full(error):
                raise
        return self._head + self._overflow - before

    def _append_head(self, data: bytes) -> None:
        if self._head_fd < 0:
            self._has_files = True
            self._head_fd = os.open(self._path, _FLAGS | os.O_TRUNC, 0o600)
        view = memoryview(data)
        while view:
            written = os.pwrite(self._head_fd, view, self._head)
            self._hash.update(view[:written])
            self._head += written
            view = view[written:]

    def _append_tail(self, data: bytes) -> None:
        if self._tail_fd < 0:
            self._tail_fd = os.open(self._tail_path, _FLAGS | os.O_TRUNC, 0o600)
        if len(data) > self._ring_bytes:
            self._overflow += len(data) - self._ring_bytes
            data = data[-self._ring_bytes :]
        view = memoryview(data)
        while view:
            place = self._overflow % self._ring_bytes
            written = os.pwrite(self._tail_fd, view[: self._ring_bytes - place], place)
            self._overflow += written
            view = view[written:]

    def seal(self) -> SealedLog:
        """No more will be written. Reads the ring once, so with a long tail this belongs off the event loop."""
        if self._sealed is not None:
            return self._sealed
        if self._gap:
            self._tell_gap()
        tail = min(self._overflow, self._ring_bytes)
        forgotten = self._overflow - tail
        dropped = forgotten + self._gap
        layout = SealedLog(
            digest="",
            head_bytes=self._head,
            marker=f"\n[computepool: {dropped} bytes of the log were dropped here]\n" if dropped else "",
            tail_bytes=tail,
            tail_start=self._overflow % self._ring_bytes if forgotten else 0,
        )
        if self._overflow or dropped:
            self._hash.update(layout.marker.encode())
            start = 0
            while start < tail:
                piece = self._read_tail(layout, start, min(_READ_BYTES, tail - start))
                self._hash.update(piece)
                start += len(piece)
        self._sealed = layout.model_copy(update={"digest": "sha256:" + self._hash.hexdigest()})
        return self._sealed

    def cut_off(self, size_bytes: int) -> SealedLog:
        """A sealed log ends here instead: the rest will never be sent. Blocking. Raises OSError."""
        assert self._sealed is not None
        before = self._sealed
        digest, offset = hashlib.sha256(), 0
        while offset < size_bytes:
            piece = self.read(offset, min(_READ_BYTES, size_bytes - offset))
            if not piece:
                raise OSError(errno.EIO, "the log is not as it was written", str(self._path))
            digest.update(piece)
            offset += len(piece)
        head = min(before.head_bytes, size_bytes)
        marker = before.marker.encode()[: size_bytes - head].decode()
        layout = {"head_bytes": head, "marker": marker, "tail_bytes": size_bytes - head - len(marker)}
        self._sealed = before.model_copy(update={"digest": f"sha256:{digest.hexdigest()}", **layout})
        self._head = head
        return self._sealed

    @property
    def has_tail(self) -> bool:
        return self._overflow > 0

    def read(self, offset: int, size: int) -> bytes:
        """Bytes of the hub's log, as far as they exist."""
        size = min(size, self.ready_bytes - offset)
        if size <= 0:
            return b""
        if offset < self._head:
            return os.pread(self._open_head(), min(size, self._head - offset), offset)
        assert self._sealed is not None
        offset -= self._head
        marker = self._sealed.marker.encode()
        if offset < len(marker):
            return marker[offset : offset + size]
        return self._read_tail(self._sealed, offset - len(marker), size)

    def is_intact(self) -> bool:
        """Whether what was sealed is still on the disk, byte for byte: after a power cut it may not be. Blocking."""
        assert self._sealed is not None
        digest = hashlib.sha256()
        offset = 0
        while offset < self._sealed.size_bytes:
            piece = self.read(offset, _READ_BYTES)
            if not piece:
                return False
            digest.update(piece)
            offset += len(piece)
        return self._sealed.digest == "sha256:" + digest.hexdigest()

    def _read_tail(self, layout: SealedLog, start: int, size: int) -> bytes:
        if self._tail_fd < 0:
            self._tail_fd = os.open(self._tail_path, _FLAGS, 0o600)
        place = (layout.tail_start + start) % self._ring_bytes
        return os.pread(self._tail_fd, min(size, self._ring_bytes - place), place)

    def _open_head(self) -> int:
        if self._head_fd < 0:
            self._head_fd = os.open(self._path, _FLAGS, 0o600)
        return self._head_fd

    def close(self) -> None:
        for fd in (self._head_fd, self._tail_fd):
            if fd >= 0:
                os.close(fd)
        self._head_fd = self._tail_fd = -1

    def remove(self) -> None:
        """The hub has it all, or nobody wants it."""
        self.close()
        if self._has_files:
            for path in (self._path, self._tail_path):
                with contextlib.suppress(OSError):
                    path.unlink()
