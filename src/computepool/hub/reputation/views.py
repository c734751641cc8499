"""What owners and operators see of records. The numbers are those that matching uses."""

from collections.abc import Sequence
from datetime import datetime, timedelta

from pydantic import BaseModel
from sqlalchemy.orm import Session

from computepool.hub.nodes.benchmarks import Benchmark, find_benchmark, list_benchmarks
from computepool.hub.nodes.reliability_view import Audited, LookBack, ReliabilityView
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import claims, declining, repository
from computepool.hub.reputation.quarantine import is_probed
from computepool.hub.reputation.record import Record, fresh, missing_for_verified, standing_of
from computepool.hub.reputation.reliability import LOWER_TAIL, OWNER_WITH_CHECKPOINT, PRIOR_BAD, PRIOR_GOOD, WEIGHTS
from computepool.hub.reputation.service import why_unproven
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.reputation.uptime import share
from computepool.protocol.capacity import Capacity
from computepool.protocol.states import Verdict

SECONDS_OF_A_DAY = 86_400.0


class FormulaView(BaseModel):
    """All that the score is made of: mean = alpha / (alpha + beta), lower = the 5 % quantile of Beta(alpha, beta)."""

    prior_good: float = PRIOR_GOOD
    prior_bad: float = PRIOR_BAD
    good: float
    """What speaks for the node, faded to now."""
    bad: float
    alpha: float
    beta: float
    lower_tail: float = LOWER_TAIL
    half_life_days: float
    weights: dict[Verdict, float] = WEIGHTS
    """Of strangers' attempts; the owner's own count nothing."""
    owner_with_checkpoint: float = OWNER_WITH_CHECKPOINT
    as_of: datetime


class EventView(BaseModel):
    id: int
    node_id: str
    attempt_id: str
    verdict: Verdict
    reason: str
    weight: float
    at: datetime
    contested_at: datetime | None
    contest_reason: str | None
    resolution: str | None
    """taken_back, upheld or dismissed. The first two undo it."""
    resolved_at: datetime | None
    resolution_note: str | None


class HistoryPage(BaseModel):
    reliability: ReliabilityView
    formula: FormulaView
    items: list[EventView]
    """The newest first."""
    next: int | None


class ContestView(EventView):
    node_name: str
    owner_id: str


class ContestPage(BaseModel):
    items: list[ContestView]
    next: int | None


def look_back(half_life: timedelta) -> LookBack:
    """Each node's past, for its view."""

    def look(session: Session, nodes: Sequence[Node], now: datetime) -> dict[str, ReliabilityView]:
        ids = [node.id for node in nodes]
        known, measured = repository.find_of(session, ids), list_benchmarks(session, ids)
        return {
            node.id: reliability_view(
                known.get(node.id) or fresh(node.created_at), now, half_life, _unproven(node, measured.get(node.id))
            )
            for node in nodes
        }

    return look


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


def formula_view(record: Record, now: datetime, half_life: timedelta) -> FormulaView:
    evidence = record.evidence.at(now, half_life)
    return FormulaView(
        good=evidence.good,
        bad=evidence.bad,
        alpha=PRIOR_GOOD + evidence.good,
        beta=PRIOR_BAD + evidence.bad,
        half_life_days=half_life.total_seconds() / SECONDS_OF_A_DAY,
        as_of=evidence.as_of,
    )


def event_view(event: ReputationEvent) -> EventView:
    return EventView.model_validate(event, from_attributes=True)


def contest_view(event: ReputationEvent, node_name: str, owner_id: str) -> ContestView:
    return ContestView(**event_view(event).model_dump(), node_name=node_name, owner_id=owner_id)


def _notice(record: Record, closed_until: datetime | None, now: datetime) -> str:
    if closed_until is not None:
        return (
            f"It failed {record.trouble.streak} times in a row: no work of others until "
            f"{closed_until:%Y-%m-%d %H:%M} UTC, then one slice to see whether it works again."
        )
    if record.trouble.until is not None:
        return "It failed again and again: it gets one slice of others at a time, until one is ok."
    return declining.in_words(record.declines, now) or claims.in_words(record.claim)
