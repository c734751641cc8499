"""The fake's payers: customers, cards, payments, pages to pay on, refunds and disputes."""

from typing import Any

from support.fake_stripe.world import Refusal, Shape, World, invalid

DECLINED, NEEDS_BANK = "pm_card_chargeDeclined", "pm_card_authenticationRequired"
LEAST, MOST = 50, 99_999_999


def whole(params: Shape, name: str) -> int:
    value = str(params.get(name, ""))
    if not value.lstrip("-").isdigit():
        raise invalid(f"Invalid integer: {value}", "parameter_invalid_integer")
    if int(value) < 1:
        raise invalid("This value must be greater than or equal to 1.", "parameter_invalid_integer")
    return int(value)


def wanted(params: Shape, *names: str) -> None:
    for name in names:
        if name not in params:
            raise invalid(f"Missing required param: {name}.", "parameter_missing")


def create_customer(world: World, params: Shape) -> Shape:
    return world.new("customer", "cus", email=params.get("email"), metadata=params.get("metadata", {}))


def card(world: World, customer: str | None, kind: str = "visa") -> Shape:
    """As if it was typed on a page of Stripe's."""
    last4 = {"visa": "4242", DECLINED: "0002", NEEDS_BANK: "3184"}.get(kind, "1111")
    return world.new(
        "payment_method", "pm", type="card", customer=customer, card={"brand": "visa", "last4": last4}, behaves=kind
    )


# ── payment intents ──────────────────────────────────────────────────────────────────────────────────────────────────


def create_intent(world: World, params: Shape) -> Shape:
    wanted(params, "amount", "currency")
    amount = whole(params, "amount")
    if amount < LEAST:
        raise invalid("Amount must be no less than 0.50", "amount_too_small")
    if amount > MOST:
        raise invalid("Amount must be no more than 999,999.99", "amount_too_large")
    intent = world.new(
        "payment_intent",
        "pi",
        amount=amount,
        amount_received=0,
        currency=params["currency"],
        customer=params.get("customer"),
        payment_method=params.get("payment_method"),
        status="requires_payment_method",
        setup_future_usage=params.get("setup_future_usage"),
        metadata=params.get("metadata", {}),
        next_action=None,
        last_payment_error=None,
        latest_charge=None,
    )
    world.tell("payment_intent.created", intent)
    if params.get("confirm") == "true":
        confirm_intent(world, intent["id"], params)
    return intent


def confirm_intent(world: World, name: str, params: Shape) -> Shape:
    intent = world.get("payment_intent", name)
    if intent["status"] in ("succeeded", "canceled"):
        raise invalid(f"This PaymentIntent's status is {intent['status']}.", "payment_intent_unexpected_state")
    method = world.get("payment_method", params.get("payment_method") or intent["payment_method"] or "")
    intent["payment_method"] = method["id"]
    if method["behaves"] == DECLINED:
        _fail(world, intent, "Your card was declined.", "card_declined", "generic_decline")
    if method["behaves"] == NEEDS_BANK and params.get("off_session") == "true":
        words = "Your card was declined. This transaction requires authentication."
        _fail(world, intent, words, "authentication_required", "authentication_required")
    if method["behaves"] == NEEDS_BANK:
        if "return_url" not in params:
            raise invalid("return_url is needed to confirm this payment", "parameter_missing")
        url = f"https://hooks.fake.test/3d_secure/{name}"
        intent["status"] = "requires_action"
        intent["next_action"] = {"type": "redirect_to_url", "redirect_to_url": {"url": url}}
        world.tell("payment_intent.requires_action", intent)
        return intent
    return succeed(world, intent)


def _fail(world: World, intent: Shape, words: str, code: str, decline: str) -> None:
    error = {"type": "card_error", "code": code, "decline_code": decline, "message": words}
    intent["status"], intent["last_payment_error"] = "requires_payment_method", error
    world.tell("payment_intent.payment_failed", intent)
    raise Refusal(402, "card_error", words, code=code, decline_code=decline, payment_intent=dict(intent))


def succeed(world: World, intent: Shape) -> Shape:
    charge = world.new(
        "charge",
        "ch",
        amount=intent["amount"],
        amount_refunded=0,
        currency=intent["currency"],
        payment_intent=intent["id"],
        metadata=dict(intent["metadata"]),
        status="succeeded",
    )
    intent |= {
        "status": "succeeded",
        "amount_received": intent["amount"],
        "latest_charge": charge["id"],
        "next_action": None,
        "last_payment_error": None,
    }
    world.move("charge", charge, intent["amount"])
    world.tell("charge.succeeded", charge)
    world.tell("payment_intent.succeeded", intent)
    return intent


