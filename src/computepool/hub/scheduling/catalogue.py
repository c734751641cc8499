"""Which shelves will do for a request: what shelves have in common with others, and the questions about it.

The gates of `feasibility` are asked, never repeated: each once for each make of nodes, not for each node. An answer may
be too kind (the last gigabyte of a bucket is not known here), never too strict.
"""

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import reduce
from operator import attrgetter
from typing import NamedTuple

from computepool.hub.market.feasibility import Gate, Traits, alike_gpus, passes
from computepool.hub.market.requirements import MILLI, Requirements
from computepool.hub.scheduling.facets import QUESTIONS_KEPT, Facet, step
from computepool.hub.scheduling.views import Room
from computepool.protocol.capacity import SIMULATED, Gpu
from computepool.protocol.gpus import GpuRequest

NO_TAGS: frozenset[str] = frozenset()
NOBODY = ""
"""The owner of an example: no renter has this name, so that its gates are those of a stranger's node."""
QUARTER_GIB_BITS, GIB_BITS = 28, 30
LOWER_STEPS = 40
PRICE_DETAIL = 3

MAKE_GATES = frozenset({Gate.SIMULATED, Gate.TRUST, Gate.VERSION, Gate.ISOLATION})
RULES_GATES = frozenset({Gate.WELCOME})

# What is named here has a facet or a bucket of its own. All else that a node has, or that a slice asks for, is part of
# its make, or of the questions: also what somebody adds one day.
_OWN_FACETS_OF_TRAITS = frozenset(
    {"node_id", "owner_id", "country", "tags", "cpu_millis", "memory_bytes", "disk_bytes", "gpus", "rules"}
    | {"ask", "standing", "gpu_gflops", "core_gflops", "trial", "owner_keys", "enrolled_by"}
)
_OWN_FACETS_OF_NEEDS = frozenset(
    {"owner_id", "cpu_millis", "memory_bytes", "disk_bytes", "gpu", "countries", "tags", "node_id", "image", "seconds"}
    | {"min_reliability", "max_price_micros", "optimize", "bid_micros", "signed_by", "submitted_by"}
)
_rest_of_traits = attrgetter(*(one.name for one in fields(Traits) if one.name not in _OWN_FACETS_OF_TRAITS))
_rest_of_needs = attrgetter(*(one.name for one in fields(Requirements) if one.name not in _OWN_FACETS_OF_NEEDS))


class Static(NamedTuple):
    """What nodes on one shelf have in common, besides their room."""

    make: int
    rules: int
    country: str | None
    tags: frozenset[str]
    has_record: bool


class ShelfKey(NamedTuple):
    static: int
    cards: int
    cpu: int
    memory: int
    disk: int


class Limits(NamedTuple):
    """The best of those that stood on a shelf, in steps. Too good once it has left, never too bad."""

    lower: int
    gpu_price: int
    core_price: int


def lower_step(lower: float) -> int:
    return int(max(0.0, min(lower, 1.0)) * LOWER_STEPS)


def price_step(micros: int) -> int:
    return step(max(micros, 0), PRICE_DETAIL)


