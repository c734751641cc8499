"""Whether nodes are there: what is known of each decides its state, which is written down first and true then.

What is known (its silence, what its agent says of itself, what its owner asked of the hub) counts at once: a node that
may not take work gets none. The state follows with its commit. A write that failed is tried again by the next look.
"""

import asyncio
import contextlib
from datetime import datetime

import structlog
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.records import HUB_ACTOR
from computepool.hub.nodes import service as nodes
from computepool.hub.nodes.errors import NodeMoved
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import service as reputation
from computepool.hub.scheduling.fleet import REACHABLE, FleetNode
from computepool.hub.scheduling.scheduler import Scheduler
from computepool.protocol.states import NodeState
from computepool.protocol.timing import OFFLINE_AFTER_SECONDS

log = structlog.get_logger()


class Presence:
    def __init__(self, context: Context, scheduler: Scheduler) -> None:
        self._context = context
        self._scheduler = scheduler
        self._locks: dict[str, asyncio.Lock] = {}

    def changing(self, node_id: str) -> asyncio.Lock:
        """Whoever changes a node's state holds this: commits and memory then agree on which came last."""
        return self._locks.setdefault(node_id, asyncio.Lock())

    def state_of(self, node: FleetNode) -> NodeState:
        """What it is, by all that is known. One that was not heard since the hub's start stays what it was."""
        if node.state is NodeState.BANNED:
            return node.state
        if self._context.clock.monotonic() - node.seen_at > OFFLINE_AFTER_SECONDS:
            return NodeState.OFFLINE if node.state in REACHABLE else node.state
        if node.reported is None:
            return node.state
        return nodes.effective_state(node.reported, drain_requested=node.drain_requested)

    async def settle(self, node: FleetNode, *, actor: str = HUB_ACTOR) -> None:
        """Write down what it is, if it is not what was written last. A failure is logged: somebody looks again soon."""
        if self.state_of(node) is node.state:
            return
        try:
            async with self.changing(node.traits.node_id):
                await self._move(node, actor)
        except Exception:
            log.exception("node.not_recorded", node_id=node.traits.node_id)
        self._scheduler.wake()

    async def _move(self, node: FleetNode, actor: str) -> None:
        """Until both agree: it may have become something else while that was written."""
        while (target := self.state_of(node)) is not node.state:
            log.info("node.state", node_id=node.traits.node_id, state=target)
            moved = await self._context.db.run(_move_node, node.traits.node_id, target, self._context.now(), actor)
            if not moved or node.state is NodeState.BANNED:
                return
            node.state = target


def _move_node(session: Session, node_id: str, target: NodeState, now: datetime, actor: str) -> bool:
    with contextlib.suppress(NodeMoved):  # banned meanwhile: stays so
        nodes.change_state(session, session.get_one(Node, node_id), target, now, actor=actor)
        reputation.note_presence(session, node_id, now, there=target in REACHABLE)
        return True
    return False
