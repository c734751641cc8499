"""The market as renters see it: every node that takes strangers' work now, without a word about whose it is."""

import base64
import binascii
import json
import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from computepool.hub.core.errors import Invalid
from computepool.hub.core.money import MoneyOff
from computepool.hub.market.book import Book, MarketPosition, cards_of
from computepool.hub.market.feasibility import levels_for_strangers
from computepool.hub.market.requirements import MILLI
from computepool.hub.scheduling.fleet import FleetNode
from computepool.hub.scheduling.offer_filters import (
    DEFAULT_ORDER,
    Criterion,
    Key,
    names_in_order,
    parse_filter,
    parse_order,
    read_parameters,
)
from computepool.hub.scheduling.offer_views import DroppableFilter, Offer, OfferPage
from computepool.protocol.states import IsolationLevel

UNPRICED_ORDER = "-reliability"
PRICES = frozenset({"price", "core_price", "price_per_tflops"})
GFLOPS_PER_TFLOPS = 1000
NO_PARAMETERS: Mapping[str, str | None] = MappingProxyType({})


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
    price = ask.gpu_micros if cards else ask.core_micros
    gflops = traits.gpu_gflops if cards else traits.core_gflops
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
        price_micros=price,
        per="gpu" if cards else "core",
        core_price_micros=ask.core_micros,
        gflops=round(gflops, 3) if gflops else None,
        price_per_tflops_micros=price_per_tflops(price, gflops),
        reliability=round(standing.lower, 4),
        reliability_mean=round(standing.mean, 4),
        verified=standing.verified,
        simulated=traits.simulated,
    )


def price_per_tflops(price_micros: int, gflops: float | None) -> int | None:
    return math.ceil(price_micros * GFLOPS_PER_TFLOPS / gflops) if gflops else None


# ── pages ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def page_of(
    offers: Sequence[Offer],
    text: str,
    order: str,
    cursor: str | None,
    limit: int,
    *,
    priced: bool = True,
    parameters: Mapping[str, str | None] = NO_PARAMETERS,
) -> OfferPage:
    """What the filter leaves, ordered, from the cursor on. Simulated nodes only where they are asked for."""
    order = order or (DEFAULT_ORDER if priced else UNPRICED_ORDER)
    criteria = [*parse_filter(text), *read_parameters(parameters)]
    names = {criterion.field for criterion in criteria}
    if not priced and PRICES & {*names, *names_in_order(order)}:
        raise MoneyOff
    key = parse_order(order)
    left = [offer for offer in offers if all(criterion.accepts(offer) for criterion in criteria)]
    hidden = 0
    if "simulated" not in names:
        real = [offer for offer in left if not offer.simulated]
        hidden, left = len(left) - len(real), real
    left.sort(key=key)
    start = _start_of(left, key, cursor, order)
    shown = left[start : start + limit]
    after = _cursor(shown[-1], order) if start + limit < len(left) else None
    return OfferPage(
        items=shown, next=after, total=len(left), simulated=hidden, to_drop=[] if left else _to_drop(offers, criteria)
    )


def _to_drop(offers: Sequence[Offer], criteria: Sequence[Criterion]) -> list[DroppableFilter]:
    """Real offers only, unless simulated ones were asked for: dropping that changes which are meant."""
    wants_simulated = any(criterion.field == "simulated" for criterion in criteria)
    alone, without = [0] * len(criteria), [0] * len(criteria)
    for offer in offers:
        if offer.simulated and not wants_simulated:
            continue
        refused = [number for number, criterion in enumerate(criteria) if not criterion.accepts(offer)]
        if len(refused) == 1:
            without[refused[0]] += 1
        for number in set(range(len(criteria))).difference(refused):
            alone[number] += 1
    found = [
        DroppableFilter(
            filter=criterion.text,
            field=criterion.field,
            parameter=criterion.parameter,
            left_without=without[number],
            left_alone=alone[number],
        )
        for number, criterion in enumerate(criteria)
    ]
    return sorted(found, key=lambda one: (-one.left_without, one.left_alone))


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
