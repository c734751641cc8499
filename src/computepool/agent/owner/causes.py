"""Why strangers' work is not welcome, at this moment and in one place: one function for each reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum

from computepool.agent.owner.ladder import Ladder
from computepool.agent.owner.policy import GO_ON, Policy, Rules
from computepool.agent.owner.readings import GpuReading, Idle, Readings, Unknown
from computepool.agent.owner.words import for_people, still_to_come
from computepool.protocol.units import about_bytes

COOLER_CELSIUS = 5.0
"""So much cooler than the limit before hot work goes on."""
BUSY_SECONDS = 10.0
"""A GPU must be busy for so long to count as used: a desktop's animation is no owner."""
REASON_LIMIT = 60


class Cause(StrEnum):
    """In the order in which they are told."""

    PAUSE = "pause"
    RULES = "rules"
    UNSEEN = "unseen"
    INPUT = "input"
    FULL_SCREEN = "full_screen"
    KEPT = "kept"
    GPU_PROCESS = "gpu_process"
    BATTERY = "battery"
    HEAT = "heat"
    HOURS = "hours"
    METERED = "metered"
    ALLOWANCE = "allowance"


SETTLED = frozenset({Cause.UNSEEN, Cause.FULL_SCREEN, Cause.GPU_PROCESS, Cause.BATTERY, Cause.METERED})
"""These must be gone for a while: between two films is no time to start."""


@dataclass(frozen=True)
class Held:
    cause: Cause
    words: str
    ladder: Ladder
    until: datetime | None = None
    """When it would end if nothing else happens; None if nobody knows."""
    seen_at: float | None = None
    """Monotonic time of the last sign of it; None for now."""


@dataclass(frozen=True)
class RuleScope:
    """The whole machine (`gpu` None), or one GPU, with the rules that hold there."""

    policy: Policy
    rules: Rules
    readings: Readings
    seat: bool
    now: datetime
    monotonic: float
    zone: tzinfo | None
    was_hot: bool
    busy_since: float | None
    gpu: GpuReading | None = None

    def after(self, seconds: float) -> datetime:
        return self.now + timedelta(seconds=max(0.0, seconds))


def causes_at(place: RuleScope) -> Iterator[Held]:
    for find in (_pause, _house, _input, _full_screen, _gpu, _battery, _heat, _hours, _metered, _allowance):
        held = find(place)
        if held is not None:
            yield held


def is_hot(place: RuleScope) -> bool:
    """Hot at the limit; cool again only well below it."""
    if place.gpu is not None and _above(
        place.gpu.temperature_celsius, place.rules.start.max_gpu_temperature, place.was_hot
    ):
        return True
    reading = place.readings.cpu_celsius
    celsius = None if isinstance(reading, Unknown) else reading
    return _above(celsius, place.rules.start.max_cpu_temperature, place.was_hot)


def _above(celsius: float | None, limit: float | None, was_hot: bool) -> bool:
    if celsius is None or limit is None:
        return False
    return celsius >= limit or (was_hot and celsius > limit - COOLER_CELSIUS)


def is_busy(place: RuleScope) -> bool:
    """More than the owner allows to run there, and not by us: with work of ours on it nobody can tell whose it is."""
    gpu, limit = place.gpu, place.rules.start.foreign_gpu_utilisation
    return (
        gpu is not None
        and not gpu.ours
        and gpu.utilisation is not None
        and limit < 100
        and gpu.utilisation * 100 > limit
    )


# ── one by one ───────────────────────────────────────────────────────────────────────────────────────────────────────


def _pause(place: RuleScope) -> Held | None:
    paused = place.readings.paused
    if paused is None:
        return None
    ladder = place.rules.reactions.pause
    if paused.remaining_seconds is None:
        words = paused.note or "paused, until `computepool agent resume`"
        return Held(Cause.PAUSE, words, ladder)
    words = f"paused for another {still_to_come(paused.remaining_seconds)}"
    return Held(Cause.PAUSE, words, ladder, place.after(paused.remaining_seconds))


def _house(place: RuleScope) -> Held | None:
    if place.gpu is not None and not place.rules.share:
        return Held(Cause.KEPT, "this GPU is kept for its owner", place.rules.reactions.owner)
    if not place.policy.welcome.strangers:
        return Held(Cause.RULES, "only its owner's jobs are welcome here", GO_ON)
    return None


