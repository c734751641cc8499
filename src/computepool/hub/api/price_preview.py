"""What a price would mean, before a host sets it."""

from typing import Annotated

from fastapi import APIRouter, Query

from computepool.hub.api.market import MEASURED_OVER
from computepool.hub.api.nodes import load_node
from computepool.hub.core.http import Caller, Scope
from computepool.hub.core.money import money_routes
from computepool.hub.engine import Engine
from computepool.hub.market import repository
from computepool.hub.market.book import cards_of
from computepool.hub.market.earnings import Earned, UseBasis
from computepool.hub.market.rates import MILLI, Per, core_rate, gpu_rate
from computepool.hub.nodes.actions import refuse_change
from computepool.hub.nodes.errors import NodeMoved, NoSuchNode
from computepool.hub.nodes.prices import MOST_MICROS
from computepool.hub.scheduling import price_preview
from computepool.protocol.model import Documented


class PriceBarView(Documented):
    """How many offers have a price in this span."""

    from_micros: int
    """From this price on."""
    to_micros: int
    """Up to this price; itself included in the last bar alone."""
    offers: int
    """How many offers have such a price."""


class PricePreview(Documented):
    """What an hour of one GPU, or of one core, would mean at a price. Nothing is changed."""

    node_id: str
    price_micros: int
    """The price that this is about, fee included."""
    per: Per
    """An hour of what."""
    suggested_micros: int
    """What the pool suggests now."""
    current_micros: int
    """What is asked for now."""
    rank: int
    """Where the node would stand among comparable offers, 1 for the cheapest."""
    offers: int
    """How many comparable offers there would be, its own included: the same kind of card, or cores, in any region."""
    words: str
    """Such as `7th of 12`."""
    utilisation: float | None
    """The share of the last week that such cards, or cores, were in use, whatever they cost; null without data."""
    utilisation_basis: UseBasis
    per_day: Earned | None
    """What the node would earn in a day at that utilisation, with all of its GPUs or cores; null without data."""
    full_day: Earned
    """If it worked all day: the most that there is to earn at this price."""
    histogram: list[PriceBarView]
    """The prices of the other comparable offers."""


def router(engine: Engine) -> APIRouter:
    context, book = engine.context, engine.book
    routes = money_routes(engine.directory.authenticate, context.settings, tags=["nodes"])

    @routes.get("/nodes/{node_id}/price-preview", visible="own", scope=Scope.NODES_READ, errors=[NoSuchNode, NodeMoved])
    async def preview_price(
        node_id: str,
        caller: Caller,
        price_micros: Annotated[
            int | None,
            Query(ge=0, le=MOST_MICROS, description="For an hour, fee included. Default: what is asked now."),
        ] = None,
    ) -> PricePreview:
        """What a price would mean for a node: its rank among comparable offers, and what it would earn in a day."""
        node = await context.db.read(load_node, caller, node_id)
        live, place = engine.scheduler.fleet.get(node_id), book.place_of(node_id)
        if live is None or place is None or live.traits.ask.basis is None:
            raise refuse_change(node) or NodeMoved("The pool does not know this node's prices yet.")
        ask, basis = live.traits.ask, live.traits.ask.basis
        is_gpu = place.gpu is not None and basis.gpu is not None
        segment = place.gpu if place.gpu is not None else place.cpu
        current = ask.gpu_micros if is_gpu else ask.core_micros
        asked = current if price_micros is None else price_micros
        tier = place.tier.millis / MILLI if place.tier is not None else None
        others = price_preview.comparable(await engine.offers.offers(), node_id, segment, tier)
        past = await context.db.read(repository.sum_use, context.now() - MEASURED_OVER, segment.tier)
        use, found = price_preview.use_of(past, segment)
        units = len(cards_of(live.traits.gpus)) if is_gpu else live.traits.cpu_millis / MILLI
        fee_bps, rank = context.settings.platform_fee_bps, 1 + sum(price < asked for price in others)
        return PricePreview(
            node_id=node_id,
            price_micros=asked,
            per="gpu" if is_gpu else "core",
            suggested_micros=gpu_rate(basis.gpu) if is_gpu and basis.gpu is not None else core_rate(basis.core),
            current_micros=current,
            rank=rank,
            offers=len(others) + 1,
            words=f"{_ordinal(rank)} of {len(others) + 1}",
            utilisation=None if use is None else round(use, 4),
            utilisation_basis=found,
            per_day=None if use is None else price_preview.earned_a_day(asked, units, fee_bps, use),
            full_day=price_preview.earned_a_day(asked, units, fee_bps, 1.0),
            histogram=[
                PriceBarView(from_micros=bar.from_micros, to_micros=bar.to_micros, offers=bar.offers)
                for bar in price_preview.bars_of(others)
            ],
        )

    return routes.router


def _ordinal(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
