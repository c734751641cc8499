"""What can be asked of offers: fields with operators, as the filter's text or as plain parameters.

`gpu=rtx-4090 reliability>0.9 price<40` keeps what every part of it accepts, and `?gpu=rtx-4090&max_price=40` the same.
What is unknown, or makes no sense, is an error that names what comes nearest.
"""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import total_ordering
from math import isfinite
from typing import Any, Literal

from computepool.hub.core.errors import Invalid
from computepool.hub.scheduling.offer_views import Offer
from computepool.protocol.countries import COUNTRIES
from computepool.protocol.gpu_names import gpu_name_matches, model_words
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import BadValueError, nearest, parse_bytes, parse_credits

FILTER_LIMIT = 20
FILTER_CHARACTERS = 500
EXAMPLE = "gpu=rtx-4090 reliability>0.9 price<40"
UNKNOWN_MICROS = 2**62
"""Of what has no measured speed: it comes after everything that has one."""

Compare = Callable[[Any, Any], bool]
NUMBERS: dict[str, Compare] = {
    "<=": operator.le,
    ">=": operator.ge,
    "!=": operator.ne,
    "<": operator.lt,
    ">": operator.gt,
    "=": operator.eq,
}
SAME = ("=", "!=")
_PART = re.compile(r"""([A-Za-z_]+)\s*(<=|>=|!=|==|=|<|>)\s*(?:"([^"]+)"|'([^']+)'|([^\s<>=!"'][^\s<>=!]*))""")
"""A name, an operator and a value; one with spaces is in quotes."""
Accepts = Callable[[Offer], bool]
FieldKind = Literal["number", "share", "bytes", "credits", "choice", "flag"]


@dataclass(frozen=True)
class Field:
    name: str
    read: Callable[[str], Any]
    """A value as people write it; raises ValueError."""
    value: Callable[[Offer], Any]
    title: str
    kind: FieldKind = "number"
    ordered: bool = True
    """Whether `<` and `>` make sense, and a list can be ordered by it."""
    same: Compare = operator.eq
    """Whether an offer's value is the one that was written."""
    example: str = ""
    meaning: str = ""
    parameters: Mapping[str, str] | None = None
    """Plain parameters of the route, each with the operator that it stands for."""


@dataclass(frozen=True)
class Criterion:
    """One part of a filter."""

    field: str
    text: str
    """As the filter writes it."""
    accepts: Accepts
    parameter: str | None = None
    """The plain parameter that it came by."""


class BadFilter(Invalid):
    code = "bad_filter"

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)


def _read_number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(f"{text!r} is not a number")
    return value


def _read_truth(text: str) -> bool:
    if text.lower() not in ("true", "false", "yes", "no"):
        raise ValueError(f"{text!r} is neither true nor false")
    return text.lower() in ("true", "yes")


def _read_country(text: str) -> frozenset[str]:
    codes = frozenset(code.upper() for code in text.split(",") if code)
    for code in codes:
        if code not in COUNTRIES:
            raise ValueError(f"{code!r} is not a two-letter country code")
    if not codes:
        raise ValueError(f"{text!r} names no country")
    return codes


def _read_isolation(text: str) -> int:
    if text not in list(IsolationLevel):
        meant = nearest(text, [str(level) for level in IsolationLevel])
        raise ValueError(f"{text!r} is not a level of isolation{f'; is {meant} meant?' if meant else ''}")
    return IsolationLevel(text).rank


def _read_gpu(text: str) -> str:
    slug = "-".join(model_words(text))
    if not slug:
        raise ValueError(f"{text!r} names no card")
    return slug


def _per_speed(offer: Offer) -> int:
    return UNKNOWN_MICROS if offer.price_per_tflops_micros is None else offer.price_per_tflops_micros


