"""The process that measures. A JSON object a line comes in, one goes out.

    begin {device, folder, figures}      → ready {backend, gflops, room_bytes, figures}
    fill {seed, size, rounds, segments}  → filled {seconds}
    digest {nonce}                       → digests {root, seconds}
    open {places}                        → reveal {openings}

Bytes are base64. What goes wrong is said as `failed {reason}`. It ends with its input, in the middle of anything: so it
never outlives the agent that started it.
"""

import base64
import json
import os
import queue
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

from computepool.agent.benchmark.devices import (
    Device,
    NoDevice,
    host_copy_bytes_per_second,
    open_cpu,
    open_gpu,
    trial_gflops,
)
from computepool.agent.benchmark.disk import measure_disk
from computepool.protocol.challenge import (
    coefficients,
    column_of_b,
    leaf_digest,
    merkle_levels,
    merkle_path,
    row_of_a,
)

Answer = dict[str, Any]
NICE = 19


class Prover:
    """Computes one challenge, and remembers what it takes to answer for it."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._rounds = 0
        self._digests: list[bytes] = []
        self._levels: list[list[bytes]] = []

    def fill(self, seed: bytes, size: int, rounds: int, segments: int) -> float:
        rows = b"".join(row_of_a(seed, i, size) for i in range(size))
        columns = b"".join(column_of_b(seed, i, size) for i in range(size))
        self._rounds, self._digests, self._size = rounds, [], size
        self._device.load(rows, columns, size)
        began = time.perf_counter()
        self._device.fill(rounds, segments)
        return time.perf_counter() - began

    def digest(self, nonce: bytes) -> bytes:
        self._digests = list(self._device.digests(coefficients(nonce, self._size)))
        self._levels = merkle_levels([leaf_digest(one) for one in self._digests])
        return self._levels[-1][0]

    def open(self, segment: int, round: int, row: int) -> tuple[list[bytes], bytes, list[bytes]]:
        state = segment * self._rounds + round
        rows = [self._device.row(segment, number, row) for number in range(round + 1)]
        return rows, self._digests[state], merkle_path(self._levels, state)


class Worker:
    def __init__(self, open_device: Callable[[str], Device]) -> None:
        self._open_device = open_device
        self._prover: Prover | None = None
        self._room_bytes = 0

    def answer(self, question: Answer) -> Answer:
        try:
            return self._answers()[question["do"]](question)
        except NoDevice as error:
            return {"is": "failed", "reason": str(error), "retry": False}
        except MemoryError:
            return {"is": "failed", "reason": "there was not enough memory", "retry": True}
        except Exception as error:
            # Libraries of GPUs fail in many ways: all of them are an answer.
            return {"is": "failed", "reason": f"{type(error).__name__}: {error}"[:300], "retry": True}

    def _answers(self) -> dict[str, Callable[[Answer], Answer]]:
        return {"begin": self._begin, "fill": self._fill, "digest": self._digest, "open": self._open}

    def _begin(self, question: Answer) -> Answer:
        began = time.perf_counter()
        device = self._open_device(question["device"])
        self._prover = Prover(device)
        figures: Answer = {}
        if question.get("figures", True):
            figures = measure(device, question["device"], Path(question["folder"]))
        gflops = trial_gflops(device)
        self._room_bytes = device.room_bytes()
        figures["seconds"] = time.perf_counter() - began
        return {
            "is": "ready",
            "backend": device.backend,
            "gflops": gflops,
            "room_bytes": self._room_bytes,
            "figures": figures,
        }

    def _fill(self, task: Answer) -> Answer:
        prover, seed = self._started(), base64.b64decode(task["seed"])
        size, rounds, segments = task["size"], task["rounds"], task["segments"]
        if size * size * rounds * segments > self._room_bytes:
            # Nobody who asks can make a machine swap.
            return {"is": "failed", "reason": "more memory was asked for than there is room for", "retry": True}
        return {"is": "filled", "seconds": prover.fill(seed, size, rounds, segments)}

    def _digest(self, question: Answer) -> Answer:
        began = time.perf_counter()
        root = self._started().digest(base64.b64decode(question["nonce"]))
        return {"is": "digests", "root": _text(root), "seconds": time.perf_counter() - began}

    def _open(self, question: Answer) -> Answer:
        openings = []
        for segment, round_, row in question["places"]:
            rows, digests, path = self._started().open(segment, round_, row)
            openings.append(
                {"rows": [_text(one) for one in rows], "digests": _text(digests), "path": [_text(one) for one in path]}
            )
        return {"is": "reveal", "openings": openings}

    def _started(self) -> Prover:
        if self._prover is None:
            raise RuntimeError("nothing was begun")
        return self._prover


def measure(device: Device, kind: str, folder: Path) -> Answer:
    figures: Answer = {}
    if kind == "gpu":
        figures["device_copy_bytes_per_second"] = device.copy_bytes_per_second()
        return figures
    figures["host_copy_bytes_per_second"] = host_copy_bytes_per_second()
    disk = measure_disk(folder)
    if disk is not None:
        figures["disk_write_bytes_per_second"], figures["disk_read_bytes_per_second"] = disk
    return figures


def open_device(kind: str) -> Device:
    return open_gpu() if kind == "gpu" else open_cpu()


def serve(source: BinaryIO, sink: BinaryIO) -> None:
    """Until the input ends."""
    worker = Worker(open_device)
    for question in _questions(source):
        sink.write(json.dumps(worker.answer(question)).encode() + b"\n")
        sink.flush()


def _questions(source: BinaryIO) -> Iterator[Answer]:
    """Read beside the work: an input that ends in the middle of it ends it."""
    waiting: queue.SimpleQueue[bytes] = queue.SimpleQueue()

    def read() -> None:
        for line in source:
            waiting.put(line)
        os._exit(0)

    threading.Thread(target=read, daemon=True).start()
    while True:
        yield json.loads(waiting.get())


def be_modest() -> None:
    """Whatever else the machine does goes first."""
    os.nice(NICE)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
