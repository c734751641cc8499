"""Prices and earnings for everybody, and the tables behind them for operators. Quotes and offers are in `offers.py`."""

from collections.abc import Mapping
from datetime import timedelta
from typing import Annotated

from fastapi import APIRouter, Query

from computepool.hub.accounts.repository import emails_of
from computepool.hub.api.history_views import (
    PriceHistory,
    PriceSeries,
    Since,
    Step,
    TimeSpan,
    Until,
    places_of,
    read_span,
    start_of,
)
from computepool.hub.api.market_views import (
    EarningsList,
    Prices,
    RegionsFile,
    TableChange,
    TableName,
    TableView,
    prices_of,
    read_stored,
    spot_view,
    version_of,
)
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Invalid
from computepool.hub.core.http import Caller, Routes
from computepool.hub.core.money import money_routes
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.history.series import Series
from computepool.hub.market import price_history, repository, service
from computepool.hub.market.book import Book
from computepool.hub.market.earnings import LEAST_POINTS, MILLION, TYPICAL_WATTS, Earnings, Running, UseBasis
from computepool.hub.market.rates import MILLI, gpu_rate
from computepool.hub.market.regions import merge, read_csv, spell_millis
from computepool.hub.market.repository import Past
from computepool.hub.market.settings import Regions, Table, tables_of
from computepool.hub.market.spot import Segment
from computepool.hub.market.tiers import is_listed
from computepool.protocol.countries import COUNTRIES, COUNTRY_SLIPS
from computepool.protocol.gpu_names import gpu_name_matches, model_words
from computepool.protocol.units import BadValueError, parse_credits, parse_duration

MEASURED_OVER = timedelta(days=7)
LONGEST_HISTORY = repository.POINTS_KEPT
DAY, MONTH = 1, 30


def router(engine: Engine) -> APIRouter:
    routes = money_routes(engine.directory.authenticate, engine.context.settings, tags=["market"])
    _add_public(routes, engine.context, engine.book)
    _add_history(routes, engine.context)
    _add_tables(routes, engine)
    return routes.router


def _add_public(routes: Routes, context: Context, book: Book) -> None:
    @routes.get("/market/prices", visible="public", shared_seconds=1)
    async def prices(
        history: Annotated[str | None, Query(max_length=20)] = None,
        tier: Annotated[str | None, Query(max_length=12)] = None,
        region: Annotated[str | None, Query(max_length=40)] = None,
        simulated: bool = False,
    ) -> Prices:
        """What the pool suggests now for each kind of card in each region; with `?history=24h` its past too."""
        found = prices_of(book, context.settings.platform_fee_bps)
        found.items = [
            row
            for row in found.items
            if row.simulated == simulated and tier in (None, row.tier) and region in (None, row.region)
        ]
        if history is not None:
            since = context.now() - _length(history)
            points = await context.db.read(repository.list_points, since, tier=tier, region=region, simulated=simulated)
            found.history = [spot_view(point) for point in points[-repository.POINTS_LIMIT :]]
            found.history_cut = len(points) > repository.POINTS_LIMIT
        return found

    @routes.get("/market/earnings", visible="public")
    async def earnings(
        gpu: Annotated[str | None, Query(max_length=100)] = None,
        country: Annotated[str | None, Query(max_length=40)] = None,
        power_watts: Annotated[int | None, Query(ge=0, le=100_000)] = None,
        tariff: Annotated[str | None, Query(max_length=30)] = None,
        utilisation: Annotated[float | None, Query(ge=0, le=1, allow_inf_nan=False)] = None,
    ) -> EarningsList:
        """What a card would earn here: one, or each of the table. `tariff` is in credits for a kilowatt-hour."""
        code = _country(country)
        tariff_micros = _tariff(tariff)
        names = [_card(gpu)] if gpu is not None else list(book.tables.tiers.cards)
        tier = spell_millis(book.tier(names[0]).millis) if gpu is not None else None
        since = context.now() - MEASURED_OVER
        past = await context.db.read(repository.sum_use, since, tier) if utilisation is None else {}
        items = []
        for name in names:
            measured = (utilisation, "assumed", 0) if utilisation is not None else _use(book, past, name, code)
            watts = power_watts if power_watts is not None else _watts(name)
            items.append(_earnings(book, name, code, context.settings.platform_fee_bps, watts, tariff_micros, measured))
        return EarningsList(items=items)


