"""What offers can be filtered by, described for forms: no form needs to know the filter's language."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from computepool.hub.scheduling.offer_filters import (
    DEFAULT_ORDER,
    FIELDS,
    NUMBERS,
    SAME,
    UNKNOWN_MICROS,
    Field,
    FieldKind,
)
from computepool.hub.scheduling.offer_views import Offer
from computepool.hub.scheduling.offers import PRICES, UNPRICED_ORDER
from computepool.protocol.model import Documented
from computepool.protocol.states import IsolationLevel

VALUES_LIMIT = 200


class FilterParameter(Documented):
    name: str
    """Of a parameter of `market/offers`."""
    operator: str
    """What it stands for: `min_vram=24GB` is `gpu_memory>=24GB`."""


class FilterValue(Documented):
    value: str
    """As a parameter, or the filter, takes it."""
    offers: int
    """How many offers have it now."""


class FilterField(Documented):
    name: str
    """In the filter's text."""
    title: str
    """For a form."""
    meaning: str
    """A sentence for a form."""
    kind: FieldKind
    """What values are: a number, a share from 0 to 1, bytes (`24GB`, or a number), credits, a choice of `values`, or
    true and false."""
    operators: list[str]
    """That the filter's text takes."""
    parameters: list[FilterParameter]
    """The same as plain parameters."""
    orderable: bool
    """Whether `order` takes it, with `-` for the greatest first."""
    values: list[FilterValue]
    """Of a choice: what offers have now, the most frequent first. Of isolation: all levels, the weakest first."""
    minimum: float | None
    """The least that an offer has now; credits are in micros."""
    maximum: float | None
    """The most that an offer has now."""
    example: str
    """A part of a filter that works."""


class OfferFilters(Documented):
    items: list[FilterField]
    default_order: str
    """If none is named."""
    offers: int
    """Real ones, now: what the values were counted in."""


def describe_filters(offers: Sequence[Offer], *, priced: bool) -> OfferFilters:
    real = [offer for offer in offers if not offer.simulated]
    return OfferFilters(
        items=[_describe(field, real) for field in FIELDS.values() if priced or field.name not in PRICES],
        default_order=DEFAULT_ORDER if priced else UNPRICED_ORDER,
        offers=len(real),
    )


def _describe(field: Field, offers: Sequence[Offer]) -> FilterField:
    numbers = [] if field.kind in ("choice", "flag") else _numbers(field, offers)
    return FilterField(
        name=field.name,
        title=field.title,
        meaning=field.meaning,
        kind=field.kind,
        operators=list(NUMBERS if field.ordered else SAME),
        parameters=[FilterParameter(name=name, operator=sign) for name, sign in (field.parameters or {}).items()],
        orderable=field.ordered,
        values=_values(field, offers) if field.kind == "choice" else [],
        minimum=min(numbers, default=None),
        maximum=max(numbers, default=None),
        example=field.example,
    )


def _numbers(field: Field, offers: Sequence[Offer]) -> list[float]:
    return [value for offer in offers if (value := field.value(offer)) != UNKNOWN_MICROS]


def _values(field: Field, offers: Sequence[Offer]) -> list[FilterValue]:
    found: Counter[str] = Counter()
    for offer in offers:
        found.update({"tag": set(offer.tags), "gpu": set(offer.gpus)}.get(field.name) or _one(field, offer))
    if field.name == "isolation":
        return [
            FilterValue(value=level, offers=found[level]) for level in sorted(IsolationLevel, key=lambda one: one.rank)
        ]
    return [FilterValue(value=value, offers=number) for value, number in found.most_common(VALUES_LIMIT)]


def _one(field: Field, offer: Offer) -> list[Any]:
    value = {"country": offer.country, "region": offer.region, "isolation": offer.isolation}.get(field.name)
    return [value] if value is not None else []
