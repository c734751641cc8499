"""`agent start` as people and as service managers run it: its log, its signals, its exit codes."""

import asyncio
import contextlib
import os
import signal
import subprocess
import sys
import threading

import pytest
from support.agents import enrolled_home
from support.fake_hub import FakeHub
from support.waiting import eventually, patience

COMPUTEPOOL = [sys.executable, "-P", "-m", "computepool"]


class Hub:
    """A hub in a thread, while agents come and go in processes of their own."""

    def __init__(self, folder):
        self._folder = folder
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._story()))

    async def _story(self):
        self._loop, self._done = asyncio.get_running_loop(), asyncio.Event()
        async with FakeHub() as self.hub:
            self.home, self.node = enrolled_home(self.hub, self._folder)
            self._ready.set()
            await self._done.wait()

    def __enter__(self):
        self._thread.start()
        assert self._ready.wait(patience())
        return self

    def __exit__(self, *_):
        with contextlib.suppress(RuntimeError):
            self._loop.call_soon_threadsafe(self._done.set)
        self._thread.join(patience())

    def forget_node(self):
        self._loop.call_soon_threadsafe(self.hub.nodes.clear)


@pytest.fixture
def hub(tmp_path):
    with Hub(tmp_path / "home") as hub:
        yield hub


@contextlib.contextmanager
def agent(hub, *words):
    """Started, and listening to its owner."""
    env = {**os.environ, "COMPUTEPOOL_HOME": str(hub.home.root.parent)}
    process = subprocess.Popen(
        [*COMPUTEPOOL, "agent", "start", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def log_of(hub):
    path = hub.home.root / "logs" / "agent.log"
    return path.read_text() if path.exists() else ""


def test_the_log_is_on_the_terminal_and_in_the_file(hub):
    with agent(hub) as process:
        eventually(lambda: "link.up" in log_of(hub), "the line is up")
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=patience())
        assert process.returncode == 0
    assert "link.up" in said


@pytest.mark.engine("bwrap")
def test_a_service_logs_to_the_file_alone_and_stops_on_sigterm_without_waiting_for_jobs(hub):
    with agent(hub, "--as-service") as process:
        eventually(lambda: "link.up" in log_of(hub), "the line is up")
        attempt = hub.hub.offer(hub.node, "/bin/sleep", "300")
        eventually(lambda: hub.hub.updates[attempt], "the job runs")
        process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=patience())
        assert process.returncode == 0
    assert said == ""
    assert attempt in hub.hub.gone


@pytest.mark.parametrize(("words", "code"), [([], 78), (["--stay-away"], 0)])
def test_a_node_that_the_hub_sent_away_ends_so_that_nobody_starts_it_again(hub, words, code):
    hub.forget_node()
    with agent(hub, "--as-service", *words) as process:
        _, said = process.communicate(timeout=patience())
    assert process.returncode == code
    assert "The hub does not want this node" in said
    assert "agent.dismissed" in log_of(hub)
