"""A node's record as a value: what happened goes in, what matching asks for comes out. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta

from computepool.hub.market.standing import Standing
from computepool.hub.reputation import claims, declining, quarantine
from computepool.hub.reputation.claims import BELIEVED, Claim
from computepool.hub.reputation.declining import NO_DECLINES, Declines
from computepool.hub.reputation.quarantine import NO_TROUBLE, Trouble
from computepool.hub.reputation.reliability import Evidence
from computepool.protocol.states import Verdict

RECORD_FROM = 5.0
"""Evidence, in attempts that were ok: with less than that nobody can say much of a node, and it is tried out."""
JUDGES_FROM = 10
"""Results that were audited and found right, and none wrong: from then on they can prove another's wrong."""
VERIFIED_FROM = 50
"""Strangers' attempts that were ok."""


@dataclass(frozen=True, slots=True)
class Happening:
    """An end of a stranger's attempt that counts."""

    verdict: Verdict
    weight: float
    at: datetime
    crowd: int = 0


@dataclass(frozen=True, slots=True)
class Record:
    evidence: Evidence
    first_seen: datetime
    ok_count: int = 0
    trouble: Trouble = NO_TROUBLE
    claim: Claim = BELIEVED
    declines: Declines = NO_DECLINES
    marked: bool = False
    proven: bool = False
    audited_ok: int = 0
    audited_wrong: int = 0
    online_since: datetime | None = None
    online_days: Mapping[str, float] = field(default_factory=dict)


def fresh(first_seen: datetime) -> Record:
    return Record(Evidence(0.0, 0.0, first_seen), first_seen)


def after(record: Record, what: Happening, half_life: timedelta) -> Record:
    return replace(
        record,
        evidence=record.evidence.moved(what.weight, what.at, half_life),
        ok_count=record.ok_count + (what.verdict is Verdict.OK),
        trouble=quarantine.after(record.trouble, what.verdict, what.at),
        claim=claims.after(record.claim, what.verdict, what.crowd),
        declines=NO_DECLINES if what.verdict is Verdict.OK else record.declines,
    )


def without(record: Record, what: Happening, others: Iterable[Happening], half_life: timedelta) -> Record:
    """As if it had never happened. `others`: the newest of the rest, oldest first, which streaks follow from."""
    trouble, claim = NO_TROUBLE, BELIEVED
    for other in others:
        trouble = quarantine.after(trouble, other.verdict, other.at)
        claim = claims.after(claim, other.verdict, other.crowd)
    return replace(
        record, evidence=record.evidence.without(what.weight, what.at, half_life), trouble=trouble, claim=claim
    )


def standing_of(record: Record, now: datetime, half_life: timedelta) -> Standing:
    evidence = record.evidence.at(now, half_life)
    return Standing(
        mean=evidence.mean,
        lower=evidence.lower,
        has_record=evidence.total >= RECORD_FROM,
        verified=record.marked and record.proven and record.ok_count >= VERIFIED_FROM,
        quarantined_until=quarantine.closed_until(record.trouble, now),
        may_judge=record.audited_ok >= JUDGES_FROM and not record.audited_wrong,
        slots=1 if record.trouble.until is not None else record.claim.slots,
        declined_until=declining.not_asked_until(record.declines, now),
        ok_count=record.ok_count,
        marked=record.marked,
    )


def missing_for_verified(record: Record, unproven: Sequence[str]) -> list[str]:
    """What keeps it from counting as verified; empty if it does. `unproven`: what the machine itself lacks."""
    found = []
    if not record.marked:
        found.append("the operator has not checked its owner")
    if not record.proven:
        found += unproven or ["it has not connected since it was measured"]
    if record.ok_count < VERIFIED_FROM:
        found.append(f"{record.ok_count} of {VERIFIED_FROM} attempts for others were ok")
    return found
