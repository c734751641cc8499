"""What came back of what an attempt cost, in the rows that say what it cost in the end."""

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.jobs.spending import add_cost
from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger.holds import HoldRow


def write_down(session: Session, attempt_id: str, cost_micros: int, earned_micros: int) -> None:
    """Its renter pays, and its host earns, so much less; below zero, so much more."""
    job_id = session.scalar(
        update(Attempt)
        .where(Attempt.id == attempt_id)
        .values(cost_micros=Attempt.cost_micros - cost_micros, earned_micros=Attempt.earned_micros - earned_micros)
        .returning(Attempt.job_id)
    )
    if cost_micros and job_id is not None:
        add_cost(session, job_id, -cost_micros)
    holds = select(HoldRow).where(HoldRow.attempt_id == attempt_id).order_by(HoldRow.number.desc())
    for hold in session.scalars(holds).all():
        part = min(hold.spent_micros, cost_micros)
        hold.spent_micros -= part
        cost_micros -= part
    session.flush()
