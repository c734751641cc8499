"""Typing in terminals, also over ssh: the access time of a terminal is its last key, to within eight seconds."""

import contextlib
import os

from computepool.agent.owner.readings import Idle, Unknown
from computepool.agent.owner.signals.machine import Machine

FOLDER = "/dev/pts"
MOST_TERMINALS = 1000


def read_terminals(machine: Machine) -> Idle | Unknown | None:
    try:
        names = [name for name in os.listdir(machine.file(FOLDER)) if name.isdigit()]  # noqa: PTH208 - names alone
    except FileNotFoundError:
        return None
    except OSError as error:
        return Unknown(f"{FOLDER}: {error.strerror}")
    times = []
    for name in names[:MOST_TERMINALS]:
        with contextlib.suppress(OSError):
            times.append(machine.file(f"{FOLDER}/{name}").stat().st_atime)
    # A wall clock that was set back would put the last key into the future.
    return Idle(max(0.0, machine.wall() - max(times)), "terminal") if times else None
