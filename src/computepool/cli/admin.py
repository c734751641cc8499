"""For operators: what the pool as a whole decides."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from computepool.cli.cash_outs import admin_cash_outs, vouchers
from computepool.cli.checks import accusations, audits, canaries, canary
from computepool.cli.disputes import disputes, reports
from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.ledger import grant, ledger, withdraw, write_off
from computepool.cli.mail import mail
from computepool.cli.operate import (
    audit,
    list_settings,
    overview,
    queue,
    reset_setting,
    set_setting,
    setting_history,
)
from computepool.cli.options import json_option, open_pool, pool_options, print_json
from computepool.cli.reputation import contests, resolve, unverify, verify
from computepool.cli.storage import storage
from computepool.cli.users import owner_id_of, users

if TYPE_CHECKING:
    from computepool.client.pool import Pool

CSV_LIMIT_BYTES = 1024 * 1024


@click.group(epilog="Example: computepool admin settings regions show")
def admin() -> None:
    """Run the pool: what its operator decides. Only admins may."""


for _command in (
    contests,
    resolve,
    verify,
    unverify,
    audits,
    accusations,
    canary,
    canaries,
    ledger,
    grant,
    withdraw,
    write_off,
):
    admin.add_command(_command)


for _command in (overview, queue, audit, admin_cash_outs, disputes, vouchers, reports, mail, users, storage):
    admin.add_command(_command)


@admin.group(epilog="Example: computepool admin settings rates set --base 12")
def settings() -> None:
    """The pool's settings and tables. Every change is kept, with who made it and when."""


for _command in (list_settings, set_setting, reset_setting, setting_history):
    settings.add_command(_command)


def _shown(pool: "Pool", name: str, as_json: bool) -> dict[str, Any] | None:
    """The table, where it is to be printed for people."""
    document = pool.market.table(name)
    if as_json:
        print_json(document)
        return None
    return document


def _print_history(document: dict[str, Any]) -> None:
    for one in document.get("history", [])[:1]:
        tell(f"Version {one['version']}, by {clean(one['changed_by'])} at {clean(one['changed_at'])}.", dim=True)
    if not document.get("history"):
        tell("As it comes: nobody changed it yet.", dim=True)
    for notice in document.get("notices", []):
        tell(f"note: {clean(notice)}", fg="yellow")


def _save(pool: "Pool", document: dict[str, Any], value: dict[str, Any], as_json: bool) -> None:
    changed = pool.market.change_table(document["name"], value, document["version"])
    if as_json:
        print_json(changed)
    else:
        tell(f"Version {changed['version']} of the {clean(changed['name'])}. It counts from the next lease on.")


def _millis(text: str, what: str) -> int:
    from fractions import Fraction

    try:
        value = Fraction(text) * 1000
        if value.denominator != 1:
            raise ValueError
    except (ValueError, ZeroDivisionError):
        raise CliError(
            f"{what}: {text!r} is not a number with at most three decimals.", "Such as 0.95.", USAGE
        ) from None
    return int(value)


def _spelled(millis: int) -> str:
    return f"{millis / 1000:g}"


# ── tiers ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings.group(epilog="Example: computepool admin settings tiers set rtx-4090=3.2")
def tiers() -> None:
    """How much more than the base rate each kind of card is worth."""


@tiers.command("show", epilog="Example: computepool admin settings tiers show --json")
@json_option
@pool_options
def show_tiers(as_json: bool) -> None:
    """Show the tiers."""
    with open_pool() as pool:
        document = _shown(pool, "tiers", as_json)
    if document is None:
        return
    from computepool.cli.display import print_table

    value = document["value"]
    rows = [(name, _spelled(millis)) for name, millis in sorted(value["cards"].items(), key=lambda one: -one[1])]
    print_table(("card", "tier"), [*rows, ("cpu (eight cores)", _spelled(value["cpu_millis"]))])
    _print_history(document)


