"""Signals read from the files and tools of machines that are not this one."""

import os

import pytest
from support.fake_machines import FakeMachine, seconds, why

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals import machine as machines
from computepool.agent.owner.signals.battery import read_battery
from computepool.agent.owner.signals.linux_input import LinuxInput
from computepool.agent.owner.signals.local import local_signals
from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.signals.macos import MacInput
from computepool.agent.owner.signals.metered import read_metered
from computepool.agent.owner.signals.seat import read_seat
from computepool.agent.owner.signals.sessions import display_of, list_sessions
from computepool.agent.owner.signals.temperature import read_cpu_celsius
from computepool.agent.owner.signals.terminals import read_terminals
from computepool.agent.owner.signals.windows import WindowsInput, WslInput
from computepool.agent.owner.signals.x11 import XDisplay, local_display


@pytest.fixture
def fake(tmp_path):
    return FakeMachine(tmp_path)


# ── battery, temperature, network ────────────────────────────────────────────────────────────────────────────────────

MAINS_ON = {"AC/type": "Mains", "AC/online": "1"}
MAINS_OFF = {"AC/type": "Mains", "AC/online": "0"}


@pytest.mark.parametrize(
    ("supplies", "on_battery"),
    [
        (None, False),
        ({}, False),
        (MAINS_ON, False),
        (MAINS_ON | {"BAT0/type": "Battery", "BAT0/status": "Full"}, False),
        (MAINS_ON | {"BAT0/type": "Battery", "BAT0/status": "Discharging"}, False),
        (MAINS_OFF | {"BAT0/type": "Battery", "BAT0/status": "Discharging"}, True),
        (MAINS_OFF | {"A/type": "Battery", "A/status": "Full", "B/type": "Battery", "B/status": "Discharging"}, True),
        ({"mouse/type": "Battery", "mouse/scope": "Device", "mouse/status": "Discharging"}, False),
        ({"BAT0/type": "Battery", "BAT0/status": "Discharging", "ucsi/type": "USB", "ucsi/online": "1"}, False),
    ],
)
def test_linux_machine_lives_on_its_battery_when_it_discharges_without_mains(fake, supplies, on_battery):
    for path, text in (supplies or {}).items():
        fake.file(f"/sys/class/power_supply/{path}", text + "\n")
    assert read_battery(fake.machine) is on_battery


def test_mac_is_asked_with_pmset(tmp_path):
    fake = FakeMachine(tmp_path, platform="darwin")
    assert "pmset is not installed" in why(read_battery(fake.machine))
    fake.tool("pmset", "echo \"Now drawing from 'Battery Power'\"")
    assert read_battery(fake.machine) is True
    fake.tool("pmset", "echo \"Now drawing from 'AC Power'\"")
    assert read_battery(fake.machine) is False
    fake.tool("pmset", "echo nonsense")
    assert isinstance(read_battery(fake.machine), Unknown)


def test_hottest_thermometer_of_the_processor_counts(fake):
    assert isinstance(read_cpu_celsius(fake.machine), Unknown)
    fake.file("/sys/class/thermal/thermal_zone0/type", "acpitz")
    fake.file("/sys/class/thermal/thermal_zone0/temp", "99000")
    assert isinstance(read_cpu_celsius(fake.machine), Unknown), "not the processor's"
    fake.file("/sys/class/thermal/thermal_zone1/type", "x86_pkg_temp")
    fake.file("/sys/class/thermal/thermal_zone1/temp", "61000")
    assert read_cpu_celsius(fake.machine) == 61
    for name, chip, values in (
        ("hwmon0", "nvme", {"temp1_input": "90000"}),
        ("hwmon1", "coretemp", {"temp1_input": "71000", "temp2_input": "72500", "temp3_input": "255000"}),
    ):
        fake.file(f"/sys/class/hwmon/{name}/name", chip)
        for file, text in values.items():
            fake.file(f"/sys/class/hwmon/{name}/{file}", text)
    assert read_cpu_celsius(fake.machine) == 72.5