FIELDS = {
    field.name: field
    for field in (
        Field(
            "gpu",
            _read_gpu,
            lambda offer: offer.gpus,
            "GPU",
            "choice",
            ordered=False,
            same=lambda cards, name: any(gpu_name_matches(name, card) for card in cards),
            example="gpu=rtx-4090",
            meaning="Nodes that have such a card.",
            parameters={"gpu": "="},
        ),
        Field(
            "gpus",
            _read_number,
            lambda offer: len(offer.gpus),
            "GPUs",
            example="gpus>=2",
            meaning="How many GPUs the node has.",
            parameters={"min_gpus": ">="},
        ),
        Field(
            "gpus_free",
            _read_number,
            lambda offer: offer.gpus_free,
            "Free GPUs",
            example="gpus_free>0",
            meaning="How many of them nobody uses now.",
            parameters={"min_gpus_free": ">="},
        ),
        Field(
            "gpu_memory",
            parse_bytes,
            lambda offer: offer.gpu_memory_bytes,
            "GPU memory",
            "bytes",
            example="gpu_memory>=24GB",
            meaning="Memory of the node's smallest card.",
            parameters={"min_vram": ">="},
        ),
        Field(
            "cpus",
            _read_number,
            lambda offer: offer.cpus,
            "Cores",
            example="cpus>=8",
            meaning="Cores that the node has.",
            parameters={"min_cpus": ">="},
        ),
        Field(
            "memory",
            parse_bytes,
            lambda offer: offer.memory_bytes,
            "Memory",
            "bytes",
            example="memory>=32GB",
            meaning="Memory that the node has.",
            parameters={"min_memory": ">="},
        ),
        Field(
            "disk",
            parse_bytes,
            lambda offer: offer.disk_bytes,
            "Disk",
            "bytes",
            example="disk>100GB",
            meaning="Disk space that the node has.",
            parameters={"min_disk": ">="},
        ),
        Field(
            "price",
            parse_credits,
            lambda offer: offer.price_micros,
            "Price",
            "credits",
            example="price<40",
            meaning="Credits for an hour of one GPU; of one core, where the node has no GPU.",
            parameters={"max_price": "<="},
        ),
        Field(
            "core_price",
            parse_credits,
            lambda offer: offer.core_price_micros,
            "Price of a core",
            "credits",
            example="core_price<1",
            meaning="Credits for an hour of one core, where no GPU is asked for.",
            parameters={"max_core_price": "<="},
        ),
        Field(
            "price_per_tflops",
            parse_credits,
            _per_speed,
            "Price for speed",
            "credits",
            example="price_per_tflops<1",
            meaning="Credits for an hour of one measured teraflop a second. Nodes that were not measured come last.",
            parameters={"max_price_per_tflops": "<="},
        ),
        Field(
            "gflops",
            _read_number,
            lambda offer: offer.gflops or 0.0,
            "Measured speed",
            example="gflops>=10000",
            meaning="Billions of operations a second of one GPU, or one core, as the hub measured it.",
            parameters={"min_gflops": ">="},
        ),
        Field(
            "reliability",
            _read_number,
            lambda offer: offer.reliability,
            "Reliability",
            "share",
            example="reliability>0.9",
            meaning="The lower bound of the share of attempts that the node brings to a good end, from 0 to 1.",
            parameters={"min_reliability": ">="},
        ),
        Field(
            "tier",
            _read_number,
            lambda offer: offer.tier or 0.0,
            "Tier",
            example="tier>=2.5",
            meaning="The multiplier of the node's cards; 0 without a GPU.",
            parameters={"tier": "=", "min_tier": ">="},
        ),
        Field(
            "country",
            _read_country,
            lambda offer: offer.country or "",
            "Country",
            "choice",
            ordered=False,
            same=lambda country, codes: country in codes,
            example="country=IN,DE",
            meaning="Two letters, or several with commas.",
            parameters={"country": "="},
        ),
        Field(
            "region",
            str.lower,
            lambda offer: offer.region.lower(),
            "Region",
            "choice",
            ordered=False,
            example="region=EU",
            meaning="One of the pool's regions.",
            parameters={"region": "="},
        ),
        Field(
            "tag",
            str,
            lambda offer: offer.tags,
            "Tag",
            "choice",
            ordered=False,
            same=lambda tags, tag: tag in tags,
            example="tag=lab",
            meaning="A word that its owner gave the node.",
            parameters={"tag": "="},
        ),
        Field(
            "isolation",
            _read_isolation,
            lambda offer: IsolationLevel(offer.isolation).rank,
            "Isolation",
            "choice",
            example="isolation>=container",
            meaning="The strongest level that strangers' jobs get there. Levels are ordered.",
            parameters={"min_isolation": ">="},
        ),
        Field(
            "verified",
            _read_truth,
            lambda offer: offer.verified,
            "Verified",
            "flag",
            ordered=False,
            example="verified=true",
            meaning="The operator checked its owner, its hardware was measured, and it has a record.",
            parameters={"verified": "="},
        ),
        Field(
            "simulated",
            _read_truth,
            lambda offer: offer.simulated,
            "Simulated",
            "flag",
            ordered=False,
            example="simulated=true",
            meaning="Simulated nodes have no real hardware. They are left out unless they are asked for.",
            parameters={"simulated": "="},
        ),
    )
}
PARAMETERS: Mapping[str, tuple[str, str]] = {
    parameter: (field.name, sign) for field in FIELDS.values() for parameter, sign in (field.parameters or {}).items()
}
"""By plain parameter: its field and its operator."""


