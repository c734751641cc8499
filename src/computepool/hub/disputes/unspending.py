"""What a dispute gave back counts against the renter's limits no more: as if it had not been spent."""

from collections.abc import Sequence
from datetime import date

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.disputes.refunding import AT_ONCE, REFUNDED, batched
from computepool.hub.jobs import spending
from computepool.hub.jobs.tables import Attempt
from computepool.hub.ledger.tables import EntryRow


def forget_spending(session: Session, dispute_id: str, job_ids: Sequence[str]) -> tuple[tuple[str, date, int], ...]:
    """(renter, day, micros) of what it refunded, for those who remember: of the day on which the attempt ended."""
    unspent = []
    for some in batched(job_ids, AT_ONCE):
        query = select(EntryRow.details, Attempt.finished_at).join(Attempt, Attempt.id == EntryRow.attempt_id)
        rows = session.execute(query.where(EntryRow.job_id.in_(some), EntryRow.kind == REFUNDED))
        for details, finished_at in rows.all():
            if details["dispute"] == dispute_id and finished_at is not None:
                renter_id, day, micros = details["renter_id"], finished_at.date(), details["cost_micros"]
                spending.count(session, renter_id, day, -micros)
                unspent.append((renter_id, day, micros))
    return tuple(unspent)
