"""What a finding does to the node that it is about, in the transaction in which it is found."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.ids import RandomBits
from computepool.hub.core.notices import ADMINS, mail_topic
from computepool.hub.core.records import ADMIN_TOPIC
from computepool.hub.core.records import record as note
from computepool.hub.market.standing import Standing
from computepool.hub.nodes.service import change_state
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import repository as reputations
from computepool.hub.reputation import service as reputation
from computepool.hub.trust import repository
from computepool.hub.trust.auditing import BAN_FROM, GUILTY_QUARANTINE, is_banned
from computepool.hub.trust.clawback import given_back
from computepool.hub.trust.judgement import Finding
from computepool.hub.trust.tables import Accusation, AccusationState, Check
from computepool.protocol.states import NodeState
from computepool.protocol.units import MICROS_PER_CREDIT

WRONG_RESULT = "wrong_result"
"""The reason of an attempt whose result others proved wrong."""
DIGEST_MISMATCH = "digest_mismatch"
"""The reason of an attempt that was outvoted by its replicas."""


@dataclass(frozen=True)
class Means:
    """What a transaction needs of the hub besides its session."""

    new_id: Callable[[str], str]
    randbits: RandomBits
    half_life: timedelta
    ban_from: int = BAN_FROM
    confirm_findings: bool = True
    """An admin decides before a node loses anything."""
    subsidy_per_day: int = 0
    """Micros that the platform pays for checks in a day."""


def means_of(context: Context) -> Means:
    settings = context.settings
    return Means(
        context.new_id,
        context.randbits,
        settings.reliability_half_life,
        settings.ban_after_wrong_results,
        settings.confirm_findings,
        settings.check_credits_per_day * MICROS_PER_CREDIT,
    )


@dataclass(frozen=True, slots=True)
class Sentence:
    standing: Standing
    banned: bool = False


def clear(session: Session, check: Check, now: datetime, means: Means) -> Standing | None:
    """Its result is right: others gave the same."""
    if check.node_id is None or check.attempt_id is None:
        return None
    node = session.get_one(Node, check.node_id)
    record_id = repository.record_id_of(node)
    found = repository.find_record(session, record_id)
    repository.save_record(session, record_id, found.after(Finding.VALID, check.given_at or now))
    half_life = means.half_life
    return reputation.count_audit(session, node.id, check.attempt_id, now, right=True, half_life=half_life)


def accuse(
    session: Session, check: Check, node_id: str, attempt_id: str, now: datetime, means: Means, *, proven: bool
) -> None:
    """Write the finding down for an admin to decide. Until then only the earnings in question are held."""
    node = session.get_one(Node, node_id)
    accusation = Accusation(
        id=means.new_id("accusation"),
        check_id=check.id,
        attempt_id=attempt_id,
        node_id=node_id,
        record_id=repository.record_id_of(node),
        owner_id=node.owner_id,
        proven=proven,
        state=AccusationState.OPEN,
        created_at=now,
    )
    session.add(accusation)
    session.flush()
    topics = (f"owner/{node.owner_id}", ADMIN_TOPIC, mail_topic(node.owner_id), mail_topic(ADMINS))
    note(session, "node.accused", node_id, now, topics=topics, accusation=accusation.id, attempt=attempt_id)


def convict(
    session: Session,
    check: Check,
    node_id: str,
    attempt_id: str,
    reason: str,
    now: datetime,
    means: Means,
    found_at: datetime | None = None,
) -> Sentence:
    """The result was proven wrong: the node is not trusted any more, and gives back what it earned since it was last
    found right. `found_at`: when, if an admin confirms it later."""
    found_at = found_at or now
    node = session.get_one(Node, node_id)
    record_id = repository.record_id_of(node)
    before = repository.find_record(session, record_id)
    earnings = repository.list_earnings(session, record_id, found_at, attempt_id)
    taken = {one.attempt_id for one in given_back((each for each, _ in earnings), before.last_valid_at, found_at)}
    taken.add(attempt_id)
    back = [(one, renter) for one, renter in earnings if one.attempt_id in taken and one.micros > 0]
    micros = repository.add_clawbacks(session, check.id, node, back, now)
    repository.mark_wrong(session, attempt_id, reason, "others computed the same and agree on another result")
    after = before.after(Finding.GUILTY, now)
    repository.save_record(session, record_id, after)
    repository.begin_anew(session, node.owner_id)
    half_life = means.half_life
    reputation.count_audit(session, node_id, attempt_id, now, right=False, half_life=half_life)
    quarantine = {"quarantined_until": now + GUILTY_QUARANTINE}
    reputations.write(session, reputations.lock(session, node_id).id, quarantine)
    banned = is_banned(after, means.ban_from) and node.state != NodeState.BANNED
    note(
        session,
        "node.proven_wrong",
        node_id,
        now,
        topics=(f"owner/{node.owner_id}", mail_topic(node.owner_id)),
        attempt=attempt_id,
        check=check.id,
        given_back_micros=micros,
        times=after.guilty,
    )
    if banned:
        change_state(session, node, NodeState.BANNED, now)
    return Sentence(reputation.find_standing(session, node_id, now, half_life), banned)
