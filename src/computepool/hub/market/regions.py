"""Regions: sets of countries in which an hour is worth alike, by what money buys there."""

import csv
import re
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from pydantic import ConfigDict, Field, field_validator

from computepool.protocol.countries import COUNTRIES, COUNTRY_SLIPS
from computepool.protocol.countries_alpha3 import ALPHA3
from computepool.protocol.model import Documented

ELSEWHERE = "elsewhere"
"""The region of every country that no set names, and of nodes whose country nobody knows."""
ELSEWHERE_MILLIS = 1000
LEAST_FACTOR_MILLIS, MOST_FACTOR_MILLIS = 50, 20_000
REGION_NAME = r"^[A-Za-z0-9][A-Za-z0-9 ._-]{0,39}$"
CSV_LIMIT_LINES = 1000
PLAIN_NUMBER = re.compile(r"-?[0-9]{1,9}(?:\.[0-9]{1,15})?")
"""No exponents, no signs of other scripts, no underscores: what a person reads is what is meant."""
EUROPEAN_UNION = "AT BE BG CY CZ DE DK EE ES FI FR GR HR HU IE IT LT LU LV MT NL PL PT RO SE SI SK".split()  # noqa: SIM905


class Region(Documented):
    model_config = ConfigDict(frozen=True, extra="forbid")

    name: str = Field(pattern=REGION_NAME)
    countries: tuple[str, ...] = Field(min_length=1, max_length=300)
    """As two letters of ISO 3166."""
    factor_millis: int = Field(ge=LEAST_FACTOR_MILLIS, le=MOST_FACTOR_MILLIS, strict=True)
    """The factor of prices, in thousandths."""

    @field_validator("name")
    @classmethod
    def _not_ours(cls, name: str) -> str:
        if name.lower() == ELSEWHERE:
            raise ValueError(f"{ELSEWHERE} is the name of what is in no region")
        return name

    @field_validator("countries")
    @classmethod
    def _known(cls, countries: tuple[str, ...]) -> tuple[str, ...]:
        for code in countries:
            if code not in COUNTRIES:
                raise ValueError(_unknown_country(code))
        return tuple(sorted(set(countries)))


DEFAULT_REGIONS: tuple[Region, ...] = (
    Region(name="IN", countries=("IN",), factor_millis=700),
    Region(name="EU", countries=tuple(EUROPEAN_UNION), factor_millis=950),
    Region(name="US", countries=("US",), factor_millis=1000),
    Region(name="GB", countries=("GB",), factor_millis=1000),
)


class BadRegions(ValueError):
    """What is wrong with a table of regions."""


def check_regions(regions: Sequence[Region]) -> None:
    """Every name once, and every country in one region at the most."""
    names: set[str] = set()
    home: dict[str, str] = {}
    for region in regions:
        if region.name.lower() in names:
            raise BadRegions(f"the region {region.name} is there twice")
        names.add(region.name.lower())
        for code in region.countries:
            if code in home:
                raise BadRegions(f"{code} is in two regions, {home[code]} and {region.name}")
            home[code] = region.name


def read_csv(text: str) -> tuple[Region, ...]:
    """From `country,factor` or `country,factor,region`, with or without a first line that says so.

    A country is its code of ISO 3166 in two letters, or in three, as published indexes have it. Countries without a
    region are one of their own. Raises BadRegions, which names the line.
    """
    found: dict[str, tuple[str, int, list[str]]] = {}  # by name, however it is spelled: EU and eu are the same
    seen: dict[str, int] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").splitlines(), start=1):
        cells = [cell.strip() for cell in _cells(line, number)]
        if not any(cells) or cells[0].startswith("#") or (not seen and cells[0].lower() == "country"):
            continue
        if number > CSV_LIMIT_LINES:
            raise BadRegions(f"more than {CSV_LIMIT_LINES} lines: expected one for each country")
        code, factor, name = _read_row(cells, number)
        if code in seen:
            raise BadRegions(f"line {number}: {code} is there already, in line {seen[code]}")
        seen[code] = number
        name, millis, countries = found.setdefault(name.lower(), (name, factor, []))
        if millis != factor:
            raise BadRegions(
                f"line {number}: the region {name} has the factor {spell_millis(millis)}, and here {cells[1]}"
            )
        countries.append(code)
    if not found:
        raise BadRegions("there is no country in it: expected lines such as `DE,0.95`")
    return tuple(Region(name=name, countries=tuple(codes), factor_millis=m) for name, m, codes in found.values())


