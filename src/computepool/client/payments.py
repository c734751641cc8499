"""Money in and out of a wallet: top-ups, the saved card, where a host's money goes."""

import secrets
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from computepool.client.http import Http

BY_HAND = "manual"
"""The provider of a pool without a payment processor."""


class Payments:
    """Everything here is as the hub tells it. Cards are typed on the processor's own pages, never here."""

    def __init__(self, http: "Http") -> None:
        self._http = http

    def show(self) -> dict[str, Any]:
        """How credits are bought and paid out in this pool, and what the caller arranged."""
        return dict(self._http.get("/wallet/payments"))

    def takes_cards(self) -> bool:
        """Whether credits can be bought here; else only the operator gives them."""
        return bool(self.show()["provider"] != BY_HAND)

    def top_up(self, credits: str, *, saved_card: bool = False, save_card: bool = False) -> dict[str, Any]:
        """Buy credits; the answer has the address at which to pay, or to confirm."""
        body = {"credits": credits, "card": "saved" if saved_card else "new", "save_card": save_card}
        return dict(self._http.post("/wallet/top-ups", body, idempotency_key=secrets.token_hex(16)))

    def find_top_up(self, top_up_id: str) -> dict[str, Any]:
        return dict(self._http.get(f"/wallet/top-ups/{top_up_id}"))

    def top_ups(self) -> list[dict[str, Any]]:
        """The newest first."""
        return list(self._http.get("/wallet/top-ups")["items"])

    def save_card(self) -> dict[str, Any]:
        return dict(self._http.post("/wallet/card"))

    def forget_card(self) -> None:
        self._http.request("DELETE", "/wallet/card")

    def set_plan(self, plan: str, **amounts: str) -> dict[str, Any]:
        """`none`, `automatic` (below, amount, monthly) or `per_job` (monthly, amount)."""
        return dict(self._http.request("PUT", "/wallet/plan", json={"plan": plan, **amounts}).json())

    def payout_account(self) -> dict[str, Any]:
        return dict(self._http.get("/wallet/payout-account"))

    def begin_payout_account(self, country: str | None = None) -> dict[str, Any]:
        """An address at which a host says who they are and where money goes."""
        return dict(self._http.post("/wallet/payout-account", {"country": country}, repeatable=True))
