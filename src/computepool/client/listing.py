"""Which entries of a folder go into a bundle. Reads names and sizes only, never content."""

import os
import re
import stat
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from computepool.client.errors import ClientError
from computepool.client.ignore import Rules, is_ignored, read_rules, rules_above

MAX_ENTRIES = 200_000
MAX_LINKS = 10_000
MAX_DEPTH = 64
MAX_PATH_BYTES = 1024
MAX_NAME_BYTES = 255
"""What every agent unpacks at least; a test compares them with the agent's own limits."""

GIT_RULES = ".gitignore"
POOL_RULES = ".computepoolignore"
RESULTS_MARK = ".computepool-results"
"""Lies in folders that downloads of outputs made. Results of one job are not sent along with the next."""
NEVER_PACKED = (".git", ".computepool", RESULTS_MARK)
LEFT_OUT_BY_DEFAULT = (b"__pycache__/", b".venv/")

RESULTS_TOLD = 5
"""Folders that are named in a notice."""
_PATTERN_CHARACTERS = re.compile(r"([\\*?\[\]!# ])")

Identity = tuple[int, int]
"""Device and inode of a file, to know it again under another name."""


class BundleError(ClientError):
    """The folder cannot be packed as it is."""

    def __init__(self, code: str, message: str, hint: str) -> None:
        super().__init__(message, hint=hint, code=code)


@dataclass(frozen=True, slots=True)
class BundleFile:
    """One entry of a bundle. A folder's name ends with a slash; a symbolic link has a `link`."""

    name: str
    source: Path
    size_bytes: int = 0
    executable: bool = False
    link: str | None = None

    @property
    def is_folder(self) -> bool:
        return self.name.endswith("/")


@dataclass(frozen=True, slots=True)
class Listing:
    """What would be packed, sorted by name, and what a person should know about it."""

    entries: tuple[BundleFile, ...]
    notices: tuple[str, ...]

    @property
    def files(self) -> tuple[BundleFile, ...]:
        """The entries without the folders."""
        return tuple(entry for entry in self.entries if not entry.is_folder)

    @property
    def size_bytes(self) -> int:
        return sum(entry.size_bytes for entry in self.entries)


def list_files(
    folder: Path,
    *,
    extra_excludes: Iterable[str] = (),
    result_folders: Iterable[str] = (),
    outputs: Collection[Identity] = frozenset(),
) -> Listing:
    """What `pack` takes from a folder. `result_folders` go along empty, unless a rule takes their files back.
    `outputs` are files being written just now, which are no part of it."""
    try:
        top = folder.resolve(strict=True)
    except FileNotFoundError:
        raise BundleError("no_folder", f"the folder {shown(folder)} does not exist", "Check `workdir`.") from None
    if not top.is_dir():
        raise BundleError("no_folder", f"{shown(folder)} is not a folder", "Give the folder that holds it.")
    results = [os.fsencode(f"/{literal_pattern(path)}/**") for path in result_folders]
    walk = _Walk(top, results, [os.fsencode(pattern) for pattern in extra_excludes], outputs)
    entries = sorted(walk.entries(), key=lambda entry: os.fsencode(entry.name))
    if walk.results:
        some = ", ".join(sorted(shown(name) for name in walk.results)[:RESULTS_TOLD])
        more = " …" if len(walk.results) > RESULTS_TOLD else ""
        walk.notices.append(f"results of earlier runs are left out: {some}{more}")
    return Listing(tuple(entries), tuple(sorted(walk.notices)))


def literal_pattern(path: str) -> str:
    """A path as a pattern that matches it alone."""
    return _PATTERN_CHARACTERS.sub(r"\\\1", path)


