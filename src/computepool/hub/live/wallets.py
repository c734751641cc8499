"""What is in a wallet, told to its owner while it changes: at most every so often, whatever moves in it."""

import asyncio
from collections.abc import Iterable

import structlog
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.records import Event
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.journal import MOVED, SPENDABLE, balances
from computepool.hub.live.feed import Feed
from computepool.protocol.events import WalletMessage

PAUSE_SECONDS = 0.3
OWNERS_AT_ONCE = 100

log = structlog.get_logger()


class Wallets:
    def __init__(self, context: Context, feed: Feed) -> None:
        self._context = context
        self._feed = feed
        self._changed: dict[str, None] = {}
        self._news = asyncio.Event()

    def hear(self, events: Iterable[Event]) -> None:
        """What commits changed. Only wallets that somebody looks at are read again."""
        for event in events:
            if event.topic in (SPENDABLE, MOVED):
                self.show(event.payload["owner"])

    def show(self, owner_id: str) -> None:
        if self._context.settings.money == "on" and self._feed.readers_of(f"wallet/{owner_id}"):
            self._changed[owner_id] = None
            self._news.set()

    async def run(self) -> None:
        while True:
            await self._news.wait()
            self._news.clear()
            owner_ids = list(self._changed)[:OWNERS_AT_ONCE]
            for owner_id in owner_ids:
                del self._changed[owner_id]
            if self._changed:
                self._news.set()
            try:
                for message in await self._context.db.read(_read_wallets, owner_ids):
                    text = message.model_dump_json()
                    for reader in self._feed.readers_of(f"wallet/{message.owner_id}"):
                        reader.show(f"wallet/{message.owner_id}", text)
            except Exception:
                log.exception("events.wallets_failed")
            await asyncio.sleep(PAUSE_SECONDS)


def _read_wallets(session: Session, owner_ids: list[str]) -> list[WalletMessage]:
    found = []
    for owner_id in owner_ids:
        has = balances(session, owner_id)
        found.append(
            WalletMessage(
                owner_id=owner_id,
                spendable_micros=has[Kind.PROMOTIONAL] + has[Kind.AVAILABLE] + has[Kind.EARNINGS],
                available_micros=has[Kind.AVAILABLE],
                promotional_micros=has[Kind.PROMOTIONAL],
                earnings_micros=has[Kind.EARNINGS],
                held_micros=has[Kind.HELD],
                cashing_out_micros=has[Kind.CASHING_OUT],
                debt_micros=-has[Kind.DEBT],
            )
        )
    return found
