"""The pool's own tables: what cards are worth, where money buys how much, the base rate, how far spot may go, and what
slices pay that may lose their slot.

An operator edits them while the hub runs; every version is kept. What is here is what a new pool starts with.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Any

from pydantic import ConfigDict, Field, field_validator, model_validator

from computepool.hub.market.pricing import PREEMPTIBLE_PERCENT
from computepool.hub.market.regions import DEFAULT_REGIONS, ELSEWHERE, ELSEWHERE_MILLIS, Region, check_regions
from computepool.hub.market.spot import Bounds
from computepool.hub.market.tiers import CPU_TIER_MILLIS, TIER_MILLIS
from computepool.protocol.gpu_names import model_words
from computepool.protocol.model import Documented
from computepool.protocol.units import MICROS_PER_CREDIT

BASE_MICROS = 10 * MICROS_PER_CREDIT
MOST_BASE_MICROS = 1_000_000 * MICROS_PER_CREDIT
MOST_TIER_MILLIS = 1_000_000
CARDS_LIMIT = 1000

Millis = Annotated[int, Field(ge=1, le=MOST_TIER_MILLIS, strict=True)]


class Table(Documented):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Tiers(Table):
    """How much more than the base rate each kind of card is worth, in thousandths."""

    cards: dict[str, Millis] = Field(default_factory=lambda: dict(TIER_MILLIS), max_length=CARDS_LIMIT)
    """By the short name of the card."""
    cpu_millis: Millis = CPU_TIER_MILLIS
    """Of eight cores, for work without a GPU."""

    @field_validator("cards")
    @classmethod
    def _as_requests_name_them(cls, cards: dict[str, int]) -> dict[str, int]:
        named: dict[str, int] = {}
        for name, millis in cards.items():
            slug = "-".join(model_words(name))[:64]
            if not slug:
                raise ValueError(f"{name[:40]!r} names no card; write it such as rtx-4090")
            if slug in named:
                raise ValueError(f"{name[:40]!r} is there twice, as {slug}")
            named[slug] = millis
        return named


class Regions(Table):
    """Sets of countries with the factor of what money buys there. A country that is in none has the factor 1."""

    items: tuple[Region, ...] = Field(default=DEFAULT_REGIONS, max_length=300)

    @model_validator(mode="after")
    def _each_once(self) -> "Regions":
        check_regions(self.items)
        return self


class Rates(Table):
    """What an hour of a card of tier 1 costs in a region of factor 1, between which factors spot moves, and how much of
    a price is paid for a slot that may be lost."""

    base_micros: Annotated[int, Field(ge=0, le=MOST_BASE_MICROS, strict=True)] = BASE_MICROS
    spot_least_millis: Annotated[int, Field(ge=50, le=1000, strict=True)] = 500
    """The least that the factor of demand may be, in thousandths."""
    spot_most_millis: Annotated[int, Field(ge=1000, le=20_000, strict=True)] = 2000
    """The most that the factor of demand may be, in thousandths."""
    preemptible_percent: Annotated[int, Field(ge=1, le=100, strict=True)] = PREEMPTIBLE_PERCENT
    """Of a price, what a slice pays that may lose its slot."""


KINDS: dict[str, type[Table]] = {"tiers": Tiers, "regions": Regions, "rates": Rates}


@dataclass(frozen=True)
class Tables:
    """All three, as they are now."""

    tiers: Tiers = field(default_factory=Tiers)
    regions: Regions = field(default_factory=Regions)
    rates: Rates = field(default_factory=Rates)
    _homes: Mapping[str, Region] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        homes = {code: region for region in self.regions.items for code in region.countries}
        object.__setattr__(self, "_homes", homes)

    @property
    def bounds(self) -> Bounds:
        return Bounds(self.rates.spot_least_millis, self.rates.spot_most_millis)

    def region_of(self, country: str | None) -> tuple[str, int]:
        """Its name and its factor in thousandths."""
        region = self._homes.get(country or "")
        return (region.name, region.factor_millis) if region is not None else (ELSEWHERE, ELSEWHERE_MILLIS)

    def is_listed(self, country: str) -> bool:
        return country in self._homes

    def most_factor(self, countries: frozenset[str] = frozenset()) -> int:
        """The highest of those countries, or of all."""
        if countries:
            return max(self.region_of(code)[1] for code in countries)
        return max((ELSEWHERE_MILLIS, *(one.factor_millis for one in self.regions.items)))


def tables_of(values: Mapping[str, Mapping[str, Any]]) -> Tables:
    """From what was stored; what was never edited is as it comes."""
    return Tables(**{name: KINDS[name].model_validate(value) for name, value in values.items()})  # type: ignore[arg-type]
