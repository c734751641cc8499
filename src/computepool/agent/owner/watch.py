"""Keeps the decision fresh: looks at the signals as often as it matters, and tells whoever acts on a change.

Two loops. The quick one reads keyboard and mouse, twice a second while strangers' work runs; the slow one reads
everything else, in one trip off the event loop. Neither waits for the other: a tool that hangs does not hide the owner.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta, tzinfo
from typing import Any, Literal, TypeVar

from computepool.agent.clock import Clock
from computepool.agent.owner.decide import Decision, State, decide
from computepool.agent.owner.pauses import PauseBook
from computepool.agent.owner.policy import Policy
from computepool.agent.owner.policy_file import PolicyFile
from computepool.agent.owner.readings import GpuReading, Idle, Readings, Unknown
from computepool.agent.ports import Offload

log = logging.getLogger(__name__)

T = TypeVar("T")

ALERT_SECONDS = 0.5
"""Between two looks at the keyboard while strangers' work runs."""
READY_SECONDS = 2.0
"""The same while it could start."""
HUNG_SECONDS = 2.0
"""A look that takes longer than this has seen nothing."""
FAR_SECONDS = 30.0
"""Nothing of this kind matters now; looked at to be shown."""


@dataclass(frozen=True)
class SignalPace:
    """How often a signal is read, in seconds."""

    working: float
    otherwise: float


PACES = {
    # First: what is asked of the others depends on it.
    "policy": SignalPace(5.0, 5.0),
    "full_screen": SignalPace(1.0, 15.0),
    "gpus": SignalPace(2.0, 15.0),
    "on_battery": SignalPace(2.0, 15.0),
    "cpu_celsius": SignalPace(5.0, 30.0),
    "terminal": SignalPace(1.0, 10.0),
    "seat": SignalPace(30.0, 30.0),
    "metered": SignalPace(60.0, 60.0),
    "data_used_bytes": SignalPace(5.0, 30.0),
}


@dataclass(frozen=True)
class Signals:
    """Where readings come from. Each may block for a moment, and is called off the event loop; none raises."""

    seat: Callable[[], bool | Unknown]
    idle: Callable[[], Idle | Unknown]
    terminal: Callable[[], Idle | Unknown | None] = lambda: None
    full_screen: Callable[[], str | Unknown | None] = lambda: None
    on_battery: Callable[[], bool | Unknown] = lambda: False
    cpu_celsius: Callable[[], float | Unknown] = lambda: Unknown("no thermometer")
    metered: Callable[[], bool | Unknown] = lambda: False
    data_used_bytes: Callable[[], int | Unknown] = lambda: 0
    gpus: Callable[[], Sequence[GpuReading] | Unknown] = tuple
    close: Callable[[], None] = lambda: None


