"""AMD's GPUs: what the kernel lists, with what AMD's library or else `rocm-smi` says about each."""

import contextlib
import io
import logging
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from computepool.agent.detect.displays import AMD_ID, Display, amd_name, displays, listed_name, read, render_file
from computepool.agent.detect.found import AMD, Findings, FoundGpu, UnusableGpu, each_once, make_gpu, pci_address
from computepool.agent.detect.tools import ROOT, run_json_tool
from computepool.protocol.capacity import Gpu

log = logging.getLogger(__name__)

ROCM_SMI = "rocm-smi"
AMDGPU_DRIVER = "amdgpu-driver"
_QUERY = ("--showproductname", "--showuniqueid", "--showbus", "--showmeminfo", "vram", "--showdriverversion", "--json")
_INTEGRATED_ARCHITECTURES = frozenset(
    f"gfx{version}" for version in ("902", "909", "90c", "1013", "1033", "1035", "1036", "1103", "1150", "1151", "1152")
)
MIB = 1024**2


@dataclass(frozen=True)
class Facts:
    """What one source tells of a card; empty where it does not."""

    name: str = ""
    unique_id: str = ""
    memory_bytes: int = 0
    architecture: str = ""
    driver: str = ""

    def over(self, other: "Facts") -> "Facts":
        """These facts, and the other's where these have none."""
        return Facts(**{name: value or getattr(other, name) for name, value in vars(self).items()})


def find_amd(root: Path = ROOT) -> Findings:
    cards = {card.address: card for card in displays(root) if card.vendor_id == AMD_ID}
    told = _told_by_library() or told_by_rocm_smi(root)
    if not cards and not told:
        return Findings()
    runtime = _rocm_version(root)
    topology = kfd_nodes(root)
    found: list[FoundGpu] = []
    unusable: list[UnusableGpu] = []
    for address in sorted({*cards, *told}):
        card = cards.get(address)
        facts = told.get(address, Facts()).over(_told_by_kernel(card, topology, root) if card else Facts())
        gpu = _gpu(
            address, facts, runtime, integrated=_is_integrated(facts, topology.get(card.render) if card else None)
        )
        if card is None:
            # A container may show the tool the cards, but not the bus.
            found.append(FoundGpu(gpu, _compute_device(root), address))
            continue
        device, usable = render_file(card, root)
        if usable:
            found.append(FoundGpu(gpu, (*_compute_device(root), device), address))
        else:
            unusable.append(_unusable(card, gpu.name, device))
    driver = next((one.gpu.driver for one in found if one.gpu.driver), "")
    return Findings(each_once(found), tuple(unusable), {AMDGPU_DRIVER: driver} if driver else {})


def _gpu(address: str, facts: Facts, runtime: str, *, integrated: bool) -> Gpu:
    number = facts.unique_id.lower().removeprefix("0x").strip("0")
    # The form in which AMD's runtime takes it in ROCR_VISIBLE_DEVICES; consumers' cards often have no number.
    own = f"GPU-{facts.unique_id.lower().removeprefix('0x').rjust(16, '0')}"
    return make_gpu(
        id=own if number else f"amd-{address}",
        name=facts.name or "AMD GPU",
        memory_bytes=facts.memory_bytes,
        vendor=AMD,
        driver=facts.driver,
        runtime=runtime,
        architecture=facts.architecture,
        integrated=integrated,
    )


def _is_integrated(facts: Facts, node: dict[str, int] | None) -> bool:
    with_processor = bool(node and node.get("cpu_cores_count") and node.get("simd_count"))
    # AMD calls only the graphics inside processors "… Graphics".
    return with_processor or facts.architecture in _INTEGRATED_ARCHITECTURES or facts.name.endswith("Graphics")


def _unusable(card: Display, name: str, device: str) -> UnusableGpu:
    if not device:
        why = f"its driver ({card.driver}) gives no render node" if card.driver else "no driver is loaded for it"
        return UnusableGpu(name, why, "load the kernel's `amdgpu` driver", card.address)
    hint = "add the agent's user to the groups `render` and `video`, and log in again"
    return UnusableGpu(name, f"{device} cannot be opened by this user", hint, card.address)


def _compute_device(root: Path) -> tuple[str, ...]:
    return ("/dev/kfd",) if (root / "dev/kfd").exists() else ()


def _rocm_version(root: Path) -> str:
    version = read(root / "opt/rocm/.info/version").partition("-")[0]
    return f"rocm {version}" if version else ""