@tiers.command("set", epilog="Example: computepool admin settings tiers set rtx-4090=3.2 cpu=0.9 gtx-1660=")
@click.argument("changes", nargs=-1, required=True, metavar="CARD=TIER...")
@json_option
@pool_options
def set_tiers(changes: tuple[str, ...], as_json: bool) -> None:
    """Change some of them, and leave the others; CARD= takes one out of the table."""
    with open_pool() as pool:
        document = pool.market.table("tiers")
        cards, cpu = dict(document["value"]["cards"]), document["value"]["cpu_millis"]
        for change in changes:
            name, equals, text = change.partition("=")
            if not equals or not name:
                raise click.UsageError(f"{change!r} is not CARD=TIER, such as rtx-4090=3.2.")
            if name == "cpu":
                cpu = _millis(text, name)
            elif text:
                cards[name] = _millis(text, name)
            elif cards.pop(name, None) is None:
                raise CliError(
                    f"There is no card {name!r} in the table.", "computepool admin settings tiers show", USAGE
                )
        _save(pool, document, {"cards": cards, "cpu_millis": cpu}, as_json)


# ── regions ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings.group(epilog="Example: computepool admin settings regions import ppp.csv")
def regions() -> None:
    """Sets of countries, with the factor of what money buys there."""


@regions.command("show", epilog="Example: computepool admin settings regions show")
@json_option
@pool_options
def show_regions(as_json: bool) -> None:
    """Show the regions, and countries of nodes that are in none."""
    with open_pool() as pool:
        document = _shown(pool, "regions", as_json)
    if document is None:
        return
    from computepool.cli.display import print_table

    rows = [
        (one["name"], _spelled(one["factor_millis"]), " ".join(one["countries"])) for one in document["value"]["items"]
    ]
    print_table(("region", "factor", "countries"), [*rows, ("elsewhere", "1", "every other")])
    _print_history(document)


@regions.command("import", epilog="Example: computepool admin settings regions import ppp.csv --replace")
@click.argument("file", type=click.Path(path_type=Path), metavar="FILE.csv")
@click.option("--replace", is_flag=True, help="Forget the regions that there are; else what is not in the file stays.")
@json_option
@pool_options
def import_regions(file: Path, replace: bool, as_json: bool) -> None:
    """Read regions from lines of `country,factor` or `country,factor,region`, such as `DE,0.95,EU`.

    A country without a region is one of its own. It is taken out of the region that it was in before.
    """
    text = _read(file)
    with open_pool() as pool:
        changed = pool.market.import_regions(text, replace=replace)
    if as_json:
        print_json(changed)
    else:
        number = len(changed["value"]["items"])
        tell(f"Version {changed['version']} of the regions: {number} of them. It counts from the next lease on.")


def _read(file: Path) -> str:
    try:
        if file.stat().st_size > CSV_LIMIT_BYTES:
            raise CliError(f"{file} is larger than a table of countries can be.", "One line for each country.", USAGE)
        return file.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise CliError(f"There is no file {file}.", "Write its path from where you are.", USAGE) from None
    except UnicodeDecodeError:
        raise CliError(f"{file} is not text in UTF-8.", "Save it as CSV in UTF-8.", USAGE) from None


# ── rates ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@settings.group(epilog="Example: computepool admin settings rates set --base 12")
def rates() -> None:
    """The base rate, how far spot may go, and what preemptible jobs pay."""


@rates.command("show", epilog="Example: computepool admin settings rates show")
@json_option
@pool_options
def show_rates(as_json: bool) -> None:
    """Show the base rate, the bounds of spot, and what preemptible jobs pay."""
    with open_pool() as pool:
        document = _shown(pool, "rates", as_json)
    if document is None:
        return
    from computepool.cli.display import in_credits, print_pairs

    value = document["value"]
    print_pairs(
        (
            ("base", f"{in_credits(value['base_micros'])} an hour, for tier 1 where the factor is 1"),
            ("spot", f"from {_spelled(value['spot_least_millis'])} to {_spelled(value['spot_most_millis'])}"),
            ("preemptible", f"{value.get('preemptible_percent', 70)} % of a price"),
        )
    )
    _print_history(document)


