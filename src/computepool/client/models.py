"""What the hub tells about jobs and nodes. Unknown fields are ignored: a newer hub is no trouble."""

from datetime import datetime
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

FINAL_STATES = frozenset({"succeeded", "failed", "canceled"})


class Model(BaseModel):
    # Built when first used: a command that shows one kind of thing does not pay for all.
    model_config = ConfigDict(frozen=True, extra="ignore", defer_build=True)


class Attempt(Model):
    id: str
    number: int
    fence: int = 0
    node_id: str | None = None
    node_name: str | None = None
    own: bool = False
    state: str
    verdict: str | None = None
    reason: str | None = None
    detail: str | None = None
    isolation: str | None = None
    exit_code: int | None = None
    resumed_from: int | None = None
    price_micros: int | None = None
    """For an hour, fee included, locked when it was leased."""
    leased_at: datetime | None = None
    started_at: datetime | None = None
    finished_at: datetime | None = None
    log_bytes: int = 0


class Slice(Model):
    index: int
    state: str
    verdict: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    attempts: tuple[Attempt, ...] = ()

    @property
    def newest(self) -> Attempt | None:
        return max(self.attempts, key=lambda attempt: attempt.number, default=None)


class FailedSlices(Model):
    """Slices that ended in one way."""

    state: str
    verdict: str | None = None
    reason: str | None = None
    exit_code: int | None = None
    count: int = 0
    slices: str = ""
    """Their numbers, such as `0-3, 17`."""


class NodeName(Model):
    id: str
    name: str = ""


class Job(Model):
    id: str
    name: str = ""
    state: str
    verdict: str | None = None
    exit_code: int | None = None
    reason: str | None = None
    message: str | None = None
    owner_id: str | None = None
    owner_name: str | None = None
    """In a list."""
    nodes: tuple[NodeName, ...] = ()
    """In a list: where it runs or ran last."""
    simulated: bool = False
    """It runs on simulated nodes alone: nothing of it is really run."""
    priority: int = 0
    retry_of: str | None = None
    labels: tuple[str, ...] = ()
    created_at: datetime
    started_at: datetime | None = None
    finished_at: datetime | None = None
    cancel_requested_at: datetime | None = None
    ceiling_micros: int | None = None
    """The most that a slice-hour may cost."""
    slice_count: int = 1
    slice_indices: tuple[int, ...] | None = None
    """Which of the spec's slices it runs, if not all: those of an earlier job that did not succeed."""
    counts: dict[str, int] = Field(default_factory=dict)
    spec: dict[str, Any] = Field(default_factory=dict)
    slices: tuple[Slice, ...] = ()
    """In order; not all of them if there are very many."""
    next_slice: int | None = None
    """The first that is not among them, if there are more; `Pool.slices` gives them all."""
    failures: tuple[FailedSlices, ...] = ()
    """All slices that did not succeed, those that ended alike together."""

    @property
    def is_final(self) -> bool:
        return self.state in FINAL_STATES

    @property
    def has_several(self) -> bool:
        """One slice of several, run again, is still one of several."""
        return self.slice_count > 1 or self.slice_indices is not None

    def has_slice(self, index: int) -> bool:
        return index < self.slice_count if self.slice_indices is None else index in self.slice_indices


class Gpu(Model):
    id: str = ""
    name: str = ""
    slug: str = ""
    memory_bytes: int = 0


class NodeCapacity(Model):
    cpus: float = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    gpus: tuple[Gpu, ...] = ()
    isolation: tuple[str, ...] = ()
    soft_limits: bool = False
    platform: str = ""
    simulated: bool = False
    owner_keys: tuple[str, ...] | None = None
    """The ids of the keys whose jobs are its owner's own there; None where the hub is believed."""


class NodeFree(Model):
    cpus: float = 0
    memory_bytes: int = 0
    disk_bytes: int = 0
    gpus: Any = None
    """How many, or which."""


class NodeBenchmark(Model):
    """What the hub measured of a node: `unverified`, `matches`, `too_slow`, `too_fast` or `failed`, and why."""

    mark: str = "unverified"
    words: str = ""
    tier: float | None = None
    tier_basis: str | None = None


class NodePrice(Model):
    """What the host set, in micro-credits for an hour of a GPU or a core."""

    per: str = "gpu"
    floor_micros: int | None = None
    fixed_micros: int | None = None


class NodeAsk(Model):
    """What strangers pay for an hour now."""

    gpu_micros: int | None = None
    core_micros: int = 0
    suggested_gpu_micros: int | None = None
    suggested_core_micros: int = 0
    tier: float | None = None
    region: str = ""
    spot: float = 1.0


class NodeAudited(Model):
    """Results that were computed again by others."""

    ok: int = 0
    wrong: int = 0


class NodeReliability(Model):
    """What is known of a node's past."""

    mean: float
    lower: float
    """At the 5 % bound: what nodes are ranked by."""
    has_record: bool = False
    ok_attempts: int = 0
    failures_in_a_row: int = 0
    quarantined_until: datetime | None = None
    probed: bool = False
    slots: int | None = None
    declines: int = 0
    declined_until: datetime | None = None
    tenure_days: float = 0.0
    uptime_30d: float = 0.0
    audited: NodeAudited = NodeAudited()
    verified: bool = False
    missing_for_verified: tuple[str, ...] = ()


class NodeAvailability(Model):
    """What the owner leaves to strangers right now."""

    strangers: bool = True
    reason: str = ""


class Node(Model):
    id: str
    name: str
    state: str
    owner_id: str | None = None
    country: str | None = None
    tags: tuple[str, ...] = ()
    capacity: NodeCapacity = NodeCapacity()
    free: NodeFree | None = None
    agent_version: str | None = None
    created_at: datetime | None = None
    last_seen_at: datetime | None = None
    running_attempts: int = 0
    availability: NodeAvailability | None = None
    notice: str = ""
    benchmark: NodeBenchmark = NodeBenchmark()
    reliability: NodeReliability | None = None
    slices_at_once: int | None = None
    price: NodePrice | None = None
    ask: NodeAsk | None = None


class Gate(Model):
    gate: str
    removed: int = 0
    detail: str | None = None


class Miss(Model):
    """A node that is nearest to what was asked for, and the gates in its way."""

    node_id: str
    gates: tuple[str, ...] = ()


class WhySlices(Model):
    """Slices that wait for the same reason."""

    slices: tuple[int, ...] = ()
    summary: str = ""
    nodes_total: int = 0
    gates: tuple[Gate, ...] = ()
    feasible: int = 0
    free: int = 0
    position: int = 0
    """How many would be served before."""
    misses: tuple[Miss, ...] = ()
    suggestions: tuple[str, ...] = ()


class Why(Model):
    job_id: str
    state: str
    summary: str = ""
    waiting: tuple[WhySlices, ...] = ()


class Output(Model):
    """A file that a job left behind."""

    slice: int = 0
    attempt: int = 1
    path: str
    size_bytes: int
    digest: str
    downloads: tuple[str, ...] = ()
    part_bytes: int = 0


class Artifact(Model):
    id: str
    digest: str
    size_bytes: int
    state: str = "stored"


class User(Model):
    id: str
    email: str | None = None
    name: str | None = None
    role: str | None = None
    country: str | None = None
    created_at: datetime | None = None


class JoinToken(Model):
    token: str
    expires_at: datetime | None = None
    uses: int = 1
