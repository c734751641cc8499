"""What nobody finished is cleared away."""

from datetime import timedelta

import structlog

from computepool.hub.artifacts import repository
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.core.context import Context

SWEPT_AT_ONCE = 100
LANDING = timedelta(hours=1)
"""After the last URL has expired: a slow PUT that began before it may still come in."""

log = structlog.get_logger()


async def sweep_abandoned(context: Context, store: Store) -> int:
    """Delete uploads that no URL can complete any more, at least a day old. Returns how many. Run it every hour or so.

    First they are marked, so that no upload is completed while its objects go; then objects; then rows. Cut off
    anywhere, the next sweep goes on.
    """
    swept = 0
    while True:
        before = context.now() - LANDING
        artifacts = await context.db.run(repository.abandon_unfinished, before, SWEPT_AT_ONCE)
        if not artifacts:
            return swept
        await context.offload(_delete_objects, store, artifacts)
        await context.db.run(repository.delete_abandoned, [artifact.id for artifact in artifacts])
        swept += len(artifacts)
        log.info("artifacts.swept", count=len(artifacts))


def _delete_objects(store: Store, artifacts: list[Artifact]) -> None:
    for artifact in artifacts:
        keys = [entry.key for entry in store.list(artifact.folder)]
        if keys:
            store.delete(*keys)
