"""From Stripe's objects, as plain dicts, to facts. Pure."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal

from computepool.hub.payments.provider import (
    About,
    Card,
    Checkout,
    Movement,
    Payment,
    PaymentState,
    PayoutAccount,
    Refund,
    Subject,
    TakenBack,
    Transfer,
    Withdrawal,
)

Shape = Mapping[str, Any]
HUB, OWNER, REQUEST = "computepool_hub", "computepool_owner", "computepool_request"
"""What the hub writes on everything that it asks for."""
AUTHENTICATION = "authentication_required"


def instant(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def about(shape: Shape) -> About:
    notes = shape.get("metadata") or {}
    return About(notes.get(HUB), notes.get(OWNER), notes.get(REQUEST))


def id_of(value: object) -> str | None:
    """A reference, whether it was expanded or not."""
    if isinstance(value, Mapping):
        return str(value["id"])
    return str(value) if value else None


def card_of(customer: object, method: object) -> Card | None:
    customer_id = id_of(customer)
    if customer_id is None or not isinstance(method, Mapping):
        return None
    card = method.get("card") or {}
    words = f"{card['brand']} ending in {card['last4']}" if card else str(method.get("type", "card"))
    return Card(customer_id, str(method["id"]), words[:60])


# ── payments ─────────────────────────────────────────────────────────────────────────────────────────────────────────

_PLAIN = {
    "succeeded": PaymentState.PAID,
    "processing": PaymentState.PROCESSING,
    "requires_action": PaymentState.NEEDS_ACTION,
    "canceled": PaymentState.CANCELED,
}


def payment_of(intent: Shape, refunds: Sequence[Shape] = (), disputes: Sequence[Shape] = ()) -> Payment:
    state, error = _PLAIN.get(intent["status"]), intent.get("last_payment_error") or {}
    if state is None:
        state = PaymentState.FAILED if error else PaymentState.OPEN
        if error.get("code") == AUTHENTICATION or error.get("decline_code") == AUTHENTICATION:
            state = PaymentState.NEEDS_CONFIRMATION
    charge = intent.get("latest_charge")
    redirect = (intent.get("next_action") or {}).get("redirect_to_url") or {}
    kept = intent.get("setup_future_usage") and state is PaymentState.PAID
    return Payment(
        id=intent["id"],
        about=about(intent),
        state=state,
        minor=intent.get("amount_received") or 0,
        currency=intent["currency"],
        at=instant(charge["created"] if isinstance(charge, Mapping) else intent["created"]),
        url=redirect.get("url"),
        words=str(error.get("message") or ""),
        card=card_of(intent.get("customer"), intent.get("payment_method")) if kept else None,
        refunds=tuple(_refund_of(one) for one in refunds),
        withdrawals=tuple(_withdrawal_of(one) for one in disputes),
    )


def _refund_of(refund: Shape) -> Refund:
    failed = refund["status"] in ("failed", "canceled")
    return Refund(refund["id"], refund["amount"], failed, about(refund), instant(refund["created"]))


def _withdrawal_of(dispute: Shape) -> Withdrawal:
    moves = dispute.get("balance_transactions") or []
    went = [one["created"] for one in moves if one["amount"] < 0]
    came = [one["created"] for one in moves if one["amount"] > 0]
    return Withdrawal(
        id=dispute["id"],
        minor=dispute["amount"],
        reason=str(dispute.get("reason") or "")[:60],
        withdrawn_at=instant(min(went)) if went else None,
        reinstated_at=instant(max(came)) if came else None,
        is_lost=dispute["status"] == "lost",
    )


def checkout_of(session: Shape) -> Checkout:
    setup = session.get("setup_intent")
    card = card_of(session.get("customer"), setup.get("payment_method")) if isinstance(setup, Mapping) else None
    return Checkout(
        id=session["id"],
        about=about(session),
        state=session["status"],
        url=session.get("url"),
        payment_id=id_of(session.get("payment_intent")),
        card=card,
    )


# ── accounts and transfers ───────────────────────────────────────────────────────────────────────────────────────────


def account_of(account: Shape) -> PayoutAccount:
    needs = account.get("requirements") or {}
    can = (account.get("capabilities") or {}).get("transfers") == "active" and account.get("payouts_enabled")
    state: Literal["incomplete", "checking", "ready", "restricted"]
    if can:
        state, words = "ready", ""
    elif not account.get("details_submitted"):
        state, words = "incomplete", "You have not completed the processor's form."
    elif needs.get("currently_due") or str(needs.get("disabled_reason") or "").startswith("rejected"):
        asked = ", ".join(needs.get("currently_due") or []) or needs.get("disabled_reason")
        state, words = "restricted", f"The processor needs more information: {asked}."
    else:
        state, words = "checking", "The processor is still checking your information."
    return PayoutAccount(account["id"], about(account), state, words)


def transfer_of(transfer: Shape) -> Transfer:
    reversals = (transfer.get("reversals") or {}).get("data") or []
    return Transfer(
        id=transfer["id"],
        about=about(transfer),
        minor=transfer["amount"],
        currency=transfer["currency"],
        at=instant(transfer["created"]),
        reversals=tuple(TakenBack(one["id"], one["amount"], about(one), instant(one["created"])) for one in reversals),
    )


# ── what moved ───────────────────────────────────────────────────────────────────────────────────────────────────────


def movement_of(line: Shape) -> Movement | None:
    """One line of the processor's account. None: of no concern to the ledger, as its fees are."""
    source = line.get("source")
    if not isinstance(source, Mapping):
        return None
    kind, made_of = line["type"], source.get("object")
    payment = id_of(source.get("payment_intent"))
    of_payment = Subject("payment", payment) if payment else None
    if made_of == "charge" and kind in ("charge", "payment"):
        found = (payment or source["id"], "payment", of_payment)
    elif made_of == "refund" and kind in ("refund", "payment_refund"):
        found = (source["id"], "refund", of_payment)
    elif made_of == "refund":
        found = (f"{source['id']}/failed", "refund_failed", of_payment)
    elif made_of == "dispute" and line["amount"] < 0:
        found = (f"{source['id']}/withdrawn", "chargeback", of_payment)
    elif made_of == "dispute":
        found = (f"{source['id']}/reinstated", "chargeback_won", of_payment)
    elif made_of == "transfer":
        found = (source["id"], "pay_out", Subject("transfer", source["id"]))
    elif made_of == "transfer_reversal":
        transfer = id_of(source["transfer"])
        found = (source["id"], "reversal", Subject("transfer", transfer) if transfer else None)
    else:
        return None
    sign = -1 if line["amount"] < 0 else 1
    name, kind, subject = found
    return Movement(name, kind, sign * abs(source["amount"]), source["currency"], instant(line["created"]), subject)


# ── what an event is about ───────────────────────────────────────────────────────────────────────────────────────────


def subject_of(event: Shape) -> Subject | None:
    """What to look at. The event's own picture of it may be old, so nothing else of it is used."""
    kind, thing = str(event.get("type", "")), (event.get("data") or {}).get("object") or {}
    family = kind.partition(".")[0]
    name = id_of(thing.get("id"))
    if kind.startswith("checkout.session."):
        return Subject("checkout", name) if name else None
    if family == "payment_intent":
        return Subject("payment", name) if name else None
    if family in ("charge", "refund"):
        payment = id_of(thing.get("payment_intent"))
        return Subject("payment", payment) if payment else None
    if family == "transfer":
        return Subject("transfer", name) if name else None
    if family == "account":
        account = event.get("account") or (name if thing.get("object") == "account" else None)
        return Subject("account", str(account)) if account else None
    return None
