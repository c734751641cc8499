"""The status screen: what it shows of an agent, on wide and narrow terminals, and what its keys do."""

import asyncio
import contextlib
import json
import os
import re
import termios
import threading
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console
from support.agents import running_agent
from support.fake_hub import FakeHub
from support.terminals import Terminal
from support.waiting import eventually, patience

from computepool.agent.control import serve_control
from computepool.cli.agent_picture import status_svg
from computepool.cli.agent_screen import Fitted, keys_line, screen

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
STATUS: dict[str, Any] = {
    "node_id": "node_01kq3v8d2m5h7x9c4b6n8z1w3y",
    "name": "attic",
    "hub_url": "https://pool.example.org",
    "state": "online",
    "paused_until": None,
    "link": "websocket",
    "agent_version": "0.1.0",
    "hub_version": "0.2.0",
    "notice": "this agent is old",
    "policy": {
        "strangers_welcome": True,
        "reason": "nobody has used it for 42 minutes",
        "until": None,
        "gpus_in_use": ["GPU-b"],
    },
    "capacity": {
        "cpus": 16,
        "memory_bytes": 50 << 30,
        "disk_bytes": 200 << 30,
        "gpus": [
            {"id": "GPU-a", "name": "NVIDIA GeForce RTX 4090", "memory_bytes": 24 << 30},
            {"id": "GPU-b", "name": "NVIDIA GeForce RTX 3060", "memory_bytes": 12 << 30},
            {"id": "GPU-c", "name": "AMD Radeon RX 7900 XTX", "memory_bytes": 24 << 30},
        ],
    },
    "gpus": [
        {
            "id": "GPU-a",
            "utilisation": 0.97,
            "memory_used_bytes": 18 << 30,
            "temperature_celsius": 71.0,
            "power_watts": 344.2,
        },
        {"id": "GPU-b", "utilisation": None},
    ],
    "usage": {"cpus": 6.5, "memory_bytes": 20 << 30, "disk_bytes": 30 << 30},
    "cache": {"used_bytes": 4 << 30, "limit_bytes": 20 << 30},
    "network": {"used_bytes": 12 << 30, "allowance_bytes": 100 << 30},
    "attempts": [
        {
            "job_id": "job_1",
            "name": "train-resnet",
            "own": False,
            "state": "running",
            "isolation": "gvisor",
            "gpus": ["GPU-a"],
            "started_at": (NOW - timedelta(minutes=62)).isoformat(),
        },
        {
            "job_id": "job_2",
            "name": "render",
            "own": True,
            "state": "preparing",
            "isolation": "bubblewrap",
            "progress": {"what": "scene.zip", "done_bytes": 1 << 30, "total_bytes": 4 << 30},
        },
    ],
    "earnings": {"today_micros": 1_250_000, "month_micros": 40_100_000},
    "power": {"cost_today": 0.314, "cost_month": 7.4, "currency": "EUR"},
}
SAID = (
    *("attic", "node_01kq3v8d2m5h7x9c4b6n8z1w3y", "https://pool.example.org", "online", "websocket"),
    *("renters are welcome: nobody has used it for 42 minutes", "agent 0.1.0, hub 0.2.0", "this agent is old"),
    *("NVIDIA GeForce RTX 4090", "97%", "18 GB of 24 GB", "71 °C", "344 W", "a renter's: train-resnet"),
    *("6.5 of 16 used", "20 GB of 50 GB used", "4 GB of 20 GB used", "12 GB of 100 GB used this month"),
    *("running", "1h02m", "preparing", "scene.zip: 1 GB of 4 GB (25%)"),
    *("1.25 today, 40.1 this month", "0.31 EUR today, 7.40 EUR this month"),
)


def drawn(status, width=100, height=None):
    out = Console(width=width, height=height or 200, file=open(os.devnull, "w"), record=True, markup=False)  # noqa: SIM115, PTH123
    with contextlib.closing(out.file):
        out.print(screen(status, width, now=NOW))
    return out.export_text()


def words(text):
    return " ".join(text.split())


def test_everything_is_shown():
    text = words(drawn(STATUS, 140))
    assert [what for what in SAID if what not in text] == []
    assert re.search(r"RTX 3060 .*12 GB you", text)
    assert re.search(r"7900 XTX 24 GB free", text)
    assert "gvisor" in text
    assert "yours" in text


@pytest.mark.parametrize("width", [140, 80, 72, 71, 60, 40, 24])
def test_no_line_is_wider_than_the_terminal_and_names_stay_whole(width):
    text = drawn(STATUS, width)
    assert max(cell_len(line.rstrip()) for line in text.splitlines()) <= width
    together = "".join(text.split())
    for name in ("node_01kq3v8d2m5h7x9c4b6n8z1w3y" if width >= 50 else "attic", "97%", "71°C", "344W"):
        assert name in together
    if width >= 40:
        for name in ("train-resnet", "render", "running", "preparing"):
            assert name in together


