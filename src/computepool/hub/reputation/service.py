"""What moves a record, one plain function each, in the transaction of what caused it."""

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.core.records import record as note
from computepool.hub.market.standing import Standing
from computepool.hub.nodes.benchmarks import Benchmark, hardware_digest
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import record as records
from computepool.hub.reputation import repository
from computepool.hub.reputation.claims import WANT_OF_ROOM
from computepool.hub.reputation.declining import after_decline
from computepool.hub.reputation.record import Happening, Record, standing_of
from computepool.hub.reputation.reliability import HALF_LIFE, WEIGHTS, weight_of
from computepool.hub.reputation.repository import Found
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.reputation.uptime import add_stretch
from computepool.protocol.capacity import Capacity
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel, Verdict

MATCHES = "matches"
FAILED_AUDIT = "failed_audit"


def count_end(
    session: Session,
    node_id: str,
    attempt_id: str,
    verdict: Verdict,
    reason: str,
    now: datetime,
    *,
    saved: bool,
    crowd: Callable[[], int],
    half_life: timedelta = HALF_LIFE,
) -> Standing | None:
    """A stranger's attempt ended there. None if that says nothing of the node.

    `saved`: it left a checkpoint. `crowd`: how many of strangers' there were, this one counted; asked only if it
    matters.
    """
    weight = weight_of(verdict, reason, saved=saved)
    if weight == 0:
        return _count_decline(session, node_id, now, half_life) if reason == EndReason.DECLINED else None
    broke = verdict is Verdict.HOST and reason in WANT_OF_ROOM
    return _count(
        session, node_id, attempt_id, reason, Happening(verdict, weight, now, crowd() if broke else 0), half_life
    )


def undo_end(
    session: Session,
    node_id: str,
    attempt_id: str,
    now: datetime,
    half_life: timedelta = HALF_LIFE,
    note: str | None = None,
) -> Standing | None:
    """As if it had never been counted: a lost attempt is there again, or another reason that the note says."""
    event = repository.find_counted(session, attempt_id)
    if event is None:
        return None
    event.resolution, event.resolved_at, event.resolution_note = "taken_back", now, note
    return undo(session, event, node_id, now, half_life)


def undo(session: Session, event: ReputationEvent, node_id: str, now: datetime, half_life: timedelta) -> Standing:
    """Take it off the record. Whoever calls has said why on the event."""
    session.flush()
    found = repository.lock(session, node_id)
    others = repository.list_replayed(session, event.record_id, but=event.id)
    changed = records.without(found.record, repository.happening_of(event), others, half_life)
    repository.save(session, found.id, changed)
    _tell_changes(session, node_id, found, changed, now)
    return standing_of(changed, now, half_life)


def count_audit(
    session: Session,
    node_id: str,
    attempt_id: str,
    now: datetime,
    *,
    right: bool,
    half_life: timedelta = HALF_LIFE,
) -> Standing:
    """A result of it was computed again by others. Correctness is counted apart; a wrong one is a host verdict too."""
    found = repository.lock(session, node_id)
    if right:
        right_ones = found.record.audited_ok + 1
        repository.write(session, found.id, {"audited_ok": right_ones})
        return standing_of(replace(found.record, audited_ok=right_ones), now, half_life)
    repository.write(session, found.id, {"audited_wrong": found.record.audited_wrong + 1})
    happening = Happening(Verdict.HOST, WEIGHTS[Verdict.HOST], now)
    return _count(session, node_id, attempt_id, FAILED_AUDIT, happening, half_life)


def note_connected(
    session: Session,
    node: Node,
    measured: Benchmark | None,
    now: datetime,
    *,
    was_there: bool,
    half_life: timedelta = HALF_LIFE,
) -> Standing:
    """Its line is up. `was_there`: it was thought to be there all the while, so the time in between counts."""
    found = repository.lock(session, node.id)
    proven = is_proven(Capacity.model_validate(node.capacity), measured)
    values: dict[str, object] = {}
    if found.record.proven != proven:
        values["proven"] = proven
    if found.record.online_since is None or not was_there:
        values["online_since"] = now
    if values:
        repository.write(session, found.id, values)
    return standing_of(replace(found.record, proven=proven), now, half_life)


def note_presence(session: Session, node_id: str, now: datetime, *, there: bool) -> None:
    """It came or went: the time that it was there is added up. Heartbeats in between write nothing."""
    found = repository.lock(session, node_id)
    since = found.record.online_since
    if there and since is None:
        repository.write(session, found.id, {"online_since": now})
    elif not there and since is not None:
        days = add_stretch(found.record.online_days, since, now)
        repository.write(session, found.id, {"online_since": None, "online_days": days})


