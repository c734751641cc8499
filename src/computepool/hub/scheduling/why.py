"""Why a job still waits: how many nodes each gate removed, in the order in which a person would ask."""

from bisect import insort
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime

from computepool.hub.core.context import Context
from computepool.hub.jobs.policy import NOT_BEGUN, STALLED
from computepool.hub.jobs.tables import Job
from computepool.hub.market.feasibility import Gate, closed_gates, is_hidden, missing_isolation
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.hub.scheduling.fleet import Fleet, FleetNode
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.hub.scheduling.relaxations import Relaxation, smallest_change
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.hub.scheduling.turns import Standing, ahead_of
from computepool.protocol.capacity import SIMULATED
from computepool.protocol.model import Documented
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import JOB_FINAL, Verdict
from computepool.protocol.units import format_bytes, spell_credits

GROUPS_SHOWN = 8
"""Of slices of one job that wait for different things."""
MISSES_SHOWN = 3
SMALL = 0.5
"""Doing with half as much, or paying half as much again."""
OF_THE_MOMENT = frozenset({None, Gate.STATE, Gate.OWNER, Gate.BUSY, Gate.ALLOWANCE, Gate.DECLINES})
"""A node that is behind none but these could run it at another time."""


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


class GateFinding(Documented):
    """How many nodes one rule removed, and why, in words."""

    gate: Gate
    removed: int
    detail: str


class RelaxationView(Documented):
    """One change of the spec that would find a node."""

    field: str
    """The key of the spec, such as `resources.memory`."""
    words: str
    free_now: bool
    """False if that node is busy, away, or in use by its owner."""


class Miss(Documented):
    """A node that is nearest to what was asked for, and what is in its way."""

    node_id: str
    gates: list[Gate]
    """What it does not pass."""


class WhySlice(Documented):
    """Why one slice, or all slices that wait alike, have no node."""

    slices: list[int]
    nodes_total: int
    gates: list[GateFinding]
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
        look = _Look(fleet, speaker.brief.requirements)
        async for node in fleet.walk():
            look.at(node)
        answers.append(look.answer(speaker, sorted(one.slice_index for one in group), position, now))
    for answer, speaker in zip(answers, speakers, strict=True):
        if answer.free and (words := why_held(speaker)) is not None:
            answer.summary = words
    if rest:
        last = answers[-1]
        last.summary = f"{len(rest)} more groups of slices, which avoid other nodes. The first of them: {last.summary}"
    return answers


class _Look:
    """A walk through the fleet, node by node, so that whoever has other things to do can pause in between."""

    def __init__(self, fleet: Fleet, needs: Requirements) -> None:
        self._fleet, self._needs = fleet, needs
        self._removed: Counter[Gate | None] = Counter()
        self._only_not_independent = 0
        self._isolation: Counter[str] = Counter()
        self._changes: dict[str, tuple[bool, float, Relaxation]] = {}
        """By field, the smallest, and of those the ones that would find a node that is free now."""
        self._misses: list[tuple[int, str, list[Gate]]] = []

    def at(self, node: FleetNode) -> None:
        gate = self._fleet.gate(self._needs, node)
        self._removed[gate] += 1
        if gate is Gate.ISOLATION:
            self._isolation[missing_isolation(self._needs, node.traits)] += 1
        elif gate is Gate.INDEPENDENT:
            self._only_not_independent += closed_gates(self._needs, node.traits) == [gate]
        if gate not in OF_THE_MOMENT:
            self._note_miss(node)
            change = smallest_change(self._needs, node.traits)
            if change is not None:
                change = replace(change, words=change.words.replace(*self._called(node)))
                rank = (self._fleet.gate(change.needs, node) is not None, change.size)
                known = self._changes.get(change.field)
                if known is None or rank < known[:2]:
                    self._changes[change.field] = (*rank, change)

    def _note_miss(self, node: FleetNode) -> None:
        closed = closed_gates(self._needs, node.traits)
        if Gate.SIMULATED not in closed and not is_hidden(self._needs, node.traits):
            insort(self._misses, (len(closed), node.traits.node_id, closed))
            del self._misses[MISSES_SHOWN:]

    def answer(self, waiting: Waiting, slices: list[int], position: int, now: datetime) -> WhySlice:
        removed, total = self._removed, self._removed.total()
        free = removed.pop(None, 0)
        feasible = free + sum(removed[gate] for gate in OF_THE_MOMENT if gate is not None)
        changes = sorted(self._changes.values(), key=lambda one: one[:2])
        if feasible:
            # Nodes could run it and are busy: only a small change that finds a free one is worth it.
            changes = [one for one in changes if not one[0] and one[1] <= SMALL and not free]
        offered = [RelaxationView(field=c.field, words=c.words, free_now=not later) for later, _, c in changes]
        return WhySlice(
            slices=slices,
            nodes_total=total,
            gates=[
                GateFinding(gate=gate, removed=removed[gate], detail=self._detail(gate))
                for gate in Gate
                if removed[gate]
            ],
            feasible=feasible,
            free=free,
            position=position,
            summary=self._summary(total, feasible, waiting, now),
            relaxations=offered,
            misses=[Miss(node_id=node_id, gates=gates) for _, node_id, gates in self._misses] if not feasible else [],
            suggestions=[one.words for one in offered],
        )

    def _summary(self, total: int, feasible: int, waiting: Waiting, now: datetime) -> str:
        if total and not feasible and (others := self._only_not_independent):
            could = f"{_nodes(others)} could run it, but {'its owner runs' if others == 1 else 'their owners run'}"
            return f"{could} the same already: it waits for a node of somebody else."
        return _summary(total, feasible, self._removed, waiting, now)

    def _detail(self, gate: Gate) -> str:
        if gate is Gate.ISOLATION:
            return ", or ".join(words for words, _ in self._isolation.most_common())
        if gate is Gate.NODE and self._needs.node_id is not None:
            wanted = self._fleet.get(self._needs.node_id)
            return f"not {self._called(wanted)[1] if wanted is not None else self._needs.node_id}"
        return _detail(gate, self._needs)

    def _called(self, node: FleetNode) -> tuple[str, str]:
        """Its id, and its name if it is one's own: of others' machines only the id is known."""
        node_id, own = node.traits.node_id, node.traits.owner_id == self._needs.owner_id
        return node_id, node.name if own else node_id


