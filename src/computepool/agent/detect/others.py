"""What else is on the bus: GPUs whose driver is missing or not known here. They are named, not offered."""

from pathlib import Path

from computepool.agent.detect.displays import AMD_ID, INTEL_ID, NVIDIA_ID, Display, displays, listed_name
from computepool.agent.detect.found import Findings, UnusableGpu
from computepool.agent.detect.machine import is_wsl
from computepool.agent.detect.tools import ROOT

_KNOWN = frozenset({AMD_ID, INTEL_ID})
"""Whose own detectors say why they do not offer a card."""


def find_others(known: Findings, root: Path = ROOT) -> Findings:
    seen = known.addresses()
    rest = [card for card in displays(root) if card.address not in seen and card.vendor_id not in _KNOWN]
    unusable = [_unusable(card, root) for card in rest]
    if is_wsl(root) and (root / "dev/dxg").exists() and not known.gpus:
        hint = "for an NVIDIA card, install its current driver in Windows (not in WSL), then `wsl --shutdown`"
        unusable.append(UnusableGpu("a GPU of Windows", "no driver for computing is shared with this WSL2", hint))
    return Findings(unusable=tuple(unusable))


def _unusable(card: Display, root: Path) -> UnusableGpu:
    name = listed_name(card, root)
    if card.vendor_id != NVIDIA_ID:
        why = f"no way to compute on it is known here (driver {card.driver})" if card.driver else "it has no driver"
        return UnusableGpu(name, why, pci=card.address)
    if card.driver == "vfio-pci":
        return UnusableGpu(name, "it is given to a virtual machine", pci=card.address)
    driven = f"it is driven by {card.driver}" if card.driver not in ("", "nvidia") else "its driver does not answer"
    hint = "install NVIDIA's driver and reboot; `nvidia-smi` must list the card"
    return UnusableGpu(name, driven, hint, card.address)
