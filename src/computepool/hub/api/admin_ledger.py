"""The state of the ledger, for operators. `GET admin/ledger/check`, which checks it now, is with the wallet."""

from fastapi import APIRouter

from computepool.hub.core.money import money_routes
from computepool.hub.engine import Engine
from computepool.hub.ledger.freezing import frozen_since
from computepool.hub.wallet.views import LedgerReport, LedgerState


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = money_routes(engine.directory.authenticate, context.settings, tags=["admin"])

    @routes.get("/admin/ledger", visible="admin")
    async def show_ledger() -> LedgerState:
        """What the last check of the ledger found. It runs every hour; nothing is checked now."""
        return LedgerState(last=engine.ledger.last, frozen_since=await context.db.read(frozen_since))

    @routes.post("/admin/ledger/check", name="check_ledger", visible="admin")
    async def check() -> LedgerReport:
        """Sum up everything again, now. If it does not add up, nobody is paid out until it does."""
        return await engine.ledger.check()

    return routes.router
