"""Single changes of a spec that would find a node, the smallest first: what to give up so that a job need not wait.

A change is proposed only after it was tried: with it, every gate of some node is open.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from math import floor

from computepool.hub.market.feasibility import Gate, Traits, closed_gate
from computepool.hub.market.pricing import hourly_price
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.units import Range, format_bytes, format_credits, format_duration, spell_credits
from computepool.protocol.written_spec import WireGpu

SpelledValue = str | float | list[str] | WireGpu | None

OF_KIND = 0.5
"""How large a change counts that is not one of amount: less than doing with half as much."""


@dataclass(frozen=True, slots=True)
class Relaxation:
    field: str
    """As a spec names it."""
    words: str
    needs: Requirements
    size: float
    """0 is no change; 1 is to do without, or to pay twice as much."""


def smallest_change(needs: Requirements, node: Traits) -> Relaxation | None:
    """The one field to change so that this node could run it; None if one is not enough, or nothing helps."""
    gate = closed_gate(needs, node)
    if gate is None or gate not in _WAYS:
        return None
    found = [one for one in _WAYS[gate](needs, node) if closed_gate(one.needs, node) is None]
    return min(found, key=lambda one: one.size, default=None)


def spelled(change: Relaxation) -> SpelledValue:
    """The field's new value, as a spec writes it; None where it is left out."""
    needs = change.needs
    match change.field:
        case "where.trust":
            return "verified" if needs.verified_only else "any"
        case "where.country":
            return sorted(needs.countries) or None
        case "where.tags":
            return sorted(needs.tags) or None
        case "where.min_reliability":
            return needs.min_reliability
        case "max_runtime":
            return format_duration(int(needs.seconds))
        case "max_price":
            return None if needs.max_price_micros is None else format_credits(needs.max_price_micros)
        case "isolation":
            return None if needs.isolation is None else str(needs.isolation)
        case "resources.cpus":
            return needs.cpu_millis / MILLI
        case "resources.memory":
            return format_bytes(needs.memory_bytes)
        case "resources.disk":
            return format_bytes(needs.disk_bytes)
        case "resources.gpu":
            return None if needs.gpu is None else WireGpu.model_validate(needs.gpu.to_wire())
        case _:  # where.node, network, setup, image
            return None


Ways = Callable[[Requirements, Traits], Iterator[Relaxation]]