def test_what_the_agent_does_not_say_is_not_invented():
    text = drawn({"name": "attic", "state": "paused", "attempts": [], "earnings": None})
    for word in ("credits", "cores", "cache", "network", "power", "policy", "GPU", "None", "0 of"):
        assert word not in text
    assert "Nothing runs here now." in text


def test_power_is_told_without_credits_and_energy_without_a_price():
    power = {"kwh_today": 1.25, "kwh_month": 31.0, "cost_today": None, "cost_month": None}
    text = drawn({"earnings": None, "power": power})
    assert "credits" not in text
    assert "power    1.25 kWh today, 31.00 kWh this month" in text
    together = {"today_micros": 5, "cost_today": 0.5, "currency": "EUR"}
    assert "power    0.50 EUR today\n" in "\n".join(map(str.rstrip, drawn({"earnings": together}).splitlines())) + "\n"


def test_reasons_and_ends_are_told():
    later = (NOW + timedelta(hours=2)).isoformat()
    policy = {"strangers_welcome": False, "reason": "the keyboard was used 3 minutes ago", "until": later}
    text = words(drawn({**STATUS, "state": "paused", "paused_until": later, "policy": policy}, 140))
    assert "paused for 2h00m more" in text
    assert "only your own jobs: the keyboard was used 3 minutes ago (for 2h00m more)" in text
    assert "none: name not found" in words(drawn({"link": None, "trouble": "name not found"}))


def test_agent_that_drains_welcomes_nobody():
    text = words(drawn({**STATUS, "state": "draining"}, 140))
    assert "policy nothing new: the agent stops when what runs is finished" in text
    assert "renters are welcome" not in text


@pytest.mark.parametrize(
    ("causes", "told"),
    [
        (["pause"], "stands still: you said pause"),
        (["heat", "hours"], "stands still: it is too hot, the hours are over"),
        (["full_screen", "input"], "stands still: you are using the machine"),
        ([], "stands still: you are using the machine"),
    ],
)
def test_work_that_stands_still_says_what_it_waits_for(causes, told):
    attempt = {**STATUS["attempts"][0], "state": "suspended", "suspended_for": ["owner"]}
    status = {**STATUS, "attempts": [attempt], "policy": {**STATUS["policy"], "causes": causes}}
    assert told in words(drawn(status, 140))


NASTY = ("\x1b]0;owned\x07", "\x1b[2J", "\r\n", "\x9b31m", "[bold]x[/bold]")


@pytest.mark.parametrize("nasty", NASTY)
def test_words_of_strangers_are_only_words(nasty):
    status = json.loads(json.dumps(STATUS))
    for place in (status, status["policy"], status["attempts"][0], status["capacity"]["gpus"][0]):
        for key, value in place.items():
            if isinstance(value, str) and key not in ("id", "state"):
                place[key] = nasty + value
    status["attempts"][1]["progress"]["what"] = nasty
    text = drawn(status, 140)
    assert not set(text) & {"\x1b", "\x07", "\x9b", "\r"}
    if nasty.startswith("["):
        assert nasty in text


@pytest.mark.parametrize("wrong", [None, "text", 3, [], {}, [None, 3, "x"], {"a": [{}]}, float("nan"), True])
def test_an_answer_of_another_version_breaks_nothing(wrong):
    for key in STATUS:
        drawn({**STATUS, key: wrong}, 80)
    for key in STATUS["attempts"][0]:
        drawn({**STATUS, "attempts": [{**STATUS["attempts"][0], key: wrong}]}, 80)
    for key in STATUS["gpus"][0]:
        drawn({**STATUS, "gpus": [{**STATUS["gpus"][0], key: wrong}]}, 80)


def test_a_low_terminal_keeps_the_keys_and_says_what_is_hidden():
    out = Console(width=80, height=12, record=True, file=open(os.devnull, "w"), markup=False)  # noqa: SIM115, PTH123
    with contextlib.closing(out.file):
        out.print(Fitted(screen(STATUS, 80, now=NOW), keys_line()), height=12)
    lines = out.export_text().rstrip("\n").splitlines()
    assert len(lines) <= 12
    assert "p  pause" in lines[-1]
    assert re.search(r"… \d+ more lines", out.export_text()) or "more line" in " ".join(lines)


def test_the_picture_needs_nothing_from_elsewhere():
    from xml.etree import ElementTree

    picture = status_svg(STATUS, now=NOW)
    ElementTree.fromstring(picture)
    assert "attic" in picture
    assert "@font-face" not in picture
    assert picture == status_svg(STATUS, now=NOW)


