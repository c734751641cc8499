"""GPUs at this moment: what each does, and which processes use it."""

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from computepool.agent.detect.amd import ROCM_SMI, kfd_nodes
from computepool.agent.detect.displays import read, read_number
from computepool.agent.detect.found import pci_address
from computepool.agent.detect.nvidia import MIB, smi_rows
from computepool.agent.detect.nvml import Nvml
from computepool.agent.detect.tools import ROOT, run_json_tool
from computepool.protocol.messages import GpuLoad

_EDGE_SENSOR = 0
_SMI_LOAD = "--query-gpu=uuid,utilization.gpu,memory.used,temperature.gpu,power.draw"
_SMI_PROCESSES = "--query-compute-apps=gpu_uuid,pid,used_memory"


@dataclass(frozen=True)
class GpuProcess:
    pid: int
    memory_bytes: int | None
    """None where the driver does not tell it, as under WSL2."""
    name: str = ""


@dataclass(frozen=True)
class GpuUse:
    """Who uses a GPU."""

    id: str
    processes: tuple[GpuProcess, ...] = ()
    memory_used_bytes: int | None = None
    """Of the whole GPU."""
    complete: bool = True
    """Whether every process is in the list: AMD's driver and nvidia-smi list only those that compute."""


@dataclass(frozen=True)
class GpuNow:
    """Load and use of one GPU in one look; None for what its driver does not tell."""

    id: str
    utilisation: float | None = None
    memory_used_bytes: int | None = None
    temperature_celsius: float | None = None
    power_watts: float | None = None
    processes: tuple[GpuProcess, ...] | None = None
    """With one of pid 0 for the memory of those that the driver does not list, such as games on an AMD card."""

    def load(self) -> GpuLoad:
        return GpuLoad(
            id=self.id,
            utilisation=self.utilisation,
            memory_used_bytes=self.memory_used_bytes,
            temperature_celsius=self.temperature_celsius,
            power_watts=self.power_watts,
        )


def together(load: GpuLoad, use: GpuUse | None) -> GpuNow:
    """Where the driver lists not all programs, one without a number has what is left of the memory."""
    processes = use.processes if use else None
    if use and not use.complete:
        listed = [process.memory_bytes for process in use.processes]
        if use.memory_used_bytes is None:
            processes = None
        elif None not in listed:
            rest = use.memory_used_bytes - sum(memory or 0 for memory in listed)
            processes = (*use.processes, GpuProcess(0, rest)) if rest > 0 else use.processes
    return GpuNow(
        id=load.id,
        utilisation=load.utilisation,
        memory_used_bytes=load.memory_used_bytes,
        temperature_celsius=load.temperature_celsius,
        power_watts=load.power_watts,
        processes=processes,
    )


# ── NVIDIA ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def nvml_load(nvml: Nvml, gpu_id: str, handle: Any) -> GpuLoad:
    rates = nvml.ask("nvmlDeviceGetUtilizationRates", handle)
    memory = nvml.ask("nvmlDeviceGetMemoryInfo", handle)
    milliwatts = nvml.ask("nvmlDeviceGetPowerUsage", handle)
    return GpuLoad(
        id=gpu_id,
        utilisation=min(rates.gpu, 100) / 100 if rates else None,
        memory_used_bytes=int(memory.used) if memory else None,
        temperature_celsius=nvml.ask("nvmlDeviceGetTemperature", handle, _EDGE_SENSOR),
        power_watts=milliwatts / 1000 if milliwatts is not None else None,
    )


def nvml_use(nvml: Nvml, gpu_id: str, handle: Any, root: Path) -> GpuUse:
    memory = nvml.ask("nvmlDeviceGetMemoryInfo", handle)
    by_pid: dict[int, int | None] = {}
    complete = True
    for kind in ("Compute", "Graphics"):
        listed = nvml.ask(f"nvmlDeviceGet{kind}RunningProcesses", handle)
        if listed is None:
            listed = nvml.ask(f"nvmlDeviceGet{kind}RunningProcesses_v2", handle)
        complete = complete and listed is not None
        for process in listed or []:
            # One that computes and draws is in both lists, with the same memory.
            by_pid[process.pid] = max(by_pid.get(process.pid) or 0, process.usedGpuMemory or 0) or None
    return GpuUse(gpu_id, _named(by_pid, root), int(memory.used) if memory else None, complete)