def cpu_step(millis: int) -> int:
    """Whole cores, up to eight: what people ask for lies on an edge, and edges need no second look."""
    return step(max(millis, 0) // MILLI, 2)


def memory_step(size_bytes: int) -> int:
    return step(max(size_bytes, 0) >> QUARTER_GIB_BITS, 1)


def disk_step(size_bytes: int) -> int:
    return step(max(size_bytes, 0) >> GIB_BITS, 0) // 2


@dataclass(slots=True)
class AskedTags:
    """Only tags that somebody asked for tell nodes apart."""

    known: set[str] = field(default_factory=set)
    pending: set[str] = field(default_factory=set)
    """Those of them that not all shelves tell of yet: who has them is looked at node by node."""


class Catalogue:
    def __init__(self, asked_tags: AskedTags, owner_id: str | None, *, coarse: bool = False) -> None:
        """A coarse one tells nodes apart by what they are made of, and by orders of magnitude: fewer shelves, and more
        on them that will not do."""
        self._asked_tags = asked_tags
        self._coarse = coarse
        self._owner_id = owner_id
        self._statics: dict[Static, int] = {}
        self._static_list: list[Static] = []
        self._makes: dict[Hashable, int] = {}
        self._make_examples: list[Traits] = []
        self._house_rules: dict[Hashable, int] = {None: 0}
        self._rules_examples: list[Traits | None] = [None]
        self._cards: dict[tuple[tuple[str, int, bool], ...], int] = {(): 0}
        self._card_examples: list[tuple[Gpu, ...]] = [()]
        self._families: dict[Hashable, int] = {}
        self._family_of: list[int | None] = [None]
        """By the number of cards: which models there are, however many of each."""
        self._families_asked: dict[GpuRequest, tuple[int, frozenset[int | None]]] = {}
        """For how many kinds of cards it was answered, and how."""
        self._make, self._rules, self._country, self._record = Facet(), Facet(), Facet(), Facet()
        self._tags, self._gpus, self._cpu, self._memory, self._disk = Facet(), Facet(), Facet(), Facet(), Facet()
        self._lower, self._gpu_price, self._core_price = Facet(), Facet(), Facet()
        self._least_percent = 100
        """Of what nodes ask, the least that preemptible slices ever paid to one that was here. While the operator's
        change of it goes through the fleet, it is not the same for all."""

    def static_of(self, traits: Traits) -> int:
        self._least_percent = min(self._least_percent, traits.ask.preemptible_percent)
        made_of: Hashable = (_rest_of_traits(traits), traits.rules.isolation, traits.standing.verified)
        if self._owner_id is not None:  # nobody else's jobs are its owner's own
            made_of = (made_of, traits.owner_keys, traits.enrolled_by)
        make = _number_of(made_of, self._makes)
        if make == len(self._make_examples):
            self._make_examples.append(self._example_of(traits))
        if self._coarse:
            static = Static(make, 0, None, NO_TAGS, False)
        else:
            rules = _number_of(traits.rules, self._house_rules)
            if rules == len(self._rules_examples):
                self._rules_examples.append(self._example_of(traits))
            tags = traits.tags & self._asked_tags.known if traits.tags else traits.tags
            static = Static(make, rules, traits.country, tags, traits.standing.has_record)
        number = self._statics.get(static)
        if number is None:
            number = self._statics[static] = len(self._static_list)
            self._static_list.append(static)
        return number

    def _example_of(self, traits: Traits) -> Traits:
        return replace(traits, owner_id=NOBODY if self._owner_id is None else self._owner_id)

    def cards_of(self, gpus: Sequence[Gpu]) -> int:
        """0 for none."""
        if not gpus:
            return 0
        kinds = tuple([(gpu.slug, gpu.memory_bytes, gpu.integrated) for gpu in gpus])
        if len(kinds) > 1:
            kinds = tuple(sorted(kinds))
        number = self._cards.get(kinds)
        if number is None:
            number = self._cards[kinds] = len(self._card_examples)
            self._card_examples.append(tuple(gpus))
            self._family_of.append(_number_of(frozenset(kinds), self._families))
        return number

    def family_of(self, key: ShelfKey) -> int | None:
        """Which models the nodes there have, as a number; None for none."""
        return self._family_of[key.cards]

    def families(self, needs: Requirements) -> frozenset[int | None] | None:
        """Those with cards that will do; None for a slice that wants none."""
        if needs.gpu is None:
            return None
        seen, found = self._families_asked.get(needs.gpu, (0, frozenset()))
        if seen < len(self._card_examples):
            if len(self._families_asked) >= QUESTIONS_KEPT:
                self._families_asked.clear()
            new = range(seen, len(self._card_examples))
            found |= {self._family_of[cards] for cards in new if alike_gpus(needs, self._card_examples[cards])}
            self._families_asked[needs.gpu] = (len(self._card_examples), found)
        return found

    def key_of(self, static: int, room: Room) -> ShelfKey:
        cpu, memory, disk = self._steps(room.cpu_millis, room.memory_bytes, room.disk_bytes)
        return ShelfKey(static, self.cards_of(room.gpus), cpu, memory, disk)

    def _steps(self, cpu_millis: int, memory_bytes: int, disk_bytes: int) -> tuple[int, int, int]:
        cpu, memory, disk = cpu_step(cpu_millis), memory_step(memory_bytes), disk_step(disk_bytes)
        return (cpu // 8, memory // 4, disk // 2) if self._coarse else (cpu, memory, disk)

    def add(self, key: ShelfKey, bit: int) -> None:
        for facet, value in self._values(key):
            facet.add(value, bit)

    def drop(self, key: ShelfKey, limits: Limits | None, bit: int) -> None:
        for facet, value in self._values(key):
            facet.drop(value, bit)
        if limits is not None:
            for limit, step_here in zip((self._lower, self._gpu_price, self._core_price), limits, strict=True):
                limit.drop(step_here, bit)

    def move(self, before: ShelfKey, now: ShelfKey, bit: int) -> None:
        """All who stand on that shelf are something else now."""
        if before.static != now.static:
            self.drop(before, None, bit)
            self.add(now, bit)
            return
        for place, facet in enumerate((self._gpus, self._cpu, self._memory, self._disk), start=1):
            if before[place] != now[place]:
                facet.move(before[place], now[place], bit)

    def change(self, before: Limits | None, now: Limits, bit: int) -> Limits:
        """The limits of that shelf; None if nobody has stood there."""
        if before == now:
            return now
        for place, facet in enumerate((self._lower, self._gpu_price, self._core_price)):
            if before is None or before[place] != now[place]:
                facet.move(None if before is None else before[place], now[place], bit)
        return now

    def matching(self, needs: Requirements, shelves: int, *, newcomers: bool = False) -> int:
        """Of these shelves, those on which there may be a node for it."""
        for part in self._sizes(needs):
            shelves &= part
        if not shelves:
            return 0
        shelves &= self._of_make(needs)
        if needs.gpu is not None:
            shelves &= self._gpus.accepting(
                needs.gpu, lambda cards: bool(alike_gpus(needs, self._card_examples[cards]))
            )
        if shelves and self._owner_id is None:
            shelves = self._within_limits(needs, shelves)
        if not shelves or self._coarse:
            return shelves
        for tag in needs.tags:
            if tag not in self._asked_tags.pending:
                shelves &= self._tags.having(tag)
        if needs.countries:
            shelves &= self._country.accepting(needs.countries, needs.countries.__contains__)
        if self._owner_id is None:
            shelves &= self._welcoming(needs)
        return shelves & self._record.having(False) if newcomers else shelves

    def _sizes(self, needs: Requirements) -> tuple[int, int, int]:
        cpu, memory, disk = self._steps(needs.cpu_millis, needs.memory_bytes, needs.disk_bytes)
        return (
            self._cpu.accepting(cpu, cpu.__le__),
            self._memory.accepting(memory, memory.__le__),
            self._disk.accepting(disk, disk.__le__),
        )

    def _of_make(self, needs: Requirements) -> int:
        by_whom = (needs.signed_by, needs.submitted_by) if self._owner_id is not None else None
        asked = (_rest_of_needs(needs), needs.image is None, needs.gpu is None, SIMULATED in needs.tags, by_whom)
        return self._make.accepting(asked, lambda make: passes(needs, self._make_examples[make], MAKE_GATES))

    def _welcoming(self, needs: Requirements) -> int:
        asked = (_rest_of_needs(needs), needs.image, needs.gpu is None, needs.owner_id, needs.seconds)
        return self._rules.accepting(asked, lambda rules: self._is_welcome(needs, rules))

    def _is_welcome(self, needs: Requirements, rules: int) -> bool:
        example = self._rules_examples[rules]
        return example is None or passes(needs, example, RULES_GATES)

    def _within_limits(self, needs: Requirements, shelves: int) -> int:
        if needs.min_reliability is not None:
            least = lower_step(needs.min_reliability)
            shelves &= self._lower.accepting(least, least.__le__)
        if needs.max_price_micros is not None:
            facet = self._gpu_price if needs.gpu is not None else self._core_price
            most = price_step(unit_ceiling(needs, needs.max_price_micros, self._least_percent))
            shelves &= facet.accepting(most, most.__ge__)
        return shelves

    def _values(self, key: ShelfKey) -> list[tuple[Facet, Hashable]]:
        static = self._static_list[key.static]
        return [
            (self._make, static.make),
            (self._rules, static.rules),
            (self._country, static.country),
            (self._record, static.has_record),
            (self._gpus, key.cards),
            (self._cpu, key.cpu),
            (self._memory, key.memory),
            (self._disk, key.disk),
            *((self._tags, tag) for tag in static.tags),
        ]


def _number_of(value: Hashable, numbers: dict[Hashable, int]) -> int:
    """The same for the same value: numbers are quick keys, what they stand for may not be."""
    number = numbers.get(value)
    if number is None:
        number = numbers[value] = len(numbers)
    return number


def best_of(limits: Iterable[Limits]) -> Limits:
    return reduce(better_of, limits)


def better_of(one: Limits, other: Limits) -> Limits:
    if one == other:
        return one
    return Limits(max(one[0], other[0]), min(one[1], other[1]), min(one[2], other[2]))


def limits_of(traits: Traits) -> Limits:
    ask = traits.ask
    return Limits(lower_step(traits.standing.lower), price_step(ask.gpu_micros), price_step(ask.core_micros))


def unit_ceiling(needs: Requirements, max_price_micros: int, preemptible_percent: int) -> int:
    """The most that a GPU, or a core, may ask for an hour, for the slice to stay within its ceiling."""
    if needs.preemptible:
        max_price_micros = max_price_micros * 100 // preemptible_percent
    if needs.gpu is not None:
        return max_price_micros // needs.gpu_count
    return max_price_micros * MILLI // max(needs.cpu_millis, 1)
