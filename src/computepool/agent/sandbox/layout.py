"""What a bubblewrap sandbox shows of the host: /usr read-only, an /etc of our own making, and nothing else."""

import contextlib
import hashlib
import os
import posixpath
import shutil
import stat
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from computepool.agent.removal import remove_tree

from .interface import SandboxError
from .lookup import NOT_EXECUTABLE, NOT_FOUND, Problem, names_of

JOB_UID = 1000
JOB_FOLDER = "/job"
SYSTEM_FOLDERS = ("bin", "sbin", "lib", "lib32", "lib64", "libx32")
# Folders that look different inside.
UNKNOWN_FOLDERS = ("tmp", "proc", "dev", "etc", "var")

ETC_PREFIX = "etc-"
# Part of its name: one that was made in another way, by an earlier version, is another.
ETC_FORMAT = 2
# Copied, so that one mount shows them and nothing else of the host's /etc is ever seen.
ETC_FILES = (
    "ld.so.cache", "localtime", "timezone", "os-release", "debian_version", "protocols", "services", "mime.types",
    "magic", "locale.alias", "inputrc", "ssl/openssl.cnf",
)  # fmt: skip
ETC_FOLDERS = ("alternatives", "ssl/certs", "pki/tls/certs", "pki/ca-trust/extracted", "fonts", "OpenCL", "vulkan",
               "glvnd", "terminfo")  # fmt: skip
ETC_OWN = {
    "passwd": f"root:x:0:0:root:/:/bin/false\njob:x:{JOB_UID}:{JOB_UID}:job:{JOB_FOLDER}:/bin/sh\n",
    "group": f"root:x:0:\njob:x:{JOB_UID}:\n",
    "hostname": "job\n",
    "hosts": "127.0.0.1 localhost job\n::1 localhost\n",
    "nsswitch.conf": "passwd: files\ngroup: files\nhosts: files dns\nprotocols: files\nservices: files\n",
    "resolv.conf": "",
}


def build_etc(base: Path, host: Path = Path("/etc")) -> Path:
    """The sandbox's /etc, made if it is not there. Only what every user may read is copied; links stay links.

    Its name says what is in it: an /etc that a job sees, maybe another program's, is never changed under it.
    """
    etc = base / _etc_name(host)
    if etc.is_dir():
        return etc
    fresh = Path(tempfile.mkdtemp(prefix=f"{ETC_PREFIX}new-", dir=base))
    for name in ETC_FILES:
        with contextlib.suppress(OSError):
            if (host / name).stat().st_mode & 0o004:
                _copy_file(host / name, fresh / name)
    for name in ETC_FOLDERS:
        with contextlib.suppress(OSError, shutil.Error):
            shutil.copytree(host / name, fresh / name, symlinks=True, ignore=_not_for_jobs)
    for name, text in ETC_OWN.items():
        (fresh / name).write_text(text)
        # Whatever the agent's umask is: jobs read it as other users.
        (fresh / name).chmod(0o644)
    for folder, _, _ in os.walk(fresh):
        Path(folder).chmod(0o755)
    try:
        fresh.rename(etc)
    except OSError:
        remove_tree(fresh)
        if not etc.is_dir():  # else somebody was quicker
            raise
    return etc


def remove_etc(base: Path, *, but_current: bool = False, host: Path = Path("/etc")) -> None:
    """Every /etc that was made here; only for whoever is alone in `base`."""
    kept = _etc_name(host) if but_current else None
    for etc in base.glob(f"{ETC_PREFIX}*"):
        if etc.name != kept:
            remove_tree(etc)


def _etc_name(host: Path) -> str:
    return ETC_PREFIX + hashlib.sha256(_signature(host).encode()).hexdigest()[:16]


def _signature(host: Path) -> str:
    """Changes whenever something that is copied does, or this list of it."""
    times = []
    for name in (*ETC_FILES, *ETC_FOLDERS):
        with contextlib.suppress(OSError):
            times.append(f"{name} {(host / name).stat().st_mtime_ns}")
    return repr((ETC_FORMAT, ETC_OWN, times))


def _copy_file(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)
    target.chmod(0o644)


def _not_for_jobs(folder: str, names: list[str]) -> list[str]:
    """Entries that not everybody may read (root's agent must not copy root's secrets), and links to manual pages."""
    return [name for name in names if name.endswith(".gz") or not Path(folder, name).lstat().st_mode & 0o004]


def system_arguments(etc: Path) -> list[str]:
    """The host's programs and libraries, and our /etc: the same for every job of this agent."""
    arguments = ["--ro-bind", "/usr", "/usr"]
    for name in SYSTEM_FOLDERS:
        path = Path("/", name)
        if path.is_symlink():
            arguments += ["--symlink", str(path.readlink()), str(path)]
        elif path.is_dir():
            arguments += ["--ro-bind", str(path), str(path)]
    return [*arguments, "--ro-bind", str(etc), "/etc"]


def owners_arguments(read_only: Sequence[Path], hidden: Iterable[Path]) -> list[str]:
    """What the owner shows beside that, and covers for what must never be seen where it would be."""
    arguments = []
    for path in read_only:
        arguments += ["--ro-bind", str(path), str(path)]
    shown = [Path("/usr"), *(Path("/", name) for name in SYSTEM_FOLDERS), *read_only]
    for path in hidden:
        if path.is_dir() and any(path.is_relative_to(root) for root in shown):
            arguments += ["--tmpfs", str(path), "--remount-ro", str(path)]
    return arguments


