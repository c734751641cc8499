"""Owner first, done: what the owner's policy decides is carried out on the attempts that this node holds."""

import logging
import os
from collections.abc import Callable
from typing import Any, Protocol

from computepool.agent.attempt import Attempt
from computepool.agent.detect.monitor import GpuMonitor
from computepool.agent.owner.decide import Decision
from computepool.agent.owner.ladder import Reaction
from computepool.agent.owner.signals.gpus import descends_from
from computepool.agent.owner.watch import OwnerWatch
from computepool.agent.resting import RestReason
from computepool.agent.sandbox.interface import SandboxError
from computepool.agent.supervisor import Supervisor
from computepool.protocol.states import NodeState

log = logging.getLogger(__name__)

EVICT_GRACE_SECONDS = 10.0
"""For a job that has to make room: to save its checkpoint and leave by itself."""


class OpenWatch(Protocol):
    """Makes the watch of this machine, given what only the agent knows. `owner.opening.open_watch`, partly applied."""

    def __call__(
        self,
        *,
        on_change: Callable[[Decision], None],
        strangers_work: Callable[[], bool],
        is_ours: Callable[[int], bool],
        holds_work: Callable[[str], bool],
    ) -> OwnerWatch: ...


class OwnerFirst:
    def __init__(self, supervisor: Supervisor, open_watch: OpenWatch, monitor: GpuMonitor | None) -> None:
        self._supervisor = supervisor
        self._monitor = monitor
        self._capped: set[str] = set()
        self._slowed: set[str] = set()
        """Those of them whose driver obeyed: what runs there is not paid like the others."""
        self._held_gpus: frozenset[str] = frozenset()
        self.on_state: Callable[[NodeState], None] = lambda state: None
        self.on_availability: Callable[[], None] = lambda: None
        self.watch = open_watch(
            on_change=self.act,
            strangers_work=self._strangers_work,
            is_ours=lambda pid: descends_from(pid, [os.getpid(), *supervisor.pids]),
            holds_work=lambda gpu_id: gpu_id in self._held_gpus,
        )
        supervisor.why_unwelcome = self.why_unwelcome
        supervisor.on_attempt = self._arrived

    async def run(self) -> None:
        """Watch the machine. A watch that fails is no leave to go on: strangers' work stops being welcome."""
        try:
            await self.watch.run()
        except Exception:
            log.exception("owner.watch_failed")
            self.act(Decision(False, "the owner's signals cannot be read: restart the agent", own_welcome=True))
            raise

    async def first_look(self) -> None:
        self.act(await self.watch.first_look())

    # ── what it decides ──

    def why_unwelcome(self, attempt: Attempt) -> str | None:
        decision = self.watch.decision
        if decision.welcomes(attempt.manifest.grant.gpus, own=attempt.own):
            return None
        return f"the owner is using the machine: {decision.reason}"

    def act(self, decision: Decision) -> None:
        """Told again, it changes nothing."""
        self.on_state(NodeState.ONLINE if decision.own_welcome else NodeState.PAUSED)
        if self._supervisor.availability != decision.availability():
            self._supervisor.availability = decision.availability()
            self.on_availability()
        for attempt in self._supervisor.attempts:
            if attempt.ended is None and not attempt.gone:
                self._treat(attempt, decision)
        self._cap_power(decision)

    def _treat(self, attempt: Attempt, decision: Decision) -> None:
        grant = attempt.manifest.grant
        reaction = decision.reaction_for(grant.gpus, own=attempt.own)
        rest, supervisor = attempt.rest, self._supervisor
        if reaction is Reaction.EVICT:
            supervisor.give_back(attempt, "owner", EVICT_GRACE_SECONDS)
        elif reaction in (Reaction.SUSPEND, Reaction.CHECKPOINT):
            supervisor.soon(self._suspend(attempt))
            if reaction is Reaction.CHECKPOINT:
                attempt.save_soon.set()
        elif RestReason.OWNER in rest.reasons:
            supervisor.soon(rest.let_go(RestReason.OWNER))

    async def _suspend(self, attempt: Attempt) -> None:
        """What cannot be made to stand still has to go: the owner does not wait for an engine."""
        try:
            await attempt.rest.hold(RestReason.OWNER)
        except SandboxError as error:
            log.warning("attempt.not_suspended", extra={"attempt_id": attempt.id, "reason": str(error)})
            self._supervisor.give_back(attempt, "owner", EVICT_GRACE_SECONDS)

    def _cap_power(self, decision: Decision) -> None:
        if self._monitor is None:
            return
        wanted = {gpu for gpu, reaction in decision.gpu_reactions.items() if reaction is Reaction.CAP_POWER}
        for gpu in wanted - self._capped:
            self._turn(gpu, decision.power_cap)
        for gpu in self._capped - wanted:
            self._turn(gpu, None)
        self._capped = wanted

    def _turn(self, gpu: str, share: float | None) -> None:
        async def turn() -> None:
            assert self._monitor is not None
            done = await self._supervisor.offload(self._monitor.set_power_share, gpu, share)
            if not done:
                log.warning("gpu.power_not_capped", extra={"gpu": gpu, "hint": "the driver asks for root"})
            elif share is None:
                self._slowed.discard(gpu)
            else:
                self._slowed.add(gpu)
            for attempt in self._supervisor.attempts:
                self._note_power(attempt)

        self._supervisor.soon(turn())

    def _note_power(self, attempt: Attempt) -> None:
        if attempt.ended is None:
            is_slow = not self._slowed.isdisjoint(attempt.manifest.grant.gpus)
            attempt.cap_power(is_slow, self._supervisor.monotonic())

    # ── what the watch wants to know ──

    def _strangers_work(self) -> bool:
        return any(not one.own and one.ended is None for one in self._supervisor.attempts)

    def _arrived(self, attempt: Attempt) -> None:
        """An attempt begins, or has ended: what runs decides how closely the machine is watched."""
        self._held_gpus = frozenset(
            gpu for one in self._supervisor.attempts if one.ended is None for gpu in one.manifest.grant.gpus
        )
        if attempt.ended is None:
            self._treat(attempt, self.watch.decision)
            self._note_power(attempt)
        self.watch.look_again()

    def status(self) -> dict[str, Any]:
        return self.watch.status()
