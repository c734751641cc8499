"""What an agent that is started again after `kill -9` or a power cut must know: one file, only ever appended to.

    L attempt until {…}   accepted: the signed manifest, and where it runs; written before the command starts
    E attempt {…}         how it ended; written before anybody is told
    G attempt why         given back, and the hub has not acknowledged it yet
    F attempt             the hub has it all: forget it
    S attempt until       accepted once, and replayable until then

A few writes to an open file cost a job far less than files of its own. Nothing is synced: a killed agent loses nothing
of the page cache, and an attempt that a power cut wiped out is one that the hub misses in the agent's proof.
"""

import contextlib
import errno
import json
import os
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from computepool.agent.removal import remove_tree
from computepool.agent.spool import SealedLog
from computepool.protocol.manifest import Manifest
from computepool.protocol.model import Wire
from computepool.protocol.receipt import EndReason
from computepool.protocol.signing import Signed
from computepool.protocol.states import IsolationLevel

SEEN_MARGIN_SECONDS = 600.0
"""Remembered beyond the manifest's own expiry, for a hub whose clock was set back."""
COMPACT_BYTES = 8 * 1024 * 1024
LOG_SUFFIXES = frozenset({".log", ".tail"})


class Lease(Wire):
    """An accepted offer, as journaled."""

    manifest: Signed
    isolation: IsolationLevel
    folder: str
    """The job's folder on this machine."""
    accepted_at: datetime
    own: bool = False


class Ended(Wire):
    """How an attempt ended: the receipt, but for what is known only when its outputs were collected."""

    exit_code: int | None
    reason: EndReason
    detail: str = ""
    isolation: IsolationLevel | None = None
    """None when the command never started."""
    running_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
    setup_seconds: float = 0.0
    suspended_seconds: float = 0.0
    network_bytes: int = 0
    power_capped_seconds: float = 0.0
    image_digest: str | None = None
    started_at: datetime | None = None
    finished_at: datetime
    log: SealedLog


@dataclass(frozen=True)
class Leftover:
    """An attempt that an earlier run of the agent left behind."""

    attempt_id: str
    lease: Lease
    manifest: Manifest
    ended: Ended | None
    gone: str | None = None
    """Why it was given back."""


@dataclass
class _Lines:
    """The lines of an attempt that is not yet forgotten."""

    lease: bytes
    ended: bytes | None = None
    gone: bytes | None = None


