"""Desktops and logind over a real D-Bus daemon, with services that answer as theirs do."""

import contextlib
import socket
import tempfile
import threading
from pathlib import Path

import pytest
from support.buses import Service, bus
from support.fake_machines import FakeMachine, seconds
from support.waiting import patience

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.dbus import BusLine, BusRefused, BusTrouble, socket_of
from computepool.agent.owner.signals.desktop import GNOME, GNOME_CORE, LOGIN, SAVER, SAVER_PATH, SYSTEM_BUS
from computepool.agent.owner.signals.linux_input import LinuxInput

DAEMON = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
SESSION = "/org/freedesktop/login1/session/_32"


@pytest.fixture
def desk():
    """A Wayland session with a session bus of its own, in a folder with a short name: a socket's must be short."""
    with tempfile.TemporaryDirectory(prefix="cp-") as folder, bus() as path:
        fake = FakeMachine(Path(folder), environ={})
        fake.session("2", TYPE="wayland")
        fake.environ["DBUS_SESSION_BUS_ADDRESS"] = f"unix:path={path}"
        yield fake, path


@contextlib.contextmanager
def service(path, name, answers):
    one = Service(path, name, answers)
    try:
        yield one
    finally:
        one.close()


@pytest.mark.engine("dbus")
def test_real_daemon_answers():
    with bus() as path:
        line = BusLine(str(path))
        assert len(str(line.ask(*DAEMON, "GetId"))) == 32
        assert line.ask(*DAEMON, "NameHasOwner", "org.example.Nobody") == 0
        assert line.ask(*DAEMON, "GetNameOwner", "org.freedesktop.DBus") == "org.freedesktop.DBus"
        with pytest.raises(BusRefused):
            line.ask("org.example.Nobody", "/", "org.example", "Ask")
        with pytest.raises(BusTrouble, match="was not expected"):
            line.ask(*DAEMON, "ListNames")
        assert line.ask(*DAEMON, "NameHasOwner", "org.freedesktop.DBus") == 1, "the line is still good"
        line.close()


@pytest.mark.engine("dbus")
def test_gnome_on_wayland_tells_the_exact_idle_time(desk):
    fake, path = desk
    answers = {(GNOME_CORE, "GetIdletime", ""): ("t", 61_500)}
    with service(path, GNOME, answers):
        reader = LinuxInput(fake.machine)
        assert reader.read() == Idle(61.5)
        answers[GNOME_CORE, "GetIdletime", ""] = ("t", 2**40)
        assert reader.read() == Idle(2**40 / 1000)
        reader.close()


@pytest.mark.engine("dbus")
def test_other_desktops_are_asked_as_a_screen_saver_and_a_zero_is_no_answer(desk):
    fake, path = desk
    with service(path, SAVER, {(SAVER_PATH, "GetSessionIdleTime", ""): ("u", 300)}) as saver:
        reader = LinuxInput(fake.machine)
        assert reader.read() == Idle(300)
        saver.answers[SAVER_PATH, "GetSessionIdleTime", ""] = ("u", 0)
        assert isinstance(reader.read(), Unknown)
        reader.close()


@pytest.mark.engine("dbus")
def test_logind_is_asked_where_the_desktop_says_nothing(desk):
    fake, _ = desk
    system = fake.root / SYSTEM_BUS.lstrip("/")
    system.parent.mkdir(parents=True)
    with bus(system), service(system, LOGIN, {(SESSION, "Get", "IdleHint"): ("b", 0)}) as logind:
        reader = LinuxInput(fake.machine)
        assert reader.read() == Idle(0)
        logind.answers[SESSION, "Get", "IdleHint"] = ("b", 1)
        logind.answers[SESSION, "Get", "IdleSinceHintMonotonic"] = ("t", int((fake.seconds - 1234) * 1e6))
        assert seconds(reader.read()) == pytest.approx(1234)
        reader.close()


@pytest.mark.engine("dbus")
def test_desktop_that_goes_and_comes_back_is_asked_again(desk):
    fake, path = desk
    reader = LinuxInput(fake.machine)
    with service(path, GNOME, {(GNOME_CORE, "GetIdletime", ""): ("t", 1000)}):
        assert reader.read() == Idle(1)
    assert isinstance(reader.read(), Unknown)
    with service(path, GNOME, {(GNOME_CORE, "GetIdletime", ""): ("t", 2000)}):
        assert reader.read() == Idle(2)
    reader.close()


@pytest.mark.parametrize(
    ("address", "path"),
    [
        ("unix:path=/run/user/1000/bus", "/run/user/1000/bus"),
        ("unix:path=/tmp/a%20b,guid=12", "/tmp/a b"),
        ("unix:guid=12,path=/x", "/x"),
        ("unix:abstract=/tmp/dbus-1", "\0/tmp/dbus-1"),
        ("tcp:host=localhost,port=1;unix:path=/y", "/y"),
        ("tcp:host=localhost,port=1", None),
        ("", None),
    ],
)
def test_address_of_a_bus_is_understood(address, path):
    assert socket_of(address) == path


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"REJECTED EXTERNAL\r\n",
        b"OK 12\r\n" + b"\xff" * 64,
        b"OK 12\r\nl\x02\x00\x01\xff\xff\xff\x7f\x01\x00\x00\x00\xff\xff\xff\x7f",
        b"OK 12\r\nl\x02\x00\x01\x00\x00\x00\x00\x01\x00\x00\x00\x04\x00\x00\x00\x05\x01u\x00\x00\x00\x00\x00",
        b"x" * 5000,
    ],
)
def test_bus_that_talks_nonsense_is_trouble_and_nothing_worse(tmp_path, answer):
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "bus"))
    listener.listen(1)

    def talk():
        line, _ = listener.accept()
        with line, contextlib.suppress(OSError):
            line.recv(1000)
            line.sendall(answer)

    talker = threading.Thread(target=talk)
    talker.start()
    with pytest.raises(BusTrouble):
        BusLine(str(tmp_path / "bus"))
    talker.join(patience())
    listener.close()
