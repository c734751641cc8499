"""The watch of a real agent: its folder, its machine, and what only the agent knows."""

from collections.abc import Callable, Iterable
from pathlib import Path

from computepool.agent.clock import Clock
from computepool.agent.owner.decide import Decision
from computepool.agent.owner.pauses import PauseBook
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.owner.readings import Unknown
from computepool.agent.owner.signals.gpus import SeenGpu
from computepool.agent.owner.signals.local import local_signals
from computepool.agent.owner.signals.machine import Machine
from computepool.agent.owner.watch import OwnerWatch
from computepool.agent.ports import Offload


def open_watch(
    folder: Path,
    *,
    clock: Clock,
    offload: Offload,
    on_change: Callable[[Decision], None],
    strangers_work: Callable[[], bool],
    gpus: Callable[[], Iterable[SeenGpu]] = tuple,
    is_ours: Callable[[int], bool] = lambda pid: False,
    holds_work: Callable[[str], bool] = lambda gpu_id: False,
    data_used_bytes: Callable[[], int | Unknown] = lambda: 0,
    machine: Machine | None = None,
) -> OwnerWatch:
    """`strangers_work`: whether any of it is here. `is_ours` and `holds_work`: processes and GPUs of jobs. Both are
    called off the event loop, as is `data_used_bytes`. Reads the policy, and so blocks on the disk for a moment."""
    policy_file = PolicyFile(folder)
    policy_file.refresh()
    signals = local_signals(
        gpus=gpus, is_ours=is_ours, holds_work=holds_work, data_used_bytes=data_used_bytes, machine=machine
    )
    return OwnerWatch(
        policy_file=policy_file,
        pauses=PauseBook(folder, clock),
        signals=signals,
        clock=clock,
        offload=offload,
        on_change=on_change,
        strangers_work=strangers_work,
    )
