"""`create_app(engine)`: the HTTP shell around the engine, and the list of all routes."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI

from computepool import __version__
from computepool.hub.api import (
    accounts,
    admin_audit,
    admin_ledger,
    admin_overview,
    admin_payments,
    admin_queue,
    admin_settings,
    admin_users,
    agents,
    artifacts,
    blobs,
    cash_outs,
    catalog,
    checks,
    config,
    disputes,
    document,
    events,
    glossary,
    health,
    history,
    job_files,
    job_list,
    job_logs,
    job_papers,
    job_stream,
    jobs,
    join_tokens,
    limits,
    mail,
    market,
    market_nodes,
    me,
    node_policy,
    nodes,
    notices,
    offers,
    payments,
    price_preview,
    public,
    reputation,
    shares,
    storage,
    submit,
    teams,
    vouchers,
    wallet,
    world,
)
from computepool.hub.core.http import add_routes
from computepool.hub.core.http_shell import content_policy, install_shell
from computepool.hub.core.openapi import DescribedApp
from computepool.hub.core.origins import CrossOrigin, public_origin
from computepool.hub.core.route_table import check_routes
from computepool.hub.engine import Engine
from computepool.hub.web import WebApp
from computepool.protocol.written_spec import written_spec_schemas


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
    # So is /openapi.json: it is large, and everybody shares one answer.
    app = DescribedApp(
        title="ComputePool",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,
        schemas=written_spec_schemas,
        fields=glossary.FIELDS,
        parameters=glossary.PARAMETERS,
    )
    settings, storage_origin = engine.context.settings, engine.store.origin
    own_origin = public_origin(settings)
    install_shell(app, https=(own_origin or "").startswith("https://"), storage_origin=storage_origin)
    app.add_middleware(CrossOrigin, public=own_origin, allowed=settings.allowed_origins)
    add_routes(
        app,
        accounts.router(engine),
        admin_users.router(engine),
        me.router(engine),
        teams.router(engine),
        join_tokens.router(engine, fingerprint),
        nodes.router(engine),
        node_policy.router(engine),
        price_preview.router(engine),
        reputation.router(engine),
        checks.router(engine),
        artifacts.router(engine),
        job_list.router(engine),
        job_papers.router(engine),
        shares.router(engine),
        jobs.router(engine),
        job_files.router(engine),
        submit.router(engine),
        job_logs.router(engine),
        job_stream.router(engine),
        events.router(engine),
        storage.router(engine),
        market.router(engine),
        market_nodes.router(engine),
        offers.router(engine),
        history.router(engine),
        limits.router(engine),
        payments.router(engine),
        admin_overview.router(engine),
        admin_queue.router(engine),
        admin_audit.router(engine),
        admin_ledger.router(engine),
        admin_payments.router(engine),
        admin_settings.router(engine),
        cash_outs.router(engine),
        vouchers.router(engine),
        disputes.router(engine),
        mail.router(engine),
        notices.router(engine),
        wallet.router(engine),
        agents.router(engine),
        public.router(engine, fingerprint),
        world.router(engine),
        config.router(engine),
        catalog.router(engine),
        document.router(engine, app.openapi),
        health.router(engine),
        blobs.router(engine),
    )
    check_routes(app)
    app.router.default = WebApp(app.router.not_found, lambda nonce: content_policy(storage_origin, nonce))
    return app