def parse_filter(text: str) -> list[Criterion]:
    """What an offer has to pass."""
    if len(text) > FILTER_CHARACTERS:
        raise BadFilter(f"The filter is longer than {FILTER_CHARACTERS} characters.", "Ask for less at once.")
    found, at = [], 0
    text = text.strip()
    while at < len(text):
        part = _PART.match(text, at)
        if part is None:
            wrong = text[at:].split()[0]
            raise BadFilter(f"{wrong[:60]!r} is not part of a filter.", _hint_for_part(wrong))
        found.append(_criterion(part[1].lower(), part[2], part[3] or part[4] or part[5]))
        at = part.end()
        while at < len(text) and text[at].isspace():
            at += 1
    if len(found) > FILTER_LIMIT:
        raise BadFilter(f"More than {FILTER_LIMIT} parts.", "Ask for less at once.")
    return found


def read_parameters(given: Mapping[str, str | None]) -> list[Criterion]:
    """The same of plain parameters, such as `{"max_price": "40"}`."""
    return [
        _criterion(*PARAMETERS[parameter], value, parameter) for parameter, value in given.items() if value is not None
    ]


def field_called(name: str) -> Field:
    field = FIELDS.get(name)
    if field is None:
        meant = nearest(name, FIELDS)
        hint = f"Is {meant} meant, such as {FIELDS[meant].example}?" if meant else f"Known are {', '.join(FIELDS)}."
        raise BadFilter(f"There is no filter {name[:60]!r}.", hint)
    return field


def _hint_for_part(part: str) -> str:
    name = re.match(r"[A-Za-z_]*", part)
    meant = nearest(name[0], FIELDS) if name and name[0] else None
    return f"Write it like {FIELDS[meant].example}." if meant else f"Write it like {EXAMPLE}."


def _criterion(name: str, sign: str, text: str, parameter: str | None = None) -> Criterion:
    field, told = field_called(name), parameter or name
    example = _PART.sub(lambda part: f"{parameter}={part[5]}", field.example) if parameter else field.example
    sign = "=" if sign == "==" else sign
    if not field.ordered and sign not in SAME:
        raise BadFilter(f"{name} cannot be compared with {sign}.", f"Use = or !=, such as {field.example}.")
    try:
        wanted = field.read(text)
    except BadValueError as error:
        raise BadFilter(f"{told}: {error}.", f"Write it like {example}.") from None
    except ValueError as error:
        message = str(error) if "convert" not in str(error) else f"{text[:40]!r} is not a number"
        raise BadFilter(f"{told}: {message}.", f"Write it like {example}.") from None
    accepts: Accepts
    if sign in SAME:

        def accepts(offer: Offer) -> bool:
            return field.same(field.value(offer), wanted) is (sign == "=")

    else:
        compare = NUMBERS[sign]

        def accepts(offer: Offer) -> bool:
            return compare(field.value(offer), wanted)

    written = f'"{text}"' if " " in text else text
    return Criterion(name, f"{name}{sign}{written}", accepts, parameter)


# ── order ────────────────────────────────────────────────────────────────────────────────────────────────────────────

DEFAULT_ORDER = "price"
Key = Callable[[Offer], tuple[Any, ...]]


@total_ordering
@dataclass(frozen=True)
class Downwards:
    """Orders the other way round."""

    value: Any

    def __lt__(self, other: "Downwards") -> bool:
        return bool(other.value < self.value)


def names_in_order(text: str) -> Sequence[str]:
    return [word.strip().lower().removeprefix("-") for word in text.split(",")]


def parse_order(text: str) -> Key:
    """`price`, `-reliability` for the greatest first, or several with a comma."""
    parts: list[tuple[Field, bool]] = []
    for word in (text or DEFAULT_ORDER).split(","):
        name = word.strip().lower()
        field = field_called(name.removeprefix("-"))
        if not field.ordered:
            ordered = ", ".join(one.name for one in FIELDS.values() if one.ordered)
            raise BadFilter(f"Offers cannot be ordered by {field.name}.", f"Order them by {ordered}.")
        parts.append((field, name.startswith("-")))

    def key(offer: Offer) -> tuple[Any, ...]:
        values = (Downwards(field.value(offer)) if down else field.value(offer) for field, down in parts)
        return (*values, offer.node_id)

    return key
