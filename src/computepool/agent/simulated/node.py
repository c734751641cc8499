"""One simulated node: the real agent on a machine that is not there, and an owner with habits."""

import asyncio
import contextlib
import logging
import random
import secrets
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from computepool.agent.agent import Agent, Parts
from computepool.agent.clock import Clock
from computepool.agent.link.handshake import Dismissed
from computepool.agent.outside import Outside
from computepool.agent.ports import Offload, Transfer
from computepool.agent.simulated.habits import Habit
from computepool.agent.simulated.lines import Exchange, Lines
from computepool.agent.simulated.loads import report_of
from computepool.agent.simulated.process import SimulatedOutput
from computepool.agent.simulated.roster import Member
from computepool.agent.simulated.sandbox import Manner, SimulatedImages, SimulatedSandbox
from computepool.protocol.states import NodeState

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Shared:
    """What all nodes of a crowd have in common."""

    clock: Clock
    offload: Offload
    exchange: Exchange
    transfer: Transfer
    outside: Outside
    manner: Manner


class SimulatedNode:
    def __init__(self, member: Member, shared: Shared) -> None:
        self.machine = member.machine
        self.dismissed = ""
        """Why the hub does not want it any more."""
        self._home = member.home
        self._shared = shared
        self._rng = random.Random(f"{shared.manner.seed} {member.machine.name}")
        self._lines = Lines(member.home.node(), member.home.identity(), shared.exchange, self._rng)
        self._sandbox = SimulatedSandbox(member.home.attempts, member.machine, shared.manner)
        self._agent: Agent | None = None
        self._life: asyncio.Task[None] | None = None

    # ── what it is doing ──

    @property
    def node_id(self) -> str:
        return self._home.node().node_id

    @property
    def is_up(self) -> bool:
        return self._agent is not None and self._agent.connected is not None

    @property
    def is_paused(self) -> bool:
        return self._agent is not None and self._agent.state is NodeState.PAUSED

    @property
    def running(self) -> int:
        return self._sandbox.running

    async def tell_loads(self) -> None:
        if self.is_up and self.machine.capacity.gpus:
            await self._lines.report(report_of(self.machine, self._sandbox.busy_gpus, self._rng))

    # ── its life ──

    def start(self) -> None:
        self._life = asyncio.create_task(self._live())

    async def stop(self) -> None:
        """In good order: what runs is given back, and the hub is told."""
        agent, life = self._agent, self._life
        if agent is not None and agent.connected is not None:
            await agent.stop()
        if life is not None:
            if agent is None or agent.connected is None:
                life.cancel()
            await asyncio.gather(life, return_exceptions=True)
        self._sandbox.switch_off()

    async def _live(self) -> None:
        """Until it is stopped, or dismissed. A machine that is switched off is one whose agent was killed."""
        habits = self.machine.habits
        owner = [asyncio.create_task(self._now_and_then(habits.pauses, self._pause))]
        owner.append(asyncio.create_task(self._now_and_then(habits.cuts, self._lines.cut)))
        try:
            while await self._be_on(habits.leaves):
                assert habits.leaves is not None
                await asyncio.sleep(habits.leaves.lasts(self._rng))
        except Dismissed as goodbye:
            self.dismissed = str(goodbye)
            log.warning("simulated.dismissed", extra={"node": self.machine.name, "reason": self.dismissed})
        except Exception:
            # One that stumbles must not take the others with it.
            log.exception("simulated.fault", extra={"node": self.machine.name})
        finally:
            for task in owner:
                task.cancel()
            await asyncio.gather(*owner, return_exceptions=True)

    async def _be_on(self, leaves: Habit | None) -> bool:
        """True when the machine was switched off in the middle; False when its agent ended by itself."""
        self._home.prepare()
        self._agent = Agent(self._parts())
        running = asyncio.create_task(self._agent.run())
        try:
            await asyncio.wait({running}, timeout=None if leaves is None else leaves.next_in(self._rng))
            if running.done():
                running.result()
                return False
            return True
        finally:
            self._agent = None
            running.cancel()
            with contextlib.suppress(asyncio.CancelledError, Dismissed):
                await running
            await self._lines.drop()
            self._sandbox.switch_off()

    def _parts(self) -> Parts:
        shared = self._shared
        return Parts(
            home=self._home,
            node=self._home.node(),
            identity=self._home.identity(),
            capacity=self.machine.capacity,
            instance_id=secrets.token_hex(16),
            agent_version=shared.exchange.agent_version,
            clock=shared.clock,
            rng=self._rng,
            offload=shared.offload,
            connect=self._lines,
            sandboxes=[self._sandbox],
            transfer=shared.transfer,
            open_output=SimulatedOutput,
            images=SimulatedImages(),
            outside=shared.outside,
        )

    # ── its owner ──

    async def _now_and_then(self, habit: Habit | None, happens: Callable[[float], Awaitable[None]]) -> None:
        if habit is None:
            return
        while True:
            await asyncio.sleep(habit.next_in(self._rng))
            lasts = habit.lasts(self._rng)
            await happens(lasts)
            await asyncio.sleep(lasts)

    async def _pause(self, seconds: float) -> None:
        if self._agent is not None:
            self._agent.pause(seconds)
