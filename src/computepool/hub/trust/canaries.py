"""Canaries: slices whose right result is known, sent now and then to see who gives it, at the platform's cost.

An audit needs a job that was declared deterministic; a node that never gets one would never be looked at. So every node
gets a canary by chance. Chance has no memory: a restart of the hub makes up for nothing, and nobody knows when one is
due. What is known is what owners agreed on (audits and replicas that were found valid), and what an operator vouches
for.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from random import Random

from sqlalchemy import func, or_, select
from sqlalchemy.orm import Session

from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.core.ids import RandomBits
from computepool.hub.core.records import record as note
from computepool.hub.jobs.brief import Rerun
from computepool.hub.jobs.permits import given_to
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.verification import NOTHING_ELSE, Consequences, Role
from computepool.hub.ledger.settlement import Share
from computepool.hub.market.feasibility import Traits, closed_gate
from computepool.hub.market.pricing import is_dear
from computepool.hub.nodes.tables import Node
from computepool.hub.trust import repository
from computepool.hub.trust.consequences import Means
from computepool.hub.trust.errors import BadCanary, NoSuchAnswer
from computepool.hub.trust.judgement import Finding
from computepool.hub.trust.replication import ABANDONED, is_sound
from computepool.hub.trust.reruns import add_audit, needs_of
from computepool.hub.trust.results import result_digest
from computepool.hub.trust.subsidy import chosen_by_operator, max_price, reserve
from computepool.hub.trust.tables import Check

KNOWN = "known"
"""The kind of check with which an operator vouches for a result."""
KEPT = timedelta(days=30)
"""For which a renter's job serves as a canary after its result was found right. What an operator chose serves on."""
LONGEST_SECONDS = 900.0
"""That it ran for, the first time: what is sent unasked must not hold up a machine for long."""
LOOKED_AT = 100
"""Known results of each kind, the newest, among which one is drawn."""
DAY_SECONDS = 86_400.0
MOST_AT_ONCE = 32
"""At one look, whatever the rate: nobody floods a pool with its own checks."""
CHANCE_BITS = 32


def draw_count(nodes: int, per_day: float, seconds: float, randbits: RandomBits) -> int:
    """How many of so many nodes get one, after so many seconds: as chance has it (Poisson), none too many at once."""
    expected = min(nodes * per_day * seconds / DAY_SECONDS, float(MOST_AT_ONCE))
    if expected <= 0:
        return 0
    least, product, count = math.exp(-expected), _uniform(randbits), 0
    while product > least and count < MOST_AT_ONCE:
        product *= _uniform(randbits)
        count += 1
    return count


def draw_below(number: int, randbits: RandomBits) -> int:
    return randbits(CHANCE_BITS) * number >> CHANCE_BITS


def _uniform(randbits: RandomBits) -> float:
    return (randbits(CHANCE_BITS) + 1) / float(2**CHANCE_BITS)


@dataclass(frozen=True, slots=True)
class Known:
    """A slice with its right result."""

    check_id: str
    kind: str
    """audit or replicas: owners agreed. known: the operator says so."""
    root: Job
    index: int
    expected: str
    gpu_class: str | None
    """Of the node that computed it: another model computes other last digits."""
    seconds: float
    since: datetime
    subsidy: Share
    """What a canary of it costs the platform at most, with all that follows from its answer."""
    max_price_micros: int | None


# ── what is known ────────────────────────────────────────────────────────────────────────────────────────────────────


def list_known(session: Session, now: datetime) -> list[Known]:
    """That can be sent to strangers, the newest first; the operator's before others."""
    vouched = select(Check, Job).join(Job, Job.id == Check.job_id).where(Check.state == Finding.VALID)
    newest = vouched.order_by(Check.id.desc()).limit(LOOKED_AT)
    recent = newest.where(Check.kind.in_(["audit", "replicas"]), Check.decided_at >= now - KEPT)
    rows = [*session.execute(newest.where(Check.kind == KNOWN)), *session.execute(recent)]
    found: dict[tuple[str, int], Known] = {}
    for check, root in rows:
        place = (root.id, check.slice_index)
        known = _known_of(session, check, root) if place not in found else None
        if known is not None and _can_be_sent(session, known):
            found[place] = known
    return list(found.values())


