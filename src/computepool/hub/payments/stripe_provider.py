"""Stripe, through its own SDK. Blocking calls: they run off the event loop.

Card numbers are typed on Stripe's pages and never come here. The SDK does not repeat anything by itself: what is sent
again, and under which key, is decided by `outgoing`.
"""

import importlib
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Any

from computepool.hub.core.settings import Settings
from computepool.hub.payments.provider import (
    Fact,
    Movement,
    NoSuchObject,
    Payment,
    PaymentState,
    ProviderUnreachable,
    Refused,
    Request,
    RequestKind,
    Subject,
)
from computepool.hub.payments.stripe_shapes import (
    HUB,
    OWNER,
    REQUEST,
    Shape,
    account_of,
    checkout_of,
    movement_of,
    payment_of,
    transfer_of,
)

TIMEOUT_SECONDS = 20.0
PAGE = 100
FOUND_SINCE = timedelta(hours=1)
"""Before a request was written down nothing of it can exist; the clocks may differ by so much."""
LACKING = "balance_insufficient"
LATER = frozenset({LACKING, "lock_timeout", "rate_limit", "idempotency_key_in_use"})
"""Refusals that are none: it can be done later."""


class StripeProvider:
    name = "stripe"
    moves_money = True

    def __init__(self, settings: Settings, hub_id: str) -> None:
        # By name: the SDK is large, and only those who use it should wait for it.
        self._sdk: Any = importlib.import_module("stripe")
        where = {"api": settings.stripe_api_url} if settings.stripe_api_url else None
        self._session = importlib.import_module("requests").Session()
        self._session.trust_env = where is None  # a proxy of the environment knows nothing of a stand-in
        http = self._sdk.RequestsClient(timeout=TIMEOUT_SECONDS, session=self._session)
        self._client = self._sdk.StripeClient(
            settings.stripe_secret_key, base_addresses=where, max_network_retries=0, http_client=http
        ).v1
        self._hub_id, self._currency = hub_id, settings.currency
        self.is_live = "_live_" in (settings.stripe_secret_key or "")

    def close(self) -> None:
        self._session.close()

    # ── requests ─────────────────────────────────────────────────────────────────────────────────────────────────────

    def perform(self, request: Request) -> Fact:
        perform = {
            RequestKind.CHECKOUT: self._checkout,
            RequestKind.CARD: self._card,
            RequestKind.CHARGE: self._charge,
            RequestKind.CONFIRM: self._confirm,
            RequestKind.REFUND: self._refund,
            RequestKind.ACCOUNT: self._account,
            RequestKind.PAY_OUT: self._pay_out,
            RequestKind.REVERSAL: self._reversal,
        }[request.kind]
        return perform(request)

    def _checkout(self, request: Request) -> Fact:
        asked, notes = request.params, self._notes(request)
        payment: dict[str, Any] = {"metadata": notes}
        params: dict[str, Any] = {
            "mode": "payment",
            "client_reference_id": request.owner_id,
            "line_items": [
                {
                    "quantity": 1,
                    "price_data": {
                        "currency": asked["currency"],
                        "unit_amount": asked["minor"],
                        "product_data": {"name": asked["title"]},
                    },
                }
            ],
            "metadata": notes,
            "payment_intent_data": payment,
            "success_url": asked["return_url"],
            "cancel_url": asked["return_url"],
        }
        if asked.get("customer_id"):
            params["customer"] = asked["customer_id"]
        elif asked["save_card"]:
            params["customer_creation"] = "always"
        if asked["save_card"]:
            payment["setup_future_usage"] = "off_session"
        return checkout_of(self._create(self._client.checkout.sessions.create, request, params))

    def _card(self, request: Request) -> Fact:
        asked = request.params
        params = {
            "mode": "setup",
            "currency": asked["currency"],
            "client_reference_id": request.owner_id,
            "metadata": self._notes(request),
            "success_url": asked["return_url"],
            "cancel_url": asked["return_url"],
        }
        params |= {"customer": asked["customer_id"]} if asked.get("customer_id") else {"customer_creation": "always"}
        return checkout_of(self._create(self._client.checkout.sessions.create, request, params))

    def _charge(self, request: Request) -> Fact:
        asked = request.params
        params: dict[str, Any] = {
            "amount": asked["minor"],
            "currency": asked["currency"],
            "customer": asked["customer_id"],
            "payment_method": asked["method_id"],
            "payment_method_types": ["card"],
            "confirm": True,
            "description": asked["title"],
            "metadata": self._notes(request),
        }
        # Alone, a charge that the bank wants confirmed fails; with the person there, it waits for them.
        params |= {"off_session": True} if asked["is_alone"] else {"return_url": asked["return_url"]}
        return self._paying(lambda: self._create(self._client.payment_intents.create, request, params))

    def _confirm(self, request: Request) -> Fact:
        asked = request.params
        params = {"payment_method": asked["method_id"], "return_url": asked["return_url"]}
        confirm = self._client.payment_intents.confirm
        return self._paying(lambda: self._create(confirm, request, params, of=asked["payment_id"]))

    def _refund(self, request: Request) -> Fact:
        asked = request.params
        params = {"payment_intent": asked["payment_id"], "amount": asked["minor"], "metadata": self._notes(request)}
        self._create(self._client.refunds.create, request, params)
        return self._look_payment(asked["payment_id"])

    def _account(self, request: Request) -> Fact:
        asked = request.params
        params: dict[str, Any] = {
            "type": "express",
            "capabilities": {"transfers": {"requested": True}},
            "metadata": self._notes(request),
        }
        if asked.get("country"):
            params["country"] = asked["country"]
        return account_of(self._create(self._client.accounts.create, request, params))

    def _pay_out(self, request: Request) -> Fact:
        asked = request.params
        params = {
            "amount": asked["minor"],
            "currency": asked["currency"],
            "destination": asked["account_id"],
            "transfer_group": request.key,
            "metadata": self._notes(request),
        }
        return transfer_of(self._create(self._client.transfers.create, request, params))

    def _reversal(self, request: Request) -> Fact:
        asked = request.params
        params = {"amount": asked["minor"], "metadata": self._notes(request)}
        try:
            self._create(self._client.transfers.reversals.create, request, params, of=asked["transfer_id"])
        except _Lacking as lacking:  # the host's account, not the pool's: nobody knows whether it ever will
            raise Refused(lacking.words) from lacking
        return self._look_transfer(asked["transfer_id"])

    def _paying(self, send: Callable[[], Shape]) -> Fact:
        """A card that does not pay is an answer about the payment, not an error."""
        try:
            return self._look_payment(send()["id"])
        except _Declined as declined:
            if declined.payment_id is None:
                raise Refused(declined.words) from None
            return self._look_payment(declined.payment_id)

    # ── what became of one ───────────────────────────────────────────────────────────────────────────────────────────

    def find(self, request: Request) -> Fact | None:
        asked, since = request.params, {"created": {"gte": int((request.created_at - FOUND_SINCE).timestamp())}}
        if request.kind in (RequestKind.CHECKOUT, RequestKind.CARD):
            found = self._first(request, self._client.checkout.sessions.list, since)
            return checkout_of(found) if found else None
        if request.kind is RequestKind.CHARGE:
            found = self._first(request, self._client.payment_intents.list, since | {"customer": asked["customer_id"]})
            return self._look_payment(found["id"]) if found else None
        if request.kind is RequestKind.CONFIRM:
            payment = self._look_payment(asked["payment_id"])
            return payment if payment.state is not PaymentState.NEEDS_CONFIRMATION else None
        if request.kind is RequestKind.REFUND:
            found = self._first(request, self._client.refunds.list, {"payment_intent": asked["payment_id"]})
            return self._look_payment(asked["payment_id"]) if found else None
        if request.kind is RequestKind.ACCOUNT:
            found = self._first(request, self._client.accounts.list, since)
            return account_of(found) if found else None
        if request.kind is RequestKind.PAY_OUT:
            found = self._first(request, self._client.transfers.list, {"transfer_group": request.key})
            return self._look_transfer(found["id"]) if found else None
        found = self._first(request, self._client.transfers.reversals.list, {}, of=asked["transfer_id"])
        return self._look_transfer(asked["transfer_id"]) if found else None

    def _first(self, request: Request, listing: Any, params: Shape, *, of: str | None = None) -> Shape | None:
        for shape in self._all(listing, params, of=of):
            notes = shape.get("metadata") or {}
            if (notes.get(HUB), notes.get(REQUEST)) == (self._hub_id, request.key):
                return shape
        return None

    # ── how things are ───────────────────────────────────────────────────────────────────────────────────────────────

    def look(self, subject: Subject) -> Fact:
        if subject.kind == "payment":
            return self._look_payment(subject.id)
        if subject.kind == "transfer":
            return self._look_transfer(subject.id)
        if subject.kind == "account":
            return account_of(self._call(lambda: self._client.accounts.retrieve(subject.id)))
        expand = {"expand": ["setup_intent.payment_method"]}
        return checkout_of(self._call(lambda: self._client.checkout.sessions.retrieve(subject.id, expand)))

    def _look_payment(self, payment_id: str) -> Payment:
        expand = {"expand": ["latest_charge", "payment_method"]}
        intent = self._call(lambda: self._client.payment_intents.retrieve(payment_id, expand))
        if intent["status"] != "succeeded":
            return payment_of(intent)
        of_it = {"payment_intent": payment_id}
        refunds = list(self._all(self._client.refunds.list, of_it))
        return payment_of(intent, refunds, list(self._all(self._client.disputes.list, of_it)))

    def _look_transfer(self, transfer_id: str) -> Fact:
        transfer = self._call(lambda: self._client.transfers.retrieve(transfer_id))
        reversals = list(self._all(self._client.transfers.reversals.list, {}, of=transfer_id))
        return transfer_of({**transfer, "reversals": {"data": reversals}})

    def onboarding_url(self, account_id: str, return_url: str) -> str:
        params = {
            "account": account_id,
            "type": "account_onboarding",
            "refresh_url": return_url,
            "return_url": return_url,
        }
        return str(self._call(lambda: self._client.account_links.create(params))["url"])

    def list_movements(self, since: datetime, until: datetime) -> Iterator[Movement]:
        within = {"created": {"gte": int(since.timestamp()), "lt": int(until.timestamp())}, "expand": ["data.source"]}
        for line in self._all(self._client.balance_transactions.list, within):
            if (found := movement_of(line)) is not None:
                yield found

    def probe(self) -> str:
        # Every key of a hub may read these, and a currency that Stripe does not have is refused.
        self._told(lambda: self._client.balance_transactions.list({"limit": 1, "currency": self._currency}))
        kind = "live: payments move real money" if self.is_live else "for tests: no real money moves"
        return f"Stripe accepts the key, which is {kind}"

    # ── the SDK ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def _notes(self, request: Request) -> dict[str, str]:
        return {HUB: self._hub_id, OWNER: request.owner_id, REQUEST: request.key}

    def _create(self, create: Any, request: Request, params: Shape, *, of: str | None = None) -> Shape:
        options = {"idempotency_key": request.sent_key}
        path = (of,) if of is not None else ()
        return self._call(lambda: create(*path, params, options))

    def _all(self, listing: Any, params: Shape, *, of: str | None = None) -> Iterator[Shape]:
        path = (of,) if of is not None else ()
        page: Any = self._told(lambda: listing(*path, {"limit": PAGE, **params}))
        while True:
            for one in page.data:
                yield one.to_dict()
            if not page.has_more:
                return
            page = self._told(page.next_page)

    def _call(self, send: Callable[[], Any]) -> Shape:
        shape: dict[str, Any] = self._told(send).to_dict()
        return shape

    def _told(self, send: Callable[[], Any]) -> Any:
        """The answer, or what its absence means."""
        sdk = self._sdk
        try:
            return send()
        except sdk.APIConnectionError as error:
            raise ProviderUnreachable("no connection, or no answer in time") from error
        except sdk.CardError as error:
            raise _Declined(error) from error
        except (sdk.RateLimitError, sdk.IdempotencyError) as error:
            raise ProviderUnreachable(_words(error)) from error
        except (sdk.AuthenticationError, sdk.PermissionError) as error:
            if _code(error) == "account_invalid":
                raise NoSuchObject from error
            raise ProviderUnreachable(f"it does not accept the hub's key: {_words(error)}") from error
        except sdk.InvalidRequestError as error:
            if error.http_status == 404:
                raise NoSuchObject from error
            if _code(error) in LATER:
                away = _Lacking if _code(error) == LACKING else ProviderUnreachable
                raise away(_words(error), is_saved=True) from error
            raise Refused(_words(error)) from error
        except sdk.StripeError as error:
            raise ProviderUnreachable(_words(error), is_saved=True) from error


class _Declined(Refused):
    def __init__(self, error: Any) -> None:
        super().__init__(_words(error))
        self.payment_id: str | None = (_told_of(error).get("payment_intent") or {}).get("id")


class _Lacking(ProviderUnreachable):
    """There is not enough money for it yet."""


def _told_of(error: Any) -> Shape:
    told: Shape = (error.json_body or {}).get("error") or {}
    return told


def _code(error: Any) -> str | None:
    """From the answer itself: not every error of the SDK keeps it."""
    return _told_of(error).get("code")


def _words(error: Any) -> str:
    return str(error.user_message or _code(error) or type(error).__name__)
