"""What the end of an attempt means, and what comes next. Pure functions: every case is a line in a table or a test."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from computepool.protocol.exit_words import exit_sentence
from computepool.protocol.limits import DETAIL_LIMIT_CHARACTERS
from computepool.protocol.receipt import CONTINUE_LATER, EndReason
from computepool.protocol.states import AttemptState, JobState, Verdict
from computepool.protocol.timing import BEGIN_SECONDS, LOST_LIMIT, PROGRESS_SECONDS

BACKOFF_FIRST_SECONDS = 1.0
BACKOFF_LONGEST_SECONDS = 60.0
DECLINED_SECONDS = 10.0
"""Until a node that did not want it is asked again."""
PREEMPTED = "preempted"
"""The reason of an attempt that lost its slot to others."""
OUT_OF_BUDGET = "budget"
"""The reason of one for which there is no more money."""
OUT_OF_STORAGE = "storage"
"""The reason of one whose log is more than its renter may store."""
PREEMPTED_SECONDS = 5.0
"""Until one that had to make room waits for a node again: who it made room for comes first."""
SAME_WAY_LIMIT = 3
"""Nodes on which a slice may fail in the same way: then it is not the nodes."""
GO_ON_SECONDS = 5.0
"""Until one that asked to be continued is: a job that does so at once, again and again, must not keep the hub busy."""

SAID_ALREADY = ("the job ran longer than", "the job used more memory than", "the job wrote more to disk than")
"""How a node begins to say which limit ended it, which the reason says already."""

VERDICT_OF_REASON: dict[EndReason, Verdict] = {
    EndReason.EXITED: Verdict.RENTER,  # with exit code 0: ok
    EndReason.MEMORY: Verdict.RENTER,
    EndReason.DISK: Verdict.RENTER,
    EndReason.RUNTIME: Verdict.RENTER,
    EndReason.CANCELED: Verdict.RENTER,
    EndReason.OUTPUTS: Verdict.RENTER,
    EndReason.BUNDLE: Verdict.RENTER,
    EndReason.START_FAILED: Verdict.RENTER,
    EndReason.BAD_INPUT: Verdict.RENTER,
    EndReason.SLOW_INPUT: Verdict.RENTER,
    EndReason.UNREACHABLE: Verdict.HUB,
    EndReason.SANDBOX: Verdict.HOST,
    EndReason.INPUT: Verdict.HOST,
    EndReason.NODE_DISK: Verdict.HOST,
    EndReason.DECLINED: Verdict.OWNER,
}

NEVER_BETTER_NEXT_TIME = frozenset(
    {EndReason.CANCELED, EndReason.BUNDLE, EndReason.BAD_INPUT, EndReason.START_FAILED, OUT_OF_STORAGE}
)
"""Ends that another try with the same spec cannot change."""

TOLD_BY_NODES = frozenset(EndReason)
"""What receipts say, and not what the hub thinks of one that it does not believe."""

WORST_FIRST = (
    Verdict.HOST,
    Verdict.HUB,
    Verdict.BUDGET,
    Verdict.PREEMPTED,
    Verdict.OWNER,
    Verdict.RENTER,
    Verdict.OK,
)


def readable(text: str) -> str:
    """What a host wrote, as it may be stored and shown: no control characters, no more than a few lines of it."""
    return "".join(c if c.isprintable() else " " for c in text[:DETAIL_LIMIT_CHARACTERS])


@dataclass(frozen=True)
class Ending:
    """How an attempt ended, whoever tells it: the node's receipt, or the hub that lost sight of it."""

    verdict: Verdict
    reason: str
    exit_code: int | None = None
    detail: str = ""
    lost: bool = False
    """Nobody on the node can say how it ended."""
    is_hubs_fault: bool = False
    """The hub found by itself that it was its own: only then the platform pays."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "detail", readable(self.detail))

    @property
    def attempt_state(self) -> AttemptState:
        if self.lost:
            return AttemptState.LOST
        if self.verdict is Verdict.OK:
            return AttemptState.SUCCEEDED
        return AttemptState.CANCELED if self.reason == EndReason.CANCELED else AttemptState.FAILED


UNTOLD_SECONDS = 30 * 60.0
"""For which an agent that does not tell what it prepares may say nothing of an attempt before it runs."""
NOT_BEGUN = Ending(
    Verdict.HOST, "not_begun", detail=f"the node did not start the attempt within {BEGIN_SECONDS:.0f} s", lost=True
)
STALLED = Ending(
    Verdict.HOST,
    "stalled",
    detail=f"the node reported nothing about the attempt for {PROGRESS_SECONDS:.0f} s",
    lost=True,
)
UNTOLD = Ending(
    Verdict.HUB,
    "stalled",
    detail=f"the node reported nothing about the attempt for {UNTOLD_SECONDS / 60:.0f} minutes",
    lost=True,
)
"""On a node whose agent says nothing while it fetches: that is not held against it."""
UNPROVEN = Ending(
    Verdict.HOST, "stalled", detail="the node, which has no record yet, took too long to prepare the attempt", lost=True
)
IDLE_REASONS = frozenset({NOT_BEGUN.reason, STALLED.reason})
"""Of attempts that a node had and did nothing with. It cannot have them back by saying that it has them."""
NOT_TAKEN = frozenset({EndReason.DECLINED, NOT_BEGUN.reason})
"""Of attempts of which nothing was done."""


@dataclass(frozen=True)
class Tries:
    """What a slice has been through, this attempt not yet counted."""

    failures: int
    losses: int
    retries_allowed: int
    progressed: bool = False
    """This attempt saved a checkpoint: the next one goes on from there."""
    alike: int = 1
    """Nodes on which an attempt ended as this one did, this one's among them."""
    is_the_jobs: bool = False
    """Nodes of different owners ended it in the same way: whatever they say, it is the job (ADR 0037)."""


