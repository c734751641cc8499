"""Deleting what nobody can get any more.

An artifact that is abandoned has its objects deleted, and only then its owner's usage is less. Its row stays until the
last URL to put parts of it has expired, and then whatever was put meanwhile goes too: a local store refuses it, S3
cannot. Cut off anywhere, the next sweep goes on.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import structlog
from sqlalchemy.orm import Session

from computepool.hub.artifacts import repository
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.artifacts.usage import release
from computepool.hub.core.context import Context

SWEPT_AT_ONCE = 100
LANDING = timedelta(hours=1)
"""After the last URL has expired: a slow PUT that began before it may still come in."""

log = structlog.get_logger()


async def free(context: Context, store: Store, artifacts: Sequence[Artifact]) -> int:
    """Delete the objects of abandoned artifacts. How many it was."""
    freed = 0
    for start in range(0, len(artifacts), SWEPT_AT_ONCE):
        batch = artifacts[start : start + SWEPT_AT_ONCE]
        await context.offload(_clear, store, batch)
        freed += await context.db.run(note_freed, [artifact.id for artifact in batch], context.now())
    if freed:
        log.info("artifacts.freed", count=freed)
    return freed


async def free_soon(context: Context, store: Store, artifacts: Sequence[Artifact]) -> None:
    """As `free`; what cannot be deleted now, the next sweep deletes."""
    try:
        await free(context, store, artifacts)
    except Exception:
        log.exception("artifacts.not_freed", count=len(artifacts))


async def free_replaced(context: Context, store: Store, artifact_ids: Sequence[str]) -> None:
    """Before anything can be put in their place: what is granted bounds what is stored."""
    if artifact_ids:
        await free(context, store, await context.db.read(repository.list_replaced, artifact_ids))


def note_freed(session: Session, artifact_ids: Sequence[str], now: datetime) -> int:
    freed = repository.mark_freed(session, artifact_ids, now)
    release(session, freed, now)
    return len(freed)


async def sweep_abandoned(context: Context, store: Store) -> int:
    """Give up uploads that no URL can complete any more, at least a day old; free whatever is abandoned; forget what
    was freed so long ago that nothing can come any more. How many were freed. Run it every hour or so."""
    before = context.now() - LANDING
    while await context.db.run(repository.abandon_unfinished, before, SWEPT_AT_ONCE):
        pass
    freed = 0
    while artifacts := await context.db.read(repository.list_to_free, SWEPT_AT_ONCE):
        freed += await free(context, store, artifacts)
    while over := await context.db.read(repository.list_over, before, SWEPT_AT_ONCE):
        await context.offload(_clear, store, over)
        await context.db.run(repository.delete_freed, [artifact.id for artifact in over])
    return freed


def _clear(store: Store, artifacts: Sequence[Artifact]) -> None:
    for artifact in artifacts:
        store.clear(artifact.folder)
