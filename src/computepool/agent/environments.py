"""What `setup` builds, kept by a digest of all that it was built from, so that the next job need not build it again.

An environment belongs to one renter: another's job could have put anything into it. It is kept only if `setup` wrote
nothing else: what it changed elsewhere in the job's folder, its home, would be missing the next time.
"""

import asyncio
import contextlib
import functools
import itertools
import os
import secrets
import stat
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from pathlib import Path

from computepool.agent.caching import Kept
from computepool.agent.folders import START_SECONDS
from computepool.agent.placement import ENVIRONMENT
from computepool.agent.ports import Offload
from computepool.agent.sandbox.interface import Sandbox
from computepool.agent.trees import Uncountable, name_of, open_folder, walk
from computepool.agent.unremoved import UnremovedFolders
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import GIB

FOLDER = "environments"
NEW, GONE, SIZE = ".new", ".gone", ".size"
CACHES = ".cache"
INSTALLERS_CACHES = (".npm", f"{CACHES}/pip", f"{CACHES}/uv")
"""In the job's home: no job misses what they hold. Any other cache may be what the job is to find there."""
_LEFT_OUT = frozenset((ENVIRONMENT, *INSTALLERS_CACHES))
_MOST_ENTRIES = 2_000_000
ROOM_BYTES = 16 * GIB
"""What `setup` may write beside the job's own disk, at most half of what is free on the node's."""

PREPARE = """\
PATH="$COMPUTEPOOL_ENV/bin:$PATH"; export PATH
computepool_venv() {
    if python3 -c 'import pip, venv' 2>/dev/null; then
        # Much quicker than installing another pip: the one that is there, run by the new interpreter.
        python3 -m venv --system-site-packages --without-pip "$COMPUTEPOOL_ENV" || return 1
        printf '#!%s/bin/python\\nimport sys\\nfrom pip._internal.cli.main import main\\nsys.exit(main())\\n' \
            "$COMPUTEPOOL_ENV" > "$COMPUTEPOOL_ENV/bin/pip" || return 1
        chmod 755 "$COMPUTEPOOL_ENV/bin/pip" && ln -sf pip "$COMPUTEPOOL_ENV/bin/pip3"
    else
        python3 -m venv --system-site-packages "$COMPUTEPOOL_ENV"
    fi
}
if [ ! -e "$COMPUTEPOOL_ENV/bin/python" ] && command -v python3 >/dev/null 2>&1; then
    computepool_venv >/dev/null 2>&1 || rm -rf "$COMPUTEPOOL_ENV"/[a-z]*
fi
unset -f computepool_venv
if [ "$TMPDIR" = /tmp ]; then
    # That is memory, and installers unpack there what is larger.
    TMPDIR="$COMPUTEPOOL_ENV/.tmp"; export TMPDIR
    mkdir "$TMPDIR" && "$@"
    code=$?
    rm -rf "$TMPDIR"
    exit $code
fi
exec "$@"
"""
"""Before `setup`: a virtual environment, where Python can make one. Elsewhere pip's user installs lead to it."""
ENTER = 'PATH="$COMPUTEPOOL_ENV/bin:$PATH"; export PATH; exec "$@"'


def set_up_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    return ("sh", "-c", PREPARE, "sh", *argv)


def entered_argv(argv: tuple[str, ...]) -> tuple[str, ...]:
    """The image's own PATH is not known out here: it is put behind inside."""
    return ("sh", "-c", ENTER, "sh", *argv)


def environment_variables(inside: str) -> dict[str, str]:
    return {
        "COMPUTEPOOL_ENV": inside,
        "PYTHONUSERBASE": inside,
        "PIP_BREAK_SYSTEM_PACKAGES": "1",
        "PIP_DISABLE_PIP_VERSION_CHECK": "1",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_NO_INPUT": "1",
    }


