"""For hosts: the tokens with which machines join, listed and revoked."""

from datetime import datetime

import click

from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json


@click.group("join-tokens", invoke_without_command=True, epilog="Example: computepool node join-tokens --usable")
@click.option("--usable", is_flag=True, help="Only tokens that can still be used.")
@json_option
@pool_options
@click.pass_context
def join_tokens(ctx: click.Context, usable: bool, as_json: bool) -> None:
    """List your join tokens, the newest first, with the machines that joined; or revoke one."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        document = pool.call("GET", f"/nodes/join-tokens?limit=500{'&usable=true' if usable else ''}")
    if as_json:
        print_json(document)
        return
    if not document["items"]:
        tell("No join token. Make one with: computepool node join-token", dim=True)
        return
    from computepool.cli.display import instant, print_table

    rows = [
        (
            one["id"],
            one["state"].replace("_", " "),
            f"{one['uses_left']} of {one['uses']}",
            instant(datetime.fromisoformat(one["expires_at"])),
            ", ".join(node["name"] for node in one["nodes"]),
        )
        for one in document["items"]
    ]
    print_table(("id", "state", "left", "until", "machines"), rows, below=("machines",))


@join_tokens.command(epilog="Example: computepool node join-tokens revoke join_4tq7")
@click.argument("token_id", metavar="ID")
@json_option
@pool_options
def revoke(token_id: str, as_json: bool) -> None:
    """Revoke a join token. Machines that joined with it stay."""
    from urllib.parse import quote

    with open_pool() as pool:
        document = pool.call("DELETE", f"/nodes/join-tokens/{quote(token_id, safe='')}").json()
    if as_json:
        print_json(document)
    else:
        tell(f"No machine joins with {clean(document['id'])} any more.")
