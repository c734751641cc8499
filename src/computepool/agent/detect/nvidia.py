"""NVIDIA's GPUs: from the driver's library, and where that fails from `nvidia-smi`."""

import csv
import logging
import re
from functools import partial
from pathlib import Path

from computepool.agent.detect.displays import read
from computepool.agent.detect.found import NVIDIA, Findings, FoundGpu, UnusableGpu, each_once, make_gpu, pci_address
from computepool.agent.detect.machine import is_wsl, offered_memory_bytes
from computepool.agent.detect.nvml import Nvml, NvmlCard, NvmlPart, NvmlUnavailable
from computepool.agent.detect.tools import ROOT, run_tool
from computepool.protocol.capacity import Gpu
from computepool.protocol.versions import NVIDIA_DRIVER

log = logging.getLogger(__name__)

SMI = "nvidia-smi"
MIB = 1024**2
_SHARED_DEVICES = ("/dev/nvidiactl", "/dev/nvidia-uvm", "/dev/nvidia-uvm-tools", "/dev/nvidia-modeset")
_WSL_DEVICE = "/dev/dxg"
_FIELDS = "index,uuid,name,memory.total,pci.bus_id"
_MORE_FIELDS = f"{_FIELDS},driver_version,compute_cap,mig.mode.current"
_MIG_LINE = re.compile(r"\s+MIG (\S+)\s+Device\s+[0-9]+: \(UUID: (MIG-[^)\s]+)\)")
_CARD_LINE = re.compile(r"GPU [0-9]+: .*\(UUID: (GPU-[^)\s]+)\)")
_EMPTY_MIG = UnusableGpu(
    name="",
    why="it is in MIG mode, but has no instance",
    hint="make some (`nvidia-smi mig -cgi … -C`), or leave the mode (`nvidia-smi -mig 0`)",
)


def nvidia_gpus(root: Path = ROOT) -> tuple[tuple[Gpu, ...], dict[str, tuple[str, ...]]]:
    """The GPUs that the driver reports, and the device files of each; none where there is no driver."""
    found = find_nvidia(root).gpus
    return tuple(one.gpu for one in found), {one.gpu.id: one.devices for one in found}


def find_nvidia(root: Path = ROOT) -> Findings:
    try:
        nvml = Nvml(root)
    except NvmlUnavailable as error:
        log.debug("nvml.unavailable", extra={"why": str(error)})
        return find_by_smi(root)
    try:
        return _from_nvml(nvml, root)
    except NvmlUnavailable as error:
        log.warning("nvml.lost", extra={"why": str(error)})
        return find_by_smi(root)
    finally:
        nvml.close()


# ── the library ──────────────────────────────────────────────────────────────────────────────────────────────────────


def _from_nvml(nvml: Nvml, root: Path) -> Findings:
    driver, cuda = nvml.driver_version(), nvml.cuda_version()
    runtime = f"cuda {cuda}" if cuda else ""
    found: list[FoundGpu] = []
    unusable: list[UnusableGpu] = []
    for card in nvml.cards():
        if isinstance(card, str):
            hint = "look into the kernel's log for `Xid`; a reset or a reboot brings most of them back"
            unusable.append(UnusableGpu("NVIDIA GPU", card, hint))
        elif card.mig:
            found += [_part(card, part, driver, runtime, root) for part in card.parts]
            if not card.parts:
                unusable.append(UnusableGpu(card.name, _EMPTY_MIG.why, _EMPTY_MIG.hint, card.pci))
        else:
            found.append(_whole(card, driver, runtime, root))
    return Findings(each_once(found), tuple(unusable), {NVIDIA_DRIVER: driver} if driver else {})


def _whole(card: NvmlCard, driver: str, runtime: str, root: Path) -> FoundGpu:
    # Chips such as the GB10 have no memory of their own, and the library says so by telling none.
    shared = card.memory_bytes is None
    gpu = make_gpu(
        id=card.id,
        name=card.name,
        memory_bytes=offered_memory_bytes() if card.memory_bytes is None else card.memory_bytes,
        vendor=NVIDIA,
        driver=driver,
        runtime=runtime,
        architecture=card.architecture,
        integrated=shared,
    )
    return FoundGpu(gpu, _devices(_minor(card, root), root), card.pci)


def _part(card: NvmlCard, part: NvmlPart, driver: str, runtime: str, root: Path) -> FoundGpu:
    gpu = make_gpu(
        id=part.id,
        name=part.name,
        memory_bytes=part.memory_bytes,
        vendor=NVIDIA,
        driver=driver,
        runtime=runtime,
        architecture=card.architecture,
        part_of=card.id,
    )
    minor = _minor(card, root)
    capabilities = _capability_devices(minor, part.gpu_instance, part.compute_instance, root)
    return FoundGpu(gpu, (*_devices(minor, root), *capabilities), card.pci)


