"""NVIDIA's management library, through `nvidia-ml-py`. A library, function or driver that is missing is normal here."""

import contextlib
import ctypes
import logging
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from computepool.agent.detect.found import pci_address
from computepool.agent.detect.tools import ROOT

log = logging.getLogger(__name__)

_LIBRARY = "libnvidia-ml.so.1"
_MORE_PLACES = ("usr/lib/wsl/lib", "run/opengl-driver/lib")
"""Where WSL2 and NixOS keep it, often out of the loader's sight."""


class NvmlUnavailable(Exception):
    """No answer is to be had from the library; the text says why."""


class CardLost(Exception):
    """This card does not answer, but others may."""


@dataclass(frozen=True)
class NvmlCard:
    id: str
    name: str
    memory_bytes: int | None
    """None where it has none of its own, but shares the machine's."""
    pci: str
    minor: int | None
    """The number of its device file."""
    architecture: str
    mig: bool
    parts: tuple["NvmlPart", ...]


@dataclass(frozen=True)
class NvmlPart:
    id: str
    name: str
    memory_bytes: int
    gpu_instance: int | None
    compute_instance: int | None


class Nvml:
    """An open session with the driver. Raises NvmlUnavailable where there is none."""

    def __init__(self, root: Path = ROOT) -> None:
        if sys.platform != "win32" and not _load(root):
            raise NvmlUnavailable(f"{_LIBRARY} is not on this machine")
        try:
            # Only now: the module takes 17 MB, and most machines have no use for it.
            import pynvml  # type: ignore[import-untyped]
        except ImportError as error:
            raise NvmlUnavailable(str(error)) from error
        self.library: Any = pynvml
        self._errors = (pynvml.NVMLError, pynvml.NVMLLibraryMismatchError)
        try:
            pynvml.nvmlInit()
        except self._errors as error:
            raise NvmlUnavailable(str(error)) from error

    def close(self) -> None:
        with contextlib.suppress(*self._errors):
            self.library.nvmlShutdown()

    def ask(self, function: str, *arguments: Any) -> Any:
        """Raises NvmlUnavailable where the session is over, CardLost where the card does not answer; None for what
        this driver or card does not tell."""
        library = self.library
        try:
            return getattr(library, function)(*arguments)
        except library.NVMLLibraryMismatchError:
            return None
        except library.NVMLError as error:
            if error.value in (
                library.NVML_ERROR_UNINITIALIZED,
                library.NVML_ERROR_DRIVER_NOT_LOADED,
                library.NVML_ERROR_LIB_RM_VERSION_MISMATCH,
                library.NVML_ERROR_LIBRARY_NOT_FOUND,
            ):
                raise NvmlUnavailable(str(error)) from error
            if error.value in (
                library.NVML_ERROR_GPU_IS_LOST,
                library.NVML_ERROR_RESET_REQUIRED,
                library.NVML_ERROR_IRQ_ISSUE,
                library.NVML_ERROR_INSUFFICIENT_POWER,
            ):
                raise CardLost(str(error)) from error
            return None

    def driver_version(self) -> str:
        return str(self.ask("nvmlSystemGetDriverVersion") or "")

    def cuda_version(self) -> str:
        """The newest that this driver can run."""
        number = self.ask("nvmlSystemGetCudaDriverVersion_v2") or self.ask("nvmlSystemGetCudaDriverVersion")
        return f"{number // 1000}.{number % 1000 // 10}" if number else ""

    def cards(self) -> Iterator[NvmlCard | str]:
        """Each card, or why it does not answer."""
        for index in range(self.ask("nvmlDeviceGetCount") or 0):
            try:
                card = self._card(index)
            except CardLost as error:
                yield f"card {index} does not answer: {error}"
            else:
                yield card or f"card {index} tells no identity"

    def _card(self, index: int) -> NvmlCard | None:
        handle = self.ask("nvmlDeviceGetHandleByIndex", index)
        uuid = self.ask("nvmlDeviceGetUUID", handle) if handle else None
        if not uuid:
            return None
        memory = self.ask("nvmlDeviceGetMemoryInfo", handle)
        bus = self.ask("nvmlDeviceGetPciInfo", handle)
        capability = self.ask("nvmlDeviceGetCudaComputeCapability", handle)
        mig = bool((self.ask("nvmlDeviceGetMigMode", handle) or [0])[0])
        return NvmlCard(
            id=uuid,
            name=self.ask("nvmlDeviceGetName", handle) or "NVIDIA Graphics Device",
            memory_bytes=int(memory.total) if memory else None,
            pci=pci_address(_text(bus.busId)) if bus else "",
            minor=self.ask("nvmlDeviceGetMinorNumber", handle),
            architecture="{}.{}".format(*capability) if capability else "",
            mig=mig,
            parts=tuple(self._parts(handle)) if mig else (),
        )

    def _parts(self, card: Any) -> Iterator[NvmlPart]:
        for index in range(self.ask("nvmlDeviceGetMaxMigDeviceCount", card) or 0):
            # Not every place is taken.
            handle = self.ask("nvmlDeviceGetMigDeviceHandleByIndex", card, index)
            uuid = self.ask("nvmlDeviceGetUUID", handle) if handle else None
            if uuid:
                memory = self.ask("nvmlDeviceGetMemoryInfo", handle)
                yield NvmlPart(
                    id=uuid,
                    name=self.ask("nvmlDeviceGetName", handle) or "NVIDIA MIG device",
                    memory_bytes=int(memory.total) if memory else 0,
                    gpu_instance=self.ask("nvmlDeviceGetGpuInstanceId", handle),
                    compute_instance=self.ask("nvmlDeviceGetComputeInstanceId", handle),
                )


def _load(root: Path) -> bool:
    """Whether the library can be loaded. Once loaded from anywhere, it is found by its name too."""
    for name in (_LIBRARY, *(str(root / place / _LIBRARY) for place in _MORE_PLACES)):
        with contextlib.suppress(OSError):
            ctypes.CDLL(name)
            return True
    return False


def _text(value: bytes | str) -> str:
    return value.decode(errors="replace") if isinstance(value, bytes) else value
