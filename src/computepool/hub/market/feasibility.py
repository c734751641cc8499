"""Hard gates: whether a node could ever run a slice, and whether it can now.

A node that fails a gate is never chosen, however the weights are set. The gates are ordered from what a renter chose
to what a machine has, so that "the first gate that removed it" is the answer a person would give.
"""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache

from computepool.hub.market.allowance import Trial
from computepool.hub.market.pricing import NOTHING, Ask, hourly_price
from computepool.hub.market.requirements import DEFAULT_STRANGER_ISOLATION, Requirements
from computepool.hub.market.standing import NEWCOMER, Standing
from computepool.protocol.capacity import SIMULATED, Gpu, HouseRules
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.states import TAKES_IMAGES, IsolationLevel
from computepool.protocol.versions import is_escapable


class Gate(StrEnum):
    SIMULATED = "simulated"
    """It only pretends to run jobs, and the job wants a real one; or the other way round."""
    NODE = "node"
    TRUST = "trust"
    INDEPENDENT = "independent"
    """Its owner runs the same already, or a result of it was to be checked; or its word proves nothing yet."""
    WELCOME = "welcome"
    """Its host does not want such work, or work of strangers."""
    VERSION = "version"
    """Its agent is too old for the work of strangers."""
    COUNTRY = "country"
    TAGS = "tags"
    ISOLATION = "isolation"
    GPU = "gpu"
    CPUS = "cpus"
    MEMORY = "memory"
    DISK = "disk"
    RELIABILITY = "reliability"
    PRICE = "price"
    """It asks for more than the job's ceiling."""
    OWNER = "owner"
    """Its owner is using it."""
    DECLINES = "declines"
    """It declined what it was offered, and is asked again later."""
    STATE = "state"
    """Not taking work: offline, paused, draining."""
    BUSY = "busy"
    """Has it, but others are using it."""
    ALLOWANCE = "allowance"
    """Has room, but has as many strangers' slices as it gets at once by what was measured and what it has earned."""


ANYBODY = HouseRules()


@dataclass(slots=True)
class Free:
    """What is left of a node while its attempts run. Cores and memory are packed, GPUs are whole."""

    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    gpus: list[Gpu]


@dataclass(frozen=True, slots=True)
class Traits:
    """What does not change with the work that a node does, or seldom: then the whole is replaced."""

    node_id: str
    owner_id: str
    country: str | None
    tags: frozenset[str]
    isolation: tuple[IsolationLevel, ...]
    cpu_millis: int
    memory_bytes: int
    disk_bytes: int
    gpus: tuple[Gpu, ...]
    networked: tuple[IsolationLevel, ...] = ()
    rules: HouseRules = ANYBODY
    outdated: bool = False
    simulated: bool = False
    unsafe: frozenset[str] = frozenset()
    """Software of it that strangers' jobs could escape from."""
    ask: Ask = NOTHING
    standing: Standing = NEWCOMER
    gpu_gflops: float | None = None
    """Measured, of its slowest GPU; None before it was."""
    core_gflops: float | None = None
    trial: Trial | None = None
    """None where nobody doubts what it claims, because it is simulated."""
    enrolled_by: str | None = None
    """Of a team's node: the member who enrolled it. None: its owner themself."""
    owner_keys: frozenset[str] | None = None
    """Whose signatures make a job its owner's own there; None for an agent that believes the hub."""
    links: bool = False
    """Whether its agent makes the `links` of a job."""


NO_SANDBOX = (
    "without a sandbox: install bubblewrap there, or let the owner's own jobs do without one"
    " (computepool agent policy own.process true)"
)
UNSIGNED = (
    "without a sandbox, and the job is not signed: jobs from the web app never are"
    " (submit it with computepool run, or install bubblewrap there)"
)
NOT_SIGNED = (
    "without a sandbox, and the job is not signed with a key that they trust"
    " (computepool key prints yours; there: computepool agent trust KEY)"
)

Rule = Callable[[Requirements, Traits], bool]
_WITH_IMAGES = tuple(TAKES_IMAGES)
"""A look through a few is quicker than the hash of an enum."""


def is_by_host(needs: Requirements, node: Traits) -> bool:
    """Whether the node trusts it with the machine, as its host's own: then it may run without isolation, and while the
    host is there. Signed with a key that the node knows; or, where the agent believes the hub, submitted by the person
    who enrolled the node. A job of another member of the node's team is a stranger's there.

    What it costs does not depend on that, but on whose node it is alone.
    """
    if node.owner_id != needs.owner_id:
        return False
    if node.owner_keys is not None:
        return needs.signed_by in node.owner_keys
    return needs.submitted_by == node.enrolled_by


