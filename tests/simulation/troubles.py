"""What goes wrong, or merely happens, from outside of hub and agents. Each is counted as it fires."""

import asyncio
from typing import TYPE_CHECKING

from simulation.virtual_time import Process, spawn

from computepool.hub.scheduling.leases import SWEEP_EVERY_SECONDS
from computepool.protocol.timing import REQUEUE_AFTER_SECONDS

if TYPE_CHECKING:
    from simulation.world import SimulatedNode, World

EVERY_SECONDS = 15.0
"""On average, while troubles last."""
LEASE_OVER = REQUEUE_AFTER_SECONDS + 2 * SWEEP_EVERY_SECONDS
"""After so long without a word a slice has been given to another, if there is one."""


class Troubles:
    def __init__(self, world: "World") -> None:
        self._world = world
        self._rng = world.rng
        self._fired = world.faults.fired

    async def run(self) -> None:
        kinds = [self._restart_hub, self._sleep_hub]
        every = 25.0
        if not self._world.plan.hub_restarts_only:
            every = EVERY_SECONDS
            kinds += [self._kill_agent, self._cut_line, self._partition, self._sleep, self._jump_clock]
            kinds += [self._owner_comes, self._owner_comes, self._pause, self._drain]
            kinds += [self._change_network, self._leave_hub_away, self._sleep_hub]
            hosts = self._world.hosts
            kinds += [hosts.reprice, hosts.reprice, hosts.join_or_leave, self._world.watch.money.top_up]
            if self._rng.random() < 0.5:
                # A hub that comes back begins all leases anew: they end only where it is left in peace.
                of_the_hub = (self._restart_hub, self._sleep_hub, self._leave_hub_away)
                kinds = [kind for kind in kinds if kind not in of_the_hub]
                self._cutting = asyncio.create_task(self._cut_somebody_off())
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / every))
            self._rng.choice(kinds)()

    def calm_down(self) -> None:
        """Everything that was broken is mended: from here on all that was promised must come true.

        Who sleeps wakes up by itself, and who sits at a machine leaves.
        """
        self._world.ledger.hurry_up()
        for node in self._world.nodes:
            node.partitioned_until = 0.0
            if node.person is not None:
                node.person.go()
            self._resume(node)

    # ── the hub ──

    def _restart_hub(self) -> None:
        self._fired["hub_crash"] += 1
        self._world.crash_hub()

    def _leave_hub_away(self) -> None:
        """For longer than any lease."""
        self._fired["hub_outage"] += 1
        self._world.crash_hub(self._rng.choice((110.0, 130.0, 150.0, 300.0)))

    def _sleep_hub(self) -> None:
        """The laptop that the hub runs on: it hears nobody, and wakes up with clocks that went on."""
        world = self._world
        if world.hub is not None and world.hub_process is not None and not world.hub_sleeps:
            self._fired["hub_sleep"] += 1
            seconds = self._rng.choice((30.0, 100.0, 160.0, 200.0))
            world.hub_process.sleep(world.loop.time(), seconds)
            world.hub_up_since = world.hub_process.asleep_until
            for node in world.nodes:
                for wire in node.wires:  # what is said to it is not heard; the hub finds its lines as they were
                    wire.break_now(hub_notices=self._rng.random() < 0.5)

    # ── the lines ──

    def _cut_line(self) -> None:
        self._fired["line_cut"] += 1
        self._cut(self._any_node())

    def _change_network(self) -> None:
        """A router restarts: every line at once, and for a moment there are no new ones."""
        self._fired["network_change"] += 1
        for node in self._world.nodes:
            node.partitioned_until = max(node.partitioned_until, self._now + self._rng.uniform(0, 5))
            self._cut(node)

    def _partition(self) -> None:
        """Long ones end around the moment when the lease does: there rescue and completion meet."""
        self._fired["partition"] += 1
        node = self._node_at_risk()
        self._separate(node, self._rng.choice((5.0, 200.0, self._rng.uniform(110, 160), 200.0)))

    async def _cut_somebody_off(self) -> None:
        await asyncio.sleep(self._rng.uniform(0, 100))
        while self._now + LEASE_OVER < self._world.plan.trouble_seconds:
            if self._cut_off():
                return
            await asyncio.sleep(5)

    def _cut_off(self) -> bool:
        """A machine that stays awake, with a job that can reach the world and would go on for longer than its lease.

        It is left in peace meanwhile: else the job would be gone before its slice is another's.
        """
        working = [run.machine for run in self._world.ledger.runs.values() if run.network and run.left() > LEASE_OVER]
        able = [one for one in self._world.nodes if one.process in working and self._listens(one)]
        able = [node for node in able if node.partitioned_until < self._now]
        if not able:
            return False
        self._fired["cut_off"] += 1
        node = self._rng.choice(able)
        self._separate(node, self._rng.uniform(LEASE_OVER, LEASE_OVER + 40))
        node.in_peace_until = node.partitioned_until
        return True

    def _separate(self, node: "SimulatedNode", seconds: float) -> None:
        node.partitioned_until = max(node.partitioned_until, self._now + seconds)
        self._trouble(node, until=node.partitioned_until)
        self._cut(node)

    def _cut(self, node: "SimulatedNode") -> None:
        for wire in node.wires:
            wire.break_now(hub_notices=self._rng.random() < 0.5)

    # ── the nodes ──

    def _kill_agent(self) -> None:
        self._fired["agent_crash"] += 1
        node = self._any_node()
        self._trouble(node)
        self._world.crash_agent(node)

    def _sleep(self) -> None:
        self._fired["laptop_sleep"] += 1
        node = self._node_at_risk()
        if node.process is not None:
            node.process.sleep(self._now, self._rng.choice((10.0, 100.0, 140.0, 180.0, 400.0)))
            self._trouble(node, until=node.process.asleep_until)
            self._world.loop.call_at(node.process.asleep_until, self._wake_up, node.process)
            if self._rng.random() < 0.5:  # the router has forgotten it by the time it wakes up
                self._cut(node)
            if node.person is not None and self._rng.random() < 0.5:  # and who opens the lid sits there
                self._world.loop.call_at(node.process.asleep_until, self._sit_down, node)

    def _wake_up(self, machine: Process) -> None:
        self._world.ledger.woke_up(machine, self._now)
        self._world.watch.woke_up()

    def _jump_clock(self) -> None:
        self._fired["clock_jump"] += 1
        self._any_node().clock.wall_error_seconds += self._rng.choice((-3600.0, 7200.0))

    def _drain(self) -> None:
        """SIGTERM, for the one that was left in peace for longest. It is started again some time after it has left."""
        able = [node for node in self._not_in_peace() if self._listens(node) and node.agent is not None]
        works = [node for node in able if node.agent is not None and node.agent.supervisor.attempts]
        node = min(works, key=lambda one: one.troubled_at, default=None)
        if node is None or node.agent is None or node.process is None or node.agent.state == "draining":
            return
        agent, process = node.agent, node.process
        self._fired["drain"] += 1

        async def terminate() -> None:
            self._world.watch.drains(node)
            agent.drain()

        spawn(self._world.loop, process, terminate())

    # ── their owners ──

    def _owner_comes(self) -> None:
        self._sit_down(self._any_node())

    def _sit_down(self, node: "SimulatedNode") -> None:
        person = node.person
        if person is None or person.came_at is not None or not self._world.faults.enabled:
            return
        self._fired["owner_came"] += 1
        seconds = self._rng.choice((10.0, 50.0, 80.0, 130.0))
        self._trouble(node, until=self._now + seconds)
        person.come(self._now)
        self._world.loop.call_later(seconds, person.go)

    def _pause(self) -> None:
        node = self._any_node()
        agent, process = node.agent, node.process
        if agent is None or process is None or not self._listens(node):
            return
        self._fired["pause"] += 1
        self._trouble(node, until=self._now + 60)

        async def pause() -> None:
            agent.pause()

        spawn(self._world.loop, process, pause())
        self._world.loop.call_later(self._rng.choice((5.0, 60.0)), self._resume, node)

    def _resume(self, node: "SimulatedNode") -> None:
        if node.person is not None:
            node.person.paused_at = None
            node.person.news.set()
        elif node.agent is not None and node.process is not None and node.agent.state == "paused":
            agent = node.agent

            async def resume() -> None:
                if agent.state == "paused":
                    agent.resume()

            spawn(self._world.loop, node.process, resume())

    # ──

    @property
    def _now(self) -> float:
        return self._world.loop.time()

    def _listens(self, node: "SimulatedNode") -> bool:
        process = node.process
        return process is not None and process.alive and process.asleep_until <= self._now

    def _any_node(self) -> "SimulatedNode":
        return self._rng.choice(self._not_in_peace() or self._world.nodes)

    def _not_in_peace(self) -> list["SimulatedNode"]:
        return [node for node in self._world.nodes if node.in_peace_until < self._now]

    def _node_at_risk(self) -> "SimulatedNode":
        """Rather one whose jobs can reach the world, if there is any: they must not outlive their lease."""
        at_risk = [
            node
            for node in self._not_in_peace()
            if node.agent is not None and any(one.manifest.network for one in node.agent.supervisor.attempts)
        ]
        return self._rng.choice(at_risk) if at_risk else self._any_node()

    def _trouble(self, node: "SimulatedNode", until: float = 0.0) -> None:
        node.troubled_at = max(node.troubled_at, self._now, until)
