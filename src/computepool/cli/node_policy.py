"""For hosts: what a machine allows, and a pause, from wherever they are. Its agent has the last word."""

from typing import Any

import click

from computepool.cli.completion import NODE
from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.node_price import NODE_HELP
from computepool.cli.options import json_option, open_pool, pool_options, print_json


@click.command(
    epilog='Examples: computepool node policy alpha · computepool node policy alpha --hours "22:00-07:00"',
    help=f"Show what the owner of a machine allows there, or change its hours and idle rules. {NODE_HELP}\n\n"
    "All else is changed on the machine itself: computepool agent policy.",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@click.option("--hours", metavar="HOURS", help="When strangers' jobs may run, such as mon-fri 22:00-07:00.")
@click.option("--after-idle", metavar="TIME", help="How long the machine must be idle first, such as 15m.")
@json_option
@pool_options
def policy(node_name: str, hours: str | None, after_idle: str | None, as_json: bool) -> None:
    change = {name: value for name, value in (("hours", hours), ("after_idle", after_idle)) if value is not None}
    with open_pool() as pool:
        path = f"/nodes/{pool.find_node(node_name)}/policy"
        document = pool.call("PATCH", path, change) if change else pool.call("GET", path)
    if as_json:
        print_json(document)
        return
    if change:
        _tell_request(document.get("policy_request"))
        return
    if not document.get("settings"):
        tell("Its agent has not reported its policy yet.", dim=True)
        return
    from computepool.cli.display import print_table

    rows = [
        (clean(one["key"]), clean(_text(one["value"])), "here" if one["edit"]["allowed"] else "on the machine")
        for one in document["settings"]
    ]
    print_table(("setting", "value", "changed"), rows)
    if document.get("problem"):
        tell(clean(document["problem"]), fg="yellow")
    for name in ("policy_request", "pause_request"):
        if document.get(name) and document[name]["state"] != "applied":
            _tell_request(document[name])


@click.command(
    epilog="Example: computepool node pause alpha --for 2h",
    help=f"Pause a machine at once, until `node unpause`. {NODE_HELP}",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@click.option("--for", "for_time", metavar="TIME", help="How long, such as 2h.  [default: until `node unpause`]")
@json_option
@pool_options
def pause(node_name: str, for_time: str | None, as_json: bool) -> None:
    from computepool.protocol.units import BadValueError, parse_duration

    try:
        seconds = None if for_time is None else parse_duration(for_time)
    except BadValueError as error:
        raise CliError(f"--for: {error}.", "Such as --for 2h.", USAGE) from None
    _ask(node_name, "pause", {"for_seconds": seconds}, as_json)


@click.command(
    epilog="Example: computepool node unpause alpha",
    help=f"End a pause that was made with `node pause`. {NODE_HELP}",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@json_option
@pool_options
def unpause(node_name: str, as_json: bool) -> None:
    _ask(node_name, "unpause", None, as_json)


def _ask(node_name: str, what: str, body: dict[str, Any] | None, as_json: bool) -> None:
    with open_pool() as pool:
        document = pool.call("POST", f"/nodes/{pool.find_node(node_name)}/{what}", body)
    if as_json:
        print_json(document)
    else:
        _tell_request(document.get("pause_request"))


def _tell_request(request: dict[str, Any] | None) -> None:
    if request is None or request["state"] == "applied":
        tell("The machine has it so.")
    elif request["state"] == "refused":
        tell(f"The machine refused it: {clean(request['reason'] or '')}", fg="yellow")
    else:
        tell("The machine was asked; it answers when it is connected: computepool node policy shows what it says.")


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)
