from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Any, cast

from sqlalchemy import ColumnElement, Table, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.orm import InstrumentedAttribute, Session

from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.usage import Amount

ROWS_AT_ONCE = 500
"""Bounds the number of parameters of one statement."""
_ARTIFACTS = cast(Table, Artifact.__table__)


def find_artifact(session: Session, artifact_id: str, owner_ids: Collection[str]) -> Artifact | None:
    """One that is there for these owners: an abandoned one is not."""
    return session.scalar(
        select(Artifact).where(
            Artifact.id == artifact_id,
            Artifact.owner_id.in_(owner_ids),
            Artifact.state != ArtifactState.ABANDONED,
        )
    )


def find_shared(session: Session, owner_id: str, digest: str) -> Artifact | None:
    """The owner's bundle or input with this digest, stored or on its way."""
    return session.scalar(
        select(Artifact).where(
            Artifact.owner_id == owner_id,
            Artifact.digest == digest,
            Artifact.attempt_id.is_(None),
            Artifact.job_id.is_(None),
            Artifact.state != ArtifactState.ABANDONED,
        )
    )


def find_checkpoint_files(
    session: Session, job_id: str, slice_index: int, digests: Sequence[str]
) -> dict[str, Artifact]:
    """Those that were granted to the slice, stored or not, by digest."""
    found: dict[str, Artifact] = {}
    for start in range(0, len(digests), ROWS_AT_ONCE):
        rows = session.scalars(
            select(Artifact).where(
                Artifact.job_id == job_id,
                Artifact.slice_index == slice_index,
                Artifact.digest.in_(digests[start : start + ROWS_AT_ONCE]),
                Artifact.state != ArtifactState.ABANDONED,
            )
        )
        found |= {row.digest: row for row in rows}
    return found


def find_outputs(session: Session, attempt_id: str, paths: Sequence[str]) -> dict[str, Artifact]:
    """Those of the attempt's outputs that were granted, stored or not, by path."""
    found: dict[str, Artifact] = {}
    for start in range(0, len(paths), ROWS_AT_ONCE):
        rows = session.scalars(
            select(Artifact).where(
                Artifact.attempt_id == attempt_id,
                Artifact.path.in_(paths[start : start + ROWS_AT_ONCE]),
                Artifact.state != ArtifactState.ABANDONED,
            )
        )
        found |= {row.path: row for row in rows if row.path is not None}
    return found


def measure_outputs(session: Session, attempt_id: str) -> tuple[int, int]:
    """How many outputs the attempt has, and their bytes."""
    count, total = session.execute(
        select(func.count(), func.coalesce(func.sum(Artifact.size_bytes), 0)).where(
            Artifact.attempt_id == attempt_id, Artifact.state != ArtifactState.ABANDONED
        )
    ).one()
    return int(count), int(total)


def measure_checkpoint_files(session: Session, job_id: str, slice_index: int) -> int:
    """The bytes of all that was granted to the slice's checkpoints, stored or not."""
    total = session.scalar(
        select(func.coalesce(func.sum(Artifact.size_bytes), 0)).where(
            Artifact.job_id == job_id,
            Artifact.slice_index == slice_index,
            Artifact.state != ArtifactState.ABANDONED,
        )
    )
    return int(total or 0)


def insert_unless_there(session: Session, rows: Sequence[dict[str, Any]]) -> Amount:
    """What it comes to. A row whose digest or path another transaction has just taken is left out."""
    if not rows:
        return Amount()
    insert = sqlite.insert if session.get_bind().dialect.name == "sqlite" else postgresql.insert
    added = insert(_ARTIFACTS).on_conflict_do_nothing().returning(_ARTIFACTS.c.size_bytes)
    sizes = session.connection().execute(added, list(rows)).scalars().all()
    return Amount(sum(sizes), len(sizes))


