"""What is done to running work when its owner wants the machine: an ordered ladder of steps, each for a while."""

import itertools
from dataclasses import dataclass
from enum import StrEnum

from computepool.protocol.units import BadValueError, format_duration, nearest, parse_duration, short_repr

EXAMPLES = '["suspend 10m", "evict"] or ["cap_power 5m", "suspend 10m", "checkpoint 2m", "evict"]'


class Reaction(StrEnum):
    """From mildest to hardest."""

    NONE = "none"
    """It goes on; only nothing new is taken."""
    CAP_POWER = "cap_power"
    """It goes on with a part of the power."""
    SUSPEND = "suspend"
    """It stands still, in memory."""
    CHECKPOINT = "checkpoint"
    """It stands still, and its checkpoint folder is saved and sent."""
    EVICT = "evict"
    """It is ended, with its grace to save a checkpoint, and given back to the pool."""

    @property
    def rank(self) -> int:
        return _RANKS[self]


_RANKS = {reaction: rank for rank, reaction in enumerate(Reaction)}


def hardest(*reactions: Reaction) -> Reaction:
    return max(reactions, key=lambda one: one.rank, default=Reaction.NONE)


@dataclass(frozen=True)
class Step:
    reaction: Reaction
    seconds: int | None = None
    """How long, before the next step; None for the last, which stays."""


@dataclass(frozen=True)
class Ladder:
    steps: tuple[Step, ...]

    def at(self, seconds: float) -> Reaction:
        """What is due this long after the reason began."""
        return self.steps[self._index(seconds)].reaction

    def seconds_to_next(self, seconds: float) -> float | None:
        """How much longer the step that is due lasts; None for ever."""
        index = self._index(seconds)
        if index == len(self.steps) - 1:
            return None
        return sum(step.seconds or 0 for step in self.steps[: index + 1]) - seconds

    def _index(self, seconds: float) -> int:
        end = 0
        for index, step in enumerate(self.steps[:-1]):
            end += step.seconds or 0
            if seconds < end:
                return index
        return len(self.steps) - 1

    def as_texts(self) -> list[str]:
        return [
            step.reaction.value if step.seconds is None else f"{step.reaction.value} {format_duration(step.seconds)}"
            for step in self.steps
        ]


def parse_ladder(value: object) -> Ladder:
    if isinstance(value, Ladder):
        return value
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list | tuple) or not items:
        raise BadValueError(f"{short_repr(value)} is not a list of steps", f"write it like {EXAMPLES}")
    steps = tuple(_step(item) for item in items)
    for step, after in itertools.pairwise(steps):
        if step.seconds is None:
            raise BadValueError(
                f"{step.reaction} would last for ever, and {after.reaction} never come",
                f"say how long it lasts: {EXAMPLES}",
            )
        if after.reaction.rank <= step.reaction.rank:
            order = " → ".join(Reaction)
            raise BadValueError(
                f"{after.reaction} after {step.reaction} is the wrong way round", f"the order is {order}"
            )
    if steps[-1].seconds is not None:
        raise BadValueError(
            f"the last step, {steps[-1].reaction}, lasts until the reason is gone", f"leave out its time: {EXAMPLES}"
        )
    return Ladder(steps)


def _step(item: object) -> Step:
    words = item.split(maxsplit=1) if isinstance(item, str) else []
    if not words:
        raise BadValueError(f"{short_repr(item)} is not a step", f"write it like {EXAMPLES}")
    name = words[0].lower().replace("-", "_")
    if name not in set(Reaction):
        meant = nearest(name, list(Reaction))
        hint = f"did you mean {meant}?" if meant else f"there are {', '.join(Reaction)}"
        raise BadValueError(f"{short_repr(words[0])} is not a step", hint)
    return Step(Reaction(name), parse_duration(words[1]) if len(words) > 1 else None)