# ── the kernel ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _told_by_kernel(card: Display, topology: dict[str, dict[str, int]], root: Path) -> Facts:
    node = topology.get(card.render, {})
    return Facts(
        name=amd_name(card, root) or card.told("product_name") or listed_name(card, root),
        unique_id=card.told("unique_id"),
        memory_bytes=card.number("mem_info_vram_total") or 0,
        architecture=_architecture(node.get("gfx_target_version", 0)),
        driver=read(root / "sys/module/amdgpu/version") or read(root / "proc/sys/kernel/osrelease"),
    )


def kfd_nodes(root: Path) -> dict[str, dict[str, int]]:
    """The compute driver's view of each GPU, by its render node; `gpu_id` is the driver's own number for it."""
    nodes = {}
    for place in sorted((root / "sys/class/kfd/kfd/topology/nodes").glob("*")):
        properties: dict[str, int] = {}
        for line in read(place / "properties").splitlines():
            name, _, value = line.partition(" ")
            with contextlib.suppress(ValueError):
                properties[name] = int(value)
        with contextlib.suppress(ValueError):
            properties["gpu_id"] = int(read(place / "gpu_id"))
        if properties.get("drm_render_minor"):
            nodes[f"renderD{properties['drm_render_minor']}"] = properties
    return nodes


def _architecture(version: int) -> str:
    """110000 is gfx1100, 90010 is gfx90a."""
    return f"gfx{version // 10000}{version // 100 % 100:x}{version % 100:x}" if version else ""


# ── AMD's library and tool ───────────────────────────────────────────────────────────────────────────────────────────


def _told_by_library() -> dict[str, Facts]:
    """By address on the bus; empty where the library is not there or does not work."""
    try:
        # Where its own library is missing it prints, into the middle of what a command answers.
        with contextlib.redirect_stdout(io.StringIO()):
            import amdsmi  # type: ignore[import-not-found,unused-ignore]  # comes with ROCm

            amdsmi.amdsmi_init()
    except Exception as error:
        # It raises KeyError there, and errors of its own elsewhere.
        log.debug("amdsmi.unavailable", extra={"why": repr(error)})
        return {}
    told = {}
    try:
        for handle in amdsmi.amdsmi_get_processor_handles():
            try:
                address = pci_address(str(amdsmi.amdsmi_get_gpu_device_bdf(handle)))
                asic: dict[str, Any] = amdsmi.amdsmi_get_gpu_asic_info(handle)
                memory: dict[str, Any] = amdsmi.amdsmi_get_gpu_vram_info(handle)
                driver: dict[str, Any] = amdsmi.amdsmi_get_gpu_driver_info(handle)
                told[address] = Facts(
                    name=_named(asic.get("market_name")),
                    unique_id=_hexadecimal(asic.get("asic_serial")),
                    memory_bytes=int(memory.get("vram_size") or 0) * MIB,
                    architecture=_named(asic.get("target_graphics_version")),
                    driver=_named(driver.get("driver_version")),
                )
            except Exception as error:
                log.warning("amdsmi.card", extra={"why": repr(error)})
    except Exception as error:
        log.warning("amdsmi.failed", extra={"why": repr(error)})
    finally:
        with contextlib.suppress(Exception):
            amdsmi.amdsmi_shut_down()
    return told


def told_by_rocm_smi(root: Path = ROOT) -> dict[str, Facts]:
    answer = run_json_tool([ROCM_SMI, *_QUERY], root=root)
    if not isinstance(answer, dict):
        return {}
    system = answer.get("system")
    driver = _named(system.get("Driver version")) if isinstance(system, dict) else ""
    told = {}
    for card in answer.values():
        # Versions differ in their capitals.
        values = {str(key).lower(): value for key, value in card.items()} if isinstance(card, dict) else {}
        if address := pci_address(str(values.get("pci bus") or "")):
            memory = str(values.get("vram total memory (b)") or "")
            told[address] = Facts(
                name=_named(values.get("card series")) or _named(values.get("card model")),
                unique_id=_hexadecimal(values.get("unique id")),
                memory_bytes=int(memory) if memory.isdecimal() else 0,
                architecture=_named(values.get("gfx version")),
                driver=driver,
            )
    return told


def _named(value: object) -> str:
    """A name, unless it is a number or a word for none: some versions write the device's id in its place."""
    text = str(value or "").strip()
    return "" if re.fullmatch(r"0x[0-9a-fA-F]*|N/A|unknown", text, re.IGNORECASE) else text


def _hexadecimal(value: object) -> str:
    text = str(value or "").strip()
    return text if re.fullmatch(r"(?:0x)?[0-9a-fA-F]{1,16}", text) else ""
