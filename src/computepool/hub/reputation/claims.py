"""Nodes that claim to hold more than they do: the hub lowers how many strangers' slices they get at once. Pure.

A slice that breaks on the host's side for want of room, while others run beside it, is a strike. The second strike
halves what the node gets at once, whatever it claims; every ten that are ok in a row give one back, until it has again
as many as it failed with, and its claim is believed once more.
"""

from dataclasses import dataclass

from computepool.protocol.receipt import EndReason
from computepool.protocol.states import Verdict

WANT_OF_ROOM: frozenset[str] = frozenset({EndReason.SANDBOX, EndReason.NODE_DISK})
"""Host verdicts of a machine that has not what it offers: what could not be set up, and a full disk."""
STRIKES = 2
GIVEN_BACK_EVERY = 10


@dataclass(frozen=True, slots=True)
class Claim:
    slots: int | None = None
    """The most that it gets at once; None for as many as it claims to hold."""
    peak: int = 0
    """So many it had when it failed."""
    strikes: int = 0
    clean: int = 0
    """Attempts that were ok since the last strike, or since a slot was given back."""


BELIEVED = Claim()


def after(claim: Claim, verdict: Verdict, crowd: int) -> Claim:
    """`crowd`: how many strangers' slices it had, this one counted, if this one broke for want of room; else 0."""
    if verdict is Verdict.HOST and crowd > 1:
        return _after_strike(claim, crowd)
    if verdict is not Verdict.OK or claim == BELIEVED:
        return claim
    clean = claim.clean + 1
    if clean < GIVEN_BACK_EVERY:
        return Claim(claim.slots, claim.peak, claim.strikes, clean)
    if claim.slots is None or claim.slots + 1 >= claim.peak:
        return BELIEVED
    return Claim(claim.slots + 1, claim.peak)


def _after_strike(claim: Claim, crowd: int) -> Claim:
    strikes, peak = claim.strikes + 1, max(claim.peak, crowd)
    if strikes < STRIKES:
        return Claim(claim.slots, peak, strikes)
    lowered = max(1, crowd // 2)
    slots = lowered if claim.slots is None else min(claim.slots, lowered)
    return Claim(slots, peak)


def in_words(claim: Claim) -> str:
    """For the node's owner; empty if its claim is believed."""
    if claim.slots is None:
        return ""
    slices = "one slice" if claim.slots == 1 else f"{claim.slots} slices"
    return (
        f"Slices broke here for want of room with {claim.peak} at once, so it gets {slices} of others at once for now. "
        "Check its disk and memory, and offer less; clean work gives them back."
    )
