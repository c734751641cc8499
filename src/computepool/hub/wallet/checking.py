"""The ledger is summed up again on a schedule. If it does not add up, nobody is paid out until it does."""

import asyncio
from collections.abc import Sequence

import structlog
from sqlalchemy import text
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.ledger.accounts import Platform, platform
from computepool.hub.ledger.check import Invariant, Report, check
from computepool.hub.ledger.freezing import freeze, is_frozen, thaw
from computepool.hub.ledger.journal import balance
from computepool.hub.wallet.views import LedgerReport

CHECK_SECONDS = 3600.0
FIRST_SECONDS = 60.0
"""After the start, which has other things to do."""

log = structlog.get_logger()


class LedgerWatch:
    """Knows what the last check found."""

    def __init__(self, context: Context, invariants: Sequence[Invariant]) -> None:
        self._context = context
        self._invariants = invariants
        self.last: LedgerReport | None = None

    async def run(self) -> None:
        """For ever: soon after the start, then every hour."""
        wait = FIRST_SECONDS
        while True:
            await asyncio.sleep(wait)
            wait = CHECK_SECONDS
            try:
                await self.check()
            except Exception:
                log.exception("ledger.check_failed")

    async def check(self) -> LedgerReport:
        """Now, in one moment of the database. Freezes cash-outs, or lets them go on."""
        now = self._context.now()
        report, accounts = await self._context.db.read(self._look)
        was_frozen = await self._context.db.read(is_frozen)
        if not report.balanced and not was_frozen:
            await self._context.db.run(freeze, report.problems, now)
        elif report.balanced and was_frozen:
            await self._context.db.run(thaw, now)
        if not report.balanced:
            log.error("ledger.unbalanced", problems=report.problems[:10], count=len(report.problems))
        self.last = LedgerReport(
            balanced=report.balanced,
            entries=report.entries,
            postings=report.postings,
            accounts=report.accounts,
            moved_micros=report.moved_micros,
            problems=list(report.problems),
            checked_at=now,
            cash_outs_frozen=not report.balanced,
            platform=accounts,
        )
        return self.last

    def _look(self, session: Session) -> tuple[Report, dict[str, int]]:
        if session.get_bind().dialect.name == "postgresql":  # else each of its statements would see another moment
            session.execute(text("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ"))
        return check(session, self._invariants), {kind.value: balance(session, platform(kind)) for kind in Platform}
