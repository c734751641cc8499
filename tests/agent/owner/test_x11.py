"""A real X server: a key that is pressed, a window that fills the screen, and servers that come and go."""

import asyncio
import os
import time

import pytest
from support.fake_machines import FakeMachine, seconds, why
from support.screens import screen
from support.waiting import eventually, patience

from computepool.agent.clock import SystemClock
from computepool.agent.owner.decide import Decision
from computepool.agent.owner.ladder import Reaction
from computepool.agent.owner.opening import open_watch
from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.kept import RETRY_SECONDS
from computepool.agent.owner.signals.linux_input import LinuxInput
from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.signals.x11 import XDisplay, XLine, XTrouble
from computepool.agent.ports import offload_to_threads

pytestmark = pytest.mark.engine("xvfb")

COOKIE = bytes(range(16))


def ends_idle_time(idle_seconds, use):
    """Whether `use`, of a keyboard or mouse, ends an idle time."""
    eventually(lambda: idle_seconds() > 0.6, "the display is idle")
    began = time.monotonic()
    use()
    return idle_seconds() < time.monotonic() - began + 0.3


def test_key_that_is_pressed_ends_the_idle_time():
    with screen() as one:
        line = XLine(XDisplay(one.number))
        assert ends_idle_time(line.idle_seconds, one.press_key)
        line.close()


def test_mouse_that_is_moved_ends_the_idle_time():
    with screen() as one:
        line = XLine(XDisplay(one.number))
        assert ends_idle_time(line.idle_seconds, lambda: one.run("xdotool", "mousemove", "100", "100"))
        line.close()


def show(one, window_id, states, *, active=True):
    one.run("xprop", "-id", window_id, "-f", "_NET_WM_STATE", "32a", "-set", "_NET_WM_STATE", states)
    target = "_NET_ACTIVE_WINDOW" if active else "_NET_CLIENT_LIST"
    one.run("xprop", "-root", "-f", target, "32x", "-set", target, window_id)


def test_window_that_fills_the_screen_is_seen_with_its_program():
    with screen() as one:
        line = XLine(XDisplay(one.number))
        assert line.full_screen() is None
        # The root window itself will do as a window: it is there, and takes properties.
        root = hex(line.root)
        one.run("xprop", "-id", root, "-f", "WM_CLASS", "8s", "-set", "WM_CLASS", "Film")
        show(one, root, "_NET_WM_STATE_ABOVE")
        assert line.full_screen() is None
        show(one, root, "_NET_WM_STATE_FULLSCREEN")
        assert line.full_screen() == "Film"
        show(one, root, "_NET_WM_STATE_FULLSCREEN, _NET_WM_STATE_HIDDEN")
        assert line.full_screen() is None
        line.close()


def test_film_on_the_second_screen_counts_and_one_on_another_desktop_does_not():
    with screen() as one:
        line = XLine(XDisplay(one.number))
        root = hex(line.root)
        show(one, root, "_NET_WM_STATE_FULLSCREEN", active=False)
        assert line.full_screen() == ""
        for name, value in (("_NET_CURRENT_DESKTOP", "0"), ("_NET_WM_DESKTOP", "1")):
            one.run("xprop", "-root", "-f", name, "32c", "-set", name, value)
        assert line.full_screen() is None
        line.close()


def test_window_that_has_gone_is_no_trouble():
    with screen() as one:
        line = XLine(XDisplay(one.number))
        for target in ("_NET_ACTIVE_WINDOW", "_NET_CLIENT_LIST"):
            one.run("xprop", "-root", "-f", target, "32x", "-set", target, "0x1234567")
        assert line.full_screen() is None
        assert line.idle_seconds() >= 0
        line.close()


def test_server_with_a_secret_is_opened_with_the_owners_file_only(tmp_path):
    with screen(COOKIE) as one:
        authority = one.environ["XAUTHORITY"]
        with pytest.raises(XTrouble, match="does not let the agent in"):
            XLine(XDisplay(one.number))
        line = XLine(XDisplay(one.number, authority, os.getuid()))
        assert line.idle_seconds() >= 0
        line.close()
        with pytest.raises(XTrouble, match="does not let the agent in"):
            XLine(XDisplay(one.number, authority, os.getuid() + 1))
        pipe = tmp_path / "pipe"
        os.mkfifo(pipe)
        with pytest.raises(XTrouble, match="does not let the agent in"):
            XLine(XDisplay(one.number, pipe, os.getuid()))


def test_agents_own_desktop_is_read_and_a_logout_is_unknown_not_the_end(tmp_path):
    clock = {"now": 0.0}
    with screen(COOKIE) as one:
        reader = LinuxInput(Machine(environ=one.environ, root=tmp_path, monotonic=lambda: clock["now"]))
        (tmp_path / "tmp").symlink_to("/tmp")
        assert isinstance(reader.read(), Idle)
        assert reader.full_screen() is None
    assert "X server" in why(reader.read())
    clock["now"] += RETRY_SECONDS - 1
    assert isinstance(reader.read(), Unknown)
    reader.close()


def test_service_finds_the_display_of_whoever_is_logged_in(tmp_path):
    fake = FakeMachine(tmp_path)
    with screen(COOKIE) as one:
        (fake.root / "tmp").symlink_to("/tmp")
        fake.session("2", TYPE="x11")
        environ = "\0".join(f"{key}={value}" for key, value in one.environ.items())
        fake.file("/proc/4242/environ", environ + "\0")
        reader = LinuxInput(fake.machine)
        assert ends_idle_time(lambda: seconds(reader.read()), one.press_key)
        reader.close()


def test_x_server_that_is_a_guest_of_wayland_is_not_believed(tmp_path):
    fake = FakeMachine(tmp_path)
    with screen() as one:
        (fake.root / "tmp").symlink_to("/tmp")
        fake.session("2", TYPE="wayland")
        fake.file("/proc/4242/environ", f"DISPLAY=:{one.number}\0")
        reader = LinuxInput(fake.machine)
        assert isinstance(reader.read(), Unknown)
        reader.close()


def test_look_is_one_question():
    with screen() as one:
        line = XLine(XDisplay(one.number))
        before = line._sequence
        for _ in range(100):
            line.idle_seconds()
        assert line._sequence - before == 100
        line.close()


def test_real_watch_notices_a_real_key(tmp_path):
    async def story(one):
        told: asyncio.Queue[Decision] = asyncio.Queue()
        watch = open_watch(
            tmp_path,
            clock=SystemClock(),
            offload=offload_to_threads,
            on_change=told.put_nowait,
            strangers_work=lambda: True,
            machine=Machine(environ=one.environ, path=str(tmp_path)),
        )
        task = asyncio.ensure_future(watch.run())

        async def type_on():
            while True:
                await asyncio.to_thread(one.press_key)

        async with asyncio.timeout(patience()):
            while not (await told.get()).strangers_welcome:
                pass
            typing = asyncio.ensure_future(type_on())
            while "keyboard or mouse was used" not in (decision := await told.get()).reason:
                pass
        assert decision.reaction is Reaction.SUSPEND
        task.cancel()
        typing.cancel()
        await asyncio.gather(task, typing, return_exceptions=True)

    (tmp_path / "policy.toml").write_text('seat = "yes"\n[start]\nafter_idle = "2s"\ntyping_over_ssh = false')
    with screen() as one:
        asyncio.run(story(one))
