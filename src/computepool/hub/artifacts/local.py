"""Objects as files below one folder, behind URLs that the hub signs itself (`blob_urls`) and serves (`blob_api`).

A file appears under its name only when it is whole and on the disk: it is written and synced in `.incoming`, renamed,
and then the folder is synced. What a crash leaves in `.incoming` is swept away at the next start.
"""

import contextlib
import hashlib
import hmac
import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path

from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.store import (
    Entry,
    ObjectMissing,
    SignedPut,
    StoreError,
    check_folder,
    check_key,
    digest_hex,
)

INCOMING = ".incoming"
RENAME_TRIES = 5


class LocalStore:
    def __init__(self, root: Path, signer: BlobSigner) -> None:
        """One hub process a folder: what lies in `.incoming` is taken for a dead process's."""
        self.root = root
        self._base = os.fspath(root)
        self._signer = signer
        self._incoming = root / INCOMING
        self._numbers = itertools.count()
        self._incoming.mkdir(mode=0o700, parents=True, exist_ok=True)
        for leftover in self._incoming.iterdir():
            leftover.unlink(missing_ok=True)

    def path(self, key: str) -> str:
        return f"{self._base}/{check_key(key)}"

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        with disk_trouble_told(), Incoming(self._new_path(), self.path(key)) as incoming:
            for piece in (data,) if isinstance(data, bytes) else data:
                incoming.write(piece)
            incoming.keep()

    def receive(self, key: str, size_bytes: int, digest: str) -> "CheckedIncoming":
        """For bytes that come in pieces from outside: kept only if they are exactly those that were announced."""
        return CheckedIncoming(self._new_path(), self.path(key), size_bytes, digest_hex(digest))

    def read(self, key: str, start: int, length: int) -> bytes:
        try:
            handle = os.open(self.path(key), os.O_RDONLY | os.O_CLOEXEC)
        except FileNotFoundError:
            raise ObjectMissing(key) from None
        try:
            data = os.pread(handle, length, start)
            while 0 < len(data) < length:  # the kernel may give less than asked
                more = os.pread(handle, length - len(data), start + len(data))
                if not more:
                    break
                data += more
        finally:
            os.close(handle)
        if len(data) < length:
            raise ObjectMissing(key)
        return data

    def size(self, key: str) -> int | None:
        try:
            return os.stat(self.path(key)).st_size  # noqa: PTH116 (plain strings: this is asked often)
        except (FileNotFoundError, NotADirectoryError):
            return None

    def delete(self, *keys: str) -> None:
        folders = set()
        for key in keys:
            path = self.path(key)
            with contextlib.suppress(FileNotFoundError, NotADirectoryError):
                os.unlink(path)  # noqa: PTH108
            folders.add(path.rpartition("/")[0])
        for folder in folders - {self._base}:
            with contextlib.suppress(OSError):  # not empty, or gone already
                os.rmdir(folder)  # noqa: PTH106

    def list(self, prefix: str) -> list[Entry]:
        found: list[Entry] = []
        waiting = [check_folder(prefix)]
        while waiting:
            folder = waiting.pop()
            try:
                with os.scandir(f"{self._base}/{folder}") as entries:
                    for entry in entries:
                        key = f"{folder}/{entry.name}"
                        if entry.is_dir(follow_symlinks=False):
                            waiting.append(key)
                        else:
                            with contextlib.suppress(FileNotFoundError):  # deleted since
                                found.append(Entry(key, entry.stat(follow_symlinks=False).st_size))
            except (FileNotFoundError, NotADirectoryError):
                continue
        return sorted(found, key=lambda entry: entry.key)

    def settle(self, prefix: str) -> None:
        """Cheap where everything is on the disk already, which is nearly always."""
        paths = {self.path(entry.key) for entry in self.list(prefix)}
        for path in list(paths):
            folder = path.rpartition("/")[0]
            while len(folder) >= len(self._base) and folder not in paths:
                paths.add(folder)
                folder = folder.rpartition("/")[0]
        for path in sorted(paths, reverse=True):  # what is inside before what it is in
            with contextlib.suppress(FileNotFoundError):
                _sync_path(path)

    def sign_put(self, key: str, size_bytes: int, digest: str, expires_seconds: int) -> SignedPut:
        return SignedPut(self._signer.sign_put(check_key(key), size_bytes, digest_hex(digest), expires_seconds))

    def sign_get(self, key: str, expires_seconds: int, filename: str | None = None) -> str:
        return self._signer.sign_get(check_key(key), expires_seconds, filename)

    def _new_path(self) -> str:
        return f"{self._base}/{INCOMING}/{next(self._numbers)}"


