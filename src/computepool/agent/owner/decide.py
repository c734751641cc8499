"""What the owner's policy says now: a pure function of the policy, the readings, what was before, and the time."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime, tzinfo
from typing import Any

from computepool.agent.owner.causes import BUSY_SECONDS, SETTLED, Cause, Held, RuleScope, causes_at, is_busy, is_hot
from computepool.agent.owner.ladder import Reaction, hardest
from computepool.agent.owner.policy import Policy, Start
from computepool.agent.owner.readings import CALLED, UNKNOWN_RULES, GpuReading, Readings, Unknown
from computepool.agent.owner.words import for_people
from computepool.protocol.messages import Availability

SETTLE_SECONDS = 60.0
"""What came and went must be gone for this long."""
SOONEST_CHECK_SECONDS = 0.5
LATEST_CHECK_SECONDS = 30.0
REASON_LIMIT = 200
WHOLE = ""
"""The place that is not a GPU: the machine itself."""


@dataclass(frozen=True)
class State:
    """What the next decision must know of the ones before."""

    begun: Mapping[tuple[str, Cause], float] = field(default_factory=dict)
    """Since when a cause holds in a place."""
    held: Mapping[tuple[str, Cause], tuple[float, Held]] = field(default_factory=dict)
    """When it was last seen, and as what."""
    hot: frozenset[str] = frozenset()
    busy: Mapping[str, float] = field(default_factory=dict)
    """GPUs that are busier than allowed, and since when."""


@dataclass(frozen=True)
class Decision:
    strangers_welcome: bool
    reason: str
    """In words: why not, or why so."""
    own_welcome: bool
    """The owner's own jobs: held back by an explicit pause alone."""
    gpus_in_use: tuple[str, ...] = ()
    gpu_only: bool = False
    """Strangers' work is welcome on a GPU that is not in use, but not without one."""
    reaction: Reaction = Reaction.NONE
    """For strangers' running work without a GPU."""
    gpu_reactions: Mapping[str, Reaction] = field(default_factory=dict)
    """For strangers' running work on a GPU."""
    own_reaction: Reaction = Reaction.NONE
    power_cap: float = 1.0
    """What `cap_power` leaves, as a share."""
    reasons: tuple[str, ...] = ()
    gpu_reasons: Mapping[str, str] = field(default_factory=dict)
    causes: frozenset[Cause] = frozenset()
    problems: tuple[str, ...] = ()
    """What could not be read, and how it is taken."""
    until: datetime | None = None
    """When it would change if nothing else happens."""
    next_check_seconds: float = LATEST_CHECK_SECONDS
    watches_input: bool = True
    """Whether keyboard and mouse matter at all."""
    state: State = State()

    def reaction_for(self, gpus: Iterable[str], *, own: bool) -> Reaction:
        """What is to be done to an attempt that holds these GPUs."""
        if own:
            return self.own_reaction
        held = tuple(gpus)
        if not held:
            return self.reaction
        # A GPU that nobody reads any more is judged as the machine is.
        return hardest(*(self.gpu_reactions.get(gpu, self.reaction) for gpu in held))

    def welcomes(self, gpus: Iterable[str], *, own: bool) -> bool:
        """Whether an attempt that would hold these GPUs may start."""
        if own:
            return self.own_welcome
        held = tuple(gpus)
        if not held:
            return self.strangers_welcome and not self.gpu_only
        if not all(gpu in self.gpu_reactions for gpu in held) and self.gpu_only:
            return False
        return self.strangers_welcome and not set(held) & set(self.gpus_in_use)

    def availability(self) -> Availability:
        """As the hub is told."""
        return Availability(
            strangers=self.strangers_welcome,
            reason="" if self.strangers_welcome and not self.gpus_in_use else self.reason[:REASON_LIMIT],
            gpus_in_use=self.gpus_in_use,
            gpu_only=self.gpu_only,
        )

    def as_json(self) -> dict[str, Any]:
        """For `agent status`."""
        return {
            "strangers_welcome": self.strangers_welcome,
            "own_welcome": self.own_welcome,
            "reason": self.reason,
            "until": None if self.until is None else self.until.isoformat(),
            "gpus_in_use": list(self.gpus_in_use),
            "gpu_only": self.gpu_only,
            "gpu_reasons": dict(self.gpu_reasons),
            "reaction": self.reaction.value,
            "gpu_reactions": {gpu: reaction.value for gpu, reaction in self.gpu_reactions.items()},
            "causes": sorted(self.causes),
        }

    @property
    def meaning(self) -> tuple[object, ...]:
        """What must differ for somebody to be told: not the words, which count minutes."""
        return (
            self.strangers_welcome,
            self.own_welcome,
            self.gpus_in_use,
            self.gpu_only,
            self.reaction,
            tuple(sorted(self.gpu_reactions.items())),
            self.own_reaction,
            self.power_cap,
            self.causes,
            len(self.problems),
        )


