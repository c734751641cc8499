"""Why a job still waits: how many nodes each gate removed, in the order in which a person would ask."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import BaseModel

from computepool.hub.market.feasibility import RULES, Gate, Traits, closed_gate
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.queue import Queue, Waiting
from computepool.protocol.capacity import SIMULATED
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import format_bytes

GROUPS_SHOWN = 8
"""Of slices of one job that wait for different things."""


class GateCount(BaseModel):
    gate: Gate
    removed: int
    detail: str


class WhySlice(BaseModel):
    """Why one slice, or all slices that wait alike, have no node."""

    slices: list[int]
    nodes_total: int
    gates: list[GateCount]
    feasible: int
    """Nodes that could run it, were they free and there."""
    free: int
    position: int
    """How many slices would be served before it."""
    summary: str
    suggestions: list[str]


def explain_all(fleet: Fleet, queue: Queue, waiting: Sequence[Waiting], now: datetime) -> list[WhySlice]:
    """Slices of one job, those that wait for the same together. Each group is a walk through the fleet, so there are
    only so many; whoever is left is counted, and the first of them speaks for all."""
    alike: dict[tuple[tuple[str, ...], bool, bool], list[Waiting]] = {}
    for one in waiting:
        alike.setdefault((one.avoid, one.is_due(now), one.continues), []).append(one)
    groups = list(alike.values())
    shown, rest = groups[:GROUPS_SHOWN], groups[GROUPS_SHOWN:]
    if rest:
        shown.append([one for group in rest for one in group])
    if not shown:
        return []
    speakers = [min(group, key=lambda one: (one.retry_at or now, one.slice_index)) for group in shown]
    answers = [
        explain(fleet, speaker, sorted(one.slice_index for one in group), position, now)
        for group, speaker, position in zip(shown, speakers, queue.ahead_of(speakers), strict=True)
    ]
    if rest:
        last = answers[-1]
        last.summary = f"{len(rest)} more groups of slices, which avoid other nodes. The first of them: {last.summary}"
    return answers


def explain(fleet: Fleet, waiting: Waiting, slices: list[int], position: int, now: datetime) -> WhySlice:
    needs = waiting.brief.requirements
    removed = Counter(fleet.gate(needs, node) for node in fleet)
    free = removed.pop(None, 0)
    gates = [GateCount(gate=gate, removed=removed[gate], detail=_detail(gate, needs)) for gate in Gate if removed[gate]]
    feasible = free + removed[Gate.STATE] + removed[Gate.OWNER] + removed[Gate.BUSY]
    return WhySlice(
        slices=slices,
        nodes_total=len(fleet),
        gates=gates,
        feasible=feasible,
        free=free,
        position=position,
        summary=_summary(len(fleet), feasible, removed, waiting, now),
        suggestions=_suggestions(fleet, needs) if feasible == 0 else [],
    )


def _summary(total: int, feasible: int, removed: Counter[Gate | None], waiting: Waiting, now: datetime) -> str:
    if total == 0:
        return "There is no node in the pool. Join one: the line that `computepool up` prints."
    if feasible == 0:
        who = "The only node can never" if total == 1 else f"None of the {total} nodes can ever"
        return f"{who} run it as it is specified."
    if waiting.retry_at is not None and waiting.retry_at > now:
        if waiting.continues:
            return f"It asked to be continued, and goes on at {waiting.retry_at:%H:%M:%S} UTC."
        return f"It failed before, and is tried again at {waiting.retry_at:%H:%M:%S} UTC."
    if removed[Gate.BUSY]:
        return (
            f"{_nodes(removed[Gate.BUSY])} could run it and {_is(removed[Gate.BUSY])} busy: it runs when one is free."
        )
    if removed[Gate.OWNER]:
        used = removed[Gate.OWNER]
        return f"{_nodes(used)} could run it, but {_is(used)} in use by {'its owner' if used == 1 else 'their owners'}."
    if removed[Gate.STATE]:
        gone = removed[Gate.STATE]
        return f"{_nodes(gone)} could run it, but {_is(gone)} offline, paused or draining."
    return "A node is free: it starts at any moment."


def _suggestions(fleet: Fleet, needs: Requirements) -> list[str]:
    """Single changes of the spec that would find a node: each gate that is the only one in some node's way."""
    found: dict[Gate, Traits] = {}
    for node in fleet:
        gate = closed_gate(needs, node.traits)
        if gate is None or gate is Gate.SIMULATED or not _only_gate(needs, node.traits, gate):
            # Who wants a job done is not helped by a node that only pretends.
            continue
        if gate is Gate.ISOLATION and not _would_do(needs, node.traits):
            continue
        known = found.setdefault(gate, node.traits)
        if gate is Gate.GPU and not known.gpus:
            found[gate] = node.traits  # another kind of GPU is nearer to what was asked for than none
    return [_suggestion(gate, traits) for gate, traits in found.items()]


