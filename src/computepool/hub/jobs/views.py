"""Jobs as the API shows them."""

from collections import Counter
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from pydantic import ConfigDict
from sqlalchemy import RowMapping, bindparam, func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.core.actions import ActionView
from computepool.hub.core.money import MONEY, Micros
from computepool.hub.jobs import repository
from computepool.hub.jobs.asked import in_words, is_simulated
from computepool.hub.jobs.failures import FailedSlices, list_failed
from computepool.hub.jobs.service import Lease, NewJob
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.jobs.verification import Role
from computepool.hub.market.rates import Per
from computepool.hub.nodes.tables import Node
from computepool.protocol.model import Documented, ShownAs
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import AttemptState, IsolationLevel, JobState, Verdict
from computepool.protocol.written_spec import WireSpec

SHOWN_SLICES_LIMIT = 1_000
SHOWN_ATTEMPTS_LIMIT = 5_000


StoredSpec = Annotated[dict[str, Any], ShownAs(WireSpec)]


class PriceBasis(Documented):
    """How the price of an hour came about. What does not count for it is left out."""

    model_config = ConfigDict(json_schema_serialization_defaults_required=False)

    own: bool
    """A node of one's own: nothing is paid."""
    per: Per
    """Whether GPUs or cores are paid for."""
    gpus: int | None = None
    """How many GPUs."""
    cpu_millis: int | None = None
    """Thousandths of a core."""
    preemptible_percent: int | None = None
    """What is paid of the price, for a slot that may be lost."""
    ask_micros: int | None = None
    """What the node asked for an hour of one."""
    base_micros: int | None = None
    tier_millis: int | None = None
    """The factor of the card, in thousandths."""
    region: str | None = None
    region_millis: int | None = None
    """The factor of the region, in thousandths."""
    spot_millis: int | None = None
    """The factor of demand, in thousandths."""
    floor_micros: int | None = None
    fixed_micros: int | None = None


class AttemptView(Documented):
    id: str
    number: int
    fence: int
    node_id: str
    node_name: str
    own: bool
    state: AttemptState
    verdict: Verdict | None
    reason: EndedBy | None
    detail: str | None
    isolation: IsolationLevel | None
    exit_code: int | None
    resumed_from: int | None
    """The checkpoint of its slice that it started with."""
    price_micros: Micros
    """For an hour, fee included, locked when it was leased. None from before there were prices."""
    price: Annotated[Annotated[dict[str, Any], ShownAs(PriceBasis)] | None, MONEY]
    """What that price was made of."""
    leased_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    log_bytes: int
    billed_seconds: int
    """How much of its running time was paid so far, by whoever pays."""
    cost_micros: Micros
    """What its renter paid for it so far, without what was given back."""


class SliceView(Documented):
    index: int
    state: JobState
    verdict: Verdict | None
    exit_code: int | None
    reason: EndedBy | None
    awaits_check: bool = False
    """It has a result, which counts when its replicas confirm it."""
    started_at: datetime | None = None
    """When the command of its first attempt began."""
    finished_at: datetime | None = None
    retry_at: datetime | None = None
    """While it waits for another attempt: not before then."""
    attempts: list[AttemptView]


class JobActions(Documented):
    """What the reader may do with a job."""

    cancel: ActionView
    """Stop it."""
    retry: ActionView
    """Run it again as a new job, with the same files."""
    clone: ActionView
    """Submit a changed copy with the same files."""
    share: ActionView
    """Make a link by which everybody can see it."""
    remove: ActionView
    """Delete it, with its logs and outputs."""
    dispute: Annotated[ActionView | None, MONEY]
    """Ask for what it cost."""
    verify: ActionView
    """Check the signatures of what ran."""


class JobHead(Documented):
    """What every view of a job tells."""

    id: str
    name: str
    state: JobState
    verdict: Verdict | None
    exit_code: int | None
    reason: EndedBy | None
    message: str | None
    owner_id: str
    simulated: bool
    """It runs on simulated nodes alone: nothing of it is really run."""
    priority: int
    retry_of: str | None
    ceiling_micros: Micros
    """The most that a slice-hour may cost: the spec's `max_price`, or a quarter more than was quoted. None: none."""
    cost_micros: Micros
    """What was paid for it so far, its replicas included, without what was given back."""
    resources: str
    """What a slice asks for, in words: `1 × rtx-4090, 8 CPU, 16GB memory, 1GB disk`."""
    slice_count: int
    slice_indices: list[int] | None
    """Which of the spec's slices it runs, if not all: those of an earlier job that did not succeed."""
    counts: dict[JobState, int]
    """Slices by state."""
    created_at: datetime
    started_at: datetime | None
    finished_at: datetime | None
    cancel_requested_at: datetime | None
    logs_removed_at: datetime | None = None
    """The pool's operator keeps logs only for so long."""
    outputs_removed_at: datetime | None = None
    dispute_id: Annotated[str | None, MONEY] = None
    """The dispute about it, open or resolved."""
    disputable_until: Annotated[datetime | None, MONEY] = None
    """Of one that ended and was paid for: until when its renter can dispute it."""
    actions: JobActions | None = None
    """What the reader may do with it. Null in the frames of its stream, which all readers share."""