def renew(session: Session, artifact_ids: Sequence[str], writable_until: datetime) -> None:
    """New URLs are given out for those that are still on their way."""
    for start in range(0, len(artifact_ids), ROWS_AT_ONCE):
        session.execute(
            update(Artifact)
            .where(
                Artifact.id.in_(artifact_ids[start : start + ROWS_AT_ONCE]),
                Artifact.state == ArtifactState.UPLOADING,
                Artifact.writable_until < writable_until,
            )
            .values(writable_until=writable_until)
            .execution_options(synchronize_session=False)
        )


def mark_stored(session: Session, artifact_ids: Sequence[str], now: datetime) -> set[str]:
    """The ids that became stored just now. With `mark_abandoned` the only writes of the state, both from uploading."""
    return _move(session, artifact_ids, state=ArtifactState.STORED, stored_at=now)


def mark_abandoned(session: Session, artifact_ids: Sequence[str]) -> set[str]:
    return _move(session, artifact_ids, state=ArtifactState.ABANDONED)


def _move(session: Session, artifact_ids: Sequence[str], **values: Any) -> set[str]:
    moved: set[str] = set()
    for start in range(0, len(artifact_ids), ROWS_AT_ONCE):
        moved.update(
            session.scalars(
                update(Artifact)
                .where(
                    Artifact.id.in_(artifact_ids[start : start + ROWS_AT_ONCE]),
                    Artifact.state == ArtifactState.UPLOADING,
                )
                .values(**values)
                .returning(Artifact.id)
                .execution_options(synchronize_session=False)
            )
        )
    return moved


def touch_stored(session: Session, artifact_ids: Sequence[str], now: datetime) -> set[str]:
    """Those that are stored, from now on as if they had been stored just now: nobody lets them go at this moment."""
    stored: set[str] = set()
    for start in range(0, len(artifact_ids), ROWS_AT_ONCE):
        stored.update(
            session.scalars(
                update(Artifact)
                .where(
                    Artifact.id.in_(artifact_ids[start : start + ROWS_AT_ONCE]),
                    Artifact.state == ArtifactState.STORED,
                )
                .values(stored_at=now)
                .returning(Artifact.id)
                .execution_options(synchronize_session=False)
            )
        )
    return stored


def list_stored_checkpoint_files(session: Session, before: datetime, limit: int) -> list[tuple[str, str | None]]:
    """(artifact, job), oldest first."""
    rows = session.execute(
        select(Artifact.id, Artifact.job_id)
        .where(
            Artifact.kind == ArtifactKind.CHECKPOINT,
            Artifact.state == ArtifactState.STORED,
            Artifact.stored_at < before,
        )
        .order_by(Artifact.stored_at)
        .limit(limit)
    )
    return [(row[0], row[1]) for row in rows]


def let_go(session: Session, artifact_ids: Sequence[str], stored_before: datetime) -> int:
    """What was stored and nobody needs any more: the next sweep deletes it. What was touched since is left alone."""
    return _change_old(session, artifact_ids, stored_before, state=ArtifactState.ABANDONED, stored_at=None)


def put_behind(session: Session, artifact_ids: Sequence[str], stored_before: datetime) -> None:
    """They are still needed: the next look begins with others."""
    _change_old(session, artifact_ids, stored_before, stored_at=stored_before)


def _change_old(session: Session, artifact_ids: Sequence[str], stored_before: datetime, **values: Any) -> int:
    changed = 0
    for start in range(0, len(artifact_ids), ROWS_AT_ONCE):
        found = session.scalars(
            update(Artifact)
            .where(
                Artifact.id.in_(artifact_ids[start : start + ROWS_AT_ONCE]),
                Artifact.kind == ArtifactKind.CHECKPOINT,
                Artifact.state == ArtifactState.STORED,
                Artifact.stored_at < stored_before,
            )
            .values(**values)
            .returning(Artifact.id)
            .execution_options(synchronize_session=False)
        )
        changed += len(found.all())
    return changed


def forget_outputs(session: Session, attempt_ids: Sequence[str]) -> list[Artifact]:
    """What attempts left behind, stored or not, and nobody will fetch: it is to be freed."""
    return _forget(session, Artifact.attempt_id, attempt_ids)


def forget_checkpoint_files(session: Session, job_ids: Sequence[str]) -> list[Artifact]:
    return _forget(session, Artifact.job_id, job_ids)


