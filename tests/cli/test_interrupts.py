"""Ctrl-C on `run`: on a terminal it is a question, elsewhere it cancels."""

import os
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.children import Child, environment_with
from support.fake_api import TOKEN, FakeHub, FakeJob, node, prints
from support.terminals import COMPUTEPOOL, Terminal
from support.waiting import eventually, patience

CTRL_C = b"\x03"
QUESTION = b"[c]ancel it, [d]etach"


@pytest.fixture
def hub() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        hub.play, hub.frame_bytes = begin_and_print, 1000
        yield hub


def begin_and_print(job: FakeJob) -> None:
    job.begin()
    job.write(b"working\n")


@pytest.fixture
def env(hub: FakeHub, tmp_path: Path) -> dict[str, str]:
    return {"COMPUTEPOOL_URL": hub.url, "COMPUTEPOOL_TOKEN": TOKEN, "COMPUTEPOOL_HOME": str(tmp_path / "home")}


def the_job(hub: FakeHub) -> FakeJob:
    (job,) = hub.jobs.values()
    return job


@pytest.mark.parametrize(
    ("answer", "state", "code"),
    [(b"c\n", "canceled", 130), (b"d\n", "running", 0), (CTRL_C, "canceled", 130)],
)
def test_ctrl_c_asks_whether_to_cancel_or_to_detach(hub, env, tmp_path, answer, state, code):
    with Terminal(["run", "--", "x"], env, tmp_path) as terminal:
        terminal.wait_for(b"working")
        terminal.type(CTRL_C)
        terminal.wait_for(QUESTION)
        terminal.type(answer)
        assert terminal.end() == code
        assert the_job(hub).document["state"] == state
        if state == "running":
            assert b"logs -f" in terminal.seen


def test_enter_goes_on_and_loses_nothing(hub, env, tmp_path):
    with Terminal(["run", "--", "x"], env, tmp_path, stdout=tmp_path / "out") as terminal:
        _wait_for_file(tmp_path / "out", b"working\n")
        terminal.type(CTRL_C)
        terminal.wait_for(QUESTION)
        the_job(hub).write(b"more\n")
        terminal.type(b"\n")
        _wait_for_file(tmp_path / "out", b"working\nmore\n")
        the_job(hub).finish(5)
        assert terminal.end() == 5
    assert (tmp_path / "out").read_bytes() == b"working\nmore\n"


def test_second_ctrl_c_while_canceling_leaves_at_once(hub, env, tmp_path):
    asked = threading.Event()

    class Stubborn(FakeJob):
        """Takes its time to end."""

        def cancel(self) -> None:
            self.document["cancel_requested_at"] = "2026-01-01T00:00:00Z"
            asked.set()

    def play(job: FakeJob) -> None:
        job.__class__ = Stubborn
        begin_and_print(job)

    hub.play = play
    with Terminal(["run", "--", "x"], env, tmp_path) as terminal:
        terminal.wait_for(b"working")
        terminal.type(CTRL_C)
        terminal.wait_for(QUESTION)
        terminal.type(b"c\n")
        assert asked.wait(patience())
        terminal.wait_for(b"canceling")
        terminal.type(CTRL_C)
        assert terminal.end() == 130


def test_queued_job_shows_what_it_waits_for_and_can_be_canceled(hub, env, tmp_path):
    hub.play, hub.why = (lambda job: None), {"summary": "1 node could run it and is busy"}
    with Terminal(["run", "--", "x"], env, tmp_path) as terminal:
        terminal.wait_for(b"queued: 1 node could run it and is busy")
        terminal.type(CTRL_C)
        terminal.wait_for(QUESTION)
        terminal.type(b"c\n")
        assert terminal.end() == 130


def test_sigterm_cancels_without_a_question(hub, env, tmp_path):
    with Terminal(["run", "--", "x"], env, tmp_path) as terminal:
        terminal.wait_for(b"working")
        terminal.process.send_signal(signal.SIGTERM)
        assert terminal.end() == 130
        assert QUESTION not in terminal.seen
    assert the_job(hub).document["state"] == "canceled"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_without_a_terminal_interrupt_cancels(hub, env, tmp_path, number):
    log, output = tmp_path / "log", tmp_path / "out"
    words = [*COMPUTEPOOL, "run", "--", "x"]
    process = Child("run", words, log=log, output=output, environment=environment_with(**env), cwd=tmp_path)
    try:
        _wait_for_file(output, b"working\n")
        process.signal(number)
        assert process.wait() == 130
    finally:
        process.kill()
    assert output.read_bytes() == b"working\n"
    assert "Traceback" not in process.shown
    assert the_job(hub).document["state"] == "canceled"


@pytest.mark.parametrize(("answer", "jobs"), [(b"y\n", 1), (b"n\n", 0)])
def test_strangers_nodes_are_asked_about_once(hub, env, tmp_path, answer, jobs):
    hub.nodes.append(node(2, owner_id="user_other"))
    with Terminal(["run", "-d", "--", "x"], env, tmp_path) as terminal:
        terminal.wait_for(b"can read the code and the data")
        terminal.wait_for(b"Send it?")
        terminal.type(answer)
        assert terminal.end() == (0 if jobs else 1)
    assert len(hub.jobs) == jobs
    if jobs:
        with Terminal(["run", "-d", "--", "x"], env, tmp_path) as terminal:
            assert terminal.end() == 0
            assert b"Send it?" not in terminal.seen


def test_terminal_is_not_steered_by_the_log(hub, env, tmp_path):
    def play(job: FakeJob) -> None:
        job.begin()
        job.write(b"\x1b]0;owned\x07\x1b[31mred\x1b[0m \x1b[6n\xc3\xbc done\n")
        job.finish()

    hub.play = play
    with Terminal(["run", "--", "x"], env, tmp_path) as terminal:
        assert terminal.end() == 0
        assert b"\x1b[31mred\x1b[0m \xc3\xbc done" in terminal.seen
        assert b"owned" not in terminal.seen


def test_reader_that_has_had_enough_is_no_error(hub, env, tmp_path):
    hub.play = prints(b"line\n" * 100_000)
    command = f"{' '.join(COMPUTEPOOL)} run -- x | head -n 1; echo ${{PIPESTATUS[0]}}"
    done = subprocess.run(
        ["bash", "-c", command],
        env={**os.environ, **env},
        cwd=tmp_path,
        capture_output=True,
        timeout=patience(),
        check=True,
    )
    assert done.stdout == b"line\n141\n"
    assert b"Traceback" not in done.stderr
    assert b"Exception" not in done.stderr


def _wait_for_file(path: Path, content: bytes) -> None:
    eventually(lambda: path.read_bytes() == content, f"{path} has {content!r}")
