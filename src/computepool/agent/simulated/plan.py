"""How a command would go on a simulated machine, decided by a seed: how long it takes, how it ends, what it prints.

The same command of the same slice and attempt goes the same way with the same seed, on whatever node. A job may choose
for itself, with `SIMULATED_SECONDS` and `SIMULATED_EXIT_CODE` in its environment.
"""

import math
import random
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from computepool.agent.environments import ENTER, PREPARE
from computepool.agent.shells import PLAIN, STRICT
from computepool.agent.simulated.machines import SimulatedMachine

SECONDS_VARIABLE, EXIT_CODE_VARIABLE = "SIMULATED_SECONDS", "SIMULATED_EXIT_CODE"
FAILS = 0.03
"""How many of a hundred attempts fail by themselves: three."""
SETUP_SECONDS = (0.5, 3.0)
SECONDS_PER_LINE = 1.5
FEWEST_LINES, MOST_LINES = 3, 60
SHOWN_COMMAND_CHARS = 160
PREFIX = "[simulated] "
T = TypeVar("T", int, float)


@dataclass(frozen=True)
class Plan:
    what: str
    """The command, as a person would write it."""
    seconds: float
    exit_code: int
    lines: int
    """Of progress, evenly spread."""
    notes: tuple[str, ...] = ()

    @property
    def line_seconds(self) -> float:
        return self.seconds / self.lines


def make_plan(
    argv: Sequence[str], env: Mapping[str, str], machine: SimulatedMachine, *, seed: int, average_seconds: float
) -> Plan:
    words, is_setup = _told(argv)
    what = shlex.join(words)
    rng = random.Random("\0".join((str(seed), what, *(env.get(name, "") for name in _SAME_IF_ALIKE))))
    notes: list[str] = []
    seconds = _asked(env, SECONDS_VARIABLE, float, notes)
    exit_code = _asked(env, EXIT_CODE_VARIABLE, int, notes)
    # Most are short and some are long, as jobs are; a quicker card is done sooner.
    drawn = average_seconds * rng.lognormvariate(-0.25, 0.7) / math.sqrt(machine.speed)
    fails = rng.random() < FAILS
    if is_setup:
        seconds, exit_code, drawn, fails = None, None, rng.uniform(*SETUP_SECONDS), False
    seconds = drawn if seconds is None else max(0.0, seconds)
    if exit_code is None:
        exit_code = 1 if fails else 0
    lines = max(FEWEST_LINES, min(MOST_LINES, int(seconds / SECONDS_PER_LINE)))
    return Plan(what, seconds, exit_code & 0xFF, lines, tuple(notes))


_SAME_IF_ALIKE = ("COMPUTEPOOL_SLICE", "COMPUTEPOOL_ATTEMPT")


def _told(argv: Sequence[str]) -> tuple[Sequence[str], bool]:
    """The job's own words, and whether they are its `setup`: the agent's own words before them tell."""
    is_setup = False
    while len(argv) > 4 and argv[2] in {PREPARE, ENTER, STRICT, PLAIN}:
        is_setup |= argv[2] == PREPARE
        # A shell is given the job's text, an environment the whole command.
        argv = ("sh", "-c", argv[4]) if argv[2] in {STRICT, PLAIN} else argv[4:]
    return argv, is_setup


def _asked(env: Mapping[str, str], name: str, read: Callable[[str], T], notes: list[str]) -> T | None:
    text = env.get(name)
    if text is None:
        return None
    try:
        value = read(text)
        if math.isfinite(value):
            return value
    except ValueError:
        pass
    notes.append(f"{name}={text[:20]!r} is not a number, so it was left aside")
    return None


# ── what it prints ───────────────────────────────────────────────────────────────────────────────────────────────────


def first_lines(plan: Plan, machine: SimulatedMachine, gpus: int) -> list[str]:
    what = plan.what if len(plan.what) <= SHOWN_COMMAND_CHARS else plan.what[:SHOWN_COMMAND_CHARS] + "…"
    has = f"{gpus}× {machine.card.name}" if gpus and machine.card is not None else "no GPU"
    return [
        f"{machine.name} pretends to run: {what.replace(chr(10), '; ')}",
        f"with {has}. Nothing is really run, and no result means anything",
        *plan.notes,
    ]


def progress_line(plan: Plan, number: int) -> str:
    done = number / plan.lines
    loss = 2.3 * math.exp(-2.5 * done) + 0.1
    return f"{done:4.0%} · step {number}/{plan.lines} · loss {loss:.4f}"


def last_line(plan: Plan) -> str:
    if plan.exit_code == 0:
        return "done"
    return f"failed with exit code {plan.exit_code}, as some jobs do"
