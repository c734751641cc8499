"""The name of a kept environment: a digest of all that `setup` was given to build it from.

What it is built from is read off the text of `setup` and off the usual files of dependencies. Wherever that leaves a
doubt, all that was sent along counts: an environment that is built too often is better than one that is wrong.
"""

import contextlib
import hashlib
import os
import posixpath
import re
import stat
from pathlib import Path

from computepool.agent.outputs import OutputsRefused, open_file, opened
from computepool.agent.placement import WORK
from computepool.protocol.manifest import Manifest

FORMAT = "3"
"""Part of every key: an environment that was made in another way is another."""
DEPENDENCY_FILES = re.compile(
    r"(requirements.*\.(txt|in)|constraints.*\.txt|pyproject\.toml|setup\.(py|cfg)|.*\.lock|pylock.*\.toml|Pipfile"
    r"|environment\.ya?ml|conda.*\.ya?ml|package(-lock)?\.json|\.npmrc|pip\.conf|uv\.toml)"
)
"""Files in the working folder whose content decides what is installed."""
FILE_BYTES = 4 * 1024 * 1024
ALL_BYTES = 64 * 1024 * 1024
MOST_FILES = 1_000
MOST_LINES = 100_000
"""What is larger, or more, is not read: renters' files may be as large as their disk."""

_WORDS = re.compile(r"[^\s'\"`;&|<>()=]+")
_SEVERAL = re.compile(r"(?![\d.]+\*$).*[*?]")
"""A pattern of names; not a version such as 1.*"""
_BY_ANOTHER_NAME = re.compile(r"\.\.|~|/job\b|\$\{?(HOME|PWD)\b")
"""Ways to say where the job's files are that are not followed here."""
_REQUIREMENTS = re.compile(r".*\.(txt|in)")
_INCLUDES = re.compile(r"(?:-r|-c|--requirement|--constraint)[ =]?(\S+)")
_NO_PLAIN_FILE = re.compile(r"[$:'\"\\]")
_PACKAGE = re.compile(r"[A-Za-z0-9][\w.-]* ?(\[[^]]*\])? ?([<>=!~;(,@\\].*|--hash.*)?")
_LOCAL = re.compile(r"file:|\.(whl|zip|gz|bz2|xz|tgz)$|@ ?[./]")
_HARMLESS_OPTION = re.compile(
    r"(-i|--(hash|index-url|extra-index-url|no-index|pre|prefer-binary|only-binary|no-binary|require-hashes"
    r"|trusted-host))\b"
)


def key_of(manifest: Manifest, folder: Path, image_digest: str | None, *, trusted: bool = False) -> str:
    """Blocking: reads the files that `setup` depends on. No command of the job has run yet.

    `trusted`: the owner's own. The hub names the renter, so that what others built must not serve the owner by name.
    """
    parts = [FORMAT, manifest.renter, str(trusted), "\0".join(manifest.setup)]
    parts += [] if manifest.setup_shell is None else [manifest.setup_shell]
    parts += [image_digest or _host_python(), str(manifest.network)]
    parts += [f"{name}={value}" for name, value in sorted(manifest.env.items())]
    with opened(str(folder)) as root:
        found = _Dependencies(root)
        found.add_all(manifest.setup, folder / WORK)
    parts += [f"{name} {digest}" for name, digest in sorted(found.digests.items())]
    if found.in_doubt:
        parts += [f"{one.path} {one.digest}" for one in manifest.inputs]
        if manifest.bundle is not None or not manifest.inputs:
            parts.append(manifest.bundle.digest if manifest.bundle is not None else manifest.attempt_id)
    return hashlib.sha256("\0\0".join(parts).encode(errors="surrogateescape")).hexdigest()


def _host_python() -> str:
    with contextlib.suppress(OSError):
        info = Path("/usr/bin/python3").stat()
        return f"{Path('/usr/bin/python3').resolve()} {info.st_size} {info.st_mtime_ns}"
    return "no python"


class _Dependencies:
    def __init__(self, root: int) -> None:
        self._root = root
        self._left_bytes, self._left_lines = ALL_BYTES, MOST_LINES
        self._read: dict[tuple[int, int, bool], tuple[str, list[str]]] = {}
        self.digests: dict[str, str] = {}
        """By path in the working folder."""
        self.in_doubt = False

    def add_all(self, setup: tuple[str, ...], work: Path) -> None:
        names = os.listdir(work)  # noqa: PTH208 - names are all we need
        for name in filter(DEPENDENCY_FILES.fullmatch, sorted(names)):
            self._add(name)
        # In an empty folder there is nothing that `setup` could read.
        for word in _WORDS.findall(" ".join(setup)) if names else ():
            if _SEVERAL.match(word) or _BY_ANOTHER_NAME.match(word):
                self.in_doubt = True
            else:
                # As in `.[extra]`, and in `-rfile`.
                plain = word.removeprefix("file:").partition("[")[0]
                for name in filter(None, (plain, re.sub("^-[rc]", "", plain))):
                    self._add_named(posixpath.normpath(name), work)

    def _add_named(self, name: str, work: Path) -> None:
        try:
            mode = (work / name).lstat().st_mode
        except (OSError, ValueError):
            return
        base = posixpath.basename(name)
        if stat.S_ISREG(mode) and (DEPENDENCY_FILES.fullmatch(base) or _REQUIREMENTS.fullmatch(base)):
            self._add(name)
        elif not name.startswith("/"):
            # A folder that is installed, or a program: it may read all that was sent along.
            self.in_doubt = True

    def _add(self, first: str) -> None:
        pending = [first]
        while pending:
            name = pending.pop()
            if name in self.digests:
                continue
            try:
                self.digests[name], included = self._look_into(name)
            except (OSError, OutputsRefused):
                # Missing, a link, or too large.
                self.in_doubt = True
                continue
            folder = posixpath.dirname(name)
            for target in (posixpath.normpath(posixpath.join(folder, other)) for other in included):
                if target.startswith(("/", "..")):
                    self.in_doubt = True
                else:
                    pending.append(target)

    def _look_into(self, name: str) -> tuple[str, list[str]]:
        """Its digest, and what it includes. One content under many names is read once."""
        lists_packages = _REQUIREMENTS.fullmatch(name) is not None
        with open_file(self._root, f"{WORK}/{name}") as file:
            info = os.fstat(file.fileno())
            key = (info.st_dev, info.st_ino, lists_packages)
            if key not in self._read:
                if info.st_size > min(FILE_BYTES, self._left_bytes) or len(self.digests) >= MOST_FILES:
                    raise OutputsRefused("too much to read")
                content = file.read(FILE_BYTES)
                self._left_bytes -= len(content)
                included = self._included(content) if lists_packages else []
                self._read[key] = hashlib.sha256(content).hexdigest(), included
            return self._read[key]

    def _included(self, content: bytes) -> list[str]:
        lines = content.decode(errors="replace").splitlines()
        self._left_lines -= len(lines)
        if self._left_lines < 0:
            raise OutputsRefused("too much to read")
        included = []
        for line in (re.sub(r"(^| )#.*", "", " ".join(whole.split())).strip() for whole in lines):
            if (found := _INCLUDES.fullmatch(line)) and not _NO_PLAIN_FILE.search(found[1]):
                included.append(found[1])
            elif line and not _HARMLESS_OPTION.match(line):
                self.in_doubt |= _PACKAGE.fullmatch(line) is None or _LOCAL.search(line) is not None
        if len(included) > MOST_FILES:
            raise OutputsRefused("too much to read")
        return included