class JobNode(Documented):
    """Where an attempt runs or ran."""

    id: str
    name: str


class JobProgress(Documented):
    """How many of its slices are where."""

    total: int
    """All of them."""
    succeeded: int
    """That ended well."""
    failed: int
    """That did not, also those that were canceled."""
    running: int
    """That have a node."""
    waiting: int
    """That wait for a node."""


class JobSummary(JobHead):
    """A job in a list."""

    owner_name: str | None
    """Null for a team."""
    nodes: list[JobNode]
    """Where it runs or ran last; of a job with many slices, the first three of them."""
    progress: JobProgress
    """How far its slices are."""


class StreamedJob(JobHead):
    """A job as streams show it, beside its slices."""

    owner_name: str | None = None
    """Null for a team, and in the answer that makes the job."""
    next_slice: int | None
    """Where its slices go on after those that are shown, if there are more: ask with `?from_slice=`."""
    failures: list[FailedSlices]
    """All slices that did not succeed, those that ended alike together."""


class RunningCost(Documented):
    """What the live attempts of a job cost beside what was billed: they are billed hour by hour and at their ends."""

    at: datetime
    """When this was computed."""
    unbilled_micros: int
    """About what they cost since they were last billed."""
    per_hour_micros: int
    """What those whose command runs cost together in an hour."""
    held_micros: int
    """What is set aside for them. What they do not use comes back."""


class JobView(StreamedJob):
    spec: StoredSpec
    running_cost: Annotated[RunningCost | None, MONEY] = None
    """Of a job with attempts that somebody pays for and that have not ended. Null in its stream."""
    slices: list[SliceView]
    """In order, from the first that was asked for; at most a thousand, and fewer if they had many attempts."""


class JobPage(Documented):
    items: list[JobSummary]
    next: str | None
    total: int | None
    """How many match in all; null for more than 10,000."""
    searched_since: datetime | None
    """A search by name covers the 10,000 newest jobs that the other filters leave. If there are more, this is when the
    oldest of them was submitted: ask with it as `until` to search earlier ones. Else null: all were searched."""


_COMPUTED = frozenset({"counts", "resources", "actions", "dispute_id", "disputable_until"})

# Built once, and without the ORM: a job is looked at far more often than it changes.
JOB_COLUMNS = [getattr(Job, name) for name in JobHead.model_fields if name not in _COMPUTED]
_ATTEMPT_COLUMNS = [getattr(Attempt, name) for name in AttemptView.model_fields if name != "node_name"]
_JOB = (
    select(*JOB_COLUMNS, Job.spec, Job.role, User.name.label("owner_name"))
    .outerjoin(User, User.id == Job.owner_id)
    .where(Job.id == bindparam("job_id"), Job.deleted_at.is_(None))
)
_SLICES = (
    select(
        Slice.index,
        Slice.state,
        Slice.verdict,
        Slice.exit_code,
        Slice.reason,
        Slice.awaits_check,
        Slice.finished_at,
        Slice.retry_at,
        Slice.attempts.label("tries"),
    )
    .where(Slice.job_id == bindparam("job_id"), Slice.index >= bindparam("first"))
    .order_by(Slice.index)
    .limit(bindparam("most"))
)
_ATTEMPTS = (
    select(Attempt.slice_index, Node.name.label("node_name"), *_ATTEMPT_COLUMNS)
    .join(Node, Node.id == Attempt.node_id)
    .where(Attempt.job_id == bindparam("job_id"), Attempt.slice_index.between(bindparam("first"), bindparam("last")))
    .order_by(Attempt.slice_index, Attempt.number)
)


