"""Where money is held and settled, each in the transaction of what it pays for. Prices are locked by the leases, and
nothing is charged yet, so all three do nothing: the ledger fills them in without touching their callers.
"""

from collections.abc import Sequence

from sqlalchemy.orm import Session

from computepool.protocol.states import Verdict


def reserve_for_submit(session: Session, job_id: str, owner_id: str) -> None:
    """Refuse a job that its owner cannot pay for."""


def hold_for_leases(session: Session, attempt_ids: Sequence[str]) -> None:
    """Hold what each attempt may cost, at the price that its lease locks. Again for one that was lost, and so settled,
    and is taken back."""


def settle(session: Session, attempt_id: str, verdict: Verdict) -> None:
    """Capture or void the attempt's hold, as its verdict says."""
