"""Telling those who have to make room."""

from collections.abc import Iterable

from computepool.hub.core.context import Context
from computepool.hub.jobs import service
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.preemption import Claim, Claims

EVICTED = "evicted"
"""The word in which a node hears it; every agent knows it."""


async def evict(context: Context, fleet: Fleet, book: Claims, claims: Iterable[Claim]) -> None:
    """It is written down first: their end is then not their node's doing."""
    found = [
        (node, held)
        for claim in claims
        if (node := fleet.get(claim.node_id)) is not None
        for attempt_id in claim.attempt_ids
        if (held := node.attempts.get(attempt_id)) is not None
    ]
    if not found:
        return
    attempts = [(held.attempt_id, held.fence) for _, held in found]
    asked = await context.db.run(service.ask_to_leave, attempts, context.now())
    for node, held in found:
        if held.attempt_id in asked:
            held.stopped_at, held.evicted = context.clock.monotonic(), True
            if node.line is not None:
                node.line.stop(held.attempt_id, held.fence, EVICTED)
        else:
            book.ended(held.attempt_id)