def forget_unfinished(session: Session, attempt_id: str) -> list[Artifact]:
    """Outputs that were granted to an attempt which has ended without them."""
    return _forget(session, Artifact.attempt_id, [attempt_id], Artifact.state == ArtifactState.UPLOADING)


def abandon(session: Session, artifact_id: str) -> list[Artifact]:
    """Whatever state it is in."""
    return _forget(session, Artifact.id, [artifact_id])


def let_go_at_once(session: Session, artifact_ids: Sequence[str]) -> list[Artifact]:
    """What is stored, and whoever needed it has just said that it needs it no more."""
    return _forget(session, Artifact.id, artifact_ids, Artifact.state == ArtifactState.STORED)


def _forget(
    session: Session, column: InstrumentedAttribute[Any], values: Sequence[str], *conditions: ColumnElement[bool]
) -> list[Artifact]:
    found: list[Artifact] = []
    for start in range(0, len(values), ROWS_AT_ONCE):
        found += session.scalars(
            update(Artifact)
            .where(
                column.in_(values[start : start + ROWS_AT_ONCE]), Artifact.state != ArtifactState.ABANDONED, *conditions
            )
            .values(state=ArtifactState.ABANDONED, stored_at=None)
            .returning(Artifact)
            .execution_options(synchronize_session=False)
        )
    return found


def abandon_unfinished(session: Session, before: datetime, limit: int) -> set[str]:
    """Uploads that nobody can go on with are abandoned. One that is being completed at this moment is not."""
    found = session.scalars(
        select(Artifact.id)
        .where(Artifact.state == ArtifactState.UPLOADING, Artifact.writable_until < before)
        .order_by(Artifact.writable_until)
        .limit(limit)
    ).all()
    return mark_abandoned(session, found)


def list_to_free(session: Session, limit: int) -> list[Artifact]:
    """Abandoned ones whose objects are to be deleted."""
    return list(
        session.scalars(
            select(Artifact).where(Artifact.state == ArtifactState.ABANDONED, Artifact.freed_at.is_(None)).limit(limit)
        )
    )


def list_replaced(session: Session, artifact_ids: Sequence[str]) -> list[Artifact]:
    """Those of them that are abandoned, and whose objects are to be deleted."""
    found: list[Artifact] = []
    for start in range(0, len(artifact_ids), ROWS_AT_ONCE):
        found += session.scalars(
            select(Artifact).where(
                Artifact.id.in_(artifact_ids[start : start + ROWS_AT_ONCE]),
                Artifact.state == ArtifactState.ABANDONED,
                Artifact.freed_at.is_(None),
            )
        )
    return found


def list_over(session: Session, before: datetime, limit: int) -> list[Artifact]:
    """Freed ones to which nobody can have put anything since then."""
    return list(
        session.scalars(
            select(Artifact)
            .where(
                Artifact.state == ArtifactState.ABANDONED,
                Artifact.freed_at.is_not(None),
                Artifact.writable_until < before,
            )
            .limit(limit)
        )
    )


def mark_freed(session: Session, artifact_ids: Sequence[str], now: datetime) -> list[tuple[str, int]]:
    """Their objects are deleted: (owner, bytes) of each that was not freed before."""
    freed: list[tuple[str, int]] = []
    for start in range(0, len(artifact_ids), ROWS_AT_ONCE):
        rows = session.execute(
            update(Artifact)
            .where(
                Artifact.id.in_(artifact_ids[start : start + ROWS_AT_ONCE]),
                Artifact.state == ArtifactState.ABANDONED,
                Artifact.freed_at.is_(None),
            )
            .values(freed_at=now)
            .returning(Artifact.owner_id, Artifact.size_bytes)
            .execution_options(synchronize_session=False)
        )
        freed += [(row[0], row[1]) for row in rows]
    return freed


def delete_freed(session: Session, artifact_ids: Sequence[str]) -> None:
    session.execute(delete(Artifact).where(Artifact.id.in_(artifact_ids), Artifact.freed_at.is_not(None)))
