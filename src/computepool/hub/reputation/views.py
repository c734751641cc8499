"""How reliable a node is taken to be, as owners and operators see it. The numbers are those that matching uses."""

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.nodes.benchmarks import Benchmark, find_benchmark
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import claims, declining, repository
from computepool.hub.reputation.quarantine import is_probed
from computepool.hub.reputation.record import Record, fresh, missing_for_verified, standing_of
from computepool.hub.reputation.service import why_unproven
from computepool.hub.reputation.uptime import share
from computepool.protocol.capacity import Capacity
from computepool.protocol.model import Documented

SECONDS_OF_A_DAY = 86_400.0


class Audited(Documented):
    """Results of it that were computed again by others: counted apart, never mixed into reliability."""

    ok: int
    wrong: int


class ReliabilityView(Documented):
    mean: float
    """What people are shown."""
    lower: float
    """Its 5 % lower bound: what nodes are ranked by, and what `min_reliability` asks for."""
    has_record: bool
    """False for a node that nobody can say much of yet."""
    ok_attempts: int
    """For others, ever."""
    failures_in_a_row: int
    quarantined_until: datetime | None
    probed: bool
    """Its quarantine is over; it gets one slice of others at a time until one is ok."""
    slots: int | None
    """Slices of others that it gets at once, if it broke with more; None for as many as it claims to hold."""
    declines: int
    """Offers that it declined since the last attempt that was ok; those at the same time count once."""
    declined_until: datetime | None
    """It is offered no work of others before that, because it declined some."""
    tenure_days: float
    uptime_30d: float
    audited: Audited
    verified: bool
    missing_for_verified: list[str]
    notice: str = ""
    """Why it gets less work than it could."""


def reliability_by_node(
    session: Session, nodes: Sequence[Node], measured: Mapping[str, Benchmark], now: datetime, half_life: timedelta
) -> dict[str, ReliabilityView]:
    """`measured`: the benchmarks of these nodes."""
    known = repository.find_of(session, [node.id for node in nodes])
    return {
        node.id: reliability_view(
            known.get(node.id) or fresh(node.created_at), now, half_life, _unproven(node, measured.get(node.id))
        )
        for node in nodes
    }


def reliability_of(session: Session, node: Node, now: datetime, half_life: timedelta) -> ReliabilityView:
    unproven = _unproven(node, find_benchmark(session, node.id))
    return reliability_view(repository.find(session, node.id), now, half_life, unproven)


def _unproven(node: Node, measured: Benchmark | None) -> list[str]:
    return why_unproven(Capacity.model_validate(node.capacity), measured)


def reliability_view(record: Record, now: datetime, half_life: timedelta, unproven: Sequence[str]) -> ReliabilityView:
    standing = standing_of(record, now, half_life)
    return ReliabilityView(
        mean=standing.mean,
        lower=standing.lower,
        has_record=standing.has_record,
        ok_attempts=record.ok_count,
        failures_in_a_row=record.trouble.streak,
        quarantined_until=standing.quarantined_until,
        probed=is_probed(record.trouble, now),
        slots=record.claim.slots,
        declines=record.declines.count,
        declined_until=standing.declined_until,
        tenure_days=max(0.0, (now - record.first_seen).total_seconds() / SECONDS_OF_A_DAY),
        uptime_30d=share(record.online_days, record.online_since, record.first_seen, now),
        audited=Audited(ok=record.audited_ok, wrong=record.audited_wrong),
        verified=standing.verified,
        missing_for_verified=missing_for_verified(record, unproven),
        notice=_notice(record, standing.quarantined_until, now),
    )


def _notice(record: Record, closed_until: datetime | None, now: datetime) -> str:
    if closed_until is not None:
        return (
            f"It failed {record.trouble.streak} times in a row: no work of others until "
            f"{closed_until:%Y-%m-%d %H:%M} UTC, then one slice to see whether it works again."
        )
    if record.trouble.until is not None:
        return "It failed again and again: it gets one slice of others at a time, until one is ok."
    return declining.in_words(record.declines, now) or claims.in_words(record.claim)
