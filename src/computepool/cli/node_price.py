"""For hosts: what strangers pay for a machine."""

from typing import TYPE_CHECKING

import click

from computepool.cli.completion import NODE
from computepool.cli.errors import USAGE, CliError
from computepool.cli.options import json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.models import Node

NODE_HELP = "NODE is an id, the beginning of one, or a name."


def price_text(one: "Node") -> str:
    """What strangers pay now, and who decided it."""
    from computepool.cli.display import credits, in_credits

    ask, price = one.ask, one.price
    if ask is None:
        return ""
    parts = [f"{in_credits(ask.gpu_micros)} a GPU-hour"] if ask.gpu_micros is not None else []
    parts.append(f"{credits(ask.core_micros)} a core-hour" + (" without a GPU" if parts else ""))
    if price is None:
        decided = "as the pool suggests"
    elif price.fixed_micros is not None:
        decided = f"fixed at {credits(price.fixed_micros)} a {price.per}-hour"
    else:
        decided = f"at least {credits(price.floor_micros or 0)} a {price.per}-hour"
    return f"{', '.join(parts)} ({decided})"


@click.command(
    epilog="Examples: computepool node price alpha --floor 25 · computepool node price alpha --clear",
    help=f"Show or set the price of a machine for other renters, in credits an hour, fee included. {NODE_HELP}\n\n"
    "The price is per GPU-hour if the machine has GPUs, otherwise per core-hour. It applies from the next lease: "
    "running jobs keep their price.",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@click.option("--floor", metavar="CREDITS", help="Minimum price; more if the pool suggests more.")
@click.option("--fixed", metavar="CREDITS", help="Exactly this price, regardless of the pool's suggestion.")
@click.option(
    "--per", type=click.Choice(["gpu", "core"]), help="Unit of the price.  [default: gpu if the machine has GPUs]"
)
@click.option("--clear", is_flag=True, help="Use the pool's suggestion.")
@json_option
@pool_options
def price(node_name: str, floor: str | None, fixed: str | None, per: str | None, clear: bool, as_json: bool) -> None:
    if sum((floor is not None, fixed is not None, clear)) > 1:
        raise click.UsageError("Give --floor, --fixed or --clear, one of them.")
    if per is not None and floor is fixed is None:
        raise click.UsageError("--per goes with --floor or --fixed.")
    change: dict[str, object] | None = None
    if floor is not None:
        change = {"floor_micros": _micros("--floor", floor)}
    elif fixed is not None:
        change = {"fixed_micros": _micros("--fixed", fixed)}
    if change is not None and per is not None:
        change["per"] = per
    with open_pool() as pool:
        node_id = pool.find_node(node_name)
        if change is not None or clear:
            document = pool.change_node(node_id, {"price": change})
        else:
            document = pool.node_document(node_id)
            if document.get("ask") is None and not pool.has_money():
                raise CliError("This pool works without money: machines have no price.")
    if as_json:
        print_json(document)
        return
    from computepool.client.models import Node

    click.echo(price_text(Node.model_validate(document)) or "It is not there: its price is known when it connects.")


def _micros(option: str, text: str) -> int:
    from computepool.protocol.units import BadValueError, parse_credits

    try:
        return parse_credits(text)
    except BadValueError as error:
        raise CliError(f"{option}: {error}.", "Credits an hour, such as 25 or 0.5.", USAGE) from None
