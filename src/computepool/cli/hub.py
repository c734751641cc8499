"""For operators: the pieces of `up`, one by one. Settings come from the environment."""

import asyncio
import contextlib
import os
import shlex
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from computepool.cli.agent import print_checks
from computepool.cli.errors import FAILED, USAGE, CliError, clean, tell
from computepool.cli.options import (
    chosen_home,
    home_option,
    insecure_option,
    is_insecure,
    json_option,
    print_json,
    typed_home,
)

PASSPHRASE_VARIABLE = "COMPUTEPOOL_BACKUP_PASSPHRASE"
USUAL_URL = "http://127.0.0.1:8000"


def hub_commands() -> Any:
    """The hub's own code, loaded only where a hub is run: the light install comes without."""
    try:
        from computepool.hub import commands
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("computepool"):
            raise
        raise CliError(
            f"This installation has no hub: the package {error.name} is missing.",
            "In a clone of ComputePool: pip install '.[hub]', or ./dev up",
        ) from None
    return commands


def hub_settings(**overrides: object) -> Any:
    commands = hub_commands()
    return commands.load_settings(home=chosen_home(), **overrides)


@contextlib.contextmanager
def database_trouble() -> Iterator[None]:
    """A database that does not answer is the operator's to mend, not a fault of ours."""
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except SQLAlchemyError as error:
        lines = str(error.__cause__ or error).strip().splitlines()
        raise CliError(
            f"The database does not do its work: {lines[0] if lines else type(error).__name__}",
            "Check COMPUTEPOOL_DATABASE_URL. More: computepool hub doctor",
        ) from error


def here(words: str) -> str:
    """A command for the same hub as this one: with the home folder, where that was typed."""
    home = typed_home()
    return f"computepool {words}" + (f" --home {shlex.quote(home)}" if home else "")


@click.group(epilog="Example: computepool hub migrate && computepool hub serve --host 0.0.0.0")
def hub() -> None:
    """Run, migrate, check and back up a hub. Settings come from the environment: see .env.example."""


@hub.command(epilog="Example: computepool hub serve --host 0.0.0.0 --port 8000")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@insecure_option
@home_option
def serve(host: str, port: int) -> None:
    """Run the hub alone, on a schema that `hub migrate` brought up to date. Its first admin: `hub admin`.

    Beyond loopback it speaks HTTPS, with COMPUTEPOOL_TLS_CERTIFICATE or a certificate that it makes; plain HTTP where
    COMPUTEPOOL_PUBLIC_URL is that of a proxy with TLS, or with --insecure.
    """
    commands, settings = hub_commands(), hub_settings()
    certificate = None if is_insecure() else commands.certificate_of(settings, host)
    listener = bind(commands, host, port)
    with database_trouble():
        commands.run(_serve(commands, settings, listener, certificate))


async def _serve(commands: Any, settings: Any, listener: socket.socket, certificate: Any) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    host, port = listener.getsockname()[:2]

    def ready() -> None:
        tell(f"The hub is ready: {url_at(host, port, https=certificate is not None)}")
        if certificate is not None and certificate.pin is not None:
            tell(f"  Its own certificate, with the public key {certificate.fingerprint}: join and login need it, as")
            tell(f"  {url_at(commands.own_address(), port, https=True)}#{certificate.fingerprint}")

    await commands.serve(settings, listener, ready=ready, stop=stop, certificate=certificate)


def url_at(host: str, port: int, *, https: bool) -> str:
    return f"{'https' if https else 'http'}://{f'[{host}]' if ':' in host else host}:{port}"


def bind(commands: Any, host: str, port: int) -> socket.socket:
    try:
        listener: socket.socket = commands.bind(host, port)
    except OSError as error:
        raise port_trouble(error, host, port) from None
    return listener


def port_trouble(error: OSError, host: str, port: int) -> Exception:
    import errno

    if error.errno == errno.EADDRINUSE:
        return CliError(f"Port {port} is in use.", f"Choose another: --port {port + 1}, or --port 0 for any free one.")
    if error.errno == errno.EACCES:
        return CliError(f"Port {port} is not for ordinary users.", "Choose one above 1023, such as --port 8000.")
    if error.errno == errno.EADDRNOTAVAIL:
        return CliError(f"{host} is not an address of this machine.", "Use 127.0.0.1, or 0.0.0.0 for all of them.")
    return error


