"""What a job asks for, read from its stored spec: in words, and for the filters of lists."""

from collections.abc import Mapping
from typing import Any

from computepool.protocol.capacity import SIMULATED

GPU_LIMIT = 64
UNITS = {"cpus": "CPU", "memory": "memory", "disk": "disk"}


def gpu_of(spec: Mapping[str, Any]) -> str | None:
    """The model that it names, if any."""
    gpu = (spec.get("resources") or {}).get("gpu")
    name = gpu.get("name") if isinstance(gpu, dict) else None
    return str(name)[:GPU_LIMIT] if name is not None else None


def is_simulated(spec: Mapping[str, Any]) -> bool:
    """By what it asks for: the tag alone decides on which kind of node a job runs."""
    where = spec.get("where")
    return isinstance(where, dict) and SIMULATED in where.get("tags", ())


def in_words(resources: Mapping[str, Any] | None) -> str:
    """Such as `2 × rtx-4090 (24GB+), 8 CPU, 16GB memory, 20GB disk`: of one slice, which is given the least of each."""
    found = resources or {}
    parts = [_gpu_in_words(found["gpu"])] if isinstance(found.get("gpu"), dict) else []
    parts += [f"{_range_in_words(found[name]).rstrip('+')} {unit}" for name, unit in UNITS.items() if name in found]
    return ", ".join(parts)


def _gpu_in_words(gpu: Mapping[str, Any]) -> str:
    memory = f" ({_range_in_words(gpu['memory'])})" if gpu.get("memory") else ""
    return f"{gpu.get('count', 1)} × {gpu.get('name') or 'any GPU'}{memory}"


def _range_in_words(written: object) -> str:
    """`8..` is at least 8, `..8` at most."""
    text = str(written)
    if text.endswith(".."):
        return f"{text[:-2]}+"
    return f"up to {text[2:]}" if text.startswith("..") else text.replace("..", "–")
