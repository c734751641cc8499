"""The pool in numbers, for everybody: no names, no owners."""

from pydantic import BaseModel

from computepool.hub.market.requirements import MILLI
from computepool.hub.scheduling.scheduler import Scheduler


class PublicStats(BaseModel):
    nodes_total: int
    nodes_online: int
    nodes_simulated: int
    cpus_total: float
    cpus_free: float
    memory_bytes_total: int
    gpus_total: int
    gpus_free: int
    slices_running: int
    slices_queued: int
    uptime_seconds: float


def read_stats(scheduler: Scheduler, uptime_seconds: float) -> PublicStats:
    online = [node for node in scheduler.fleet if node.takes_work]
    return PublicStats(
        nodes_total=len(scheduler.fleet),
        nodes_online=len(online),
        nodes_simulated=sum(1 for node in online if node.capacity.simulated),
        cpus_total=sum(node.traits.cpu_millis for node in online) / MILLI,
        cpus_free=sum(node.free.cpu_millis for node in online) / MILLI,
        memory_bytes_total=sum(node.traits.memory_bytes for node in online),
        gpus_total=sum(len(node.traits.gpus) for node in online),
        gpus_free=sum(len(node.free.gpus) for node in online),
        slices_running=sum(len(node.attempts) for node in scheduler.fleet),
        slices_queued=len(scheduler.queue),
        uptime_seconds=uptime_seconds,
    )