def may_be_by_host(needs: Requirements, node: Traits) -> bool:
    """Whether the manifest says so. An agent that has keys looks at the signature itself, and tells what is wrong."""
    return is_by_host(needs, node) or needs.submitted_by == node.enrolled_by or needs.signed_by is not None


def _will_do(level: IsolationLevel, needs: Requirements, node: Traits) -> bool:
    """Whether it is strong enough, and can do what the job needs of it."""
    own = is_by_host(needs, node)
    if level.rank < needs.least_isolation(own=own).rank:
        return False
    if needs.image is not None and level not in _WITH_IMAGES:
        return False
    if (needs.internet or needs.indexes) and level not in node.networked:
        return False
    if own:
        return True
    escapable = bool(node.unsafe) and is_escapable(level, node.unsafe, uses_gpu=needs.gpu is not None)
    return not escapable and _is_allowed(level, node.rules)


def missing_isolation(needs: Requirements, node: Traits) -> str:
    """In words, what keeps the levels of a node whose isolation gate is closed from running it."""
    own = is_by_host(needs, node)
    least = needs.least_isolation(own=own)
    levels = [level for level in node.isolation if level.rank >= least.rank]
    if not levels and not node.isolation:
        return NO_SANDBOX
    if not levels and node.owner_id == needs.owner_id and not own:
        return UNSIGNED if needs.signed_by is None else NOT_SIGNED
    if not levels:
        return f"below {least}"
    if needs.image is not None and not any(level in _WITH_IMAGES for level in levels):
        return "without containers for the image"
    if needs.image is not None:
        levels = [level for level in levels if level in _WITH_IMAGES]
    if (needs.internet or needs.indexes) and not any(level in node.networked for level in levels):
        return "without a network for jobs"
    return "with a level that their hosts bar, or that is known to be unsafe"


def levels_for_strangers(node: Traits) -> list[IsolationLevel]:
    """At which some work of strangers may run there."""
    return [
        level
        for level in node.isolation
        if level.rank >= DEFAULT_STRANGER_ISOLATION.rank
        and _is_allowed(level, node.rules)
        and not is_escapable(level, node.unsafe, uses_gpu=False)
    ]


def _is_allowed(level: IsolationLevel, rules: HouseRules) -> bool:
    return rules.isolation is None or level.rank >= rules.isolation.rank


def _strong_enough(needs: Requirements, node: Traits) -> bool:
    # The strongest comes last, and will do if any does, mostly.
    return any(_will_do(level, needs, node) for level in reversed(node.isolation))


def weakest_level(needs: Requirements, node: Traits) -> IsolationLevel:
    """The least that the order asks for there: a level that is too weak, or barred on that node, is below it.

    Agents take the quickest that is at least as strong. None that is barred lies between two that will do, as far as
    that choice goes: below the barred `container` it is bubblewrap, which is quicker, above it gVisor.
    """
    levels = [level for level in node.isolation if _will_do(level, needs, node)]
    own = is_by_host(needs, node)
    return min(levels, key=lambda level: level.rank, default=needs.least_isolation(own=own))


def is_welcome(needs: Requirements, node: Traits) -> bool:
    """What the host decided about the work of strangers. The owner's own is always welcome."""
    if is_by_host(needs, node):
        return True
    why_not = node.rules.why_not(
        renter=needs.on_behalf_of or needs.owner_id,
        internet=needs.internet or needs.fetches,
        gpu=needs.gpu is not None,
        seconds=needs.seconds,
        image=needs.image,
    )
    return why_not is None


def is_hidden(needs: Requirements, node: Traits) -> bool:
    """Whether its host has nothing to do with this renter, whatever is asked for: then nobody tells them of it."""
    renter = needs.on_behalf_of or needs.owner_id
    at_least = node.rules.why_not(renter=renter, internet=False, gpu=True, seconds=0.0, image=None)
    return needs.owner_id != node.owner_id and at_least is not None


def matching_gpus(needs: Requirements, gpus: Sequence[Gpu], kept: Collection[str] = ()) -> list[Gpu]:
    asked = needs.gpu
    if asked is None:
        return []
    return [
        gpu
        for gpu in gpus
        if gpu.id not in kept and _may_be_given(asked, gpu) and _is_accepted(asked, gpu.slug, gpu.memory_bytes)
    ]


