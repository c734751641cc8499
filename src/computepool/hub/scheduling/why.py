"""Why a job still waits: how many nodes each gate removed, in the order in which a person would ask."""

from collections.abc import Callable, Sequence
from datetime import datetime

from computepool.hub.core.context import Context
from computepool.hub.jobs.policy import NOT_BEGUN, STALLED
from computepool.hub.jobs.tables import Job
from computepool.hub.scheduling.findings import GateCount, Look, Miss, RelaxationView
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.hub.scheduling.turns import Standing, ahead_of
from computepool.protocol.model import Documented
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import JOB_FINAL, Verdict

GROUPS_SHOWN = 8
"""Of slices of one job that wait for different things."""

AFTER: dict[str | None, str] = {
    EndReason.DECLINED: "A node did not want it now",
    NOT_BEGUN.reason: "Its node did not begin it",
    STALLED.reason: "Its node got no further with it",
    EndReason.UNREACHABLE: "Its image or an input could not be fetched",
    Verdict.OWNER: "The owner of its node took the machine back",
    Verdict.PREEMPTED: "It made room for others",
    Verdict.HUB: "The hub lost sight of it",
}
"""How it came to wait again, by the reason or else by the verdict of its last attempt."""


class WhySlice(Documented):
    """Why one slice, or all slices that wait alike, have no node."""

    slices: list[int]
    nodes_total: int
    gates: list[GateCount]
    """How many nodes each rule removed, in the order in which they are asked."""
    feasible: int
    """Nodes that could run it, were they free and there."""
    free: int
    position: int
    """How many slices would be served before it."""
    summary: str
    relaxations: list[RelaxationView]
    """The smallest first, one for each field."""
    misses: list[Miss]
    """The nodes that come nearest."""
    suggestions: list[str]
    """The words of the relaxations."""


async def explain_job(context: Context, scheduler: Scheduler, job_id: str) -> list[WhySlice]:
    """For each group of the job's slices that waits alike, what it waits for."""
    brief = scheduler.briefs.get(job_id)
    if brief is None:
        return []
    waiting = scheduler.replicas.list_waiting(scheduler.queue, brief)
    now, tick, admission = context.now(), context.clock.monotonic(), scheduler.admission
    return await explain_all(
        scheduler.fleet,
        scheduler.queue,
        waiting,
        now,
        lambda owner_id: scheduler.occupancy.standing(owner_id, tick),
        lambda each: (
            admission.why_limited(each, now) or admission.why_unfunded(each, now) or admission.why_kept(each, now, tick)
        ),
    )


def summarize(job: Job, waiting: list[WhySlice], suspended: int, live: int) -> str:
    """In one sentence. `suspended`: how many of its `live` attempts are."""
    if job.state in JOB_FINAL:
        words = f"It {'was canceled' if job.state == 'canceled' else job.state}: it waits for nothing."
        return f"{words} {job.message}" if job.state == "failed" and job.message else words
    if not waiting:
        if not suspended:
            return "Every slice has a node: it waits for nothing."
        who = "It is" if suspended == live == 1 else f"{suspended} of {live} slices with a node are"
        return f"{who} suspended: the machine's owner has paused it or is using it. It goes on there, or elsewhere."
    return waiting[0].summary


async def explain_all(
    fleet: Fleet,
    queue: Queue,
    waiting: Sequence[Waiting],
    now: datetime,
    standing: Standing = lambda owner_id: 0.0,
    why_held: Callable[[Waiting], str | None] = lambda waiting: None,
) -> list[WhySlice]:
    """Slices of one job, those that wait for the same together. Each group is a walk through the fleet, so there are
    only so many; whoever is left is counted, and the first of them speaks for all."""
    alike: dict[tuple[tuple[str, ...], bool, str], list[Waiting]] = {}
    for one in waiting:
        due = one.is_due(now)
        alike.setdefault((one.avoid, due, "" if due else _again(one)), []).append(one)
    groups = list(alike.values())
    shown, rest = groups[:GROUPS_SHOWN], groups[GROUPS_SHOWN:]
    if rest:
        shown.append([one for group in rest for one in group])
    if not shown:
        return []
    speakers = [min(group, key=lambda one: (one.retry_at or now, one.slice_index)) for group in shown]
    answers = []
    for group, speaker, position in zip(shown, speakers, ahead_of(queue, speakers, standing), strict=True):
        look = Look(fleet, speaker.brief.requirements)
        async for node in fleet.walk():
            look.count(node)
        if not look.free:
            await look.study()
        answers.append(_answer(look, speaker, sorted(one.slice_index for one in group), position, now))
    for answer, speaker in zip(answers, speakers, strict=True):
        if answer.free and (words := why_held(speaker)) is not None:
            answer.summary = words
    if rest:
        last = answers[-1]
        last.summary = f"{len(rest)} more groups of slices, which avoid other nodes. The first of them: {last.summary}"
    return answers


def _answer(look: Look, waiting: Waiting, slices: list[int], position: int, now: datetime) -> WhySlice:
    offered = look.relaxations()
    return WhySlice(
        slices=slices,
        nodes_total=look.total,
        gates=look.gates(),
        feasible=look.feasible,
        free=look.free,
        position=position,
        summary=_summary(look, waiting, now),
        relaxations=offered,
        misses=look.misses(),
        suggestions=[one.words for one in offered],
    )


def _summary(look: Look, waiting: Waiting, now: datetime) -> str:
    if waiting.retry_at is not None and waiting.retry_at > now and look.feasible:
        return f"{_again(waiting)} at {waiting.retry_at:%H:%M:%S} UTC."
    return look.summary()


def _again(waiting: Waiting) -> str:
    if waiting.continues:
        return "It asked to be continued, and goes on"
    if words := AFTER.get(waiting.reason) or AFTER.get(waiting.verdict):
        return f"{words}: it is tried again"
    return "It failed before, and is tried again"