@hub.command(epilog="Example: computepool hub migrate")
@home_option
def migrate() -> None:
    """Bring the database's schema up to date; makes it where there is none."""
    commands, settings = hub_commands(), hub_settings()
    with database_trouble():
        tell(f"The schema is at {commands.migrate(settings)}.")
    tell(f"Make the first admin, or a new way in: {here('hub admin')}")
    tell(f"Start the hub: {here('hub serve')}")


@hub.command(epilog="Example: computepool hub admin --email me@example.org")
@click.option("--token", "with_token", is_flag=True, help="Make a personal token as well, for the CLI.")
@click.option("--email", metavar="ADDRESS", help="Make this the first admin's address, for mails to operators.")
@json_option
@home_option
def admin(with_token: bool, email: str | None, as_json: bool) -> None:
    """Make the first admin if there is none, and print a link that signs in once, within 15 minutes.

    The hub may be running or not. A running one takes the link at once, but a token of --token only after its next
    start: it keeps those in memory. Signed in through the link, `computepool login URL` needs no restart.
    """
    commands, settings = hub_commands(), hub_settings()
    with database_trouble():
        made = commands.make_admin(settings, with_token=with_token, email=email)
    base = settings.public_url or USUAL_URL
    if as_json:
        document = {"admin_id": made.admin_id, "email": made.email, "sign_in_url": base + made.sign_in_path}
        print_json({**document, **({"token": made.token} if made.token else {})})
        return
    made_now = "Made the first admin. " if made.is_new_admin else ""
    tell(f"{made_now}This link signs in as the admin {clean(made.email)}, {made.admin_id}:", dim=True)
    click.echo(base + made.sign_in_path)
    if settings.public_url is None:
        tell(f"  Where the hub is not at {USUAL_URL}, put its own address there: COMPUTEPOOL_PUBLIC_URL.", dim=True)
    if made.token is not None:
        click.echo(made.token)
        tell(f"  For this CLI: computepool login {base} --token {made.token[:4]}…", dim=True)
        tell("  A hub that is running now takes this token after its next start; the link works at once.", dim=True)


@hub.group(epilog="Example: computepool hub keys list")
def keys() -> None:
    """List and replace the hub's keys: the one that signs its orders, and the secret that seals it.

    To replace the signing key, first `announce`, and restart the hub: nodes pin the next key when they connect. Once
    all have, `rotate`, and restart it again. A node that was away all the time between has to join again.

    To replace the secret, stop the hub, `rotate-secret`, and start it again.
    """


@keys.command("list", epilog="Example: computepool hub keys list")
@json_option
@home_option
def list_keys(as_json: bool) -> None:
    """List the keys that sign or signed the hub's orders, the newest first."""
    commands, settings = hub_commands(), hub_settings()
    with database_trouble():
        rows = commands.list_keys(settings)
    if as_json:
        print_json(
            [
                {"id": row.id, "state": row.state, "created_at": row.created_at, "not_after": row.not_after}
                for row in rows
            ]
        )
        return
    for row in rows:
        ended = f", ends {row.not_after:%Y-%m-%d %H:%M} UTC" if row.not_after is not None else ""
        click.echo(f"{row.id}  {row.state}  made {row.created_at:%Y-%m-%d %H:%M} UTC{ended}")
    if not rows:
        tell("There are none yet: the hub makes its first one when it first starts.")


@keys.command(epilog="Example: computepool hub keys announce")
@home_option
def announce() -> None:
    """Make the next key. Nodes learn of it from a hub that was started afterwards."""
    commands, settings = hub_commands(), hub_settings()
    with database_trouble():
        key_id = commands.announce_key(settings)
    click.echo(key_id)
    tell("Announced. Restart the hub now: its nodes pin this key as they connect.")
    tell(f"  When all of them have: {here('hub keys rotate')}", dim=True)


@keys.command(epilog="Example: computepool hub keys rotate")
@click.option("--force", is_flag=True, help="Though some nodes have not heard of it: those have to join again.")
@home_option
def rotate(force: bool) -> None:
    """Make the announced key the current one. The old one ends with the hub's next start."""
    commands, settings = hub_commands(), hub_settings()
    with database_trouble():
        try:
            key_id = commands.rotate_key(settings, force=force)
        except commands.KeyNotHeard as unheard:
            hint = "Restart the hub and wait until they are back; or ban them, or rotate with --force."
            raise CliError(str(unheard), hint) from None
    if key_id is None:
        raise CliError("No next key is announced.", f"First: {here('hub keys announce')}")
    click.echo(key_id)
    tell("Rotated. Restart the hub now: until then it signs with the old key.")


