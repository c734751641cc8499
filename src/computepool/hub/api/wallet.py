"""What one has, what came and went, and why. Nothing here moves a credit."""

from datetime import UTC, datetime
from typing import Annotated, Literal

from fastapi import APIRouter, Query, Response
from sqlalchemy.orm import Session

from computepool.hub.accounts.visibility import sees
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Invalid, NotFound
from computepool.hub.core.http import ActingFor, Caller, Principal, Routes, Scope
from computepool.hub.core.money import money_routes
from computepool.hub.core.texts import GivenDay, GivenInstant
from computepool.hub.engine import Engine
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.payments.safe_earnings import cashable
from computepool.hub.wallet.earnings import EarningsView, days_asked, list_earnings
from computepool.hub.wallet.entries import Filter, page_entries, show_wallet
from computepool.hub.wallet.explain_store import SLICES_LIMIT, explain_job
from computepool.hub.wallet.explain_views import Explained, View
from computepool.hub.wallet.periods import Period, parse_period
from computepool.hub.wallet.statement_pdf import LINES_LIMIT, Terms, statement_pdf
from computepool.hub.wallet.statement_periods import StatementMonths, StatementPeriods
from computepool.hub.wallet.statement_views import StatementView, statement_csv, statement_view
from computepool.hub.wallet.statements import Statement, make_statement
from computepool.hub.wallet.views import EntriesPage, LedgerReport, WalletView, with_balances
from computepool.protocol.spec import MAX_SLICES

PAGE_LIMIT = 500
WhoseWallet = Annotated[str | None, Query(max_length=40)]
"""A team's, or for an admin anybody's; else the caller's own."""


TEXT = {"type": "string"}
BINARY = {"type": "string", "format": "binary"}


class NoSuchWallet(NotFound):
    code = "no_such_wallet"

    def __init__(self) -> None:
        super().__init__("There is no such wallet that you can see.")


def router(engine: Engine) -> APIRouter:
    context = engine.context
    routes = money_routes(engine.directory.authenticate, context.settings, tags=["wallet"])
    _add_wallet(routes, context)
    _add_statements(routes, context)
    _add_explain(routes, context)
    _add_check(routes, engine)
    return routes.router


def _add_wallet(routes: Routes, context: Context) -> None:
    @routes.get("/wallet", visible="own", scope=Scope.WALLET_READ, errors=[NoSuchWallet])
    async def show(caller: Caller, owner: ActingFor, owner_id: WhoseWallet = None) -> WalletView:
        """What there is, by pocket."""
        return await context.db.read(_show_wallet, context, _whose(caller, owner_id, owner))

    @routes.get("/wallet/entries", visible="own", scope=Scope.WALLET_READ, errors=[NoSuchWallet])
    async def entries(
        caller: Caller,
        owner: ActingFor,
        kind: Annotated[list[str] | None, Query(max_length=20)] = None,
        job: Annotated[str | None, Query(max_length=40)] = None,
        node: Annotated[str | None, Query(max_length=40)] = None,
        since: GivenInstant | None = None,
        until: GivenInstant | None = None,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
        cursor: Annotated[str | None, Query(max_length=40)] = None,
        owner_id: WhoseWallet = None,
    ) -> EntriesPage:
        """Everything that came and went, the newest first. `until` itself is not included."""
        wanted = Filter(tuple(kind or ()), job, node, _instant(since), _instant(until))
        return await context.db.read(page_entries, _whose(caller, owner_id, owner), wanted, cursor, limit)

    @routes.get("/wallet/earnings", visible="own", scope=Scope.WALLET_READ, errors=[NoSuchWallet])
    async def earnings(
        caller: Caller,
        owner: ActingFor,
        since: GivenDay | None = None,
        until: GivenDay | None = None,
        node: Annotated[str | None, Query(max_length=40)] = None,
        owner_id: WhoseWallet = None,
    ) -> EarningsView:
        """What one's nodes earned, by node and day of UTC; the last thirty days, if not said otherwise."""
        first, last = days_asked(since, until, context.now())
        return await context.db.read(list_earnings, _whose(caller, owner_id, owner), first, last, node)


