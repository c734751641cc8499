"""For operators: the pieces of `up`, one by one. Settings come from the environment."""

import asyncio
import os
import signal
from pathlib import Path
from typing import Any

import click

from computepool.cli.agent import print_checks
from computepool.cli.errors import FAILED, CliError, tell
from computepool.cli.options import chosen_home, home_option, json_option, print_json

PASSPHRASE_VARIABLE = "COMPUTEPOOL_BACKUP_PASSPHRASE"


def hub_commands() -> Any:
    """The hub's own code, loaded only where a hub is run: the light install comes without."""
    try:
        from computepool.hub import commands
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("computepool"):
            raise
        raise CliError(
            f"This installation has no hub: the package {error.name} is missing.", "pip install 'computepool[hub]'"
        ) from None
    return commands


def hub_settings(**overrides: object) -> Any:
    commands = hub_commands()
    return commands.load_settings(home=chosen_home(), **overrides)


@click.group(epilog="Example: computepool hub migrate && computepool hub serve --host 0.0.0.0")
def hub() -> None:
    """Run, migrate, check and back up a hub. Settings come from the environment: see .env.example."""


@hub.command(epilog="Example: computepool hub serve --host 0.0.0.0 --port 8000")
@click.option("--host", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port", default=8000, show_default=True, type=click.IntRange(0, 65535), help="Port; 0 takes a free one."
)
@home_option
def serve(host: str, port: int) -> None:
    """Run the hub alone, on a schema that `hub migrate` brought up to date."""
    commands, settings = hub_commands(), hub_settings()
    try:
        asyncio.run(_serve(commands, settings, host, port))
    except OSError as error:
        raise port_trouble(error, host, port) from None


async def _serve(commands: Any, settings: Any, host: str, port: int) -> None:
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop.set)
    await commands.serve(settings, host, port, ready=lambda: tell(f"The hub is ready: {host}:{port}"), stop=stop)


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
    tell(f"The schema is at {hub_commands().migrate(hub_settings())}.")


@hub.command(epilog="Example: computepool hub doctor")
@json_option
@home_option
def doctor(as_json: bool) -> int:
    """Check whether a hub can run here, and say what to do where it cannot."""
    checks = list(hub_commands().doctor(hub_settings()))
    passed = all(check.ok for check in checks)
    if as_json:
        rows = [{"name": c.name, "ok": c.ok, "message": c.message, "hint": c.hint} for c in checks]
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
    hub_commands().backup(hub_settings(), file, passphrase)
    tell(f"Backed up → {file}. Without its passphrase it is worth nothing.")


@hub.command(epilog="Example: computepool hub restore pool.backup --home ./restored")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True))
@home_option
def restore(file: Path) -> None:
    """Restore a hub from FILE into an empty home and database. Orders from before the restore are void."""
    hub_commands().restore(hub_settings(), file, _passphrase(confirm=False))
    tell("Restored. Start it: computepool hub serve")


def _passphrase(*, confirm: bool) -> str:
    given = os.environ.get(PASSPHRASE_VARIABLE)
    if given:
        return given
    answer = click.prompt("Passphrase", hide_input=True, confirmation_prompt=confirm, err=True)
    return str(answer)