class Journal:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._path = folder / "journal"
        self._fd = -1
        self._size = 0
        self._compact_at = COMPACT_BYTES
        self._live: dict[str, _Lines] = {}
        self._seen: dict[str, float] = {}

    def log_path(self, attempt_id: str) -> Path:
        return self._folder / f"{attempt_id}.log"

    def log_bytes(self, device: int) -> int:
        """What all logs of jobs take of this disk. Raises OSError."""
        logs = [path for path in self._folder.iterdir() if path.suffix in LOG_SUFFIXES]
        infos = [path.stat() for path in logs]
        return sum(info.st_blocks * 512 for info in infos if info.st_dev == device)

    # ── writing ──

    def has_seen(self, attempt_id: str) -> bool:
        return attempt_id in self._seen

    def note_seen(self, attempt_id: str, expires_at: datetime) -> None:
        """From here on the same manifest is a replay. In memory, until its lease or its refusal is written."""
        self._seen[attempt_id] = expires_at.timestamp() + SEEN_MARGIN_SECONDS

    def write_lease(self, attempt_id: str, lease: Lease) -> None:
        """Raises OSError when the disk is full; then nothing was written, and nothing may be run."""
        line = b"L %s %d %s\n" % (attempt_id.encode(), self._seen.get(attempt_id, 0), lease.to_bytes())
        self._append(line)
        self._live[attempt_id] = _Lines(line)

    def write_refusal(self, attempt_id: str) -> None:
        self._append(_seen_line(attempt_id, self._seen.get(attempt_id, 0)))

    def write_ended(self, attempt_id: str, ended: Ended) -> None:
        line = b"E %s %s\n" % (attempt_id.encode(), ended.to_bytes())
        self._append(line)
        if attempt_id in self._live:
            self._live[attempt_id].ended = line

    def write_gone(self, attempt_id: str, reason: str) -> None:
        """Whose doing it was, for an agent that is restarted before the hub has heard it."""
        if attempt_id in self._live:
            line = b"G %s %s\n" % (attempt_id.encode(), json.dumps(reason).encode())
            with contextlib.suppress(OSError):
                self._append(line)
                self._live[attempt_id].gone = line

    def forget(self, attempt_id: str) -> None:
        if self._live.pop(attempt_id, None) is not None:
            with contextlib.suppress(OSError):
                self._append(b"F %s\n" % attempt_id.encode())

    def _append(self, line: bytes) -> None:
        if self._fd < 0:
            self._fd = os.open(self._path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
            self._size = os.fstat(self._fd).st_size
        if os.write(self._fd, line) != len(line):
            # A half line would swallow the next one.
            os.ftruncate(self._fd, self._size)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self._path))
        self._size += len(line)

    # ── reading ──

    def load(self) -> list[Leftover]:
        """What earlier runs of the agent left; whatever cannot be read is dropped."""
        self.close()
        self._live.clear()
        self._seen.clear()
        with contextlib.suppress(OSError):
            for line in self._path.read_bytes().splitlines(keepends=True):
                with contextlib.suppress(ValueError, IndexError):
                    self._replay(line)
        leftovers = [left for left in map(self._leftover, list(self._live)) if left is not None]
        # On a full disk it stays as long as it is.
        with contextlib.suppress(OSError):
            self._compact(None)
        return leftovers

    def _replay(self, line: bytes) -> None:
        if not line.endswith(b"\n"):
            raise ValueError("torn")
        kind, attempt_id, *rest = line.rstrip(b"\n").split(b" ", 3 if line.startswith(b"L") else 2)
        name = attempt_id.decode()
        match kind:
            case b"L":
                self._seen[name] = float(rest[0])
                self._live[name] = _Lines(line)
            case b"E":
                if name in self._live:
                    self._live[name].ended = line
            case b"G":
                if name in self._live:
                    self._live[name].gone = line
            case b"F":
                self._live.pop(name, None)
            case b"S":
                self._seen[name] = float(rest[0])

    def _leftover(self, attempt_id: str) -> Leftover | None:
        lines = self._live[attempt_id]
        try:
            lease = Lease.model_validate_json(lines.lease.split(b" ", 3)[3])
            # It was verified when it was accepted, and only this user may write here.
            manifest = Manifest.model_validate_json(lease.manifest.body)
        except ValidationError:
            del self._live[attempt_id]
            return None
        ended = None
        if lines.ended is not None:
            with contextlib.suppress(ValidationError):
                ended = Ended.model_validate_json(lines.ended.split(b" ", 2)[2])
        gone = None
        if lines.gone is not None:
            with contextlib.suppress(ValueError, IndexError):
                gone = str(json.loads(lines.gone.split(b" ", 2)[2]))
        return Leftover(attempt_id, lease, manifest, ended, gone)

    def tidy(self, now: datetime) -> None:
        """Now and then: keep the file small."""
        if self._size > self._compact_at:
            with contextlib.suppress(OSError):
                self._compact(now)

    def _compact(self, now: datetime | None) -> None:
        """`now` is the hub's time. Before it is known nothing is forgotten: this machine's clock may have jumped, and
        a manifest that was run once and then forgotten could be run again.
        """
        if now is not None:
            self._seen = {name: until for name, until in self._seen.items() if until > now.timestamp()}
        lines = [_seen_line(name, until) for name, until in self._seen.items() if name not in self._live]
        for attempt in self._live.values():
            lines += [attempt.lease, attempt.ended or b"", attempt.gone or b""]
        fresh = self._path.with_suffix(".new")
        fresh.write_bytes(b"".join(lines))
        fresh.chmod(0o600)
        self.close()
        fresh.replace(self._path)
        self._size = sum(map(len, lines))
        self._compact_at = self._size + COMPACT_BYTES

    def sweep_strays(self) -> None:
        """Remove logs whose attempt is forgotten."""
        for path in self._folder.iterdir():
            if path.suffix in LOG_SUFFIXES and path.stem not in self._live:
                remove_tree(path)

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def _seen_line(attempt_id: str, until: float) -> bytes:
    return b"S %s %d\n" % (attempt_id.encode(), until)