def _show_wallet(session: Session, context: Context, owner_id: str) -> WalletView:
    can = cashable(session, owner_id, context.now(), context.settings.hold_back)
    return with_balances(show_wallet(session, owner_id).model_copy(update={"cashable_micros": can.micros}))


def _add_statements(routes: Routes, context: Context) -> None:
    months = StatementMonths()

    @routes.get("/wallet/statements", visible="own", scope=Scope.WALLET_READ, errors=[NoSuchWallet])
    async def statement_periods(caller: Caller, owner: ActingFor, owner_id: WhoseWallet = None) -> StatementPeriods:
        """The months and years that have entries: each has a statement."""
        return await context.db.read(months.show, _whose(caller, owner_id, owner), context.now())

    @routes.get(
        "/wallet/statements/{period}",
        visible="own",
        scope=Scope.WALLET_READ,
        response_model=StatementView,
        responses={200: {"content": {"text/csv": {"schema": TEXT}, "application/pdf": {"schema": BINARY}}}},
        errors=[NoSuchWallet],
    )
    async def statement(
        period: str,
        caller: Caller,
        owner: ActingFor,
        format: Literal["json", "csv", "pdf"] = "json",
        owner_id: WhoseWallet = None,
    ) -> Response:
        """A month or a year, such as 2026-11 or 2026: the balance before, every entry, the balance after, and sums.

        One that is not over goes up to now; one that has not begun is refused.
        """
        asked, whose = parse_period(period), _whose(caller, owner_id, owner)
        asked.check_begun(context.now())
        body, kind = await context.db.read(_written, whose, asked, context.now(), format, _terms(context))
        if format == "json":
            return Response(body, media_type=kind)
        name = f"statement-{asked.name}.{format}"
        return Response(body, media_type=kind, headers={"Content-Disposition": f'attachment; filename="{name}"'})


def _add_explain(routes: Routes, context: Context) -> None:
    @routes.get("/jobs/{job_id}/explain", name="explain_job", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def explain(
        job_id: str,
        caller: Caller,
        view: View | None = None,
        from_slice: Annotated[int, Query(ge=0, le=MAX_SLICES)] = 0,
        slice_limit: Annotated[int, Query(ge=1, le=SLICES_LIMIT)] = SLICES_LIMIT,
    ) -> Explained:
        """Where every credit of a job went: for its renter, and for the hosts of its attempts in their own view."""
        return await context.db.read(explain_job, caller, job_id, view, from_slice, slice_limit)


def _add_check(routes: Routes, engine: Engine) -> None:
    @routes.get("/admin/ledger/check", name="check_ledger", visible="admin", scope=Scope.ADMIN_WRITE)
    async def check() -> LedgerReport:
        """Sum up everything again, now. If it does not add up, nobody is paid out until it does."""
        return await engine.ledger.check()


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _whose(caller: Principal, owner_id: str | None, acting_for: str) -> str:
    """`owner_id` is an older way to say `team`, and that of admins, who see everybody's."""
    if owner_id is None:
        return acting_for
    if not sees(caller, owner_id):
        raise NoSuchWallet
    return owner_id


def _instant(at: datetime | None) -> datetime | None:
    """Without a zone it is UTC, as everything here is."""
    if at is None:
        return None
    try:
        return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except OverflowError:
        raise Invalid("That instant is outside of the calendar.") from None


def _terms(context: Context) -> Terms:
    settings = context.settings
    issuer = settings.public_url or f"hub {context.hub_id}"
    return Terms(f"ComputePool, {issuer}", settings.currency, str(settings.credit_value))


def _written(
    session: Session, owner_id: str, period: Period, now: datetime, format: str, terms: Terms
) -> tuple[str | bytes, str]:
    """Its text and its type; off the event loop, like everything that is done with a session."""
    made: Statement = make_statement(session, owner_id, period, now)
    if format == "csv":
        return statement_csv(made), "text/csv"
    if format == "pdf":
        try:
            return statement_pdf(made, terms), "application/pdf"
        except ValueError:
            raise Invalid(
                f"There are more than {LINES_LIMIT} entries in {period.name}, too many for paper.",
                hint="Ask for the CSV, or for a month.",
            ) from None
    return statement_view(made).model_dump_json(), "application/json"
