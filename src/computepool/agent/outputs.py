"""What a job leaves to be kept: everything under its output folder, and what its globs match where it worked.

The job may be hostile: its folders are read through directory descriptors, no link is followed anywhere, and only
regular files count. A link to /etc/passwd is left out, not read.
"""

import contextlib
import errno
import fnmatch
import hashlib
import json
import os
import re
import stat
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from computepool.agent.pieces import Steps
from computepool.agent.placement import OUTPUT, WORK
from computepool.protocol.limits import DEPTH_LIMIT, OUTPUT_FILES_LIMIT, OUTPUT_LIST_LIMIT_BYTES
from computepool.protocol.messages import UPLOAD_PART_BYTES
from computepool.protocol.output_paths import find_path_problem, show_path
from computepool.protocol.receipt import OutputRef

MAX_ENTRIES = 1_000_000
"""Names that are looked at, kept or not."""
PENDING_LIMIT_BYTES = 32 * 1024 * 1024
"""Of the names of folders that were found and not looked into yet."""
_SHOWN_IN_NOTE = 3
_PIECE_BYTES = 1024 * 1024
_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_NO_FOLDER = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_REFERENCE_OVERHEAD_BYTES = 180
_JSON_IN_JSON = 3
"""A name is written into a receipt, that into a report, and that into the request of a polled line."""


class OutputsRefused(Exception):
    """What is to be kept cannot be: too many files, or unreadable. The renter's to mend."""


@dataclass(frozen=True)
class Collected:
    path: str
    """Its name among the job's outputs."""
    place: str
    """Where it lies in the job's folder."""
    size_bytes: int
    digest: str
    part_digests: tuple[str, ...] = ()
    """Of each part that is uploaded, where there is more than one."""

    @property
    def ref(self) -> OutputRef:
        return OutputRef(path=self.path, digest=self.digest, size_bytes=self.size_bytes)


@dataclass(frozen=True)
class Collection:
    files: tuple[Collected, ...] = ()
    left_out: int = 0
    """Links and special files."""
    misnamed: int = 0
    """Files whose names the hub would refuse, and with them all the others."""
    misnamed_shown: tuple[str, ...] = ()
    """The first of them, each with what is wrong."""
    unmatched: tuple[str, ...] = ()
    """Globs that nothing matched."""

    @property
    def notes(self) -> tuple[str, ...]:
        """What the renter would otherwise wonder about. None of it makes the job fail."""
        notes = []
        if self.left_out:
            notes.append(f"{self.left_out} links or special files among the outputs were left out")
        if self.misnamed:
            shown = _listed(self.misnamed_shown, self.misnamed)
            notes.append(f"outputs left out for their names, rename them: {shown}")
        if self.unmatched:
            shown = _listed([show_path(glob) for glob in self.unmatched[:_SHOWN_IN_NOTE]], len(self.unmatched))
            notes.append(f"no file matched {shown}")
        return tuple(notes)


def _listed(shown: Sequence[str], count: int) -> str:
    more = f" and {count - len(shown)} more" if count > len(shown) else ""
    return ", ".join(shown) + more


def has_nothing_to_keep(folder: Path, globs: Sequence[str]) -> bool:
    """The common case, found with one look and no thread."""
    if globs:
        return False
    try:
        with opened(str(folder)) as root, opened(OUTPUT, root) as fd, os.scandir(fd) as entries:
            return next(entries, None) is None
    except OSError as error:
        return error.errno in _NO_FOLDER


def collect(folder: Path, globs: Sequence[str], *, limit_bytes: int | None = None) -> Steps[Collection]:
    """Find and hash what is to be kept. Blocking. Raises OutputsRefused, or OSError for the node's own trouble.

    All of it together may be as large as `limit_bytes`, holes included: they take no room on the disk, but are read and
    sent like anything else.
    """
    try:
        return (yield from _collect(folder, globs, Allowance(limit_bytes)))
    except PermissionError as error:
        # The folder was open to the job and to us; only the job can have closed it, or one in it.
        raise OutputsRefused(f"a folder of the job was closed by the job: {error.strerror}") from None


