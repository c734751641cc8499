"""Where every credit of a job went, as a calculation that can be followed line by line."""

from typing import Any

import click

from computepool.cli.completion import JOB
from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json
from computepool.protocol.states import JOB_FINAL

KINDS = {
    "settle": "settled",
    "give_back": "given back",
    "clawback": "given back, after a check",
    "clawback_overturned": "paid again",
    "dispute_refund_undone": "paid again",
    "restitution": "given back, when the debt of its host was filled",
}


@click.command(epilog="Example: computepool explain last")
@click.argument("job", metavar="JOB", type=JOB)
@click.option(
    "--as",
    "view",
    type=click.Choice(["renter", "host"]),
    help="Show the renter's or the host's side.  [default: your own; for other admins, the renter's]",
)
@json_option
@pool_options
def explain(job: str, view: str | None, as_json: bool) -> None:
    """Say where every credit of a job went: rate, seconds, cost, fee, and what the host earned.

    JOB is an id, the beginning of one, a name or `last`. As a host, give the complete id of a job that ran on your
    machine: `computepool wallet entries` shows it.
    """
    with open_pool() as pool:
        document = pool.wallet.explain(pool.find_job(job), view=view)
    if as_json:
        print_json(document)
    else:
        _print_explained(document)


def _print_explained(document: dict[str, Any]) -> None:
    for one in document["attempts"]:
        _print_attempt(one, document["view"])
    for one in document["others"]:
        _print_other(one)
    if not document["attempts"] and document["state"] not in JOB_FINAL:
        tell("It has not run yet: nothing is held, nothing is paid.", dim=True)
    for check in document["checks"]:
        detail = f": {clean(check['detail'])}" if check["detail"] else ""
        click.echo(f"check {clean(check['id'])} of slice {check['slice']}: {clean(check['state'])}{detail}")
    for words in document["words"]:
        click.secho(clean(words), bold=True)


def _print_attempt(one: dict[str, Any], view: str) -> None:
    from rich.table import Table

    from computepool.cli.display import console, exact_credits

    ended = f", verdict {clean(one['verdict'])}" if one["verdict"] else ""
    click.secho(
        f"slice {one['slice']}, attempt {one['number']} on {clean(one['node_name'])}: {clean(one['state'])}{ended}",
        bold=True,
    )
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(overflow="fold")
    table.add_column(justify="right", no_wrap=True)
    table.add_column(justify="right", no_wrap=True)

    def add(steps: list[dict[str, Any]]) -> None:
        for step in steps:
            amount = "" if step["micros"] is None else exact_credits(step["micros"])
            table.add_row(f"  {clean(step['label'])}", clean(step["figure"]), amount)

    add(one["rate"])
    for payment in one["payments"]:
        kind = "instalment" if payment["kind"] == "settle" and payment["verdict"] is None else payment["kind"]
        table.add_row(f"  — {clean(KINDS.get(kind, kind.replace('_', ' ')))} ({clean(payment['entry_id'])})", "", "")
        add(payment["steps"])
    if len(one["payments"]) > 1:
        table.add_row("  — all together", "", "")
        for label, key in (("cost", "cost_micros"), ("fee", "fee_micros"), ("the host earns", "earned_micros")):
            table.add_row(f"  {label}", "=", exact_credits(one[key]))
    if one["held_micros"] and view == "renter":
        table.add_row("  held for it now", "", exact_credits(one["held_micros"]))
    if table.row_count:
        console().print(table)
    for words in one["words"]:
        click.echo(f"  {clean(words)}")
    click.echo()


def _print_other(one: dict[str, Any]) -> None:
    from computepool.cli.display import exact_credits

    click.echo(f"{clean(one['rule'])} {exact_credits(one['change_micros'])} ({clean(one['entry_id'])})")
