"""The market as renters see it: every node that takes strangers' work now, without a word about whose it is.

`gpu=rtx-4090 reliability>0.9 price<40` keeps what every part of it accepts. What is unknown, or makes no sense, is an
error that names what comes nearest.
"""

import base64
import binascii
import json
import operator
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import total_ordering
from math import isfinite
from typing import Any

from computepool.hub.core.errors import Invalid
from computepool.hub.core.money import Micros, MoneyOff
from computepool.hub.market.book import Book, MarketPosition, cards_of
from computepool.hub.market.feasibility import levels_for_strangers
from computepool.hub.market.rates import Per
from computepool.hub.market.requirements import MILLI
from computepool.hub.market.tiers import Basis
from computepool.hub.scheduling.fleet import FleetNode
from computepool.protocol.countries import COUNTRIES
from computepool.protocol.gpu_names import gpu_name_matches, model_words
from computepool.protocol.model import Documented
from computepool.protocol.states import IsolationLevel
from computepool.protocol.units import BadValueError, nearest, parse_bytes, parse_credits

FILTER_LIMIT = 20
FILTER_CHARACTERS = 500
EXAMPLE = "gpu=rtx-4090 reliability>0.9 price<40"


class Offer(Documented):
    node_id: str
    gpus: list[str]
    """By kind, one for each."""
    gpus_free: int
    gpu_memory_bytes: int
    """Of its smallest card."""
    cpus: float
    memory_bytes: int
    disk_bytes: int
    country: str | None
    region: str
    tags: list[str]
    isolation: IsolationLevel
    """The strongest that it has proven, of those that strangers get there."""
    tier: float | None
    tier_basis: Basis | None
    """card, measured or claimed: whether its speed was seen."""
    price_micros: Micros
    """For an hour of one of its GPUs; of one core, where it has none. Fee included."""
    per: Per
    """gpu or core."""
    core_price_micros: Micros
    """For an hour of one core, where no GPU is asked for."""
    reliability: float
    """The lower bound that `min_reliability` asks for; its mean is `reliability_mean`."""
    reliability_mean: float
    verified: bool
    simulated: bool


class OfferPage(Documented):
    items: list[Offer]
    next: str | None
    total: int
    """How many the filter left."""
    simulated: int
    """How many more there are that only pretend: they are listed with `simulated=true`."""


def offer_of(node: FleetNode, book: Book) -> Offer | None:
    """None for a node that takes no strangers' work now."""
    traits = node.traits
    levels, standing = levels_for_strangers(traits), traits.standing
    is_closed = standing.quarantined_until is not None or standing.declined_until is not None
    place = book.place_of(traits.node_id)
    open_to_strangers = traits.rules.strangers and not traits.rules.renters and node.availability.strangers
    if not (node.takes_work and open_to_strangers and levels and place is not None) or traits.outdated or is_closed:
        return None
    return _describe(node, place, max(levels, key=lambda level: level.rank))


def _describe(node: FleetNode, place: MarketPosition, isolation: IsolationLevel) -> Offer:
    traits, ask, standing = node.traits, node.traits.ask, node.traits.standing
    cards = cards_of(traits.gpus)
    return Offer(
        node_id=traits.node_id,
        gpus=[gpu.slug for gpu in cards],
        gpus_free=sum(gpu.id not in node.availability.gpus_in_use for gpu in cards_of(node.free.gpus)),
        gpu_memory_bytes=min((gpu.memory_bytes for gpu in cards), default=0),
        cpus=traits.cpu_millis / MILLI,
        memory_bytes=traits.memory_bytes,
        disk_bytes=traits.disk_bytes,
        country=traits.country,
        region=place.cpu.region,
        tags=sorted(traits.tags),
        isolation=IsolationLevel(str(isolation)),
        tier=place.tier.millis / MILLI if place.tier is not None else None,
        tier_basis=place.tier.basis if place.tier is not None else None,
        price_micros=ask.gpu_micros if cards else ask.core_micros,
        per="gpu" if cards else "core",
        core_price_micros=ask.core_micros,
        reliability=round(standing.lower, 4),
        reliability_mean=round(standing.mean, 4),
        verified=standing.verified,
        simulated=traits.simulated,
    )