@dataclass
class _Verdict:
    """One place: what holds there, and what is due."""

    held: list[Held]
    reaction: Reaction
    next_step_seconds: float | None
    """Until the next rung of a ladder."""


def decide(
    policy: Policy, readings: Readings, state: State, now: datetime, monotonic: float, *, zone: tzinfo | None = None
) -> Decision:
    """`zone` None is this machine's own."""
    seat, watches, problems = _seat_and_problems(policy, readings)
    gpus: list[GpuReading | None] = [None, *readings.gpus]
    begun: dict[tuple[str, Cause], float] = {}
    held: dict[tuple[str, Cause], tuple[float, Held]] = {}
    hot: set[str] = set()
    busy: dict[str, float] = {}
    verdicts: dict[str, _Verdict] = {}
    for gpu in gpus:
        name = WHOLE if gpu is None else gpu.id
        place = RuleScope(
            policy=policy,
            rules=policy.rules(None if gpu is None else name),
            readings=readings,
            seat=seat,
            now=now,
            monotonic=monotonic,
            zone=zone,
            was_hot=name in state.hot,
            busy_since=state.busy.get(name),
            gpu=gpu,
        )
        if is_hot(place):
            hot.add(name)
        if is_busy(place):
            busy[name] = state.busy.get(name, monotonic)
        verdicts[name] = _judge(place, name, state, begun, held)
    return _conclude(policy, readings, verdicts, problems, watches, now, zone, State(begun, held, frozenset(hot), busy))


def _judge(
    place: RuleScope,
    name: str,
    state: State,
    begun: dict[tuple[str, Cause], float],
    held: dict[tuple[str, Cause], tuple[float, Held]],
) -> _Verdict:
    found = {one.cause: one for one in causes_at(place)}
    settling = dict(_settling(place, name, state, found))
    reactions, steps = [Reaction.NONE], []
    for cause, one in {**found, **settling}.items():
        key = (name, cause)
        if cause in found:
            seen = place.monotonic if one.seen_at is None else one.seen_at
        else:
            seen = state.held[key][0]
        begun[key] = min(state.begun.get(key, seen), seen)
        if cause is Cause.PAUSE and place.readings.paused is not None:
            # The pause knows its own beginning, also from before a restart.
            begun[key] = place.monotonic - place.readings.paused.since_seconds
        held[key] = (seen, found.get(cause) or state.held[key][1])
        # Counted to the last sign of the owner: one touch of the mouse is not a stay of ten minutes.
        stayed = seen - begun[key]
        reactions.append(one.ladder.at(stayed))
        left = one.ladder.seconds_to_next(stayed)
        if left is not None and cause in found:
            steps.append(left)
    order = list(Cause)
    ordered = sorted({**found, **settling}.values(), key=lambda one: order.index(one.cause))
    return _Verdict(ordered, hardest(*reactions), min(steps, default=None))


def _settling(place: RuleScope, name: str, state: State, found: Mapping[Cause, Held]) -> Iterable[tuple[Cause, Held]]:
    """What is gone, but not for long enough. A change of the rules needs no waiting: see `_still_asked`."""
    for (where, cause), (seen, before) in state.held.items():
        rest = seen + SETTLE_SECONDS - place.monotonic
        if where == name and cause in SETTLED and cause not in found and rest > 0 and _still_asked(place, cause):
            words = f"until {for_people(place.monotonic - seen)} ago, {before.words}"
            yield cause, Held(cause, words, before.ladder, place.after(rest), seen)


def _still_asked(place: RuleScope, cause: Cause) -> bool:
    start = place.rules.start
    match cause:
        case Cause.UNSEEN:
            return place.seat and start.after_idle > 0
        case Cause.FULL_SCREEN:
            return place.seat and not start.during_full_screen
        case Cause.BATTERY:
            return not start.on_battery
        case Cause.METERED:
            return not start.on_metered
    return True


