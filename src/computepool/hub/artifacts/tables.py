from datetime import datetime
from enum import StrEnum

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, String, text
from sqlalchemy.orm import Mapped, mapped_column

from computepool.hub.artifacts.parts import artifact_folder, count_parts, part_key, size_of_part
from computepool.hub.core.tables import Base, Id

PATH_LIMIT = 1024


class ArtifactKind(StrEnum):
    BUNDLE = "bundle"
    INPUT = "input"
    OUTPUT = "output"
    CHECKPOINT = "checkpoint"
    """A file of a job's checkpoints, kept once however many of them have it."""


class ArtifactState(StrEnum):
    UPLOADING = "uploading"
    STORED = "stored"
    ABANDONED = "abandoned"
    """Nobody can get it. Its objects are deleted soon, and once more when no URL can put one any more."""


_ACTIVE_SHARED = text("attempt_id IS NULL AND job_id IS NULL AND state <> 'abandoned'")
_ACTIVE_CHECKPOINT = text("job_id IS NOT NULL AND state <> 'abandoned'")
_ACTIVE_OUTPUT = text("attempt_id IS NOT NULL AND state <> 'abandoned'")
_NOT_STORED = text("state <> 'stored'")
_UNPAID = text("paid_at IS NULL")


class Artifact(Base):
    """Stored bytes, known by their digest. An owner's bundle or input is kept once, an output for each attempt."""

    __tablename__ = "artifacts"
    __table_args__ = (
        CheckConstraint("(stored_at IS NOT NULL) = (state = 'stored')", name="stored_at_iff_stored"),
        CheckConstraint("(kind = 'output') = (attempt_id IS NOT NULL)", name="attempt_iff_output"),
        CheckConstraint("(path IS NOT NULL) = (attempt_id IS NOT NULL)", name="path_iff_output"),
        CheckConstraint("(kind = 'checkpoint') = (job_id IS NOT NULL)", name="job_iff_checkpoint"),
        Index(
            "uq_artifacts_owner_id_digest",
            "owner_id",
            "digest",
            unique=True,
            sqlite_where=_ACTIVE_SHARED,
            postgresql_where=_ACTIVE_SHARED,
        ),
        Index(
            "uq_artifacts_attempt_id_path",
            "attempt_id",
            "path",
            unique=True,
            sqlite_where=_ACTIVE_OUTPUT,
            postgresql_where=_ACTIVE_OUTPUT,
        ),
        Index(
            "uq_artifacts_job_id_slice_index_digest",
            "job_id",
            "slice_index",
            "digest",
            unique=True,
            sqlite_where=_ACTIVE_CHECKPOINT,
            postgresql_where=_ACTIVE_CHECKPOINT,
        ),
        Index(
            "ix_artifacts_unfinished",
            "writable_until",
            sqlite_where=_NOT_STORED,
            postgresql_where=_NOT_STORED,
        ),
        Index("ix_artifacts_owner_newest", "owner_id", "id"),
    )

    id: Mapped[str] = mapped_column(Id, primary_key=True)
    owner_id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"))
    digest: Mapped[str] = mapped_column(String(71))
    size_bytes: Mapped[int] = mapped_column(BigInteger)
    kind: Mapped[str] = mapped_column(String(12))
    state: Mapped[str] = mapped_column(String(12))
    attempt_id: Mapped[str | None] = mapped_column(Id)
    """Of an output: the attempt that it belongs to, and to no other."""
    job_id: Mapped[str | None] = mapped_column(Id)
    """Of a checkpoint's file: the job that it belongs to. Whoever knows its digest gets nothing of another's."""
    slice_index: Mapped[int | None]
    """Of a checkpoint's file: the slice that saved it. None for those from before it was noted."""
    path: Mapped[str | None] = mapped_column(String(PATH_LIMIT))
    """Of an output: where it was, below the attempt's folder."""
    part_digests: Mapped[list[str] | None]
    """None when there is only one part, whose digest is the whole's."""
    writable_until: Mapped[datetime]
    """The last URL to put parts of it expires then."""
    created_at: Mapped[datetime]
    stored_at: Mapped[datetime | None]
    freed_at: Mapped[datetime | None]
    """Of an abandoned one: when its objects were deleted, and its owner's usage with them."""

    @property
    def part_count(self) -> int:
        return count_parts(self.size_bytes)

    @property
    def folder(self) -> str:
        return artifact_folder(self.id, attempt_id=self.attempt_id, job_id=self.job_id)

    def part_key(self, part: int) -> str:
        return part_key(self.folder, part)

    def part_size(self, part: int) -> int:
        return size_of_part(self.size_bytes, part)

    def part_digest(self, part: int) -> str:
        return self.part_digests[part] if self.part_digests else self.digest


class StorageUsage(Base):
    """What an owner has stored: artifacts that are not freed, and the logs of jobs that are not deleted.

    A projection, changed in the transactions that change what it counts; `jobs.storage.reconcile` counts anew.
    """

    __tablename__ = "storage_usage"

    owner_id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"), primary_key=True)
    bytes: Mapped[int] = mapped_column(BigInteger)
    objects: Mapped[int] = mapped_column(BigInteger)
    """An artifact is one, and so is a log."""
    day: Mapped[str | None] = mapped_column(String(10))
    """Of UTC, such as 2026-01-31: the last on which something was added."""
    day_bytes: Mapped[int] = mapped_column(BigInteger)
    """Added on that day. What is deleted again still counts."""
    limit_bytes: Mapped[int | None] = mapped_column(BigInteger)
    """The owner's own limits, in place of the pool's."""
    limit_objects: Mapped[int | None] = mapped_column(BigInteger)
    unpaid_since: Mapped[str | None] = mapped_column(String(10))
    """The day of the oldest charge for storage that could not be paid."""


class StorageCharge(Base):
    """What an owner's storage beyond the free bytes cost on one day. Paid whole, by one entry of the ledger."""

    __tablename__ = "storage_charges"
    __table_args__ = (
        CheckConstraint("due_micros > 0", name="costs_something"),
        Index("ix_storage_charges_unpaid", "owner_id", "day", sqlite_where=_UNPAID, postgresql_where=_UNPAID),
    )

    owner_id: Mapped[str] = mapped_column(Id, ForeignKey("owners.id"), primary_key=True)
    day: Mapped[str] = mapped_column(String(10), primary_key=True)
    """Of UTC, such as 2026-01-31."""
    bytes: Mapped[int] = mapped_column(BigInteger)
    """That were stored when the day was charged."""
    free_bytes: Mapped[int] = mapped_column(BigInteger)
    price_micros: Mapped[int] = mapped_column(BigInteger)
    """For a GB and a day."""
    due_micros: Mapped[int] = mapped_column(BigInteger)
    created_at: Mapped[datetime]
    paid_at: Mapped[datetime | None]
