"""GPU requests: `rtx-4090:24GB:2`, a number, or a mapping. How names are compared is in `gpu_names`."""

import re
from collections.abc import Mapping

from pydantic import ConfigDict, Field

from computepool.protocol.gpu_names import VENDORS, gpu_name_matches, model_words, normalise_gpu_name
from computepool.protocol.model import Documented
from computepool.protocol.units import (
    BadValueError,
    Range,
    format_bytes,
    format_range,
    nearest,
    parse_size_range,
    short_repr,
)

__all__ = ["GpuRequest", "gpu_name_matches", "normalise_gpu_name", "parse_gpu"]

MAX_GPU_COUNT = 64
MAX_GPU_NAME_CHARS = 64
VRAM_TOLERANCE = 0.08
"""How far a card's reported memory may lie from the number on its box.

Drivers keep some back, and error correction takes a sixteenth: a "24GB" 4090 reports 24564 MiB (0.05 % less), an L4 or
A10 23034 MiB (6.3 %), a "16GB" T4 15109 MiB (7.8 %). The next smaller real size, 11GB for 12GB, is 8.3 % away.
"""
GPU_EXAMPLES = "24GB.., rtx-4090, rtx-4090:2, A100:80GB:1 or 2 (any two)"
MAX_ALTERNATIVES = 32

_COUNT = re.compile(r"[0-9]{1,4}")
_SIZE = r"[0-9]+(?:\.[0-9]+)?\s*(?:[kmgtp]i?b?|b)"
_BARE = r"[0-9]+(?:\.[0-9]+)?"
_MEMORY = re.compile(rf"{_SIZE}\+?|{_SIZE}\s*\.\.|(?:{_SIZE}|{_BARE})?\s*\.\.\s*{_SIZE}")
_COUNT_RANGE = re.compile(r"([0-9]*)\s*(?:\.\.\s*[0-9]*|\+)")
_FRACTION = re.compile(r"[0-9]*\.[0-9]+")
_MEMORY_IN_NAME = re.compile(r"(.+?)[-_ ]([0-9]+gi?b)\b(.*)", re.IGNORECASE)
_KEYS = ("name", "memory", "count", "alternatives")


class GpuChoice(Documented):
    """Another model that will do as well."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = None
    memory: Range[int] | None = None

    def accepts(self, name: str, memory_bytes: int) -> bool:
        """Whether one card of that name (as the driver or `normalise_gpu_name` writes it) will do."""
        if self.name is not None and not gpu_name_matches(self.name, name):
            return False
        return self.memory is None or self.memory.accepts(memory_bytes, VRAM_TOLERANCE)

    def __str__(self) -> str:
        parts = [self.name or "", format_range(self.memory, format_bytes) if self.memory else ""]
        return ":".join(part for part in parts if part)


class GpuRequest(Documented):
    """Whole GPUs, all alike: `count` of them, of this name and memory (bytes each), or of an alternative."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str | None = None
    """The model, such as `rtx-4090`; any where it is null."""
    memory: Range[int] | None = None
    """Of each card, in bytes."""
    count: int = Field(default=1, ge=1, le=MAX_GPU_COUNT)
    """How many cards."""
    alternatives: tuple[GpuChoice, ...] = ()
    """Others that will do: the same number of them."""

    @property
    def choices(self) -> tuple[GpuChoice, ...]:
        return (GpuChoice(name=self.name, memory=self.memory), *self.alternatives)

    def accepts(self, name: str, memory_bytes: int) -> bool:
        """Whether one card of that name (as the driver or `normalise_gpu_name` writes it) will do."""
        return any(choice.accepts(name, memory_bytes) for choice in self.choices)

    def only(self, name: str | None) -> "GpuRequest":
        """The same of this model alone, or of any."""
        return self.model_copy(update={"name": name, "alternatives": ()})

    def to_wire(self) -> dict[str, object]:
        wire: dict[str, object] = {"count": self.count, **_choice_wire(self.choices[0])}
        if self.alternatives:
            wire["alternatives"] = [_choice_wire(choice) for choice in self.alternatives]
        return wire

    def __str__(self) -> str:
        names = [text for choice in self.choices if (text := str(choice))]
        return ":".join([*([" or ".join(names)] if names else []), str(self.count)])


