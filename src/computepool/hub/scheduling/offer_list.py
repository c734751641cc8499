"""The offers of the whole market, made at most every few seconds for everybody who asks."""

import asyncio
from collections.abc import Sequence

from computepool.hub.core.context import Context
from computepool.hub.market.book import Book
from computepool.hub.scheduling.fleet import Fleet
from computepool.hub.scheduling.offer_views import Offer
from computepool.hub.scheduling.offers import offer_of

PIECE = 1000
"""Nodes looked at without letting others run."""
KEPT_SECONDS = 5.0
"""For which a look at the whole market serves everybody who asks."""


class OfferList:
    """Made in pieces: the market is public, and a large fleet is a long list."""

    def __init__(self, context: Context, fleet: Fleet, book: Book) -> None:
        self._context = context
        self._fleet = fleet
        self._book = book
        self._made_at: float | None = None
        self._making = asyncio.Lock()
        self.known: Sequence[Offer] = ()
        """As they were made last."""

    async def offers(self) -> Sequence[Offer]:
        async with self._making:
            now = self._context.clock.monotonic()
            if self._made_at is None or not 0 <= now - self._made_at < KEPT_SECONDS:
                found: list[Offer] = []
                nodes = list(self._fleet)
                for start in range(0, len(nodes), PIECE):
                    made = (offer_of(node, self._book) for node in nodes[start : start + PIECE])
                    found += [offer for offer in made if offer is not None]
                    await asyncio.sleep(0)
                self.known, self._made_at = found, now
            return self.known
