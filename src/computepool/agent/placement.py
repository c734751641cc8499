"""Decisions before anything runs: in which sandbox, whether there is room, with which environment. Pure."""

import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from computepool.agent.sandbox.interface import Limits, Sandbox
from computepool.protocol.capacity import Capacity
from computepool.protocol.manifest import Grant, Manifest
from computepool.protocol.states import IsolationLevel

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
_ROUNDING_CPUS = 1e-6
_RANK = {level: level.rank for level in IsolationLevel}
VISIBLE_GPUS = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""They take the ids of GPUs; with empty ones no GPU is seen."""
WORK, OUTPUT, CHECKPOINT = "work", "output", "checkpoint"


def is_safe_id(attempt_id: str) -> bool:
    """It becomes the name of files: even a signed one is not trusted with a path."""
    return _SAFE_ID.fullmatch(attempt_id) is not None


def choose_sandbox(sandboxes: Sequence[Sandbox], least: IsolationLevel, *, own: bool) -> Sandbox | None:
    """The strongest that was proven here, if it is strong enough. `process` is for the owner's own work only."""
    fit = [
        sandbox
        for sandbox in sandboxes
        if _RANK[sandbox.level] >= _RANK[least] and (own or sandbox.level is not IsolationLevel.PROCESS)
    ]
    return max(fit, key=lambda sandbox: _RANK[sandbox.level], default=None)


def why_no_room(grant: Grant, capacity: Capacity, taken: Iterable[Grant]) -> str | None:
    """What is missing for this grant beside those that run, or None."""
    others = list(taken)
    cpus = capacity.cpus - sum(other.cpus for other in others)
    if grant.cpus > cpus + _ROUNDING_CPUS:
        return f"{grant.cpus:g} cores asked, {cpus:g} free"
    memory = capacity.memory_bytes - sum(other.memory_bytes for other in others)
    if grant.memory_bytes > memory:
        return f"{grant.memory_bytes} bytes of memory asked, {memory} free"
    unknown = set(grant.gpus) - {gpu.id for gpu in capacity.gpus}
    if unknown:
        return f"no GPU {', '.join(sorted(unknown))} here"
    busy = set(grant.gpus) & {gpu for other in others for gpu in other.gpus}
    return f"GPU {', '.join(sorted(busy))} is in use" if busy else None


def job_environment(manifest: Manifest, sandbox: Sandbox, folder: Path) -> dict[str, str]:
    """What the spec gives, and what every job may rely on; paths as the job sees them.

    No sandbox hides a GPU from a plain process, and some device files serve all of them: the drivers are told by name.
    """
    gpus = dict.fromkeys(VISIBLE_GPUS, ",".join(manifest.grant.gpus))
    return (
        manifest.env
        | gpus
        | {
            "COMPUTEPOOL_JOB_ID": manifest.job_id,
            "COMPUTEPOOL_ATTEMPT": str(manifest.attempt_number),
            "COMPUTEPOOL_SLICE": str(manifest.slice_index),
            "COMPUTEPOOL_SLICES": str(manifest.slices),
            "COMPUTEPOOL_OUTPUT": sandbox.path_inside(folder, OUTPUT),
            "COMPUTEPOOL_CHECKPOINT": sandbox.path_inside(folder, CHECKPOINT),
            "COMPUTEPOOL_RESUMED": "0",
        }
    )


def limits_of(grant: Grant) -> Limits:
    return Limits(cpus=grant.cpus, memory_bytes=grant.memory_bytes, pids=grant.pids, disk_bytes=grant.disk_bytes)
