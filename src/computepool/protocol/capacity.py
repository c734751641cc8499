"""What a node has and what a slice needs: the two sides that matching compares."""

from typing import Annotated

from pydantic import Field, field_validator

from computepool.protocol.model import Wire
from computepool.protocol.states import IsolationLevel

Bytes = Annotated[int, Field(ge=0, lt=2**60)]
MOST_CPUS = 65_536
MOST_GPUS = 256


class Gpu(Wire):
    id: str = Field(min_length=1, max_length=100)
    name: str = Field(max_length=200)
    """As the driver reports it; `slug` is the form that requests are compared with."""
    slug: str = Field(max_length=200)
    memory_bytes: Bytes


class Capacity(Wire):
    """What the node offers to the pool, as its agent measured it. Bounded: the hub calculates with what hosts say."""

    cpus: float = Field(ge=0, le=MOST_CPUS, allow_inf_nan=False)
    memory_bytes: Bytes
    disk_bytes: Bytes
    gpus: tuple[Gpu, ...] = Field(default=(), max_length=MOST_GPUS)
    isolation: tuple[IsolationLevel, ...] = (IsolationLevel.PROCESS,)
    """The levels that its self-test proved."""
    soft_limits: bool = False
    """Memory is kept by a watchdog, not by the kernel."""
    platform: str = Field(default="", max_length=200)
    simulated: bool = False

    @field_validator("gpus")
    @classmethod
    def _each_once(cls, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
        """GPUs are given out whole, by their ids: two of the same id would be given twice."""
        if len({gpu.id for gpu in gpus}) != len(gpus):
            raise ValueError("two GPUs have the same id")
        return gpus
