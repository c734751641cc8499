"""Who is logged in, as logind writes it down in small files."""

import contextlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.signals.x11 import XDisplay, local_display

FOLDER = "/run/systemd/sessions"
GRAPHICAL = frozenset({"x11", "wayland", "mir"})
PEOPLE = frozenset({"user", "user-early", "user-light", "user-incomplete", "lock-screen", "greeter"})
MOST_SESSIONS = 200
MOST_PROCESSES = 20_000


@dataclass(frozen=True)
class Session:
    id: str
    uid: int
    type: str
    """x11, wayland, tty, or something else."""
    kind: str
    """user, greeter, …"""
    seat: str
    tty: str
    display: str
    remote: bool

    @property
    def is_graphical(self) -> bool:
        return self.type in GRAPHICAL

    @property
    def is_greeter(self) -> bool:
        """A screen that asks who is there: nobody has logged in on it yet."""
        return self.kind == "greeter"

    @property
    def object_path(self) -> str:
        """Its name on the bus."""
        first = self.id[:1]
        name = "".join(
            letter if letter.isascii() and letter.isalnum() else f"_{ord(letter):02x}" for letter in self.id[1:]
        )
        head = first if first.isascii() and first.isalpha() else f"_{ord(first):02x}"
        return f"/org/freedesktop/login1/session/{head}{name}"


def list_sessions(machine: Machine) -> list[Session]:
    """Sessions of people, without those of services."""
    found = []
    with contextlib.suppress(OSError):
        for path in sorted(machine.file(FOLDER).iterdir())[:MOST_SESSIONS]:
            # Beside the files there are pipes, by which sessions are held open.
            if path.name.startswith(".") or not path.is_file():
                continue
            session = _session(path.name, machine.text(path) or "")
            if session is not None:
                found.append(session)
    return found


def _session(name: str, text: str) -> Session | None:
    values = dict(line.split("=", 1) for line in text.splitlines() if "=" in line and not line.startswith("#"))
    if values.get("CLASS", "user") not in PEOPLE or values.get("STATE") == "closing":
        return None
    try:
        uid = int(values.get("UID", ""))
    except ValueError:
        return None
    return Session(
        id=name,
        uid=uid,
        type=values.get("TYPE", ""),
        kind=values.get("CLASS", "user"),
        seat=values.get("SEAT", ""),
        tty=values.get("TTY", ""),
        display=values.get("DISPLAY", ""),
        remote=values.get("REMOTE") == "1",
    )


def display_of(machine: Machine, session: Session) -> XDisplay | None:
    """The X display of a session, and what opens it: from the environment of one of the user's programs."""
    known = local_display(session.display) if session.display else None
    for environ in _environments(machine, session.uid):
        number = local_display(environ.get("DISPLAY", ""))
        if number is not None and known in {None, number}:
            authority = environ.get("XAUTHORITY")
            return XDisplay(number, Path(authority) if authority else None, session.uid)
    return XDisplay(known, uid=session.uid) if known is not None else None


def own_display(machine: Machine) -> XDisplay | None:
    """Of the agent itself, if it was started from a desktop."""
    number = local_display(machine.environ.get("DISPLAY", ""))
    if number is None:
        return None
    authority = machine.environ.get("XAUTHORITY") or str(Path(machine.environ.get("HOME", "/")) / ".Xauthority")
    return XDisplay(number, Path(authority), machine.uid)


def _environments(machine: Machine, uid: int) -> Iterator[dict[str, str]]:
    try:
        names = [name for name in os.listdir(machine.file("/proc")) if name.isdigit()]  # noqa: PTH208 - many
    except OSError:
        return
    for name in names[:MOST_PROCESSES]:
        path = machine.file(f"/proc/{name}/environ")
        with contextlib.suppress(OSError):
            if path.stat().st_uid != uid:
                continue
            data = path.read_bytes()
            if b"DISPLAY=" in data:
                pairs = (one.split("=", 1) for one in data.decode(errors="replace").split("\0"))
                yield {pair[0]: pair[1] for pair in pairs if len(pair) == 2}
