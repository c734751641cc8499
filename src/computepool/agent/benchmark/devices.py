"""What computes the challenge: PyTorch or CuPy on a GPU, NumPy on a CPU, plain Python where there is nothing else.

All compute the same whole numbers. Matrices come as bytes, row after row of A and column after column of B; the states
stay in the device's own memory, a byte a number.
"""

import ctypes
import importlib
import time
from collections.abc import Callable, Iterator
from operator import mul
from typing import Any, Protocol

from computepool.protocol.challenge import HALF, MODULUS, column_of_b, product_flops, row_of_a

MIB = 1024**2
COPY_BYTES = 128 * MIB
COPIES = 4
GPU_MARGIN_BYTES = 512 * MIB
"""For the matrices that are being computed with, and what the libraries take for themselves."""
HOST_ROOM_BYTES = 512 * MIB
TRIAL_SIZES = {"python": 48, "numpy": 512, "torch": 2048, "cupy": 2048}


class NoDevice(Exception):
    """It cannot be computed with here. Says what is missing."""


class Device(Protocol):
    backend: str

    def room_bytes(self) -> int: ...

    def copy_bytes_per_second(self) -> float | None:
        """How fast its memory is read and written: twice what is copied, by the second."""
        ...

    def load(self, rows: bytes, columns: bytes, size: int) -> None:
        """A by its rows, B by its columns, as numbers from 0 to 126."""
        ...

    def fill(self, rounds: int, segments: int) -> None:
        """Compute all states and keep them. Done when it returns."""
        ...

    def digests(self, coefficients: list[bytes]) -> Iterator[bytes]:
        """Of every row of each state, in order: `SYMBOLS` numbers a row."""
        ...

    def row(self, segment: int, round: int, row: int) -> bytes:
        """As it is kept: numbers from 0 to 126."""
        ...


class PythonDevice:
    """Slow, and says so by its name; small sizes only."""

    backend = "python"

    def __init__(self) -> None:
        self._rows: list[list[int]] = []
        self._columns: list[list[int]] = []
        self._states: list[list[list[bytes]]] = []

    def room_bytes(self) -> int:
        return 64 * MIB

    def copy_bytes_per_second(self) -> float | None:
        return host_copy_bytes_per_second()

    def load(self, rows: bytes, columns: bytes, size: int) -> None:
        def centred(values: bytes) -> list[list[int]]:
            return [[v - HALF for v in values[i * size : (i + 1) * size]] for i in range(size)]

        self._rows, self._columns, self._states = centred(rows), centred(columns), []

    def fill(self, rounds: int, segments: int) -> None:
        for segment in range(segments):
            turn = segment % len(self._rows)
            current = [row[turn:] + row[:turn] for row in self._rows]
            states = []
            for _ in range(rounds):
                state = [[sum(map(mul, row, column)) % MODULUS for column in self._columns] for row in current]
                states.append([bytes(row) for row in state])
                current = [[z * z % MODULUS - HALF for z in row] for row in state]
            self._states.append(states)

    def digests(self, coefficients: list[bytes]) -> Iterator[bytes]:
        factors = [[c - HALF for c in one] for one in coefficients]
        for states in self._states:
            for state in states:
                yield bytes(sum(map(mul, row, one)) % MODULUS for row in state for one in factors)

    def row(self, segment: int, round: int, row: int) -> bytes:
        return self._states[segment][round][row]