def pass_bank(world: World, name: str, *, ok: bool = True) -> Shape:
    """The person confirmed the payment at their bank, or failed to."""
    intent = world.get("payment_intent", name)
    assert intent["status"] == "requires_action", intent["status"]
    if ok:
        return succeed(world, intent)
    words = "The provided PaymentMethod has failed authentication."
    error = {"type": "invalid_request_error", "code": "payment_intent_authentication_failure", "message": words}
    intent |= {"status": "requires_payment_method", "last_payment_error": error, "next_action": None}
    world.tell("payment_intent.payment_failed", intent)
    return intent


# ── pages ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def create_page(world: World, params: Shape) -> Shape:
    wanted(params, "mode", "success_url")
    amount: int | None = None
    currency = params.get("currency")
    if params["mode"] == "payment":
        price = params["line_items"][0]["price_data"]
        amount, currency = whole(price, "unit_amount"), price["currency"]
        if amount < LEAST:
            raise invalid("The total must be at least 0.50.", "amount_too_small")
    return world.new(
        "checkout.session",
        "cs",
        mode=params["mode"],
        status="open",
        amount_total=amount,
        currency=currency,
        customer=params.get("customer"),
        customer_creation=params.get("customer_creation"),
        payment_intent=None,
        setup_intent=None,
        metadata=params.get("metadata", {}),
        success_url=params["success_url"],
        payment_intent_data=params.get("payment_intent_data", {}),
        url=f"https://checkout.fake.test/pay/{next(world.numbers)}",
    )


def complete_page(world: World, name: str, kind: str = "visa") -> Shape:
    """The hook in place of the page: somebody typed a card there and paid, or left it for later."""
    page = world.get("checkout.session", name)
    assert page["status"] == "open", page["status"]
    if page["customer"] is None and page["customer_creation"] == "always":
        page["customer"] = create_customer(world, {})["id"]
    method = card(world, page["customer"], kind)
    if page["mode"] == "setup":
        intent = world.new("setup_intent", "seti", status="succeeded", payment_method=method["id"])
        page["setup_intent"] = intent["id"]
        world.tell("setup_intent.succeeded", intent)
    else:
        asked: dict[str, Any] = {"amount": page["amount_total"], "currency": page["currency"]}
        asked |= page["payment_intent_data"] | {"customer": page["customer"], "payment_method": method["id"]}
        intent = create_intent(world, asked)
        page["payment_intent"] = intent["id"]
        succeed(world, intent)
    page["status"], page["url"] = "complete", None
    world.tell("checkout.session.completed", page)
    return page


def expire_page(world: World, name: str) -> Shape:
    page = world.get("checkout.session", name)
    page["status"], page["url"] = "expired", None
    world.tell("checkout.session.expired", page)
    return page


# ── refunds and disputes ─────────────────────────────────────────────────────────────────────────────────────────────


def create_refund(world: World, params: Shape) -> Shape:
    intent = world.get("payment_intent", params.get("payment_intent", ""))
    charge = world.get("charge", intent["latest_charge"] or "")
    amount = whole(params, "amount") if "amount" in params else charge["amount"] - charge["amount_refunded"]
    if amount > charge["amount"] - charge["amount_refunded"]:
        raise invalid("Refund amount is greater than unrefunded amount on charge.", "charge_already_refunded")
    refund = world.new(
        "refund",
        "re",
        amount=amount,
        currency=charge["currency"],
        payment_intent=intent["id"],
        charge=charge["id"],
        status="succeeded",
        metadata=params.get("metadata", {}),
    )
    charge["amount_refunded"] += amount
    world.move("refund", refund, -amount)
    world.tell("charge.refunded", charge)
    return refund


def fail_refund(world: World, name: str) -> Shape:
    """The bank could not take it."""
    refund = world.get("refund", name)
    refund["status"] = "failed"
    world.get("charge", refund["charge"])["amount_refunded"] -= refund["amount"]
    world.move("refund_failure", refund, refund["amount"])
    world.tell("refund.failed", refund)
    return refund


def open_dispute(world: World, payment: str, reason: str = "fraudulent") -> Shape:
    charge = world.get("charge", world.get("payment_intent", payment)["latest_charge"])
    dispute = world.new(
        "dispute",
        "dp",
        amount=charge["amount"],
        currency=charge["currency"],
        charge=charge["id"],
        payment_intent=payment,
        reason=reason,
        status="needs_response",
        balance_transactions=[],
    )
    dispute["balance_transactions"].append(world.move("adjustment", dispute, -charge["amount"]))
    world.tell("charge.dispute.created", dispute)
    world.tell("charge.dispute.funds_withdrawn", dispute)
    return dispute


def end_dispute(world: World, name: str, *, won: bool) -> Shape:
    dispute = world.get("dispute", name)
    dispute["status"] = "won" if won else "lost"
    if won:
        dispute["balance_transactions"].append(world.move("adjustment", dispute, dispute["amount"]))
        world.tell("charge.dispute.funds_reinstated", dispute)
    world.tell("charge.dispute.closed", dispute)
    return dispute
