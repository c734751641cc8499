from datetime import datetime
from typing import Any, Protocol

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Index,
    String,
    Text,
    false,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.core.tables import Base, Id, Json
from computepool.protocol.states import ATTEMPT_ENDED, ATTEMPT_LIVE, JOB_FINAL, JobState


def _in(column: str, states: frozenset[Any]) -> str:
    listed = ", ".join(f"'{state}'" for state in sorted(states))
    return f"{column} IN ({listed})"


OPEN = frozenset(JobState) - JOB_FINAL
UNSUCCESSFUL = frozenset({JobState.FAILED, JobState.CANCELED})
_OPEN_SLICE = text(_in("state", OPEN))
_RERUN = text("rerun_of IS NOT NULL")
_LEAVING = text("deleted_at IS NOT NULL AND logs_removed_at IS NULL")
ARE_OPEN, ARE_UNSUCCESSFUL = text(f"jobs.{_in('state', OPEN)}"), text(f"jobs.{_in('state', UNSUCCESSFUL)}")
"""Of jobs: few are, however many have succeeded. A query that says it in these words finds them by their index."""
ARE_SIMULATED = text("jobs.simulated")
"""The same."""
_ENDED = "finished_at IS NOT NULL"
"""Every index that a submit writes costs it a page. A comparison with `finished_at` implies this."""
_LIVE_ATTEMPT = text(_in("state", ATTEMPT_LIVE))


def _some(name: str, which: str, *columns: str) -> Index:
    return Index(name, *columns, sqlite_where=text(which), postgresql_where=text(which))


