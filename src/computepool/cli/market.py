"""For renters and hosts: what is for rent, and what a card would earn."""

from collections.abc import Callable
from typing import Any

import click

from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json


@click.command(epilog="Example: computepool offers gpu=rtx-4090 'reliability>0.9' 'price<40' -o price")
@click.argument("filters", nargs=-1, metavar="[FILTER]...")
@click.option("-o", "--order", metavar="ORDER", help="Such as price, -reliability (greatest first), tier,price.")
@click.option("-n", "--limit", default=30, show_default=True, type=click.IntRange(1, 10_000), help="Show this many.")
@json_option
@pool_options
def offers(filters: tuple[str, ...], order: str | None, limit: int, as_json: bool) -> None:
    """List what is for rent now, with prices.

    FILTER is a name, one of = != < <= > >=, and a value; all of them have to hold. `>` and `<` mean something to a
    shell: quote them. A value with spaces is in quotes of its own: 'region="South Asia"'. Prices are credits for an
    hour of one GPU (of one core, where there is none), fee included.

    \b
    Names: gpu gpus gpus_free gpu_memory cpus memory disk price core_price
           reliability tier country region tag isolation verified simulated
    """
    with open_pool() as pool:
        items, page = pool.market.offers(" ".join(filters), order=order, limit=limit)
    if as_json:
        print_json({"items": items, "next": page.get("next")})
        return
    hidden = int(page.get("simulated") or 0)
    if not items:
        tell("Nothing for rent matches the filter." if filters else "Nothing is for rent now.", dim=True)
    else:
        _print_offers(items)
        if page.get("next"):
            tell(f"{len(items)} of {page.get('total')}; more with --limit.", dim=True)
    if hidden:
        from computepool.cli.display import count

        are = "is" if hidden == 1 else "are"
        tell(f"{count(hidden, 'simulated offer')} {are} hidden. Show them: computepool offers simulated=true", dim=True)


def _print_offers(items: list[dict[str, Any]]) -> None:
    from computepool.cli.display import cpus, credits, print_table, size

    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "price": lambda one: f"{credits(one['price_micros'])} /{one['per']}-h",
        "gpu": lambda one: _kinds(one["gpus"]) or "no GPU",
        "free": lambda one: f"{one['gpus_free']}/{len(one['gpus'])}" if one["gpus"] else "",
        "gpu memory": lambda one: size(one["gpu_memory_bytes"]) if one["gpus"] else "",
        "cpus": lambda one: cpus(one["cpus"]),
        "memory": lambda one: size(one["memory_bytes"]),
        "country": lambda one: one.get("country") or "",
        "reliable": lambda one: f"{one['reliability']:.2f}",
        "isolation": lambda one: one["isolation"],
        "note": lambda one: "simulated" if one.get("simulated") else "verified" if one.get("verified") else "",
        "node": lambda one: one["node_id"],
    }
    if items[0]["price_micros"] is None:  # a pool without money
        del columns["price"]
    rows = [tuple(shown(one) for shown in columns.values()) for one in items]
    print_table(tuple(columns), rows, spare=("isolation", "memory", "cpus", "country", "gpu memory"))


def _kinds(cards: list[str]) -> str:
    return ", ".join(f"{cards.count(name)}× {name}" if cards.count(name) > 1 else name for name in dict.fromkeys(cards))


@click.command(epilog="Example: computepool earnings --gpu rtx-4090 --country IN --tariff 8")
@click.option("--gpu", metavar="GPU", help="Such as rtx-4090; without it, every card of the pool's table.")
@click.option("--country", metavar="CC", help="Where it would stand, in two letters.")
@click.option("--power-watts", type=click.IntRange(0, 100_000), metavar="W", help="What it draws while it works.")
@click.option("--tariff", metavar="CREDITS", help="What a kilowatt-hour costs there.")
@click.option(
    "--utilisation",
    type=click.FloatRange(0, 1),
    metavar="SHARE",
    help="Assume this, instead of what was measured here.",
)
@json_option
@pool_options
def earnings(
    gpu: str | None,
    country: str | None,
    power_watts: int | None,
    tariff: str | None,
    utilisation: float | None,
    as_json: bool,
) -> None:
    """Say what a card would earn here, before it joins.

    From what the pool suggests for it now, how much of the time such cards were really in use here, the platform's fee,
    and its power. Where nothing was measured yet, that is said, and nothing is promised.
    """
    with open_pool() as pool:
        items = pool.market.earnings(
            gpu=gpu, country=country, power_watts=power_watts, tariff=tariff, utilisation=utilisation
        )
    if as_json:
        print_json({"items": items})
    elif len(items) == 1:
        _print_card(items[0])
    else:
        _print_cards(items)


def _use(one: dict[str, Any]) -> str:
    if one.get("utilisation") is None:
        return "no data yet"
    basis = {"measured": "measured here", "measured elsewhere": "measured in other regions", "assumed": "assumed"}
    return f"{one['utilisation']:.0%} ({basis.get(one['utilisation_basis'], clean(one['utilisation_basis']))})"


def _print_cards(items: list[dict[str, Any]]) -> None:
    from computepool.cli.display import credits, print_table

    rows = [
        (
            one["gpu"],
            credits(one["price_micros"]),
            _use(one),
            credits(one["per_day"]["net_micros"]) if one["per_day"] else "no data",
            credits(one["per_month"]["net_micros"]) if one["per_month"] else "no data",
            credits(one["full_day"]["net_micros"]),
        )
        for one in items
    ]
    print_table(("gpu", "an hour", "in use", "a day", "a month", "a day, if always in use"), rows)
    tell(f"Credits. Days and months are after the fee of {items[0]['fee_bps'] / 100:g} %." if items else "", dim=True)


def _print_card(one: dict[str, Any]) -> None:
    from computepool.cli.display import in_credits, print_pairs

    day, month, full = one["per_day"], one["per_month"], one["full_day"]
    tier = f"{one['tier']:g}" + ("" if one["listed"] else " (not in the table: measured when it joins)")
    made_of = f"tier {tier} × {clean(one['region'])} {one['region_factor']:g} × spot {one['spot']:g}"
    has_power = full["power_micros"] is not None
    print_pairs(
        (
            ("card", one["gpu"]),
            ("an hour", f"{in_credits(one['price_micros'])} now, fee included ({made_of})"),
            ("in use", _use(one)),
            ("fee", f"{one['fee_bps'] / 100:g} %"),
            ("power", _power(one) if has_power else "not counted: give --tariff" + _and_watts(one)),
            ("a day", _sum(day) if day else "no data: nobody can say how often such a card is in use here"),
            ("a month", _sum(month) if month else ""),
            ("at the most", f"{_sum(full)} a day, were it always in use"),
        )
    )


def _and_watts(one: dict[str, Any]) -> str:
    return "" if one.get("power_watts") else " and --power-watts"


def _power(one: dict[str, Any]) -> str:
    from computepool.cli.display import in_credits

    return f"{one['power_watts']} W at {in_credits(one['tariff_micros'])} a kWh, while it works"


def _sum(earned: dict[str, Any]) -> str:
    from computepool.cli.display import credits, in_credits

    parts = [f"{credits(earned['gross_micros'])} − {credits(earned['fee_micros'])} fee"]
    if earned["power_micros"] is not None:
        parts.append(f"{credits(earned['power_micros'])} power")
    return f"{in_credits(earned['net_micros'])} ({' − '.join(parts)})"