def _known_of(session: Session, check: Check, root: Job) -> Known | None:
    if check.kind == "replicas":
        answers = repository.list_results(session, check.id)
        digests = [row.digest for row in answers]
        if not digests:
            return None
        expected = max(digests, key=digests.count)
        attempt_id: str | None = next(row.attempt_id for row in answers if row.digest == expected)
    else:
        expected, attempt_id = check.expected or check.digest or "", check.attempt_id
    attempt = session.get(Attempt, attempt_id) if attempt_id is not None else None
    if attempt is None or attempt.exit_code != 0 or attempt.started_at is None or attempt.finished_at is None:
        return None
    gpu_class = repository.gpu_class_of(attempt, session.get_one(Node, attempt.node_id))
    seconds = _seconds_of(attempt)
    at = check.decided_at or check.created_at
    by_operator = check.kind == KNOWN
    return Known(
        check_id=check.id,
        kind=check.kind,
        root=root,
        index=check.slice_index,
        expected=expected,
        gpu_class=gpu_class,
        seconds=seconds,
        since=at,
        subsidy=chosen_by_operator(root, seconds) if by_operator else repository.paid_for(session, attempt),
        max_price_micros=root.ceiling_micros if by_operator else max_price(attempt),
    )


def _seconds_of(attempt: Attempt) -> float:
    if attempt.started_at is None or attempt.finished_at is None:
        return 0.0
    return (attempt.finished_at - attempt.started_at).total_seconds()


def _can_be_sent(session: Session, known: Known) -> bool:
    """It needs nothing that may be gone or may have changed, and its renter did not choose one node for it."""
    root = known.root
    spec, stored = root.spec, dict(root.inputs or {})
    pinned = (spec.get("where") or {}).get("node") is not None
    from_the_web = len(spec.get("inputs") or {}) > len(stored)
    return (
        root.deleted_at is None
        and known.seconds <= LONGEST_SECONDS
        and is_repeatable(root)
        and not pinned
        and not from_the_web
        and not repository.is_known_to_vary(session, root.spec_digest)
        and _are_stored(session, given_to(root.bundle, root.inputs))
    )


def is_repeatable(root: Job) -> bool:
    return bool(root.spec.get("deterministic")) and is_sound(root)


def _are_stored(session: Session, artifact_ids: Sequence[str]) -> bool:
    ids = set(artifact_ids)
    there = select(func.count()).where(Artifact.id.in_(sorted(ids)), Artifact.state == ArtifactState.STORED)
    return not ids or session.scalar(there) == len(ids)


def vouch(session: Session, root: Job, index: int, now: datetime, means: Means, actor: str) -> Known:
    """The operator says that what a slice delivered is right. Raises BadCanary."""
    attempt, expected = _deciding(session, root, index)
    check = repository.find_check(session, _subject(root, index))
    if check is None:
        check = Check(
            id=means.new_id("check"),
            subject=_subject(root, index),
            kind=KNOWN,
            job_id=root.id,
            slice_index=index,
            spec_digest=root.spec_digest,
            asked=0,
            created_at=now,
        )
        session.add(check)
    check.state, check.attempt_id, check.expected, check.decided_at = Finding.VALID, attempt.id, expected, now
    session.flush()
    vouched = _known_of(session, check, root)
    if vouched is None or not _can_be_sent(session, vouched):
        raise BadCanary(root.id)
    note(session, "canary.vouched", check.id, now, actor=actor, job=root.id, slice=index)
    return vouched


def withdraw(session: Session, check_id: str, now: datetime, actor: str) -> None:
    """It is sent to nobody any more. Raises NoSuchAnswer."""
    check = session.get(Check, check_id)
    if check is None or check.kind != KNOWN or check.state != Finding.VALID:
        raise NoSuchAnswer(check_id)
    check.state, check.decided_at = ABANDONED, now
    session.flush()
    note(session, "canary.withdrawn", check.id, now, actor=actor)


