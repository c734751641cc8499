from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from sqlalchemy import delete, func, insert, or_, select
from sqlalchemy.orm import Session

from computepool.hub.market.rates import HostPrice
from computepool.hub.market.settings import KINDS
from computepool.hub.market.spot import Segment, Spot, Use
from computepool.hub.market.tables import MarketSetting, SpotPoint
from computepool.hub.nodes.benchmarks import Benchmark
from computepool.hub.nodes.repository import FLEET_LIMIT
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import NodeState

FINE_POINTS_KEPT = timedelta(days=2)
POINTS_KEPT = timedelta(days=90)
RESTORED_FROM = timedelta(days=30)
"""An older factor says nothing about today."""
SEGMENTS_LIMIT = 10_000
POINTS_LIMIT = 5_000
HISTORY_LIMIT = 200


# ── the pool's tables ────────────────────────────────────────────────────────────────────────────────────────────────


def load_settings(session: Session) -> dict[str, MarketSetting]:
    """The newest of each that was ever edited."""
    newest = select(func.max(MarketSetting.id)).where(MarketSetting.name.in_(KINDS)).group_by(MarketSetting.name)
    rows = session.scalars(select(MarketSetting).where(MarketSetting.id.in_(newest)).limit(len(KINDS)))
    return {row.name: row for row in rows}


def find_setting(session: Session, name: str) -> MarketSetting | None:
    return session.scalar(
        select(MarketSetting).where(MarketSetting.name == name).order_by(MarketSetting.id.desc()).limit(1)
    )


def list_history(session: Session, name: str, limit: int = HISTORY_LIMIT) -> Sequence[MarketSetting]:
    """The newest first."""
    query = select(MarketSetting).where(MarketSetting.name == name).order_by(MarketSetting.id.desc()).limit(limit)
    return session.scalars(query).all()


# ── nodes, as far as their prices go ─────────────────────────────────────────────────────────────────────────────────


def list_host_prices(session: Session) -> dict[str, HostPrice]:
    """Of every node whose host set one."""
    columns = (Node.id, Node.price_per, Node.price_floor_micros, Node.price_fixed_micros)
    query = select(*columns).where(Node.price_per.is_not(None), Node.state != NodeState.BANNED).limit(FLEET_LIMIT)
    return {
        node_id: HostPrice("gpu" if per == "gpu" else "core", floor, fixed)
        for node_id, per, floor, fixed in session.execute(query)
    }


def host_price_of(node: Node) -> HostPrice | None:
    if node.price_per is None:
        return None
    return HostPrice("gpu" if node.price_per == "gpu" else "core", node.price_floor_micros, node.price_fixed_micros)


def list_measured(session: Session, node_ids: Sequence[str] | None = None) -> list[Benchmark]:
    """Of those nodes, or of all."""
    query = select(Benchmark).limit(FLEET_LIMIT)
    if node_ids is not None:
        query = query.where(Benchmark.node_id.in_(node_ids))
    return list(session.scalars(query))


# ── spot ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def load_spots(session: Session, now: datetime) -> dict[Segment, SpotPoint]:
    """The newest point of each segment."""
    newest = (
        select(func.max(SpotPoint.id))
        .where(SpotPoint.at >= now - RESTORED_FROM)
        .group_by(SpotPoint.tier, SpotPoint.region, SpotPoint.simulated)
    )
    rows = session.scalars(select(SpotPoint).where(SpotPoint.id.in_(newest)).limit(SEGMENTS_LIMIT))
    return {Segment(row.tier, row.region, row.simulated): row for row in rows}


def add_points(
    session: Session, spots: Mapping[Segment, Spot], used: Mapping[Segment, Use], now: datetime, *, hourly: bool
) -> None:
    rows: list[dict[str, Any]] = []
    for segment, spot in spots.items():
        use = used.get(segment, Use())
        rows.append(
            {
                "at": now,
                "tier": segment.tier,
                "region": segment.region,
                "simulated": segment.simulated,
                "spot_millis": spot.published_millis,
                "level_millis": round(spot.level * 1000),
                "use_millis": round(spot.use * 1000),
                "busy": use.busy,
                "total": use.total,
                "hourly": hourly,
            }
        )
    if rows:
        session.execute(insert(SpotPoint), rows)


def list_points(
    session: Session, since: datetime, *, tier: str | None = None, region: str | None = None, simulated: bool = False
) -> Sequence[SpotPoint]:
    """The newest of them, oldest first: one more than are shown, if there are more."""
    query = select(SpotPoint).where(SpotPoint.at >= since, SpotPoint.simulated.is_(simulated))
    if tier is not None:
        query = query.where(SpotPoint.tier == tier)
    if region is not None:
        query = query.where(SpotPoint.region == region)
    return session.scalars(query.order_by(SpotPoint.id.desc()).limit(POINTS_LIMIT + 1)).all()[::-1]


class Past(NamedTuple):
    points: int
    busy: int
    total: int


def sum_use(session: Session, since: datetime, tier: str | None = None) -> dict[tuple[str, str], Past]:
    """By tier and region, how much of the cards that were there was in use: of one tier, or of each."""
    columns = (SpotPoint.tier, SpotPoint.region, func.count(), func.sum(SpotPoint.busy), func.sum(SpotPoint.total))
    query = select(*columns).where(SpotPoint.at >= since, SpotPoint.simulated.is_(False), SpotPoint.total > 0)
    if tier is not None:
        query = query.where(SpotPoint.tier == tier)
    rows = session.execute(query.group_by(SpotPoint.tier, SpotPoint.region).limit(SEGMENTS_LIMIT))
    return {(tier, region): Past(points, int(busy), int(total)) for tier, region, points, busy, total in rows}


def prune_points(session: Session, now: datetime, limit: int) -> int:
    """Few points are kept of what is long ago, and none of what is longer ago; how many rows went."""
    fine = (SpotPoint.at < now - FINE_POINTS_KEPT) & SpotPoint.hourly.is_(False)
    old = select(SpotPoint.id).where(or_(fine, SpotPoint.at < now - POINTS_KEPT)).limit(limit)
    return len(session.execute(delete(SpotPoint).where(SpotPoint.id.in_(old)).returning(SpotPoint.id)).all())
