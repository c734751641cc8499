"""GPUs of a Mac, from `system_profiler`."""

import re
from typing import Any

from computepool.agent.detect.found import AMD, APPLE, INTEL, NVIDIA, Findings, FoundGpu, make_gpu
from computepool.agent.detect.machine import offered_memory_bytes
from computepool.agent.detect.tools import run_json_tool

_SECONDS = 30.0
"""It is slow on a Mac that has just started."""
_UNITS = {"MB": 1024**2, "GB": 1024**3}


def find_apple() -> Findings:
    answer = run_json_tool(["system_profiler", "-json", "SPDisplaysDataType"], seconds=_SECONDS)
    items = answer.get("SPDisplaysDataType") if isinstance(answer, dict) else None
    found = []
    for index, item in enumerate(items if isinstance(items, list) else []):
        if isinstance(item, dict):
            found.append(_gpu(index, item))
    return Findings(tuple(found))


def _gpu(index: int, item: dict[str, Any]) -> FoundGpu:
    name = str(item.get("sppci_model") or item.get("_name") or "")
    own = _bytes(item.get("spdisplays_vram"))
    # Apple's chips share the machine's memory; of what a Mac lends to an Intel GPU it tells the size.
    memory = own or _bytes(item.get("spdisplays_vram_shared")) or offered_memory_bytes()
    metal = re.search(r"metal_?([0-9]*)", str(item.get("spdisplays_mtlgpufamilysupport") or ""))
    gpu = make_gpu(
        id=f"mac-{index}",
        name=name,
        memory_bytes=memory,
        vendor=_vendor(f"{item.get('spdisplays_vendor') or ''} {name}".lower()),
        runtime=f"metal {metal[1]}".strip() if metal else "",
        architecture=f"{item['sppci_cores']} cores" if item.get("sppci_cores") else "",
        integrated=own is None,
    )
    return FoundGpu(gpu)


def _vendor(words: str) -> str:
    return next((vendor for vendor in (APPLE, AMD, INTEL, NVIDIA) if vendor in words), "")


def _bytes(text: object) -> int | None:
    match = re.fullmatch(r"([0-9]+) (MB|GB)", text) if isinstance(text, str) else None
    return int(match[1]) * _UNITS[match[2]] if match else None