@keys.command("rotate-secret", epilog="Example: computepool hub keys rotate-secret")
@json_option
@home_option
def rotate_secret(as_json: bool) -> None:
    """Replace the secret key of a stopped hub, and seal its signing keys with the new one.

    The new secret replaces the file secret.key. Where COMPUTEPOOL_SECRET_KEY is set, the new one is asked for, or taken
    from COMPUTEPOOL_NEW_SECRET_KEY; the hub then starts only with it.

    Everybody who signed in with a browser or with `login` has to sign in again, and signed links to files end. Nodes
    stay joined; personal tokens, join tokens and vouchers stay valid. It may be repeated if it was interrupted.
    """
    commands, settings = hub_commands(), hub_settings()
    new_secret = None if settings.secret_key is None else _new_secret(commands.NEW_SECRET_VARIABLE)
    with database_trouble():
        made = commands.rotate_secret(settings, new_secret)
    if as_json:
        file = str(made.file) if made.file is not None else None
        print_json({"secret_file": file, "sessions_ended": made.sessions_ended, "was_done": made.was_done})
        return
    if made.was_done:
        tell("This was done before: the hub's keys are sealed with the new secret already.")
    else:
        tell("The secret key is replaced, and the hub's signing keys are sealed with the new one.")
        tell(f"  Ended: {made.sessions_ended} sessions (sign in again), and signed links to files.", dim=True)
        tell("  Goes on: nodes, personal tokens, join tokens, vouchers.", dim=True)
    if made.file is None:
        tell(
            f"Set COMPUTEPOOL_SECRET_KEY to the new secret now, and unset {commands.NEW_SECRET_VARIABLE}.", fg="yellow"
        )
    tell("  Make a new backup: older ones hold the old secret, and restore with it.", dim=True)
    tell(f"Start the hub: {here('hub serve')}")


def _new_secret(variable: str) -> str:
    given = os.environ.get(variable)
    if given:
        return given
    if not sys.stdin.isatty():
        raise CliError(
            "COMPUTEPOOL_SECRET_KEY is set, and there is no terminal to ask for the new secret.",
            f"Set the new one in the variable {variable}.",
            USAGE,
        )
    return str(click.prompt("New secret key", hide_input=True, confirmation_prompt=True, err=True))


@hub.command(epilog="Example: computepool hub doctor")
@json_option
@home_option
def doctor(as_json: bool) -> int:
    """Check whether a hub can run here, and say what to do where it cannot."""
    checks = list(hub_commands().doctor(hub_settings()))
    passed = all(check.ok for check in checks)
    if as_json:
        rows = [{"name": c.name, "ok": c.ok, "message": c.message, "hint": c.hint, "level": c.level} for c in checks]
        print_json({"ok": passed, "checks": rows})
    else:
        print_checks(checks)
    return 0 if passed else FAILED


@hub.command(epilog="Example: computepool hub backup pool.backup")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False))
@home_option
def backup(file: Path) -> None:
    """Write everything that a restore needs into FILE: database and keys, encrypted with a passphrase.

    The passphrase is asked for, or taken from COMPUTEPOOL_BACKUP_PASSPHRASE.
    """
    if file.exists():
        raise CliError(f"{file} exists already.", "Name a new file; a backup is never overwritten.")
    passphrase = _passphrase(confirm=True)
    commands, settings = hub_commands(), hub_settings()
    with database_trouble():
        made = commands.backup(settings, file, passphrase)
    tell(f"Backed up → {file}. Without its passphrase it is worth nothing.")
    tell(f"Not in it: {made.not_included}.", fg="yellow")


@hub.command(epilog="Example: computepool hub restore pool.backup --home ./restored")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@home_option
def restore(file: Path) -> None:
    """Restore a hub from FILE into an empty home and database. Orders given after the backup was made are void."""
    commands, settings = hub_commands(), hub_settings()
    with database_trouble():
        made = commands.restore(settings, file, _passphrase(confirm=False))
    tell(f"Restored the hub as it was at {made.backup_created_at:%Y-%m-%d %H:%M:%S} UTC.")
    tell(f"Not in it: {made.not_included}.", fg="yellow")
    tell(f"Start it: {here('hub serve')}")


def _passphrase(*, confirm: bool) -> str:
    given = os.environ.get(PASSPHRASE_VARIABLE)
    if given:
        return given
    if not sys.stdin.isatty():
        raise CliError(
            "There is no terminal to ask for the passphrase.", f"Set it in the variable {PASSPHRASE_VARIABLE}.", USAGE
        )
    answer = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return str(answer)
