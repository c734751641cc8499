"""What running attempts use, sampled every few seconds and kept until a report carries it to the hub."""

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field

from computepool.agent.attempt import Attempt
from computepool.agent.clock import Clock
from computepool.agent.ports import Offload
from computepool.agent.sandbox.interface import Process, UsageNow
from computepool.protocol.messages import AttemptRef, AttemptUsage, GpuLoad
from computepool.protocol.telemetry import (
    USAGE_AGE_LIMIT_SECONDS,
    USAGE_ATTEMPTS_LIMIT,
    USAGE_SAMPLES_LIMIT,
    UsageSample,
)

SAMPLE_SECONDS = 5.0
KEPT_SAMPLES = round(USAGE_AGE_LIMIT_SECONDS / SAMPLE_SECONDS)
"""Of one attempt, while there is no line: the newest."""


@dataclass
class _Sampled:
    """One attempt: the last reading, and the samples that were not sent yet."""

    ref: AttemptRef
    taken: int = 0
    samples: deque[tuple[float, UsageSample]] = field(default_factory=lambda: deque(maxlen=KEPT_SAMPLES))
    process: Process | None = None
    read_at: float = 0.0
    cpu_seconds: float | None = None
    network_bytes: int | None = None


class UsageSampler:
    def __init__(self, clock: Clock, offload: Offload, attempts: Callable[[], Sequence[Attempt]]) -> None:
        self._clock = clock
        self._offload = offload
        self._attempts = attempts
        self._known: dict[str, _Sampled] = {}

    async def sample(self, loads: Sequence[GpuLoad]) -> None:
        """Once for each attempt whose command runs. `loads` are those of all GPUs, as they were last read."""
        running = [
            (attempt, process)
            for attempt in self._attempts()
            if attempt.ended is None and (process := attempt.rest.process) is not None
        ]
        if not running:
            return
        readings = await self._offload(_read_all, [process for _, process in running])
        now, by_id = self._clock.monotonic(), {load.id: load for load in loads}
        for (attempt, process), reading in zip(running, readings, strict=True):
            if reading is not None:
                gpus = [by_id[gpu] for gpu in attempt.manifest.grant.gpus if gpu in by_id]
                self._take(attempt, process, reading, gpus, now)

    def _take(self, attempt: Attempt, process: Process, reading: UsageNow, gpus: Sequence[GpuLoad], now: float) -> None:
        known = self._known.setdefault(attempt.id, _Sampled(attempt.ref))
        network = attempt.network_bytes() if attempt.network_bytes is not None else None
        elapsed = now - known.read_at if known.taken else 0.0
        # The next command of an attempt counts its processor time from zero again.
        cpu_before = known.cpu_seconds if process is known.process else None
        memory = [load.memory_used_bytes for load in gpus if load.memory_used_bytes is not None]
        known.samples.append(
            (
                now,
                UsageSample(
                    age_seconds=0.0,
                    cpus=_rate(cpu_before, reading.cpu_seconds, elapsed),
                    memory_bytes=reading.memory_bytes,
                    gpu=_mean(load.utilisation for load in gpus),
                    gpu_memory_bytes=sum(memory) if memory else None,
                    power_watts=_sum(load.power_watts for load in gpus),
                    network_bytes_per_second=_rate(known.network_bytes, network, elapsed),
                ),
            )
        )
        known.taken += 1
        known.process, known.read_at = process, now
        known.cpu_seconds, known.network_bytes = reading.cpu_seconds, network

    @property
    def has_samples(self) -> bool:
        return any(known.samples for known in self._known.values())

    def take_all(self) -> tuple[AttemptUsage, ...]:
        """What was not sent yet, as much as one report holds. The caller sends it: it is not kept."""
        now, alive = self._clock.monotonic(), {attempt.id for attempt in self._attempts()}
        found: list[AttemptUsage] = []
        for attempt_id, known in list(self._known.items()):
            while known.samples and now - known.samples[0][0] > USAGE_AGE_LIMIT_SECONDS:
                known.samples.popleft()
            if known.samples and len(found) < USAGE_ATTEMPTS_LIMIT:
                first = known.taken - len(known.samples)
                some = [known.samples.popleft() for _ in range(min(len(known.samples), USAGE_SAMPLES_LIMIT))]
                aged = tuple(sample.model_copy(update={"age_seconds": round(now - at, 1)}) for at, sample in some)
                found.append(
                    AttemptUsage(attempt_id=known.ref.attempt_id, fence=known.ref.fence, first=first, samples=aged)
                )
                # Those that did not fit go first the next time.
                self._known[attempt_id] = self._known.pop(attempt_id)
            if not known.samples and attempt_id not in alive:
                del self._known[attempt_id]
        return tuple(found)


def _read_all(processes: Sequence[Process]) -> list[UsageNow | None]:
    return [_read(process) for process in processes]


def _read(process: Process) -> UsageNow | None:
    """None where it has just ended, with the files that told of it."""
    with suppress(OSError, ValueError):
        return process.usage_now()
    return None


def _rate(before: float | None, now: float | None, seconds: float) -> float | None:
    if before is None or now is None or seconds <= 0:
        return None
    return round(max(0.0, now - before) / seconds, 3)


def _mean(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return round(sum(known) / len(known), 4) if known else None


def _sum(values: Iterable[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) if known else None
