"""What one slice needs of a node, in the units that the fleet counts in."""

from dataclasses import dataclass

from computepool.protocol.gpus import GpuRequest
from computepool.protocol.spec import JobSpec, Optimize, Trust
from computepool.protocol.states import IsolationLevel

MILLI = 1000
DEFAULT_STRANGER_ISOLATION = IsolationLevel.BUBBLEWRAP


@dataclass(frozen=True, slots=True)
class Requirements:
    """Equal requirements find equal nodes: the queue keeps slices of one class together by this value."""

    owner_id: str
    cpu_millis: int
    """Cores in thousandths: integers, so that taking and giving back leaves nothing over."""
    memory_bytes: int
    disk_bytes: int
    by_share: tuple[str, ...] = ()
    """Of cpus, memory and disk, those of which these are the least: on its node a slice is given its share."""
    gpu: GpuRequest | None = None
    countries: frozenset[str] = frozenset()
    tags: frozenset[str] = frozenset()
    node_id: str | None = None
    mine_only: bool = False
    isolation: IsolationLevel | None = None
    """The least that the spec asks for; None leaves it to the pool: anything at home, bubblewrap elsewhere."""
    image: str | None = None
    internet: bool = False
    fetches: bool = False
    """The node gets inputs for it from the internet, by itself."""
    indexes: bool = False
    """`setup` wants to reach package indexes."""
    seconds: float = 0.0
    """The longest that it may run."""
    verified_only: bool = False
    min_reliability: float | None = None
    max_price_micros: int | None = None
    """For one slice and one hour; None for no ceiling."""
    optimize: Optimize = Optimize.BALANCED
    preemptible: bool = False
    """It may lose its slot to others, and costs less."""
    bid_micros: int = 0
    """What a preemptible one is worth to its renter, who said so with `max_price`: a higher bid keeps its slot. It is
    not what is paid. A ceiling that the pool chose is none."""
    not_owners: frozenset[str] = frozenset()
    """Whose nodes never run it: they ran the same already, or have another reason to want it to end in some way."""
    judges_only: bool = False
    """Only nodes whose results were found right often enough: what they say can prove another wrong."""
    on_behalf_of: str | None = None
    """Whom it looks like, for hosts: a rerun for the platform's sake must not be known as one."""
    apart: str = ""
    """Waits in a line of its own: where its slices may run, others of the same needs may not."""
    budget_of: str = ""
    """The job whose budget pays for it: when that is set aside, only its own slices wait."""
    signed_by: str | None = None
    """The id of the key with which its submitter signed it: nodes know their owner's jobs by it."""
    submitted_by: str | None = None
    """Of a team's job: the member who submitted it. None: its owner themself."""
    links: bool = False
    """Absolute paths, or paths in its home, lead into its folder."""

    @property
    def gpu_count(self) -> int:
        return self.gpu.count if self.gpu else 0

    def least_isolation(self, own: bool) -> IsolationLevel:
        asked = self.isolation or (IsolationLevel.PROCESS if own else DEFAULT_STRANGER_ISOLATION)
        if own or asked.rank >= DEFAULT_STRANGER_ISOLATION.rank:
            return asked
        return DEFAULT_STRANGER_ISOLATION


def requirements_of(spec: JobSpec, owner_id: str) -> Requirements:
    needs, where = spec.resources, spec.where
    return Requirements(
        owner_id=owner_id,
        cpu_millis=max(1, round((needs.cpus.minimum or 1) * MILLI)),
        memory_bytes=int(needs.memory.minimum or 0),
        disk_bytes=int(needs.disk.minimum or 0),
        # Replicas, and whoever checks a result, are given the same everywhere: threads decide about last digits.
        by_share=() if spec.deterministic else needs.by_share,
        gpu=needs.gpu,
        countries=frozenset(where.country),
        tags=frozenset(where.tags),
        node_id=where.node,
        mine_only=where.trust is Trust.MINE,
        verified_only=where.trust is Trust.VERIFIED,
        min_reliability=where.min_reliability,
        # Who may spend nothing waits for what costs nothing, and does not fail where something is to be paid.
        max_price_micros=0 if spec.budget_micros == 0 else spec.max_price_micros,
        optimize=spec.optimize,
        preemptible=spec.preemptible,
        bid_micros=(spec.max_price_micros or 0) if spec.preemptible else 0,
        isolation=spec.isolation,
        image=spec.image,
        internet=spec.network,
        fetches=any(source.url is not None for source in spec.inputs.values()),
        indexes=spec.setup is not None,
        seconds=spec.max_runtime_seconds,
        links=bool(spec.links),
    )
