"""For operators: do mails arrive, and what became of them."""

import click

from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json


@click.command(epilog="Example: computepool admin mail --test me@example.org")
@click.option("--test", "address", metavar="ADDRESS", help="Send a mail there now, and say what the server answered.")
@click.option("--waiting", is_flag=True, help="Only those that are still to be sent.")
@click.option("--given-up", is_flag=True, help="Only those that nobody took.")
@json_option
@pool_options
def mail(address: str | None, waiting: bool, given_up: bool, as_json: bool) -> None:
    """List the newest mails and what became of them, or send a test."""
    if waiting and given_up:
        raise click.UsageError("--waiting or --given-up: one of them.")
    with open_pool() as pool:
        if address is not None:
            document = pool.call("POST", "/admin/mails/test", {"address": address})
        else:
            state = "waiting" if waiting else "given_up" if given_up else None
            document = pool.call("GET", "/admin/mails" + (f"?state={state}" if state else ""))
    if as_json:
        print_json(document)
    elif address is not None:
        tell(f"{clean(document['where'])} took it: {clean(document['answer'])}")
    else:
        _print_mails(document)


def _print_mails(document: dict[str, object]) -> None:
    from datetime import datetime

    from computepool.cli.display import ago, print_table

    items = document["items"]
    assert isinstance(items, list)
    rows = [
        (
            ago(datetime.fromisoformat(one["created_at"])),
            one["address"],
            one["subject"],
            one["state"].replace("_", " "),
            one["tries"],
            one["words"],
        )
        for one in items
    ]
    if rows:
        headers = ("when", "to", "subject", "state", "tries", "the server said")
        print_table(headers, rows, below=("subject", "the server said"))
    else:
        tell("No mails.", dim=True)
    tell(f"They go to {clean(document['where'])}; {document['waiting']} wait.", dim=True)
    if document["away"]:
        tell(f"The server does not take any now: {clean(document['away'])}", fg="red")
