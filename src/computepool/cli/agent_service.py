"""The agent as a service of this machine."""

import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.errors import CliError, clean, tell
from computepool.cli.machine import agent_home
from computepool.cli.options import chosen_home, home_option

if TYPE_CHECKING:
    from computepool.agent.home import AgentHome
    from computepool.agent.service import ServiceManager

STOP_SECONDS = 30.0
manager_option = click.option(
    "--manager",
    type=click.Choice(["systemd", "launchd", "windows"]),
    help="The service manager to use.  [default: this machine's]",
)
scope_option = click.option(
    "--scope",
    type=click.Choice(["user", "system"]),
    help="A service of your user or of the system.  [default: system for root, otherwise user]",
)
dry_run_option = click.option("--dry-run", is_flag=True, help="Print what would be done, and do nothing.")


@click.command(epilog="Example: computepool agent install --dry-run")
@manager_option
@scope_option
@dry_run_option
@click.option("--print", "only_text", is_flag=True, help="Print the service file and do nothing.")
@home_option
def install(manager: str | None, scope: str | None, dry_run: bool, only_text: bool) -> None:
    """Run the agent as a service of this machine: a systemd unit, a launchd agent, or on WSL a Windows logon task.

    It starts now, when you sign in or with the machine, and again after a crash.
    """
    from computepool.agent.service import install as make
    from computepool.agent.service import network_settings

    found = _manager(manager, scope)
    if only_text:
        click.echo(found.text(), nl=False)
        return
    if dry_run:
        _describe(found)
        return
    home = agent_home()
    node = home.node()  # says how to join where that has not happened
    _refuse_second_agent(home)
    make(found, _told)
    _, secret = network_settings(os.environ)
    if secret:
        tell(
            f"{', '.join(secret)} holds a password, which belongs into no service file: the service does without it. "
            "Give it to the service yourself, or use a proxy on this machine that knows it.",
            fg="yellow",
        )
    tell(f"{clean(node.name)} is now shared by {found.name}, as {found.service.name}.", fg="green")
    for hint in found.hints():
        tell(hint, dim=True)
    tell("See it: computepool agent status. Undo it: computepool agent uninstall", dim=True)


@click.command(epilog="Example: computepool agent uninstall --purge")
@manager_option
@scope_option
@dry_run_option
@click.option("--purge", is_flag=True, help="Remove the agent's folder too, with keys, cache and pulled images.")
@click.option("-y", "--yes", is_flag=True, help="Do not ask.")
@home_option
def uninstall(manager: str | None, scope: str | None, dry_run: bool, purge: bool, yes: bool) -> None:
    """Stop the agent's service and remove it, with its log and everything else that it left on this machine.

    The node's keys, its cache and results that the hub has not got yet stay, unless --purge is given.
    """
    from computepool.agent.service import MANAGERS, is_installed, recorded

    home = agent_home()
    noted = recorded(home.root)
    if noted is not None and noted.kind in MANAGERS:
        # As it was installed, unless somebody says otherwise.
        manager, scope = manager or noted.kind, scope or ("system" if noted.system else "user")
    found = _manager_or_none(manager, scope, needed=manager is not None)
    if dry_run:
        _describe_removal(found, home, purge)
        return
    if not (found is not None and is_installed(found)):
        _refuse_foreground_agent(home)
    node = home.node() if home.is_enrolled() else None
    if purge and not yes:
        whose = f", and the keys of {clean(node.name)} with it" if node else ""
        click.confirm(f"Remove {home.root}{whose}?", abort=True, err=True)
    _remove(found, home, purge)
    if purge and node is not None:
        tell(f"The pool still lists this machine. To forget it: computepool node ban {node.node_id}", dim=True)


