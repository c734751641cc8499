"""For operators: does the money add up, and credits by hand."""

from collections.abc import Callable
from typing import Any

import click

from computepool.cli.errors import FAILED, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json


@click.group(epilog="Example: computepool admin ledger check")
def ledger() -> None:
    """The pool's books."""


@ledger.command(epilog="Example: computepool admin ledger check --json")
@json_option
@pool_options
def check(as_json: bool) -> int:
    """Sum up everything again. The exit code is 1 if it does not add up; then nobody is paid out until it does."""
    with open_pool() as pool:
        document = pool.wallet.check_ledger()
    if as_json:
        print_json(document)
    else:
        from computepool.cli.display import exact_credits, print_pairs

        print_pairs(
            (
                ("balanced", "yes" if document["balanced"] else "NO"),
                ("entries", f"{document['entries']:,}"),
                ("postings", f"{document['postings']:,}"),
                ("accounts", f"{document['accounts']:,}"),
                ("moved", exact_credits(document["moved_micros"])),
                *((name.replace("_", " "), exact_credits(micros)) for name, micros in document["platform"].items()),
            )
        )
        for problem in document["problems"]:
            tell(clean(problem), fg="red")
        if not document["balanced"]:
            tell("Cash-outs are frozen until a check finds everything in order.", fg="red")
    return 0 if document["balanced"] else FAILED


def _by_hand(command: Callable[..., None]) -> Callable[..., None]:
    """What granting and withdrawing take."""
    for add in (
        pool_options,
        json_option,
        click.option("--again", is_flag=True, help="Also if the same was done in the last ten minutes."),
        click.option(
            "--note", required=True, metavar="TEXT", help="What it is for; kept for ever, and the user sees it."
        ),
        click.argument("credits", metavar="CREDITS"),
        click.argument("user"),
    ):
        command = add(command)
    return command


@click.command(epilog="Example: computepool admin grant alice@example.org 100 --note 'paid in cash'")
@_by_hand
@click.option("--promotional", is_flag=True, help="Promotional credit: can be spent, cannot be cashed out.")
def grant(user: str, credits: str, note: str, promotional: bool, again: bool, as_json: bool) -> None:
    """Give credits by hand. USER is an id or an e-mail address.

    It pays their debts first, unless it is promotional.
    """
    with open_pool() as pool:
        document = pool.wallet.grant(user, credits, note, promotional=promotional, unless_repeated=not again)
    _tell(document, f"{_amount(document, promotional)} for {_who(document)}.", as_json)


@click.command(epilog="Example: computepool admin withdraw alice@example.org 20 --note 'paid back in cash'")
@_by_hand
@click.option("--promotional", is_flag=True, help="Take back promotional credit.")
def withdraw(user: str, credits: str, note: str, promotional: bool, again: bool, as_json: bool) -> None:
    """Take credits by hand, as far as they are not spent. USER is an id or an e-mail address."""
    with open_pool() as pool:
        document = pool.wallet.withdraw(user, credits, note, promotional=promotional, unless_repeated=not again)
    _tell(document, f"{_amount(document, promotional)} taken from {_who(document)}.", as_json)


@click.command("write-off", epilog="Example: computepool admin write-off bob@example.org --note 'banned, and gone'")
@click.argument("user")
@click.argument("credits", metavar="[CREDITS]", required=False)
@click.option("--note", required=True, metavar="TEXT", help="Why; kept for ever, and the user sees it.")
@json_option
@pool_options
def write_off(user: str, credits: str | None, note: str, as_json: bool) -> None:
    """Let the pool bear what somebody owes, or CREDITS of it. USER is an id or an e-mail address.

    What they have left pays first. Renters who wait for it are then paid.
    """
    with open_pool() as pool:
        document = pool.wallet.write_off(user, note, credits=credits)
    _tell(document, f"Written off: {_amount(document)} of what {_who(document)} owes.", as_json)
    if not as_json:
        from computepool.cli.display import exact_credits

        if document["filled_micros"]:
            tell(f"{exact_credits(document['filled_micros'])} were still there, and paid for their part of it.")
        if document["debt_micros"]:
            tell(f"{exact_credits(document['debt_micros'])} are still owed.")


def _amount(document: dict[str, Any], promotional: bool = False) -> str:
    from computepool.cli.display import in_credits

    return in_credits(str(document["credits"]), "promotional" if promotional else "")


def _who(document: dict[str, Any]) -> str:
    """As people know them; a team has only its id."""
    return str(document.get("email") or document["owner_id"])


def _tell(document: dict[str, Any], words: str, as_json: bool) -> None:
    from computepool.cli.display import exact_credits

    if as_json:
        print_json(document)
        return
    tell(clean(words))
    if document.get("repaid_micros"):
        tell(f"{exact_credits(document['repaid_micros'])} of them filled a debt.")
