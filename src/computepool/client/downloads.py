"""Downloads of outputs: in parts, resumed from `.part` files, checked before they get their name, kept in their folder.

The paths come from a job that may have run anywhere, so they are held to be hostile: nothing is ever written outside
the chosen folder, through a link, or over anything but a plain file.
"""

import os
import stat
import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import httpx

from computepool.client.errors import TransferError
from computepool.client.http import RESUME_HINT, Backoff, Http
from computepool.client.listing import RESULTS_MARK
from computepool.client.models import Output
from computepool.client.uploads import Progress, digest_of

READ_BYTES = 256 * 1024
TRIES = 3
FETCHES_AT_ONCE = 8
SMALL_BYTES = 1024 * 1024
MAX_PATH_CHARS = 4096
UNSAFE_ON_WINDOWS = '<>:"|?*'


class _Tally:
    """The progress of all files together."""

    def __init__(self, total_bytes: int, progress: Progress | None) -> None:
        self._total_bytes = total_bytes
        self._progress = progress
        self._by_place: dict[Path, int] = {}
        self._done_bytes = 0
        self._lock = threading.Lock()

    def at(self, place: Path, done_bytes: int) -> None:
        with self._lock:
            self._done_bytes += done_bytes - self._by_place.get(place, 0)
            self._by_place[place] = done_bytes
            if self._progress is not None:
                self._progress(self._done_bytes, self._total_bytes)


@dataclass(frozen=True, slots=True)
class Fetched:
    path: Path
    output: Output
    fresh: bool
    """False when the file was there already, with the same content."""


class UnsafePath(TransferError):
    code = "unsafe_path"


def newest_outputs(outputs: Iterable[Output]) -> list[Output]:
    """Of each slice only what its last attempt left."""
    found = list(outputs)
    last: dict[int, int] = {}
    for output in found:
        last[output.slice] = max(last.get(output.slice, 0), output.attempt)
    return [output for output in found if output.attempt == last[output.slice]]


def place_of(root: Path, output: Output, *, by_slice: bool) -> Path:
    """Where a file goes below `root`. Refuses every path that is not a plain one."""
    text = output.path
    parts = PurePosixPath(text).parts
    plain = (
        0 < len(text) <= MAX_PATH_CHARS
        and parts
        and not text.startswith("/")
        and "\\" not in text
        and all(part not in ("", ".", "..") for part in text.split("/"))
        and all(ord(character) >= 32 and ord(character) != 127 for character in text)
    )
    if not plain or (os.name == "nt" and any(character in UNSAFE_ON_WINDOWS for character in text)):
        raise UnsafePath(
            f"The output {text[:80]!r} has a path that is not safe to write.",
            hint="It is left where it is; the other outputs can be fetched by their names.",
        )
    return root.joinpath(*([str(output.slice)] if by_slice else []), *parts)


