"""Whose programs are on the GPUs. How they are read is not known here: a monitor is passed in."""

import logging
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Protocol

from computepool.agent.owner.readings import GpuReading, Unknown

log = logging.getLogger(__name__)

MOST_ANCESTORS = 64


class SeenGpuProcess(Protocol):
    @property
    def pid(self) -> int: ...
    @property
    def memory_bytes(self) -> int | None: ...
    @property
    def name(self) -> str: ...


class SeenGpu(Protocol):
    """One GPU as it is now; None for what its driver does not tell."""

    @property
    def id(self) -> str: ...
    @property
    def utilisation(self) -> float | None: ...
    @property
    def temperature_celsius(self) -> float | None: ...
    @property
    def memory_used_bytes(self) -> int | None: ...
    @property
    def processes(self) -> Sequence[SeenGpuProcess] | None: ...


def read_gpus(
    source: Callable[[], Iterable[SeenGpu]], is_ours: Callable[[int], bool], holds_work: Callable[[str], bool]
) -> tuple[GpuReading, ...] | Unknown:
    """`is_ours` knows the processes of jobs, `holds_work` the GPUs that were given to them."""
    try:
        return tuple(_reading(gpu, is_ours, holds_work) for gpu in source())
    except Exception as error:
        # A driver that is being updated, for example.
        log.warning("owner.gpus_failed", exc_info=error)
        return Unknown(f"the driver fails: {type(error).__name__}")


def _reading(gpu: SeenGpu, is_ours: Callable[[int], bool], holds_work: Callable[[str], bool]) -> GpuReading:
    ours = holds_work(gpu.id)
    foreign, program = None, ""
    if gpu.processes is not None:
        strangers = [one for one in gpu.processes if not is_ours(one.pid)]
        ours = ours or len(strangers) < len(gpu.processes)
        foreign = _memory(gpu, strangers, [one for one in gpu.processes if is_ours(one.pid)], ours)
        program = max(strangers, key=lambda one: one.memory_bytes or 0).name if strangers else ""
    elif not ours:
        foreign = gpu.memory_used_bytes
    return GpuReading(gpu.id, gpu.utilisation, gpu.temperature_celsius, foreign, program, ours)


def _memory(
    gpu: SeenGpu, strangers: Sequence[SeenGpuProcess], jobs: Sequence[SeenGpuProcess], ours: bool
) -> int | None:
    """Some drivers list programs, but not what they hold: then all that our jobs do not have is theirs, if that much
    can be told."""
    told = sum(one.memory_bytes or 0 for one in strangers)
    if all(one.memory_bytes is not None for one in strangers):
        return told
    if not ours or gpu.memory_used_bytes is None:
        return gpu.memory_used_bytes
    if not jobs or any(one.memory_bytes is None for one in jobs):
        return None
    return max(told, gpu.memory_used_bytes - sum(one.memory_bytes or 0 for one in jobs))


def descends_from(pid: int, roots: Iterable[int], proc: Path = Path("/proc")) -> bool:
    """Whether a process, or one of its ancestors, is among these: the agent, and the first process of each job."""
    wanted = set(roots)
    for _ in range(MOST_ANCESTORS):
        if pid in wanted:
            return True
        try:
            text = (proc / str(pid) / "stat").read_text()
            # The name stands in brackets, and may itself hold brackets and blanks.
            pid = int(text.rpartition(")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if pid <= 0:
            return False
    return False
