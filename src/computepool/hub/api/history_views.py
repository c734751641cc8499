"""Series as the API shows them: columns of numbers at a fixed step, with null where there is no sample."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Annotated, Literal

from fastapi import Query
from pydantic import BaseModel, Field

from computepool.hub.core.errors import Invalid
from computepool.hub.core.texts import GivenInstant
from computepool.hub.history.metrics import Metric
from computepool.hub.history.series import Series

POINTS_LIMIT = 2_000
"""Of one column. A finer step than that becomes a wider one."""
POINTS_BY_DEFAULT = 300
LONGEST_STEP_SECONDS = 366 * 24 * 3600
SINCE_HELP = "From this instant on, in ISO 8601."
UNTIL_HELP = "Up to this instant, in ISO 8601. Default: now."
STEP_HELP = "Seconds of one point. The answer may have a wider step; `step_seconds` tells."

Since = Annotated[GivenInstant | None, Query(description=SINCE_HELP)]
Until = Annotated[GivenInstant | None, Query(description=UNTIL_HELP)]
Step = Annotated[int | None, Query(ge=1, le=LONGEST_STEP_SECONDS, description=STEP_HELP)]


class SeriesColumn(BaseModel):
    """One metric: for each point the least, the mean and the greatest of its samples."""

    name: str = Field(description="The metric, such as `cpu` or `gpu0.utilisation`.")
    unit: str = Field(description="Of its numbers: share (0 to 1), bytes, bytes per second, cores, watts, seconds …")
    minimum: list[float | None] = Field(description="The least sample of each point; null where there is none.")
    average: list[float | None] = Field(description="The mean of the samples of each point; null where there is none.")
    maximum: list[float | None] = Field(description="The greatest sample of each point; null where there is none.")


class SeriesView(BaseModel):
    """Point `i` covers `step_seconds` from `start_at + i * step_seconds` on. All columns have `points` numbers."""

    start_at: datetime = Field(description="When the first point begins.")
    step_seconds: int = Field(description="How long each point is: what was asked for, or more.")
    points: int = Field(description="How many numbers each column has.")
    columns: list[SeriesColumn] = Field(description="The metrics that have at least one sample in this time.")


class NodeTelemetry(SeriesView):
    node_id: str = Field(description="Whose telemetry it is.")
    gpus: list[str] = Field(description="The ids of `gpu0`, `gpu1` and so on, as the node has them now.")


class AttemptUsageView(SeriesView):
    job_id: str = Field(description="The job.")
    slice: int = Field(description="The slice, counted from 0.")
    attempt: int | None = Field(description="The number of the attempt, from 1; null while the slice has none.")
    attempt_id: str | None = Field(description="The id of the attempt; null while the slice has none.")


class PoolSeries(SeriesView):
    """Figures of the pool, one sample a minute; waiting and start latency have one sample for each slice."""


class PriceSeries(BaseModel):
    """The suggested price of one kind of card, or of a core, in one region."""

    tier: str = Field(description="`cpu`, or the multiplier of a kind of card.")
    region: str = Field(description="The region.")
    per: Literal["gpu", "core"] = Field(description="An hour of what: `gpu` or `core`.")
    minimum_micros: list[int | None] = Field(description="The least price of each point; null where there is none.")
    average_micros: list[int | None] = Field(description="The mean price of each point; null where there is none.")
    maximum_micros: list[int | None] = Field(description="The greatest price of each point; null where there is none.")
    utilisation: list[float | None] = Field(description="The share in use, on average; null where it is not known.")


class PriceHistory(BaseModel):
    """Prices as they were suggested, fee included, from the pool's tables of that time."""

    start_at: datetime = Field(description="When the first point begins.")
    step_seconds: int = Field(description="How long each point is: what was asked for, or more.")
    points: int = Field(description="How many numbers each series has.")
    items: list[PriceSeries] = Field(description="One for each tier and region that has a price in this time.")
    is_cut: bool = Field(description="The oldest points are left out: ask for one tier or region, or a shorter time.")


class TimeSpan(BaseModel):
    """The time that was asked for."""

    since: datetime
    until: datetime
    step: int

    @property
    def seconds(self) -> float:
        return (self.until - self.since).total_seconds()


def read_span(
    since: datetime | None, until: datetime | None, step: int | None, now: datetime, usual: timedelta
) -> TimeSpan:
    """With defaults for what was left out: the time `usual` until now, and a few hundred points."""
    last = in_utc(until) if until is not None else now
    first = in_utc(since) if since is not None else last - usual
    if first >= last:
        raise Invalid("`since` is not before `until`.", hint="Such as ?since=2026-01-01T00:00:00Z")
    seconds = (last - first).total_seconds()
    least = max(1, -int(-seconds // POINTS_LIMIT))
    wanted = step if step is not None else max(1, -int(-seconds // POINTS_BY_DEFAULT))
    return TimeSpan(since=first, until=last, step=max(wanted, least))


def in_utc(at: datetime) -> datetime:
    """An instant without a zone is taken as UTC."""
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def places_of(series: Series, span: TimeSpan) -> range:
    """The numbers of the buckets that cover the time."""
    step = series.step
    return range(int(span.since.timestamp() // step), -int(-span.until.timestamp() // step))


def columns_of(series: Series, places: range, metrics: Mapping[int, Metric]) -> list[SeriesColumn]:
    found = {code for bucket in series.buckets.values() for code in bucket}
    return [_column(series, places, metric) for code, metric in metrics.items() if code in found]


def _column(series: Series, places: range, metric: Metric) -> SeriesColumn:
    cells = [series.buckets.get(place, {}).get(metric.code) for place in places]
    return SeriesColumn(
        name=metric.name,
        unit=metric.unit,
        minimum=[None if cell is None else metric.shown(cell.least) for cell in cells],
        average=[None if cell is None else metric.shown(cell.total / cell.samples) for cell in cells],
        maximum=[None if cell is None else metric.shown(cell.most) for cell in cells],
    )


def start_of(series: Series, places: range) -> datetime:
    return datetime.fromtimestamp(places.start * series.step, UTC)
