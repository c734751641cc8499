"""What a host measures for herself, without a hub: the same process, the same computation, a shorter one."""

import base64
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from computepool.agent.benchmark.desk import COMMAND, WorkerGone, WorkerProcess, environment_for
from computepool.protocol.capacity import Gpu
from computepool.protocol.challenge import ROUNDS, SIZES, product_flops

CPU_SECONDS = 2.0
GPU_SECONDS = 8.0


@dataclass(frozen=True)
class LocalResult:
    """Of one device. None for what was not, or could not be, measured."""

    device: str
    name: str
    backend: str | None = None
    gflops: float | None = None
    compute_seconds: float | None = None
    filled_bytes: int | None = None
    read_seconds: float | None = None
    figures: dict[str, float] = field(default_factory=dict)
    trouble: str = ""
    """Why it could not be measured."""

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


async def measure_cpu(name: str, folder: Path, command: Sequence[str] = COMMAND) -> LocalResult:
    return await _measure("cpu", name or "processor", None, (), folder, command)


async def measure_gpu(gpu: Gpu, gpus: Sequence[Gpu], folder: Path, command: Sequence[str] = COMMAND) -> LocalResult:
    return await _measure(gpu.id, gpu.name, gpu, gpus, folder, command)


async def _measure(
    device: str, name: str, gpu: Gpu | None, gpus: Sequence[Gpu], folder: Path, command: Sequence[str]
) -> LocalResult:
    worker = WorkerProcess(command)
    try:
        await worker.start(environment_for(gpu, gpus))
        kind = "cpu" if gpu is None else "gpu"
        ready = await worker.ask({"do": "begin", "device": kind, "folder": str(folder)})
        if ready["is"] == "failed":
            return LocalResult(device, name, trouble=str(ready["reason"]))
        backend = str(ready["backend"])
        size, rounds = SIZES[backend], ROUNDS[backend]
        segments = _segments(ready, size, rounds, CPU_SECONDS if gpu is None else GPU_SECONDS)
        seed = base64.b64encode(secrets.token_bytes(32)).decode()
        filled = await worker.ask({"do": "fill", "seed": seed, "size": size, "rounds": rounds, "segments": segments})
        read = await worker.ask({"do": "digest", "nonce": seed})
        for answer in (filled, read):
            if answer["is"] == "failed":
                return LocalResult(device, name, backend, figures=ready["figures"], trouble=str(answer["reason"]))
        flops = segments * rounds * product_flops(size)
        return LocalResult(
            device=device,
            name=name,
            backend=backend,
            gflops=flops / max(filled["seconds"], 1e-9) / 1e9,
            compute_seconds=filled["seconds"],
            filled_bytes=segments * rounds * size * size,
            read_seconds=read["seconds"],
            figures=ready["figures"],
        )
    except (WorkerGone, OSError) as error:
        return LocalResult(device, name, trouble=str(error))
    finally:
        await worker.close()


def _segments(ready: dict[str, Any], size: int, rounds: int, seconds: float) -> int:
    by_time = int(seconds * ready["gflops"] * 1e9 / (product_flops(size) * rounds))
    by_room = int(ready["room_bytes"]) // (size * size * rounds)
    return max(1, min(by_time, by_room, size))
