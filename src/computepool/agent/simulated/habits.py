"""What the owners of simulated machines do: use them, lose their line, switch them off and on."""

import random
from dataclasses import dataclass

MINUTE = 60.0


@dataclass(frozen=True)
class Habit:
    """Something that happens now and then: so often on average, and for about so long. Seconds."""

    every: float
    shortest: float
    longest: float

    def next_in(self, rng: random.Random) -> float:
        return rng.expovariate(1 / self.every)

    def lasts(self, rng: random.Random) -> float:
        return rng.uniform(self.shortest, self.longest)


@dataclass(frozen=True)
class Habits:
    """None is never."""

    pauses: Habit | None = None
    """The owner takes the machine back: what runs is given back."""
    cuts: Habit | None = None
    """The line is lost, and what runs goes on."""
    leaves: Habit | None = None
    """The machine is switched off in the middle of everything, and comes back."""


ALWAYS_ON = Habits()
OFFICE = Habits(pauses=Habit(15 * MINUTE, 60, 5 * MINUTE))
PLAYER = Habits(pauses=Habit(8 * MINUTE, 30, 4 * MINUTE), leaves=Habit(30 * MINUTE, 60, 5 * MINUTE))
LAPTOP = Habits(pauses=Habit(10 * MINUTE, 20, 90), cuts=Habit(5 * MINUTE, 5, 40), leaves=Habit(20 * MINUTE, 30, 120))
FLAKY = Habits(pauses=Habit(4 * MINUTE, 10, 60), cuts=Habit(90, 3, 30), leaves=Habit(4 * MINUTE, 10, 60))
