"""Intel's GPUs: from the PCI bus, with what `xpu-smi` adds where it is installed."""

from pathlib import Path
from typing import Any

from computepool.agent.detect.displays import INTEL_ID, Display, displays, listed_name, read, render_file
from computepool.agent.detect.found import INTEL, Findings, FoundGpu, UnusableGpu, make_gpu, pci_address
from computepool.agent.detect.tools import ROOT, run_json_tool

XPU_SMI = "xpu-smi"
_INTEGRATED_ADDRESS = "0000:00:02.0"
"""Where a processor's own graphics have always been; a card sits behind a bridge."""


def find_intel(root: Path = ROOT) -> Findings:
    cards = [display for display in displays(root) if display.vendor_id == INTEL_ID]
    if not cards:
        return Findings()
    told = _told_by_xpu_smi(root)
    found: list[FoundGpu] = []
    unusable: list[UnusableGpu] = []
    for card in cards:
        facts = told.get(card.address, {})
        name = str(facts.get("device_name") or listed_name(card, root))
        device, usable = render_file(card, root)
        if usable:
            found.append(FoundGpu(_gpu(card, name, facts, root), (device,), card.address))
        else:
            unusable.append(_unusable(card, name, device))
    return Findings(tuple(found), tuple(unusable))


def _gpu(card: Display, name: str, facts: dict[str, Any], root: Path) -> Any:
    integrated = card.address == _INTEGRATED_ADDRESS
    # A card's memory is told by xpu-smi and by some kernels only. Unknown is 0: it is not guessed from the name.
    size = str(facts.get("memory_physical_size_byte") or card.told("lmem_total_bytes") or "0")
    return make_gpu(
        id=f"intel-{card.address}",
        name=name,
        memory_bytes=int(size) if size.isdecimal() and not integrated else 0,
        vendor=INTEL,
        driver=str(facts.get("driver_version") or "") or f"{card.driver} {read(root / 'proc/sys/kernel/osrelease')}",
        integrated=integrated,
    )


def _told_by_xpu_smi(root: Path) -> dict[str, dict[str, Any]]:
    """Facts by address on the bus."""
    answer = run_json_tool([XPU_SMI, "discovery", "-j"], root=root)
    devices = answer.get("device_list") if isinstance(answer, dict) else None
    told = {}
    for device in devices if isinstance(devices, list) else []:
        if isinstance(device, dict) and device.get("pci_bdf_address"):
            more = run_json_tool([XPU_SMI, "discovery", "-d", str(device.get("device_id")), "-j"], root=root)
            told[pci_address(str(device["pci_bdf_address"]))] = {**device, **(more if isinstance(more, dict) else {})}
    return told


def _unusable(card: Display, name: str, device: str) -> UnusableGpu:
    if not device:
        why = f"its driver ({card.driver}) gives no render node" if card.driver else "no driver is loaded for it"
        return UnusableGpu(name, why, "load the kernel's `i915` or `xe` driver", card.address)
    hint = "add the agent's user to the group `render`, and log in again"
    return UnusableGpu(name, f"{device} cannot be opened by this user", hint, card.address)