class ArrayDevice:
    """NumPy, or CuPy, which has the same functions."""

    def __init__(self, xp: Any, backend: str) -> None:
        self._xp = xp
        self.backend = backend
        self._states: list[Any] = []
        self._a: Any = None
        self._b: Any = None

    def room_bytes(self) -> int:
        if self.backend == "numpy":
            return HOST_ROOM_BYTES
        self._states = []
        self._xp.get_default_memory_pool().free_all_blocks()
        free, _ = self._xp.cuda.runtime.memGetInfo()
        return max(0, int(free) - GPU_MARGIN_BYTES)

    def copy_bytes_per_second(self) -> float | None:
        source = self._xp.ones(COPY_BYTES, dtype="uint8")
        target = self._xp.empty_like(source)

        def copy() -> None:
            target[:] = source

        return copied_per_second(copy, self._wait)

    def load(self, rows: bytes, columns: bytes, size: int) -> None:
        self._states = []
        self._a, self._b = (self._matrix(one, size) for one in (rows, columns))

    def _matrix(self, values: bytes, size: int) -> Any:
        xp = self._xp
        return xp.frombuffer(values, dtype="uint8").reshape(-1, size).astype("float32") - xp.float32(HALF)

    def fill(self, rounds: int, segments: int) -> None:
        xp, size = self._xp, self._a.shape[0]
        right, other, scratch = self._b.T, xp.empty_like(self._a), xp.empty_like(self._a)
        for segment in range(segments):
            states = xp.empty((rounds, size, size), dtype="uint8")
            current = xp.roll(self._a, -segment, axis=1)
            for number in range(rounds):
                product = xp.matmul(current, right, out=other)
                self._reduce(product, scratch)
                states[number] = product
                xp.multiply(product, product, out=product)
                self._reduce(product, scratch)
                product -= xp.float32(HALF)
                current, other = product, current
            self._states.append(states)
        self._wait()

    def digests(self, coefficients: list[bytes]) -> Iterator[bytes]:
        xp = self._xp
        factors = self._matrix(b"".join(coefficients), len(coefficients[0])).T
        for states in self._states:
            for state in states:
                found = xp.matmul(state.astype("float32"), factors)
                self._reduce(found, xp.empty_like(found))
                yield self._bytes(found.astype("uint8"))

    def row(self, segment: int, round: int, row: int) -> bytes:
        return self._bytes(self._states[segment][round, row])

    def _reduce(self, values: Any, scratch: Any) -> None:
        """Modulo 127, in place. The library's own remainder is exact and fifty times slower; here a quotient may be one
        off by rounding, which is put right."""
        xp, modulus = self._xp, self._xp.float32(MODULUS)
        xp.multiply(values, xp.float32(1 / MODULUS), out=scratch)
        xp.floor(scratch, out=scratch)
        scratch *= modulus
        values -= scratch
        values += modulus * (values < 0)
        values -= modulus * (values >= modulus)

    def _bytes(self, values: Any) -> bytes:
        return bytes(values.tobytes())

    def _wait(self) -> None:
        if self.backend == "cupy":
            self._xp.cuda.Device().synchronize()


class TorchDevice:
    backend = "torch"

    def __init__(self, torch: Any, where: str) -> None:
        """`where` is "cuda" (also for AMD's), or "cpu" to try the same code without a GPU."""
        self._torch = torch
        self._where = where
        torch.set_grad_enabled(False)
        self._states: list[Any] = []
        self._a: Any = None
        self._b: Any = None

    def room_bytes(self) -> int:
        if self._where == "cpu":
            return HOST_ROOM_BYTES
        self._states = []
        self._torch.cuda.empty_cache()
        free, _ = self._torch.cuda.mem_get_info()
        return max(0, int(free) - GPU_MARGIN_BYTES)

    def copy_bytes_per_second(self) -> float | None:
        torch = self._torch
        source = torch.ones(COPY_BYTES, dtype=torch.uint8, device=self._where)
        target = torch.empty_like(source)
        return copied_per_second(lambda: target.copy_(source), self._wait)

    def load(self, rows: bytes, columns: bytes, size: int) -> None:
        self._states = []
        self._a, self._b = (self._matrix(one, size) for one in (rows, columns))

    def _matrix(self, values: bytes, size: int) -> Any:
        torch = self._torch
        flat = torch.frombuffer(bytearray(values), dtype=torch.uint8).reshape(-1, size)
        return flat.to(self._where).to(torch.float32) - HALF

    def fill(self, rounds: int, segments: int) -> None:
        torch, size = self._torch, self._a.shape[0]
        right, other = self._b.t(), torch.empty_like(self._a)
        for segment in range(segments):
            states = torch.empty((rounds, size, size), dtype=torch.uint8, device=self._where)
            current = torch.roll(self._a, -segment, 1)
            for number in range(rounds):
                product = torch.matmul(current, right, out=other)
                product.remainder_(MODULUS)
                states[number].copy_(product)
                product.mul_(product).remainder_(MODULUS).sub_(HALF)
                current, other = product, current
            self._states.append(states)
        self._wait()

    def digests(self, coefficients: list[bytes]) -> Iterator[bytes]:
        torch = self._torch
        factors = self._matrix(b"".join(coefficients), len(coefficients[0])).t()
        for states in self._states:
            # A whole segment at a time would be quicker, and would need four times its memory.
            found = [torch.matmul(state.to(torch.float32), factors).remainder_(MODULUS) for state in states]
            for one in torch.stack(found).to(torch.uint8).cpu():
                yield _bytes_of(one)

    def row(self, segment: int, round: int, row: int) -> bytes:
        return _bytes_of(self._states[segment][round, row].cpu())

    def _wait(self) -> None:
        if self._where != "cpu":
            self._torch.cuda.synchronize()


