"""Money out, and promotional credit in: cash-outs and vouchers, for hosts and for operators."""

from datetime import datetime
from typing import Any

import click

from computepool.cli.errors import CliError, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

STATES = ("requested", "approved", "paid", "rejected", "failed", "canceled")
LATER_SHOWN = 5


@click.command("cash-out", epilog="Example: computepool wallet cash-out 500")
@click.argument("credits", metavar="N")
@json_option
@pool_options
def cash_out(credits: str, as_json: bool) -> None:
    """Ask for N credits of your earnings to be paid out.

    They are set aside at once, and come back if it is rejected. `wallet cash-outs` says how many can be cashed out.
    """
    with open_pool() as pool:
        made = pool.cash_outs.request(credits)
    if as_json:
        print_json(made)
    else:
        from computepool.cli.display import in_credits

        amount = f"{in_credits(made['credits'])}, {clean(made['amount'])}"
        tell(f"{clean(made['id'])}: {amount}. {clean(made['message'])}")


@click.group("cash-outs", invoke_without_command=True, epilog="Example: computepool wallet cash-outs")
@json_option
@pool_options
@click.pass_context
def cash_outs(ctx: click.Context, as_json: bool) -> None:
    """List your cash-outs; what can be cashed out now, and when the rest can; cancel one."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        document = pool.cash_outs.own()
    if as_json:
        print_json(document)
        return
    if document["items"]:
        from computepool.cli.display import ago, print_table

        rows = [
            (
                one["id"],
                ago(datetime.fromisoformat(one["created_at"])),
                one["credits"],
                one["amount"],
                _state(one),
                one["reference"] or "",
                one["note"],
            )
            for one in document["items"]
        ]
        headers = ("id", "asked", "credits", "amount", "state", "reference", "note")
        print_table(headers, rows, below=("id", "note", "reference"))
    _tell_cashable(document["can"])


@cash_outs.command("cancel", epilog="Example: computepool wallet cash-outs cancel cashout_4tq7")
@click.argument("cash_out_id", metavar="ID")
@json_option
@pool_options
def cancel_cash_out(cash_out_id: str, as_json: bool) -> None:
    """Take back a cash-out that nobody approved yet. Its credits are earnings again."""
    from urllib.parse import quote

    with open_pool() as pool:
        document = pool.call("POST", f"/wallet/cash-outs/{quote(cash_out_id, safe='')}/cancel")
    if as_json:
        print_json(document)
    else:
        tell(f"{clean(document['id'])} is {clean(document['state'])}. {clean(document['message'])}")


def _state(one: dict[str, Any]) -> str:
    """With what came back of it: a cash-out that was reversed stays paid."""
    from computepool.protocol.units import format_credits

    back = one["returned_micros"]
    if not back:
        return str(one["state"])
    return f"{one['state']}, {'all' if back == one['micros'] else format_credits(back)} came back"


def _tell_cashable(can: dict[str, Any]) -> None:
    from computepool.protocol.units import format_credits, spell_credits

    now, least = can["cashable_micros"], can["minimum_micros"]
    if can["frozen"]:
        tell("Cash-outs are frozen because the ledger does not add up. An operator has to find the cause.", fg="red")
    tell(f"Now: {spell_credits(now)} can be cashed out, at least {format_credits(least)} at once.")
    by_day: dict[str, int] = {}
    for one in can["later"]:
        day = f"{datetime.fromisoformat(one['at']).astimezone():%Y-%m-%d}"
        by_day[day] = by_day.get(day, 0) + one["micros"]
    for day, micros in [*by_day.items()][:LATER_SHOWN]:
        tell(f"From {day}: {format_credits(micros)} more, if nobody disputes it.", dim=True)
    if len(by_day) > LATER_SHOWN:
        rest = sum([*by_day.values()][LATER_SHOWN:])
        tell(f"Later: {format_credits(rest)} more.", dim=True)
    if can["unknown_micros"]:
        tell(f"{format_credits(can['unknown_micros'])} more wait for jobs that are running or disputed.", dim=True)


@click.command(epilog="Example: computepool wallet redeem 7QXM-2D9K-HT4V-PW8C")
@click.argument("code")
@json_option
@pool_options
def redeem(code: str, as_json: bool) -> None:
    """Get the credits of a voucher: to be spent, never cashed out."""
    with open_pool() as pool:
        document = pool.cash_outs.redeem(code)
    if as_json:
        print_json(document)
    else:
        from computepool.cli.display import in_credits

        is_one = document["credits"] == "1"
        spent = f"{'It is' if is_one else 'They are'} spent before all others, and never cashed out."
        tell(f"{in_credits(document['credits'])} for you. {spent}")


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


@click.group("cash-outs", invoke_without_command=True, epilog="Example: computepool admin cash-outs --state requested")
@click.option("--state", "states", type=click.Choice(STATES), multiple=True, help="Only these; may be given again.")
@json_option
@pool_options
@click.pass_context
def admin_cash_outs(ctx: click.Context, states: tuple[str, ...], as_json: bool) -> None:
    """List what hosts want to be paid, and decide about it."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        document = pool.cash_outs.list_all(states)
    if as_json:
        print_json(document)
        return
    if document["frozen"]:
        tell("Frozen: the ledger does not add up. See: computepool admin ledger check", fg="red")
    if not document["items"]:
        tell("No cash-outs.", dim=True)
        return
    from computepool.cli.display import ago, credits, print_table

    rows = [
        (
            one["id"],
            ago(datetime.fromisoformat(one["created_at"])),
            one["email"] or one["owner_id"],
            one["credits"],
            one["amount"],
            _state(one),
            one["reference"] or "",
            credits(one["debt_micros"]) if one["debt_micros"] else "",
            one["note"],
        )
        for one in document["items"]
    ]
    headers = ("id", "asked", "host", "credits", "amount", "state", "reference", "owes", "note")
    print_table(headers, rows, below=("id", "note", "reference", "host"))