def _remove(found: "ServiceManager | None", home: "AgentHome", purge: bool) -> None:
    from computepool.agent.service import purge as remove_folder
    from computepool.agent.service import remove_run_files
    from computepool.agent.service import uninstall as remove_service

    was_running = _stop(home)
    was_installed = found is not None and remove_service(found, _told)
    if was_running:
        _wait_for_end(home)
    (remove_folder if purge else remove_run_files)(home, _told)
    if not was_installed:
        tell("There was no service of this agent.", dim=True)
    else:
        tell("The service is gone.", fg="green")


def _stop(home: "AgentHome") -> bool:
    """By its own socket: it gives back what runs, whichever way the manager would have ended it."""
    from computepool.agent.control import AgentNotRunning, ask_agent

    try:
        ask_agent(home.socket_path, "stop")
    except AgentNotRunning:
        return False
    _told("stopping the agent; what runs is given back to the pool")
    return True


def _wait_for_end(home: "AgentHome") -> None:
    from computepool.agent.home import AlreadyRunning

    until = time.monotonic() + STOP_SECONDS
    while True:
        try:
            with home.lock():
                return
        except AlreadyRunning as error:
            if time.monotonic() > until:
                raise CliError(f"The agent did not stop in time: {error}", "Try again.") from None
            time.sleep(0.1)


def _refuse_second_agent(home: "AgentHome") -> None:
    if _is_running(home):
        raise CliError(
            f"An agent runs from {home.root} already.",
            "Stop it first (computepool agent stop), or if it is the service: computepool agent uninstall",
        )


def _refuse_foreground_agent(home: "AgentHome") -> None:
    """Somebody started it by hand, or `up` did: it is not ours to end."""
    if _is_running(home):
        raise CliError(
            f"The agent that runs from {home.root} is not a service.", "Stop it first: computepool agent stop"
        )


def _is_running(home: "AgentHome") -> bool:
    from computepool.agent.control import AgentNotRunning, ask_agent

    try:
        ask_agent(home.socket_path, "status")
    except AgentNotRunning:
        return False
    return True


def _manager(wanted: str | None, scope: str | None) -> "ServiceManager":
    found = _manager_or_none(wanted, scope, needed=True)
    assert found is not None
    return found


def _manager_or_none(wanted: str | None, scope: str | None, *, needed: bool) -> "ServiceManager | None":
    from computepool.agent.service import NoServiceManager, Service, ServiceHost, choose, name_for, network_settings

    home = chosen_home()
    usual = Path("~/.computepool").expanduser()
    try:
        variables, _ = network_settings(os.environ)
        service = Service(_program(), home, name_for(home, usual), variables)
        return choose(service, ServiceHost(), wanted, system=None if scope is None else scope == "system")
    except NoServiceManager:
        if needed:
            raise
        return None


def _program() -> tuple[str, ...]:
    """How this very installation is called by its whole path."""
    beside = Path(sys.executable).with_name("computepool")
    if beside.is_file():
        return (str(beside),)
    found = shutil.which("computepool")
    return (str(Path(found).absolute()),) if found else (sys.executable, "-P", "-m", "computepool")


def _describe(found: "ServiceManager") -> None:
    click.echo(f"would write {found.path}:\n")
    click.echo("".join(f"    {line}\n" for line in found.text().splitlines()))
    _describe_steps(found.steps_to_install())
    for hint in found.hints():
        click.echo(f"hint: {hint}")


def _describe_removal(found: "ServiceManager | None", home: "AgentHome", purge: bool) -> None:
    if found is not None:
        _describe_steps(found.steps_to_stop())
        click.echo(f"would remove {found.path}")
        _describe_steps(found.steps_after_removal())
    click.echo(f"would remove {home.root if purge else 'the log, the socket and the locks in ' + str(home.root)}")
    if purge:
        click.echo("would remove the images that jobs brought, and none that were here before")


def _describe_steps(steps: Any) -> None:
    for step in steps:
        click.echo(f"would run {step}")


def _told(text: str) -> None:
    tell(clean(text), dim=True)