def find_view(
    session: Session, job_id: str, from_slice: int = 0, slice_limit: int = SHOWN_SLICES_LIMIT
) -> JobView | None:
    """The job as it is shown, with so many of its slices. Whether the caller may see it is not asked here."""
    connection, key = session.connection(), {"job_id": job_id, "first": from_slice}
    job = connection.execute(_JOB, {"job_id": job_id}).mappings().first()
    if job is None:
        return None
    rows = _fitting(connection.execute(_SLICES, {**key, "most": slice_limit}).mappings().all())
    end = rows[-1]["index"] + 1 if rows else from_slice
    attempts: dict[int, list[AttemptView]] = {}
    for row in connection.execute(_ATTEMPTS, {**key, "last": end - 1}).mappings():
        attempts.setdefault(row["slice_index"], []).append(AttemptView.model_validate(dict(row)))
    slices = [_slice_view(row, attempts.get(row["index"], [])) for row in rows]
    if job["slice_count"] == len(slices):
        counts = dict(Counter(part.state.value for part in slices))
    else:
        counts = repository.count_slices_by_state(session, [job_id])[job_id]
    last = job["slice_indices"][-1] if job["slice_indices"] else job["slice_count"] - 1
    next_slice = end if end <= last else None
    failed = counts.get(JobState.FAILED, 0) + counts.get(JobState.CANCELED, 0)
    return JobView.model_validate(
        {
            **job,
            "cost_micros": job["cost_micros"] + costs_of_replicas(session, [job]).get(job_id, 0),
            "resources": in_words(job["spec"].get("resources")),
            "counts": counts,
            "slices": slices,
            "next_slice": next_slice,
            "failures": list_failed(session, job_id) if failed else [],
        }
    )


def view_of_new(job: NewJob, leases: Sequence[Lease], now: datetime) -> JobView:
    """What `find_view` would find right after the commit that stored the job, without asking for it."""
    leased = {lease.slice_index: lease for lease in leases}
    shown = min(job.slices, SHOWN_SLICES_LIMIT)
    counts = {"running": len(leased), "queued": job.slices - len(leased)}
    return JobView(
        id=job.id,
        name=job.name,
        state=JobState.RUNNING if leased else JobState.QUEUED,
        **_NO_END,
        message=None,
        owner_id=job.owner_id,
        simulated=is_simulated(job.spec),
        priority=job.priority,
        retry_of=job.retry_of,
        ceiling_micros=job.ceiling_micros,
        cost_micros=0,
        resources=in_words(job.spec.get("resources")),
        slice_count=job.slices,
        slice_indices=None if job.slice_indices is None else list(job.slice_indices),
        counts={JobState(state): count for state, count in counts.items() if count},
        created_at=now,
        started_at=None,
        finished_at=None,
        cancel_requested_at=None,
        spec=job.spec,
        slices=[_new_slice(index, leased.get(index), now) for index in job.indices[:shown]],
        next_slice=job.indices[shown] if shown < job.slices else None,
        failures=[],
    )


_NO_END: dict[str, Any] = {"verdict": None, "exit_code": None, "reason": None}


def _new_slice(index: int, lease: Lease | None, now: datetime) -> SliceView:
    if lease is None:
        return SliceView(index=index, state=JobState.QUEUED, **_NO_END, attempts=[])
    attempt = AttemptView(
        id=lease.attempt_id,
        number=lease.number,
        fence=lease.fence,
        node_id=lease.node_id,
        node_name=lease.node_name,
        own=lease.own,
        state=AttemptState.LEASED,
        **_NO_END,
        detail=None,
        isolation=None,
        resumed_from=lease.resumed_from,
        price_micros=lease.price_micros,
        price=lease.price,
        leased_at=now,
        started_at=None,
        finished_at=None,
        log_bytes=0,
        billed_seconds=0,
        cost_micros=0,
    )
    return SliceView(index=index, state=JobState.RUNNING, **_NO_END, attempts=[attempt])


def _fitting(slices: Sequence[RowMapping]) -> Sequence[RowMapping]:
    """As many as can be shown with all their attempts: at least one, whatever it went through."""
    attempts = 0
    for shown, row in enumerate(slices):
        attempts += row["tries"]
        if shown and attempts > SHOWN_ATTEMPTS_LIMIT:
            return slices[:shown]
    return slices


def _slice_view(row: RowMapping, attempts: list[AttemptView]) -> SliceView:
    started = [attempt.started_at for attempt in attempts if attempt.started_at is not None]
    return SliceView.model_validate({**row, "started_at": min(started, default=None), "attempts": attempts})


def costs_of_replicas(session: Session, jobs: Sequence[RowMapping]) -> dict[str, int]:
    """By job: what its renter paid for the hidden jobs that ran its slices once more."""
    replicated = [job["id"] for job in jobs if job["role"] == Role.REPLICATED]
    if not replicated:
        return {}
    query = select(Job.rerun_of, func.sum(Job.cost_micros)).where(
        Job.rerun_of.in_(replicated), Job.role == Role.REPLICA
    )
    return {job_id: int(micros) for job_id, micros in session.execute(query.group_by(Job.rerun_of)) if job_id}