def note_examined(session: Session, node_id: str, now: datetime, half_life: timedelta = HALF_LIFE) -> Standing:
    """It was measured anew."""
    node = session.get_one(Node, node_id)
    found = repository.lock(session, node_id)
    proven = is_proven(Capacity.model_validate(node.capacity), session.get(Benchmark, node_id))
    repository.write(session, found.id, {"proven": proven})
    return standing_of(replace(found.record, proven=proven), now, half_life)


def mark(
    session: Session, node: Node, wanted: bool, actor: str, now: datetime, half_life: timedelta = HALF_LIFE
) -> Standing:
    """The operator has checked who owns it and where its earnings go; or takes that back."""
    found = repository.lock(session, node.id)
    if found.record.marked != wanted:
        values = {"marked_by": actor, "marked_at": now} if wanted else {"marked_by": None, "marked_at": None}
        repository.write(session, found.id, values)
        action = "node.verified" if wanted else "node.unverified"
        note(session, action, node.id, now, actor=actor, topics=(f"owner/{found.owner_id}",))
    return standing_of(replace(found.record, marked=wanted), now, half_life)


def is_proven(capacity: Capacity, measured: Benchmark | None) -> bool:
    """Its hardware is what it claims, as measured, and strangers' work is kept apart in containers or better."""
    return not why_unproven(capacity, measured)


def why_unproven(capacity: Capacity, measured: Benchmark | None) -> list[str]:
    found = []
    if capacity.simulated:
        found.append("it is simulated")
    elif measured is None or measured.hardware != hardware_digest(capacity):
        found.append("no benchmark has measured its hardware as it is now")
    elif measured.mark != MATCHES:
        found.append("its benchmark does not match its claims")
    if not any(level.rank >= IsolationLevel.CONTAINER.rank for level in capacity.isolation):
        found.append("its isolation is below container")
    return found


def list_standings(session: Session, now: datetime, half_life: timedelta = HALF_LIFE) -> dict[str, Standing]:
    """By node, for the fleet's memory. Who is not among them is a newcomer."""
    return {node_id: standing_of(one, now, half_life) for node_id, one in repository.list_of_fleet(session)}


def find_standing(session: Session, node_id: str, now: datetime, half_life: timedelta = HALF_LIFE) -> Standing:
    return standing_of(repository.find(session, node_id), now, half_life)


def _count(
    session: Session, node_id: str, attempt_id: str, reason: str, what: Happening, half_life: timedelta
) -> Standing:
    found = repository.lock(session, node_id)
    changed = records.after(found.record, what, half_life)
    repository.save(session, found.id, changed)
    repository.add_event(
        session,
        {
            "record_id": found.id,
            "node_id": node_id,
            "attempt_id": attempt_id,
            "verdict": what.verdict,
            "reason": reason,
            "weight": what.weight,
            "crowd": what.crowd,
            # When it was counted, by a clock that never goes back: so much of it is left when it is undone.
            "at": changed.evidence.as_of,
        },
    )
    _tell_changes(session, node_id, found, changed, what.at)
    return standing_of(changed, what.at, half_life)


def _count_decline(session: Session, node_id: str, now: datetime, half_life: timedelta) -> Standing | None:
    found = repository.lock(session, node_id)
    changed = replace(found.record, declines=after_decline(found.record.declines, now))
    if changed == found.record:
        return None
    repository.save(session, found.id, changed)
    _tell_changes(session, node_id, found, changed, now)
    return standing_of(changed, now, half_life)


def _tell_changes(session: Session, node_id: str, before: Found, changed: Record, now: datetime) -> None:
    """What its owner should hear of."""
    topics, was = (f"owner/{before.owner_id}",), before.record
    if changed.trouble.until != was.trouble.until:
        if changed.trouble.until is None:
            note(session, "node.quarantine_over", node_id, now, topics=topics)
        else:
            until, level = changed.trouble.until.isoformat(), changed.trouble.level
            note(session, "node.quarantined", node_id, now, topics=topics, until=until, level=level)
    if changed.declines.count > was.declines.count and changed.declines.until is not None:
        until = changed.declines.until.isoformat()
        note(session, "node.declines", node_id, now, topics=topics, count=changed.declines.count, until=until)
    if changed.claim.slots != was.claim.slots:
        note(session, "node.slots", node_id, now, topics=topics, slots=changed.claim.slots, peak=changed.claim.peak)
