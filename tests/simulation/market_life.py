"""What hosts do about their nodes in a whole world: they join, set prices while others run there, leave for good."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import TYPE_CHECKING

from simulation.virtual_time import spawn
from sqlalchemy.orm import Session

from computepool.hub.nodes import service as nodes
from computepool.hub.nodes.prices import PriceChange, set_price
from computepool.hub.nodes.tables import Node
from computepool.protocol.states import NodeState

if TYPE_CHECKING:
    from simulation.world import SimulatedNode, World

STAYING = 3
"""Nodes that never leave: with fewer, some jobs could not be run."""
MOST = 5
PRICES = (0, 100_000, 1_000_000, 20_000_000)
"""Micro-credits for a core and an hour."""
TRY_SECONDS = 10.0


class Hosts:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._joined = 0
        self._under_way: Counter[tuple[int, str]] = Counter()
        """Changes of a node's price that one life of the hub has not answered yet."""
        self._in_force: dict[str, int] = {}

    def reprice(self) -> None:
        world = self._world
        node = world.rng.choice(world.nodes)
        world.faults.fired["reprice"] += 1
        self._ask(node, world.rng.choice(PRICES))

    def join_or_leave(self) -> None:
        world, guests = self._world, self._world.nodes[STAYING:]
        if world.hub is None:
            return
        if guests and (len(world.nodes) >= MOST or world.rng.random() < 0.5):
            world.faults.fired["left_for_good"] += 1
            self._leave(world.rng.choice(guests))
        else:
            world.faults.fired["joined"] += 1
            self._joined += 1
            self._joining = asyncio.create_task(world.add_node(STAYING - 1 + self._joined))

    async def ask_for_nothing(self) -> None:
        """All of them, whenever the hub can hear it: so that in the end nothing is too dear for anybody."""
        world = self._world
        while any(world.prices.get(node.node_id) != 0 for node in world.nodes):
            for node in world.nodes:
                self._ask(node, 0)
            await asyncio.sleep(TRY_SECONDS)

    def _ask(self, node: "SimulatedNode", micros: int) -> None:
        def change(session: Session) -> Node:
            row = session.get_one(Node, node.node_id)
            set_price(row, PriceChange(fixed_micros=micros, per="core"))
            self._in_force[node.node_id] = micros
            return row

        world = self._world
        world.prices.pop(node.node_id, None)  # until the hub has it, it may be either
        key = (id(world.hub_process), node.node_id)
        self._under_way[key] += 1

        def heard() -> None:
            self._under_way[key] -= 1
            if not self._under_way[key]:  # of several at once, the one that was written last holds, not the last asked
                world.prices[node.node_id] = self._in_force[node.node_id]

        self._tell(node, change, heard)

    def _leave(self, node: "SimulatedNode") -> None:
        """It vanishes with all that it runs; after a while its owner takes it out of the pool, if the hub hears it."""
        world = self._world
        assert node.process is not None
        node.process.alive = False
        node.troubled_at = world.loop.time()
        for wire in node.wires:
            wire.break_now(hub_notices=world.rng.random() < 0.7)
        world.nodes.remove(node)
        world.prices.pop(node.node_id, None)

        def ban(session: Session) -> Node:
            row = session.get_one(Node, node.node_id)
            if row.state != NodeState.BANNED:
                nodes.change_state(session, row, NodeState.BANNED, world.clock.now(), actor=row.owner_id)
                session.refresh(row)
            return row

        world.loop.call_later(world.rng.uniform(1, 60), self._tell, node, ban, lambda: None)

    def _tell(self, node: "SimulatedNode", change: Callable[[Session], Node], done: Callable[[], None]) -> None:
        """As `PATCH nodes/…` does it: in the database first, and then in memory."""
        world, engine = self._world, self._world.hub
        if engine is None or world.hub_process is None:
            return

        async def both() -> None:
            await engine.node_changed(await engine.context.db.run(change))
            done()

        spawn(world.loop, world.hub_process, both())