class Job(Base):
    """Requested work."""

    __tablename__ = "jobs"
    __table_args__ = (
        CheckConstraint(f"(finished_at IS NOT NULL) = ({_in('state', JOB_FINAL)})", name="finished_iff_final"),
        # The list of jobs in each of its orders: one owner's, and everybody's for operators. Ids sort by age.
        Index("ix_jobs_owner_newest", "owner_id", "id"),
        _some("ix_jobs_owner_finished", _ENDED, "owner_id", "finished_at", "id"),
        _some("ix_jobs_finished", _ENDED, "finished_at", "id"),
        Index("ix_jobs_owner_cost", "owner_id", "cost_micros", "id"),
        Index("ix_jobs_owner_name", "owner_id", "name", "id"),
        # Its filters by what few jobs are.
        _some("ix_jobs_open", _in("state", OPEN), "owner_id", "id"),
        _some("ix_jobs_unsuccessful", _in("state", UNSUCCESSFUL), "owner_id", "id"),
        _some("ix_jobs_everybodys_unsuccessful", _in("state", UNSUCCESSFUL), "id"),
        _some("ix_jobs_simulated", "simulated", "owner_id", "id"),
        _some("ix_jobs_gpu", "gpu IS NOT NULL", "gpu", "owner_id", "id"),
        _some("ix_jobs_retries", "retry_of IS NOT NULL", "retry_of", "id"),
        Index("ix_jobs_reruns", "rerun_of", sqlite_where=_RERUN, postgresql_where=_RERUN),
        Index("ix_jobs_leaving", "id", sqlite_where=_LEAVING, postgresql_where=_LEAVING),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    owner_id: Mapped[str] = mapped_column(ForeignKey("owners.id"))
    submitted_by: Mapped[str] = mapped_column(Id)
    name: Mapped[str] = mapped_column(String(128))
    state: Mapped[str] = mapped_column(String(12))
    verdict: Mapped[str | None] = mapped_column(String(12))
    exit_code: Mapped[int | None]
    reason: Mapped[str | None] = mapped_column(String(24))
    message: Mapped[str | None] = mapped_column(String(500))
    """In words, why it ended as it did."""
    spec: Mapped[dict[str, Any]]
    spec_digest: Mapped[str] = mapped_column(String(80))
    bundle: Mapped[dict[str, Any] | None]
    """`{id, digest, size_bytes}` of the archive that is unpacked where the command runs."""
    inputs: Mapped[dict[str, Any] | None]
    """By path, `{id, digest, size_bytes}` of the stored artifacts among the spec's inputs."""
    image_digest: Mapped[str | None] = mapped_column(String(80))
    """What the image's name meant when the first attempt ran: the others run the same."""
    priority: Mapped[int]
    retry_of: Mapped[str | None] = mapped_column(Id)
    retries_allowed: Mapped[int]
    slice_count: Mapped[int]
    slice_indices: Mapped[list[int] | None] = mapped_column(Json)
    """Which of the spec's slices are run, if not all: those of an earlier job that did not succeed."""
    slices_left: Mapped[int]
    """Slices that are not final yet; the last one to end ends the job."""
    created_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    ceiling_micros: Mapped[int | None] = mapped_column(BigInteger)
    """The most that a slice-hour may cost: the spec's own, or what the pool quoted and some more. None: no ceiling."""
    role: Mapped[str | None] = mapped_column(String(12))
    """What verification has to do with it (`verification.Role`)."""
    rerun_of: Mapped[str | None] = mapped_column(Id)
    """Of a hidden job: whose slices it runs again."""
    rerun: Mapped[dict[str, Any] | None]
    """Of a hidden job: where it may run, and for whom (`brief.Rerun`)."""
    deleted_at: Mapped[datetime | None]
    """By its owner. What was paid for it, and the manifests and receipts that say why, are kept."""
    logs_removed_at: Mapped[datetime | None]
    """With the job, or because they were older than the operator keeps logs."""
    outputs_removed_at: Mapped[datetime | None]
    """As for logs; its checkpoints go with them."""
    own_job: Mapped[str | None] = mapped_column(Text)
    """The submitter's signature under it, as it came: its owner's nodes check it."""
    gpu: Mapped[str | None] = mapped_column(String(64))
    """The model of GPU that its spec names, for the list's filter."""
    simulated: Mapped[bool] = mapped_column(server_default=false())
    """Its spec asks for simulated nodes."""
    cost_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """What its renter paid for its attempts, without what was given back: the sum of theirs."""


class Slice(Base):
    """One parallel part of a job, scheduled on its own."""

    __tablename__ = "slices"
    __table_args__ = (
        CheckConstraint(f"(finished_at IS NOT NULL) = ({_in('state', JOB_FINAL)})", name="finished_iff_final"),
        # Few slices are open however many have ended: the hub reads just these when it starts.
        Index("ix_slices_open", "job_id", sqlite_where=_OPEN_SLICE, postgresql_where=_OPEN_SLICE),
    )

    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), primary_key=True)
    index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    state: Mapped[str] = mapped_column(String(12))
    fence: Mapped[int] = mapped_column(BigInteger)
    """Of the newest lease: a report with another one is stale. 0 before the first."""
    attempts: Mapped[int]
    failures: Mapped[int]
    """Attempts that the renter's own doing ended: they use up the spec's retries."""
    losses: Mapped[int]
    """Attempts that ended through no doing of the renter's."""
    avoid: Mapped[list[str]]
    """Nodes that failed it: used again only while there is no other."""
    retry_at: Mapped[datetime | None]
    verdict: Mapped[str | None] = mapped_column(String(12))
    exit_code: Mapped[int | None]
    reason: Mapped[str | None] = mapped_column(String(24))
    finished_at: Mapped[datetime | None]
    awaits_check: Mapped[bool] = mapped_column(server_default=false())
    """It has a result, which counts when its replicas confirm it."""
    result_attempt: Mapped[str | None] = mapped_column(Id)
    """Whose outputs count, if not those of its own last attempt: one that others proved right."""