def _only_gate(needs: Requirements, node: Traits, gate: Gate) -> bool:
    return all(passes(needs, node) for other, passes in RULES if other is not gate)


def _would_do(needs: Requirements, node: Traits) -> bool:
    """Asking for less finds it only where less is allowed."""
    return bool(node.isolation) and closed_gate(replace(needs, isolation=_strongest(node)), node) is None


def _strongest(node: Traits) -> IsolationLevel:
    return max(node.isolation, key=lambda level: level.rank)


def _suggestion(gate: Gate, node: Traits) -> str:
    return {
        Gate.NODE: f"leave out where.node: {node.node_id} would do",
        Gate.TRUST: "where.trust: any would find a stranger's node",
        Gate.WELCOME: "a node is there, but its host does not take such work: another image, or no network, may do",
        Gate.VERSION: "a node is there, but its agent is too old: its owner has to upgrade it",
        Gate.COUNTRY: f"where.country: [{node.country}] would find a node"
        if node.country
        else "leave out where.country: a node in an unknown one would do",
        Gate.TAGS: f"fewer tags: a node has [{', '.join(sorted(node.tags))}]",
        Gate.ISOLATION: f"isolation: {_strongest(node) if node.isolation else 'process'} would find a node",
        Gate.GPU: f"gpu: {_gpus(node)} is what a node has"
        if node.gpus
        else "leave out gpu: a node without one would do",
        Gate.CPUS: f"cpus: {node.cpu_millis / MILLI:g} would fit",
        Gate.MEMORY: f"memory: {_at_most(node.memory_bytes)} would fit",
        Gate.DISK: f"disk: {_at_most(node.disk_bytes)} would fit",
    }[gate]


def _detail(gate: Gate, needs: Requirements) -> str:
    return {
        Gate.SIMULATED: f"real machines, and where.tags asks for {SIMULATED} ones"
        if SIMULATED in needs.tags
        else f"simulated: they only pretend, for jobs with where.tags: [{SIMULATED}]",
        Gate.NODE: f"not {needs.node_id}",
        Gate.TRUST: "not yours (where.trust: mine)",
        Gate.WELCOME: "their hosts do not take such work",
        Gate.VERSION: "their agents are too old for the work of strangers",
        Gate.COUNTRY: f"not in {', '.join(sorted(needs.countries))}",
        Gate.TAGS: f"without {', '.join(sorted(needs.tags))}",
        Gate.ISOLATION: _isolation_detail(needs),
        Gate.GPU: "without such a GPU" if needs.gpu_count == 1 else f"without {needs.gpu_count} such GPUs",
        Gate.CPUS: f"fewer than {needs.cpu_millis / MILLI:g} cores",
        Gate.MEMORY: f"less than {format_bytes(needs.memory_bytes)} of memory",
        Gate.DISK: f"less than {format_bytes(needs.disk_bytes)} of disk",
        Gate.STATE: "offline, paused or draining",
        Gate.OWNER: "their owners are using them",
        Gate.BUSY: "others are using it",
    }[gate]


def _isolation_detail(needs: Requirements) -> str:
    wishes = [f"below {needs.least_isolation(own=False)}"]
    if needs.image is not None:
        wishes.append("without containers for the image")
    if needs.internet or needs.indexes:
        wishes.append("without a network for jobs")
    return ", or ".join(wishes)


def _gpus(node: Traits) -> str:
    """As a spec asks for them."""
    counted = Counter(gpu.slug for gpu in node.gpus)
    return " or ".join(f"{slug}:{count}" if count > 1 else slug for slug, count in counted.items())


def _at_most(size_bytes: int) -> str:
    """A round size, as a spec says it, that is not larger."""
    for unit in (1024**3, 1024**2, 1024):
        if size_bytes >= unit:
            return format_bytes(size_bytes // unit * unit)
    return format_bytes(size_bytes)


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