@dataclass(frozen=True)
class Next:
    """What becomes of the slice. A queued one may use the node that failed it again after the delay."""

    state: JobState
    failures: int
    losses: int
    delay_seconds: float = 0.0
    avoid_node: bool = False
    message: str | None = None
    continues: bool = False
    """It did not fail: it asked to go on later from what it saved."""


def ending_of(reason: EndReason, exit_code: int | None, detail: str) -> Ending:
    verdict = VERDICT_OF_REASON[reason]
    if reason is EndReason.EXITED and exit_code == 0:
        verdict = Verdict.OK
    return Ending(verdict, reason, exit_code, detail)


def as_asked(ending: Ending, *, leaves_for: Verdict | None, cancel_requested: bool) -> Ending:
    """One that ends because it was told to make room lost its slot: that is nobody's fault. If it was told so because
    the money for it is over, that is why it ends. A node that was not told so has no business to say it."""
    claims = ending.verdict is Verdict.PREEMPTED
    if leaves_for is not None and not cancel_requested and (claims or ending.reason == EndReason.CANCELED):
        reason = OUT_OF_BUDGET if leaves_for is Verdict.BUDGET else PREEMPTED
        return replace(ending, verdict=leaves_for, reason=reason)
    if claims:
        return replace(ending, verdict=Verdict.HOST, reason="agent_restarted")
    return ending


def next_step(ending: Ending, tries: Tries, *, cancel_requested: bool) -> Next:
    """Retry, or the slice's end. A verdict that is not the renter's never uses up the renter's retries.

    Nor does an attempt that asks to be continued later; and one that got further is not counted among those that were
    lost for nothing.
    """
    if ending.verdict is Verdict.OK:
        return Next(JobState.SUCCEEDED, tries.failures, tries.losses)
    if cancel_requested:
        return Next(JobState.CANCELED, tries.failures, tries.losses)
    if wants_to_go_on(ending) and tries.progressed:
        return Next(JobState.QUEUED, tries.failures, tries.losses, delay_seconds=GO_ON_SECONDS, continues=True)
    if ending.verdict is Verdict.PREEMPTED:
        return Next(JobState.QUEUED, tries.failures, tries.losses, delay_seconds=PREEMPTED_SECONDS)
    is_renters = ending.verdict is Verdict.RENTER or tries.is_the_jobs
    step = _after_renters_doing(ending, tries) if is_renters else _after_others_doing(ending, tries)
    if tries.is_the_jobs and step.state is JobState.FAILED:
        return replace(step, message=_same_way(ending, tries.alike))
    if step.state is JobState.QUEUED and tries.alike >= SAME_WAY_LIMIT and may_be_the_jobs_doing(ending, tries):
        return Next(JobState.FAILED, step.failures, step.losses, message=_same_way(ending, tries.alike))
    return step


def may_be_the_jobs_fault(ending: Ending, *, progressed: bool, own: bool) -> bool:
    """The node blames itself, in a receipt. One that vanished, or that the hub does not believe, is not excused."""
    told = not ending.lost and ending.reason in TOLD_BY_NODES
    return ending.verdict is Verdict.HOST and told and not progressed and not own


def may_be_the_jobs_doing(ending: Ending, tries: Tries) -> bool:
    """It ended by itself and for nothing, and its node could say how: what happens on node after node is the job."""
    told = not ending.lost and ending.reason in TOLD_BY_NODES
    return told and ending.verdict in (Verdict.RENTER, Verdict.HOST) and not tries.progressed


def _after_others_doing(ending: Ending, tries: Tries) -> Next:
    if ending.verdict is Verdict.BUDGET:
        return Next(JobState.FAILED, tries.failures, tries.losses, message=_in_words(ending))
    if ending.reason in NOT_TAKEN:
        # Nothing of it was done, so that nothing is lost: others are tried, and this one again later. However many
        # nodes take it and do nothing, that does not fail it.
        return Next(JobState.QUEUED, tries.failures, tries.losses, delay_seconds=DECLINED_SECONDS, avoid_node=True)
    losses = tries.losses if tries.progressed else tries.losses + 1
    if losses >= LOST_LIMIT:
        return Next(JobState.FAILED, tries.failures, losses, message=_in_words(ending))
    return Next(
        JobState.QUEUED,
        tries.failures,
        losses,
        delay_seconds=backoff_seconds(max(1, losses)),
        avoid_node=ending.verdict in (Verdict.HOST, Verdict.OWNER) or ending.reason == EndReason.UNREACHABLE,
    )


