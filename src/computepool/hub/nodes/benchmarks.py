"""What was measured of each node: the newest examination, and what the hub made of it."""

import hashlib
from collections.abc import Sequence
from datetime import datetime
from typing import Any

from sqlalchemy import ForeignKey, String, select
from sqlalchemy.orm import Mapped, Session, mapped_column

from computepool.hub.core.records import record
from computepool.hub.core.tables import Base
from computepool.hub.nodes.service import topics_of
from computepool.hub.nodes.tables import Node
from computepool.protocol.capacity import Capacity

UNVERIFIED = "unverified"
TOPIC = "benchmarks"
"""Of every examination that was stored."""


class Benchmark(Base):
    """One a node. History is in the audit log."""

    __tablename__ = "benchmarks"

    node_id: Mapped[str] = mapped_column(ForeignKey("nodes.id"), primary_key=True)
    mark: Mapped[str] = mapped_column(String(12))
    """The worst of its devices': unverified, matches, too_slow, too_fast, failed."""
    words: Mapped[str] = mapped_column(String(500))
    """Why, for its owner."""
    tier_millis: Mapped[int]
    tier_basis: Mapped[str] = mapped_column(String(12))
    """Whether the tier is the card's, was measured, or is only claimed."""
    hardware: Mapped[str] = mapped_column(String(64))
    """A digest of the devices and drivers that were examined: others are examined again."""
    figures: Mapped[dict[str, Any]]
    """By device, and of the line."""
    measured_at: Mapped[datetime]


def hardware_digest(capacity: Capacity) -> str:
    """Changes with the GPUs, their drivers and the processor; not with free space or cached images."""
    gpus = [
        "\0".join((gpu.id, gpu.name, str(gpu.memory_bytes), gpu.driver, gpu.runtime))
        for gpu in sorted(capacity.gpus, key=lambda gpu: gpu.id)
    ]
    return hashlib.sha256("\n".join([f"{capacity.cpu_model}\0{capacity.cpus}", *gpus]).encode()).hexdigest()


def find_benchmark(session: Session, node_id: str) -> Benchmark | None:
    return session.get(Benchmark, node_id)


def list_benchmarks(session: Session, node_ids: Sequence[str]) -> dict[str, Benchmark]:
    """Of these nodes: as many as a page has."""
    if not node_ids:
        return {}
    rows = session.scalars(select(Benchmark).where(Benchmark.node_id.in_(node_ids)).limit(len(node_ids)))
    return {row.node_id: row for row in rows}


def save_benchmark(
    session: Session,
    node_id: str,
    *,
    mark: str,
    words: str,
    tier_millis: int,
    tier_basis: str,
    hardware: str,
    figures: dict[str, Any],
    now: datetime,
) -> Benchmark:
    """In place of the one before."""
    node = session.get_one(Node, node_id)
    row = session.get(Benchmark, node_id) or Benchmark(node_id=node_id)
    row.mark, row.words = mark, words[:500]
    row.tier_millis, row.tier_basis = tier_millis, tier_basis
    row.hardware, row.figures, row.measured_at = hardware, figures, now
    session.add(row)
    session.flush()
    record(session, "node.benchmark", node_id, now, topics=(*topics_of(node), TOPIC), mark=mark, words=row.words)
    return row
