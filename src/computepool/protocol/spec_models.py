"""The parts of a job spec, in their canonical form."""

from enum import StrEnum

from pydantic import ConfigDict, Field

from computepool.protocol.gpus import GpuRequest
from computepool.protocol.model import Documented
from computepool.protocol.units import GIB, Range, format_bytes, format_cpus, format_range

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


class Resources(SpecPart):
    """What one slice needs. It is given the minimum of each range, which is also what it pays for; a maximum is the
    most that it has use for, and never passed."""

    cpus: Range[float] = Range[float](minimum=DEFAULT_CPUS)
    memory: Range[int] = Range[int](minimum=DEFAULT_MEMORY_BYTES)
    """Bytes."""
    disk: Range[int] = Range[int](minimum=DEFAULT_DISK_BYTES)
    """Bytes."""
    gpu: GpuRequest | None = None

    def to_wire(self) -> dict[str, object]:
        wire: dict[str, object] = {
            "cpus": format_range(self.cpus, format_cpus),
            "memory": format_range(self.memory, format_bytes),
            "disk": format_range(self.disk, format_bytes),
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