def _add_history(routes: Routes, context: Context) -> None:
    @routes.get("/market/prices/history", visible="public")
    async def prices_over_time(
        tier: Annotated[str | None, Query(max_length=12)] = None,
        region: Annotated[str | None, Query(max_length=40)] = None,
        simulated: bool = False,
        since: Since = None,
        until: Until = None,
        step: Step = None,
    ) -> PriceHistory:
        """What the pool suggested for each kind of card in each region: without `since`, of the last day."""
        span = read_span(since, until, step, context.now(), timedelta(days=1))
        step_seconds = price_history.step_for(span.since, context.now(), span.step)
        asked = price_history.AskedPrices(span.since, span.until, step_seconds, tier, region, simulated)
        found = await context.db.read(price_history.read_prices, asked)
        return _price_view(found, span, step_seconds)


def _add_tables(routes: Routes, engine: Engine) -> None:
    context, unbroken = engine.context, Unbroken()

    async def view(name: TableName) -> TableView:
        rows = await context.db.read(repository.list_history, name)
        emails = await context.db.read(emails_of, {row.changed_by for row in rows})
        return TableView(
            name=name,
            version=rows[0].id if rows else 0,
            value=read_stored(name, rows[0].value if rows else {}),
            history=[version_of(row, emails) for row in rows],
            notices=_notices(engine.market.unlisted) if name == "regions" else [],
        )

    async def change(name: str, table: Table, actor: str, expected: int | None) -> None:
        """In the database, and then in memory: both, even if the caller gives up in between."""
        await context.db.run(service.change_table, name, table, context.now(), actor=actor, expected=expected)
        rows = await context.db.read(repository.load_settings)
        engine.book.replace_tables(tables_of({key: row.value for key, row in rows.items()}))
        await engine.market.reprice()

    @routes.get("/admin/market/{name}", visible="admin")
    async def show_table(name: TableName) -> TableView:
        """The tiers, the regions, or the rates, with every version there was."""
        return await view(name)

    @routes.put("/admin/market/{name}", visible="admin", errors=[service.BadTable, service.TableMoved])
    async def change_table(name: TableName, body: TableChange, caller: Caller) -> TableView:
        """Replace one of them. It counts from the next lease on; what runs keeps its price."""
        table = service.read_table(name, body.value)
        await unbroken.run(change(name, table, caller.user_id, body.version))
        return await view(name)

    @routes.post("/admin/market/regions/import", visible="admin", errors=[service.BadTable, service.TableMoved])
    async def import_regions(body: RegionsFile, caller: Caller) -> TableView:
        """Read regions from CSV, such as an index of purchasing power that somebody published."""
        before = await view("regions")
        try:
            found = read_csv(body.csv)
            if not body.replace:
                assert isinstance(before.value, Regions)
                found = merge(before.value.items, found)
            table = Regions(items=found)
        except ValueError as error:
            raise service.BadTable(f"{error}.", hint="Expected lines such as `DE,0.95` or `DE,0.95,EU`.") from None
        await unbroken.run(change("regions", table, caller.user_id, before.version))
        return await view("regions")


