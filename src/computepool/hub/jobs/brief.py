"""What the scheduler keeps in memory of an open job: enough to place its slices and to write their manifests."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

from computepool.hub.ledger.settlement import NOTHING, Share
from computepool.hub.market.requirements import Requirements, requirements_of
from computepool.protocol.gpus import GpuRequest
from computepool.protocol.manifest import CHECKPOINT_SECONDS, BundleRef, Grant, InputRef, Manifest, Saved
from computepool.protocol.messages import cached_image
from computepool.protocol.shell import Shell
from computepool.protocol.signing import Signed
from computepool.protocol.spec import Input, JobSpec
from computepool.protocol.states import IsolationLevel
from computepool.protocol.timing import MANIFEST_VALID_SECONDS
from computepool.protocol.units import GIB

JOB_BYTES = 4096
"""Of memory, for an open job of one slice with a small spec: benchmarks/queue_memory.py measures it."""


@dataclass(frozen=True, slots=True)
class Rerun:
    """Where a hidden job may run, and for whom."""

    renter_id: str
    """Whose job it runs again, as its nodes are told."""
    audit_of: str | None = None
    """The attempt whose result is to be checked; None for a replica."""
    not_owners: tuple[str, ...] = ()
    gpu_class: str | None = None
    judges_only: bool = False
    node_id: str | None = None
    """The only node that it is for, if it is to see what that one answers."""
    promotional_micros: int = 0
    """What the platform pays for it at most, in promotional credit ..."""
    real_micros: int = 0
    """... and in credit that can be cashed out: what is left of what the checked slice paid its host."""
    max_price_micros: int | None = None

    def to_wire(self) -> dict[str, Any]:
        return {**asdict(self), "not_owners": list(self.not_owners)}

    @staticmethod
    def of(wire: Mapping[str, Any]) -> "Rerun":
        return Rerun(**{**wire, "not_owners": tuple(wire["not_owners"])})


@dataclass(frozen=True, slots=True)
class JobBrief:
    job_id: str
    owner_id: str
    name: str
    argv: tuple[str, ...]
    env: dict[str, str]
    outputs: tuple[str, ...]
    bundle_id: str | None
    bundle: BundleRef | None
    spec_digest: str
    max_runtime_seconds: float
    slices: int
    priority: int
    requirements: Requirements
    image: str | None = None
    setup: tuple[str, ...] = ()
    run_shell: Shell | None = None
    setup_shell: Shell | None = None
    checkpoint: str | None = None
    checkpoint_seconds: float = CHECKPOINT_SECONDS
    network: bool = False
    links: Mapping[str, str] = field(default_factory=dict)
    inputs: tuple[InputRef, ...] = ()
    input_ids: Mapping[str, str] = field(default_factory=dict)
    """By digest, the artifacts among the inputs."""
    image_digest: str | None = None
    """What the image's name meant when the first attempt ran."""
    role: str | None = None
    """What verification has to do with it."""
    rerun_of: str | None = None
    budget_micros: int | None = None
    """What all of its slices may cost together."""
    subsidy: Share = NOTHING
    """What the platform pays for it at most, if it is the platform's own."""
    own_job: Signed | None = None
    """The submitter's signature: what makes it the owner's own on the submitter's nodes."""

    @property
    def root(self) -> str:
        """The job whose result it is."""
        return self.rerun_of or self.job_id

    @property
    def kept_bytes(self) -> int:
        """About what it takes of the hub's memory while the job is open: its texts, and what every job takes."""
        texts = (self.name, *self.argv, *self.env, *self.env.values(), *self.outputs, *self.setup)
        places = [text for one in self.inputs for text in (one.path, one.digest, one.url or "")]
        return JOB_BYTES + sum(map(len, texts)) + sum(map(len, places))

    @property
    def wanted(self) -> tuple[str, ...]:
        """What a node would have to fetch for it, in the words in which nodes tell what they have at hand."""
        digests = [self.bundle.digest] if self.bundle else []
        digests += [one.digest for one in self.inputs]
        return tuple(dict.fromkeys([*digests, cached_image(self.image)] if self.image else digests))


def brief_of(
    job_id: str,
    owner_id: str,
    name: str,
    spec: JobSpec,
    spec_digest: str,
    bundle: Mapping[str, Any] | None,
    inputs: Mapping[str, Any] | None = None,
    *,
    image_digest: str | None = None,
    submitted_by: str | None = None,
) -> JobBrief:
    """`inputs` are the artifacts among the spec's inputs, by path."""
    stored = inputs or {}
    needs = requirements_of(spec, owner_id)
    if "disk" in spec.resources.by_share:
        sent = [*stored.values(), *([bundle] if bundle else [])]
        needs = replace(needs, disk_bytes=max(needs.disk_bytes, least_disk(sum(each["size_bytes"] for each in sent))))
    member = submitted_by if submitted_by != owner_id else None
    budget_of = "" if spec.budget_micros is None else job_id
    return JobBrief(
        job_id=job_id,
        owner_id=owner_id,
        name=name,
        argv=spec.argv(),
        env=dict(spec.env),
        outputs=tuple(spec.outputs),
        bundle_id=bundle["id"] if bundle else None,
        bundle=BundleRef.model_validate(bundle) if bundle else None,
        spec_digest=spec_digest,
        max_runtime_seconds=spec.max_runtime_seconds,
        slices=spec.slices,
        priority=spec.priority,
        requirements=replace(needs, budget_of=budget_of, submitted_by=member),
        image=spec.image,
        setup=spec.setup_argv(),
        run_shell=spec.run_shell,
        setup_shell=spec.setup_shell,
        checkpoint=spec.checkpoint,
        checkpoint_seconds=spec.checkpoint_seconds or CHECKPOINT_SECONDS,
        network=spec.network,
        links=dict(spec.links),
        inputs=tuple(_input_ref(path, source, stored.get(path)) for path, source in spec.inputs.items()),
        input_ids={one["digest"]: one["id"] for one in stored.values()},
        image_digest=image_digest,
        budget_micros=spec.budget_micros,
    )


