"""For everybody: who is signed in, and with what."""

import socket
import sys
import time
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.errors import CliError, clean, tell
from computepool.cli.options import (
    chosen_home,
    home_option,
    insecure_option,
    is_insecure,
    json_option,
    open_pool,
    pool_options,
    print_json,
)

if TYPE_CHECKING:
    from pathlib import Path

    from computepool.client.config import Target
    from computepool.client.pool import Pool

CLI_TOKEN_DAYS = 366


@click.command(epilog="Examples: computepool login https://pool.example.org · login https://192.0.2.7:8000#sha256:…")
@click.argument("address", metavar="URL")
@click.option(
    "--token", metavar="TOKEN", help="A personal token, for CI and other programs; - reads it from standard input."
)
@insecure_option
@home_option
def login(address: str, token: str | None) -> None:
    """Sign in to a hub: in a browser with a short code, or with --token.

    If the hub has a certificate of its own, add its fingerprint: URL#sha256:…, as `up --host` prints it. Later commands
    then accept only this certificate.
    """
    from computepool.client.config import Credentials, find_target, save_credentials
    from computepool.client.pool import Pool

    target = find_target(address, home=chosen_home(), insecure=is_insecure())
    if token is not None:
        chosen = sys.stdin.readline().strip() if token == "-" else token.strip()
        if not chosen:
            raise CliError("There is no token on standard input.", "echo $TOKEN | computepool login URL --token -")
    else:
        chosen = _login_by_device(target)
    with Pool(target.address, chosen, target.home, insecure=target.insecure) as pool:
        me = pool.me()
    save_credentials(target.home, Credentials(target.url, chosen, target.fingerprint, target.insecure))
    signing_key_text(target.home)
    tell(f"Signed in to {target.url} as {clean(me.email or me.name or me.id)}.")


def _login_by_device(target: "Target") -> str:
    """A personal token, after a person approved it. Sessions are short and rotate; several commands share one token."""
    from computepool.client.errors import HubError
    from computepool.client.http import Http

    http = Http(target.address, None, insecure=target.insecure)
    try:
        begun = http.post("/auth/device")
        where = begun.get("verification_uri_complete") or begun["verification_uri"]
        tell(f"Open {clean(where)}")
        tell(f"and confirm the code {clean(begun['user_code'])}", bold=True)
        _open_browser(str(where))
        wait = max(float(begun.get("interval", 2)), 0.05)
        until = time.monotonic() + float(begun.get("expires_in", 600))
        while time.monotonic() < until:
            time.sleep(wait)
            try:
                pair = http.post("/auth/device/token", {"device_code": begun["device_code"]})
            except HubError as error:
                if error.code == "slow_down":
                    wait += 1
                elif error.code != "authorization_pending":
                    raise
                continue
            return _personal_token(target, str(pair["access_token"]))
    finally:
        http.close()
    raise CliError("Nobody confirmed the code in time.", f"Start again: computepool login {target.address}")


def _personal_token(target: "Target", access_token: str) -> str:
    from computepool.client.pool import Pool

    with Pool(target.address, access_token, target.home, insecure=target.insecure) as pool:
        made = pool.create_token(f"CLI on {socket.gethostname()}"[:60], expires_in_days=CLI_TOKEN_DAYS)
        pool.call("POST", "/auth/logout")
    return str(made["token"])


def _open_browser(where: str) -> None:
    """Only where a person sits in front of a desktop."""
    import os

    if where.startswith(("http://", "https://")) and sys.stderr.isatty():
        desktop = sys.platform in ("darwin", "win32") or os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY")
        if desktop and not os.environ.get("SSH_CONNECTION"):
            import webbrowser

            webbrowser.open(where)


@click.command(epilog="Examples: computepool logout · computepool logout --everywhere")
@click.option("--everywhere", is_flag=True, help="Also end every session in a browser. Other personal tokens stay.")
@pool_options
def logout(everywhere: bool) -> None:
    """Sign out: revoke this machine's token and forget it."""
    from computepool.client.config import forget_credentials, load_credentials
    from computepool.client.errors import ClientError

    home = chosen_home()
    saved = load_credentials(home)
    if saved is None:
        tell("Nobody is signed in here.", dim=True)
        return
    try:
        with open_pool() as pool:
            if everywhere:
                pool.call("DELETE", "/sessions")
            if pool.target.token == saved.token:
                _revoke_own(pool)
    except ClientError as error:
        tell(
            f"The hub did not take the token back ({clean(error.message)}); it is forgotten here all the same.",
            dim=True,
        )
    forget_credentials(home)
    tell(f"Signed out of {saved.url}.")


def _revoke_own(pool: "Pool") -> None:
    token_id = pool.me_document().get("token_id")
    if isinstance(token_id, str):
        pool.revoke_token(token_id)


