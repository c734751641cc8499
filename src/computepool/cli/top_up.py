"""Money in and out: top-ups, the saved card, what it may be charged, and where a host's money goes."""

import time
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.errors import FAILED, USAGE, CliError, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.payments import Payments

LOOK_AGAIN_SECONDS = 2.0
ENDED = frozenset({"paid", "failed", "expired"})


@click.command("top-up", epilog="Example: computepool wallet top-up 100")
@click.argument("credits", metavar="N")
@click.option("--saved-card", is_flag=True, help="Pay with the card that you left with the processor.")
@click.option("--save-card", is_flag=True, help="Leave the card that you pay with, for later.")
@click.option("--wait", is_flag=True, help="Wait until it is paid.")
@json_option
@pool_options
def top_up(credits: str, saved_card: bool, save_card: bool, wait: bool, as_json: bool) -> None:
    """Buy N credits: prints the address of the page where you pay.

    In a pool without a payment processor it says whom to ask instead.
    """
    if saved_card and save_card:
        raise CliError("The saved card is saved already.", "Leave one of the two options out.", USAGE)
    with open_pool() as pool:
        made = pool.payments.top_up(credits, saved_card=saved_card, save_card=save_card)
        if wait:
            made = _wait(pool.payments, made, quiet=as_json)
    if as_json:
        print_json(made)
    else:
        _tell_top_up(made)
    if made["state"] in ("failed", "expired"):
        raise click.exceptions.Exit(FAILED)


def _wait(payments: "Payments", made: dict[str, Any], *, quiet: bool) -> dict[str, Any]:
    told = None
    while made["state"] not in ENDED:
        if made["url"] != told and made["url"] and not quiet:
            tell(made["message"])
            click.echo(clean(made["url"]))
            told = made["url"]
        time.sleep(LOOK_AGAIN_SECONDS)
        made = payments.find_top_up(made["id"])
    return made


def _tell_top_up(made: dict[str, Any]) -> None:
    from computepool.cli.display import in_credits

    tell(f"{in_credits(made['credits'])} for {clean(made['amount'])}. {clean(made['message'])}")
    if made["url"]:
        click.echo(clean(made["url"]))
    elif made["state"] == "pending":
        tell("Its address will be in: computepool wallet top-ups", dim=True)


@click.command("top-ups", epilog="Example: computepool wallet top-ups")
@json_option
@pool_options
def top_ups(as_json: bool) -> None:
    """List what you bought, or began to; with the address where something is still to be done."""
    with open_pool() as pool:
        items = pool.payments.top_ups()
    if as_json:
        print_json({"items": items, "next": None})
        return
    if not items:
        tell("No top-ups yet.", dim=True)
        return
    from datetime import datetime

    from computepool.cli.display import ago, print_table

    rows = [
        (
            one["id"],
            ago(datetime.fromisoformat(one["created_at"])),
            one["credits"],
            one["amount"],
            one["state"].replace("_", " "),
            one["url"] or "",
        )
        for one in items
    ]
    print_table(("id", "when", "credits", "amount", "state", "address"), rows)


@click.command(epilog="Example: computepool wallet card")
@click.option("--forget", is_flag=True, help="Use the saved card no more.")
@json_option
@pool_options
def card(forget: bool, as_json: bool) -> None:
    """Leave a card with the payment processor, for later: prints the address of the page where you do that.

    The pool never sees its number.
    """
    with open_pool() as pool:
        if forget:
            pool.payments.forget_card()
            tell("Forgotten; nothing is charged by itself any more.")
            return
        made = pool.payments.save_card()
    if as_json:
        print_json(made)
        return
    tell(clean(made["message"]))
    if made["url"]:
        click.echo(clean(made["url"]))


@click.command(epilog="Example: computepool wallet plan automatic --below 50 --amount 200 --monthly 1000")
@click.argument("plan", type=click.Choice(["none", "automatic", "per-job"]), required=False)
@click.option("--below", metavar="N", help="automatic: charge when fewer credits than this are left.")
@click.option("--amount", metavar="N", help="automatic: how many credits. per-job: at least so many at once.")
@click.option("--monthly", metavar="N", help="The most credits that are charged by themselves in a month.")
@json_option
@pool_options
def plan(plan: str | None, below: str | None, amount: str | None, monthly: str | None, as_json: bool) -> None:
    """Say what may be charged to the saved card without asking each time; alone, show it.

    automatic keeps a stock of credits; per-job charges what a job lacks, when it lacks it.
    """
    asked = {name: value for name, value in (("below", below), ("amount", amount), ("monthly", monthly)) if value}
    if plan is None and asked:
        raise CliError("Which plan are these for?", "Such as: computepool wallet plan per-job --monthly 500", USAGE)
    with open_pool() as pool:
        if plan is not None:
            pool.payments.set_plan(plan.replace("-", "_"), **asked)
        shown = pool.payments.show()
    if as_json:
        print_json(shown)
        return
    from computepool.cli.display import print_pairs
    from computepool.protocol.units import format_credits

    chosen = shown["plan"]
    amounts = {name: chosen[f"{name}_micros"] for name in ("below", "amount", "monthly")}
    pairs = [("card", shown["card"] or "none"), ("plan", chosen["plan"].replace("_", "-"))]
    pairs += [(name, format_credits(micros)) for name, micros in amounts.items() if micros]
    print_pairs(tuple(pairs))
    if chosen["stopped"]:
        tell(f"Stopped: {clean(chosen['stopped'])} Choose the plan again to go on.", fg="yellow")


@click.command("payout-account", epilog="Example: computepool wallet payout-account --country IN")
@click.option("--country", metavar="CC", help="Where you are taxed, if not where your account says.")
@click.option("--show", is_flag=True, help="Only show how it stands.")
@json_option
@pool_options
def payout_account(country: str | None, show: bool, as_json: bool) -> None:
    """Say where your earnings go: prints the address of the processor's page for that."""
    with open_pool() as pool:
        made = pool.payments.payout_account() if show else pool.payments.begin_payout_account(country)
    if as_json:
        print_json(made)
        return
    tell(clean(made["message"]))
    if made["url"]:
        click.echo(clean(made["url"]))