@admin_cash_outs.command(epilog="Example: computepool admin cash-outs approve cashout_01k9…")
@click.argument("cash_out_id", metavar="CASH-OUT")
@click.option("--note", default="", metavar="TEXT", help="For the host.")
@json_option
@pool_options
def approve(cash_out_id: str, note: str, as_json: bool) -> None:
    """Let it be paid: by the processor at once, or by hand."""
    with open_pool() as pool:
        document = pool.cash_outs.approve(cash_out_id, note)
    by_hand = (
        f"Send {clean(document['amount'])}, then: computepool admin cash-outs paid {clean(document['id'])} REFERENCE"
    )
    _tell_decided(document, as_json, by_hand if document["way"] == "manual" else None)


@admin_cash_outs.command(
    epilog="Example: computepool admin cash-outs reject cashout_01k9… --note 'no bank account yet'"
)
@click.argument("cash_out_id", metavar="CASH-OUT")
@click.option("--note", required=True, metavar="TEXT", help="Why; the host reads it.")
@json_option
@pool_options
def reject(cash_out_id: str, note: str, as_json: bool) -> None:
    """Give the credits back to the host's earnings."""
    with open_pool() as pool:
        document = pool.cash_outs.reject(cash_out_id, note)
    _tell_decided(document, as_json)


@admin_cash_outs.command(epilog="Example: computepool admin cash-outs paid cashout_01k9… 'UTR 4211'")
@click.argument("cash_out_id", metavar="CASH-OUT")
@click.argument("reference")
@click.option("--note", default="", metavar="TEXT", help="For the host.")
@json_option
@pool_options
def paid(cash_out_id: str, reference: str, note: str, as_json: bool) -> None:
    """Say that the money was sent. REFERENCE is what the host finds on their statement."""
    with open_pool() as pool:
        document = pool.cash_outs.paid(cash_out_id, reference, note)
    _tell_decided(document, as_json)