@rates.command("set", epilog="Example: computepool admin settings rates set --base 12 --spot-most 1.5")
@click.option("--base", metavar="CREDITS", help="An hour of a card of tier 1, where the factor is 1.")
@click.option("--spot-least", metavar="FACTOR", help="At most 1.")
@click.option("--spot-most", metavar="FACTOR", help="At least 1.")
@click.option(
    "--preemptible", "percent", metavar="PERCENT", type=click.IntRange(1, 100),
    help="Of a price, what a job pays that may lose its slot.",
)  # fmt: skip
@json_option
@pool_options
def set_rates(
    base: str | None, spot_least: str | None, spot_most: str | None, percent: int | None, as_json: bool
) -> None:
    """Change some of them, and leave the others."""
    if all(one is None for one in (base, spot_least, spot_most, percent)):
        raise click.UsageError("What is to be changed? --base, --spot-least, --spot-most or --preemptible.")
    from computepool.protocol.units import BadValueError, parse_credits

    with open_pool() as pool:
        document = pool.market.table("rates")
        value = dict(document["value"])
        if base is not None:
            try:
                value["base_micros"] = parse_credits(base)
            except BadValueError as error:
                raise CliError(f"--base: {error.message}.", error.hint_sentence, USAGE) from None
        if spot_least is not None:
            value["spot_least_millis"] = _millis(spot_least, "--spot-least")
        if spot_most is not None:
            value["spot_most_millis"] = _millis(spot_most, "--spot-most")
        if percent is not None:
            value["preemptible_percent"] = percent
        _save(pool, document, value, as_json)


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@admin.group(epilog="Example: computepool admin limits set user_01… --slices 50")
def limits() -> None:
    """How much of other people's nodes one renter may have."""


@limits.command("show", epilog="Example: computepool admin limits show user_01…")
@click.argument("owner", metavar="OWNER")
@json_option
@pool_options
def show_limits(owner: str, as_json: bool) -> None:
    """Show what a user or team may have, and has. OWNER is an id or a user's e-mail address."""
    with open_pool() as pool:
        document = pool.limits(owner_id_of(pool, owner))
    if as_json:
        print_json(document)
    else:
        _print_limits(document)


@limits.command("set", epilog="Example: computepool admin limits set user_01… --slices 50 --per-day 200")
@click.argument("owner", metavar="OWNER")
@click.option("--slices", type=click.IntRange(1), metavar="N", help="At once.")
@click.option("--per-hour", metavar="CREDITS", help="What everything that runs may cost in an hour.")
@click.option("--per-day", metavar="CREDITS", help="In a day of UTC.")
@click.option("--per-month", metavar="CREDITS", help="In a month of UTC.")
@json_option
@pool_options
def set_limits(
    owner: str, slices: int | None, per_hour: str | None, per_day: str | None, per_month: str | None, as_json: bool
) -> None:
    """Set the limits of a user or team. What is left out is the pool's default again.

    OWNER is an id or a user's e-mail address.
    """
    given = {"hourly_micros": per_hour, "daily_micros": per_day, "monthly_micros": per_month}
    change: dict[str, int | None] = {"slices": slices}
    change |= {name: _micros(text) if text is not None else None for name, text in given.items()}
    with open_pool() as pool:
        document = pool.change_limits(owner_id_of(pool, owner), change)
    if as_json:
        print_json(document)
    else:
        _print_limits(document)


def _micros(text: str) -> int:
    from computepool.protocol.units import BadValueError, parse_credits

    try:
        return parse_credits(text)
    except BadValueError as error:
        raise CliError(error.sentence, error.hint_sentence, USAGE) from None


def _queued(document: dict[str, Any]) -> tuple[str, str]:
    """Waiting slices, and the specs of open jobs. Nothing where the hub does not tell."""
    from computepool.cli.display import size

    if "queued_slices" not in document:
        return "", ""
    slices, most = document["queued_slices"], document["limit_queued_slices"]
    spec_bytes, most_bytes = document["queued_bytes"], document["limit_queued_bytes"]
    return (
        f"{slices} of {most} slices" if most is not None else f"{slices} slices",
        f"{size(spec_bytes)} of {size(most_bytes)}" if most_bytes is not None else size(spec_bytes),
    )


def _print_limits(document: dict[str, Any]) -> None:
    from computepool.cli.display import credits, in_credits, print_pairs

    def shown(limit: int | None, used: int | None) -> str:
        if used is None:  # a pool without money
            return ""
        return f"{credits(used)} of {in_credits(limit)}" if limit is not None else in_credits(used)

    most, (queued, specs) = document["slices"], _queued(document)
    print_pairs(
        (
            ("owner", document["owner_id"]),
            ("slices", f"{document['running_slices']}" + (f" of {most}" if most is not None else "")),
            ("an hour", shown(document["hourly_micros"], document["running_hourly_micros"])),
            ("today", shown(document["daily_micros"], document["spent_today_micros"])),
            ("this month", shown(document["monthly_micros"], document["spent_this_month_micros"])),
            ("queued", queued),
            ("specs", specs),
        )
    )