class Downloader:
    def __init__(self, http: Http, root: Path, relist: Callable[[], Sequence[Output]]) -> None:
        self._http = http
        self._root = root
        self._relist = relist

    def fetch(self, outputs: Sequence[Output], *, by_slice: bool, progress: Progress | None = None) -> list[Fetched]:
        _make_root(self._root)
        places = [(output, place_of(self._root, output, by_slice=by_slice)) for output in outputs]
        tally = _Tally(sum(output.size_bytes for output in outputs), progress)
        small = [place for place in places if place[0].size_bytes <= SMALL_BYTES]
        # Most of the time of a small file is waiting for the hub.
        with ThreadPoolExecutor(FETCHES_AT_ONCE) as threads:
            fetching = {
                id(output): threads.submit(self._fetch_counted, output, place, tally) for output, place in small
            }
            try:
                return [
                    fetching[id(output)].result()
                    if id(output) in fetching
                    else self._fetch_counted(output, place, tally)
                    for output, place in places
                ]
            except BaseException:
                threads.shutdown(wait=False, cancel_futures=True)
                raise

    def _fetch_counted(self, output: Output, place: Path, tally: "_Tally") -> Fetched:
        fetched = self._fetch_one(output, place, lambda done, _: tally.at(place, done))
        tally.at(place, output.size_bytes)
        return fetched

    def _fetch_one(self, output: Output, place: Path, report: Progress) -> Fetched:
        self._make_folder(place.parent)
        if _is_plain_file(place) and digest_of(place) == (output.digest, output.size_bytes):
            return Fetched(place, output, fresh=False)
        short = output.digest.rpartition(":")[2][:12]
        part = place.with_name(f".{place.name[:150]}.{short}.part")
        for _ in range(TRIES):
            self._fill(output, part, report)
            if digest_of(part) == (output.digest, output.size_bytes):
                part.replace(place)
                return Fetched(place, output, fresh=True)
            # A resumed file may have gone wrong before: the next try begins from nothing.
            part.unlink()
        raise TransferError(
            f"{output.path} does not match its digest; nothing was kept of it.",
            hint="Its stored copy is damaged, or something changes it on the way. Tell the operator of the hub.",
            code="digest_mismatch",
        )

    def _fill(self, output: Output, part: Path, report: Progress) -> None:
        """Bring `part` to its full length, from wherever it is."""
        backoff: Backoff | None = None
        current = output
        with _open_private(part) as file:
            have = file.seek(0, os.SEEK_END)
            if have > output.size_bytes:
                file.truncate(0)
                have = file.seek(0)
            while have < output.size_bytes:
                before = have
                try:
                    have = self._fill_piece(current, file, have, report)
                    if have == before:
                        raise TransferError("The storage gave fewer bytes than it has.", code="transfer_unavailable")
                    backoff = None
                except (httpx.TransportError, TransferError) as error:
                    have = file.seek(0, os.SEEK_END)
                    code = error.code if isinstance(error, TransferError) else "transfer_unavailable"
                    if code not in ("url_refused", "transfer_unavailable"):
                        raise
                    backoff = backoff if backoff is not None and have == before else self._http.backoff()
                    if not backoff.wait(getattr(error, "retry_after_seconds", 0.0)):
                        message = f"{output.path} could not be downloaded whole ({error})."
                        raise TransferError(message, hint=RESUME_HINT) from None
                    current = self._renewed(output) if code == "url_refused" else current

    def _fill_piece(self, output: Output, file: "_Writable", have: int, report: Progress) -> int:
        part_bytes = output.part_bytes or output.size_bytes
        index, offset = divmod(have, part_bytes)
        if index >= len(output.downloads):
            raise TransferError(f"The hub gave no address for all of {output.path}.", hint="Try again later.")
        end = min((index + 1) * part_bytes, output.size_bytes)
        with self._http.open_signed(output.downloads[index], offset) as response:
            skip = offset if response.status_code == 200 else 0
            for data in response.iter_raw(READ_BYTES):
                fresh = data[skip:][: end - have]
                skip = max(0, skip - len(data))
                file.write(fresh)
                have += len(fresh)
                report(have, output.size_bytes)
        return have

    def _renewed(self, output: Output) -> Output:
        """The same file with addresses that are still valid."""
        for other in self._relist():
            if (other.slice, other.path, other.digest) == (output.slice, output.path, output.digest):
                return other
        raise TransferError(f"{output.path} is no longer among the job's outputs.", code="gone")

    def _make_folder(self, folder: Path) -> None:
        """Every step below the root is a real folder: a link could lead anywhere."""
        step = self._root
        for name in folder.relative_to(self._root).parts:
            step = step / name
            try:
                step.mkdir(exist_ok=True)
                mode = step.lstat().st_mode
            except OSError as error:
                raise UnsafePath(f"The folder {step} cannot be made: {error.strerror}.", hint=OTHER_FOLDER) from None
            if not stat.S_ISDIR(mode):
                raise UnsafePath(f"{step} is a link, not a folder.", hint=OTHER_FOLDER)


def _make_root(root: Path) -> None:
    """What is made here, from the topmost new folder on, is marked: it is not sent along with the next job."""
    missing = [folder for folder in (root, *root.parents) if not folder.exists()]
    root.mkdir(parents=True, exist_ok=True)
    if missing:
        (missing[-1] / RESULTS_MARK).touch()


OTHER_FOLDER = "Fetch into an empty folder: computepool get JOB -o DIR"


class _Writable:
    """A file handle of a `.part` file, unbuffered, so that its length is what was written."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor

    def __enter__(self) -> "_Writable":
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._descriptor)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return os.lseek(self._descriptor, offset, whence)

    def truncate(self, size: int) -> None:
        os.ftruncate(self._descriptor, size)

    def write(self, data: bytes) -> None:
        view = memoryview(data)
        while view:
            view = view[os.write(self._descriptor, view) :]


def _open_private(path: Path) -> _Writable:
    flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_BINARY", 0)
    try:
        return _Writable(os.open(path, flags, 0o644))
    except OSError as error:
        raise UnsafePath(f"{path} cannot be written: {error.strerror}.", hint=OTHER_FOLDER) from None


def _is_plain_file(path: Path) -> bool:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return False
    if not stat.S_ISREG(mode):
        raise UnsafePath(f"{path} is in the way: it is not a plain file.", hint=OTHER_FOLDER)
    return True
