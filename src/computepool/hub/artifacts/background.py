"""Logs that were left in pieces are made whole."""

import asyncio
from collections.abc import Iterable
from datetime import timedelta

import structlog
from sqlalchemy import or_, select
from sqlalchemy.orm import Session

from computepool.hub.artifacts.logs import LogStore
from computepool.hub.core.context import Context
from computepool.hub.core.tables import OutboxRow
from computepool.protocol.states import ATTEMPT_ENDED

SEAL_PAUSE_SECONDS = 0.02
CUT_OFF_WITHIN = timedelta(hours=2)
"""Before the last thing that the hub did: longer than sealing takes, and than lost attempts wait to be sealed."""
CUT_OFF_EVENTS_LIMIT = 20_000
_ENDS = frozenset(f"attempt.{state}" for state in ATTEMPT_ENDED)

log = structlog.get_logger()


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
    backwards = OutboxRow.id.desc()
    newest = session.scalar(select(OutboxRow.created_at).order_by(backwards).limit(1))
    if newest is None:
        return []
    older = select(OutboxRow.id).where(OutboxRow.created_at < newest - CUT_OFF_WITHIN).order_by(backwards).limit(1)
    payloads = session.scalars(
        select(OutboxRow.payload)
        .where(
            OutboxRow.id > (session.scalar(older) or 0),
            or_(OutboxRow.topic.like("owner/%"), OutboxRow.topic.like("host/%")),
        )
        .order_by(backwards)
        .limit(CUT_OFF_EVENTS_LIMIT)
    )
    return list(dict.fromkeys(payload["subject"] for payload in payloads if payload["action"] in _ENDS))