class OwnerWatch:
    """`run` watches until canceled. Before its first look, nobody is welcome but the owner."""

    def __init__(
        self,
        *,
        policy_file: PolicyFile,
        pauses: PauseBook,
        signals: Signals,
        clock: Clock,
        offload: Offload,
        on_change: Callable[[Decision], None],
        strangers_work: Callable[[], bool],
        zone: tzinfo | None = None,
    ) -> None:
        self.policy_file = self._policy_file = policy_file
        self._pauses = pauses
        self._signals = signals
        self._clock = clock
        self._offload = offload
        self._on_change = on_change
        self._strangers_work = strangers_work
        self._zone = zone
        self._readings = Readings(seat=Unknown(), idle=Unknown())
        self._state = State()
        self._gpus_problem = ""
        self._read_at: dict[str, float] = {}
        self._looks: dict[str, asyncio.Future[Any]] = {}
        self._wakes = (asyncio.Event(), asyncio.Event())
        self._looked = asyncio.Event()
        self._told: tuple[object, ...] | None = None
        self._decision = self._decide()
        # That was before the first look: nothing of it is to be remembered.
        self._state = State()

    # ── what it knows ──

    @property
    def decision(self) -> Decision:
        """The latest; its words are of now."""
        return self._decision

    @property
    def readings(self) -> Readings:
        return self._readings

    @property
    def policy(self) -> Policy:
        return self._policy_file.policy

    @property
    def problems(self) -> tuple[str, ...]:
        """For `status` and `doctor`: what is wrong with the policy file, and what cannot be read."""
        own = filter(None, (self._policy_file.problem, self._gpus_problem))
        return (*own, *self._decision.problems)

    @property
    def paused_until(self) -> datetime | None:
        """The end of a pause that has one."""
        paused = self._pauses.current()
        if paused is None or paused.remaining_seconds is None:
            return None
        return self._clock.now() + timedelta(seconds=paused.remaining_seconds)

    @property
    def paused_by(self) -> Literal["hub", "machine"] | None:
        """Where the owner said so: through the hub, or on this machine."""
        if self._pauses.current() is None:
            return None
        return "hub" if self._pauses.by_hub else "machine"

    def status(self) -> dict[str, Any]:
        """The part of `agent status` that is about the owner."""
        policy = {**self._decision.as_json(), "problems": list(self.problems)}
        until = self.paused_until
        return {"policy": policy, "paused_until": None if until is None else until.isoformat()}

    # ── what it is told ──

    def pause(self, for_seconds: float | None = None, *, by_hub: bool = False) -> Decision:
        """At once: the decision is made, and told, before the disk is written. Raises ValueError, OSError."""
        self._pauses.pause(for_seconds, by_hub=by_hub)
        decision = self._refresh()
        self._pauses.save()
        return decision

    def resume(self) -> Decision:
        self._pauses.resume()
        decision = self._refresh()
        self._pauses.save()
        return decision

    def look_again(self) -> None:
        """Something has changed that it should know of: work has started, or the policy was written."""
        self._read_at.pop("policy", None)
        for wake in self._wakes:
            wake.set()

    async def first_look(self) -> Decision:
        """The first decision that rests on readings."""
        await self._looked.wait()
        return self._decision

    # ── its life ──

    async def run(self) -> None:
        await self._begin()
        loops = [asyncio.ensure_future(self._watch_slow()), asyncio.ensure_future(self._watch_quick())]
        try:
            await asyncio.gather(*loops)
        finally:
            for loop in loops:
                loop.cancel()
            await asyncio.gather(*loops, return_exceptions=True)
            with contextlib.suppress(Exception):
                await self._offload(self._signals.close)

    async def _begin(self) -> None:
        await self._read_slow()
        # The seat says whether to look at the keyboard. A decision without that look is not to be remembered either.
        self._decision = self._decide()
        self._state = State()
        await self._read_quick()
        self._refresh()
        self._looked.set()

    async def _watch_slow(self) -> None:
        while True:
            now = self._clock.monotonic()
            working = self._strangers_work()
            due = min(self._read_at.get(name, 0.0) + self._pace(name, working) for name in PACES)
            await self._sleep(1, min(max(due - now, ALERT_SECONDS), self._decision.next_check_seconds))
            await self._read_slow()
            self._refresh()

    async def _watch_quick(self) -> None:
        while True:
            await self._sleep(0, self._quick_pace())
            if self._decision.watches_input:
                await self._read_quick()
                self._refresh()

    async def _read_quick(self) -> None:
        if self._decision.watches_input:
            idle = await self._look("idle", self._signals.idle)
            self._readings = replace(self._readings, idle=idle)

    def _quick_pace(self) -> float:
        decision = self._decision
        if not decision.watches_input:
            return FAR_SECONDS
        if self._strangers_work():
            return ALERT_SECONDS
        return READY_SECONDS if decision.strangers_welcome else min(decision.next_check_seconds, FAR_SECONDS)

    def _pace(self, name: str, working: bool) -> float:
        return PACES[name].working if working else PACES[name].otherwise

    async def _read_slow(self) -> None:
        now, working = self._clock.monotonic(), self._strangers_work()
        due = [
            name
            for name in PACES
            if name not in self._read_at or now >= self._read_at[name] + self._pace(name, working)
        ]
        if not due:
            return
        for name in due:
            self._read_at[name] = now
        values = await self._look("slow", lambda: self._read_all(due))
        if isinstance(values, Unknown):
            # A tool or a driver hangs. What it said last is no reading of now.
            # But for the seat: a machine does not become a desktop because a tool hangs.
            values = {name: values for name in due if name not in {"policy", "seat"}}
            log.warning("owner.signals_hang", extra={"signals": ", ".join(due)})
        self._keep(values)

    def _keep(self, values: dict[str, Any]) -> None:
        if "gpus" in values:
            values["gpus"] = self._gpus(values["gpus"])
        self._readings = replace(self._readings, **values)

    def _gpus(self, told: Sequence[GpuReading] | Unknown) -> tuple[GpuReading, ...]:
        """A GPU of which a broken or silent driver says nothing is not free: what was seen last holds."""
        now = {} if isinstance(told, Unknown) else {gpu.id: gpu for gpu in told}
        silent = [gpu for gpu in self._readings.gpus if gpu.id not in now]
        why = told.why if isinstance(told, Unknown) else "the driver is silent"
        self._gpus_problem = f"gpus: {why}; the last reading holds" if silent or isinstance(told, Unknown) else ""
        return (*now.values(), *silent)

    def _read_all(self, names: Sequence[str]) -> dict[str, Any]:
        """Off the event loop."""
        values: dict[str, Any] = {}
        for name in names:
            if name == "policy":
                self._policy_file.refresh()
            elif self._is_asked(name):
                values[name] = _read(getattr(self._signals, name))
        return values

    def _is_asked(self, name: str) -> bool:
        """Starting a tool for an answer that changes nothing would be a waste."""
        policy = self._policy_file.policy
        if name == "metered":
            return not policy.start.on_metered
        if name == "seat":
            return policy.seat == "auto"
        if name == "terminal":
            return policy.start.typing_over_ssh
        return True

    async def _look(self, name: str, read: Callable[[], T]) -> T | Unknown:
        """Read off the event loop, for a bounded time; one look at a time, also if it hangs."""
        look = self._looks.get(name)
        if look is None or look.done():
            look = self._looks[name] = asyncio.ensure_future(self._offload(_read, read))
            look.add_done_callback(lambda done: done.cancelled() or done.exception())
        await asyncio.wait([look], timeout=HUNG_SECONDS if name == "idle" else 4 * HUNG_SECONDS)
        if not look.done():
            return Unknown("the system does not answer")
        result: T | Unknown = look.result()
        return result

    async def _sleep(self, which: int, seconds: float) -> None:
        wake = self._wakes[which]
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                await wake.wait()
        wake.clear()

    # ── deciding ──

    def _decide(self) -> Decision:
        readings = replace(self._readings, paused=self._pauses.current())
        now, monotonic = self._clock.now(), self._clock.monotonic()
        decision = decide(self._policy_file.policy, readings, self._state, now, monotonic, zone=self._zone)
        self._state = decision.state
        return decision

    def _refresh(self) -> Decision:
        self._decision = self._decide()
        if self._decision.meaning != self._told:
            log.info(
                "owner.decision",
                extra={"strangers": self._decision.strangers_welcome, "reason": self._decision.reason},
            )
            try:
                self._on_change(self._decision)
            except Exception:
                # Told again at the next look: a fault there must not end the watch.
                log.exception("owner.change_failed")
            else:
                self._told = self._decision.meaning
        return self._decision


def _read(read: Callable[[], T]) -> T | Unknown:
    try:
        return read()
    except Exception as error:
        # A signal that fails is a fault of ours; the owner's machine is protected all the same.
        log.exception("owner.signal_failed")
        return Unknown(f"reading it failed: {type(error).__name__}")
