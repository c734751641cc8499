"""What a walk through the fleet finds for one request: which rules remove how many nodes, in words, and which single
changes of the spec would find one. `why` tells it of jobs that wait, quotes of jobs that are not submitted yet."""

import asyncio
from bisect import insort
from collections import Counter
from dataclasses import replace

from computepool.hub.market.feasibility import Gate, closed_gates, is_hidden, missing_isolation
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.hub.scheduling.fleet import Fleet, FleetNode
from computepool.hub.scheduling.relaxations import Relaxation, SpelledValue, smallest_change, spelled
from computepool.hub.scheduling.survey import NOT_NOW
from computepool.protocol.capacity import SIMULATED
from computepool.protocol.model import Documented
from computepool.protocol.units import format_bytes, spell_credits

MISSES_SHOWN = 3
SMALL = 0.5
"""Doing with half as much, or paying half as much again."""
STUDIED_AT_ONCE = 100
"""Nodes that are looked at closely without a breath: a few milliseconds."""


class GateCount(Documented):
    """How many nodes one rule removed, and why, in words."""

    gate: Gate
    removed: int
    detail: str


class RelaxationView(Documented):
    """One change of the spec that would find a node."""

    field: str
    """The key of the spec, such as `resources.memory`."""
    value: SpelledValue
    """What the field becomes, as a spec writes it; null where it is left out."""
    words: str
    free_now: bool
    """False if that node is busy, away, or in use by its owner."""


class Miss(Documented):
    """A node that is nearest to what was asked for, and what is in its way."""

    node_id: str
    gates: list[Gate]
    """What it does not pass."""


