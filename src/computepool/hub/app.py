"""`create_app(hub)`: the HTTP shell around the engine, and the only place where routes are put together."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI, Request, Response

from computepool import __version__
from computepool.hub.accounts import api as accounts_api
from computepool.hub.accounts.passwords import Passwords
from computepool.hub.accounts.sign_in import SignIn
from computepool.hub.artifacts import api as artifacts_api
from computepool.hub.artifacts.blob_api import blob_router
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.core.errors import Unavailable
from computepool.hub.core.http import Routes, add_routes, check_routes
from computepool.hub.core.http_shell import install_shell
from computepool.hub.disputes import api as disputes_api
from computepool.hub.engine import Engine
from computepool.hub.gateway import api as gateway_api
from computepool.hub.jobs import api as jobs_api
from computepool.hub.jobs import storage_api
from computepool.hub.mail import api as mail_api
from computepool.hub.market import api as market_api
from computepool.hub.metrics import CONTENT_TYPE, check_reader, write_metrics
from computepool.hub.nodes import api as nodes_api
from computepool.hub.pages import pages_router
from computepool.hub.payments import admin_api as payments_admin_api
from computepool.hub.payments import api as payments_api
from computepool.hub.payments import cash_outs_api, vouchers_api
from computepool.hub.reputation import api as reputation_api
from computepool.hub.reputation.views import look_back
from computepool.hub.scheduling import api as scheduling_api
from computepool.hub.scheduling import limits_api
from computepool.hub.stats import PublicStats, read_stats
from computepool.hub.trust import api as trust_api
from computepool.hub.wallet import api as wallet_api
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


def create_app(engine: Engine, fingerprint: str | None = None) -> FastAPI:
    """`fingerprint`: of the certificate that it is served with, where clients have to pin that."""

    @asynccontextmanager
    async def lifespan(_app: FastAPI) -> AsyncIterator[None]:
        await engine.start()
        try:
            yield
        finally:
            await engine.stop()

    # The pages that FastAPI brings load their scripts from elsewhere, which our policy forbids: /docs is our own.
    app = FastAPI(title="ComputePool", version=__version__, lifespan=lifespan, docs_url=None, redoc_url=None)
    public_url = engine.context.settings.public_url or ""
    install_shell(app, https=public_url.startswith("https://"))
    context, directory = engine.context, engine.directory
    authenticate = directory.authenticate
    sign_in = SignIn(context, engine.token_signer, directory, Passwords(context.offload))
    add_routes(
        app,
        accounts_api.router(context, directory, sign_in),
        nodes_api.router(
            authenticate,
            context,
            engine.keyring,
            engine.look_live,
            engine.node_changed,
            look_back(context.settings.reliability_half_life),
        ),
        reputation_api.router(authenticate, context, engine.standing_changed),
        trust_api.router(authenticate, context, engine.checks_changed, engine.removal.artifacts.reruns),
        artifacts_api.router(engine.uploads, engine.store, authenticate),
        jobs_api.router(
            authenticate,
            directory.still_holds,
            context,
            engine.keyring,
            engine,
            engine.logs,
            engine.store,
            engine.uploads,
            engine.removal,
        ),
        storage_api.router(authenticate, context, engine.removal),
        market_api.router(
            authenticate, context, engine.book, engine.market.reprice, lambda: dict(engine.market.unlisted)
        ),
        scheduling_api.router(authenticate, context, engine.scheduler.fleet, engine.book),
        limits_api.router(authenticate, context, engine.scheduler),
        payments_api.router(authenticate, context, engine.payments),
        payments_admin_api.router(authenticate, context, engine.payments),
        cash_outs_api.router(authenticate, context, engine.payments),
        vouchers_api.router(authenticate, context),
        disputes_api.router(authenticate, context, engine.checks_changed),
        mail_api.router(authenticate, context, engine.mailer),
        wallet_api.router(authenticate, context, engine.ledger),
        gateway_api.router(authenticate, engine.gateway, engine.polls),
        _public_routes(engine, fingerprint).router,
        _health_routes(engine).router,
        pages_router(authenticate),
    )
    if isinstance(engine.store, LocalStore):
        add_routes(app, blob_router(engine.store, engine.blob_signer, context.offload, authenticate))
    check_routes(app)
    return app


def _public_routes(engine: Engine, fingerprint: str | None) -> Routes:
    routes = Routes(engine.directory.authenticate, tags=["public"])

    @routes.get("/version", visible="public")
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

    @routes.get("/keys", visible="public")
    async def keys() -> KeysView:
        """The hub's public keys: what manifests are signed with."""
        return KeysView(hub_id=engine.context.hub_id, items=engine.keyring.public)

    @routes.get("/stats", visible="public")
    async def stats() -> PublicStats:
        """How large the pool is and how busy, without anybody's names."""
        return read_stats(engine.scheduler, engine.context.clock.monotonic() - engine.started_at)

    return routes


def _health_routes(engine: Engine) -> Routes:
    routes = Routes(engine.directory.authenticate, prefix="", tags=["health"])

    @routes.get("/healthz", visible="public")
    async def healthz() -> dict[str, str]:
        """The process lives."""
        return {"status": "ok"}

    @routes.get("/readyz", visible="public")
    async def readyz() -> dict[str, Any]:
        """It can do its work: the database answers."""
        try:
            await engine.context.db.read(lambda session: session.connection().exec_driver_sql("SELECT 1"))
        except Exception as error:
            raise Unavailable("The database does not answer.") from error
        return {"status": "ready"}

    @routes.get("/metrics", visible="signed", response_class=Response)
    async def metrics(request: Request) -> Response:
        """Figures for Prometheus. Only for this machine itself, or with an admin's token."""
        check_reader(request, engine.directory.authenticate)
        return Response(write_metrics(engine), media_type=CONTENT_TYPE)

    return routes
