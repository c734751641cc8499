"""`computepool team`: shared wallets, jobs and machines, and who may do what with them."""

from typing import Any
from urllib.parse import quote

import click

from computepool.cli.errors import CliError, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

ROLES = ("owner", "admin", "member", "viewer")
role_option = click.option(
    "--role", type=click.Choice(ROLES), default="member", show_default=True, help="What they may do."
)


@click.group(epilog="Examples: computepool team create my-lab · computepool team invite my-lab ada@example.org")
def team() -> None:
    """Teams: a shared wallet, shared jobs, files and machines.

    Viewers see everything. Members run jobs, which the team pays for. Admins also change machines, the wallet and who
    belongs to the team. Owners also pay out, rename the team and make owners.
    """


@team.command("list", epilog="Example: computepool team list")
@json_option
@pool_options
def list_teams(as_json: bool) -> None:
    """List your teams, and your role in each."""
    with open_pool() as pool:
        document = pool.call("GET", "/teams")
    if as_json:
        print_json({**document, "next": None})
        return
    from computepool.cli.display import print_table

    rows = [(item["handle"], item["name"], item["role"], item["id"]) for item in document["items"]]
    print_table(("team", "name", "your role", "id"), rows)


@team.command("create", epilog="Example: computepool team create my-lab --name 'My lab'")
@click.argument("handle")
@click.option("--name", help="As people write it.  [default: the handle]")
@json_option
@pool_options
def create_team(handle: str, name: str | None, as_json: bool) -> None:
    """Make a team. You are its owner."""
    body = {"handle": handle, **({"name": name} if name is not None else {})}
    with open_pool() as pool:
        made = pool.call("POST", "/teams", body)
    if as_json:
        print_json(made)
        return
    tell(f"{clean(made['handle'])} is yours. Invite somebody: computepool team invite {clean(made['handle'])} ADDRESS")


@team.command("members", epilog="Example: computepool team members my-lab")
@click.argument("name", metavar="TEAM")
@json_option
@pool_options
def list_members(name: str, as_json: bool) -> None:
    """List the members of a team."""
    with open_pool() as pool:
        items = _members(pool, name)
    if as_json:
        print_json({"items": items, "next": None})
        return
    from computepool.cli.display import print_table

    rows = [
        (item["handle"], item["name"], item["role"], "service account" if item["service"] else item["email"] or "")
        for item in items
    ]
    print_table(("handle", "name", "role", "address"), rows)


@team.command("invite", epilog="Example: computepool team invite my-lab ada@example.org --role viewer")
@click.argument("name", metavar="TEAM")
@click.argument("email", metavar="ADDRESS")
@role_option
@json_option
@pool_options
def invite(name: str, email: str, role: str, as_json: bool) -> None:
    """Invite a person by e-mail address, and print a command for them. Only their account can use it, once, in seven
    days."""
    with open_pool() as pool:
        made = pool.call("POST", f"{_place(name)}/invitations", {"email": email, "role": role})
    if as_json:
        print_json(made)
        return
    click.echo(f"computepool team join {clean(made['token'])}")


@team.command("join", epilog="Example: computepool team join cpi_…")
@click.argument("token")
@json_option
@pool_options
def join(token: str, as_json: bool) -> None:
    """Accept an invitation to a team."""
    with open_pool() as pool:
        joined = pool.call("POST", "/invitations/accept", {"token": token})
    if as_json:
        print_json(joined)
        return
    tell(f"You are {joined['role']} of {clean(joined['handle'])}.")


@team.command("role", epilog="Example: computepool team role my-lab ada admin")
@click.argument("name", metavar="TEAM")
@click.argument("member")
@click.argument("role", type=click.Choice(ROLES))
@pool_options
def change_role(name: str, member: str, role: str) -> None:
    """Change the role of a member (handle, address or id). It applies at once."""
    with open_pool() as pool:
        found = _member(pool, name, member)
        pool.call("PATCH", f"{_place(name)}/members/{found['user_id']}", {"role": role})
    tell(f"{clean(found['handle'])} is {role} now.")


@team.command("remove", epilog="Example: computepool team remove my-lab ada")
@click.argument("name", metavar="TEAM")
@click.argument("member")
@pool_options
def remove(name: str, member: str) -> None:
    """Remove a member (handle, address or id). Their jobs continue. A service account ends."""
    with open_pool() as pool:
        found = _member(pool, name, member)
        pool.call("DELETE", f"{_place(name)}/members/{found['user_id']}")
    tell(f"{clean(found['handle'])} does not belong to {clean(name)} any more.")


@team.command("leave", epilog="Example: computepool team leave my-lab")
@click.argument("name", metavar="TEAM")
@pool_options
def leave(name: str) -> None:
    """Leave a team."""
    with open_pool() as pool:
        pool.call("POST", f"{_place(name)}/leave")
    tell(f"You do not belong to {clean(name)} any more.")


@team.command("service-account", epilog="Example: computepool team service-account my-lab ci --role member --days 90")
@click.argument("name", metavar="TEAM")
@click.argument("account")
@click.option(
    "--role", type=click.Choice(("member", "viewer")), default="member", show_default=True, help="What it may do."
)
@click.option("--days", type=click.IntRange(1, 366), help="Days until its token expires.  [default: 90]")
@json_option
@pool_options
def create_service_account(name: str, account: str, role: str, days: int | None, as_json: bool) -> None:
    """Make an account for a program, such as CI, and print its token. It acts only for the team."""
    body: dict[str, object] = {"name": account, "role": role}
    if days is not None:
        body["expires_in_days"] = days
    with open_pool() as pool:
        made = pool.call("POST", f"{_place(name)}/service-accounts", body)
    if as_json:
        print_json(made)
        return
    click.echo(clean(made["token"]))
    tell("Copy it now: it is not shown again.", dim=True)


def _place(name: str) -> str:
    return f"/teams/{quote(name, safe='')}"


def _members(pool: Any, name: str) -> list[dict[str, Any]]:
    """All of them, page by page."""
    items: list[dict[str, Any]] = []
    after = ""
    while True:
        page = pool.call("GET", f"{_place(name)}/members{after}")
        items += page["items"]
        if page["next"] is None:
            return items
        after = f"?cursor={quote(page['next'], safe='')}"


def _member(pool: Any, name: str, member: str) -> dict[str, Any]:
    found = [item for item in _members(pool, name) if member in (item["user_id"], item["handle"], item["email"])]
    if not found:
        raise CliError(f"{name} has no member {member!r}.", f"computepool team members {name} shows them.")
    return found[0]