def _deciding(session: Session, root: Job, index: int) -> tuple[Attempt, str]:
    """The attempt that a slice succeeded with, whoever confirmed it or not, and its result. Raises BadCanary."""
    attempt = repository.find_deciding(session, root.id, index)
    if attempt is None or not is_repeatable(root):
        raise BadCanary(root.id)
    receipt = repository.receipt_of(attempt)
    return attempt, result_digest(receipt.exit_code, receipt.outputs)


def _subject(root: Job, index: int) -> str:
    return f"{KNOWN}/{root.id}/{index}"


# ── sending ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def send(session: Session, traits: Traits, now: datetime, means: Means) -> Consequences:
    """Some canary to a node, if there is one for it: of no renter that it knows too well, and that it never ran."""
    if repository.has_open_canary(session, traits.node_id):
        return NOTHING_ELSE
    candidates = list_known(session, now)
    Random(means.randbits(64)).shuffle(candidates)
    known = next(_suiting(session, candidates, traits), None)
    if known is None:
        return NOTHING_ELSE
    node = session.get_one(Node, traits.node_id)
    if not reserve(session, known.subsidy, now, means):
        return NOTHING_ELSE
    return _start(session, known, node, now, means)


def _suiting(session: Session, candidates: Sequence[Known], traits: Traits) -> Iterator[Known]:
    for known in candidates:
        needs = needs_of(known.root, _rerun(known, traits.node_id))
        # A renter's own node would be told that it works for its owner, and for money: so that it knows.
        if known.root.owner_id == traits.owner_id or closed_gate(needs, traits) is not None:
            continue
        if is_dear(needs, traits.ask):
            continue
        if not _was_seen_by(session, known, traits.owner_id):
            yield known


def _was_seen_by(session: Session, known: Known, owner_id: str) -> bool:
    """A node of that owner ran it before, and could remember it."""
    runs = select(Job.id).where(or_(Job.id == known.root.id, Job.rerun_of == known.root.id))
    query = select(Attempt.id).join(Node, Node.id == Attempt.node_id).where(Node.owner_id == owner_id)
    query = query.where(Attempt.job_id.in_(runs), Attempt.slice_index == known.index)
    return session.scalar(query.limit(1)) is not None


def _rerun(known: Known, node_id: str) -> Rerun:
    return Rerun(
        renter_id=known.root.owner_id,
        gpu_class=known.gpu_class,
        node_id=node_id,
        promotional_micros=known.subsidy.promotional,
        real_micros=known.subsidy.real,
        max_price_micros=known.max_price_micros,
    )


def start_by_hand(session: Session, root: Job, index: int, node: Node, now: datetime, means: Means) -> Consequences:
    """Let a node do what was done before, as the operator chose. Raises BadCanary."""
    attempt, expected = _deciding(session, root, index)
    if not _are_stored(session, given_to(root.bundle, root.inputs)):
        raise BadCanary(root.id)
    seconds = _seconds_of(attempt)
    known = Known(
        check_id="",
        kind=KNOWN,
        root=root,
        index=index,
        expected=expected,
        gpu_class=repository.gpu_class_of(attempt, session.get_one(Node, attempt.node_id)),
        seconds=seconds,
        since=now,
        subsidy=chosen_by_operator(root, seconds),
        max_price_micros=None,
    )
    if known.subsidy.total:
        repository.reserve_subsidy(session, known.subsidy.total, None, now)
    return _start(session, known, node, now, means)


def _start(session: Session, known: Known, node: Node, now: datetime, means: Means) -> Consequences:
    started = add_audit(session, known.root, known.index, _rerun(known, node.id), now, means, Role.CANARY)
    check = Check(
        id=means.new_id("check"),
        subject=started[0].job_id,
        kind="canary",
        job_id=known.root.id,
        slice_index=known.index,
        state=Finding.OPEN,
        spec_digest=known.root.spec_digest,
        asked=0,
        node_id=node.id,
        owner_id=node.owner_id,
        expected=known.expected,
        real_micros=known.subsidy.real,
        promotional_micros=known.subsidy.promotional,
        created_at=now,
    )
    session.add(check)
    return Consequences(reruns=(started,))