def shown_arguments(shown: Mapping[str, Path], folder: Path, uid: int | None) -> list[str]:
    """What one job sees beside that, read-only, at places in its own folder."""
    arguments = []
    for place, source in shown.items():
        _make_place(folder, place, uid)
        arguments += ["--ro-bind", str(source), f"{JOB_FOLDER}/{place}"]
    return arguments


def links_arguments(links: Mapping[str, str]) -> list[str]:
    """Symbolic links: only the job itself ever follows them."""
    return [word for path, place in links.items() for word in ("--symlink", f"{JOB_FOLDER}/{place}", path)]


def linked_places(links: Mapping[str, str], folder: Path) -> list[tuple[Path, str]]:
    """For engines, which follow links of the host: what each leads to, reached without one."""
    found = []
    for path, place in links.items():
        here = folder
        for step in [step for step in place.split("/") if step != "."]:
            here = here / step
            mode = here.lstat().st_mode
            if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
                raise SandboxError(f"{path} cannot lead to {place}: {step!r} is neither a folder nor a file there")
        found.append((here, path))
    return found


def _make_place(folder: Path, place: str, uid: int | None) -> None:
    """The folder that something is shown over. An earlier command of the attempt may have put a link there, and
    bubblewrap would follow it out of the sandbox: every step is a real folder, or it is refused."""
    steps = place.split("/")
    if not all(steps) or {".", ".."} & set(steps):
        raise SandboxError(f"nothing can be shown at {place!r}: it is not a plain place in the attempt's folder")
    here = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for step in steps:
            with contextlib.suppress(FileExistsError):
                os.mkdir(step, 0o755, dir_fd=here)
                if uid is not None:
                    os.chown(step, uid, uid, dir_fd=here, follow_symlinks=False)
            try:
                below = os.open(step, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=here)
            except OSError as error:
                raise SandboxError(f"nothing can be shown at {place!r}: {step!r} is not a folder there") from error
            os.close(here)
            here = below
    finally:
        os.close(here)


# --unshare-all takes the network away. Everything is dropped that could be given back.
ISOLATION = (
    "--unshare-all", "--unshare-user", "--uid", str(JOB_UID), "--gid", str(JOB_UID), "--hostname", "job",
    "--die-with-parent", "--new-session", "--clearenv", "--cap-drop", "ALL",
)  # fmt: skip


def runtime_arguments(memory_bytes: int, devices: Sequence[str]) -> list[str]:
    """/proc, /dev with the devices given, and what a job may write to in memory: two places, each half of its limit.

    Bubblewrap's own first process is outside of the seccomp filter, and runs as the job's user: the job could write
    itself into it through /proc/1/mem. So /proc/1 is covered.
    """
    half = str(max(memory_bytes // 2, 1 << 20))
    given = [word for device in devices for word in ("--dev-bind", device, device)]
    return [
        "--proc", "/proc", "--size", "4096", "--tmpfs", "/proc/1",
        "--dev", "/dev", *given, "--perms", "1777", "--size", half, "--tmpfs", "/dev/shm", "--remount-ro", "/dev",  # noqa: S108
        "--perms", "1777", "--size", half, "--tmpfs", "/tmp", "--dir", "/var", "--symlink", "/tmp", "/var/tmp",  # noqa: S108
    ]  # fmt: skip


def problem_with_command(
    argv0: str,
    *,
    cwd: str,
    search_path: str,
    folder: Path,
    read_only: Sequence[Path] = (),
    shown: Mapping[str, Path] = MappingProxyType({}),
) -> Problem | None:
    """What a shell would say of a command that cannot be run.

    Looked up on the host, since /usr is the same inside. None if it can be run, or if only the kernel can tell.
    Strings rather than Paths: this is on the way of every start.
    """
    found_something = False
    for name in names_of(argv0, search_path):
        inside = posixpath.normpath(name if name.startswith("/") else f"{cwd}/{name}")
        in_folder = inside.startswith(f"{JOB_FOLDER}/")
        top = inside.split("/")[1]
        if in_folder:
            host = _on_host(inside, folder, shown)
        elif top == "usr" or top in SYSTEM_FOLDERS:
            host = inside
        elif top in UNKNOWN_FOLDERS or any(Path(inside).is_relative_to(root) for root in read_only):
            return None
        else:
            continue
        try:
            # A link of the job's may lead anywhere inside; on the host it would lead elsewhere.
            mode = os.stat(host, follow_symlinks=not in_folder).st_mode  # noqa: PTH116
        except OSError:
            continue
        if stat.S_ISLNK(mode) or (stat.S_ISREG(mode) and mode & 0o111):
            return None
        found_something = True
    return NOT_EXECUTABLE if found_something else NOT_FOUND


def _on_host(inside: str, folder: Path, shown: Mapping[str, Path]) -> str:
    """Where a path in the job's folder is on the host."""
    for place, source in shown.items():
        if inside.startswith(f"{JOB_FOLDER}/{place}/"):
            return f"{source}{inside.removeprefix(f'{JOB_FOLDER}/{place}')}"
    return f"{folder}{inside.removeprefix(JOB_FOLDER)}"
