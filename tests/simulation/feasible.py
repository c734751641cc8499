"""Whether a node may be given a slice, worked out anew and plainly: nothing here asks the hub's own gates, sums or
prices. Only what nodes and slices say of themselves is believed, and what the truth says of who holds what."""

from collections import Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import NamedTuple

from computepool.hub.market.pricing import Ask
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import FleetNode
from computepool.protocol.manifest import Grant
from computepool.protocol.states import IsolationLevel, NodeState

MILLI = 1000
STRANGERS = frozenset(IsolationLevel) - {IsolationLevel.PROCESS}
"""Levels that are good enough for the work of strangers."""


class Holding(NamedTuple):
    """What an attempt has of its node."""

    grant: Grant
    own: bool


def price_of(needs: Requirements, ask: Ask, *, own: bool) -> int:
    """Of one slice-hour, by the documented formula."""
    if own:
        return 0
    count = needs.gpu.count if needs.gpu is not None else 0
    whole = count * ask.gpu_micros * MILLI if count else needs.cpu_millis * ask.core_micros
    micros = whole // MILLI + (whole % MILLI > 0)
    return (micros * 70 + 99) // 100 if needs.preemptible else micros


def why_not(
    needs: Requirements, node: FleetNode, held: Sequence[Holding], closed_until: datetime | None, now: datetime
) -> str | None:
    """In words, or None. `held`: by all that have a lease there. `closed_until`: the end of its quarantine."""
    traits, own = node.traits, node.traits.owner_id == needs.owner_id
    if node.line is None or node.drain_requested or not node.state is node.reported is NodeState.ONLINE:
        return f"{node.name} takes no work: {node.state}, as it says {node.reported}"
    words = _another(needs, node) or (None if own else _not_for_strangers(needs, node, held, closed_until, now))
    if words is not None:
        return f"{node.name} cannot be given it: {words}"
    price = price_of(needs, traits.ask, own=own)
    if needs.max_price_micros is not None and price > needs.max_price_micros:
        return f"{node.name} asks for {price}, the ceiling is {needs.max_price_micros}"
    return _no_room(needs, node, [one.grant for one in held], own=own)


def _another(needs: Requirements, node: FleetNode) -> str | None:
    """Why the renter wants none like it."""
    traits = node.traits
    if needs.node_id not in (None, traits.node_id):
        return "another node is asked for"
    if needs.countries and traits.country not in needs.countries:
        return f"it is in {traits.country}"
    if not needs.tags <= traits.tags:
        return f"its tags are {sorted(traits.tags)}"
    if traits.owner_id in needs.not_owners:
        return f"it is of {traits.owner_id}, which must not run it"
    return None


def _not_for_strangers(
    needs: Requirements, node: FleetNode, held: Sequence[Holding], closed_until: datetime | None, now: datetime
) -> str | None:
    traits, left = node.traits, node.availability
    if needs.mine_only:
        return "it is a stranger's"
    if STRANGERS.isdisjoint(traits.isolation):
        return "it does not keep strangers' work apart"
    if not traits.rules.strangers:
        return "its host takes no strangers' work"
    if not left.strangers:
        return "its owner is there"
    if left.gpu_only and needs.gpu is None:
        return "its owner keeps all but GPUs"
    if closed_until is not None and closed_until > now:
        return f"it is in quarantine, or declined, and closed until {closed_until}"
    if (needs.min_reliability or 0.0) > traits.standing.lower:
        return f"it is worth {traits.standing.lower}"
    if _slots_left(node, held) < 1:
        return "its past does not let it have more of strangers' at once"
    return None


def overcommitted(node: FleetNode, grants: Iterable[Grant]) -> str | None:
    """What more of it was given away than it has, in words."""
    held, capacity = list(grants), node.capacity
    taken = Counter(gpu for one in held for gpu in one.gpus)
    if any(times > 1 for times in taken.values()):
        return f"{node.name} gave a GPU to two: {taken}"
    for what, given, there in (
        ("cores", round(sum(one.cpus for one in held), 6), capacity.cpus),
        ("memory", sum(one.memory_bytes for one in held), capacity.memory_bytes),
        ("disk", sum(one.disk_bytes for one in held), capacity.disk_bytes),
    ):
        if given > there:
            return f"{node.name} gave away {given} of {what}, it has {there}"
    return None


def _slots_left(node: FleetNode, held: Sequence[Holding]) -> int:
    standing, trial = node.traits.standing, node.traits.trial
    limits = [] if standing.slots is None else [standing.slots]
    if trial is not None and trial.first > 0 and not standing.marked:
        hardware = max(int(trial.measured.cores), len(trial.measured.gpus))
        quickly, slowly = min(trial.first + standing.ok_count, hardware), 1 + standing.ok_count // 2
        limits.append(max(quickly, slowly))
    return min(limits) - sum(not one.own for one in held) if limits else 1


def _no_room(needs: Requirements, node: FleetNode, grants: Sequence[Grant], *, own: bool) -> str | None:
    capacity = node.capacity
    left = round((capacity.cpus - sum(one.cpus for one in grants)) * MILLI)
    memory = capacity.memory_bytes - sum(one.memory_bytes for one in grants)
    disk = capacity.disk_bytes - sum(one.disk_bytes for one in grants)
    if needs.cpu_millis > left or needs.memory_bytes > memory or needs.disk_bytes > disk:
        return f"{node.name} has {left} millis, {memory} and {disk} bytes left"
    if needs.gpu is None:
        return None
    taken = {gpu for one in grants for gpu in one.gpus} | (set() if own else set(node.availability.gpus_in_use))
    kinds = Counter(
        (gpu.slug, gpu.memory_bytes)
        for gpu in capacity.gpus
        if gpu.id not in taken and needs.gpu.accepts(gpu.slug, gpu.memory_bytes)
    )
    if max(kinds.values(), default=0) < needs.gpu.count:
        return f"{node.name} has no {needs.gpu.count} GPUs of one kind left: {dict(kinds)}"
    return None