def list_named(files: Iterable[tuple[Path, str]]) -> Listing:
    """Single files under chosen names."""
    entries: dict[str, BundleFile] = {}
    for path, name in files:
        parts = name.split("/")
        if not name or "\0" in name or any(part in ("", ".", "..") for part in parts):
            raise BundleError("bad_name", f"{shown(name)} is not a name for a file of a bundle", "Use a relative path.")
        check_path(name)
        if name in entries:
            raise BundleError("bad_name", f"two files are named {shown(name)}", "Give them different names.")
        try:
            source = path.resolve(strict=True)
            found = source.stat()
        except OSError as error:
            raise BundleError("unreadable", f"cannot read {shown(path)}: {error.strerror}", "Check the path.") from None
        if not stat.S_ISREG(found.st_mode):
            raise BundleError("unreadable", f"{shown(path)} is not a file", "For a folder, use `workdir`.")
        entries[name] = BundleFile(name, source, found.st_size, bool(found.st_mode & stat.S_IXUSR))
    ordered = sorted(entries.values(), key=lambda entry: os.fsencode(entry.name))
    return Listing(tuple(ordered), ())


def list_parts(
    parts: Iterable[tuple[Path, str]],
    *,
    extra_excludes: Iterable[str] = (),
    outputs: Collection[Identity] = frozenset(),
) -> Listing:
    """Files and whole folders under chosen names; `.` is the top of the bundle."""
    entries: dict[str, BundleFile] = {}
    notices: list[str] = []
    for path, place in parts:
        if not path.is_dir():
            listing, prefix = list_named([(path, path.name if place == "." else place)]), ""
        else:
            listing = list_files(path, extra_excludes=extra_excludes if place == "." else (), outputs=outputs)
            prefix = "" if place == "." else f"{place}/"
        notices += listing.notices
        for entry in listing.entries:
            name = prefix + entry.name
            check_path(name)
            if name in entries and not entry.is_folder:
                raise BundleError("bad_name", f"two files are named {shown(name)}", "Give them different names.")
            entries[name] = replace(entry, name=name)
    ordered = sorted(entries.values(), key=lambda entry: os.fsencode(entry.name))
    return Listing(tuple(ordered), tuple(sorted(notices)))


class _Walk:
    """One pass over a folder, from the top down; ignored folders are never opened."""

    def __init__(self, top: Path, results: list[bytes], excludes: list[bytes], outputs: Collection[Identity]) -> None:
        self._top = top
        self._outputs = outputs
        self._results = Rules(results)
        self._weakest = [Rules(LEFT_OUT_BY_DEFAULT), self._results]
        self._strongest = [Rules(excludes)]
        self._count = 0
        self._link_count = 0
        self.notices: list[str] = []
        self.results: set[str] = set()
        """Folders with results of earlier runs that were left out."""

    def entries(self) -> Iterator[BundleFile]:
        git, pool = rules_above(self._top, GIT_RULES), rules_above(self._top, POOL_RULES)
        return self._folder("", self._top, git, pool)

    def _folder(self, prefix: str, place: Path, git: list[Rules], pool: list[Rules]) -> Iterator[BundleFile]:
        git, pool = self._with_own(prefix, place / GIT_RULES, git), self._with_own(prefix, place / POOL_RULES, pool)
        layers = [*self._weakest, *git, *pool, *self._strongest]
        try:
            found = list(os.scandir(place))
        except OSError as error:
            raise _unreadable(prefix or str(place), error) from None
        for item in found:
            name = prefix + item.name
            is_folder = item.is_dir(follow_symlinks=False)
            if item.name in NEVER_PACKED or is_ignored(layers, os.fsencode(name), is_folder):
                if self._results.decide(os.fsencode(name), os.fsencode(item.name), is_folder):
                    self.results.add(prefix)
                continue
            if is_folder and os.path.lexists(os.path.join(item.path, RESULTS_MARK)):  # noqa: PTH118 - once a folder
                self.results.add(name + "/")
                continue
            self._check(name)
            if is_folder:
                yield BundleFile(name + "/", Path(item.path))
                yield from self._folder(name + "/", Path(item.path), git, pool)
            else:
                yield from self._file(name, item)

    def _with_own(self, prefix: str, file: Path, rules: list[Rules]) -> list[Rules]:
        try:
            own = read_rules(file, take_off=len(os.fsencode(prefix)))
        except OSError as error:
            raise _unreadable(prefix + file.name, error) from None
        return rules if own is None else [*rules, own]

    def _file(self, name: str, item: os.DirEntry[str]) -> Iterator[BundleFile]:
        try:
            found = item.stat(follow_symlinks=False)
            link = os.readlink(item.path) if item.is_symlink() else None  # noqa: PTH115 - a Path would tidy the text
        except FileNotFoundError:
            return  # gone since the folder was read: not part of it any more
        except OSError as error:
            raise _unreadable(name, error) from None
        source = Path(item.path)
        if link is not None:
            self._link_count += 1
            if self._link_count > MAX_LINKS:
                raise BundleError("too_many_files", f"the folder holds more than {MAX_LINKS:,} links", _ignore_hint())
            yield BundleFile(name, source, link=portable_link(self._top, name, link))
        elif not stat.S_ISREG(found.st_mode):
            self.notices.append(f"{shown(name)} is a socket, pipe or device: left out")
        elif (found.st_dev, found.st_ino) not in self._outputs:
            yield BundleFile(name, source, found.st_size, bool(found.st_mode & stat.S_IXUSR))

    def _check(self, name: str) -> None:
        check_path(name)
        self._count += 1
        if self._count > MAX_ENTRIES:
            raise BundleError("too_many_files", f"the folder holds more than {MAX_ENTRIES:,} files", _ignore_hint())


