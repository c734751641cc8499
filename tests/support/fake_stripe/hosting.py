"""The fake's hosts: connected accounts, transfers to them and back, payouts to the operator's own bank."""

from support.fake_stripe.paying import wanted, whole
from support.fake_stripe.world import Shape, World, invalid


def create_account(world: World, params: Shape) -> Shape:
    return world.new(
        "account",
        "acct",
        type=params.get("type", "standard"),
        country=params.get("country", "IN"),
        details_submitted=False,
        payouts_enabled=False,
        charges_enabled=False,
        capabilities={"transfers": "inactive"},
        requirements={"currently_due": ["external_account"], "disabled_reason": "requirements.past_due"},
        metadata=params.get("metadata", {}),
    )


def onboard(world: World, name: str, *, is_ready: bool = True) -> Shape:
    """The hook in place of the pages on which a host says who they are."""
    account = world.get("account", name)
    account["details_submitted"] = True
    account["payouts_enabled"] = account["charges_enabled"] = is_ready
    account["capabilities"]["transfers"] = "active" if is_ready else "pending"
    account["requirements"] = {"currently_due": [], "disabled_reason": None}
    world.tell("account.updated", account, account=name)
    return account


def close_account(world: World, name: str) -> None:
    gone = world.objects["account"].pop(name)
    world.tell("account.application.deauthorized", {"id": "ca_fake", "object": "application"}, account=gone["id"])


def empty(world: World, name: str) -> None:
    """What was transferred to it went on to its bank, so that nothing can be taken back."""
    world.get("account", name)["is_empty"] = True


def create_link(world: World, params: Shape) -> Shape:
    wanted(params, "account", "type", "refresh_url", "return_url")
    account = world.get("account", params["account"])
    url = f"https://connect.fake.test/setup/{account['id']}/{next(world.numbers)}"
    return {"object": "account_link", "created": world.at(), "expires_at": world.at() + 300, "url": url}


def create_transfer(world: World, params: Shape) -> Shape:
    wanted(params, "amount", "currency", "destination")
    amount = whole(params, "amount")
    account = world.objects.get("account", {}).get(params["destination"])
    if account is None:
        raise invalid(f"No such destination: '{params['destination']}'", "resource_missing")
    if account["capabilities"]["transfers"] != "active":
        raise invalid("The destination cannot receive transfers.", "insufficient_capabilities_for_transfer")
    if amount > world.balance:
        raise invalid("You have insufficient available funds in your Stripe account.", "balance_insufficient")
    transfer = world.new(
        "transfer",
        "tr",
        amount=amount,
        amount_reversed=0,
        currency=params["currency"],
        destination=params["destination"],
        transfer_group=params.get("transfer_group"),
        metadata=params.get("metadata", {}),
    )
    world.move("transfer", transfer, -amount)
    world.tell("transfer.created", transfer)
    return transfer


def create_reversal(world: World, name: str, params: Shape) -> Shape:
    transfer = world.get("transfer", name)
    amount = whole(params, "amount") if "amount" in params else transfer["amount"] - transfer["amount_reversed"]
    if amount > transfer["amount"] - transfer["amount_reversed"]:
        raise invalid("Reversal amount is greater than what is left of the transfer.")
    if world.objects.get("account", {}).get(transfer["destination"], {}).get("is_empty"):
        raise invalid("Insufficient available funds in the connected account.", "balance_insufficient")
    reversal = world.new(
        "transfer_reversal",
        "trr",
        amount=amount,
        currency=transfer["currency"],
        transfer=name,
        metadata=params.get("metadata", {}),
    )
    transfer["amount_reversed"] += amount
    world.move("transfer_refund", reversal, amount)
    world.tell("transfer.reversed", transfer)
    return reversal


def create_payout(world: World, params: Shape) -> Shape:
    wanted(params, "amount", "currency")
    amount = whole(params, "amount")
    if amount > world.balance:
        raise invalid("You have insufficient available funds in your Stripe account.", "balance_insufficient")
    payout = world.new("payout", "po", amount=amount, currency=params["currency"], status="paid")
    world.move("payout", payout, -amount)
    world.tell("payout.paid", payout)
    return payout