class Look:
    """At every node of the fleet, for one request. First all are counted; then those that can never run it may be
    studied, which takes ten times as long and helps only where no node is free."""

    def __init__(self, fleet: Fleet, needs: Requirements) -> None:
        self._fleet, self._needs = fleet, needs
        self.total = 0
        self.free = 0
        self.removed: Counter[Gate] = Counter()
        self.only_not_independent = 0
        """Nodes that could run it, were their owners not running the same."""
        self._unfit: list[FleetNode] = []
        self._isolation: Counter[str] = Counter()
        self._changes: dict[str, tuple[bool, float, Relaxation]] = {}
        """By field, the smallest, and of those the ones that would find a node that is free now."""
        self._misses: list[tuple[int, str, list[Gate]]] = []

    def count(self, node: FleetNode) -> Gate | None:
        gate = self._fleet.gate(self._needs, node)
        self.total += 1
        if gate is None:
            self.free += 1
            return gate
        self.removed[gate] += 1
        if gate is Gate.ISOLATION:
            self._isolation[missing_isolation(self._needs, node.traits)] += 1
        elif gate is Gate.INDEPENDENT:
            self.only_not_independent += closed_gates(self._needs, node.traits) == [gate]
        if gate not in NOT_NOW:
            self._unfit.append(node)
        return gate

    async def study(self, most: int | None = None) -> None:
        """What is in the way of the nodes that can never run it: of so many of them, spread over all, or of each."""
        step = 1 if most is None else max(1, -(-len(self._unfit) // most))
        for number, node in enumerate(self._unfit[::step], start=1):
            self._note_miss(node)
            self._note_change(node)
            if number % STUDIED_AT_ONCE == 0:
                await asyncio.sleep(0)

    @property
    def feasible(self) -> int:
        """Nodes that could run it, were they free and there."""
        return self.free + sum(self.removed[gate] for gate in NOT_NOW)

    def gates(self) -> list[GateCount]:
        """In the order in which they are asked."""
        return [
            GateCount(gate=gate, removed=self.removed[gate], detail=self._detail(gate))
            for gate in Gate
            if self.removed[gate]
        ]

    def relaxations(self) -> list[RelaxationView]:
        changes = sorted(self._changes.values(), key=lambda one: one[:2])
        if self.feasible:
            # Nodes could run it and are busy: only a small change that finds a free one is worth it.
            changes = [one for one in changes if not one[0] and one[1] <= SMALL and not self.free]
        return [
            RelaxationView(field=change.field, value=spelled(change), words=change.words, free_now=not later)
            for later, _, change in changes
        ]

    def misses(self) -> list[Miss]:
        return [] if self.feasible else [Miss(node_id=node_id, gates=gates) for _, node_id, gates in self._misses]

    def summary(self) -> str:
        """What it waits for, or would, in one sentence."""
        if self.total and not self.feasible and (others := self.only_not_independent):
            could = f"{nodes(others)} could run it, but {'its owner runs' if others == 1 else 'their owners run'}"
            return f"{could} the same already: it waits for a node of somebody else."
        return _summary(self.total, self.feasible, self.removed, self._needs)

    def _note_miss(self, node: FleetNode) -> None:
        closed = closed_gates(self._needs, node.traits)
        if Gate.SIMULATED not in closed and not is_hidden(self._needs, node.traits):
            insort(self._misses, (len(closed), node.traits.node_id, closed))
            del self._misses[MISSES_SHOWN:]

    def _note_change(self, node: FleetNode) -> None:
        change = smallest_change(self._needs, node.traits)
        if change is None:
            return
        change = replace(change, words=change.words.replace(*self._called(node)))
        rank = (self._fleet.gate(change.needs, node) is not None, change.size)
        known = self._changes.get(change.field)
        if known is None or rank < known[:2]:
            self._changes[change.field] = (*rank, change)

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


def _summary(total: int, feasible: int, removed: Counter[Gate], needs: Requirements) -> str:
    if total == 0:
        return "There is no node in the pool. Join one: the line that `computepool up` prints."
    if feasible == 0 and removed[Gate.RELIABILITY] and needs.min_reliability is None:
        kept = removed[Gate.RELIABILITY]
        return f"{nodes(kept)} could run it, but {_is(kept)} in quarantine after failing again and again, for a while."
    if feasible == 0:
        who = "The only node can never" if total == 1 else f"None of the {total} nodes can ever"
        return f"{who} run it as it is specified."
    if removed[Gate.BUSY]:
        return f"{nodes(removed[Gate.BUSY])} could run it and {_is(removed[Gate.BUSY])} busy: it runs when one is free."
    if removed[Gate.ALLOWANCE]:
        new = removed[Gate.ALLOWANCE]
        return (
            f"{nodes(new)} could run it, but {_is(new)} at the limit of slices for others, which grows with each"
            " success: it runs when one of those has ended."
        )
    if removed[Gate.DECLINES]:
        unwilling = removed[Gate.DECLINES]
        return (
            f"{nodes(unwilling)} could run it, but declined what {'it was' if unwilling == 1 else 'they were'} offered"
            f" last, and {_is(unwilling)} asked again later."
        )
    if removed[Gate.OWNER]:
        used = removed[Gate.OWNER]
        return f"{nodes(used)} could run it, but {_is(used)} in use by {'its owner' if used == 1 else 'their owners'}."
    if removed[Gate.STATE]:
        gone = removed[Gate.STATE]
        return f"{nodes(gone)} could run it, but {_is(gone)} offline, paused or draining."
    return "A node is free: it starts at any moment."


def _detail(gate: Gate, needs: Requirements) -> str:
    return {
        Gate.SIMULATED: f"real machines, and where.tags asks for {SIMULATED} ones"
        if SIMULATED in needs.tags
        else f"simulated nodes: only for jobs with where.tags: [{SIMULATED}]",
        Gate.NODE: "not the one that where.node names",
        Gate.TRUST: "not yours (where.trust: mine)" if needs.mine_only else "not verified (where.trust: verified)",
        Gate.INDEPENDENT: "their owners run the same already: replicas and checks go to others",
        Gate.WELCOME: "their hosts do not take such work",
        Gate.VERSION: "their agents are too old for `links`, or for the work of strangers"
        if needs.links
        else "their agents are too old for the work of strangers",
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
        Gate.ALLOWANCE: "at their limit of slices for others, which grows with each success",
    }[gate]


def nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count} nodes"


def _is(count: int) -> str:
    return "is" if count == 1 else "are"
