"""What the agent asks of a sandbox, whichever it is: plain process, bubblewrap, a container.

SandboxError
├── FolderUnreachable   the job's user cannot reach the attempt's folder
└── SandboxBroken       whatever the command is, this node cannot run it
"""

import socket
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol, runtime_checkable

from computepool.protocol.states import IsolationLevel

Reason = Literal["exited", "memory", "disk", "pids", "killed", "start_failed", "engine_lost", "not_runnable"]

# Runs a blocking function away from the event loop, like asyncio.to_thread.
Offload = Callable[..., Awaitable[Any]]


class SandboxError(Exception):
    """The sandbox did not run the command. Whether that is its own doing or the command's, `find_fault` tells."""


class FolderUnreachable(SandboxError):
    pass


class SandboxBroken(SandboxError):
    """The host's doing: something of the node's own is missing, whatever the command is."""


@dataclass(frozen=True)
class Limits:
    cpus: float
    memory_bytes: int
    pids: int
    disk_bytes: int


EGRESS_PORT = 3128
"""Where the job finds its only way out: a proxy on its own loopback interface."""

ServeEgress = Callable[[socket.socket], None]
"""Given a listening socket, on `EGRESS_PORT` of the job's own loopback interface; the caller accepts and closes it."""


@dataclass(frozen=True)
class Command:
    """One command of an attempt.

    `folder` is the attempt's own folder on the host, the only place the job may write and keep something.
    `cwd` is relative to it. `devices` are device files of the host (`/dev/nvidia0`) that the job may use, `gpus` the
    ids of GPUs. `shown` are folders of the host that the job sees read-only, by their place in its own folder.
    `links` are absolute paths that lead to places in the job's own folder.
    `image` is the digest of an image that is there already; None for the host's own programs.
    `egress` is called before the command runs; without it there is no way out at all.
    """

    argv: Sequence[str]
    env: Mapping[str, str]
    folder: Path
    limits: Limits
    cwd: str = "work"
    devices: Sequence[str] = ()
    gpus: Sequence[str] = ()
    shown: Mapping[str, Path] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    image: str | None = None
    egress: ServeEgress | None = None


@dataclass(frozen=True)
class Exit:
    """How a command ended.

    `code` is what a shell would say: 128 + signal for one killed by a signal.
    `reason` tells who ended it: itself (`exited`), a limit (`memory`, `disk`, `pids`), `stop` (`killed`);
    `start_failed` means that the sandbox broke before the command ran;
    `engine_lost` that the container engine went away while it ran, which is the host's doing;
    `not_runnable` that there is no such command, or that it is not a program, which `detail` says.
    `ran` is False if the command never ran, for this reason or because it was ended before.
    """

    code: int
    signal: int | None
    reason: Reason
    cpu_seconds: float
    peak_memory_bytes: int
    ran: bool = True
    detail: str = ""


@dataclass(frozen=True)
class UsageNow:
    """What a running command has used and uses; None for what cannot be measured here."""

    cpu_seconds: float | None
    """Since it began."""
    memory_bytes: int | None
    """Now."""


class Process(Protocol):
    """A running command.

    Whoever started it reads `output_fd` (non-blocking, stdout and stderr together) to its end, and closes it. Until
    the command runs, the words that come out are the sandbox's own: `sift` tells them apart.
    """

    @property
    def pid(self) -> int: ...

    @property
    def output_fd(self) -> int: ...

    def sift(self, data: bytes) -> bytes:
        """Of what was just read from `output_fd`, what the command wrote."""
        ...

    @property
    def complaint(self) -> str:
        """What the sandbox said before the command ran, as far as it was read; mostly nothing."""
        ...

    async def wait(self) -> Exit:
        """Return when the command and everything it started are gone."""
        ...

    async def stop(self, grace_seconds: float) -> None:
        """SIGTERM to all of it, SIGKILL after the grace; return when nothing is left."""
        ...

    async def freeze(self) -> None: ...

    async def thaw(self) -> None: ...

    def usage_now(self) -> UsageNow | None:
        """None once it is over, or where nobody can tell. Reads small files: called away from the event loop."""
        ...


class Sandbox(Protocol):
    @property
    def level(self) -> IsolationLevel: ...

    @property
    def soft_limits(self) -> bool:
        """True where a watchdog keeps the limits, because the kernel cannot."""
        ...

    @property
    def takes_images(self) -> bool:
        """Whether `Command.image` is obeyed. False means that a command with one is refused."""
        ...

    @property
    def has_egress(self) -> bool:
        """Whether a job can have a way out. A plain process always has one, and nobody looks at what goes through."""
        ...

    @property
    def attempts_folder(self) -> Path:
        """Make the attempts' folders in here: the job's user can reach it."""
        ...

    def adopt(self, folder: Path) -> None:
        """Give an attempt's folder, with all that is in it, to the job's user. Blocking where there are many files."""
        ...

    def path_inside(self, folder: Path, relative: str) -> str:
        """Where the job sees a path of its attempt's folder."""
        ...

    async def start(self, command: Command) -> Process: ...

    async def sweep(self) -> list[str]:
        """After a crash of the agent: end what is left of earlier runs, and say what it was."""
        ...

    async def close(self) -> None: ...


@runtime_checkable
class MayLoseEgress(Protocol):
    """A sandbox of which a part of the machine or of the image decides whether its way out works."""

    def give_up_egress(self, why: str) -> None:
        """From now on it has none: what it isolates, it isolates all the same."""
        ...


@runtime_checkable
class HasEmptyImage(Protocol):
    async def empty_image(self) -> str | None:
        """An image without any file, from which a command can be started, but not found. None if not even that."""
        ...


@dataclass(frozen=True)
class SelfTest:
    """What a sandbox proved about itself. A node advertises nothing else."""

    ok: bool
    problems: tuple[str, ...] = ()
    facts: Mapping[str, str] = field(default_factory=dict)
