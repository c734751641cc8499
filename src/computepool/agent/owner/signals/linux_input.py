"""Keyboard and mouse on Linux: every session of a person on this machine, whichever was used last."""

import contextlib

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.desktop import DesktopSession, SystemBus
from computepool.agent.owner.signals.interrupts import InputInterrupts
from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.signals.seat import has_logind
from computepool.agent.owner.signals.sessions import Session, list_sessions

SESSIONS_SECONDS = 10.0
"""Between two looks at who is logged in."""


class LinuxInput:
    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._system = SystemBus(machine)
        self._interrupts = InputInterrupts(machine)
        self._sessions: list[Session] = []
        self._listed_at: float | None = None
        self._desktops: dict[Session | None, DesktopSession] = {}
        self._nobody_since: float | None = None

    def read(self) -> Idle | Unknown:
        idle = self._sessions_idle()
        touched = self._interrupts.idle_seconds()
        # A hand on the keyboard counts, whatever the desktop says; an untouched one proves nothing.
        if touched is None or isinstance(idle, Unknown):
            return idle
        return min(idle, Idle(touched), key=lambda one: one.seconds)

    def full_screen(self) -> str | Unknown | None:
        self._list()
        unknown: Unknown | None = None
        for desktop in self._desktops.values():
            display = desktop.display()
            if display is None:
                unknown = Unknown("Wayland tells nobody which program fills the screen")
                continue
            program = display.use(lambda line: line.full_screen())
            if isinstance(program, str):
                return program
            unknown = program or unknown
        return unknown

    def close(self) -> None:
        for desktop in self._desktops.values():
            desktop.close()
        self._system.close()

    def _sessions_idle(self) -> Idle | Unknown:
        self._list()
        seen: list[Idle] = []
        for session, desktop in self._desktops.items():
            idle = desktop.idle_seconds()
            if not isinstance(idle, Unknown):
                seen.append(Idle(idle))
            elif session is None or not session.is_greeter:
                # One session that cannot be seen is enough: the owner may be in that one.
                return idle
        seen += [Idle(idle, "console") for idle in self._consoles()]
        if seen:
            self._nobody_since = None
            return min(seen, key=lambda one: one.seconds)
        return self._nobody()

    def _nobody(self) -> Idle | Unknown:
        if not has_logind(self._machine):
            return Unknown("there is no desktop session to ask, and no logind")
        now = self._machine.monotonic()
        self._nobody_since = now if self._nobody_since is None else self._nobody_since
        return Idle(now - self._nobody_since, "machine")

    def _consoles(self) -> list[float]:
        """Text consoles of the seat: a terminal's access time is its last key."""
        found = []
        for session in self._sessions:
            if session.type == "tty" and session.seat and session.tty:
                with contextlib.suppress(OSError):
                    used = self._machine.file(f"/dev/{session.tty}").stat().st_atime
                    found.append(max(0.0, self._machine.wall() - used))
        return found

    def _list(self) -> None:
        now = self._machine.monotonic()
        if self._listed_at is not None and now < self._listed_at + SESSIONS_SECONDS:
            return
        self._listed_at, self._sessions = now, list_sessions(self._machine)
        wanted: list[Session | None] = [session for session in self._sessions if session.is_graphical]
        environ = self._machine.environ
        if not wanted and ("WAYLAND_DISPLAY" in environ or "DISPLAY" in environ):
            wanted = [None]
        for gone in self._desktops.keys() - set(wanted):
            self._desktops.pop(gone).close()
        for session in wanted:
            if session not in self._desktops:
                self._desktops[session] = DesktopSession(self._machine, session, self._system)