def _collect(folder: Path, globs: Sequence[str], allowance: "Allowance") -> Steps[Collection]:
    walk = Walk()
    matcher = GlobMatcher(globs)
    found: dict[str, Collected] = {}
    with opened(str(folder)) as root:
        for file in walk.files(root, OUTPUT, None):
            yield
            if file is not None:
                place, relative = file
                found[relative] = yield from hashed(root, place, relative, allowance)
        if globs:
            for file in walk.files(root, WORK, matcher):
                yield
                if file is None:
                    continue
                place, relative = file
                # Both may hold the same name; neither is lost.
                name = relative if relative not in found else f"{WORK}/{relative}"
                if name in found:
                    raise OutputsRefused(f"two outputs want the name {name!r}")
                # The longer name may be too long.
                if walk.is_well_named(name):
                    found[name] = yield from hashed(root, place, name, allowance)
    return Collection(
        tuple(found[name] for name in sorted(found)),
        walk.left_out,
        walk.misnamed,
        tuple(walk.misnamed_shown),
        matcher.unmatched,
    )


def open_collected(folder: Path, file: Collected) -> BinaryIO:
    """The same file again, for its upload."""
    with opened(str(folder)) as root:
        return open_file(root, file.place)


class GlobMatcher:
    """`*`, `?` and `[…]` stay within a name, a `**` crosses folders; a pattern that matches a folder takes all of it.

    Steps through names, keeping the set of places in the patterns where it could be: whatever a renter writes, a path
    costs no more than its length times the patterns'.
    """

    def __init__(self, globs: Sequence[str]) -> None:
        self._patterns = [_compile(glob) for glob in globs]
        self._unmatched = dict(enumerate(globs))

    @property
    def unmatched(self) -> tuple[str, ...]:
        """Those that matched nothing they were asked about so far."""
        return tuple(dict.fromkeys(self._unmatched.values()))

    def matches(self, relative: str) -> bool:
        matched = False
        for index, pattern in enumerate(self._patterns):
            # One match is enough for the file; a glob that has had none yet is still tried.
            if (not matched or index in self._unmatched) and _step_through(pattern, relative)[0]:
                matched = True
                self._unmatched.pop(index, None)
        return matched

    def may_contain(self, folder: str) -> bool:
        """Whether anything below this folder could match: a folder full of packages is not walked for `out/**`."""
        return any(any(_step_through(pattern, folder)) for pattern in self._patterns)


_Pattern = list[re.Pattern[str] | None]
"""One step per name; None is `**`."""


def _compile(glob: str) -> _Pattern:
    names = [name for name in glob.strip().split("/") if name not in {"", "."}]
    return [None if name == "**" else re.compile(fnmatch.translate(name)) for name in names] or [None]


def _step_through(pattern: _Pattern, path: str) -> tuple[bool, bool]:
    """(the pattern matches the path or a folder above it, it could match something below)."""
    places = _with_skips(pattern, {0})
    for name in path.split("/"):
        reached = set()
        for place in places:
            step = pattern[place]
            if step is None:
                reached.add(place)
                if place == len(pattern) - 1:
                    return True, True
            elif step.match(name):
                reached.add(place + 1)
        places = _with_skips(pattern, reached)
        if len(pattern) in places:
            return True, True
    return False, bool(places)


def _with_skips(pattern: _Pattern, places: set[int]) -> set[int]:
    """A `**` may also stand for nothing; but one at the end wants at least a name, so that it is not its own folder."""
    result = set()
    for start in places:
        place = start
        result.add(place)
        while place < len(pattern) - 1 and pattern[place] is None:
            place += 1
            result.add(place)
    return result


