"""Forgetting what is old, a little at a time: SQLite has one writer, and others wait for it meanwhile."""

import asyncio
from collections.abc import Callable
from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.core.db import Database

PRUNED_AT_ONCE = 1_000
PAUSE_SECONDS = 0.05

Prune = Callable[[Session, datetime, int], int]
"""Deletes at most so many rows that are older than that instant, or out of date at it; how many."""


async def prune_in_batches(db: Database, prune: Prune, now: datetime, *, at_once: int = PRUNED_AT_ONCE) -> int:
    """Until nothing old is left; each batch is a transaction of its own. How many rows went."""
    gone = 0
    while batch := await db.run(prune, now, at_once):
        gone += batch
        await asyncio.sleep(PAUSE_SECONDS)
    return gone