def test_ryzen_is_as_hot_as_its_die(fake):
    chip = {"name": "k10temp", "temp1_input": "88000", "temp1_label": "Tctl", "temp2_input": "61000"}
    for file, text in {**chip, "temp2_label": "Tdie"}.items():
        fake.file(f"/sys/class/hwmon/hwmon0/{file}", text)
    assert read_cpu_celsius(fake.machine) == 61
    (fake.root / "sys/class/hwmon/hwmon0/temp2_label").unlink()
    assert read_cpu_celsius(fake.machine) == 88


@pytest.mark.parametrize(
    ("answer", "metered"),
    [
        ("GENERAL.STATE:100 (connected)\nGENERAL.METERED:no (guessed)", False),
        ("GENERAL.STATE:100 (connected)\nGENERAL.METERED:yes", True),
        ("GENERAL.STATE:100 (connected)\nGENERAL.METERED:yes (guessed)", True),
        ("GENERAL.STATE:30 (off)\nGENERAL.METERED:yes\n\nGENERAL.STATE:100 (connected)\nGENERAL.METERED:no", False),
        ("GENERAL.STATE:100 (connected (externally))\nGENERAL.METERED:unknown", None),
        ("", None),
    ],
)
def test_network_manager_tells_whether_the_network_is_metered(fake, answer, metered):
    fake.tool("nmcli", f"cat <<'END'\n{answer}\nEND")
    reading = read_metered(fake.machine)
    assert isinstance(reading, Unknown) if metered is None else reading is metered


def test_tool_that_fails_hangs_or_floods_is_unknown_in_bounded_time(fake, monkeypatch):
    assert "not installed" in why(read_metered(fake.machine))
    fake.tool("nmcli", "exit 8")
    assert "exit code 8" in why(read_metered(fake.machine))
    fake.tool("nmcli", "sleep 3600 & sleep 3600")
    with monkeypatch.context() as patch:
        patch.setattr(machines, "TOOL_SECONDS", 0.3)
        assert "does not answer" in why(read_metered(fake.machine))
    fake.tool("nmcli", "yes GENERAL.STATE:100 | head -c 3000000")
    assert isinstance(read_metered(fake.machine), Unknown)
    (fake.tools / "nmcli").write_bytes(b"\x00 no program")
    assert isinstance(read_metered(fake.machine), Unknown)


# ── the seat ─────────────────────────────────────────────────────────────────────────────────────────────────────────

KEYBOARD = 'N: Name="USB Keyboard"\nH: Handlers=sysrq kbd event3 leds\nB: EV=120013\n'
POWER_BUTTON = 'N: Name="Power Button"\nH: Handlers=kbd event0\nB: EV=3\n'


def test_desktop_has_a_seat(fake):
    fake.session("2", TYPE="wayland")
    assert read_seat(fake.machine) is True


def test_text_console_is_a_seat_and_ssh_is_none(fake):
    fake.session("7", TYPE="tty", SEAT="", TTY="pts/0", REMOTE="1")
    assert read_seat(fake.machine) is False
    fake.session("8", TYPE="tty", TTY="tty1")
    assert read_seat(fake.machine) is True


def test_services_are_nobody(fake):
    fake.session("c1", CLASS="background", TYPE="unspecified")
    fake.session("c2", CLASS="manager", TYPE="unspecified")
    fake.session("c3", STATE="closing")
    assert read_seat(fake.machine) is False


def test_server_with_logind_has_no_seat(fake):
    fake.logind()
    assert read_seat(fake.machine) is False


@pytest.mark.parametrize(
    ("environ", "seat"),
    [
        ({"DISPLAY": ":0"}, True),
        ({"WAYLAND_DISPLAY": "wayland-0"}, True),
        ({"DISPLAY": "localhost:10.0"}, False),
        ({}, False),
    ],
)
def test_screen_of_this_machine_is_a_seat_and_a_forwarded_one_is_not(tmp_path, environ, seat):
    assert read_seat(FakeMachine(tmp_path, environ=environ).machine) is seat


def test_container_on_a_desktop_says_that_it_cannot_know(fake):
    fake.file("/proc/bus/input/devices", POWER_BUTTON)
    assert read_seat(fake.machine) is False
    fake.file("/proc/bus/input/devices", f"{POWER_BUTTON}\n{KEYBOARD}")
    assert "keyboard" in why(read_seat(fake.machine))
    fake.file("/sys/class/drm/card0-HDMI-A-1/status", "disconnected")
    fake.file("/sys/class/drm/card0-DP-1/status", "connected")
    assert "monitor" in why(read_seat(fake.machine))


