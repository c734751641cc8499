"""An owner says that an event is not the node's fault; an operator decides. Upheld, it is as if it had never been."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from sqlalchemy.orm import Session

from computepool.hub.core.notices import mail_topic
from computepool.hub.core.records import ADMIN_TOPIC, record
from computepool.hub.market.standing import Standing
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import service
from computepool.hub.reputation.errors import NoSuchContest, NoSuchEvent, NotContestable
from computepool.hub.reputation.reliability import HALF_LIFE
from computepool.hub.reputation.repository import record_id_of
from computepool.hub.reputation.tables import ReputationEvent


class Resolution(StrEnum):
    UPHELD = "upheld"
    DISMISSED = "dismissed"


@dataclass(frozen=True)
class Resolved:
    event: ReputationEvent
    standing: Standing | None
    """Of its node, if that changed."""


def refuse_contest(event: ReputationEvent) -> NotContestable | None:
    """Why the node's owner cannot contest it."""
    if event.weight >= 0:
        return NotContestable("This event speaks for the node.", hint="Only what counts against it can be contested.")
    if event.resolution is not None:
        return NotContestable(f"This event is settled: {event.resolution.replace('_', ' ')}.")
    if event.contested_at is not None:
        return NotContestable("This event is contested already.", hint="An operator will look at it.")
    return None


def refuse_resolution(event: ReputationEvent) -> NotContestable | None:
    """Why an operator cannot decide about the contest."""
    if event.resolution is not None:
        return NotContestable(f"This contest is settled: {event.resolution.replace('_', ' ')}.")
    return None


def contest(session: Session, node: Node, event_id: int, reason: str, actor: str, now: datetime) -> ReputationEvent:
    event = session.get(ReputationEvent, event_id, with_for_update=True)
    if event is None or event.record_id != record_id_of(node):
        raise NoSuchEvent(event_id)
    refused = refuse_contest(event)
    if refused is not None:
        raise refused
    event.contested_at, event.contest_reason = now, reason
    session.flush()
    topics = (f"owner/{node.owner_id}", ADMIN_TOPIC)
    record(session, "reputation.contested", node.id, now, actor=actor, topics=topics, event=event_id, reason=reason)
    return event


def resolve(
    session: Session,
    event_id: int,
    resolution: Resolution,
    note: str,
    actor: str,
    now: datetime,
    half_life: timedelta = HALF_LIFE,
) -> Resolved:
    event = session.get(ReputationEvent, event_id, with_for_update=True)
    if event is None or event.contested_at is None:
        raise NoSuchContest(event_id)
    refused = refuse_resolution(event)
    if refused is not None:
        raise refused
    event.resolution, event.resolved_at = resolution, now
    event.resolved_by, event.resolution_note = actor, note
    session.flush()
    node = session.get_one(Node, event.node_id)
    record(
        session,
        f"reputation.{resolution}",
        node.id,
        now,
        actor=actor,
        topics=(f"owner/{node.owner_id}", mail_topic(node.owner_id)),
        event=event_id,
        note=note,
    )
    if resolution is Resolution.DISMISSED:
        return Resolved(event, None)
    return Resolved(event, service.undo(session, event, node.id, now, half_life))
