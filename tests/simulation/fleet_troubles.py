"""What happens to a fleet: hosts come and go, for a while or for good, change their prices, or want their machines."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING

from computepool.protocol.messages import Availability

if TYPE_CHECKING:
    from simulation.fleet_hosts import Host
    from simulation.fleet_world import FleetWorld

EVERY_SECONDS = 7.0
LEAST_HOSTS = 5
AWAY = Availability(strangers=False, reason="somebody is here")


class FleetTroubles:
    def __init__(self, world: "FleetWorld") -> None:
        self._world = world
        self._rng = world.rng

    async def run(self) -> None:
        kinds = (self._join, self._leave, self._crash, self._cut_off, self._owner_comes, self._reprice, self._drain)
        while True:
            await asyncio.sleep(self._rng.expovariate(1 / EVERY_SECONDS))
            kind = self._rng.choice(kinds)
            able = [host for host in self._world.hosts.values() if host.awake and not host.gone]
            if len(able) > LEAST_HOSTS or kind is self._join:
                self._world.fired[kind.__name__.strip("_")] += 1
                await kind(self._rng.choice(able))

    async def calm_down(self) -> None:
        """Everybody who did not leave is there, works, and leaves their machine to others."""
        world = self._world
        for host in list(world.hosts.values()):
            if not host.gone:
                host.breaks_jobs, host.is_idle, host.declines = 0.0, False, False
                world.mark(host)
                host.node.availability, host.node.drain_requested = Availability(), False
                await host.come_back()

    async def find_large(self, is_large: Callable[["Host"], bool]) -> None:
        """Others join until there is such a one."""
        while not any(map(is_large, self._world.hosts.values())):
            await self._world.connect(self._world.join())
        for host in self._world.hosts.values():
            host.breaks_jobs, host.is_idle, host.declines = 0.0, False, False
            self._world.mark(host)

    async def _join(self, _host: "Host") -> None:
        await self._world.connect(self._world.join())

    async def _leave(self, host: "Host") -> None:
        for task in host.runs.values():
            task.cancel()
        host.runs.clear()
        await self._world.leave(host)

    async def _crash(self, host: "Host") -> None:
        host.fall_silent(crashed=True)
        if self._rng.random() < 0.5:
            host.node.line = None
        self._return(host, self._rng.choice((10.0, 60.0, 200.0)))

    async def _cut_off(self, host: "Host") -> None:
        """It goes on meanwhile, and its lease may end."""
        host.fall_silent(crashed=False)
        self._return(host, self._rng.choice((20.0, 130.0, 160.0, 250.0)))

    async def _owner_comes(self, host: "Host") -> None:
        gpus = host.node.capacity.gpus
        if len(gpus) > 1 and self._rng.random() < 0.5:
            host.node.availability = Availability(gpus_in_use=(gpus[0].id,))
        else:
            host.node.availability = AWAY
            host.take_back()
        self._world.loop.call_later(self._rng.choice((20.0, 100.0, 300.0)), self._owner_goes, host)

    def _owner_goes(self, host: "Host") -> None:
        host.node.availability = Availability()
        self._world.scheduler.wake()

    async def _reprice(self, host: "Host") -> None:
        if host.node.attempts:
            self._world.fired["repriced_while_leased"] += 1
        self._world.set_price(host)

    async def _drain(self, host: "Host") -> None:
        host.node.drain_requested = True
        await self._world.presence.settle(host.node)
        self._world.loop.call_later(self._rng.choice((30.0, 120.0)), self._resume, host)

    def _resume(self, host: "Host") -> None:
        if not host.gone:
            host.node.drain_requested = False
            self._world.keep(asyncio.ensure_future(self._settle(host)))

    async def _settle(self, host: "Host") -> None:
        await self._world.presence.settle(host.node)
        self._world.scheduler.wake()

    def _return(self, host: "Host", seconds: float) -> None:
        self._world.loop.call_later(seconds, lambda: self._world.keep(asyncio.ensure_future(host.come_back())))