def _may_be_given(asked: GpuRequest, gpu: Gpu) -> bool:
    """One that shares the machine's memory is no card: it is given only to those who ask for it by name."""
    return not gpu.integrated or any(choice.name is not None for choice in asked.choices)


@lru_cache(maxsize=16_384)
def _is_accepted(asked: GpuRequest, slug: str, memory_bytes: int) -> bool:
    """Names are compared word by word, and the same few are, all the time."""
    return asked.accepts(slug, memory_bytes)


def alike_gpus(needs: Requirements, gpus: Sequence[Gpu], kept: Collection[str] = ()) -> list[Gpu]:
    """As many as it asks for, all of one model and size, of those that will do: the first kind that there are enough
    of. Empty if there is none."""
    asked = needs.gpu
    if asked is None:
        return []
    kinds: dict[tuple[str, int], list[Gpu]] = {}
    for gpu in gpus:
        if gpu.id in kept or not _may_be_given(asked, gpu):
            continue
        made_of = (gpu.slug, gpu.memory_bytes)
        kind = kinds.get(made_of)
        if kind is None:
            if not _is_accepted(asked, *made_of):
                continue
            kind = kinds[made_of] = []
        kind.append(gpu)
        if len(kind) == asked.count:
            return kind
    return []


def _is_trusted(needs: Requirements, node: Traits) -> bool:
    return not needs.mine_only and (not needs.verified_only or node.standing.verified)


def _is_independent(needs: Requirements, node: Traits) -> bool:
    return node.owner_id not in needs.not_owners and (not needs.judges_only or node.standing.may_judge)


def _is_reliable(needs: Requirements, node: Traits) -> bool:
    if node.standing.quarantined_until is not None:
        return False
    return needs.min_reliability is None or node.standing.lower >= needs.min_reliability


def _is_affordable(needs: Requirements, node: Traits) -> bool:
    if needs.max_price_micros is None:
        return True
    return hourly_price(needs, node.ask, own=node.owner_id == needs.owner_id) <= needs.max_price_micros


RULES: tuple[tuple[Gate, Rule], ...] = (
    (Gate.SIMULATED, lambda needs, node: node.simulated == (SIMULATED in needs.tags)),
    (Gate.NODE, lambda needs, node: needs.node_id is None or needs.node_id == node.node_id),
    (Gate.TRUST, lambda needs, node: needs.owner_id == node.owner_id or _is_trusted(needs, node)),
    (Gate.INDEPENDENT, _is_independent),
    (Gate.WELCOME, is_welcome),
    (
        Gate.VERSION,
        lambda needs, node: (not node.outdated or needs.owner_id == node.owner_id) and (node.links or not needs.links),
    ),
    (Gate.COUNTRY, lambda needs, node: not needs.countries or node.country in needs.countries),
    (Gate.TAGS, lambda needs, node: needs.tags <= node.tags),
    (Gate.ISOLATION, _strong_enough),
    (Gate.GPU, lambda needs, node: needs.gpu is None or bool(alike_gpus(needs, node.gpus))),
    (Gate.CPUS, lambda needs, node: needs.cpu_millis <= node.cpu_millis),
    (Gate.MEMORY, lambda needs, node: needs.memory_bytes <= node.memory_bytes),
    (Gate.DISK, lambda needs, node: needs.disk_bytes <= node.disk_bytes),
    (Gate.RELIABILITY, lambda needs, node: needs.owner_id == node.owner_id or _is_reliable(needs, node)),
    (Gate.PRICE, _is_affordable),
)


def closed_gate(needs: Requirements, node: Traits) -> Gate | None:
    """The first gate that keeps this node from ever running it, or None."""
    for gate, passes in RULES:
        if not passes(needs, node):
            return gate
    return None


def closed_gates(needs: Requirements, node: Traits) -> list[Gate]:
    """All that keep this node from ever running it."""
    return [gate for gate, passes in RULES if not passes(needs, node)]


def passes(needs: Requirements, node: Traits, gates: Collection[Gate]) -> bool:
    """Whether these gates are open, whatever the others say."""
    return all(rule(needs, node) for gate, rule in RULES if gate in gates)


def fits(needs: Requirements, free: Free, kept: Collection[str] = ()) -> bool:
    """Whether there is room now, on a node whose gates are open. `kept` are GPUs that the owner keeps."""
    return (
        needs.cpu_millis <= free.cpu_millis
        and needs.memory_bytes <= free.memory_bytes
        and needs.disk_bytes <= free.disk_bytes
        and (needs.gpu is None or bool(alike_gpus(needs, free.gpus, kept)))
    )