class Attempt(Base):
    """One try of a slice on one node."""

    __tablename__ = "attempts"
    __table_args__ = (
        ForeignKeyConstraint(["job_id", "slice_index"], ["slices.job_id", "slices.index"], name="fk_attempts_slice"),
        CheckConstraint(f"(finished_at IS NOT NULL) = ({_in('state', ATTEMPT_ENDED)})", name="finished_iff_ended"),
        Index("ix_attempts_slice", "job_id", "slice_index"),
        Index("ix_attempts_node", "node_id", "id"),
        _some("ix_attempts_finished", _ENDED, "finished_at"),
        Index("ix_attempts_live", "node_id", sqlite_where=_LIVE_ATTEMPT, postgresql_where=_LIVE_ATTEMPT),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    job_id: Mapped[str] = mapped_column(Id)
    slice_index: Mapped[int]
    number: Mapped[int]
    """From 1, within its slice."""
    fence: Mapped[int] = mapped_column(BigInteger)
    node_id: Mapped[str] = mapped_column(ForeignKey("nodes.id"))
    own: Mapped[bool]
    """The node belongs to whom the job belongs to."""
    state: Mapped[str] = mapped_column(String(12))
    verdict: Mapped[str | None] = mapped_column(String(12))
    exit_code: Mapped[int | None]
    reason: Mapped[str | None] = mapped_column(String(24))
    detail: Mapped[str | None] = mapped_column(String(500))
    isolation: Mapped[str | None] = mapped_column(String(12))
    """The level that it really ran at."""
    resumed_from: Mapped[int | None]
    """The number of the checkpoint that it started with."""
    price_micros: Mapped[int | None] = mapped_column(BigInteger)
    """For an hour, fee included, locked by the lease. None for attempts from before there were prices."""
    price: Mapped[dict[str, Any] | None]
    """What that price was made of."""
    terms: Mapped[dict[str, Any] | None]
    """What its lease locked beside the price (`terms.Terms`); None where nothing is paid."""
    manifest: Mapped[str] = mapped_column(Text)
    """As signed and sent."""
    receipt: Mapped[str | None] = mapped_column(Text)
    """As signed by the node."""
    weight: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """What it occupies of other people's nodes, in thousandths of a core; 0 on one's own."""
    leave_asked_at: Mapped[datetime | None]
    """When it was told to make room for others, or that the money for it is over."""
    leave_for: Mapped[str | None] = mapped_column(String(12))
    """The verdict of such an end: preempted, if not said otherwise, or budget."""
    exited_at: Mapped[datetime | None]
    """When the hub heard that its command had ended: what comes after is not billed."""
    rested_since: Mapped[datetime | None]
    """While it is suspended."""
    rested_seconds: Mapped[float] = mapped_column(Double, server_default="0")
    """What it was suspended before, on the hub's clock."""
    settled_seconds: Mapped[int] = mapped_column(server_default="0")
    """How much of its running time is settled, paid or not: what comes next begins there."""
    billed_seconds: Mapped[int] = mapped_column(server_default="0")
    """How much of it somebody paid for."""
    cost_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """What its renter paid, without what was given back."""
    earned_micros: Mapped[int] = mapped_column(BigInteger, server_default="0")
    """What its host got for it, whoever paid that."""
    leased_at: Mapped[datetime]
    started_at: Mapped[datetime | None]
    finished_at: Mapped[datetime | None]
    log_bytes: Mapped[int] = mapped_column(BigInteger)
    log_digest: Mapped[str | None] = mapped_column(String(80))


class Checkpoint(Base):
    """What a slice has saved: its next attempt starts from the newest."""

    __tablename__ = "checkpoints"
    __table_args__ = (
        ForeignKeyConstraint(["job_id", "slice_index"], ["slices.job_id", "slices.index"], name="fk_checkpoints_slice"),
    )

    job_id: Mapped[str] = mapped_column(Id, primary_key=True)
    slice_index: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    number: Mapped[int] = mapped_column(primary_key=True, autoincrement=False)
    """From 1, within its slice, over all attempts."""
    attempt_id: Mapped[str] = mapped_column(Id)
    content: Mapped[dict[str, Any]]
    """`files`, a list of `{path, digest, size_bytes, artifact_id}`."""
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    running_seconds: Mapped[float] = mapped_column(Double)
    """Of its attempt, when the folder was read."""
    created_at: Mapped[datetime]


class JobShare(Base):
    """A link by which everybody who has it can see a job. Of its token only a digest is kept."""

    __tablename__ = "job_shares"

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    job_id: Mapped[str] = mapped_column(ForeignKey("jobs.id"), index=True)
    hash: Mapped[str] = mapped_column(String(64), unique=True)
    with_logs: Mapped[bool]
    with_outputs: Mapped[bool]
    created_by: Mapped[str] = mapped_column(Id)
    created_at: Mapped[datetime]
    expires_at: Mapped[datetime | None]
    """None: never."""
    revoked_at: Mapped[datetime | None]


class OfAnAttempt(Protocol):
    """A lease, or an attempt."""

    @property
    def job_id(self) -> str: ...
    @property
    def root(self) -> str: ...
    @property
    def owner_id(self) -> str: ...
    @property
    def host_id(self) -> str | None: ...


def topics_of(job_id: str, owner_id: str, *, is_hidden: bool = False) -> tuple[str, ...]:
    """Who hears of what happens to a job: its readers, and its owner's event stream. Of a job that only checks another
    one its owner hears nothing."""
    return (f"job/{job_id}",) if is_hidden else (f"job/{job_id}", f"owner/{owner_id}")


def attempt_topics(attempt: OfAnAttempt) -> tuple[str, ...]:
    """The same for an attempt; and the owner of its node, if that is somebody else, who cannot tell a check from any
    other attempt."""
    topics = topics_of(attempt.job_id, attempt.owner_id, is_hidden=attempt.root != attempt.job_id)
    return (*topics, f"host/{attempt.host_id}") if attempt.host_id else topics
