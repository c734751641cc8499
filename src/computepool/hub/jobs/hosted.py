"""What a node ran and runs, for its host: without whose it was or what it did."""

import json
from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.money import MONEY
from computepool.hub.core.paging import read_list
from computepool.hub.jobs.metering import hub_seconds
from computepool.hub.jobs.tables import Attempt
from computepool.hub.jobs.terms import Terms, unbilled_micros
from computepool.hub.market.rates import fee_of
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import ATTEMPT_LIVE, AttemptState, IsolationLevel, Verdict


class NodeAttempt(BaseModel):
    """An attempt as the host of its node sees it."""

    attempt_id: str = Field(description="Its id.")
    job_id: str = Field(description="The job that it belongs to, for `explain`; without its name, owner or spec.")
    own: bool = Field(description="The job was the host's own.")
    state: AttemptState = Field(description="Where it is.")
    verdict: Verdict | None = Field(description="Whose doing its end was; null before.")
    reason: EndedBy | None = Field(description="Why it ended; null before.")
    isolation: IsolationLevel | None = Field(description="The level that it ran at.")
    leased_at: datetime = Field(description="When the node got it.")
    started_at: datetime | None = Field(description="When its command began.")
    finished_at: datetime | None = Field(description="When it ended.")
    gpus: list[str] = Field(description="The ids of the GPUs that it had.")
    cpus: float = Field(description="The cores that it had.")
    memory_bytes: int = Field(description="The memory that it had.")
    running_seconds: float = Field(description="How long its command has run by the hub's clock, without suspensions.")
    billed_seconds: int = Field(description="How much of its running time was paid so far.")
    price_micros: Annotated[int | None, MONEY] = Field(description="For an hour, fee included, as its lease locked it.")
    earned_micros: Annotated[int | None, MONEY] = Field(description="What its host got for it so far.")
    unsettled_micros: Annotated[int | None, MONEY] = Field(
        description="While it runs: about what it has earned besides, which is settled hour by hour and at its end."
    )


class NodeAttemptPage(BaseModel):
    items: list[NodeAttempt] = Field(description="The newest first, unless another order was asked for.")
    next: str | None = Field(description="The cursor of the next page; null on the last.")
    total: int | None = Field(description="How many there are in all; null for more than 10,000.")


def show_node_attempts(
    session: Session, node_id: str, running: bool | None, order: str, cursor: str | None, limit: int, now: datetime
) -> NodeAttemptPage:
    """The caller has checked whose node it is."""
    query = select(Attempt).where(Attempt.node_id == node_id)
    if running is not None:
        is_live = Attempt.state.in_(sorted(ATTEMPT_LIVE))
        query = query.where(is_live if running else ~is_live)
    rows, following, total = read_list(session, query, [Attempt.id], cursor, limit, order)
    return NodeAttemptPage(items=[_node_attempt(row, now) for row in rows], next=following, total=total)


def _node_attempt(row: Attempt, now: datetime) -> NodeAttempt:
    grant = json.loads(json.loads(row.manifest)["body"])["grant"]
    ran = hub_seconds(row.started_at, row.exited_at or row.finished_at, row.rested_since, row.rested_seconds, now)
    return NodeAttempt(
        attempt_id=row.id,
        job_id=row.job_id,
        own=row.own,
        state=AttemptState(row.state),
        verdict=Verdict(row.verdict) if row.verdict is not None else None,
        reason=row.reason,
        isolation=IsolationLevel(row.isolation) if row.isolation else None,
        leased_at=row.leased_at,
        started_at=row.started_at,
        finished_at=row.finished_at,
        gpus=grant["gpus"],
        cpus=grant["cpus"],
        memory_bytes=grant["memory_bytes"],
        running_seconds=round(ran, 3),
        billed_seconds=row.billed_seconds,
        price_micros=row.price_micros,
        earned_micros=row.earned_micros,
        unsettled_micros=_unsettled(row, ran) if row.finished_at is None else 0,
    )


def _unsettled(row: Attempt, ran: float) -> int:
    terms = Terms.of(row.terms)
    gross = unbilled_micros(terms, row.price_micros, ran, row.settled_seconds)
    return gross - fee_of(gross, terms.fee_bps) if terms is not None else 0
