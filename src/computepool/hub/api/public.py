"""What everybody may know of a pool: its version, its keys, and how large and busy it is, without names or owners."""

from fastapi import APIRouter

from computepool import __version__
from computepool.hub.core.http import Routes
from computepool.hub.engine import Engine
from computepool.hub.market.requirements import MILLI
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.events import PublicStats
from computepool.protocol.hub_keys import HubKey
from computepool.protocol.model import Wire


class VersionView(Wire):
    version: str
    agent_minimum: str
    """Older agents get no strangers' work."""
    api: str
    money: bool
    """Whether work on other people's nodes is paid for here."""
    fingerprint: str | None = None
    """Of the public key in the certificate that the hub signed itself: `join` and `login` need it in the address."""


class KeysView(Wire):
    hub_id: str
    items: tuple[HubKey, ...]


def router(engine: Engine, fingerprint: str | None = None) -> APIRouter:
    """`fingerprint`: of the certificate that the hub is served with, where clients have to pin that."""
    routes = Routes(engine.directory.authenticate, tags=["public"])

    @routes.get("/version", visible="public", shared_seconds=60)
    async def version() -> VersionView:
        """The hub's version, and the oldest agent that it takes."""
        settings = engine.context.settings
        money = settings.money == "on"
        return VersionView(
            version=__version__,
            api="v1",
            agent_minimum=settings.agent_minimum,
            money=money,
            fingerprint=fingerprint,
        )

    @routes.get("/keys", visible="public", shared_seconds=60)
    async def keys() -> KeysView:
        """The hub's public keys: what manifests are signed with."""
        return KeysView(hub_id=engine.context.hub_id, items=engine.keyring.public)

    @routes.get("/stats", visible="public", shared_seconds=1)
    async def stats() -> PublicStats:
        """How large the pool is and how busy, without anybody's names."""
        return read_stats(engine.scheduler, engine.context.clock.monotonic() - engine.started_at)

    return routes.router


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