# ── device files ─────────────────────────────────────────────────────────────────────────────────────────────────────


def _minor(card: NvmlCard, root: Path) -> str:
    return str(card.minor) if card.minor is not None else _minor_of(card.pci, root)


def _minor_of(address: str, root: Path) -> str:
    information = read(root / "proc/driver/nvidia/gpus" / address / "information") if address else ""
    found = re.search(r"^Device Minor:\s*([0-9]+)", information, re.MULTILINE)
    return found[1] if found else ""


def _devices(minor: str, root: Path) -> tuple[str, ...]:
    if is_wsl(root):
        return (_WSL_DEVICE,) if (root / _WSL_DEVICE.lstrip("/")).exists() else ()
    own = (f"/dev/nvidia{minor}",) if minor else ()
    return tuple(path for path in (*own, *_SHARED_DEVICES) if (root / path.lstrip("/")).exists())


def _capability_devices(minor: str, gpu_instance: int | None, compute_instance: int | None, root: Path) -> list[str]:
    """A MIG instance is opened through files of its own, whose numbers the driver tells."""
    if gpu_instance is None:
        return []
    place = root / f"proc/driver/nvidia/capabilities/gpu{minor}/mig/gi{gpu_instance}"
    grants = [place / "access"]
    if compute_instance is not None:
        grants.append(place / f"ci{compute_instance}" / "access")
    numbers = [re.search(r"DeviceFileMinor:\s*([0-9]+)", read(grant)) for grant in grants]
    paths = [f"/dev/nvidia-caps/nvidia-cap{number[1]}" for number in numbers if number]
    return [path for path in paths if (root / path.lstrip("/")).exists()]


# ── nvidia-smi ───────────────────────────────────────────────────────────────────────────────────────────────────────


def find_by_smi(root: Path) -> Findings:
    rows = smi_rows(f"--query-gpu={_MORE_FIELDS}", root=root) or smi_rows(f"--query-gpu={_FIELDS}", root=root)
    if not rows:
        return Findings()
    banner = re.search(r"CUDA Version:\s*([0-9.]+)", run_tool([SMI], root=root) or "")
    runtime = f"cuda {banner[1]}" if banner else ""
    parts = _smi_parts(root) if any(len(row) > 7 and row[7] == "Enabled" for row in rows) else {}
    found: list[FoundGpu] = []
    unusable: list[UnusableGpu] = []
    for row in rows:
        if len(row) < 5 or not row[1]:
            continue
        # An older tool, or one that does not know the later columns, leaves them out.
        index, uuid, name, mebibytes, bus, driver, capability, mig = (*row, "", "", "")[:8]
        address = pci_address(bus)
        devices = _devices(_minor_of(address, root) or index, root)
        build = partial(make_gpu, vendor=NVIDIA, driver=_told(driver), runtime=runtime, architecture=_told(capability))
        if mig == "Enabled":
            for profile, part_id in parts.get(uuid, []):
                size = re.search(r"([0-9]+)gb", profile)
                part = build(
                    id=part_id,
                    name=f"{name} MIG {profile}",
                    memory_bytes=int(size[1]) * 1024 * MIB if size else 0,
                    part_of=uuid,
                )
                found.append(FoundGpu(part, devices, address))
            if not parts.get(uuid):
                unusable.append(UnusableGpu(name, _EMPTY_MIG.why, _EMPTY_MIG.hint, address))
        elif mebibytes.isdecimal():
            gpu = build(id=uuid, name=name, memory_bytes=int(mebibytes) * MIB)
            found.append(FoundGpu(gpu, devices, address))
        else:
            why = f"nvidia-smi does not tell its memory ({mebibytes})"
            unusable.append(UnusableGpu(name, why, "mend the driver: `nvidia-smi -q` says more", address))
    version = next((one.gpu.driver for one in found if one.gpu.driver), "")
    return Findings(each_once(found), tuple(unusable), {NVIDIA_DRIVER: version} if version else {})


def smi_rows(query: str, *, root: Path = ROOT) -> list[list[str]]:
    answer = run_tool([SMI, query, "--format=csv,noheader,nounits"], root=root)
    return [[cell.strip() for cell in row] for row in csv.reader((answer or "").splitlines())]


def _smi_parts(root: Path) -> dict[str, list[tuple[str, str]]]:
    """Profile and id of each MIG instance, by card."""
    parts: dict[str, list[tuple[str, str]]] = {}
    card = ""
    for line in (run_tool([SMI, "-L"], root=root) or "").splitlines():
        if header := _CARD_LINE.match(line):
            card = header[1]
        elif part := _MIG_LINE.match(line):
            parts.setdefault(card, []).append((part[1], part[2]))
    return parts


def _told(value: str) -> str:
    return "" if value.startswith("[") else value
