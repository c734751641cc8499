"""For operators: who is here, and who of them runs the pool."""

from datetime import datetime
from typing import TYPE_CHECKING

import click

from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.pool import Pool

ROLES = ["admin", "user"]


def owner_id_of(pool: "Pool", named: str) -> str:
    """Of a user by e-mail address; any other name is taken for an id."""
    return str(pool.users.show(named)["id"]) if "@" in named else named


@click.group(invoke_without_command=True, epilog="Example: computepool admin users --search alice")
@click.option("--search", metavar="TEXT", help="Only those with this in their address or name.")
@click.option("--role", type=click.Choice(ROLES), help="Only those.")
@click.option("--disabled", is_flag=True, help="Only accounts that are disabled.")
@click.option("-n", "--limit", default=100, show_default=True, type=click.IntRange(1, 100_000), help="Show this many.")
@json_option
@pool_options
@click.pass_context
def users(ctx: click.Context, search: str | None, role: str | None, disabled: bool, limit: int, as_json: bool) -> None:
    """List who has an account, the newest first; give and take the role of an admin; close accounts."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        items, is_more = pool.users.list_all(search, role, limit, disabled=disabled or None)
    if as_json:
        print_json({"items": items, "more": is_more})
        return
    if not items:
        tell("Nobody is like that." if search or role or disabled else "Nobody has an account.", dim=True)
        return
    from computepool.cli.display import instant, print_table

    rows = [
        (
            one["email"],
            one["name"],
            one["role"] if one["disabled_at"] is None else f"{one['role']}, disabled",
            instant(datetime.fromisoformat(one["created_at"]))[:10],
            one["id"],
        )
        for one in items
    ]
    print_table(("address", "user", "role", "since", "id"), rows, spare=("since",))
    if is_more:
        tell(f"The newest {len(items)}; more with --limit.", dim=True)


@users.command("role", epilog="Example: computepool admin users role alice@example.org admin")
@click.argument("user")
@click.argument("role", type=click.Choice(ROLES))
@json_option
@pool_options
def change_role(user: str, role: str, as_json: bool) -> None:
    """Let somebody run the pool, or no longer. USER is an id or an e-mail address.

    Their sessions and tokens end, so they sign in again. The last admin stays one.
    """
    with open_pool() as pool:
        before = pool.users.show(user)
        document = pool.users.set_role(before["id"], role)
    if as_json:
        print_json(document)
        return
    is_admin, is_new = document["role"] == "admin", before["role"] != document["role"]
    whom = clean(document["email"])
    if is_admin:
        tell(f"{whom} is an admin{', from the next sign-in on' if is_new else ' already'}.")
    elif is_new:
        tell(f"{whom} is no admin any more: their sessions and tokens have ended.")
    else:
        tell(f"{whom} is no admin already.")


@users.command("disable", epilog="Example: computepool admin users disable mallory@example.org --reason 'stolen card'")
@click.argument("user")
@click.option("--reason", required=True, metavar="TEXT", help="Why. It stays in the audit.")
@click.option("--cancel-jobs", is_flag=True, help="Cancel their jobs that wait or run; else they go on.")
@json_option
@pool_options
def disable_user(user: str, reason: str, cancel_jobs: bool, as_json: bool) -> None:
    """Close an account: sessions and tokens end at once, and nobody can sign in to it. Nodes and credits stay."""
    with open_pool() as pool:
        document = pool.users.disable(user, reason, cancel_jobs=cancel_jobs)
    if as_json:
        print_json(document)
        return
    ended = document["sessions_ended"] + document["tokens_ended"]
    tell(f"{clean(document['user']['email'])} is disabled; {ended} sessions and tokens ended. {document['message']}")


@users.command("enable", epilog="Example: computepool admin users enable alice@example.org")
@click.argument("user")
@json_option
@pool_options
def enable_user(user: str, as_json: bool) -> None:
    """Open a disabled account again. They sign in anew."""
    with open_pool() as pool:
        document = pool.users.enable(user)
    if as_json:
        print_json(document)
    else:
        tell(f"{clean(document['email'])} can sign in again.")