def test_mac_and_windows_are_somebodys(tmp_path):
    for index, platform in enumerate(("darwin", "win32")):
        folder = tmp_path / str(index)
        folder.mkdir()
        assert read_seat(FakeMachine(folder, platform=platform).machine) is True


# ── terminals, consoles, sessions ────────────────────────────────────────────────────────────────────────────────────


def test_terminal_that_was_typed_in_last_counts(fake):
    assert read_terminals(fake.machine) is None
    fake.file("/dev/pts/ptmx", idle=1)
    assert read_terminals(fake.machine) is None
    fake.file("/dev/pts/0", idle=500)
    fake.file("/dev/pts/12", idle=30)
    assert read_terminals(fake.machine) == Idle(30, "terminal")
    fake.wall_seconds -= 1000
    assert read_terminals(fake.machine) == Idle(0, "terminal"), "the clock was set back"


def test_real_terminal_shows_when_it_was_typed_in():
    ours, theirs = os.openpty()
    try:
        os.write(ours, b"typed\n")
        os.read(theirs, 10)
        reading = read_terminals(Machine())
    finally:
        os.close(ours)
        os.close(theirs)
    # The kernel moves a terminal's times in steps of eight seconds, so that nobody can count keys.
    assert isinstance(reading, Idle)
    assert reading.seconds < 20


def test_text_console_is_read_by_its_last_key(fake):
    fake.session("3", TYPE="tty", TTY="tty2")
    fake.file("/dev/tty2", idle=77)
    assert LinuxInput(fake.machine).read() == Idle(77, "console")


def test_desktop_that_nobody_can_ask_is_unknown(fake):
    fake.session("2", TYPE="wayland")
    reader = LinuxInput(fake.machine)
    assert isinstance(reader.read(), Unknown)
    assert "Wayland" in why(reader.full_screen())


def test_one_session_in_the_dark_makes_the_whole_unknown(fake):
    fake.session("2", TYPE="wayland", UID=12345)
    fake.session("3", TYPE="tty", TTY="tty2")
    fake.file("/dev/tty2", idle=77)
    assert isinstance(LinuxInput(fake.machine).read(), Unknown)


def test_machine_on_which_nobody_is_logged_in_counts_from_the_first_look(fake):
    fake.session("c1", CLASS="greeter", TYPE="wayland", UID=12345)
    reader = LinuxInput(fake.machine)
    assert reader.read() == Idle(0, "machine")
    fake.seconds += 1000
    assert reader.read() == Idle(1000, "machine")
    fake.session("2", TYPE="tty", TTY="tty2")
    fake.file("/dev/tty2", idle=5)
    fake.seconds += 10
    assert reader.read() == Idle(5, "console")


def test_hand_on_a_laptops_keyboard_shows_in_its_interrupts(fake):
    fake.session("3", TYPE="tty", TTY="tty2")
    fake.file("/dev/tty2", idle=5000)
    fake.file("/sys/kernel/irq/1/actions", "i8042\n")
    fake.file("/sys/kernel/irq/9/actions", "acpi\n")
    fake.file("/sys/kernel/irq/1/per_cpu_count", "10,20\n")
    fake.file("/sys/kernel/irq/9/per_cpu_count", "1,1\n")
    reader = LinuxInput(fake.machine)
    assert reader.read() == Idle(5000, "console")
    fake.file("/sys/kernel/irq/9/per_cpu_count", "2,1\n")
    assert reader.read() == Idle(5000, "console")
    fake.file("/sys/kernel/irq/1/per_cpu_count", "10,22\n")
    assert seconds(reader.read()) == 0
    fake.seconds += 30
    assert seconds(reader.read()) == 30


