"""`agent logs`: what the agent kept, in order, and what it writes while one looks."""

import logging
import signal
from functools import partial

import pytest
from support.children import COMPUTEPOOL, Child, environment_with
from support.waiting import eventually

from computepool.agent.logsetup import RotatingLog


@pytest.fixture
def log(cli):
    handler = RotatingLog(cli.home / "agent" / "logs", file_bytes=500)

    def write(text):
        handler.handle(logging.LogRecord("x", 20, "", 0, text, (), None))

    yield write
    handler.close()


def test_all_files_are_one_log(cli, log):
    for number in range(20):
        log(f"event {number}")
    done = cli("agent", "logs")
    assert done.code == 0
    numbers = [int(line.split()[-1]) for line in done.text.splitlines()]
    assert numbers == list(range(20 - len(numbers), 20))
    assert len(numbers) > 10
    assert [int(line.split()[-1]) for line in cli("agent", "logs", "--tail", "3").text.splitlines()] == [17, 18, 19]
    assert cli("agent", "logs", "--tail", "0").text == ""


def test_lines_are_harmless_on_a_terminal(cli, log):
    log("evil \x1b]0;title\x07 name")
    assert not set(cli("agent", "logs").text) & {"\x1b", "\x07"}


def test_without_a_log_it_says_who_makes_one(cli):
    done = cli("agent", "logs")
    assert done.code == 1
    assert "computepool agent start" in done.err


def test_following_goes_on_over_a_change_of_files(cli, log, tmp_path):
    log("event 0")
    output = tmp_path / "out"
    words = [*COMPUTEPOOL, "agent", "logs", "-f", "--tail", "1", "--home", str(cli.home)]
    reader = Child("logs", words, log=tmp_path / "err", output=output, environment=environment_with(), cwd=tmp_path)

    def numbers() -> list[int]:
        """Of the whole lines that were shown."""
        return [int(line.split()[-1]) for line in output.read_text().splitlines(keepends=True) if line.endswith("\n")]

    def is_shown(last: int) -> bool:
        return numbers() == list(range(last + 1))

    try:
        eventually(partial(is_shown, 0), "event 0 is shown")
        # A few lines at a time: files that are gone before a slow reader comes to them are gone for it.
        for first in range(1, 31, 6):
            for number in range(first, first + 6):
                log(f"event {number}")
            eventually(partial(is_shown, first + 5), f"event {first + 5} is shown")
        reader.signal(signal.SIGINT)
        assert reader.wait() == 130
    finally:
        reader.kill()
    assert numbers() == list(range(31))
