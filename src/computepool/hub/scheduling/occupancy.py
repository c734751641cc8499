"""Who occupies what right now: kept beside the fleet's room, by renter instead of by node."""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field

from computepool.hub.jobs.brief import JobBrief
from computepool.hub.scheduling.usage import Usage, weight_of

SECONDS_PER_HOUR = 3600


@dataclass(frozen=True, slots=True)
class Occupied:
    """An attempt that holds room, from its lease to its end."""

    attempt_id: str
    node_id: str
    brief: JobBrief
    own: bool
    price_micros: int
    """For an hour, as its lease locked it."""

    @property
    def owner_id(self) -> str:
        return self.brief.owner_id

    @property
    def most_micros(self) -> int:
        """What it costs if it runs for as long as it may."""
        return -(-self.price_micros * int(self.brief.max_runtime_seconds) // SECONDS_PER_HOUR)


@dataclass(slots=True)
class Share:
    """Of one renter, on other people's nodes."""

    slices: int = 0
    hourly_micros: int = 0
    most_micros: int = 0
    """What all of them cost if each runs for as long as it may."""


@dataclass(slots=True)
class Occupancy:
    usage: Usage
    _all: dict[str, Occupied] = field(default_factory=dict)
    _shares: dict[str, Share] = field(default_factory=lambda: defaultdict(Share))
    _preemptible: dict[str, Occupied] = field(default_factory=dict)

    def __len__(self) -> int:
        return len(self._all)

    def begin(self, one: Occupied, now: float) -> None:
        """Told twice, it counts once."""
        if one.attempt_id in self._all:
            return
        self._all[one.attempt_id] = one
        if one.brief.requirements.preemptible:
            self._preemptible[one.attempt_id] = one
        if not one.own:
            self.usage.begin(one.owner_id, weight_of(one.brief.requirements), now)
            self._count(one, +1)

    def end(self, attempt_id: str, now: float) -> None:
        one = self._all.pop(attempt_id, None)
        if one is None:
            return
        self._preemptible.pop(attempt_id, None)
        if not one.own:
            self.usage.end(one.owner_id, weight_of(one.brief.requirements), now)
            self._count(one, -1)

    def get(self, attempt_id: str) -> Occupied | None:
        return self._all.get(attempt_id)

    def share(self, owner_id: str) -> Share:
        return self._shares.get(owner_id) or Share()

    @property
    def has_paid(self) -> bool:
        """Something runs that somebody pays for."""
        return any(share.hourly_micros for share in self._shares.values())

    @property
    def has_preemptible(self) -> bool:
        return bool(self._preemptible)

    def preemptible(self) -> Iterator[Occupied]:
        return iter(self._preemptible.values())

    def standing(self, owner_id: str, now: float) -> float:
        return self.usage.standing(owner_id, now)

    def _count(self, one: Occupied, sign: int) -> None:
        share = self._shares[one.owner_id]
        share.slices += sign
        share.hourly_micros += sign * one.price_micros
        share.most_micros += sign * one.most_micros
        if share.slices == 0:
            del self._shares[one.owner_id]