def _cells(line: str, number: int) -> list[str]:
    try:
        return next(csv.reader([line]), [])
    except csv.Error as error:
        raise BadRegions(f"line {number}: {error}") from None


def _read_row(cells: Sequence[str], number: int) -> tuple[str, int, str]:
    if len(cells) not in (2, 3) or not all(cells[:2]):
        raise BadRegions(f"line {number}: expected `country,factor` or `country,factor,region`, such as `DE,0.95,EU`")
    code = cells[0].upper()
    code = ALPHA3.get(code, code)
    if code not in COUNTRIES:
        raise BadRegions(f"line {number}: {_unknown_country(cells[0])}")
    try:
        factor = _read_factor(cells[1])
    except ValueError as error:
        raise BadRegions(f"line {number}: {error}") from None
    if not LEAST_FACTOR_MILLIS <= factor <= MOST_FACTOR_MILLIS:
        least, most = spell_millis(LEAST_FACTOR_MILLIS), spell_millis(MOST_FACTOR_MILLIS)
        raise BadRegions(f"line {number}: {cells[1]} is not a factor from {least} to {most}")
    name = cells[2] if len(cells) == 3 and cells[2] else code
    if not re.fullmatch(REGION_NAME, name) or name.lower() == ELSEWHERE:
        raise BadRegions(
            f"line {number}: {name[:60]!r} is not a name of a region; write letters and digits, such as EU"
        )
    return code, factor, name


def merge(before: Iterable[Region], new: Sequence[Region]) -> tuple[Region, ...]:
    """What is new, and of what was before everything that it does not name again.

    Raises BadRegions where a region would have two factors: for the countries that are named, and for those that are
    not.
    """
    taken = {code for region in new for code in region.countries}
    named = {region.name.lower(): region for region in new}
    left = []
    for region in before:
        countries = tuple(code for code in region.countries if code not in taken)
        again = named.get(region.name.lower())
        if not countries:
            continue
        if again is None:
            left.append(region.model_copy(update={"countries": countries}))
        elif again.factor_millis == region.factor_millis:
            together = tuple(sorted({*again.countries, *countries}))
            named[region.name.lower()] = again.model_copy(update={"countries": together})
        else:
            others, factor = " ".join(countries[:30]), spell_millis(region.factor_millis)
            raise BadRegions(
                f"the region {region.name} also has {others}, at {factor}: name them too, give the region another name,"
                " or replace all regions"
            )
    return (*left, *named.values())


def _read_factor(text: str) -> int:
    """In thousandths, to the nearest: published indexes have many digits."""
    if not PLAIN_NUMBER.fullmatch(text):
        raise ValueError(f"{text[:40]!r} is not a number, such as 0.95")
    return int((Decimal(text) * 1000).to_integral_value(ROUND_HALF_UP))


def read_millis(text: str) -> int:
    """`0.95` is 950. Exact, or a ValueError."""
    value = Decimal(text) * 1000 if PLAIN_NUMBER.fullmatch(text) else None
    if value is None or value != value.to_integral_value():
        raise ValueError(f"{text[:40]!r} is not a number with at most three decimals, such as 0.95")
    return int(value)


def spell_millis(millis: int) -> str:
    """`950` is 0.95, `3000` is 3.0."""
    whole, part = divmod(millis, 1000)
    return f"{whole}." + (f"{part:03}".rstrip("0") or "0")


def _unknown_country(code: str) -> str:
    meant = COUNTRY_SLIPS.get(code.upper()) or (code.upper() if code.upper() in COUNTRIES else None)
    hint = f"; is {meant} meant?" if meant else ", such as IN or DE"
    return f"{code[:40]!r} is not an ISO 3166 two-letter country code{hint}"