def room_at(folder: Path) -> int:
    """For a `setup` that begins now. Blocking."""
    disk = os.statvfs(folder)
    return min(ROOM_BYTES, disk.f_bavail * disk.f_frsize // 2)


class Environments:
    """Those of one agent. A plain process sees the host's own paths, so what it builds cannot be moved, nor kept."""

    def __init__(self, offload: Offload, unremoved: UnremovedFolders, sandboxes: Iterable[Sandbox] = ()) -> None:
        """Of earlier runs too, as far as `sandboxes` tells where they are."""
        self._offload = offload
        self._unremoved = unremoved
        self._turns: dict[str, asyncio.Lock] = {}
        self._folders = {sandbox.attempts_folder.parent / FOLDER for sandbox in sandboxes}
        self._in_use: Counter[Path] = Counter()

    def place(self, sandbox: Sandbox, key: str) -> Path | None:
        if sandbox.level is IsolationLevel.PROCESS:
            return None
        folder = sandbox.attempts_folder.parent / FOLDER
        self._folders.add(folder)
        return folder / key

    @contextlib.asynccontextmanager
    async def turn(self, key: str) -> AsyncIterator[None]:
        """Two jobs that need the same build it once."""
        lock = self._turns.setdefault(key, asyncio.Lock())
        async with lock:
            yield

    def use(self, place: Path) -> None:
        """A job sees it from now on: it stays."""
        self._in_use[place] += 1

    def let_go(self, place: Path) -> None:
        self._in_use[place] -= 1

    async def kept(self) -> list[Kept]:
        return await self._offload(self._list)

    def _list(self) -> list[Kept]:
        found = []
        for folder in self._folders:
            with contextlib.suppress(FileNotFoundError):
                for place in folder.iterdir():
                    if place.suffix or self._in_use[place] > 0:
                        continue
                    size = 0
                    with contextlib.suppress(OSError, ValueError):
                        size = int(_size_note(place).read_text())
                    found.append(Kept("", size, place.stat().st_mtime, functools.partial(self._remove, place)))
        return found

    async def _remove(self, place: Path) -> bool:
        if self._in_use[place] > 0:
            return False
        # Not in a thread: no job comes to use it between the look and this.
        gone = _aside(place, GONE)
        with contextlib.suppress(FileNotFoundError):
            place.rename(gone)  # noqa: ASYNC240 - one call
        return await self._unremoved.remove([str(gone), str(_size_note(place))])

    async def sweep(self, sandboxes: Iterable[Sandbox]) -> None:
        """At the start: away with what an earlier run was about to keep, or to throw away, when it was killed."""
        self._folders |= {sandbox.attempts_folder.parent / FOLDER for sandbox in sandboxes}
        await self._unremoved.remove(await self._offload(_strays, tuple(self._folders)), seconds=START_SECONDS)


def _size_note(place: Path) -> Path:
    return place.with_name(f"{place.name}{SIZE}")


def _aside(place: Path, suffix: str) -> Path:
    """A name of its own each time: one that could not be removed is in nobody's way."""
    return place.with_name(f"{place.name}-{secrets.token_hex(4)}{suffix}")


def _strays(folders: Iterable[Path]) -> list[str]:
    found = []
    for folder in folders:
        with contextlib.suppress(OSError):
            for place in folder.iterdir():
                is_stray = place.suffix == SIZE and not place.with_suffix("").exists()
                if is_stray or place.suffix in {NEW, GONE}:
                    found.append(str(place))
    return found


def look(folder: Path) -> dict[str, tuple[int, int, int]]:
    """What is in a job's folder beside its environment: enough to tell whether `setup` changed it. Blocking."""
    found: dict[str, tuple[int, int, int]] = {}
    root = open_folder(folder)
    try:
        with contextlib.closing(walk(root, enters=_is_looked_into)) as entries:
            for _, path, info in itertools.islice(entries, _MOST_ENTRIES):
                if not stat.S_ISDIR(info.st_mode):
                    found[path] = (info.st_mode, info.st_size, info.st_mtime_ns)
                # An empty one may be there for the sake of an installer.
                elif path != CACHES and _is_looked_into(path):
                    found[path] = (info.st_mode, 0, 0)
    except Uncountable:
        # No two of these are the same.
        found[""] = (0, 0, time.monotonic_ns())
    finally:
        os.close(root)
    return found


def _is_looked_into(path: str) -> bool:
    return path not in _LEFT_OUT and name_of(path) != "__pycache__"


def keep(folder: Path, place: Path) -> None:
    """Take the environment out of a job's folder, and close it for every later job. Blocking.

    The job may have made anything of it: whatever that raises, the job has its environment back.
    """
    place.parent.mkdir(exist_ok=True)
    # Whatever the umask is: jobs' users pass it.
    place.parent.chmod(0o711)
    built = folder / ENVIRONMENT
    if built.is_symlink() or not built.is_dir():
        raise OSError("the job has replaced its environment's folder")
    size_bytes = _size_of(built)
    fresh = _aside(place, NEW)
    built.rename(fresh)
    try:
        _close(fresh)
        _size_note(place).write_text(str(size_bytes))
        fresh.rename(place)
    except BaseException:
        fresh.rename(built)
        raise
    # Where it was, the job sees it again, from where it is kept.
    built.mkdir()


def _size_of(folder: Path) -> int:
    root = open_folder(folder)
    try:
        return sum(info.st_blocks * 512 for _, _, info in walk(root))
    finally:
        os.close(root)


def _close(folder: Path) -> None:
    """Ours, readable for any job's user, writable for none. Each folder is closed before what is in it is looked at."""
    is_root = os.geteuid() == 0
    root = open_folder(folder)
    try:
        if is_root:
            os.fchown(root, 0, 0)
        os.fchmod(root, 0o755)
        for parent, path, info in walk(root):
            name = name_of(path)
            if is_root:
                os.chown(name, 0, 0, dir_fd=parent, follow_symlinks=False)
            if not stat.S_ISLNK(info.st_mode):
                is_open = stat.S_ISDIR(info.st_mode) or info.st_mode & 0o111
                os.chmod(name, 0o755 if is_open else 0o644, dir_fd=parent)
    finally:
        os.close(root)