def _summary(total: int, feasible: int, removed: Counter[Gate | None], waiting: Waiting, now: datetime) -> str:
    if total == 0:
        return "There is no node in the pool. Join one: the line that `computepool up` prints."
    if feasible == 0 and removed[Gate.RELIABILITY] and waiting.brief.requirements.min_reliability is None:
        kept = removed[Gate.RELIABILITY]
        return f"{_nodes(kept)} could run it, but {_is(kept)} in quarantine after failing again and again, for a while."
    if feasible == 0:
        who = "The only node can never" if total == 1 else f"None of the {total} nodes can ever"
        return f"{who} run it as it is specified."
    if waiting.retry_at is not None and waiting.retry_at > now:
        return f"{_again(waiting)} at {waiting.retry_at:%H:%M:%S} UTC."
    if removed[Gate.BUSY]:
        return (
            f"{_nodes(removed[Gate.BUSY])} could run it and {_is(removed[Gate.BUSY])} busy: it runs when one is free."
        )
    if removed[Gate.ALLOWANCE]:
        new = removed[Gate.ALLOWANCE]
        return (
            f"{_nodes(new)} could run it, but {'has' if new == 1 else 'have'} as many slices of others as"
            f" {'it gets' if new == 1 else 'they get'} at once so far: it runs when one of them has ended."
        )
    if removed[Gate.DECLINES]:
        unwilling = removed[Gate.DECLINES]
        return (
            f"{_nodes(unwilling)} could run it, but declined what {'it was' if unwilling == 1 else 'they were'} offered"
            f" last, and {_is(unwilling)} asked again later."
        )
    if removed[Gate.OWNER]:
        used = removed[Gate.OWNER]
        return f"{_nodes(used)} could run it, but {_is(used)} in use by {'its owner' if used == 1 else 'their owners'}."
    if removed[Gate.STATE]:
        gone = removed[Gate.STATE]
        return f"{_nodes(gone)} could run it, but {_is(gone)} offline, paused or draining."
    return "A node is free: it starts at any moment."


def _again(waiting: Waiting) -> str:
    if waiting.continues:
        return "It asked to be continued, and goes on"
    if words := AFTER.get(waiting.reason) or AFTER.get(waiting.verdict):
        return f"{words}: it is tried again"
    return "It failed before, and is tried again"


def _detail(gate: Gate, needs: Requirements) -> str:
    return {
        Gate.SIMULATED: f"real machines, and where.tags asks for {SIMULATED} ones"
        if SIMULATED in needs.tags
        else f"simulated: they only pretend, for jobs with where.tags: [{SIMULATED}]",
        Gate.NODE: "not the one that where.node names",
        Gate.TRUST: "not yours (where.trust: mine)" if needs.mine_only else "not verified (where.trust: verified)",
        Gate.INDEPENDENT: "their owners run the same already: replicas and checks go to others",
        Gate.WELCOME: "their hosts do not take such work",
        Gate.VERSION: "their agents are too old for the work of strangers",
        Gate.COUNTRY: f"not in {', '.join(sorted(needs.countries))}",
        Gate.TAGS: f"without {', '.join(sorted(needs.tags))}",
        Gate.ISOLATION: "not isolated as it asks for",
        Gate.GPU: "without such a GPU" if needs.gpu_count == 1 else f"without {needs.gpu_count} such GPUs",
        Gate.CPUS: f"fewer than {needs.cpu_millis / MILLI:g} cores",
        Gate.MEMORY: f"less than {format_bytes(needs.memory_bytes)} of memory",
        Gate.DISK: f"less than {format_bytes(needs.disk_bytes)} of disk",
        Gate.RELIABILITY: "in quarantine: they failed again and again"
        if needs.min_reliability is None
        else f"less reliable than {needs.min_reliability:g}, or in quarantine",
        Gate.PRICE: f"ask for more than {spell_credits(needs.max_price_micros or 0)} an hour",
        Gate.STATE: "offline, paused or draining",
        Gate.OWNER: "their owners are using them",
        Gate.BUSY: "others are using it",
        Gate.DECLINES: "declined what they were offered, and are asked again later",
        Gate.ALLOWANCE: "have as many slices of others as they get at once so far",
    }[gate]


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