def _choice_wire(choice: GpuChoice) -> dict[str, object]:
    wire: dict[str, object] = {}
    if choice.name is not None:
        wire["name"] = choice.name
    if choice.memory is not None:
        wire["memory"] = format_range(choice.memory, format_bytes)
    return wire


def parse_gpu(value: object) -> GpuRequest | None:
    """A request from `name:memory:count` (each part optional), a number, a mapping, or several of them in a list or as
    `{A100: 1, L4: 1}`, any of which will do; None for 0 and null."""
    if value is None or (isinstance(value, int) and value == 0 and value is not False):
        return None
    if isinstance(value, Mapping):
        return _from_mapping(value)
    if isinstance(value, list):
        return _any_of(value, [parse_gpu(item) for item in value])
    if isinstance(value, str):
        return _from_text(value)
    if isinstance(value, int) and 100 <= value <= 9999:
        return _from_text(str(value))
    return _build({"count": value})


def _any_of(value: object, requests: list[GpuRequest | None]) -> GpuRequest | None:
    found = [request for request in requests if request is not None]
    if not found or len(found) != len(requests):
        if not found and requests:
            return None
        raise BadValueError(f"{short_repr(value)} names a GPU or none", f"write it like {GPU_EXAMPLES}")
    if len({request.count for request in found}) > 1:
        hint = "give each the same number, or name only one"
        raise BadValueError(f"{short_repr(value)} asks for different numbers of GPUs", hint)
    choices = list(dict.fromkeys(choice for request in found for choice in request.choices))
    if len(choices) > MAX_ALTERNATIVES:
        raise BadValueError(
            f"{len(choices)} GPUs to choose from; at most {MAX_ALTERNATIVES}", "name the memory instead"
        )
    return GpuRequest(
        name=choices[0].name, memory=choices[0].memory, count=found[0].count, alternatives=tuple(choices[1:])
    )


def _from_text(text: str) -> GpuRequest | None:
    parts = [part.strip() for part in text.split(":")]
    if text.strip() == "0":
        return None
    if len(parts) > 1 and parts[0].lower() in VENDORS and not _is_count_or_memory(parts[1]):
        parts = parts[1:]  # dstack's vendor before a name that tells it anyway
    if not all(parts) or len(parts) > 3 or len(text) > 200:
        raise BadValueError(f"{short_repr(text)} is not a GPU request", f"write it like {GPU_EXAMPLES}")
    fields: dict[str, object] = {}
    for position, part in enumerate(parts):
        kind = _kind_of(part, first=position == 0)
        if kind in fields or (kind == "name" and position):
            raise BadValueError(
                f"{short_repr(text)} has two parts that could be its {kind}"
                if kind in fields
                else f"{short_repr(text)} has its name after its {next(iter(fields))}",
                f"write name:memory:count, like {GPU_EXAMPLES}",
            )
        fields[kind] = part
    names = str(fields.get("name", "")).split(",")
    return (
        _any_of(text, [_build({**fields, "name": name.strip()}) for name in names])
        if len(names) > 1
        else _build(fields)
    )


def _is_count_or_memory(part: str) -> bool:
    return _kind_of(part, first=False) != "name"


def _kind_of(part: str, *, first: bool) -> str:
    lower = part.lower()
    if _COUNT.fullmatch(part):
        # No machine has a hundred GPUs, and no model has a number of two digits: "4090" is a name, "8" a count.
        return "name" if first and int(part) >= 100 else "count"
    if _COUNT_RANGE.fullmatch(part) or _FRACTION.fullmatch(part):
        return "count"
    return "memory" if _MEMORY.fullmatch(lower) else "name"


