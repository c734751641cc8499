"""Whose programs are on a GPU."""

import os
import subprocess
import sys
from dataclasses import dataclass

from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.gpus import descends_from, read_gpus

GB = 1024**3


@dataclass(frozen=True)
class Process:
    pid: int
    memory_bytes: int | None
    name: str = "program"


@dataclass(frozen=True)
class Now:
    id: str = "GPU-a"
    utilisation: float | None = 0.5
    temperature_celsius: float | None = 60.0
    memory_used_bytes: int | None = 5 * GB
    processes: tuple[Process, ...] | None = ()


def read(now, ours=(), given=()):
    readings = read_gpus(lambda: [now], lambda pid: pid in ours, lambda gpu: gpu in given)
    assert not isinstance(readings, Unknown)
    return readings[0]


def test_foreign_memory_is_what_others_hold():
    now = Now(processes=(Process(1, GB, "ours"), Process(2, 2 * GB, "blender"), Process(3, GB, "browser")))
    reading = read(now, ours={1})
    assert (reading.foreign_bytes, reading.foreign_program, reading.ours) == (3 * GB, "blender", True)
    assert read(Now(), ours={1}).foreign_bytes == 0


def test_memory_that_the_driver_does_not_divide_is_theirs_unless_ours_is_there():
    undivided = Now(processes=(Process(2, None, "game"),))
    assert read(undivided).foreign_bytes == 5 * GB
    assert read(undivided, given={"GPU-a"}).foreign_bytes is None
    assert read(Now(processes=(Process(1, None), Process(2, None))), ours={1}).foreign_bytes is None


def test_gpu_without_a_list_of_programs_is_judged_by_its_memory_while_it_is_free():
    assert read(Now(processes=None)).foreign_bytes == 5 * GB
    assert read(Now(processes=None), given={"GPU-a"}).foreign_bytes is None


def test_driver_that_fails_is_unknown():
    def broken():
        raise RuntimeError("the driver is being updated")

    assert isinstance(read_gpus(broken, lambda pid: False, lambda gpu: False), Unknown)


def test_grandchildren_of_ours_are_ours():
    script = "import subprocess, sys; p = subprocess.Popen(['sleep', '3600']); print(p.pid, flush=True); p.wait()"
    child = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, start_new_session=True)
    try:
        assert child.stdout is not None
        grandchild = int(child.stdout.readline())
        assert descends_from(grandchild, [child.pid])
        assert descends_from(grandchild, [os.getpid()])
        assert not descends_from(grandchild, [grandchild + 1_000_000])
        assert not descends_from(os.getpid(), [child.pid])
    finally:
        os.killpg(child.pid, 9)
        child.communicate()
    assert not descends_from(2**30, [1])