def _seat_and_problems(policy: Policy, readings: Readings) -> tuple[bool, bool, tuple[str, ...]]:
    problems: list[str] = []

    def note(name: str, reading: object) -> None:
        if isinstance(reading, Unknown):
            problems.append(f"{CALLED[name]}: not known ({reading.why}), treated {UNKNOWN_RULES[name][0]}")

    seat = readings.seat
    if policy.seat == "auto":
        note("seat", seat)
        sits = isinstance(seat, Unknown) or seat
    else:
        sits = policy.seat == "yes"
    places = [policy.rules(), *(policy.rules(gpu.id) for gpu in readings.gpus)]
    watches = sits and any(rules.start.after_idle > 0 for rules in places)
    if watches:
        note("idle", readings.idle)
    if sits and any(not rules.start.during_full_screen for rules in places):
        note("full_screen", readings.full_screen)
    if any(not rules.start.on_battery for rules in places):
        note("on_battery", readings.on_battery)
    # Most servers have neither a thermometer that anybody may read nor a network that could be metered: that is no
    # trouble unless their owner counts on it.
    most = policy.start.max_cpu_temperature
    if most is not None and (sits or most != Start().max_cpu_temperature):
        note("cpu_celsius", readings.cpu_celsius)
    if sits and not policy.start.on_metered:
        note("metered", readings.metered)
    if policy.network.monthly_data is not None:
        note("data_used_bytes", readings.data_used_bytes)
    problems += [
        f"gpu processes of {gpu.id}: not listed; treated {UNKNOWN_RULES['gpu processes'][0]}"
        for gpu in readings.gpus
        if gpu.foreign_bytes is None and policy.rules(gpu.id).start.foreign_gpu_memory is not None
    ]
    return sits, watches, (*problems, *_rules_of_no_gpu(policy, readings))


def _rules_of_no_gpu(policy: Policy, readings: Readings) -> Iterator[str]:
    """A slip in an id must not leave a card shared in silence."""
    there = [gpu.id for gpu in readings.gpus]
    known = f"there are {', '.join(there)}" if there else "no GPU is seen here"
    for name in policy.gpu:
        if name not in there:
            yield f'[gpu."{name}"] in the policy is of no GPU of this machine and holds for none: {known}'


def _conclude(
    policy: Policy,
    readings: Readings,
    verdicts: Mapping[str, _Verdict],
    problems: tuple[str, ...],
    watches: bool,
    now: datetime,
    zone: tzinfo | None,
    state: State,
) -> Decision:
    whole = verdicts[WHOLE]
    in_use = tuple(gpu.id for gpu in readings.gpus if verdicts[gpu.id].held)
    cpu_welcome = not whole.held
    welcome = cpu_welcome or len(in_use) < len(readings.gpus)
    reasons = tuple(one.words for one in whole.held)
    gpu_reasons = {gpu: "; ".join(one.words for one in verdicts[gpu].held) for gpu in in_use}
    paused = [one for one in whole.held if one.cause is Cause.PAUSE]
    until = _until(policy, whole.held, now, zone)
    checks = [
        LATEST_CHECK_SECONDS,
        *(v.next_step_seconds for v in verdicts.values() if v.next_step_seconds is not None),
    ]
    ends = [one.until for verdict in verdicts.values() for one in verdict.held if one.until is not None]
    checks += [(end - now).total_seconds() for end in [*ends, *([until] if until else [])]]
    if state.busy:
        checks.append(BUSY_SECONDS)
    return Decision(
        strangers_welcome=welcome,
        reason=_reason(readings, reasons, gpu_reasons, welcome, cpu_welcome, watches),
        own_welcome=not paused,
        gpus_in_use=in_use,
        gpu_only=welcome and not cpu_welcome,
        reaction=whole.reaction,
        gpu_reactions={gpu.id: verdicts[gpu.id].reaction for gpu in readings.gpus},
        own_reaction=_own_reaction(policy, readings),
        power_cap=policy.reactions.power_cap / 100,
        reasons=reasons,
        gpu_reasons=gpu_reasons,
        causes=frozenset(one.cause for verdict in verdicts.values() for one in verdict.held),
        problems=problems,
        until=until,
        next_check_seconds=max(SOONEST_CHECK_SECONDS, min(checks)),
        watches_input=watches,
        state=state,
    )


def _own_reaction(policy: Policy, readings: Readings) -> Reaction:
    return Reaction.NONE if readings.paused is None else policy.reactions.pause.at(readings.paused.since_seconds)


def _until(policy: Policy, held: list[Held], now: datetime, zone: tzinfo | None) -> datetime | None:
    if not held:
        return policy.start.hours.next_change(now, zone)
    ends = [one.until for one in held if one.until is not None]
    return max(ends) if len(ends) == len(held) else None


def _reason(
    readings: Readings,
    reasons: tuple[str, ...],
    gpu_reasons: Mapping[str, str],
    welcome: bool,
    cpu_welcome: bool,
    watches: bool,
) -> str:
    if not welcome:
        return "; ".join(reasons)
    if not cpu_welcome:
        free = [gpu.id for gpu in readings.gpus if gpu.id not in gpu_reasons]
        return f"only on {', '.join(free)}: elsewhere {'; '.join(reasons)}"
    if gpu_reasons:
        return "; ".join(f"{gpu}: {words}" for gpu, words in gpu_reasons.items())
    if not watches:
        return "available at any time"
    idle = readings.idle
    return "nobody is here" if isinstance(idle, Unknown) else f"nobody was here for {for_people(idle.seconds)}"
