"""What renters can spend, in memory: asked before a slice is given a node. The ledger decides; this saves asking it for
every slice of somebody who cannot pay.

A projection of the ledger's balances: read when the hub starts, then moved by what every commit tells of them. Those
changes may come in any order, for they only add up. What is being leased counts as spent from the moment at which it is
placed until its hold is heard of.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace

from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.records import Event
from computepool.hub.jobs.funding import Unfunded, Want
from computepool.hub.jobs.terms import first_part
from computepool.hub.ledger.journal import SPENDABLE
from computepool.hub.ledger.settlement import SECONDS_PER_HOUR
from computepool.hub.market.requirements import Requirements
from computepool.protocol.units import format_credits

ASK = "Ask the operator for them"


class Purse:
    def __init__(self, *, takes_cards: bool = True) -> None:
        """`takes_cards`: credits can be bought here; else only the operator gives them."""
        self._how = "Get them by `computepool wallet top-up`, or ask the operator" if takes_cards else ASK
        self._has: Counter[str] = Counter()
        self._placed: dict[str, tuple[str, int]] = {}
        """By attempt that is being leased: whose, and what is to be held."""
        self._placed_by: Counter[str] = Counter()
        self._heard: Counter[str] = Counter()
        """How often something was heard of each owner's credits."""
        self._short: set[str] = set()
        """Owners for whom something was not looked for because of what they have."""
        self._full: set[str] = set()
        """Jobs whose budget is set aside for those of their slices that run."""

    def load(self, spendable: Mapping[str, int]) -> None:
        self._has = Counter(spendable)

    def left(self, owner_id: str) -> int:
        return self._has[owner_id] - self._placed_by[owner_id]

    def hear(self, events: Iterable[Event]) -> bool:
        """What commits changed. True if somebody has more who was short of it: they may be looked for again."""
        wakes = False
        for event in events:
            if event.topic != SPENDABLE:
                continue
            owner_id, micros = event.payload["owner"], event.payload["micros"]
            self._has[owner_id] += micros
            self._heard[owner_id] += 1
            if (attempt_id := event.payload["hold"]) is not None:
                self.forget(attempt_id)
            if micros > 0 and owner_id in self._short:
                self._short.discard(owner_id)
                wakes = True
        return wakes

    def heard(self, owner_ids: Iterable[str]) -> dict[str, int]:
        """How much is known of each of them."""
        return {owner_id: self._heard[owner_id] for owner_id in owner_ids}

    def place(self, attempt_id: str, owner_id: str, price_micros: int, max_seconds: int) -> None:
        if price_micros and owner_id != PLATFORM:
            micros = first_part(price_micros, max_seconds).micros
            self._placed[attempt_id] = (owner_id, micros)
            self._placed_by[owner_id] += micros

    def forget(self, attempt_id: str) -> None:
        """It is held, or it is not going to be."""
        owner_id, micros = self._placed.pop(attempt_id, ("", 0))
        if micros:
            self._placed_by[owner_id] -= micros
            if not self._placed_by[owner_id]:
                del self._placed_by[owner_id]

    def refused(self, unfunded: Iterable[Unfunded], heard: Mapping[str, int]) -> None:
        """The ledger knew better. `heard`: how much was known of each renter when it was asked; if something came
        since, the answer is old."""
        for one in unfunded:
            if one.want is Want.ROOM_IN_BUDGET:
                self._full.add(one.root)
            elif one.want is Want.CREDITS and heard[one.owner_id] == self._heard[one.owner_id]:
                self._has[one.owner_id] = one.had_micros  # what was held beside it is still to be heard of

    def ended(self, root: str) -> None:
        """Something of this job ended: what it did not use of the budget is for others."""
        self._full.discard(root)

    # ── what may be looked for ───────────────────────────────────────────────────────────────────────────────────────

    def within(self, needs: Requirements) -> Requirements:
        """Nodes that the renter can pay, or only those that cost nothing."""
        if needs.mine_only or needs.owner_id == PLATFORM:
            return needs
        if needs.budget_of in self._full:
            return replace(needs, max_price_micros=0)
        most = self._most_price(needs)
        if needs.max_price_micros is not None and needs.max_price_micros <= most:
            return needs
        self._short.add(needs.owner_id)
        return replace(needs, max_price_micros=most)

    def needed(self, needs: Requirements, price_micros: int) -> int:
        """What has to be set aside for it at that price; nothing if more money would not help."""
        return 0 if needs.budget_of in self._full else first_part(price_micros, _seconds(needs)).micros

    def words(self, needs: Requirements, price_micros: int) -> str:
        """Why a node at that price is not for it."""
        if needs.budget_of in self._full:
            return "The rest of the budget is held for the running slices. This slice waits for what they leave unused."
        needed, has = first_part(price_micros, _seconds(needs)).micros, max(0, self.left(needs.owner_id))
        return (
            f"You do not have enough credits: the job needs a hold of {format_credits(needed)}, and you have "
            f"{format_credits(has)}, so {format_credits(max(1, needed - has))} are missing. "
            f"{self._how}. It then starts automatically."
        )

    def _most_price(self, needs: Requirements) -> int:
        """The dearest hour that the first hold can be paid for."""
        left = max(0, self.left(needs.owner_id))
        return left * SECONDS_PER_HOUR // first_part(1, _seconds(needs)).seconds


def _seconds(needs: Requirements) -> int:
    return max(1, -(-int(needs.seconds * 1000) // 1000))