# ── the filter ───────────────────────────────────────────────────────────────────────────────────────────────────────

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


@dataclass(frozen=True)
class Field:
    name: str
    read: Callable[[str], Any]
    """A value as people write it; raises ValueError."""
    value: Callable[[Offer], Any]
    ordered: bool = True
    """Whether `<` and `>` make sense, and a list can be ordered by it."""
    same: Compare = operator.eq
    """Whether an offer's value is the one that was written."""
    example: str = ""


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
            raise ValueError(f"{code!r} is no country in two letters")
    if not codes:
        raise ValueError(f"{text!r} names no country")
    return codes


def _read_isolation(text: str) -> int:
    if text not in list(IsolationLevel):
        meant = nearest(text, [str(level) for level in IsolationLevel])
        raise ValueError(f"{text!r} is no level of isolation{f'; is {meant} meant?' if meant else ''}")
    return IsolationLevel(text).rank


def _read_gpu(text: str) -> str:
    slug = "-".join(model_words(text))
    if not slug:
        raise ValueError(f"{text!r} names no card")
    return slug


FIELDS = {
    field.name: field
    for field in (
        Field(
            "gpu",
            _read_gpu,
            lambda offer: offer.gpus,
            ordered=False,
            same=lambda cards, name: any(gpu_name_matches(name, card) for card in cards),
            example="gpu=rtx-4090",
        ),
        Field("gpus", _read_number, lambda offer: len(offer.gpus), example="gpus>=2"),
        Field("gpus_free", _read_number, lambda offer: offer.gpus_free, example="gpus_free>0"),
        Field("gpu_memory", parse_bytes, lambda offer: offer.gpu_memory_bytes, example="gpu_memory>=24GB"),
        Field("cpus", _read_number, lambda offer: offer.cpus, example="cpus>=8"),
        Field("memory", parse_bytes, lambda offer: offer.memory_bytes, example="memory>=32GB"),
        Field("disk", parse_bytes, lambda offer: offer.disk_bytes, example="disk>100GB"),
        Field("price", parse_credits, lambda offer: offer.price_micros, example="price<40"),
        Field("core_price", parse_credits, lambda offer: offer.core_price_micros, example="core_price<1"),
        Field("reliability", _read_number, lambda offer: offer.reliability, example="reliability>0.9"),
        Field("tier", _read_number, lambda offer: offer.tier or 0.0, example="tier>=2.5"),
        Field(
            "country",
            _read_country,
            lambda offer: offer.country or "",
            ordered=False,
            same=lambda country, codes: country in codes,
            example="country=IN,DE",
        ),
        Field("region", str.lower, lambda offer: offer.region.lower(), ordered=False, example="region=EU"),
        Field(
            "tag",
            str,
            lambda offer: offer.tags,
            ordered=False,
            same=lambda tags, tag: tag in tags,
            example="tag=lab",
        ),
        Field(
            "isolation",
            _read_isolation,
            lambda offer: IsolationLevel(offer.isolation).rank,
            example="isolation>=container",
        ),
        Field("verified", _read_truth, lambda offer: offer.verified, ordered=False, example="verified=true"),
        Field("simulated", _read_truth, lambda offer: offer.simulated, ordered=False, example="simulated=true"),
    )
}


class BadFilter(Invalid):
    code = "bad_filter"

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message, hint=hint)


def parse_filter(text: str) -> tuple[list[Accepts], frozenset[str]]:
    """What an offer has to pass, and the fields that are asked for."""
    if len(text) > FILTER_CHARACTERS:
        raise BadFilter(f"The filter is longer than {FILTER_CHARACTERS} characters.", "Ask for less at once.")
    tests, names, at = [], set(), 0
    text = text.strip()
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            part = text[at:].split()[0]
            raise BadFilter(f"{part[:60]!r} is no part of a filter.", _hint_for_part(part))
        test, name = _test(found[1].lower(), found[2], found[3] or found[4] or found[5])
        tests.append(test)
        names.add(name)
        at = found.end()
        while at < len(text) and text[at].isspace():
            at += 1
    if len(tests) > FILTER_LIMIT:
        raise BadFilter(f"More than {FILTER_LIMIT} parts.", "Ask for less at once.")
    return tests, frozenset(names)


