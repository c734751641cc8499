"""For hosts: the agent on this machine."""

from typing import Any

import click

from computepool.cli.agent_benchmark import benchmark
from computepool.cli.agent_logs import logs
from computepool.cli.agent_policy import policy, trust
from computepool.cli.agent_service import install, uninstall
from computepool.cli.errors import FAILED, CliError, clean, hint_line, tell, tell_error
from computepool.cli.machine import UNWANTED, agent_home, run_agent_here
from computepool.cli.options import home_option, insecure_option, is_insecure, json_option, print_json


@click.group(epilog="Example: computepool agent status")
def agent() -> None:
    """Control the agent on this machine."""


@agent.command(epilog="Example: computepool agent start")
@click.option("--while-stdin-open", is_flag=True, hidden=True, help="End when standard input ends.")
@click.option("--from-up", is_flag=True, hidden=True, help="`up` starts it: own jobs may run without a sandbox.")
@click.option("--as-service", is_flag=True, hidden=True, help="Log to the file alone; SIGTERM stops at once.")
@click.option("--stay-away", is_flag=True, hidden=True, help="Exit with 0 when the hub sends this node away.")
@insecure_option
@home_option
def start(while_stdin_open: bool, from_up: bool, as_service: bool, stay_away: bool) -> int:
    """Run the agent here, in the foreground. Ctrl-C gives running jobs back to the pool and stops."""
    home = agent_home()
    node = home.node()  # says how to join where that has not happened
    if is_insecure() and not node.insecure:
        home.save_node(node.changed(insecure=True))
    try:
        return run_agent_here(home, while_stdin_open=while_stdin_open, as_service=as_service, from_up=from_up)
    except CliError as error:
        if stay_away and error.exit_code == UNWANTED:
            # For service managers that take any other code for a reason to start it again.
            tell_error(error.message, error.hint)
            return 0
        raise


@agent.command(epilog="Example: computepool agent status --once")
@click.option("--once", is_flag=True, help="Print it once, on a terminal too.")
@json_option
@home_option
def status(once: bool, as_json: bool) -> None:
    """Show what the agent does: live on a terminal, where p pauses, r resumes, d drains and q quits."""
    if not once and not as_json:
        from computepool.cli import agent_live

        if agent_live.is_possible():
            agent_live.show(_ask)
            return
    _print_status(_ask("status"), as_json)


@agent.command(epilog="Example: computepool agent pause --for 2h")
@click.option("--for", "length", metavar="TIME", help="Resume by itself after this long: 30m, 2h, 1d.")
@json_option
@home_option
def pause(length: str | None, as_json: bool) -> None:
    """Pause at once: suspend running jobs; after 10 seconds let them save and give them back to the pool."""
    _print_status(_ask("pause", **_pause_length(length)), as_json)


def _pause_length(text: str | None) -> dict[str, int]:
    if text is None:
        return {}
    from computepool.protocol.units import BadValueError, parse_duration

    try:
        seconds = parse_duration(text)
    except BadValueError as error:
        raise click.BadParameter(str(error), param_hint="--for") from None
    if seconds <= 0:
        raise click.BadParameter(
            "a pause lasts at least one second; omit --for to pause until `agent resume`", param_hint="--for"
        )
    return {"for_seconds": seconds}


@agent.command(epilog="Example: computepool agent resume")
@json_option
@home_option
def resume(as_json: bool) -> None:
    """Accept jobs again after a pause."""
    _print_status(_ask("resume"), as_json)


@agent.command(epilog="Example: computepool agent drain")
@json_option
@home_option
def drain(as_json: bool) -> None:
    """Finish running jobs, accept no new ones, then stop the agent."""
    _print_status(_ask("drain"), as_json)


@agent.command(epilog="Example: computepool agent stop")
@json_option
@home_option
def stop(as_json: bool) -> None:
    """Stop the agent now. Running jobs end and are given back to the pool."""
    _print_status(_ask("stop"), as_json)


@agent.command("rotate-key", epilog="Example: computepool agent stop && computepool agent rotate-key")
@json_option
@home_option
def rotate_key(as_json: bool) -> None:
    """Replace this node's key. Stop the agent first. The hub refuses the old key, and any copy of it, afterwards.

    The node keeps its name, record, earnings and receipts. If the hub's answer is lost, run the command again or start
    the agent: both keys are kept until the hub has confirmed the new one.
    """
    from computepool.agent.key_rotation import KeyNotReplaced
    from computepool.agent.key_rotation import rotate_key as replace_key

    home = agent_home()
    node = home.node()
    with home.lock():
        try:
            key_id = replace_key(home).key_id
        except KeyNotReplaced as error:
            raise CliError(f"The key was not replaced: {str(error).removesuffix('.')}.") from None
    if as_json:
        print_json({"node_id": node.node_id, "key_id": key_id})
        return
    click.echo(key_id)
    tell(f"The key of {clean(node.name)} is replaced: the hub takes no other from this node.")
    tell("Start the agent: computepool agent start")


@agent.command(epilog="Example: computepool agent doctor")
@json_option
@home_option
def doctor(as_json: bool) -> int:
    """Check everything that an agent needs, and say what to do where something is missing."""
    checks = _examine()
    if as_json:
        rows = [
            {"name": c.name, "ok": c.ok, "message": c.message, "hint": c.hint, "level": c.level, "group": c.group}
            for c in checks
        ]
        print_json({"ok": all(check.ok for check in checks), "checks": rows})
    else:
        print_checks(checks)
    return 0 if all(check.ok for check in checks) else FAILED


def _examine() -> list[Any]:
    import asyncio

    from computepool.agent.clock import SystemClock
    from computepool.agent.doctor import examine, sandboxes_to_examine

    home = agent_home()

    async def look() -> list[Any]:
        sandboxes = await sandboxes_to_examine(home)
        try:
            return list(await examine(home, sandboxes, SystemClock()))
        finally:
            for sandbox in sandboxes:
                await sandbox.close()

    return asyncio.run(look())


_MARKS = {"ok": ("✓ ", "green"), "warn": ("! ", "yellow"), "failed": ("✗ ", "red")}


def print_checks(checks: list[Any]) -> None:
    """Of the agent or of the hub: both have a name, a result, a message and a hint. The agent's also have a group, and
    a level: a warning is no failure."""
    group = None
    for check in checks:
        if getattr(check, "group", None) != group:
            group = check.group
            click.secho(clean(group), bold=True)
        level = getattr(check, "level", "ok" if check.ok else "failed")
        mark, colour = _MARKS[level]
        click.secho(mark, fg=colour, nl=False)
        click.echo(f"{clean(check.name)}: {clean(check.message)}")
        if check.hint and level != "ok":
            click.secho(f"    {hint_line(check.hint)}", dim=True)


def _ask(action: str, **arguments: object) -> dict[str, Any]:
    from computepool.agent.control import ask_agent

    return ask_agent(agent_home().socket_path, action, **arguments)


def _print_status(found: dict[str, Any], as_json: bool) -> None:
    if as_json:
        print_json(found)
        return
    from computepool.cli.agent_screen import screen
    from computepool.cli.display import console

    out = console()
    out.print(screen(found, out.width))


agent.add_command(benchmark)
agent.add_command(policy)
agent.add_command(trust)
agent.add_command(logs)
agent.add_command(install)
agent.add_command(uninstall)