def _bytes_of(tensor: Any) -> bytes:
    """Of one in the host's memory. PyTorch alone has no quick way, and NumPy may be missing."""
    whole = tensor.contiguous()
    return ctypes.string_at(whole.data_ptr(), whole.numel() * whole.element_size())


def copied_per_second(copy: Callable[[], object], wait: Callable[[], object]) -> float:
    copy()
    wait()
    began = time.perf_counter()
    for _ in range(COPIES):
        copy()
    wait()
    return 2 * COPIES * COPY_BYTES / max(time.perf_counter() - began, 1e-9)


def host_copy_bytes_per_second() -> float:
    """A slice of bytes is copied by the C library: no need for NumPy."""
    source = memoryview(bytearray(COPY_BYTES))
    target = memoryview(bytearray(COPY_BYTES))

    def copy() -> None:
        target[:] = source

    return copied_per_second(copy, lambda: None)


def open_cpu() -> Device:
    try:
        return ArrayDevice(importlib.import_module("numpy"), "numpy")
    except ImportError:
        return PythonDevice()


def open_gpu() -> Device:
    """The first GPU that this process sees: who starts it shows it one alone. Raises NoDevice."""
    troubles = []
    for name, opening in (("PyTorch", _open_torch), ("CuPy", _open_cupy)):
        try:
            return opening()
        except ImportError:
            troubles.append(f"{name} is not installed")
        except Exception as error:
            troubles.append(f"{name}: {str(error).splitlines()[0] if str(error) else type(error).__name__}")
    raise NoDevice("; ".join(troubles))


def _open_torch() -> Device:
    torch = importlib.import_module("torch")
    if not torch.cuda.is_available():
        raise NoDevice("this build sees no GPU")
    return TorchDevice(torch, "cuda")


def _open_cupy() -> Device:
    cupy = importlib.import_module("cupy")
    if cupy.cuda.runtime.getDeviceCount() < 1:
        raise NoDevice("it sees no GPU")
    return ArrayDevice(cupy, "cupy")


def trial_gflops(device: Device) -> float:
    """A first impression, by a short run of what the challenge will be."""
    size, seed = TRIAL_SIZES[device.backend], b"a trial, not a test"
    rows = b"".join(row_of_a(seed, i, size) for i in range(size))
    columns = b"".join(column_of_b(seed, i, size) for i in range(size))
    device.load(rows, columns, size)
    rounds = 4
    device.fill(1, 1)  # libraries take their time over the first
    device.load(rows, columns, size)
    began = time.perf_counter()
    device.fill(rounds, 1)
    seconds = max(time.perf_counter() - began, 1e-9)
    return rounds * product_flops(size) / seconds / 1e9
