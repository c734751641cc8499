"""Find processes by a mark in their environment, and end them.

It also runs by itself, as the guard: `python marked.py MARK` waits until its input ends, which
happens when the agent is gone, however it went, and then ends every process that carries the mark.
It uses the standard library alone, so that it starts quickly and in isolation.
"""

import contextlib
import os
import signal
import sys
import time
from pathlib import Path

VARIABLE = "COMPUTEPOOL_RUN"
ROUNDS = 1000
PAUSE_SECONDS = 0.01
QUIET_ROUNDS = 100
"""Rounds in a row that find nothing, before the guard goes. What was being started as the agent was killed carries its
mark only once it runs a program of its own."""
FAREWELL = b"."
"""From an agent that ends in order, and has nothing under way: one look is enough."""


def find_marked(mark: str, but: str | None = None) -> list[int]:
    """Processes whose mark begins with `mark`, but not with `but`. On systems without /proc none are found."""
    needle = f"{VARIABLE}={mark}".encode()
    spared = f"{VARIABLE}={but}".encode() if but else None
    found = []
    with contextlib.suppress(FileNotFoundError):
        for name in os.listdir("/proc"):  # noqa: PTH208 - names are all we need
            with contextlib.suppress(OSError):
                if name.isdigit() and int(name) != os.getpid():
                    environment = Path("/proc", name, "environ").read_bytes()
                    marks = [entry for entry in environment.split(b"\0") if entry.startswith(needle)]
                    if marks and not (spared and marks[0].startswith(spared)):
                        found.append(int(name))
    return found


def kill_marked(mark: str, but: str | None = None) -> list[int]:
    """SIGKILL what carries the mark, once; which processes that were."""
    pids = find_marked(mark, but)
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)
    return pids


def guard(mark: str) -> None:
    wanted = 1 if sys.stdin.buffer.read() == FAREWELL else QUIET_ROUNDS
    quiet = 0
    for _ in range(ROUNDS):
        quiet = 0 if kill_marked(mark) else quiet + 1
        if quiet >= wanted:
            return
        time.sleep(PAUSE_SECONDS)


if __name__ == "__main__":
    guard(sys.argv[1])
