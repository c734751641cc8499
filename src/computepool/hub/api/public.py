"""What everybody may know of a pool: its version, its keys, and how large and busy it is, without names or owners."""

from fastapi import APIRouter

from computepool import __version__
from computepool.hub.api.world import read_stats
from computepool.hub.core.http import Routes
from computepool.hub.engine import Engine
from computepool.protocol.hub_keys import HubKey
from computepool.protocol.model import Wire
from computepool.protocol.public_events import PublicStats


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
        """How large the pool is, how busy, and what it did, without anybody's names."""
        await engine.offers.offers()
        return read_stats(engine)

    return routes.router