class Walk:
    def __init__(self) -> None:
        self.left_out = 0
        self.misnamed = 0
        self.misnamed_shown: list[str] = []
        self._entries = 0
        self._files = 0
        self._reference_bytes = 0

    def files(self, root: int, top: str, matcher: GlobMatcher | None) -> Iterator[tuple[str, str] | None]:
        """(place in the job's folder, name below `top`) of every regular file that is to be kept; None for others.

        Of names that are not kept nothing is remembered, but for those of folders that are still to be looked into.
        """
        pending, pending_bytes = [""], 0
        while pending:
            folder = pending.pop()
            pending_bytes -= len(folder)
            place = f"{top}/{folder}" if folder else top
            with contextlib.ExitStack() as stack:
                try:
                    fd = stack.enter_context(opened(place, root))
                except OSError as error:
                    if error.errno in _NO_FOLDER:
                        # The job removed it, or put a link in its place.
                        continue
                    raise OutputsRefused(f"{place!r} cannot be read: {error.strerror}") from None
                for name, mode in self._names(fd):
                    yield None
                    relative = f"{folder}/{name}" if folder else name
                    if stat.S_ISDIR(mode):
                        if matcher is None or matcher.may_contain(relative):
                            self._check_depth(relative)
                            pending.append(relative)
                            pending_bytes += len(relative)
                            if pending_bytes > PENDING_LIMIT_BYTES:
                                raise OutputsRefused("too many folders with long names: pack them into one archive")
                    elif matcher is None or matcher.matches(relative):
                        if not stat.S_ISREG(mode):
                            self.left_out += 1
                        elif self.is_well_named(relative):
                            self._count(relative)
                            yield f"{top}/{relative}", relative

    def is_well_named(self, path: str) -> bool:
        """If not, it is left out and noted: one odd name must not cost the renter all other outputs."""
        problem = find_path_problem(path)
        if problem is None:
            return True
        self.misnamed += 1
        if len(self.misnamed_shown) < _SHOWN_IN_NOTE:
            self.misnamed_shown.append(f"{show_path(path)} ({problem})")
        return False

    def _names(self, fd: int) -> Iterator[tuple[str, int]]:
        with os.scandir(fd) as entries:
            for entry in entries:
                self._entries += 1
                if self._entries > MAX_ENTRIES:
                    raise OutputsRefused(f"more than {MAX_ENTRIES} files and folders to look at")
                yield entry.name, entry.stat(follow_symlinks=False).st_mode

    def _check_depth(self, relative: str) -> None:
        if relative.count("/") >= DEPTH_LIMIT:
            raise OutputsRefused(f"outputs lie more than {DEPTH_LIMIT} folders deep")

    def _count(self, relative: str) -> None:
        self._files += 1
        self._reference_bytes += _travelling_bytes(relative) + _REFERENCE_OVERHEAD_BYTES
        if self._files > OUTPUT_FILES_LIMIT:
            raise OutputsRefused(f"more than {OUTPUT_FILES_LIMIT} outputs: pack them into one archive")
        if self._reference_bytes > OUTPUT_LIST_LIMIT_BYTES:
            raise OutputsRefused("the names of the outputs are too long for one message: pack them into one archive")


def _travelling_bytes(name: str) -> int:
    for _ in range(_JSON_IN_JSON):
        name = json.dumps(name, ensure_ascii=False)[1:-1]
    return len(name.encode())


class Allowance:
    """How large files may be together, by the size that they show."""

    def __init__(self, limit_bytes: int | None) -> None:
        self._limit_bytes = limit_bytes
        self._bytes = 0

    def take(self, size_bytes: int) -> None:
        self._bytes += size_bytes
        if self._limit_bytes is not None and self._bytes > self._limit_bytes:
            raise OutputsRefused(
                f"the files to be kept are larger than the job's disk ({self._limit_bytes} bytes), holes in them"
                " included: write them without holes, or ask for more disk"
            )


def hashed(
    root: int,
    place: str,
    path: str,
    allowance: Allowance | None = None,
) -> Steps[Collected]:
    whole, part = hashlib.sha256(), hashlib.sha256()
    size = 0
    parts: list[str] = []
    with open_file(root, place) as file:
        if allowance is not None:
            allowance.take(os.fstat(file.fileno()).st_size)
        # A part's size is a whole number of pieces, and short reads happen only at a file's end.
        while piece := file.read(_PIECE_BYTES):
            yield
            whole.update(piece)
            part.update(piece)
            size += len(piece)
            if size % UPLOAD_PART_BYTES == 0:
                parts.append(f"sha256:{part.hexdigest()}")
                part = hashlib.sha256()
    if size % UPLOAD_PART_BYTES:
        parts.append(f"sha256:{part.hexdigest()}")
    return Collected(path, place, size, f"sha256:{whole.hexdigest()}", tuple(parts) if len(parts) > 1 else ())


def open_file(root: int, place: str) -> BinaryIO:
    folder, _, name = place.rpartition("/")
    try:
        with opened(folder, root) as parent:
            fd = os.open(name, _FILE_FLAGS, dir_fd=parent)
    except PermissionError as error:
        raise OutputsRefused(f"the output {place!r} cannot be read: {error.strerror}") from None
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        raise OutputsRefused(f"the output {place!r} is not a regular file")
    return os.fdopen(fd, "rb")


@contextlib.contextmanager
def opened(path: str, root: int | None = None) -> Iterator[int]:
    """A folder's descriptor; below `root` every step is taken without following links."""
    names = [path] if root is None else [name for name in path.split("/") if name]
    fd = -1
    try:
        for name in names:
            before, fd = fd, os.open(name, _FOLDER_FLAGS, dir_fd=root if fd < 0 else fd)
            if before >= 0:
                os.close(before)
        yield fd
    finally:
        if fd >= 0:
            os.close(fd)