def _from_mapping(value: Mapping[object, object]) -> GpuRequest | None:
    keys = [key for key in value if isinstance(key, str)]
    if len(keys) == len(value) and not set(keys) & set(_KEYS) and keys:
        counts = [value[key] for key in keys]
        if all(count is None or (isinstance(count, int | float) and not isinstance(count, bool)) for count in counts):
            texts = [key if count is None else f"{key}:{count:g}" for key, count in zip(keys, counts, strict=True)]
            return _any_of(value, [_from_text(text) for text in texts])
    unknown = [key for key in value if key not in _KEYS]
    if unknown or not value:
        meant = nearest(str(unknown[0]), _KEYS) if unknown and isinstance(unknown[0], str) else None
        problem = f"{short_repr(unknown[0])} is not known here" if unknown else "the mapping is empty"
        suggestion = f"did you mean {meant!r}? " if meant else ""
        raise BadValueError(problem, f"{suggestion}the keys are name, memory and count")
    fields = {key: value[key] for key in _KEYS[:3] if value.get(key) is not None}
    names, others = fields.get("name"), value.get("alternatives")
    if not isinstance(names, list):
        names = [names]
    if others is not None and not (isinstance(others, list) and all(isinstance(other, Mapping) for other in others)):
        raise BadValueError(f"{short_repr(others)} is no list of {{name, memory}}", "write [{name: L4}]")
    requests = [_build({**fields, "name": name} if name is not None else fields) for name in names or [None]]
    requests += [_build({**other, "count": fields.get("count", 1)}) for other in others or ()]
    return _any_of(value, requests) if len(requests) > 1 else requests[0]


def _build(fields: Mapping[str, object]) -> GpuRequest | None:
    count = _count(fields.get("count", 1))
    name, memory = fields.get("name"), fields.get("memory")
    if isinstance(name, int) and not isinstance(name, bool):
        name = str(name)
    if name is not None and not isinstance(name, str):
        raise BadValueError(f"{short_repr(name)} is not the name of a GPU", "name one model, such as rtx-4090")
    if name is not None:
        name, memory_in_name = _name(name)
        memory = memory if memory is not None else memory_in_name
    if count == 0:
        return None
    return GpuRequest(name=name, memory=None if memory is None else _memory(memory), count=count)


def _name(text: str) -> tuple[str, str | None]:
    """The normalised name, and the memory that SkyPilot writes into it ("A100-80GB")."""
    match = _MEMORY_IN_NAME.fullmatch(text)
    memory = match[2] if match else None
    words = model_words(text)
    if not words and text.strip().lower() in VENDORS:
        return text.strip().lower(), None
    if not words:
        raise BadValueError(
            f"{short_repr(text)} names no model", "name one, such as rtx-4090, or only its memory, such as 24GB.."
        )
    name = "-".join(words)
    if len(name) > MAX_GPU_NAME_CHARS:
        raise BadValueError(f"{short_repr(text)} is longer than {MAX_GPU_NAME_CHARS} characters", "name one GPU model")
    return name, memory


def _memory(value: object) -> Range[int]:
    memory = parse_size_range(value)
    if not memory.minimum and memory.maximum is None:
        raise BadValueError(f"{short_repr(value)} asks for no memory", "leave it out, or write it like 24GB..")
    return memory


def _count(value: object) -> int:
    number: object = value
    if isinstance(value, str) and (match := _COUNT_RANGE.fullmatch(value.strip())) and value.strip() != "..":
        # Of a range a job gets the lower end, as of all others. `..2` is at least one.
        number = int(match[1] or 1)
    elif isinstance(value, str) and _COUNT.fullmatch(value.strip()):
        number = int(value)
    if isinstance(number, float) and number.is_integer():
        number = int(number)
    if isinstance(number, bool) or not isinstance(number, int):
        raise BadValueError(f"{short_repr(value)} is not a number of GPUs", "GPUs are given whole; write 1, 2, 8 …")
    if not 0 <= number <= MAX_GPU_COUNT:
        closest = 1 if number < 0 else MAX_GPU_COUNT
        hint = f"the nearest valid count is {closest}"
        if 0 < number <= 1000:
            hint += f"; if memory was meant, write {number}GB"
        raise BadValueError(f"{short_repr(value)} is not a number of GPUs from 0 to {MAX_GPU_COUNT}", hint)
    return number
