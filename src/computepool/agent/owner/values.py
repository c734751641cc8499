"""The kinds of value in a policy: how each is written, read, shown, and what is expected of it."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import BeforeValidator, Field, PlainSerializer, Strict

from computepool.agent.egress.indexes import place_of
from computepool.agent.owner import hours, ladder
from computepool.protocol.own_job import read_key
from computepool.protocol.units import (
    DURATION_EXAMPLES,
    SIZE_EXAMPLES,
    BadValueError,
    format_bytes,
    format_duration,
    parse_bytes,
    parse_duration,
    short_repr,
)

SLOWEST_RATE = 1024


@dataclass(frozen=True)
class Expected:
    """What a wrong value is told."""

    words: str


def _or_word(word: str, parse: Callable[[object], Any]) -> Callable[[object], Any]:
    """None has no form in TOML: a word stands for it."""

    def read(value: object) -> Any:
        if value is None or (isinstance(value, str) and value.strip().lower() == word):
            return None
        return parse(value)

    return read


def _shown_or_word(word: str, show: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda value: word if value is None else show(value)


def _number(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise BadValueError(f"{short_repr(value)} is not a number")
    return value


def _rate(value: object) -> int:
    rate = parse_bytes(value)
    if rate < SLOWEST_RATE:
        # Nothing would ever end: whoever wants no transfers does not take the jobs that make them.
        raise BadValueError(f"{short_repr(value)} a second is no network", "internet = false under [welcome] says so")
    return rate


def _texts(value: object) -> object:
    if isinstance(value, str) or not isinstance(value, list | tuple):
        raise BadValueError(f"{short_repr(value)} is not a list", 'write it like ["one", "two"]')
    return value


def _keys(value: object) -> object:
    texts = _texts(value)
    assert isinstance(texts, list | tuple)
    for text in texts:
        try:
            read_key(str(text))
        except ValueError as error:
            raise BadValueError(str(error)) from None
    return texts


def _places(value: object) -> object:
    texts = _texts(value)
    assert isinstance(texts, list | tuple)
    places = [
        place_of(text if "://" in text else f"https://{text}") if isinstance(text, str) else None for text in texts
    ]
    for text, place in zip(texts, places, strict=True):
        if place is None:
            raise BadValueError(f"{short_repr(text)} is not a host", "write pypi.example.com, HOST:PORT or a URL")
    return tuple(places)


def _plain(value: Any) -> Any:
    return value


UNLIMITED, OFF, ANY, MEASURED = "unlimited", "off", "any", "measured"

Flag = Annotated[bool, Strict(), Expected("true or false")]
Seconds = Annotated[
    int, BeforeValidator(parse_duration), PlainSerializer(format_duration), Expected(f"a duration: {DURATION_EXAMPLES}")
]
MaybeSeconds = Annotated[
    int | None,
    BeforeValidator(_or_word(UNLIMITED, parse_duration)),
    PlainSerializer(_shown_or_word(UNLIMITED, format_duration)),
    Expected(f"a duration, or {UNLIMITED}: {DURATION_EXAMPLES}"),
]
Size = Annotated[int, BeforeValidator(parse_bytes), PlainSerializer(format_bytes), Expected(f"a size: {SIZE_EXAMPLES}")]
MaybeSize = Annotated[
    int | None,
    BeforeValidator(_or_word(UNLIMITED, parse_bytes)),
    PlainSerializer(_shown_or_word(UNLIMITED, format_bytes)),
    Expected(f"a size, or {UNLIMITED}: {SIZE_EXAMPLES}"),
]
MaybeRate = Annotated[
    int | None,
    BeforeValidator(_or_word(UNLIMITED, _rate)),
    PlainSerializer(_shown_or_word(UNLIMITED, format_bytes)),
    Expected(f"a size of 1KB or more, or {UNLIMITED}: {SIZE_EXAMPLES}"),
]
Percent = Annotated[float, BeforeValidator(_number), Field(ge=0, le=100), Expected("a number from 0 to 100")]
CapPercent = Annotated[float, BeforeValidator(_number), Field(ge=10, le=100), Expected("a number from 10 to 100")]
MaybeCelsius = Annotated[
    Annotated[float, Field(ge=20, le=120)] | None,
    BeforeValidator(_or_word(OFF, _number)),
    PlainSerializer(_shown_or_word(OFF, _plain)),
    Expected(f"degrees Celsius from 20 to 120, or {OFF}"),
]
MaybeWatts = Annotated[
    Annotated[float, Field(ge=0, le=100_000)] | None,
    BeforeValidator(_or_word(MEASURED, _number)),
    PlainSerializer(_shown_or_word(MEASURED, _plain)),
    Expected(f"watts, or {MEASURED}"),
]
Price = Annotated[float, BeforeValidator(_number), Field(ge=0, le=1_000_000), Expected("a price, such as 0.32")]
Texts = Annotated[
    tuple[str, ...],
    BeforeValidator(_texts),
    PlainSerializer(list),
    Field(max_length=1000),
    Expected('a list, such as ["one", "two"]'),
]
Keys = Annotated[
    tuple[str, ...],
    BeforeValidator(_keys),
    PlainSerializer(list),
    Field(max_length=1000),
    Expected('a list of public keys, such as ["cpk_…"]'),
]
Places = Annotated[
    tuple[str, ...],
    BeforeValidator(_places),
    PlainSerializer(list),
    Field(max_length=1000),
    Expected('a list of hosts, such as ["pypi.example.com", "10.0.0.5:3141"]'),
]
MaybeTexts = Annotated[
    tuple[str, ...] | None,
    BeforeValidator(_or_word(ANY, _texts)),
    PlainSerializer(_shown_or_word(ANY, list)),
    Expected(f'a list, such as ["pytorch/*"], or {ANY}'),
]
OpenHours = Annotated[
    hours.Hours,
    BeforeValidator(hours.parse_hours),
    PlainSerializer(lambda value: value.text),
    Expected(f"hours: {hours.EXAMPLES}"),
]
Steps = Annotated[
    ladder.Ladder,
    BeforeValidator(ladder.parse_ladder),
    PlainSerializer(lambda value: value.as_texts()),
    Expected('a list of steps, such as ["suspend 10m", "evict"]'),
]