def _another_node(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    words = f"leave out where.node: {node.node_id} would do"
    yield Relaxation("where.node", words, replace(needs, node_id=None), OF_KIND)


def _more_trust(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    if needs.mine_only and node.standing.verified:
        words = "where.trust: verified would find a stranger's node"
        yield Relaxation("where.trust", words, replace(needs, mine_only=False, verified_only=True), OF_KIND)
    words = "where.trust: any would find a stranger's node"
    yield Relaxation("where.trust", words, replace(needs, mine_only=False, verified_only=False), 2 * OF_KIND)


def _another_country(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    if node.country is None:
        words = "leave out where.country: a node in an unknown one would do"
        yield Relaxation("where.country", words, replace(needs, countries=frozenset()), 2 * OF_KIND)
    else:
        wider = needs.countries | {node.country}
        words = f"where.country: [{', '.join(sorted(wider))}] would find a node"
        yield Relaxation("where.country", words, replace(needs, countries=wider), OF_KIND)


def _fewer_tags(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    kept = needs.tags & node.tags
    listed = ", ".join(sorted(kept))
    words = (
        f"where.tags: [{listed}] would find a node" if kept else "leave out where.tags: a node without them would do"
    )
    yield Relaxation("where.tags", words, replace(needs, tags=kept), OF_KIND * len(needs.tags - kept))


def _what_the_host_takes(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    longest = node.rules.longest_seconds
    if longest is not None and 0 < longest < needs.seconds:
        words = f"max_runtime: {format_duration(int(longest))} is what a host takes"
        yield Relaxation("max_runtime", words, replace(needs, seconds=longest), 1 - longest / needs.seconds)
    yield from _without_extras(needs, "is what a host takes")


def _other_isolation(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    for level in node.isolation:
        if needs.isolation is not None and level.rank < needs.isolation.rank:
            steps = needs.isolation.rank - level.rank
            words = f"isolation: {level} would find a node"
            yield Relaxation("isolation", words, replace(needs, isolation=level), OF_KIND * steps)
    yield from _without_extras(needs, "would find a node")


def _without_extras(needs: Requirements, why: str) -> Iterator[Relaxation]:
    if needs.internet:
        yield Relaxation("network", f"network: false {why}", replace(needs, internet=False), 2 * OF_KIND)
    if needs.indexes:
        words = f"no `setup` {why}: send what it installs in `workdir`, or use an image"
        yield Relaxation("setup", words, replace(needs, indexes=False), 3 * OF_KIND)
    if needs.image is not None:
        words = f"no `image` {why}: the command then runs on what the node has"
        yield Relaxation("image", words, replace(needs, image=None), 3 * OF_KIND)


def _other_gpu(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    asked = needs.gpu
    if asked is None:
        return
    for gpu in node.gpus:
        least = asked.memory.minimum if asked.memory is not None else None
        if least is not None and gpu.memory_bytes < least:
            smaller = _rounded_down(gpu.memory_bytes)
            words = f"gpu memory: {format_bytes(least)} → {format_bytes(smaller)} would find a node"
            yield _gpu_change(needs, asked, words, 1 - smaller / least, memory=Range[int](minimum=smaller))
        most = asked.memory.maximum if asked.memory is not None else None
        if most is not None and gpu.memory_bytes > most:
            larger = _rounded_up(gpu.memory_bytes)
            words = f"gpu memory: up to {format_bytes(most)} → {format_bytes(larger)} would find a node"
            wider = Range[int](minimum=least or 0, maximum=larger)
            yield _gpu_change(needs, asked, words, 1 - most / larger, memory=wider)
        same_memory = asked.only(None)
        if asked.name is not None and same_memory.accepts(gpu.slug, gpu.memory_bytes):
            words = f"gpu: {gpu.slug} instead of {asked.name} would find a node"
            yield _gpu_change(needs, asked.only(gpu.slug), words, OF_KIND)
    matching = sum(1 for gpu in node.gpus if asked.accepts(gpu.slug, gpu.memory_bytes))
    if 0 < matching < asked.count:
        words = f"gpu count: {asked.count} → {matching} would find a node"
        yield _gpu_change(needs, asked, words, 1 - matching / asked.count, count=matching)
    words = "leave out gpu: a node without such a GPU would do"
    yield Relaxation("resources.gpu", words, replace(needs, gpu=None), 6 * OF_KIND)


def _gpu_change(needs: Requirements, asked: GpuRequest, words: str, size: float, **changes: object) -> Relaxation:
    return Relaxation("resources.gpu", words, replace(needs, gpu=asked.model_copy(update=changes)), size)


def _fewer_cores(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    if node.cpu_millis > 0:
        words = f"cpus: {needs.cpu_millis / MILLI:g} → {node.cpu_millis / MILLI:g} would find a node"
        size = 1 - node.cpu_millis / needs.cpu_millis
        yield Relaxation("resources.cpus", words, replace(needs, cpu_millis=node.cpu_millis), size)


def _less_memory(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    less = _rounded_down(node.memory_bytes)
    words = f"memory: {format_bytes(needs.memory_bytes)} → {format_bytes(less)} would find a node"
    yield Relaxation("resources.memory", words, replace(needs, memory_bytes=less), 1 - less / needs.memory_bytes)


def _less_disk(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    less = _rounded_down(node.disk_bytes)
    words = f"disk: {format_bytes(needs.disk_bytes)} → {format_bytes(less)} would find a node"
    yield Relaxation("resources.disk", words, replace(needs, disk_bytes=less), 1 - less / needs.disk_bytes)


def _less_reliable(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    if needs.min_reliability is not None:
        less = floor(node.standing.lower * 100) / 100
        words = f"where.min_reliability: {needs.min_reliability:g} → {less:g} would find a node"
        yield Relaxation(
            "where.min_reliability", words, replace(needs, min_reliability=less), 2 * (needs.min_reliability - less)
        )


def _higher_price(needs: Requirements, node: Traits) -> Iterator[Relaxation]:
    if needs.max_price_micros is not None:
        price = hourly_price(needs, node.ask, own=False)
        more = price - needs.max_price_micros
        words = f"max_price: {format_credits(price)} (+{spell_credits(more)} an hour) would find a node"
        if needs.budget_of and not needs.max_price_micros:
            words = f"a larger budget, and {words}"  # one of nothing is why it may cost nothing
        size = more / needs.max_price_micros if needs.max_price_micros else float("inf")
        yield Relaxation("max_price", words, replace(needs, max_price_micros=price), size)


def _rounded_down(size_bytes: int) -> int:
    """A round size, as a spec says it, that is not larger."""
    for unit in (1024**3, 1024**2, 1024):
        if size_bytes >= unit:
            return size_bytes // unit * unit
    return size_bytes


def _rounded_up(size_bytes: int) -> int:
    return next((-(-size_bytes // unit) * unit for unit in (1024**3, 1024**2, 1024) if size_bytes >= unit), size_bytes)


_WAYS: dict[Gate, Ways] = {
    Gate.NODE: _another_node,
    Gate.TRUST: _more_trust,
    Gate.WELCOME: _what_the_host_takes,
    Gate.COUNTRY: _another_country,
    Gate.TAGS: _fewer_tags,
    Gate.ISOLATION: _other_isolation,
    Gate.GPU: _other_gpu,
    Gate.CPUS: _fewer_cores,
    Gate.MEMORY: _less_memory,
    Gate.DISK: _less_disk,
    Gate.RELIABILITY: _less_reliable,
    Gate.PRICE: _higher_price,
}
"""Which fields can open a gate. Nobody who wants a job done is helped by a node that only pretends, or whose agent is
too old: these have none."""