def test_pictures_are_drawn_from_what_an_agent_said(tmp_path):
    from tools.pictures import main

    source, target = tmp_path / "status.json", tmp_path / "status.svg"
    source.write_text(json.dumps(STATUS))
    assert main([str(source), str(target)]) == 0
    assert "attic" in target.read_text()
    assert main([]) == 2


# ── with a real agent ──


class LiveAgent:
    """A real agent, connected to a hub, in a thread."""

    def __init__(self, folder):
        self._folder = folder
        self._ready = threading.Event()
        self._loop: Any = None
        self._done: Any = None
        self._thread = threading.Thread(target=lambda: asyncio.run(self._story()))
        self.agent: Any = None

    async def _story(self):
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        async with FakeHub() as hub, running_agent(hub, self._folder) as running:
            self.agent = running.agent
            async with serve_control(running.agent, running.home.socket_path):
                await hub.until(lambda: running.agent.connected is not None)
                self._ready.set()
                done = asyncio.ensure_future(self._done.wait())
                await asyncio.wait([done, running.task], return_when=asyncio.FIRST_COMPLETED)
                done.cancel()

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(patience())
        return self

    def __exit__(self, *_):
        with contextlib.suppress(RuntimeError):  # the agent may have ended by itself, and the loop with it
            self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(patience())

    def until(self, state):
        eventually(lambda: self.agent.state == state, f"the agent is {state}")


@pytest.fixture
def live(tmp_path):
    with LiveAgent(tmp_path / "home") as agent:
        yield agent


def terminal(tmp_path, *extra, columns="100"):
    env = {"COMPUTEPOOL_HOME": str(tmp_path / "home"), "LINES": "50", "COLUMNS": columns}
    return Terminal(["agent", "status", *extra], env, tmp_path)


def test_keys_pause_resume_and_drain_a_real_agent(live, tmp_path):
    with terminal(tmp_path) as screen_shown:
        screen_shown.wait_for(b"online")
        screen_shown.wait_for(b"pause")
        screen_shown.type(b"p")
        screen_shown.wait_for(b"paused")
        live.until("paused")
        screen_shown.type(b"r")
        live.until("online")
        screen_shown.type(b"?")
        screen_shown.wait_for(b"suspend jobs at once")
        screen_shown.type(b"\x1b[A")  # an arrow key is no wish
        screen_shown.type(b"d")
        live.until("draining")
        screen_shown.wait_for(b"error: ")  # drained, it is gone
        screen_shown.type(b"q")
        assert screen_shown.end() == 0


@pytest.mark.parametrize("leaving", [b"q", b"\x03", b"\x04"])
def test_leaving_restores_the_terminal_and_leaves_the_agent_alone(live, tmp_path, leaving):
    with terminal(tmp_path) as shown:
        before = termios.tcgetattr(shown._master)
        shown.wait_for(b"online")
        shown.wait_for(b"quit")
        assert not termios.tcgetattr(shown._master)[3] & termios.ICANON
        shown.type(leaving)
        assert shown.end() == 0
        assert b"\x1b[?1049l" in shown.seen
        assert termios.tcgetattr(shown._master)[3] == before[3]
    assert live.agent.state == "online"


def test_a_narrow_terminal_gets_a_narrow_screen(live, tmp_path):
    with terminal(tmp_path, columns="30") as shown:
        shown.wait_for(b"online")
        shown.wait_for("…".encode())  # the line of keys is cut, and never wraps
        shown.type(b"q")
        assert shown.end() == 0


def test_once_and_json_and_pipes_print_it_once_without_colours(live, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_HOME", str(tmp_path / "home"))
    for arguments in (["agent", "status"], ["agent", "status", "--once"]):
        done = cli(*arguments)
        assert done.code == 0
        assert "online" in done.text
        assert "\x1b" not in done.text
    document = json.loads(cli("agent", "status", "--json").text)
    assert (document["state"], document["link"]) == ("online", "websocket")
    with terminal(tmp_path, "--once") as shown:
        assert shown.end() == 0
        assert b"\x1b[?1049h" not in shown.seen


def test_pause_takes_a_length(live, cli, tmp_path, monkeypatch):
    monkeypatch.setenv("COMPUTEPOOL_HOME", str(tmp_path / "home"))
    done = cli("agent", "pause", "--for", "2h")
    assert done.code == 0
    assert re.search(r"paused for (2h00m|1h59m) more", words(done.text))
    assert "online" in cli("agent", "resume").text
    for wrong in ("soon", "0", "-3m", "1.5s"):
        refused = cli("agent", "pause", "--for", wrong)
        assert refused.code == 2
        assert live.agent.state == "online"


def test_without_an_agent_the_screen_is_an_error(tmp_path):
    with terminal(tmp_path) as shown:
        assert shown.end() == 1
        assert b"computepool agent start" in shown.seen
        assert b"\x1b[?1049h" not in shown.seen
