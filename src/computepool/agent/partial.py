"""A file on its way. What has come stays under its digest, so that the next try, or the next start, goes on from there.

Its name tells how far it is: `DIGEST.PART-START.part`, the part that is being fetched and the byte where it begins. So
one rename ends a part, and nothing has to be kept beside the file.
"""

import contextlib
import hashlib
import re
from collections.abc import Callable
from pathlib import Path

DIGEST_CHARS = 64
READ_BYTES = 1024 * 1024
CONTENT = r"[0-9a-f]{64}(?:\.[0-9a-f]{32})?"
"""The name of what is kept: its digest, and where it is from if that matters."""
_NAME = re.compile(rf"({CONTENT})\.(\d{{1,6}})-(\d{{1,16}})\.part")


class TooLong(Exception):
    """More bytes came than there may be."""


def name_of_partial(file_name: str) -> str | None:
    """Whose part it is; None for what is no such file."""
    found = _NAME.fullmatch(file_name)
    return found[1] if found else None


class Partial:
    """Put together from parts, each of which may break off and go on, or begin again. A `Sink`."""

    def __init__(self, folder: Path, name: str, limit_bytes: int, progress: Callable[[int], None]) -> None:
        """Call `take_up` before anything else, if something was there."""
        self._name = name
        self._limit = limit_bytes
        self._progress = progress
        self._path, self.part, self._start = _find(folder, name)
        self._path.touch()
        self._file = self._path.open("r+b")
        self._hash = hashlib.sha256()
        self._hash_at_start = self._hash.copy()
        self.part_bytes = 0
        self.was_there_bytes = self._path.stat().st_size

    def take_up(self) -> None:
        """Read what is there. A file that ends before its part is begun anew. Blocking."""
        size = self.was_there_bytes
        if not self._start <= size <= self._limit:
            self._file.truncate(0)
            self.part = self._start = size = 0
            self._path = self._path.rename(self._path.with_name(f"{self._name}.0-0.part"))
        self._read_on(self._start)
        self._hash_at_start = self._hash.copy()
        self._read_on(size - self._start)
        self.part_bytes = size - self._start

    @property
    def size_bytes(self) -> int:
        return self._start + self.part_bytes

    @property
    def digest(self) -> str:
        return f"sha256:{self._hash.hexdigest()}"

    def end_part(self) -> None:
        """All of it is here: what comes now is the next one's."""
        self.part, self._start = self.part + 1, self.size_bytes
        self.part_bytes, self._hash_at_start = 0, self._hash.copy()
        self._path = self._path.rename(self._path.with_name(f"{self._name}.{self.part}-{self._start}.part"))

    def begin(self, offset: int) -> None:
        """What follows is the part from this byte on: from the one that is missing, or from its beginning."""
        if offset != self.part_bytes:
            self._hash = self._hash_at_start.copy()
            self.part_bytes = 0
            self._file.seek(self._start)
            self._file.truncate()

    def write(self, data: bytes) -> None:
        if self.size_bytes + len(data) > self._limit:
            raise TooLong(f"the download is larger than the {self._limit} bytes it should have")
        self._file.write(data)
        self._file.flush()  # a kill in the middle costs nothing
        self._hash.update(data)
        self.part_bytes += len(data)
        self._progress(self.size_bytes)

    def close(self) -> None:
        """Whoever opens it next goes on from here."""
        with contextlib.suppress(OSError):  # a full disk: what did not get there is fetched again
            self._file.close()
        if not self.size_bytes:
            self._path.unlink(missing_ok=True)

    def drop(self) -> None:
        self.close()
        self._path.unlink(missing_ok=True)

    def keep_as(self, path: Path) -> None:
        """It was checked, and gets its name."""
        self._file.close()
        self._path.replace(path)

    def _read_on(self, count: int) -> None:
        while count and (data := self._file.read(min(READ_BYTES, count))):
            self._hash.update(data)
            count -= len(data)


def _find(folder: Path, name: str) -> tuple[Path, int, int]:
    found = [(path, match) for path in folder.glob(f"{name}.*.part") if (match := _NAME.fullmatch(path.name))]
    # A crash between two names cannot leave two of them; somebody's copy could.
    found.sort(key=lambda one: int(one[1][3]))
    for path, _ in found[:-1]:
        path.unlink(missing_ok=True)
    if not found:
        return folder / f"{name}.0-0.part", 0, 0
    path, match = found[-1]
    return path, int(match[2]), int(match[3])
