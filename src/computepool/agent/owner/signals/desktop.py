"""How long a desktop session on Linux has been idle: from its X server, its desktop, or logind."""

from collections.abc import Callable
from functools import partial

from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.dbus import BusLine, socket_of
from computepool.agent.owner.signals.kept import KeptConnection
from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.signals.sessions import Session, display_of, own_display
from computepool.agent.owner.signals.x11 import SOCKETS, XDisplay, XLine, local_display

SYSTEM_BUS = "/run/dbus/system_bus_socket"
LOGIN, LOGIN_SESSION = "org.freedesktop.login1", "org.freedesktop.login1.Session"
GNOME, GNOME_CORE = "org.gnome.Mutter.IdleMonitor", "/org/gnome/Mutter/IdleMonitor/Core"
SAVER, SAVER_PATH = "org.freedesktop.ScreenSaver", "/org/freedesktop/ScreenSaver"
FIND_AGAIN_SECONDS = 30.0


def open_display(machine: Machine, display: XDisplay) -> XLine:
    return XLine(display, machine.file(SOCKETS))


class SystemBus:
    """logind, asked about a session. It knows what desktops tell it, often minutes late; never too early."""

    def __init__(self, machine: Machine) -> None:
        self._machine = machine
        self._line = KeptConnection(lambda: BusLine(str(machine.file(SYSTEM_BUS)), machine.uid), machine.monotonic)

    def idle_seconds(self, session: Session) -> float | Unknown:
        path = session.object_path
        hint = self._line.use(lambda line: line.property(LOGIN, path, LOGIN_SESSION, "IdleHint"))
        if isinstance(hint, Unknown):
            return hint
        if not hint:
            return 0.0
        since = self._line.use(lambda line: line.property(LOGIN, path, LOGIN_SESSION, "IdleSinceHintMonotonic"))
        if isinstance(since, Unknown):
            return since
        return max(0.0, self._machine.monotonic() - float(since) / 1_000_000)

    def close(self) -> None:
        self._line.close()


class SessionBus:
    """The desktop itself: GNOME tells the exact time, KDE and others the screen saver's."""

    def __init__(self, machine: Machine, path: str) -> None:
        self._line = KeptConnection(lambda: BusLine(path, machine.uid), machine.monotonic)

    def idle_seconds(self) -> float | Unknown:
        gnome = self._line.use(lambda line: line.ask(GNOME, GNOME_CORE, GNOME, "GetIdletime"))
        if not isinstance(gnome, Unknown):
            return float(gnome) / 1000
        saver = self._line.use(lambda line: line.ask(SAVER, SAVER_PATH, SAVER, "GetSessionIdleTime"))
        # Some desktops always answer 0. That is not a reading, and the next source is asked.
        if isinstance(saver, Unknown) or not saver:
            return Unknown("the desktop does not tell how long it was idle")
        return float(saver)

    def close(self) -> None:
        self._line.close()


class DesktopSession:
    """One session, and the lines to whoever knows about it. Without a session: the agent's own desktop."""

    def __init__(self, machine: Machine, session: Session | None, system: SystemBus) -> None:
        self._machine, self._session, self._system = machine, session, system
        self._display: KeptConnection[XLine] | None = None
        self._looked_at: float | None = None
        self._bus = self._find_bus()

    def _find_bus(self) -> SessionBus | None:
        machine, session = self._machine, self._session
        address = socket_of(machine.environ.get("DBUS_SESSION_BUS_ADDRESS", ""))
        if session is None:
            return SessionBus(machine, address) if address else None
        # Another user's bus does not let us in, whoever we are.
        if session.uid != machine.uid:
            return None
        return SessionBus(machine, address or str(machine.file(f"/run/user/{session.uid}/bus")))

    def display(self) -> KeptConnection[XLine] | None:
        """Its X server, unless that is a guest of Wayland, which sees only its own windows' input."""
        machine, session = self._machine, self._session
        kind = session.type if session is not None else ("wayland" if "WAYLAND_DISPLAY" in machine.environ else "x11")
        if kind != "x11":
            return None
        now = machine.monotonic()
        if self._display is None and (self._looked_at is None or now >= self._looked_at + FIND_AGAIN_SECONDS):
            self._looked_at = now
            found = own_display(machine)
            if session is not None and not _is_of(found, session, machine):
                found = display_of(machine, session)
            if found is not None:
                self._display = KeptConnection(partial(open_display, machine, found), machine.monotonic)
        return self._display

    def idle_seconds(self) -> float | Unknown:
        answers: list[Callable[[], float | Unknown]] = []
        display = self.display()
        if display is not None:
            answers.append(lambda: _exact(display.use(lambda line: None if line.is_wayland else line.idle_seconds())))
        if self._bus is not None:
            answers.append(self._bus.idle_seconds)
        session = self._session
        if session is not None:
            answers.append(lambda: self._system.idle_seconds(session))
        why = ""
        for answer in answers:
            idle = answer()
            if not isinstance(idle, Unknown):
                return idle
            why = why or idle.why
        return Unknown(why or "no desktop answers")

    def close(self) -> None:
        for line in (self._display, self._bus):
            if line is not None:
                line.close()


def _is_of(display: XDisplay | None, session: Session, machine: Machine) -> bool:
    """Whether the agent's own display is this session's: a user may have a second one, over a remote desktop."""
    if display is None or session.uid != machine.uid:
        return False
    return local_display(session.display) in {None, display.number}


def _exact(idle: float | Unknown | None) -> float | Unknown:
    return Unknown("the X server is a guest of Wayland") if idle is None else idle