def _hint_for_part(part: str) -> str:
    name = re.match(r"[A-Za-z_]*", part)
    meant = nearest(name[0], FIELDS) if name and name[0] else None
    return f"Write it like {FIELDS[meant].example}." if meant else f"Write it like {EXAMPLE}."


def _test(name: str, sign: str, text: str) -> tuple[Accepts, str]:
    field = field_called(name)
    sign = "=" if sign == "==" else sign
    if not field.ordered and sign not in SAME:
        raise BadFilter(f"{name} cannot be compared with {sign}.", f"Use = or !=, such as {field.example}.")
    try:
        wanted = field.read(text)
    except BadValueError as error:
        raise BadFilter(f"{name}: {error}.", f"Write it like {field.example}.") from None
    except ValueError as error:
        message = str(error) if "convert" not in str(error) else f"{text[:40]!r} is not a number"
        raise BadFilter(f"{name}: {message}.", f"Write it like {field.example}.") from None
    if sign in SAME:
        return (lambda offer: field.same(field.value(offer), wanted) is (sign == "=")), name
    compare = NUMBERS[sign]
    return (lambda offer: compare(field.value(offer), wanted)), name


def field_called(name: str) -> Field:
    field = FIELDS.get(name)
    if field is None:
        meant = nearest(name, FIELDS)
        hint = f"Is {meant} meant, such as {FIELDS[meant].example}?" if meant else f"Known are {', '.join(FIELDS)}."
        raise BadFilter(f"There is no filter {name[:60]!r}.", hint)
    return field


# ── order and pages ──────────────────────────────────────────────────────────────────────────────────────────────────

DEFAULT_ORDER = "price"
UNPRICED_ORDER = "-reliability"
PRICES = frozenset({"price", "core_price"})


@total_ordering
@dataclass(frozen=True)
class Downwards:
    """Orders the other way round."""

    value: Any

    def __lt__(self, other: "Downwards") -> bool:
        return bool(other.value < self.value)


Key = Callable[[Offer], tuple[Any, ...]]


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


def page_of(
    offers: Sequence[Offer], text: str, order: str, cursor: str | None, limit: int, *, priced: bool = True
) -> OfferPage:
    """What the filter leaves, ordered, from the cursor on. Simulated nodes only where they are asked for."""
    order = order or (DEFAULT_ORDER if priced else UNPRICED_ORDER)
    tests, names = parse_filter(text)
    if not priced and PRICES & {*names, *(word.strip().lower().removeprefix("-") for word in order.split(","))}:
        raise MoneyOff
    key = parse_order(order)
    left = [offer for offer in offers if all(test(offer) for test in tests)]
    hidden = 0
    if "simulated" not in names:
        real = [offer for offer in left if not offer.simulated]
        hidden, left = len(left) - len(real), real
    left.sort(key=key)
    start = _start_of(left, key, cursor, order)
    shown = left[start : start + limit]
    after = _cursor(shown[-1], order) if start + limit < len(left) else None
    return OfferPage(items=shown, next=after, total=len(left), simulated=hidden)


def _start_of(ordered: Sequence[Offer], key: Key, cursor: str | None, order: str) -> int:
    """After the offer that the page before ended with, wherever it would stand now."""
    if cursor is None:
        return 0
    try:
        made_for, last = json.loads(base64.urlsafe_b64decode(cursor.encode()))
        after = key(Offer.model_validate(last))
    except (ValueError, TypeError, binascii.Error, UnicodeError, RecursionError):
        made_for = None
    if made_for != (order or DEFAULT_ORDER):
        raise Invalid(
            "This cursor does not belong to this list.", hint="Send the `next` of the page before, with the same order."
        )
    return next((place for place, offer in enumerate(ordered) if key(offer) > after), len(ordered))


def _cursor(last: Offer, order: str) -> str:
    document = [order or DEFAULT_ORDER, last.model_dump(mode="json")]
    return base64.urlsafe_b64encode(json.dumps(document, separators=(",", ":")).encode()).decode()
