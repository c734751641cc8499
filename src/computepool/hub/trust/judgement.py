"""Who is right when results are compared. Pure: every case is a line in a test.

A node is guilty only if two reruns, by owners that are neither its own nor each other's, agree with each other and not
with it. Both must be of nodes with a record of right results: anybody may clear a node, but two newcomers who leave
everything undone agree with each other too. If such reruns disagree, the job was not deterministic, and nobody is to
blame but its renter.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from computepool.hub.trust.results import Result, independent

RERUNS_FOR_GUILT = 2
RERUNS_AGAINST_A_JUDGE = 3
"""Who was found right often enough to judge others is believed a little more."""


class Finding(StrEnum):
    OPEN = "open"
    """Another rerun is needed."""
    VALID = "valid"
    GUILTY = "guilty"
    NOT_DETERMINISTIC = "nondeterm"


def judge(accused: Result, reruns: Sequence[Result]) -> Finding:
    """Of an audited result. If the first rerun agrees, that is all; else it takes two that may judge, or three."""
    needed = _needed_against(accused)
    others = independent(reruns, but=accused.owner_id)
    if others and others[0].digest == accused.digest:
        return Finding.VALID
    judges = [one for one in others if one.may_judge][:needed]
    if len({one.digest for one in judges}) > 1:
        return Finding.NOT_DETERMINISTIC
    if len(judges) < needed:
        return Finding.OPEN
    return Finding.VALID if judges[0].digest == accused.digest else Finding.GUILTY


def judge_against(accused: Result, expected: str, reruns: Sequence[Result]) -> Finding:
    """Of a canary, whose right result is known. A wrong answer needs one rerun more than in an audit, and all of them
    have to give the known one: two may have agreed on nothing, and a job with few outcomes is sent again and again."""
    if accused.digest == expected:
        return Finding.VALID
    needed = _needed_against(accused) + 1
    judges = [one for one in independent(reruns, but=accused.owner_id) if one.may_judge][:needed]
    if any(one.digest != expected for one in judges):
        return Finding.NOT_DETERMINISTIC
    return Finding.GUILTY if len(judges) == needed else Finding.OPEN


def _needed_against(accused: Result) -> int:
    return RERUNS_AGAINST_A_JUDGE if accused.may_judge else RERUNS_FOR_GUILT


@dataclass(frozen=True, slots=True)
class Count:
    """What replicas of one slice say together."""

    finding: Finding
    """OPEN: some are missing. VALID: `digest` is the result."""
    digest: str | None = None
    outvoted: tuple[Result, ...] = ()
    """Those that say otherwise although two or more owners agree: their attempts are wrong."""
    one_more: bool = False
    """No majority: one more replica is to decide."""
    proven: bool = False
    """Two of the majority may judge: those who were outvoted are guilty, not just unlucky in their company."""


def count_votes(results: Sequence[Result], replicas: int) -> Count:
    """Each owner has one voice. `replicas`: so many were asked for; one more after a tie, and then it is enough."""
    voices = independent(results)
    if len(voices) < replicas:
        return Count(Finding.OPEN)
    ranked = Counter(one.digest for one in voices).most_common()
    digest, votes = ranked[0]
    if votes == len(voices):
        return Count(Finding.VALID, digest)
    if votes >= RERUNS_FOR_GUILT and 2 * votes > len(voices):
        outvoted = tuple(one for one in voices if one.digest != digest)
        judges = sum(one.may_judge for one in voices if one.digest == digest)
        return Count(Finding.VALID, digest, outvoted, proven=judges >= RERUNS_FOR_GUILT)
    if len(voices) > replicas:
        return Count(Finding.NOT_DETERMINISTIC)
    return Count(Finding.OPEN, one_more=True)