def portable_link(top: Path, name: str, target: str) -> str:
    """The target to pack for a link: one that climbs only at its beginning, and never above the top."""
    if Path(target).is_absolute():
        raise _link_error(name, target, "is absolute")
    depth = name.count("/")
    parts = [part for part in target.replace(os.sep, "/").split("/") if part not in ("", ".")]
    climbs = next((at for at, part in enumerate(parts) if part != ".."), len(parts))
    if ".." in parts[climbs:]:
        # `a/../b` means something else when `a` is a link itself: write down where it really leads.
        parent = (top / name).parent
        resolved = (parent / target).resolve()
        parts = list(Path(os.path.relpath(resolved, parent)).parts)
        climbs = parts.count("..")
        target = "/".join(parts)
    if climbs > depth:
        raise _link_error(name, target, "leads out of the folder")
    if len(os.fsencode(target)) > MAX_PATH_BYTES or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts):
        raise _link_error(name, target, "is too long")
    return target


def check_path(name: str) -> None:
    if len(os.fsencode(name)) > MAX_PATH_BYTES or name.count("/") >= MAX_DEPTH:
        raise BundleError(
            "path_too_long",
            f"the path {shown(name)} is longer than {MAX_PATH_BYTES} bytes or {MAX_DEPTH} folders",
            "Use shorter paths, or name it in .computepoolignore.",
        )


def shown(name: str | Path, limit: int = 200) -> str:
    """A name that cannot move the cursor of whoever reads it."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in str(name))
    return text if len(text) <= limit else text[:limit] + "…"


def _ignore_hint() -> str:
    return "Name folders that the job does not need in .computepoolignore, or give large data as `inputs`."


def _link_error(name: str, target: str, problem: str) -> BundleError:
    return BundleError(
        "bad_link",
        f"the link {shown(name)} -> {shown(target)} {problem}, so it would be broken on another machine",
        "Make it a relative link to a file in the folder, replace it by a copy, or name it in .computepoolignore.",
    )


def _unreadable(name: str, error: OSError) -> BundleError:
    return BundleError(
        "unreadable",
        f"cannot read {shown(name)}: {error.strerror}",
        "Make it readable (`chmod u+r`, for a folder `u+rx`), or name it in .computepoolignore.",
    )