@contextlib.contextmanager
def disk_trouble_told() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(
            f"The hub's disk did not take it: {error.strerror}.",
            hint="Try again later. If you run this hub: make room on its disk, or check it.",
        ) from error


class Incoming:
    """A file on its way into the store. Left without `keep`, nothing of it stays."""

    def __init__(self, path: str, target: str) -> None:
        self._path = path
        self._target = target
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        self._open = True

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._handle, view) :]

    def keep(self) -> None:
        _sync(self._handle)
        self._close()
        _rename_durably(self._path, self._target)

    def drop(self) -> None:
        """Harmless after `keep`."""
        self._close()
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self._path)  # noqa: PTH108

    def __enter__(self) -> "Incoming":
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if kind is not None:
            self.drop()

    def _close(self) -> None:
        if self._open:
            self._open = False
            os.close(self._handle)


class NotAsAnnounced(Exception):
    """The bytes are more, fewer or others than the URL was signed for."""


class CheckedIncoming(Incoming):
    def __init__(self, path: str, target: str, size_bytes: int, sha256_hex: str) -> None:
        super().__init__(path, target)
        self._left_bytes = size_bytes
        self._wanted = sha256_hex
        self._hash = hashlib.sha256()

    def write(self, data: bytes) -> None:
        self._left_bytes -= len(data)
        if self._left_bytes < 0:
            raise NotAsAnnounced("more bytes than announced")
        self._hash.update(data)
        super().write(data)

    def keep(self) -> None:
        if self._left_bytes:
            raise NotAsAnnounced(f"{self._left_bytes} bytes fewer than announced")
        if not hmac.compare_digest(self._hash.hexdigest(), self._wanted):
            raise NotAsAnnounced("the SHA-256 is not the announced one")
        super().keep()


def _rename_durably(path: str, target: str) -> None:
    """The name, and the folders that had to be made for it, survive a power cut once this returns."""
    folder = target.rpartition("/")[0]
    made: list[str] = []
    for tries_left in reversed(range(RENAME_TRIES)):
        try:
            os.rename(path, target)  # noqa: PTH104
            break
        except FileNotFoundError:  # no folder yet, or somebody just removed it as empty
            if not tries_left:
                raise
            made += _make_folders(folder)
    for changed in [folder, *made]:
        _sync_path(changed)


def _make_folders(folder: str) -> list[str]:
    """The folders in which an entry is new, deepest first."""
    missing = []
    while not os.path.isdir(folder):  # noqa: PTH112
        missing.append(folder)
        folder = folder.rpartition("/")[0]
    for each in reversed(missing):
        with contextlib.suppress(FileExistsError):
            os.mkdir(each, 0o700)  # noqa: PTH102
    return [each.rpartition("/")[0] for each in missing]


if sys.platform == "darwin":
    import fcntl

    def _sync(handle: int) -> None:
        fcntl.fcntl(handle, fcntl.F_FULLFSYNC)  # fsync alone leaves it in the drive's cache there

elif sys.platform == "win32":
    _sync = os.fsync
else:
    _sync = os.fdatasync


def _sync_path(path: str) -> None:
    if sys.platform == "win32":
        return  # a folder cannot be opened there; NTFS journals its entries
    handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
