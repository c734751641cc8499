"""For hosts: the agent on this machine."""

from typing import Any

import click

from computepool.cli.errors import FAILED, clean, tell
from computepool.cli.machine import agent_home, run_agent_here
from computepool.cli.options import home_option, json_option, print_json


@click.group(epilog="Example: computepool agent status")
def agent() -> None:
    """Control the agent on this machine."""


@agent.command(epilog="Example: computepool agent start")
@click.option("--while-stdin-open", is_flag=True, hidden=True, help="End when standard input ends.")
@home_option
def start(while_stdin_open: bool) -> int:
    """Run the agent here, in the foreground. Ctrl-C gives what runs back to the pool and stops."""
    home = agent_home()
    home.node()  # says how to join where that has not happened
    return run_agent_here(home, while_stdin_open=while_stdin_open)


@agent.command(epilog="Example: computepool agent status --json")
@json_option
@home_option
def status(as_json: bool) -> None:
    """Show what the agent does."""
    _print_status(_ask("status"), as_json)


@agent.command(epilog="Example: computepool agent pause")
@json_option
@home_option
def pause(as_json: bool) -> None:
    """Take the machine back at once: what runs is ended and given back to the pool."""
    _print_status(_ask("pause"), as_json)


@agent.command(epilog="Example: computepool agent resume")
@json_option
@home_option
def resume(as_json: bool) -> None:
    """Take work again after a pause."""
    _print_status(_ask("resume"), as_json)


@agent.command(epilog="Example: computepool agent drain")
@json_option
@home_option
def drain(as_json: bool) -> None:
    """Finish what runs, take nothing new, then stop."""
    _print_status(_ask("drain"), as_json)


@agent.command(epilog="Example: computepool agent stop")
@json_option
@home_option
def stop(as_json: bool) -> None:
    """Stop now: what runs is ended and given back to the pool."""
    _print_status(_ask("stop"), as_json)


@agent.command(epilog="Example: computepool agent doctor")
@json_option
@home_option
def doctor(as_json: bool) -> int:
    """Check everything that an agent needs, and say what to do where something is missing."""
    checks = _examine()
    if as_json:
        rows = [{"name": c.name, "ok": c.ok, "message": c.message, "hint": c.hint} for c in checks]
        print_json({"ok": all(check.ok for check in checks), "checks": rows})
    else:
        print_checks(checks)
    return 0 if all(check.ok for check in checks) else FAILED


def _examine() -> list[Any]:
    import asyncio

    from computepool.agent.clock import SystemClock
    from computepool.agent.doctor import examine
    from computepool.agent.main import sandboxes_of

    home = agent_home()

    async def look() -> list[Any]:
        sandboxes = sandboxes_of(home)
        try:
            return list(await examine(home, sandboxes, SystemClock()))
        finally:
            for sandbox in sandboxes:
                await sandbox.close()

    return asyncio.run(look())


def print_checks(checks: list[Any]) -> None:
    """Of the agent or of the hub: both have a name, a result, a message and a hint."""
    for check in checks:
        click.secho("✓ " if check.ok else "✗ ", fg="green" if check.ok else "red", nl=False)
        click.echo(f"{clean(check.name)}: {clean(check.message)}")
        if check.hint and not check.ok:
            click.secho(f"    {clean(check.hint)}", dim=True)


def _ask(action: str) -> dict[str, Any]:
    from computepool.agent.control import ask_agent

    return ask_agent(agent_home().socket_path, action)


def _print_status(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    from computepool.cli.display import print_pairs, print_table, state_text

    trouble = f"none: {found.get('trouble') or 'connecting'}"
    print_pairs(
        (
            ("node", f"{found.get('name')} ({found.get('node_id')})"),
            ("state", state_text(str(found.get("state")))),
            ("hub", found.get("hub_url")),
            ("line", found.get("link") or trouble),
        )
    )
    attempts = found.get("attempts") or []
    if attempts:
        click.echo()
        rows = [(a.get("job_id"), a.get("name"), state_text(str(a.get("state"))), _whose(a)) for a in attempts]
        print_table(("job", "name", "state", "whose"), rows)
    else:
        tell("Nothing runs here now.", dim=True)


def _whose(attempt: dict[str, Any]) -> str:
    return "yours" if attempt.get("own") else "a renter's"
