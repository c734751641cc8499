"""Nodes and needs for tests of matching: defaults that fit each other, and whatever a property test can think of."""

from dataclasses import replace
from typing import Any

from hypothesis import strategies as st

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.jobs.receipts import Order
from computepool.hub.market.feasibility import Traits
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.fleet import FleetNode, Held, free_of, grant_on, take_room
from computepool.hub.scheduling.queue import Waiting
from computepool.protocol.capacity import Capacity, Gpu
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.manifest import Grant
from computepool.protocol.states import IsolationLevel, NodeState
from computepool.protocol.units import Range

GIB = 1024**3
ME, STRANGER = "user_me", "user_stranger"
LEVELS = list(IsolationLevel)


def gpu(index: int = 0, slug: str = "rtx-4090", gib: int = 24) -> Gpu:
    return Gpu(id=f"gpu-{index}", name=slug, slug=slug, memory_bytes=gib * GIB)


def make_traits(node_id: str = "node_1", **changes: Any) -> Traits:
    facts: dict[str, Any] = {
        "node_id": node_id,
        "owner_id": ME,
        "country": "DE",
        "tags": frozenset({"fast"}),
        "isolation": (IsolationLevel.PROCESS, IsolationLevel.BUBBLEWRAP),
        "cpu_millis": 8000,
        "memory_bytes": 32 * GIB,
        "disk_bytes": 100 * GIB,
        "gpus": (gpu(0), gpu(1)),
    }
    return Traits(**facts | changes)


class DeafLine:
    """A line that only counts: the node is connected, and nobody is at the other end."""

    def __init__(self) -> None:
        self.offers: list[str] = []

    def offer(self, attempt_id: str, manifest: object, downloads: object) -> None:
        self.offers.append(attempt_id)

    def stop(self, attempt_id: str, fence: int, reason: str) -> None: ...

    def seen(self, cursor: int) -> None: ...


def make_node(node_id: str = "node_1", *, online: bool = True, **changes: Any) -> FleetNode:
    traits = make_traits(node_id, **changes)
    capacity = Capacity(
        cpus=traits.cpu_millis / 1000,
        memory_bytes=traits.memory_bytes,
        disk_bytes=traits.disk_bytes,
        gpus=traits.gpus,
        isolation=traits.isolation,
    )
    state = NodeState.ONLINE if online else NodeState.OFFLINE
    node = FleetNode(traits, node_id, state, capacity, free_of(traits))
    if online:
        node.line, node.reported = DeafLine(), NodeState.ONLINE
    return node


def make_needs(**changes: Any) -> Requirements:
    facts: dict[str, Any] = {"owner_id": ME, "cpu_millis": 1000, "memory_bytes": GIB, "disk_bytes": GIB}
    return Requirements(**facts | changes)


def make_brief(job_id: str = "job_1", needs: Requirements | None = None, *, priority: int = 0) -> JobBrief:
    return JobBrief(
        job_id=job_id,
        owner_id=(needs or make_needs()).owner_id,
        name="job",
        argv=("true",),
        env={},
        outputs=(),
        bundle_id=None,
        bundle=None,
        spec_digest="sha256:spec",
        max_runtime_seconds=60,
        slices=1,
        priority=priority,
        requirements=needs or make_needs(),
    )


def make_waiting(job_id: str = "job_1", index: int = 0, *, priority: int = 0, **changes: Any) -> Waiting:
    brief = make_brief(job_id, changes.pop("needs", None), priority=priority)
    return replace(Waiting(brief, index, fence=0, attempts=0), **changes)


ORDER = Order("job_x", "sha256:spec", "sha256:manifest", IsolationLevel.PROCESS, 60.0)


def occupy(node: FleetNode, attempt_id: str, needs: Requirements) -> Grant:
    grant = grant_on(node, needs)
    take_room(node, Held(attempt_id, 1, grant, ORDER, renewed_at=0.0))
    return grant


# ── anything that may be ─────────────────────────────────────────────────────────────────────────────────────────────

TAGS = ["fast", "quiet", "eu-west"]
COUNTRIES = ["DE", "IN", "US"]
SLUGS = ["rtx-4090", "rtx-3060", "a100-sxm4"]

gpu_lists = st.lists(st.tuples(st.sampled_from(SLUGS), st.sampled_from([8, 12, 24, 80])), max_size=4).map(
    lambda cards: tuple(gpu(index, slug, gib) for index, (slug, gib) in enumerate(cards))
)
gpu_requests = st.builds(
    GpuRequest,
    name=st.none() | st.sampled_from(SLUGS),
    memory=st.none() | st.sampled_from([8, 12, 24]).map(lambda gib: Range[int](minimum=gib * GIB)),
    count=st.integers(1, 3),
)
many_needs = st.builds(
    Requirements,
    owner_id=st.sampled_from([ME, STRANGER]),
    cpu_millis=st.integers(1, 16_000),
    memory_bytes=st.integers(0, 64 * GIB),
    disk_bytes=st.integers(0, 200 * GIB),
    by_share=st.sampled_from([(), ("memory", "disk"), ("cpus", "memory", "disk")]),
    gpu=st.none() | gpu_requests,
    countries=st.frozensets(st.sampled_from(COUNTRIES), max_size=2),
    tags=st.frozensets(st.sampled_from(TAGS), max_size=2),
    node_id=st.none() | st.sampled_from(["node_0", "node_1"]),
    mine_only=st.booleans(),
    isolation=st.none() | st.sampled_from(LEVELS),
)
_facts: st.SearchStrategy[dict[str, Any]] = st.fixed_dictionaries(
    {
        "owner_id": st.sampled_from([ME, STRANGER]),
        "country": st.none() | st.sampled_from(COUNTRIES),
        "tags": st.frozensets(st.sampled_from(TAGS)),
        "isolation": st.lists(st.sampled_from(LEVELS), unique=True).map(tuple),
        "cpu_millis": st.integers(0, 16_000),
        "memory_bytes": st.integers(0, 64 * GIB),
        "disk_bytes": st.integers(0, 200 * GIB),
        "gpus": gpu_lists,
        "online": st.booleans(),
    }
)
many_nodes = st.lists(_facts, max_size=6).map(
    lambda facts: [make_node(f"node_{index}", **each) for index, each in enumerate(facts)]
)
