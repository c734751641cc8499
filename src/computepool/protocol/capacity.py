"""What a node has and what a slice needs: the two sides that matching compares."""

from computepool.protocol.model import Wire
from computepool.protocol.states import IsolationLevel


class Gpu(Wire):
    id: str
    name: str
    """As the driver reports it; `slug` is the form that requests are compared with."""
    slug: str
    memory_bytes: int


class Capacity(Wire):
    """What the node offers to the pool, as its agent measured it."""

    cpus: float
    memory_bytes: int
    disk_bytes: int
    gpus: tuple[Gpu, ...] = ()
    isolation: tuple[IsolationLevel, ...] = (IsolationLevel.PROCESS,)
    """The levels that its self-test proved."""
    soft_limits: bool = False
    """Memory is kept by a watchdog, not by the kernel."""
    platform: str = ""
    simulated: bool = False
