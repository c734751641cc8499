"""The market's tables and prices as the API shows them."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import ConfigDict, Field, StrictBool

from computepool.hub.market.book import Book, MarketPosition
from computepool.hub.market.earnings import Earnings
from computepool.hub.market.pricing import Ask
from computepool.hub.market.rates import MILLI, Factors, Per, core_rate, gpu_rate
from computepool.hub.market.regions import ELSEWHERE, read_millis, spell_millis
from computepool.hub.market.settings import KINDS, Rates, Regions, Tiers
from computepool.hub.market.spot import CPU, Segment, Use
from computepool.hub.market.tables import MarketSetting, SpotPoint
from computepool.protocol.model import Documented, ShownAs


class PriceRow(Documented):
    tier: str
    """`cpu`, or the multiplier of a kind of card."""
    cards: list[str]
    """Those that the table puts there."""
    region: str
    per: Per
    """gpu or core: an hour of what."""
    suggested_micros: int
    spot: float
    utilisation: float | None
    """In use now; None where there is nothing of the kind."""
    units: float
    """GPUs, or cores, that are there now."""
    simulated: bool


class SpotView(Documented):
    at: datetime
    tier: str
    region: str
    spot: float
    utilisation: float | None
    units: float
    simulated: bool


class EarningsList(Documented):
    items: list[Earnings]


class Prices(Documented):
    base_micros: int
    fee_bps: int
    spot_least: float
    spot_most: float
    preemptible_percent: int
    """Of a price, what a slice pays that may lose its slot."""
    regions: dict[str, float]
    """The factor of each, and of everything elsewhere."""
    items: list[PriceRow]
    history: list[SpotView]
    """Where it was asked for: the oldest first."""
    history_cut: bool = False
    """There is more of it: only the newest are shown. One tier or one region alone, or a shorter time, has less."""


TableName = Literal["tiers", "regions", "rates"]
TableValue = Tiers | Regions | Rates


class TableVersion(Documented):
    version: int
    changed_by: str
    changed_by_email: str | None
    """Null where it was not a person."""
    changed_at: datetime
    value: TableValue


class TableView(Documented):
    name: TableName
    version: int
    """0 before the first change."""
    value: TableValue
    history: list[TableVersion]
    """The newest first; each is what it was changed to."""
    notices: list[str]


class TableChange(Documented):
    model_config = ConfigDict(extra="forbid")

    value: (
        Annotated[dict[str, Any], ShownAs(Tiers)]
        | Annotated[dict[str, Any], ShownAs(Regions)]
        | Annotated[dict[str, Any], ShownAs(Rates)]
    )
    version: int | None = Field(default=None, ge=0)
    """The one that was looked at: a change by somebody else meanwhile is then an error, not lost."""


class RegionsFile(Documented):
    model_config = ConfigDict(extra="forbid")

    csv: str = Field(max_length=100_000)
    """Lines of `country,factor` or `country,factor,region`."""
    replace: StrictBool = False
    """Forget the regions that there are; else what the file does not name stays."""


class AskView(Documented):
    """What is asked for an hour now, fee included: the price of the next lease."""

    gpu_micros: int | None
    """None for a node without GPUs."""
    core_micros: int
    """Where no GPU is asked for."""
    suggested_gpu_micros: int | None
    suggested_core_micros: int
    tier: float | None
    region: str
    spot: float


def prices_of(book: Book, fee_bps: int) -> Prices:
    """Every tier of the table and every other that is there, in every region that has something of it, or is named."""
    tables = book.tables
    regions = {region.name: region.factor_millis for region in tables.regions.items}
    regions[ELSEWHERE] = tables.region_of(None)[1]
    tiers = {spell_millis(millis) for millis in tables.tiers.cards.values()} | {CPU}
    segments = {Segment(tier, region) for tier in tiers for region in regions}
    segments |= {one for one, use in book.used.items() if use.total and one.region in regions}
    rows = [_row(book, segment, regions[segment.region]) for segment in segments]
    rows.sort(key=lambda row: (row.simulated, row.per, -row.suggested_micros, row.tier, row.region))
    return Prices(
        base_micros=tables.rates.base_micros,
        fee_bps=fee_bps,
        spot_least=tables.rates.spot_least_millis / MILLI,
        spot_most=tables.rates.spot_most_millis / MILLI,
        preemptible_percent=tables.rates.preemptible_percent,
        regions={name: millis / MILLI for name, millis in regions.items()},
        items=rows,
        history=[],
    )


def _row(book: Book, segment: Segment, region_millis: int) -> PriceRow:
    tables, use = book.tables, book.used.get(segment, Use())
    of_cpu = segment.tier == CPU
    millis = tables.tiers.cpu_millis if of_cpu else read_millis(segment.tier)
    factors: Factors = book.factors(segment, millis, region_millis)
    return PriceRow(
        tier=segment.tier,
        cards=[] if of_cpu else [name for name, worth in tables.tiers.cards.items() if worth == millis],
        region=segment.region,
        per="core" if of_cpu else "gpu",
        suggested_micros=core_rate(factors) if of_cpu else gpu_rate(factors),
        spot=factors.spot_millis / MILLI,
        utilisation=_share(use.busy, use.total),
        units=use.total / MILLI if of_cpu else use.total,
        simulated=segment.simulated,
    )


def ask_view(ask: Ask, place: MarketPosition | None) -> AskView | None:
    """For a node's owner."""
    basis = ask.basis
    if basis is None or place is None:
        return None
    gpu = basis.gpu
    return AskView(
        gpu_micros=ask.gpu_micros if gpu is not None else None,
        core_micros=ask.core_micros,
        suggested_gpu_micros=gpu_rate(gpu) if gpu is not None else None,
        suggested_core_micros=core_rate(basis.core),
        tier=gpu.tier_millis / MILLI if gpu is not None else None,
        region=basis.region,
        spot=(gpu or basis.core).spot_millis / MILLI,
    )


def spot_view(point: SpotPoint) -> SpotView:
    return SpotView(
        at=point.at,
        tier=point.tier,
        region=point.region,
        spot=point.spot_millis / MILLI,
        utilisation=_share(point.busy, point.total),
        units=point.total / MILLI if point.tier == CPU else point.total,
        simulated=point.simulated,
    )


def version_of(row: MarketSetting, emails: Mapping[str, str]) -> TableVersion:
    return TableVersion(
        version=row.id,
        changed_by=row.changed_by,
        changed_by_email=emails.get(row.changed_by),
        changed_at=row.changed_at,
        value=read_stored(row.name, row.value),
    )


def read_stored(name: str, value: Mapping[str, Any]) -> TableValue:
    """With the defaults of what it does not say: it may be from before there was a field."""
    table = KINDS[name].model_validate(value)
    assert isinstance(table, Tiers | Regions | Rates)
    return table


def _share(busy: int, total: int) -> float | None:
    return round(busy / total, 4) if total else None
