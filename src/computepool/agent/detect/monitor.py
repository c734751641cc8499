"""Watching the GPUs of this machine while the agent runs.

Asked every few seconds, so it must cost next to nothing: the driver's library stays open, the kernel's files are read
directly, and a tool that has to be started is asked again only after many times what it took. A sleeping laptop GPU is
not woken to be asked how it is. Drivers are reloaded and cards fall off the bus: then there is no answer for a while.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from computepool.agent.clock import Clock, SystemClock
from computepool.agent.detect import loads, power
from computepool.agent.detect.displays import read
from computepool.agent.detect.found import AMD, INTEL, NVIDIA
from computepool.agent.detect.loads import GpuNow, GpuUse
from computepool.agent.detect.nvml import CardLost, Nvml, NvmlUnavailable
from computepool.agent.detect.power import PowerKnob, PowerLimits
from computepool.agent.detect.tools import ROOT, Patience, TookTooLong
from computepool.protocol.capacity import Gpu
from computepool.protocol.messages import GpuLoad

log = logging.getLogger(__name__)

ANSWER_SECONDS = 5.0
REOPEN_SECONDS = 30.0
"""How long a driver that did not answer is left alone."""
REST_AFTER_TOOL = 500
"""A tool rests this many times as long as it worked: it takes at most 0.2 % of a core."""

T = TypeVar("T")


class GpuMonitor:
    """Blocking; several threads may ask, and take turns. `pci` tells each GPU's address, as `Hardware.gpu_pci` does;
    `power_note` is the file that remembers power limits to restore."""

    def __init__(
        self,
        gpus: Sequence[Gpu],
        pci: Mapping[str, str] | None = None,
        *,
        clock: Clock | None = None,
        power_note: Path | None = None,
        root: Path = ROOT,
    ) -> None:
        self._gpus = {gpu.id: gpu for gpu in gpus}
        self._pci = dict(pci or {})
        self._clock = clock or SystemClock()
        self._root = root
        self._limits = PowerLimits(power_note)
        self._patience = Patience()
        self._nvml: Nvml | None = None
        self._nvml_rests_until = 0.0
        self._handles: dict[str, Any] = {}
        self._tools: dict[str, _RestingTool] = {}

    def read(self) -> list[GpuLoad]:
        """One for each GPU, in order; without figures where its driver tells none."""
        return self._patiently(lambda: [self._load(gpu) for gpu in self._gpus.values()], [])

    def now(self) -> list[GpuNow]:
        """With who uses each, for who decides whether the owner needs a GPU."""
        return self._patiently(
            lambda: [loads.together(self._load(gpu), self._use(gpu)) for gpu in self._gpus.values()], []
        )

    def set_power_limit(self, gpu_id: str, watts: float | None) -> bool:
        """Cap a GPU's power, within what it allows, or (None) give the owner's own limit back. False where that is not
        possible: the driver asks for root, a part of a card has no limit of its own, not every card can."""
        return self._patiently(lambda: self._set_power_limit(gpu_id, watts), False)

    def set_power_share(self, gpu_id: str, share: float | None) -> bool:
        """The same, as a share of the limit that its owner has set."""
        if share is None:
            return self.set_power_limit(gpu_id, None)
        return self._patiently(lambda: self._set_power_share(gpu_id, share), False)

    def restore_power_limits(self) -> bool:
        """Give all limits back, also those that an agent capped which has crashed."""
        done = [self.set_power_limit(gpu_id, None) for gpu_id in self._limits.capped]
        return all(done)

    def close(self) -> None:
        self._patiently(self._close_nvml, None)

    def _patiently(self, function: Callable[[], T], otherwise: T) -> T:
        try:
            return self._patience.call(function, ANSWER_SECONDS)
        except TookTooLong as error:
            log.warning("gpu.silent", extra={"why": str(error)})
            return otherwise

    # ── one GPU ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _load(self, gpu: Gpu) -> GpuLoad:
        if self._sleeps(gpu):
            return GpuLoad(id=gpu.id, utilisation=0.0)
        told: GpuLoad | None = None
        if gpu.vendor == NVIDIA:
            told = self._by_nvml(gpu, loads.nvml_load)
            told = told or self._tool("smi-loads", loads.smi_loads).get(gpu.id)
        elif (device := self._device(gpu)) is not None:
            told = loads.kernel_load(gpu.id, device)
        if gpu.vendor == AMD and (told is None or told.memory_used_bytes is None):
            told = self._tool("rocm-loads", loads.rocm_loads).get(self._pci.get(gpu.id, ""), told)
        return told.model_copy(update={"id": gpu.id}) if told else GpuLoad(id=gpu.id)

    def _use(self, gpu: Gpu) -> GpuUse | None:
        if self._sleeps(gpu):
            return GpuUse(gpu.id, memory_used_bytes=0)
        if gpu.vendor == NVIDIA:
            told = self._by_nvml(gpu, lambda nvml, id, handle: loads.nvml_use(nvml, id, handle, self._root))
            return told or self._tool("smi-uses", loads.smi_uses).get(gpu.id)
        device = self._device(gpu)
        if gpu.vendor == AMD and device is not None:
            return loads.kernel_use(gpu.id, device, self._root)
        return None

    def _set_power_limit(self, gpu_id: str, watts: float | None) -> bool:
        gpu = self._gpus.get(gpu_id)
        if gpu is None or gpu.part_of:
            return False
        if watts is None and gpu_id not in self._limits.capped:
            return True
        knob: PowerKnob | None = None
        if gpu.vendor == NVIDIA:
            return bool(
                self._by_nvml(gpu, lambda nvml, id, handle: self._turn(power.nvml_knob(nvml, handle), id, watts))
            )
        if gpu.vendor in (AMD, INTEL) and (device := self._device(gpu)) is not None:
            knob = power.kernel_knob(device)
        return self._turn(knob, gpu_id, watts)

    def _set_power_share(self, gpu_id: str, share: float) -> bool:
        gpu = self._gpus.get(gpu_id)
        if gpu is None:
            return False
        usual = self._limits.capped.get(gpu_id)
        if usual is None:
            device = self._device(gpu)
            if gpu.vendor == NVIDIA:
                usual = self._by_nvml(gpu, lambda nvml, _, handle: _limit_of(power.nvml_knob(nvml, handle)))
            elif device is not None:
                usual = _limit_of(power.kernel_knob(device))
        return usual is not None and self._set_power_limit(gpu_id, usual * share)

    def _turn(self, knob: PowerKnob | None, gpu_id: str, watts: float | None) -> bool:
        if knob is None:
            return False
        return self._limits.restore(gpu_id, knob) if watts is None else self._limits.cap(gpu_id, knob, watts)

    def _device(self, gpu: Gpu) -> Path | None:
        address = self._pci.get(gpu.id)
        folder = self._root / "sys/bus/pci/devices" / address if address else None
        return folder if folder is not None and folder.is_dir() else None

    def _sleeps(self, gpu: Gpu) -> bool:
        device = self._device(gpu)
        return device is not None and read(device / "power/runtime_status") == "suspended"

    # ── the library and the tools ────────────────────────────────────────────────────────────────────────────────────

    def _by_nvml(self, gpu: Gpu, ask: Callable[[Nvml, str, Any], T]) -> T | None:
        try:
            nvml = self._open_nvml()
            if nvml is None:
                return None
            handle = self._handles.get(gpu.id)
            if handle is None:
                handle = self._handles[gpu.id] = nvml.ask("nvmlDeviceGetHandleByUUID", gpu.id)
            return ask(nvml, gpu.id, handle) if handle is not None else None
        except CardLost as error:
            # It may come back under another handle.
            self._handles.pop(gpu.id, None)
            log.warning("gpu.lost", extra={"gpu": gpu.id, "why": str(error)})
        except NvmlUnavailable as error:
            self._close_nvml()
            self._nvml_rests_until = self._clock.monotonic() + REOPEN_SECONDS
            log.info("nvml.unavailable", extra={"why": str(error)})
        return None

    def _open_nvml(self) -> Nvml | None:
        if self._nvml is None and self._clock.monotonic() >= self._nvml_rests_until:
            self._nvml = Nvml(self._root)
        return self._nvml

    def _close_nvml(self) -> None:
        self._handles.clear()
        if self._nvml is not None:
            self._nvml.close()
            self._nvml = None

    def _tool(self, name: str, ask: Callable[[Path], dict[str, Any]]) -> dict[str, Any]:
        return self._tools.setdefault(name, _RestingTool(self._clock)).ask(lambda: ask(self._root))


class _RestingTool:
    """A program's answer, kept while asking again would cost too much."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._answer: dict[str, Any] = {}
        self._rests_until: float | None = None

    def ask(self, run: Callable[[], dict[str, Any]]) -> dict[str, Any]:
        begun = self._clock.monotonic()
        if self._rests_until is None or begun >= self._rests_until:
            self._answer = run()
            ended = self._clock.monotonic()
            self._rests_until = ended + (ended - begun) * REST_AFTER_TOOL
        return self._answer


def read_gpu_loads(gpus: Sequence[Gpu], pci: Mapping[str, str] | None = None, *, root: Path = ROOT) -> list[GpuLoad]:
    """Once, for a command; what goes on asking keeps a GpuMonitor."""
    monitor = GpuMonitor(gpus, pci, root=root)
    try:
        return monitor.read()
    finally:
        monitor.close()


def _limit_of(knob: PowerKnob | None) -> float | None:
    return None if knob is None else knob.limit