def test_display_and_authority_come_from_a_program_of_the_session(fake):
    fake.session("2", DISPLAY=":7")
    uid = os.getuid()
    fake.file("/proc/100/environ", "HOME=/home/alice\0")
    fake.file("/proc/200/environ", "DISPLAY=:3\0XAUTHORITY=/other\0")
    fake.file("/proc/300/environ", "DISPLAY=:7.0\0XAUTHORITY=/run/user/1000/gdm/Xauthority\0")
    (session,) = list_sessions(fake.machine)
    found = display_of(fake.machine, session)
    assert found is not None
    assert (found.number, str(found.authority), found.uid) == (7, "/run/user/1000/gdm/Xauthority", uid)
    (fake.root / "proc/300/environ").unlink()
    assert display_of(fake.machine, session) == XDisplay(7, uid=uid)


@pytest.mark.parametrize(
    ("text", "number"),
    [(":0", 0), (":1.0", 1), ("unix:12", 12), ("localhost:10.0", None), ("", None), ("wayland-0", None), (":x", None)],
)
def test_only_displays_of_this_machine_count(text, number):
    assert local_display(text) == number


@pytest.mark.parametrize(("session", "path"), [("2", "_32"), ("12", "_312"), ("c1", "c1"), ("c1-x", "c1_2dx")])
def test_session_is_called_on_the_bus_as_logind_calls_it(fake, session, path):
    fake.session(session)
    assert list_sessions(fake.machine)[0].object_path == f"/org/freedesktop/login1/session/{path}"


def test_damaged_session_files_are_passed_over(fake):
    fake.logind()
    fake.file("/run/systemd/sessions/1", "UID=x\nCLASS=user")
    fake.file("/run/systemd/sessions/2", "\x00\x01 nonsense")
    os.mkfifo(fake.root / "run/systemd/sessions/3.ref")
    assert list_sessions(fake.machine) == []


# ── other systems ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_ioreg_tells_a_macs_idle_time_and_is_not_asked_twice_a_second(fake):
    fake.tool("ioreg", 'echo "|   \\"HIDIdleTime\\" = 5250000000"; echo x >> "$0.calls"')
    reader = MacInput(fake.machine)
    for _ in range(5):
        assert reader.read() == Idle(5.25)
        fake.seconds += 0.5
    assert len((fake.tools / "ioreg.calls").read_text().split()) == 1


WSL = "5.15.153.1-microsoft-standard-WSL2"


def test_wsl_asks_its_windows_through_one_process(fake):
    fake.file("/proc/sys/kernel/osrelease", WSL)
    fake.tool(
        "powershell.exe", 'echo x >> "$0.starts"\nn=1000\nwhile read -r _; do echo "$n 3 Offline"; n=$((n+500)); done'
    )
    signals = local_signals(machine=fake.machine)
    assert signals.seat() is True
    assert isinstance(signals.full_screen(), Unknown)
    assert signals.idle() == Idle(1.0)
    assert signals.idle() == Idle(1.5)
    assert signals.full_screen() == ""
    assert signals.on_battery() is True
    assert len((fake.tools / "powershell.exe.starts").read_text().split()) == 1
    signals.close()


def test_wsl_without_its_windows_is_unknown_and_tries_again_later(fake):
    fake.file("/proc/sys/kernel/osrelease", WSL)
    reader = WslInput(fake.machine)
    assert "not reachable" in why(reader.read())
    fake.tool("powershell.exe", "exit 1")
    fake.seconds += 61
    assert isinstance(reader.read(), Unknown)
    fake.tool("powershell.exe", 'while read -r _; do echo "7000 5 Online"; done')
    assert isinstance(reader.read(), Unknown), "not at once again"
    fake.seconds += 61
    assert reader.read() == Idle(7.0)
    assert reader.last_full_screen() is None
    assert reader.last_on_battery() is False
    reader.close()


def test_windows_signals_elsewhere_are_unknown_and_not_a_crash():
    assert isinstance(WindowsInput().read(), Unknown)
    assert isinstance(WindowsInput().full_screen(), Unknown)


@pytest.mark.parametrize("platform", ["linux", "darwin", "win32", "freebsd14"])
def test_bare_machine_of_any_kind_has_readings_for_everything(tmp_path, platform):
    signals = local_signals(machine=FakeMachine(tmp_path, platform=platform).machine)
    for name in ("seat", "idle", "terminal", "full_screen", "on_battery", "cpu_celsius", "metered", "data_used_bytes"):
        getattr(signals, name)()
    assert signals.gpus() == ()
    signals.close()