def least_disk(sent_bytes: int) -> int:
    """For a job that does not say: twice what is sent along, so that it can be unpacked and worked on. In whole
    gigabytes, because jobs of equal needs wait in one line."""
    return -(-2 * sent_bytes // GIB) * GIB


def with_signature(brief: JobBrief, own_job: Signed | None) -> JobBrief:
    """Signed by its submitter: nodes that trust the key take it for their owner's own."""
    if own_job is None:
        return brief
    return replace(brief, own_job=own_job, requirements=replace(brief.requirements, signed_by=own_job.key_id))


def with_ceiling(brief: JobBrief, ceiling_micros: int | None) -> JobBrief:
    """Nothing of it goes where a slice-hour costs more."""
    return replace(brief, requirements=replace(brief.requirements, max_price_micros=ceiling_micros))


def replicated(brief: JobBrief, role: str, rerun_of: str | None) -> JobBrief:
    """One of several that run the same, each at another owner's: which owners is known when the others have theirs."""
    budget_of = brief.requirements.budget_of and (rerun_of or brief.job_id)
    needs = replace(brief.requirements, apart=brief.job_id, budget_of=budget_of)
    return replace(brief, role=role, rerun_of=rerun_of, requirements=needs)


def as_rerun(brief: JobBrief, role: str, rerun_of: str, rerun: Rerun) -> JobBrief:
    """A job of the platform, on any independent node. The renter's price limit and choice of a node do not apply."""
    needs = replace(
        brief.requirements,
        owner_id=brief.owner_id,
        submitted_by=None,
        not_owners=frozenset(rerun.not_owners),
        judges_only=rerun.judges_only,
        on_behalf_of=rerun.renter_id,
        apart=brief.job_id,
        gpu=of_class(brief.requirements.gpu, rerun.gpu_class),
        node_id=rerun.node_id,
        max_price_micros=rerun.max_price_micros,
        preemptible=False,
    )
    subsidy = Share(rerun.promotional_micros, rerun.real_micros)
    return replace(brief, role=role, rerun_of=rerun_of, requirements=needs, subsidy=subsidy)


def of_class(gpu: GpuRequest | None, gpu_class: str | None) -> GpuRequest | None:
    """The same, of one model only: another computes other last digits."""
    return gpu if gpu is None or gpu_class is None else gpu.only(gpu_class)


def _input_ref(path: str, source: Input, stored: Mapping[str, Any] | None) -> InputRef:
    if stored is None:
        return InputRef(path=path, digest=f"sha256:{source.sha256}", url=source.url)
    return InputRef(path=path, digest=stored["digest"], size_bytes=stored["size_bytes"])


def manifest_of(
    brief: JobBrief,
    *,
    hub_id: str,
    node_id: str,
    own: bool,
    attempt_id: str,
    number: int,
    slice_index: int,
    fence: int,
    grant: Grant,
    saved: Saved | None,
    isolation: IsolationLevel,
    now: datetime,
) -> Manifest:
    return Manifest(
        hub_id=hub_id,
        node_id=node_id,
        job_id=brief.job_id,
        attempt_id=attempt_id,
        attempt_number=number,
        slice_index=slice_index,
        slices=brief.slices,
        fence=fence,
        issued_at=now,
        expires_at=now + timedelta(seconds=MANIFEST_VALID_SECONDS),
        spec_digest=brief.spec_digest,
        name=brief.name,
        argv=brief.argv,
        env=brief.env,
        bundle=brief.bundle,
        inputs=brief.inputs,
        outputs=brief.outputs,
        grant=grant,
        isolation=isolation,
        own=own,
        max_runtime_seconds=brief.max_runtime_seconds,
        links=dict(brief.links),
        network=brief.network,
        renter=brief.requirements.on_behalf_of or brief.owner_id,
        image=brief.image,
        image_digest=brief.image_digest,
        setup=brief.setup,
        run_shell=brief.run_shell,
        setup_shell=brief.setup_shell,
        checkpoint=brief.checkpoint,
        checkpoint_seconds=brief.checkpoint_seconds,
        saved=saved,
        own_job=brief.own_job if own else None,
    )
