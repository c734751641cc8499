"""What an agent that is started again after `kill -9` or a power cut must know. Flat files in `journal/`:

    <attempt>.lease   the signed manifest, and where it was run; written before the command starts
    <attempt>.log     its log, see spool.py
    <attempt>.ended   how it ended; written before anybody is told
    seen              every manifest that was accepted and could still be replayed

Nothing is synced: a killed agent loses nothing of the page cache, and after a power cut an attempt without its files
is one that the hub is told is gone, or that it misses in the agent's proof.
"""

import contextlib
import errno
import os
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import ValidationError

from computepool.agent.home import write_atomically
from computepool.agent.spool import SealedLog
from computepool.protocol.manifest import Manifest
from computepool.protocol.model import Wire
from computepool.protocol.receipt import EndReason
from computepool.protocol.signing import Signed
from computepool.protocol.states import IsolationLevel

SEEN_MARGIN_SECONDS = 600.0
"""Kept beyond the manifest's own expiry, for a hub whose clock was set back."""
SEEN_COMPACT_LINES = 20_000


class Lease(Wire):
    """An accepted offer, as journaled."""

    manifest: Signed
    isolation: IsolationLevel
    folder: str
    """The job's folder on this machine."""
    accepted_at: datetime


class Ended(Wire):
    """How an attempt ended: the receipt, but for what is known only when its outputs were collected."""

    exit_code: int | None
    reason: EndReason
    detail: str = ""
    isolation: IsolationLevel
    running_seconds: float = 0.0
    cpu_seconds: float = 0.0
    peak_memory_bytes: int = 0
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


class Journal:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._seen_path = folder / "seen"
        self._seen: dict[str, float] = {}
        self._seen_fd = -1
        self._seen_lines = 0

    # ── attempts ──

    def log_path(self, attempt_id: str) -> Path:
        return self._folder / f"{attempt_id}.log"

    def write_lease(self, attempt_id: str, lease: Lease) -> None:
        _write(self._folder / f"{attempt_id}.lease", lease.to_bytes())

    def write_ended(self, attempt_id: str, ended: Ended) -> None:
        _write(self._folder / f"{attempt_id}.ended", ended.to_bytes())

    def forget(self, attempt_id: str) -> None:
        for suffix in (".lease", ".ended"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(f"{self._folder}/{attempt_id}{suffix}")  # noqa: PTH108 - on the way of every job

    def leftovers(self) -> Iterator[Leftover]:
        """What earlier runs of the agent left. A lease that cannot be read is removed: nobody can finish it."""
        for path in sorted(self._folder.glob("*.lease")):
            try:
                lease = Lease.model_validate_json(path.read_bytes())
                # It was verified when it was accepted, and only this user may write here.
                manifest = Manifest.model_validate_json(lease.manifest.body)
            except (OSError, ValidationError):
                path.unlink(missing_ok=True)
                continue
            yield Leftover(path.stem, lease, manifest, self._read_ended(path.stem))

    def _read_ended(self, attempt_id: str) -> Ended | None:
        try:
            return Ended.model_validate_json((self._folder / f"{attempt_id}.ended").read_bytes())
        except (OSError, ValidationError):
            return None

    def sweep_strays(self) -> None:
        """Remove logs and results whose lease is gone."""
        for path in self._folder.iterdir():
            if path.suffix in {".log", ".tail", ".ended"} and not path.with_suffix(".lease").exists():
                path.unlink(missing_ok=True)

    # ── replays ──

    def open_seen(self, now: datetime) -> None:
        """Load what was accepted before; forget what expired."""
        self._seen = {}
        with contextlib.suppress(FileNotFoundError):
            for line in self._seen_path.read_text(errors="replace").splitlines():
                parts = line.split(" ")
                with contextlib.suppress(ValueError, IndexError):
                    self._seen[parts[0]] = float(parts[1])
        self._compact(now)

    def has_seen(self, attempt_id: str) -> bool:
        return attempt_id in self._seen

    def mark_seen(self, attempt_id: str, expires_at: datetime) -> None:
        """Before anything of the manifest is run: from here on, the same manifest is a replay. May raise OSError."""
        until = expires_at.timestamp() + SEEN_MARGIN_SECONDS
        self._seen[attempt_id] = until
        if self._seen_fd < 0:
            self._seen_fd = os.open(self._seen_path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        os.write(self._seen_fd, f"{attempt_id} {until:.0f}\n".encode())
        self._seen_lines += 1

    def prune_seen(self, now: datetime) -> None:
        if self._seen_lines > SEEN_COMPACT_LINES:
            with contextlib.suppress(OSError):
                self._compact(now)

    def _compact(self, now: datetime) -> None:
        limit = now.timestamp()
        self._seen = {attempt_id: until for attempt_id, until in self._seen.items() if until > limit}
        self.close()
        write_atomically(self._seen_path, "".join(f"{i} {t:.0f}\n" for i, t in self._seen.items()).encode())
        self._seen_lines = len(self._seen)

    def close(self) -> None:
        if self._seen_fd >= 0:
            os.close(self._seen_fd)
            self._seen_fd = -1


def _write(path: Path, data: bytes) -> None:
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        if os.write(fd, data) != len(data):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
    finally:
        os.close(fd)
