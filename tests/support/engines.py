"""The programs that some tests need and a machine may lack, each with a trial that shows whether it works.

What brings up an engine calls `require` first, so a test that uses it is skipped by name and with the reason where it
does not work: `docker_engine()`, `screen()`, `bus()`, `small_disk()`. Tests that start a program themselves say so by
`@pytest.mark.engine("bwrap")`. `./dev test --require bwrap` turns the skip into a failure.

A trial runs when a test first asks, in a process of its own (support/trials.py), once in a run of the tests: the
workers share what was found.
"""

import contextlib
import fcntl
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from support.trials import TRIALS
from support.waiting import patience

NAMES = tuple(TRIALS)
STOP_SECONDS = 30.0
TESTS = Path(__file__).parents[1]

found: dict[str, str | None] = {}
"""Why each engine that was tried does not work, or None."""
shared: Path | None = None
"""A folder in which the workers of one run leave what they found for each other."""


def required() -> set[str]:
    """The engines that --require names."""
    import pytest

    names = {name.strip() for name in os.environ.get("COMPUTEPOOL_REQUIRE_ENGINES", "").split(",")} - {""}
    unknown = names - set(NAMES)
    if unknown:
        raise pytest.UsageError(
            f"--require: no engine is called {', '.join(sorted(unknown))}; there are {', '.join(NAMES)}"
        )
    return names


def require(*names: str) -> None:
    """Skip the running test by name if an engine does not work here; fail it if the engine is required."""
    import pytest  # not above: a trial is a new process, and pytest would be most of its time

    for name in names:
        reason = missing(name)
        if reason and name in required():
            pytest.fail(f"{name} is required: {reason}")
        if reason:
            pytest.skip(f"{name}: {reason}")


def missing(name: str) -> str | None:
    """Why the engine cannot be used here, or None."""
    assert name in NAMES, f"no engine is called {name}; there are {', '.join(NAMES)}"
    if name not in found:
        found[name] = _try_once(name) if shared else try_engine(name)
    return found[name]


def _try_once(name: str) -> str | None:
    """The first worker tries it; the others wait for the answer."""
    assert shared
    with (shared / name).open("a+") as answer:
        fcntl.flock(answer, fcntl.LOCK_EX)
        answer.seek(0)
        if not (told := answer.read()):
            told = try_engine(name) or "works"
            answer.write(told)
    return None if told == "works" else told


def try_engine(name: str, environment: Mapping[str, str] | None = None, seconds: float | None = None) -> str | None:
    """Why the trial failed, or None. One that hangs or crashes has failed too."""
    limit = seconds or patience() / 3
    command = [sys.executable, "-m", "support.trials", name]
    given = {**(os.environ if environment is None else environment), "PYTHONPATH": str(TESTS)}
    with tempfile.TemporaryFile("w+") as told:
        with subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=told, stderr=told, env=given, cwd="/", start_new_session=True
        ) as trial:
            try:
                code = trial.wait(limit)
            except subprocess.TimeoutExpired:
                _end(trial)
                return f"no answer within {limit:.0f} s"
        told.seek(0)
        lines = told.read().split("\n")
    if code == 0:
        return None
    return " ".join(filter(None, lines[-4:]))[-300:] or f"the trial ended with {code}"


def _end(trial: subprocess.Popen[bytes]) -> None:
    """First so that it can stop what it started, then by force."""
    trial.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        trial.wait(STOP_SECONDS)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(trial.pid, signal.SIGKILL)
