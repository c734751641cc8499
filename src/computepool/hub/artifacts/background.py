"""What nobody finished is finished or cleared away."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.artifacts import repository
from computepool.hub.artifacts.logs import LogStore
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.core.context import Context
from computepool.hub.core.tables import OutboxRow
from computepool.protocol.states import ATTEMPT_ENDED

SWEPT_AT_ONCE = 100
LANDING = timedelta(hours=1)
"""After the last URL has expired: a slow PUT that began before it may still come in."""
SEAL_PAUSE_SECONDS = 0.02
CUT_OFF_WITHIN = timedelta(hours=2)
"""Before the last thing that the hub did: longer than sealing takes, and than lost attempts wait to be sealed."""
CUT_OFF_EVENTS_LIMIT = 20_000
_ENDS = frozenset(f"attempt.{state}" for state in ATTEMPT_ENDED)

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


async def seal_cut_off(context: Context, logs: LogStore) -> int:
    """After a start: make one object of each log that the end of the last process left in pieces. How many it was.

    Logs are sealed as soon as their attempts end, so only the last ones before that end can be affected.
    """
    return await seal_logs(logs, await context.db.read(_recently_ended))


async def seal_logs(logs: LogStore, attempt_ids: Iterable[str]) -> int:
    """Without haste: nobody waits for it."""
    sealed = 0
    for attempt_id in attempt_ids:
        try:
            sealed += await logs.seal(attempt_id)
        except Exception:
            log.exception("log.seal_failed", attempt_id=attempt_id)
        await asyncio.sleep(SEAL_PAUSE_SECONDS)
    if sealed:
        log.info("logs.sealed", count=sealed)
    return sealed


def _recently_ended(session: Session) -> list[str]:
    newest = session.scalar(select(func.max(OutboxRow.created_at)))
    if newest is None:
        return []
    payloads = session.scalars(
        select(OutboxRow.payload)
        .where(OutboxRow.created_at >= newest - CUT_OFF_WITHIN, OutboxRow.topic.like("job/%"))
        .order_by(OutboxRow.id.desc())
        .limit(CUT_OFF_EVENTS_LIMIT)
    )
    return list(dict.fromkeys(payload["subject"] for payload in payloads if payload["action"] in _ENDS))


def _delete_objects(store: Store, artifacts: list[Artifact]) -> None:
    for artifact in artifacts:
        keys = [entry.key for entry in store.list(artifact.folder)]
        if keys:
            store.delete(*keys)
