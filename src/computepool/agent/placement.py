"""Decisions before anything runs: in which sandbox, whether there is room, with which environment. Pure."""

import re
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

from computepool.agent.own_jobs import OwnerCheck
from computepool.agent.sandbox.interface import Limits, Sandbox
from computepool.protocol.capacity import Capacity, HouseRules
from computepool.protocol.manifest import Grant, Manifest
from computepool.protocol.states import IsolationLevel
from computepool.protocol.versions import is_escapable

_SAFE_ID = re.compile(r"[A-Za-z0-9_-]{1,80}")
_ROUNDING_CPUS = 1e-6
_RANK = {level: level.rank for level in IsolationLevel}
VISIBLE_GPUS = ("CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")
"""They take the ids of GPUs; with empty ones no GPU is seen."""
DRIVERS_IDS = ("GPU-", "MIG-")
CPU_COUNTS = ("OMP_NUM_THREADS", "PYTHON_CPU_COUNT")
"""Programs that start a thread for each core read the machine's count, and not what the job may use. `nproc`, OpenMP,
MKL, OpenBLAS and PyTorch follow the first, Python's own `os.cpu_count` from 3.13 on the second."""
WORK, OUTPUT, CHECKPOINT, ENVIRONMENT = "work", "output", "checkpoint", "env"
PREFERRED = (IsolationLevel.BUBBLEWRAP, IsolationLevel.CONTAINER, IsolationLevel.GVISOR, IsolationLevel.PROCESS)
"""Of the levels that will do, the quickest to start comes first; no isolation at all comes last."""


def is_safe_id(attempt_id: str) -> bool:
    """It becomes the name of files: even a signed one is not trusted with a path."""
    return _SAFE_ID.fullmatch(attempt_id) is not None


def choose_sandbox(
    sandboxes: Sequence[Sandbox],
    manifest: Manifest,
    least: IsolationLevel,
    unsafe: Collection[str] = (),
    *,
    owner: OwnerCheck,
) -> Sandbox | None:
    """The best of those that were proven here, are strong enough and can do what the job needs.

    `process` is for the owner's own work only, where the owner allows it; `least` is what the host asks of strangers'
    work beyond the manifest, and `unsafe` is software here that strangers' work could escape from.
    """
    rank = _RANK[_asked_level(manifest, least, owner)]
    wants_out = manifest.network or bool(manifest.setup)
    fit = [
        sandbox
        for sandbox in sandboxes
        if _RANK[sandbox.level] >= rank
        and (owner.process or sandbox.level is not IsolationLevel.PROCESS)
        and (manifest.image is None or sandbox.takes_images)
        and (not wants_out or sandbox.has_egress)
        and (owner.trusted or not is_escapable(sandbox.level, unsafe, uses_gpu=bool(manifest.grant.gpus)))
    ]
    return min(fit, key=lambda sandbox: PREFERRED.index(sandbox.level), default=None)


def _asked_level(manifest: Manifest, least: IsolationLevel, owner: OwnerCheck) -> IsolationLevel:
    levels = (manifest.isolation, owner.least) if owner.trusted else (manifest.isolation, owner.least, least)
    return max(levels, key=_RANK.__getitem__)


def why_no_sandbox(
    sandboxes: Sequence[Sandbox], manifest: Manifest, least: IsolationLevel, *, owner: OwnerCheck
) -> str:
    real = [sandbox.level for sandbox in sandboxes if sandbox.level is not IsolationLevel.PROCESS]
    if manifest.own and not real and manifest.image is None and not owner.process:
        return _why_not_unsandboxed(owner)
    has = ", ".join(real) or "none"
    level = _asked_level(manifest, least, owner)
    wishes = [f"isolation {level} or better"]
    wishes += ["an image"] if manifest.image is not None else []
    wishes += ["a way out"] if manifest.network or manifest.setup else []
    return f"{' with '.join(wishes)} is asked, this node has {has}"


def _why_not_unsandboxed(owner: OwnerCheck) -> str:
    """To the owner, whose job does not run on the owner's own machine."""
    if owner.trusted:
        return (
            "this machine has no sandbox, and its policy.toml does not allow its owner's jobs to run without one:"
            " install bubblewrap, or `computepool agent policy own.process true`"
        )
    return (
        f"this machine has no sandbox, and without one it runs only jobs that its owner signed; {owner.why_not}:"
        " install bubblewrap, or submit it with a CLI whose key the machine trusts (`computepool agent trust KEY`)"
    )


def checkpoint_place(manifest: Manifest) -> str:
    """The checkpoint folder, as a path in the job's folder."""
    return CHECKPOINT if manifest.checkpoint is None else f"{WORK}/{manifest.checkpoint}".rstrip("/")


def why_not_welcome(manifest: Manifest, rules: HouseRules, *, own: bool) -> str | None:
    """Why the host does not want it, or None. The hub knows the rules, and may be a moment behind."""
    if own:
        return None
    return rules.why_not(
        renter=manifest.renter,
        internet=manifest.network or any(one.url is not None for one in manifest.inputs),
        gpu=bool(manifest.grant.gpus),
        seconds=manifest.max_runtime_seconds,
        image=manifest.image,
    )


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
    # Ids that only we understand mean nothing to a driver: there the device files choose, and their numbers name them.
    names = [gpu if gpu.startswith(DRIVERS_IDS) else str(number) for number, gpu in enumerate(manifest.grant.gpus)]
    gpus = dict.fromkeys(VISIBLE_GPUS, ",".join(names))
    cpus = str(max(1, int(manifest.grant.cpus)))
    defaults = dict.fromkeys(CPU_COUNTS, cpus) | {"PYTHONUNBUFFERED": "1"}
    return (
        defaults
        | manifest.env
        | gpus
        | {
            "COMPUTEPOOL_JOB_ID": manifest.job_id,
            "COMPUTEPOOL_ATTEMPT": str(manifest.attempt_number),
            "COMPUTEPOOL_SLICE": str(manifest.slice_index),
            "COMPUTEPOOL_SLICES": str(manifest.slices),
            "COMPUTEPOOL_OUTPUT": sandbox.path_inside(folder, OUTPUT),
            "COMPUTEPOOL_CHECKPOINT": sandbox.path_inside(folder, checkpoint_place(manifest)),
            "COMPUTEPOOL_RESUMED": "0" if manifest.saved is None else "1",
        }
    )


def limits_of(grant: Grant, room_bytes: int = 0) -> Limits:
    """`room_bytes` of the disk are not the job's own."""
    return Limits(
        cpus=grant.cpus, memory_bytes=grant.memory_bytes, pids=grant.pids, disk_bytes=grant.disk_bytes + room_bytes
    )
