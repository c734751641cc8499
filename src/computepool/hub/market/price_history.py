"""Suggested prices over time: from the spot points, and the pool's tables as they were at each point."""

from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.history.series import Series
from computepool.hub.market.rates import Factors, HostPrice, Per, core_rate, gpu_rate
from computepool.hub.market.regions import ELSEWHERE, ELSEWHERE_MILLIS, read_millis
from computepool.hub.market.repository import FINE_POINTS_KEPT, list_history
from computepool.hub.market.settings import KINDS, Tables, tables_of
from computepool.hub.market.spot import CPU
from computepool.hub.market.tables import MarketSetting, SpotPoint
from computepool.hub.nodes.prices import PriceView
from computepool.protocol.model import Documented

POINTS_LIMIT = 50_000
"""Of one answer, the newest."""
FINE_STEP, COARSE_STEP = 600, 3600
"""In seconds: how often a point is kept, and how often one that is older than two days."""
PRICE, USE = 1, 2
"""The codes of the two columns; use in ten-thousandths."""


@dataclass(frozen=True)
class AskedPrices:
    since: datetime
    until: datetime
    step: int
    tier: str | None
    region: str | None
    simulated: bool


@dataclass
class FoundPrices:
    series: dict[tuple[str, str], Series] = field(default_factory=dict)
    """By tier and region."""
    is_cut: bool = False


def step_for(since: datetime, now: datetime, step: int) -> int:
    """At least as wide as points are kept in this time."""
    finest = FINE_STEP if since >= now - FINE_POINTS_KEPT else COARSE_STEP
    return -(-step // finest) * finest


def per_of(tier: str) -> Per:
    return "core" if tier == CPU else "gpu"


def read_prices(session: Session, asked: AskedPrices) -> FoundPrices:
    columns = (SpotPoint.at, SpotPoint.tier, SpotPoint.region, SpotPoint.spot_millis, SpotPoint.busy, SpotPoint.total)
    query = select(*columns).where(SpotPoint.at >= asked.since, SpotPoint.at < asked.until)
    query = query.where(SpotPoint.simulated.is_(asked.simulated))
    if asked.tier is not None:
        query = query.where(SpotPoint.tier == asked.tier)
    if asked.region is not None:
        query = query.where(SpotPoint.region == asked.region)
    rows = session.execute(query.order_by(SpotPoint.at.desc()).limit(POINTS_LIMIT + 1)).all()
    tables, found = _Versions(session), FoundPrices(is_cut=len(rows) > POINTS_LIMIT)
    for at, tier, region, spot_millis, busy, total in rows[:POINTS_LIMIT]:
        price = price_of(tables.at(at), tier, region, spot_millis)
        if price is not None:
            values = {PRICE: price} | ({USE: min(busy * 10_000 // total, 10_000)} if total else {})
            found.series.setdefault((tier, region), Series(asked.step)).add(at.timestamp(), values)
    return found


class DayPrice(Documented):
    """Of one day, in millionths of a credit for an hour."""

    day: date
    """Of UTC."""
    minimum_micros: int
    """The least."""
    average_micros: int
    """The mean of what is stored."""
    maximum_micros: int
    """The most."""


def read_daily_prices(
    session: Session,
    asked: AskedPrices,
    changes: Sequence[tuple[datetime, PriceView | None, PriceView | None]],
    host: HostPrice | None,
) -> list[DayPrice]:
    """What a node of this tier and region asked. `changes` are its host's, the newest first; `host`: as it is now."""
    query = select(SpotPoint.at, SpotPoint.spot_millis).where(SpotPoint.at >= asked.since, SpotPoint.at < asked.until)
    query = query.where(SpotPoint.tier == asked.tier, SpotPoint.region == asked.region)
    rows = session.execute(
        query.where(SpotPoint.simulated.is_(asked.simulated)).order_by(SpotPoint.at.desc()).limit(POINTS_LIMIT)
    )
    tables, series = _Versions(session), Series(asked.step)
    assert asked.tier is not None
    assert asked.region is not None
    left = list(changes)
    for at, spot_millis in rows:  # back in time, as changes are
        while left and left[0][0] > at:
            host = _host_price(left.pop(0)[1])
        price = price_of(tables.at(at), asked.tier, asked.region, spot_millis)
        if price is not None:
            is_meant = host is not None and host.per == per_of(asked.tier)
            series.add(at.timestamp(), {PRICE: host.over(price) if host is not None and is_meant else price})
    return [
        DayPrice(
            day=datetime.fromtimestamp(place * asked.step, UTC).date(),
            minimum_micros=cell.least,
            average_micros=cell.total // cell.samples,
            maximum_micros=cell.most,
        )
        for place, cells in sorted(series.buckets.items())
        for cell in (cells[PRICE],)
    ]


def _host_price(view: PriceView | None) -> HostPrice | None:
    return HostPrice(view.per, view.floor_micros, view.fixed_micros) if view is not None else None


def price_of(tables: Tables, tier: str, region: str, spot_millis: int) -> int | None:
    """None for a region that the tables of that time did not have."""
    factors = {one.name: one.factor_millis for one in tables.regions.items} | {ELSEWHERE: ELSEWHERE_MILLIS}
    if region not in factors:
        return None
    is_cpu = tier == CPU
    tier_millis = tables.tiers.cpu_millis if is_cpu else read_millis(tier)
    made_of = Factors(tables.rates.base_micros, tier_millis, factors[region], spot_millis)
    return core_rate(made_of) if is_cpu else gpu_rate(made_of)


class _Versions:
    """The pool's tables at any instant. Before the first version that is kept they are as a new pool has them."""

    def __init__(self, session: Session) -> None:
        self._rows: dict[str, Sequence[MarketSetting]] = {name: list_history(session, name)[::-1] for name in KINDS}
        self._changed = [[row.changed_at for row in rows] for rows in self._rows.values()]
        self._made: dict[tuple[int, ...], Tables] = {}

    def at(self, at: datetime) -> Tables:
        numbers = tuple(bisect_right(changed, at) for changed in self._changed)
        if numbers not in self._made:
            chosen = {
                name: rows[number - 1].value
                for (name, rows), number in zip(self._rows.items(), numbers, strict=True)
                if number
            }
            self._made[numbers] = tables_of(chosen)
        return self._made[numbers]
