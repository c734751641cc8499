"""The parts of a job spec, in their canonical form."""

from collections.abc import Callable
from enum import StrEnum

from pydantic import ConfigDict, Field

from computepool.protocol.gpus import GpuRequest
from computepool.protocol.model import Documented
from computepool.protocol.units import GIB, Number, Range, format_bytes, format_cpus, format_range

DEFAULT_CPUS = 1.0
DEFAULT_MEMORY_BYTES = GIB
DEFAULT_DISK_BYTES = GIB
MIN_REPLICAS = 2
MAX_REPLICAS = 10


class Trust(StrEnum):
    """Whose nodes may run the job."""

    MINE = "mine"
    VERIFIED = "verified"
    ANY = "any"


class Optimize(StrEnum):
    COST = "cost"
    SPEED = "speed"
    BALANCED = "balanced"


class SpecPart(Documented):
    model_config = ConfigDict(frozen=True, extra="forbid", json_schema_serialization_defaults_required=False)


def _amount(asked: Range[Number], format_one: Callable[[Number], str]) -> str:
    """`8` is exactly so much, `8..` at least."""
    return format_one(asked.minimum) if asked.minimum == asked.maximum else format_range(asked, format_one)


class Resources(SpecPart):
    """What one slice needs. It is given the minimum of a range that has a maximum, which is the most that it has use
    for. Without one the minimum is the least: see `by_share`."""

    cpus: Range[float] = Range[float](minimum=DEFAULT_CPUS)
    memory: Range[int] = Range[int](minimum=DEFAULT_MEMORY_BYTES)
    """Bytes."""
    disk: Range[int] = Range[int](minimum=DEFAULT_DISK_BYTES)
    """Bytes."""
    gpu: GpuRequest | None = None

    @property
    def by_share(self) -> tuple[str, ...]:
        """Of cpus, memory and disk, those with no maximum. On its node a slice is given the share that it has of the
        node's GPUs, and of memory and disk, where it asks for none, the share that it has of the cores. Cores without
        a GPU are what it pays for: it is given no more of them."""
        has_none = {
            "cpus": self.gpu is not None and self.cpus.maximum is None,
            "memory": self.memory.maximum is None,
            "disk": self.disk.maximum is None,
        }
        return tuple(key for key, is_open in has_none.items() if is_open)

    def to_wire(self) -> dict[str, object]:
        wire: dict[str, object] = {
            "cpus": _amount(self.cpus, format_cpus),
            "memory": _amount(self.memory, format_bytes),
            "disk": _amount(self.disk, format_bytes),
        }
        if self.gpu is not None:
            wire["gpu"] = self.gpu.to_wire()
        return wire


class Where(SpecPart):
    """On which nodes. Countries and tags are sets, kept sorted: any of the countries, all of the tags."""

    country: tuple[str, ...] = ()
    trust: Trust = Trust.ANY
    tags: tuple[str, ...] = ()
    min_reliability: float | None = Field(default=None, ge=0, le=1)
    node: str | None = None


class Input(SpecPart):
    """A stored artifact, or an https URL with the digest of what it must give."""

    artifact_id: str | None = None
    url: str | None = None
    sha256: str | None = None
    """Of the URL's content, in hex. An artifact carries its own."""

    def to_wire(self) -> object:
        return self.artifact_id if self.artifact_id is not None else {"url": self.url, "sha256": self.sha256}


class Verify(SpecPart):
    replicas: int = Field(ge=MIN_REPLICAS, le=MAX_REPLICAS)
    """On how many nodes each slice is run."""


class Publish(SpecPart):
    model: str
    """As `owner/name`."""
    license: str | None = None
    """Such as `mit` or `apache-2.0`."""
