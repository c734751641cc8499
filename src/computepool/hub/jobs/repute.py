"""What the end of an attempt says of its node: nothing, if the node's owner is whom the job belongs to."""

from collections.abc import Iterable
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.jobs import repository
from computepool.hub.jobs.deciding import FailedAlike
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.market.standing import Standing
from computepool.hub.reputation import repository as records
from computepool.hub.reputation import service as reputation

SAME_ELSEWHERE = "the same job ended in the same way on a node of another owner"


def count_end(
    session: Session, view: AttemptView, ending: Ending, now: datetime, half_life: timedelta, *, saved: bool
) -> Standing | None:
    """After the attempt has moved: it is not among those that run there any more."""
    if view.own:
        return None
    return reputation.count_end(
        session,
        view.node_id,
        view.attempt_id,
        ending.verdict,
        ending.reason,
        now,
        saved=saved,
        crowd=lambda: 1 + repository.count_strangers_attempts_on(session, view.node_id),
        half_life=half_life,
    )


def lock_all(session: Session, views: Iterable[AttemptView], alike: Iterable[FailedAlike] = ()) -> None:
    """The records of their nodes: whoever ends several holds several. `alike`: attempts that are excused with them."""
    nodes = {view.node_id for view in views if not view.own} | {one.node_id for one in alike}
    records.lock_all(session, nodes)


def excuse(
    session: Session, alike: Iterable[FailedAlike], now: datetime, half_life: timedelta
) -> tuple[tuple[str, Standing], ...]:
    """Take back what these attempts counted against their nodes; (node, standing) of each that changed."""
    changed = {}
    for one in sorted(alike, key=lambda one: one.attempt_id):
        standing = reputation.undo_end(session, one.node_id, one.attempt_id, now, half_life, note=SAME_ELSEWHERE)
        if standing is not None:
            changed[one.node_id] = standing
    return tuple(changed.items())


def undo_end(session: Session, view: AttemptView, now: datetime, half_life: timedelta) -> None:
    """It is there again: as if it had never been lost."""
    if not view.own:
        reputation.undo_end(session, view.node_id, view.attempt_id, now, half_life)