def smi_loads(root: Path = ROOT) -> dict[str, GpuLoad]:
    loads = {}
    for row in smi_rows(_SMI_LOAD, root=root):
        if len(row) == 5:
            percent, mebibytes, celsius, watts = map(_number, row[1:])
            loads[row[0]] = GpuLoad(
                id=row[0],
                utilisation=None if percent is None else min(percent, 100) / 100,
                memory_used_bytes=None if mebibytes is None else int(mebibytes) * MIB,
                temperature_celsius=celsius,
                power_watts=watts,
            )
    return loads


def smi_uses(root: Path = ROOT) -> dict[str, GpuUse]:
    loads = smi_loads(root)
    by_gpu: dict[str, dict[int, int | None]] = {gpu_id: {} for gpu_id in loads}
    for row in smi_rows(_SMI_PROCESSES, root=root) if loads else []:
        if len(row) == 3 and row[1].isdecimal():
            mebibytes = _number(row[2])
            if row[0] in by_gpu:
                by_gpu[row[0]][int(row[1])] = None if mebibytes is None else int(mebibytes) * MIB
    return {
        gpu_id: GpuUse(gpu_id, _named(processes, root), loads[gpu_id].memory_used_bytes, complete=False)
        for gpu_id, processes in by_gpu.items()
    }


# ── AMD and Intel ────────────────────────────────────────────────────────────────────────────────────────────────────


def kernel_load(gpu_id: str, device: Path) -> GpuLoad:
    """From the files of the kernel's driver: cheap, and there for every user."""
    percent = read_number(device / "gpu_busy_percent")
    sensors = sensor_folder(device)
    millicelsius = read_number(sensors / "temp1_input") if sensors else None
    watts = None
    for name in ("power1_average", "power1_input"):
        if sensors and watts is None and (microwatts := read_number(sensors / name)) is not None:
            watts = microwatts / 1e6
    return GpuLoad(
        id=gpu_id,
        utilisation=None if percent is None else min(max(percent, 0), 100) / 100,
        memory_used_bytes=read_number(device / "mem_info_vram_used"),
        temperature_celsius=None if millicelsius is None else millicelsius / 1000,
        power_watts=watts,
    )


def kernel_use(gpu_id: str, device: Path, root: Path) -> GpuUse:
    render = next((path.name for path in (device / "drm").glob("renderD*")), "")
    driver_id = kfd_nodes(root).get(render, {}).get("gpu_id")
    processes: dict[int, int | None] = {}
    if driver_id:
        for place in (root / "sys/class/kfd/kfd/proc").glob("*"):
            memory = read_number(place / f"vram_{driver_id}")
            if memory is not None and place.name.isdecimal():
                processes[int(place.name)] = memory
    return GpuUse(gpu_id, _named(processes, root), read_number(device / "mem_info_vram_used"), complete=False)


def sensor_folder(device: Path) -> Path | None:
    return next(iter(sorted((device / "hwmon").glob("hwmon*"))), None)


def rocm_loads(root: Path = ROOT) -> dict[str, GpuLoad]:
    """By address on the bus."""
    wanted = ("--showbus", "--showuse", "--showmeminfo", "vram", "--showtemp", "--showpower", "--json")
    answer = run_json_tool([ROCM_SMI, *wanted], root=root)
    loads = {}
    for card in answer.values() if isinstance(answer, dict) else []:
        values = {str(key).lower(): str(value) for key, value in card.items()} if isinstance(card, dict) else {}
        address = pci_address(values.get("pci bus", ""))
        if address:
            percent, used = _number(values.get("gpu use (%)")), _number(values.get("vram total used memory (b)"))
            loads[address] = GpuLoad(
                id=address,
                utilisation=None if percent is None else min(percent, 100) / 100,
                memory_used_bytes=None if used is None else int(used),
                temperature_celsius=_first(
                    values, "temperature (sensor edge) (c)", "temperature (sensor junction) (c)"
                ),
                power_watts=_first(
                    values, "average graphics package power (w)", "current socket graphics package power (w)"
                ),
            )
    return loads


def _first(values: Mapping[str, str], *names: str) -> float | None:
    return next((number for name in names if (number := _number(values.get(name))) is not None), None)


def _number(text: str | None) -> float | None:
    with contextlib.suppress(ValueError):
        number = float(text or "")
        return number if 0 <= number < 2**60 else None
    return None


def _named(processes: Mapping[int, int | None], root: Path) -> tuple[GpuProcess, ...]:
    return tuple(GpuProcess(pid, memory, read(root / f"proc/{pid}/comm")) for pid, memory in sorted(processes.items()))