@admin_cash_outs.command(
    epilog="Example: computepool admin cash-outs reverse cashout_01k9… 200 --note 'the dispute of Monday'"
)
@click.argument("cash_out_id", metavar="CASH-OUT")
@click.argument("credits", metavar="[CREDITS]", required=False)
@click.option("--note", required=True, metavar="TEXT", help="Why; the host reads it.")
@json_option
@pool_options
def reverse(cash_out_id: str, credits: str | None, note: str, as_json: bool) -> None:
    """Let the processor take back what it paid.

    All that did not come back yet, or CREDITS of it. What the host owes is paid first, the rest is earnings again.
    """
    with open_pool() as pool:
        document = pool.cash_outs.reverse(cash_out_id, credits, note=note)
    if as_json:
        print_json(document)
    elif document["state"] != "refused":
        from computepool.cli.display import in_credits

        tell(f"{in_credits(document['credits'])} of {clean(document['cash_out_id'])}: {clean(document['message'])}")
    if document["state"] == "refused":
        raise CliError(clean(document["message"]), "The host's account may lack it now: try again later, or take less.")


def _tell_decided(document: dict[str, Any], as_json: bool, next_step: str | None = None) -> None:
    if as_json:
        print_json(document)
        return
    tell(f"{clean(document['id'])} is {clean(document['state'])}: {clean(document['amount'])}.")
    if next_step:
        tell(next_step, dim=True)


@click.group(invoke_without_command=True, epilog="Example: computepool admin vouchers")
@json_option
@pool_options
@click.pass_context
def vouchers(ctx: click.Context, as_json: bool) -> None:
    """Voucher codes: each adds promotional credit to the account that redeems it."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        items = pool.cash_outs.vouchers()
    if as_json:
        print_json({"items": items})
        return
    if not items:
        tell("No vouchers. Make one: computepool admin vouchers create 50", dim=True)
        return
    from computepool.cli.display import instant, print_table

    rows = [
        (
            one["id"],
            one["credits"],
            f"{one['used']} of {one['uses']}",
            "withdrawn" if one["withdrawn_at"] else _until(one["expires_at"], instant),
            one["note"],
        )
        for one in items
    ]
    print_table(("id", "credits", "used", "until", "note"), rows, below=("id", "note"))


def _until(at: str | None, shown: Any) -> str:
    return str(shown(datetime.fromisoformat(at))) if at else ""


@vouchers.command("create", epilog="Example: computepool admin vouchers create 50 --uses 20 --days 30 --note 'the lab'")
@click.argument("credits", metavar="CREDITS")
@click.option("--uses", type=click.IntRange(1), default=1, show_default=True, help="How many people, each once.")
@click.option("--days", type=click.IntRange(1), help="It expires after so many; else never.")
@click.option("--code", help="One that you think up; else one that nobody guesses.")
@click.option("--note", default="", metavar="TEXT", help="What it is for.")
@json_option
@pool_options
def create_voucher(credits: str, uses: int, days: int | None, code: str | None, note: str, as_json: bool) -> None:
    """Make one, and print its code, which nobody can look up later."""
    with open_pool() as pool:
        made = pool.cash_outs.make_voucher(credits, uses=uses, expires_in_days=days, code=code, note=note)
    if as_json:
        print_json(made)
        return
    from computepool.cli.display import in_credits

    tell(f"{clean(made['id'])}: {in_credits(made['credits'])}. Its code is shown now, and never again:")
    click.echo(clean(made["code"]))


@vouchers.command("withdraw", epilog="Example: computepool admin vouchers withdraw voucher_01k9…")
@click.argument("voucher")
@json_option
@pool_options
def withdraw_voucher(voucher: str, as_json: bool) -> None:
    """Let nobody redeem it any more; who has keeps what they got."""
    with open_pool() as pool:
        document = pool.cash_outs.withdraw_voucher(voucher)
    if as_json:
        print_json(document)
    else:
        tell(f"{clean(document['id'])} is withdrawn. {document['used']} of {document['uses']} had redeemed it.")