def wants_to_go_on(ending: Ending) -> bool:
    """It left by itself, and said so. Without a new checkpoint that is a failure like any other: it would never end."""
    return ending.reason == EndReason.EXITED and ending.exit_code == CONTINUE_LATER


def backoff_seconds(times: int) -> float:
    doublings = min(times - 1, 30)
    return float(min(BACKOFF_FIRST_SECONDS * 2**doublings, BACKOFF_LONGEST_SECONDS))


def why_failed(verdict: Verdict, reason: str, exit_code: int | None) -> str:
    """In words, for a slice whose last attempt ended so and left it failed."""
    if verdict is Verdict.HOST and reason in TOLD_BY_NODES:
        return f"Several nodes could not run the job (the last one: {reason}), so it was not tried again."
    return _in_words(Ending(verdict, reason, exit_code))


def _same_way(ending: Ending, nodes: int) -> str:
    words = f"The job failed in the same way on {nodes} nodes, so it was not tried again."
    if ending.verdict is Verdict.RENTER:
        return f"{words} {_in_words(ending)}"[:DETAIL_LIMIT_CHARACTERS]
    return f"{words} ({ending.reason}) {_what_it_adds(ending.detail)}".strip()[:DETAIL_LIMIT_CHARACTERS]


def _after_renters_doing(ending: Ending, tries: Tries) -> Next:
    failures = tries.failures + 1
    if ending.reason == EndReason.CANCELED:
        return Next(JobState.CANCELED, failures, tries.losses)
    if ending.reason in NEVER_BETTER_NEXT_TIME or failures > tries.retries_allowed:
        return Next(JobState.FAILED, failures, tries.losses, message=_in_words(ending))
    return Next(
        JobState.QUEUED,
        failures,
        tries.losses,
        delay_seconds=backoff_seconds(failures),
        # Another node may have a better line to where the input is.
        avoid_node=ending.reason == EndReason.SLOW_INPUT,
    )


def _in_words(ending: Ending) -> str:
    if ending.verdict is Verdict.BUDGET:
        return "The job's budget or your credits ran out."
    if ending.reason == EndReason.UNREACHABLE:
        told = f"The image or an input could not be downloaded, in {LOST_LIMIT} attempts."
        return f"{told} {_what_it_adds(ending.detail)}"[:DETAIL_LIMIT_CHARACTERS]
    if ending.verdict is not Verdict.RENTER:
        return f"{LOST_LIMIT} attempts were lost (the last one: {ending.reason}), so the job was not tried again."
    words: dict[str, str] = {
        EndReason.EXITED: exit_sentence(ending.exit_code or 0),
        EndReason.MEMORY: "The command used more memory than `resources.memory` allows.",
        EndReason.DISK: "The command wrote more than `resources.disk` allows.",
        EndReason.RUNTIME: "The command ran longer than `max_runtime` allows.",
        EndReason.START_FAILED: "The command could not be started.",
        EndReason.BUNDLE: "The node rejected the bundle.",
        EndReason.BAD_INPUT: "An input cannot be used.",
        EndReason.SLOW_INPUT: "The download of the image or an input was too slow.",
        EndReason.OUTPUTS: "The outputs could not be stored.",
        OUT_OF_STORAGE: "The log could not be stored.",
    }
    text = words.get(ending.reason, f"Ended: {ending.reason}.")
    if ending.reason == EndReason.EXITED and ending.detail.startswith("setup failed"):
        text = ""
    if wants_to_go_on(ending):
        text = f"The command ended with exit code {CONTINUE_LATER} (continue later), but saved no new checkpoint."
    return f"{text} {_what_it_adds(ending.detail)}".strip()[:DETAIL_LIMIT_CHARACTERS]


def _what_it_adds(detail: str) -> str:
    """The node's own words, without those that only say again which limit it was."""
    parts = [part for part in detail.split("; ") if not part.startswith(SAID_ALREADY)]
    text = "; ".join(parts)
    return text[:1].upper() + text[1:]


def job_end(
    slices: Sequence[tuple[str, str | None, int | None, str | None]],
) -> tuple[JobState, dict[str, Any]]:
    """Of slices that ended so, each (state, verdict, exit code, reason): canceled before failed before succeeded."""
    states = {state for state, *_ in slices}
    state = next(s for s in (JobState.CANCELED, JobState.FAILED, JobState.SUCCEEDED) if s in states)
    ranked = sorted(
        (row for row in slices if row[0] == state),
        key=lambda row: WORST_FIRST.index(Verdict(row[1])) if row[1] else len(WORST_FIRST),
    )
    _, verdict, exit_code, reason = ranked[0]
    if state is JobState.CANCELED:
        verdict, reason = verdict or Verdict.RENTER, reason or "canceled"
    return state, {"verdict": verdict, "exit_code": exit_code, "reason": reason}