def _price_view(found: price_history.FoundPrices, span: TimeSpan, step: int) -> PriceHistory:
    places = places_of(Series(step), span)
    items = []
    for (tier, region), series in sorted(found.series.items()):
        prices = [series.buckets.get(place, {}).get(price_history.PRICE) for place in places]
        uses = [series.buckets.get(place, {}).get(price_history.USE) for place in places]
        items.append(
            PriceSeries(
                tier=tier,
                region=region,
                per=price_history.per_of(tier),
                minimum_micros=[None if cell is None else cell.least for cell in prices],
                average_micros=[None if cell is None else cell.total // cell.samples for cell in prices],
                maximum_micros=[None if cell is None else cell.most for cell in prices],
                utilisation=[None if cell is None else round(cell.total / cell.samples / 10_000, 4) for cell in uses],
            )
        )
    return PriceHistory(
        start_at=start_of(Series(step), places), step_seconds=step, points=len(places), items=items, is_cut=found.is_cut
    )


def _notices(unlisted: Mapping[str, int]) -> list[str]:
    return [
        f"{number} {'node' if number == 1 else 'nodes'} in {code}, which is in no region: the factor 1.0 is used"
        for code, number in sorted(unlisted.items())
    ]


# ── what was asked ───────────────────────────────────────────────────────────────────────────────────────────────────


def _length(text: str) -> timedelta:
    try:
        length = timedelta(seconds=parse_duration(text))
    except BadValueError as error:
        raise Invalid(f"history: {error}.", hint="Such as ?history=24h") from None
    return min(length, LONGEST_HISTORY)


def _country(text: str | None) -> str | None:
    if text is None or not text.strip():
        return None
    code = text.strip().upper()
    if code not in COUNTRIES:
        meant = COUNTRY_SLIPS.get(code)
        raise Invalid(
            f"country: {text[:40]!r} is not a two-letter country code.",
            hint=f"Is {meant} meant?" if meant else "Such as IN or DE.",
        )
    return code


def _card(text: str) -> str:
    name = "-".join(model_words(text))
    if not name:
        raise Invalid(f"gpu: {text[:40]!r} names no card.", hint="Such as rtx-4090.")
    return name


def _tariff(text: str | None) -> int | None:
    if text is None:
        return None
    try:
        return parse_credits(text)
    except BadValueError as error:
        raise Invalid(f"tariff: {error}.", hint="Credits for a kilowatt-hour, such as 8.5.") from None


def _watts(name: str) -> int | None:
    if name in TYPICAL_WATTS:
        return TYPICAL_WATTS[name]
    return next((watts for card, watts in TYPICAL_WATTS.items() if gpu_name_matches(card, name)), None)


def _use(
    book: Book, past: Mapping[tuple[str, str], Past], name: str, country: str | None
) -> tuple[float | None, UseBasis, int]:
    """How much of the time such cards were in use: here, else anywhere in the pool, else nobody knows."""
    tier, (region, _) = spell_millis(book.tier(name).millis), book.tables.region_of(country)
    here = past.get((tier, region))
    if here is not None and here.points >= LEAST_POINTS:
        return round(here.busy / here.total, 4), "measured", here.points
    everywhere = [one for (of_tier, _), one in past.items() if of_tier == tier]
    points, total = sum(one.points for one in everywhere), sum(one.total for one in everywhere)
    if points >= LEAST_POINTS:
        return round(sum(one.busy for one in everywhere) / total, 4), "measured elsewhere", points
    return None, "no data", 0


def _earnings(
    book: Book,
    name: str,
    country: str | None,
    fee_bps: int,
    watts: int | None,
    tariff_micros: int | None,
    measured: tuple[float | None, UseBasis, int],
) -> Earnings:
    tier = book.tier(name).millis
    region, factor = book.tables.region_of(country)
    factors = book.factors(Segment(spell_millis(tier), region), tier, factor)
    running = Running(gpu_rate(factors), fee_bps, watts, tariff_micros)
    use, basis, points = measured
    millionths = None if use is None else round(use * MILLION)
    return Earnings(
        gpu=name,
        listed=is_listed(name, book.tables.tiers.cards),
        tier=tier / MILLI,
        country=country,
        region=region,
        region_factor=factor / MILLI,
        spot=factors.spot_millis / MILLI,
        price_micros=running.price_micros,
        fee_bps=fee_bps,
        utilisation=use,
        utilisation_basis=basis,
        utilisation_points=points,
        power_watts=watts,
        tariff_micros=tariff_micros,
        per_day=None if millionths is None else running.earned(millionths, DAY),
        per_month=None if millionths is None else running.earned(millionths, MONTH),
        full_day=running.earned(MILLION, DAY),
    )
