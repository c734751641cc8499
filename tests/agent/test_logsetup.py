"""The agent's log: small, closed to others, without secrets, whole after a crash."""

import contextlib
import io
import logging
import os
import stat
import subprocess
import sys

import pytest

from computepool.agent.logsetup import EventFormatter, RotatingLog, log_files, log_folder, log_to, without_secrets


@pytest.fixture
def logger(tmp_path):
    stream = io.StringIO()
    log_to(stream, folder=log_folder(tmp_path))
    yield logging.getLogger("computepool.agent.test"), stream, tmp_path
    log_to(None)


def test_an_event_goes_to_the_terminal_and_with_its_date_to_the_file(logger):
    log, stream, root = logger
    log.info("attempt.finished", extra={"attempt_id": "attempt_1", "why": "two words"})
    assert "info    attempt.finished attempt_id=attempt_1 why='two words'" in stream.getvalue()
    line = (root / "logs" / "agent.log").read_text()
    assert line[:2] == "20"
    assert line[10] == "T"
    assert "attempt.finished attempt_id=attempt_1" in line


def test_files_are_closed_to_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        handler = RotatingLog(tmp_path / "logs", file_bytes=100, files=3)
        for number in range(10):
            handler.handle(logging.LogRecord("x", 20, "", 0, f"event number {number}", (), None))
        handler.close()
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "logs").stat().st_mode) == 0o700
    assert {stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "logs").iterdir()} == {0o600}


def test_the_oldest_goes_when_there_are_enough(tmp_path):
    handler = RotatingLog(tmp_path / "logs", file_bytes=200, files=5)
    for number in range(100):
        handler.handle(logging.LogRecord("x", 20, "", 0, f"event number {number:03}", (), None))
    handler.close()
    files = log_files(tmp_path)
    assert len(files) == 5
    assert sum(path.stat().st_size for path in files) <= 5 * 200
    kept = [line.split()[-1] for path in files for line in path.read_text().splitlines()]
    assert kept == [f"{number:03}" for number in range(100 - len(kept), 100)]


def test_a_process_that_is_killed_leaves_whole_lines(tmp_path):
    code = (
        "import logging, sys, os, pathlib; from computepool.agent.logsetup import RotatingLog\n"
        "handler = RotatingLog(pathlib.Path(sys.argv[1]) / 'logs', file_bytes=2000)\n"
        "for number in range(10000):\n"
        "    handler.handle(logging.LogRecord('x', 20, '', 0, f'event {number} end', (), None))\n"
        "    if number == 777: os.kill(os.getpid(), 9)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], check=False)
    assert done.returncode == -9
    lines = [line for path in log_files(tmp_path) for line in path.read_text().splitlines()]
    assert lines[-1].endswith("event 777 end")
    assert all(line.endswith(" end") for line in lines)


def test_a_link_in_the_place_of_the_log_is_not_followed(tmp_path):
    target = tmp_path / "precious"
    target.write_text("mine")
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "agent.log").symlink_to(target)
    handler = RotatingLog(tmp_path / "logs")
    handler.handle(logging.LogRecord("x", 20, "", 0, "event", (), None))
    handler.close()
    assert target.read_text() == "mine"


SECRETS = [
    "PUT https://s3.example.org/bucket/key?X-Amz-Signature=abcdef0123456789&X-Amz-Expires=1 failed",
    "join with cpj_0123456789abcdefABCDEF refused",
    "cp_0123456789abcdefABCDEF is revoked",
    "cpr_session_01kq3v8d2m5h7x9c4b6n8z1w3y.1.abcdef0123456789",
    "Authorization: Bearer eyJhbGciOi.abcdef0123456789.zzz",
    "proxy http://alice:abcdef0123456789@proxy.example.org:3128 refused",
]


@pytest.mark.parametrize("text", SECRETS)
def test_secrets_in_the_text_of_an_error_are_taken_out(text):
    shown = without_secrets(text)
    assert "0123456789" not in shown
    assert "abcdef" not in shown


def test_secrets_do_not_come_in_by_ids_or_tracebacks(logger):
    log, stream, root = logger
    try:
        raise ValueError("https://hub.example.org/blob?signature=abcdef0123456789")
    except ValueError:
        log.exception("upload.failed", extra={"url": "https://hub.example.org/x?sig=abcdef0123456789"})
    for text in (stream.getvalue(), (root / "logs" / "agent.log").read_text()):
        assert "hub.example.org" in text
        assert "abcdef0123456789" not in text


def test_what_is_no_secret_stays():
    for text in ("cpu_seconds_used=12345678", "what? nothing", "node_01kq3v8d2m5h7x9c4b6n8z1w3y", "a basic idea"):
        assert without_secrets(text) == text


def test_a_job_cannot_forge_a_line(logger):
    log, _, root = logger
    log.info("attempt.named", extra={"job_name": "x\n2026-01-01T00:00:00Z error forged", "esc": "\x1b[2J"})
    text = (root / "logs" / "agent.log").read_text()
    assert len(text.splitlines()) == 1
    assert "\x1b" not in text


def test_a_disk_that_is_full_costs_lines_and_nothing_else(capfd):
    full = open("/dev/full", "w", encoding="utf-8")  # noqa: SIM115, PTH123
    handler = RotatingLog.__new__(RotatingLog)
    logging.StreamHandler.__init__(handler, full)
    handler.setFormatter(EventFormatter())
    handler.maxBytes = 0
    handler.handle(logging.LogRecord("x", 20, "", 0, "event", (), None))
    assert capfd.readouterr().err == ""
    with contextlib.suppress(OSError):
        full.close()
