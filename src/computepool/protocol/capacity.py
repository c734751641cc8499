"""What a node has and what a slice needs: the two sides that matching compares."""

import re
from fnmatch import fnmatchcase
from typing import Annotated

from pydantic import Field, field_validator

from computepool.protocol.model import Wire
from computepool.protocol.states import IsolationLevel

Bytes = Annotated[int, Field(ge=0, lt=2**60)]
MOST_CPUS = 65_536
MOST_GPUS = 256
SIMULATED = "simulated"
"""The tag of nodes that only pretend. A job that asks for it runs on such nodes alone, and no other job ever does."""


class Gpu(Wire):
    id: str = Field(min_length=1, max_length=100)
    name: str = Field(max_length=200)
    """As the driver reports it; `slug` is the form that requests are compared with."""
    slug: str = Field(max_length=200)
    memory_bytes: Bytes
    vendor: str = Field(default="", max_length=40)
    """nvidia, amd, intel or apple."""
    driver: str = Field(default="", max_length=60)
    runtime: str = Field(default="", max_length=40)
    """The newest that its driver can run, such as `cuda 12.4` or `rocm 6.2`."""
    architecture: str = Field(default="", max_length=40)
    """Such as `8.9` (compute capability) or `gfx1100`."""
    integrated: bool = False
    """Shares the machine's memory: a laptop's second GPU, or an Apple one."""
    part_of: str = Field(default="", max_length=100)
    """The card that this is a part of, where one card is divided into several (MIG)."""


class Software(Wire):
    """An engine, a runtime or a driver toolkit that jobs depend on."""

    name: str = Field(max_length=60)
    version: str = Field(max_length=60)


class HouseRules(Wire):
    """Which work of strangers the host welcomes. The owner's own is always welcome."""

    strangers: bool = True
    renters: tuple[str, ...] = Field(default=(), max_length=1000)
    """Only these owners' jobs; empty for everybody's."""
    turned_away: tuple[str, ...] = Field(default=(), max_length=1000)
    internet: bool = True
    """Jobs with `network: true`."""
    images: tuple[str, ...] | None = Field(default=None, max_length=1000)
    """Patterns of welcome images, such as `pytorch/*`; None for any, empty for none."""
    gpu_only: bool = False
    longest_seconds: float | None = Field(default=None, ge=0)
    isolation: IsolationLevel | None = None
    """The least for strangers' work; None leaves it to the pool."""

    @property
    def is_open(self) -> bool:
        """Whether any stranger may be welcome."""
        return self.strangers and not self.renters

    def why_not(self, *, renter: str, internet: bool, gpu: bool, seconds: float, image: str | None) -> str | None:
        """Why such work of a stranger is not welcome, or None. The hub asks before it offers, the agent once more."""
        if not self.strangers or renter in self.turned_away:
            return "the host does not take this renter's work"
        if self.renters and renter not in self.renters:
            return "the host takes the work of certain renters only"
        if internet and not self.internet:
            return "the host gives jobs no internet"
        if self.gpu_only and not gpu:
            return "the host takes work for its GPUs only"
        if self.longest_seconds is not None and seconds > self.longest_seconds:
            return f"the host takes jobs of at most {self.longest_seconds:g} s"
        if image is not None and not image_is_welcome(image, self.images):
            return f"the host does not run the image {image}"
        return None


def image_is_welcome(image: str, patterns: tuple[str, ...] | None) -> bool:
    """`pytorch/*` means every image of theirs, whatever its tag; a pattern with a tag or a digest means just that."""
    if patterns is None:
        return True
    bare = re.sub(r"(?<=[^/]):[^/:@]*$", "", image.partition("@")[0])
    return any(fnmatchcase(image, pattern) or fnmatchcase(bare, pattern) for pattern in patterns)


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
    cpu_model: str = Field(default="", max_length=200)
    software: tuple[Software, ...] = Field(default=(), max_length=50)
    networked: tuple[IsolationLevel, ...] = ()
    """The levels at which `setup` reaches package indexes, and a job with `network: true` the internet."""
    rules: HouseRules = HouseRules()
    simulated: bool = False
    owner_keys: tuple[str, ...] | None = Field(default=None, max_length=1000)
    """The ids of the keys whose signature makes a job the owner's own here; None where the hub is believed."""
    links: bool = False
    """Whether its agent makes the `links` of a manifest. An older one ignores them."""

    @field_validator("gpus")
    @classmethod
    def _each_once(cls, gpus: tuple[Gpu, ...]) -> tuple[Gpu, ...]:
        """GPUs are given out whole, by their ids: two of the same id would be given twice."""
        if len({gpu.id for gpu in gpus}) != len(gpus):
            raise ValueError("two GPUs have the same id")
        return gpus
