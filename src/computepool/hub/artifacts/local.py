"""Objects as files below one folder, behind URLs that the hub signs itself (`blob_urls`) and serves (`blob_api`).

A file appears under its name only when it is whole and on the disk: it is written and synced in `.incoming`, renamed,
and then the folder is synced. What a crash leaves in `.incoming` is swept away at the next start.

What comes by a URL is only taken while its folder is there: `prepare` makes it, and `clear` removes it with all that is
in it, so that nothing can come back that was deleted. And only while the disk has more room than the reserve, which is
left to the database.
"""

import contextlib
import errno
import hashlib
import hmac
import itertools
import os
import shutil
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.store import (
    Entry,
    ObjectMissing,
    SignedPut,
    StorageFull,
    StoreError,
    check_folder,
    check_key,
    digest_hex,
)

INCOMING = ".incoming"
RENAME_TRIES = 5
CLEAR_TRIES = 100


class LocalStore:
    origin = None

    def __init__(self, root: Path, signer: BlobSigner, reserve_bytes: int = 0) -> None:
        """One hub process a folder: what lies in `.incoming` is taken for a dead process's."""
        self.root = root
        self.reserve_bytes = reserve_bytes
        self._expected_bytes = 0
        """Of files that are being received: they have no room on the disk yet."""
        self._counting = threading.Lock()
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
        self.need_room(len(data) if isinstance(data, bytes) else 0)
        with disk_trouble_told(), Incoming(self._new_path(), self.path(key)) as incoming:
            for piece in (data,) if isinstance(data, bytes) else data:
                incoming.write(piece)
            incoming.keep()

    def receive(self, key: str, size_bytes: int, digest: str) -> "CheckedIncoming":
        """For bytes that come in pieces from outside: kept only if they are exactly those that were announced. Their
        room is set aside until it is dropped."""
        self._expect(size_bytes)
        try:
            path, target = self._new_path(), self.path(key)
            return CheckedIncoming(path, target, size_bytes, digest_hex(digest), lambda: self._arrived(size_bytes))
        except BaseException:
            self._arrived(size_bytes)
            raise

    def _expect(self, size_bytes: int) -> None:
        with self._counting:
            self.need_room(size_bytes)
            self._expected_bytes += size_bytes

    def _arrived(self, size_bytes: int) -> None:
        with self._counting:
            self._expected_bytes -= size_bytes

    def need_room(self, size_bytes: int) -> None:
        """Raises StorageFull where so much more would leave less than the reserve."""
        free_bytes = free_bytes_at(self._base) - self._expected_bytes
        if self.reserve_bytes and free_bytes - size_bytes < self.reserve_bytes:
            raise StorageFull(free_bytes, self.reserve_bytes)

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

    def prepare(self, prefix: str) -> None:
        folder = self.path(check_folder(prefix))
        for _ in range(RENAME_TRIES):
            with contextlib.suppress(FileNotFoundError):  # somebody just removed one above it as empty
                os.makedirs(folder, 0o700, exist_ok=True)  # noqa: PTH103
                return
        raise StoreError(f"The folder {prefix} could not be made on the hub's disk.", hint="Try again.")

    def clear(self, prefix: str) -> None:
        folder = self.path(check_folder(prefix))
        for _ in range(CLEAR_TRIES):
            for entry in self.list(prefix):
                with contextlib.suppress(FileNotFoundError):
                    os.unlink(self.path(entry.key))  # noqa: PTH108
            try:
                os.rmdir(folder)  # noqa: PTH106
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno != errno.ENOTEMPTY:
                    raise StoreError(f"The hub's disk did not delete it: {error.strerror}.") from error
                continue  # something arrived after the look
            above = folder.rpartition("/")[0]
            if above != self._base:
                with contextlib.suppress(OSError):  # not empty, or gone already
                    os.rmdir(above)  # noqa: PTH106
            return
        raise StoreError(f"{prefix} could not be deleted: something is put there again and again.")

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

    def write(self, *pieces: bytes | bytearray) -> None:
        for piece in pieces:
            view = memoryview(piece)
            while view:
                view = view[os.write(self._handle, view) :]

    def keep(self) -> None:
        _sync(self._handle)
        self._close()
        self._place()

    def _place(self) -> None:
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


def free_bytes_at(path: str) -> int:
    """That an ordinary user may still write there."""
    return shutil.disk_usage(path).free


class NotAsAnnounced(Exception):
    """The bytes are more, fewer or others than the URL was signed for."""


class UploadClosed(Exception):
    """What the URL was signed for is not wanted any more: it was deleted, or its upload was given up."""


class CheckedIncoming(Incoming):
    def __init__(
        self, path: str, target: str, size_bytes: int, sha256_hex: str, dropped: Callable[[], None] | None = None
    ) -> None:
        super().__init__(path, target)
        self._dropped = dropped
        self._left_bytes = size_bytes
        self._wanted = sha256_hex
        self._hash = hashlib.sha256()

    def write(self, *pieces: bytes | bytearray) -> None:
        self._left_bytes -= sum(map(len, pieces))
        if self._left_bytes < 0:
            raise NotAsAnnounced("more bytes than announced")
        for piece in pieces:
            self._hash.update(piece)
        super().write(*pieces)

    def keep(self) -> None:
        if self._left_bytes:
            raise NotAsAnnounced(f"{self._left_bytes} bytes fewer than announced")
        if not hmac.compare_digest(self._hash.hexdigest(), self._wanted):
            raise NotAsAnnounced("the SHA-256 is not the announced one")
        super().keep()

    def drop(self) -> None:
        super().drop()
        if self._dropped is not None:
            self._dropped()
            self._dropped = None

    def _place(self) -> None:
        """Only into a folder that is there: one that was cleared stays so."""
        try:
            os.rename(self._path, self._target)  # noqa: PTH104
        except FileNotFoundError:
            raise UploadClosed from None
        with contextlib.suppress(FileNotFoundError):  # cleared in the same moment
            _sync_path(self._target.rpartition("/")[0])


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