@click.command(epilog="Example: computepool whoami --json")
@json_option
@pool_options
def whoami(as_json: bool) -> None:
    """Show who is signed in, and where."""
    with open_pool() as pool:
        document, url = pool.me_document(), pool.target.url
    if as_json:
        print_json({**document, "url": url})
        return
    from computepool.cli.display import print_pairs

    names = ("handle", "name", "public_name", "email", "role", "country", "id")
    teams = ", ".join(f"{team['handle']} ({team['role']})" for team in document.get("teams") or ())
    told = [(name.replace("_", " "), document.get(name)) for name in names]
    print_pairs([("hub", url), *told, ("teams", teams or None)])


@click.command("public-name", epilog="Examples: computepool public-name gpu-garage · computepool public-name --remove")
@click.argument("name", required=False)
@click.option("--remove", is_flag=True, help="Be named nowhere.")
@json_option
@pool_options
def public_name(name: str | None, remove: bool, as_json: bool) -> None:
    """Show your public name, or choose one. The leaderboard and the pages of your machines show it to everybody.

    Without one, what your machines do counts among the others.
    """
    if remove and name is not None:
        raise CliError("A name and --remove contradict each other.", "Give one of them.")
    with open_pool() as pool:
        if remove or name is not None:
            document = pool.call("PATCH", "/me", {"public_name": name})
        else:
            document = pool.me_document()
    known = document.get("public_name")
    if as_json:
        print_json({"public_name": known})
    elif known is None:
        tell("You have no public name. Choose one with: computepool public-name NAME", dim=True)
    else:
        click.echo(clean(known))


@click.command(epilog="Example: computepool key")
@home_option
def key() -> None:
    """Print the public key with which this CLI signs the jobs that it submits. It is made on first use.

    Your machines take only signed jobs for your own: they need no sandbox where you allow that, and do not wait until
    you leave the machine. The machine with the same home knows the key; for another one, run there:
    computepool agent trust KEY
    """
    click.echo(signing_key_text(chosen_home()))


def signing_key_text(home: "Path") -> str:
    from computepool.client.signing_key import ensure_signing_key
    from computepool.protocol.own_job import key_text

    return key_text(ensure_signing_key(home).public_key())


@click.group(epilog="Example: computepool token create ci --scope jobs:write --days 30")
def token() -> None:
    """Personal access tokens, for CI and other programs."""


@token.command("create", epilog="Example: computepool token create ci --scope jobs:read --scope jobs:write")
@click.argument("name")
@click.option(
    "--scope",
    "scopes",
    multiple=True,
    metavar="SCOPE",
    help="What the token may do; may be repeated.  [default: everything that you may]",
)
@click.option("--days", type=click.IntRange(1, 366), help="Days until the token expires.  [default: 90]")
@json_option
@pool_options
def create_token(name: str, scopes: tuple[str, ...], days: int | None, as_json: bool) -> None:
    """Make a token. It is shown only once."""
    with open_pool() as pool:
        made = pool.create_token(name, scopes=scopes, expires_in_days=days)
    if as_json:
        print_json(made)
        return
    click.echo(clean(made["token"]))
    tell("Copy it now: it is not shown again.", dim=True)


@token.command("list", epilog="Example: computepool token list")
@json_option
@pool_options
def list_tokens(as_json: bool) -> None:
    """List your tokens, without their secrets."""
    with open_pool() as pool:
        items = pool.tokens()
    if as_json:
        print_json({"items": items, "next": None})
        return
    from computepool.cli.display import print_table

    print_table(
        ("name", "scopes", "created", "expires", "last used", "id"),
        [
            (
                item.get("name", ""),
                ",".join(item.get("scopes") or []),
                _day(item.get("created_at")),
                _day(item.get("expires_at")),
                _day(item.get("last_used_at")) or "never",
                item.get("id", ""),
            )
            for item in items
        ],
        spare=("created", "last used"),
    )


@token.command("revoke", epilog="Example: computepool token revoke ci")
@click.argument("name", metavar="NAME|ID")
@pool_options
def revoke_token(name: str) -> None:
    """Revoke a token: it stops working at once."""
    with open_pool() as pool:
        found = [item for item in pool.tokens() if name in (item.get("id"), item.get("name"))]
        if not found:
            raise CliError(f"There is no token {name!r}.", "computepool token list shows them.")
        if len(found) > 1:
            raise CliError(f"{len(found)} tokens have the name {name!r}.", "Revoke it by its id: token list.")
        pool.revoke_token(str(found[0]["id"]))
    tell(f"Revoked {clean(found[0].get('name') or name)}.")


def _day(value: Any) -> str:
    return str(value)[:10] if value else ""