def _input(place: RuleScope) -> Held | None:
    wait = place.rules.start.after_idle
    if wait == 0 or not place.seat:
        return None
    ladder = place.rules.reactions.owner
    idle = last_used(place)
    if isinstance(idle, Unknown):
        return Held(Cause.UNSEEN, f"cannot tell whether somebody is using the machine: {idle.why}", ladder)
    if idle.seconds >= wait:
        return None
    words = f"the {idle.what} was used {for_people(idle.seconds)} ago; work starts after {for_people(wait)}"
    return Held(Cause.INPUT, words, ladder, place.after(wait - idle.seconds), place.monotonic - idle.seconds)


def last_used(place: RuleScope) -> Idle | Unknown:
    """Keyboard and mouse, and terminals if they count: whichever was used last."""
    idle, terminal = place.readings.idle, place.readings.terminal
    if not place.rules.start.typing_over_ssh or not isinstance(terminal, Idle):
        return idle
    if isinstance(idle, Unknown):
        # A terminal in use shows that somebody is there; an unused one does not show that nobody is.
        return terminal if terminal.seconds < place.rules.start.after_idle else idle
    return min(idle, terminal, key=lambda one: one.seconds)


def _full_screen(place: RuleScope) -> Held | None:
    program = place.readings.full_screen
    if place.rules.start.during_full_screen or not place.seat or program is None or isinstance(program, Unknown):
        return None
    words = f"{program[:REASON_LIMIT]} fills the screen" if program else "a program fills the screen"
    return Held(Cause.FULL_SCREEN, words, place.rules.reactions.owner)


def _gpu(place: RuleScope) -> Held | None:
    gpu, limit = place.gpu, place.rules.start.foreign_gpu_memory
    if gpu is None:
        return None
    ladder = place.rules.reactions.owner
    if limit is not None and gpu.foreign_bytes is not None and gpu.foreign_bytes > limit:
        who = gpu.foreign_program[:REASON_LIMIT] or "another program"
        words = f"{who} uses the GPU ({about_bytes(gpu.foreign_bytes)} of its memory)"
        return Held(Cause.GPU_PROCESS, words, ladder)
    if is_busy(place) and place.busy_since is not None and place.monotonic - place.busy_since >= BUSY_SECONDS:
        words = f"another program keeps the GPU {(gpu.utilisation or 0) * 100:.0f} % busy"
        return Held(Cause.GPU_PROCESS, words, ladder)
    return None


def _battery(place: RuleScope) -> Held | None:
    if place.rules.start.on_battery or place.readings.on_battery is not True:
        return None
    return Held(Cause.BATTERY, "the machine runs on its battery", place.rules.reactions.battery)


def _heat(place: RuleScope) -> Held | None:
    if not is_hot(place):
        return None
    start, gpu, cpu = place.rules.start, place.gpu, place.readings.cpu_celsius
    ladder = place.rules.reactions.heat
    if gpu is not None and _above(gpu.temperature_celsius, start.max_gpu_temperature, was_hot=True):
        limit = (start.max_gpu_temperature or 0) - COOLER_CELSIUS
        return Held(Cause.HEAT, f"the GPU has {gpu.temperature_celsius:.0f} °C; goes on at {limit:.0f} °C", ladder)
    limit = (start.max_cpu_temperature or 0) - COOLER_CELSIUS
    celsius = 0.0 if isinstance(cpu, Unknown) else cpu
    return Held(Cause.HEAT, f"the processor has {celsius:.0f} °C; goes on at {limit:.0f} °C", ladder)


def _hours(place: RuleScope) -> Held | None:
    hours = place.rules.start.hours
    if hours.are_open(place.now, place.zone):
        return None
    opens = hours.next_change(place.now, place.zone)
    at = f"; they begin {opens.astimezone(place.zone):%a %H:%M}" if opens else ""
    return Held(Cause.HOURS, f"outside the hours {hours.text[:REASON_LIMIT]}{at}", place.rules.reactions.hours, opens)


def _metered(place: RuleScope) -> Held | None:
    if place.rules.start.on_metered or place.readings.metered is not True:
        return None
    return Held(Cause.METERED, "the network is metered", place.rules.reactions.metered)


def _allowance(place: RuleScope) -> Held | None:
    limit, used = place.policy.network.monthly_data, place.readings.data_used_bytes
    if limit is None or isinstance(used, Unknown) or used < limit:
        return None
    words = f"the month's {about_bytes(limit)} of data are used up"
    return Held(Cause.ALLOWANCE, words, place.rules.reactions.allowance, _next_month(place))


def _next_month(place: RuleScope) -> datetime:
    """Months of data are counted in UTC: a journey does not begin a new one."""
    now = place.now.astimezone(UTC)
    return (now.replace(day=1) + timedelta(days=32)).replace(day=1, hour=0, minute=0, second=0, microsecond=0)
