"""Whatever computes the challenge computes the same numbers.

NumPy, PyTorch and CuPy are no dependencies of the project: what needs them is skipped by name where they are missing.
A GPU is not needed: PyTorch runs the same code on the processor, and NumPy stands in for CuPy.
"""

import importlib
from types import SimpleNamespace

import pytest

from computepool.agent.benchmark import devices
from computepool.agent.benchmark.devices import ArrayDevice, NoDevice, PythonDevice, TorchDevice
from computepool.agent.benchmark.worker import Prover
from computepool.protocol.challenge import HALF, LARGEST_SIZE, MODULUS, column_of_b, first_row

SEED, NONCE = b"s" * 32, b"n" * 32


def library(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        pytest.skip(f"{name}: not installed")


class FakeCupy:
    """NumPy under CuPy's name, with the calls that only CuPy has. Not a GPU."""

    def __init__(self, numpy, free_bytes=8 * 1024**3):
        self._numpy = numpy
        self.waits = 0
        self.cuda = SimpleNamespace(
            runtime=SimpleNamespace(memGetInfo=lambda: (free_bytes, free_bytes), getDeviceCount=lambda: 1),
            Device=lambda: SimpleNamespace(synchronize=self._wait),
        )

    def _wait(self):
        self.waits += 1

    def get_default_memory_pool(self):
        return SimpleNamespace(free_all_blocks=lambda: None)

    def __getattr__(self, name):
        return getattr(self._numpy, name)


def make(kind):
    match kind:
        case "numpy":
            return ArrayDevice(library("numpy"), "numpy")
        case "cupy":
            return ArrayDevice(FakeCupy(library("numpy")), "cupy")
        case "torch":
            return TorchDevice(library("torch"), "cpu")
    return PythonDevice()


def everything(device, size=40, rounds=3, segments=4):
    prover = Prover(device)
    prover.fill(SEED, size, rounds, segments)
    return prover.digest(NONCE), [prover.open(s, k, 7) for s in range(segments) for k in range(rounds)]


def test_plain_python_follows_the_definition():
    device, size = PythonDevice(), 12
    Prover(device).fill(SEED, size, 3, 2)
    columns = [[v - HALF for v in column_of_b(SEED, j, size)] for j in range(size)]
    for segment in range(2):
        for row in range(size):
            x = [v - HALF for v in first_row(SEED, segment, row, size)]
            for number in range(3):
                z = [sum(a * b for a, b in zip(x, column, strict=True)) % MODULUS for column in columns]
                assert device.row(segment, number, row) == bytes(z)
                x = [v * v % MODULUS - HALF for v in z]


@pytest.mark.parametrize("kind", ["numpy", "cupy", "torch"])
def test_library_computes_the_same_as_plain_python(kind):
    assert everything(make(kind)) == everything(PythonDevice())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["numpy", "torch"])
def test_largest_numbers_are_exact(kind):
    """Everything at its extreme: the largest sums there can be, and their neighbours."""
    device = make(kind)
    size = LARGEST_SIZE
    for rows, columns in ((126, 126), (0, 126), (126, 0), (125, 126)):
        device.load(bytes([rows]) * size * size, bytes([columns]) * size * size, size)
        device.fill(1, 1)
        expected = size * (rows - HALF) * (columns - HALF) % MODULUS
        assert device.row(0, 0, 5) == bytes([expected]) * size


@pytest.mark.parametrize("kind", ["numpy", "cupy"])
def test_remainder_is_right_next_to_every_multiple(kind):
    """The quotient is rounded, and may be one off."""
    numpy = library("numpy")
    device = make(kind)
    top = 2**24 // MODULUS
    exact = numpy.concatenate([numpy.arange(-top, top) * MODULUS + shift for shift in (-1, 0, 1)])
    values = exact.astype("float32")
    device._reduce(values, numpy.empty_like(values))
    assert (values == exact % MODULUS).all()


def test_fake_gpu_is_waited_for_and_leaves_a_margin():
    fake = FakeCupy(library("numpy"), free_bytes=1024**3)
    device = ArrayDevice(fake, "cupy")
    assert device.room_bytes() == 1024**3 - devices.GPU_MARGIN_BYTES
    device.load(bytes(64), bytes(64), 8)
    device.fill(2, 2)
    assert fake.waits == 1


def test_first_impression_and_bandwidth_are_numbers(monkeypatch):
    monkeypatch.setattr(devices, "COPY_BYTES", 1024**2)
    device = PythonDevice()
    assert devices.trial_gflops(device) > 0
    assert (device.copy_bytes_per_second() or 0) > 1e6


def test_machine_without_libraries_says_so(monkeypatch):
    def nothing(name):
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", nothing)
    assert devices.open_cpu().backend == "python"
    with pytest.raises(NoDevice, match="PyTorch is not installed; CuPy is not installed"):
        devices.open_gpu()


def test_library_that_fails_is_passed_over(monkeypatch):
    """A driver that does not fit breaks PyTorch; CuPy may still work."""
    broken = SimpleNamespace(cuda=SimpleNamespace(is_available=lambda: False))
    cupy = FakeCupy(None)
    monkeypatch.setattr(importlib, "import_module", lambda name: broken if name == "torch" else cupy)
    assert devices.open_gpu().backend == "cupy"
