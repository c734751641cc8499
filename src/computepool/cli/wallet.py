"""For renters and hosts: what there is, what came and went, and statements of it."""

import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import click

from computepool.cli.cash_outs import cash_out, cash_outs, redeem
from computepool.cli.completion import JOB
from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json
from computepool.cli.top_up import card, payout_account, plan, top_up, top_ups

_POCKETS = (
    ("available", "available_micros", "bought, or granted for money"),
    ("promotional", "promotional_micros", "promotional credit: can be spent, cannot be cashed out"),
    ("earnings", "earnings_micros", "of your machines"),
)


@click.group(invoke_without_command=True, epilog="Example: computepool wallet")
@json_option
@pool_options
@click.pass_context
def wallet(ctx: click.Context, as_json: bool) -> None:
    """Show your credits: what you can spend, what is held, what you earned."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        document = pool.wallet.show()
        if as_json:
            print_json(document)
            return
        least = pool.cash_outs.own()["can"]["minimum_micros"] if document.get("cashable_micros") else 0
        _print_wallet(document, least)
        if not document["spendable_micros"]:
            how = "computepool wallet top-up N" if pool.payments.takes_cards() else "ask the pool's operator for some."
            tell(f"Nothing to spend. Your own machines are free; others' need credits: {how}", dim=True)


for _command in (top_up, top_ups, card, plan, payout_account, cash_out, cash_outs, redeem):
    wallet.add_command(_command)


def _print_wallet(document: dict[str, Any], least_micros: int) -> None:
    """`least_micros`: as many are cashed out at once, or none."""
    from rich.table import Table

    from computepool.cli.display import console, exact_credits
    from computepool.protocol.units import spell_credits

    rows = [("spendable", document["spendable_micros"], "")]
    rows += [(f"  {name}", document[key], about) for name, key, about in _POCKETS if document[key]]
    if document["held_micros"]:
        rows.append(("held", document["held_micros"], "for what runs now; what is not used comes back"))
    if can := document.get("cashable_micros"):
        how = "computepool wallet cash-out N" if can >= least_micros else f"from {spell_credits(least_micros)} on"
        rows.append(("  to cash out", can, f"of the earnings: {how}"))
    if document["cashing_out_micros"]:
        rows.append(("cashing out", document["cashing_out_micros"], "on its way to you"))
    if document["debt_micros"]:
        rows.append(("debt", -document["debt_micros"], "given back, and spent before: your next earnings go there"))
    if document.get("owed_to_you_micros"):
        about = "hosts had spent it: it comes when they have earned it"
        rows.append(("owed to you", document["owed_to_you_micros"], about))
    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, justify="right")
    table.add_column(style="dim", overflow="fold")
    for name, micros, about in rows:
        table.add_row(name, exact_credits(micros), about)
    console().print(table)


@wallet.command(epilog="Example: computepool wallet entries --kind settle --since 2026-11-01")
@click.option("--kind", "kinds", multiple=True, metavar="KIND", help="Such as settle, grant; may be given again.")
@click.option("--job", metavar="JOB", type=JOB, help="Only those of this job.")
@click.option("--since", metavar="TIME", help="Such as 2026-11-01 or 2026-11-01T12:00:00Z; UTC if not said otherwise.")
@click.option("--until", metavar="TIME", help="The same; itself not included.")
@click.option("-n", "--limit", default=30, show_default=True, type=click.IntRange(1, 100_000), help="Show this many.")
@json_option
@pool_options
def entries(
    kinds: tuple[str, ...], job: str | None, since: str | None, until: str | None, limit: int, as_json: bool
) -> None:
    """List what came and went, the newest first."""
    shown = (one.partition(":")[0].strip().lower() for one in kinds)
    kinds = tuple(one.replace(" ", "_").replace("-", "_") for one in shown)  # as they are shown here
    with open_pool() as pool:
        job_id = None if job is None else job if job.startswith("job_") else pool.find_job(job)
        items, after = pool.wallet.entries(kinds=kinds, job_id=job_id, since=since, until=until, limit=limit)
    if as_json:
        print_json({"items": items, "next": after})
        return
    if not items:
        asked = kinds or job or since or until
        tell("No entries like that." if asked else "No entries yet: no credits came or went.", dim=True)
        return
    _print_entries(items)
    if after is not None:
        tell(f"The newest {len(items)}; more with --limit.", dim=True)


def _print_entries(items: list[dict[str, Any]]) -> None:
    from computepool.cli.display import exact_credits, instant, print_table

    rows = [
        (
            instant(datetime.fromisoformat(one["at"])),
            _kind(one),
            exact_credits(one["change_micros"]),
            _moves(one["pockets"]),
            one["job_id"] or "",
            one["note"],
        )
        for one in items
    ]
    print_table(("when", "kind", "change", "pockets", "job", "note"), rows, below=("job", "note", "pockets"))


def _kind(one: dict[str, Any]) -> str:
    """In words. A cash-out has two entries: credits are set aside when it is asked for, and gone when it is paid."""
    words = str(one["kind"]).replace("_", " ")
    if one["kind"] != "cash_out":
        return words
    return f"{words}: {'asked' if one['pockets'].get('cashing_out', 0) > 0 else 'paid'}"


def _moves(pockets: dict[str, int]) -> str:
    """What each pocket has more or less, such as `held -1, available +0.998611`: exactly, so that they add up."""
    from computepool.protocol.units import format_credits

    return ", ".join(
        f"{name.replace('_', ' ')} {'-' if micros < 0 else '+'}{format_credits(abs(micros))}"
        for name, micros in pockets.items()
    )


@wallet.command(epilog="Example: computepool wallet earnings --since 2026-11-01")
@click.option("--since", metavar="DAY", help="Such as 2026-11-01; thirty days ago, if not said otherwise.")
@click.option("--until", metavar="DAY", help="The same; itself not included.")
@json_option
@pool_options
def earnings(since: str | None, until: str | None, as_json: bool) -> None:
    """Say what your machines earned, by machine and day of UTC."""
    with open_pool() as pool:
        document = pool.wallet.earnings(since=since, until=until)
    if as_json:
        print_json(document)
        return
    if not document["items"]:
        tell(f"Nothing was earned from {clean(document['since'])} on.", dim=True)
        return
    from computepool.cli.display import exact_credits, in_credits, print_table

    rows = [
        (
            one["day"],
            one["node_name"],
            one["attempts"],
            exact_credits(one["earned_micros"]),
            exact_credits(one["promotional_micros"]) if one["promotional_micros"] else "",
        )
        for one in document["items"]
    ]
    print_table(("day", "node", "attempts", "earned", "of that promotional"), rows)
    tell(f"{in_credits(exact_credits(document['earned_micros']))} in all.")


@wallet.command(epilog="Example: computepool wallet statement 2026-11 --pdf november.pdf")
@click.argument("period", metavar="MONTH|YEAR")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), metavar="FILE", help="Write a table; - prints it.")
@click.option("--pdf", "pdf_file", type=click.Path(path_type=Path), metavar="FILE", help="Write it for paper.")
@json_option
@pool_options
def statement(period: str, csv_file: Path | None, pdf_file: Path | None, as_json: bool) -> None:
    """Show a month or a year: the balance before, the sums of what came and went, the balance after.

    Such as 2026-11 or 2026, in UTC; what is not over yet goes up to now. The files have every entry.
    """
    with open_pool() as pool:
        for file, kind in ((csv_file, "csv"), (pdf_file, "pdf")):
            if file is not None:
                _write(file, pool.wallet.statement_file(period, kind))
        if csv_file is not None or pdf_file is not None:
            return
        document = pool.wallet.statement(period)
    if as_json:
        print_json(document)
    else:
        _print_statement(document)


def _write(file: Path, data: bytes) -> None:
    if str(file) == "-":
        sys.stdout.buffer.write(data)
        return
    if file.is_dir():
        raise CliError(f"{file} is a folder.", "Name a file in it.", USAGE)
    file.write_bytes(data)
    tell(f"Wrote {file}.")


def _print_statement(document: dict[str, Any]) -> None:
    from computepool.cli.display import exact_credits, print_pairs

    made_of = [(one.replace("_", " "), micros) for one, micros in document["totals"].items() if micros]
    print_pairs(
        (
            ("period", document["period"] + ("" if document.get("is_over", True) else ", until today: it is not over")),
            ("opening balance", exact_credits(document["opening_micros"])),
            *((f"  {name}", exact_credits(micros)) for name, micros in made_of),
            ("closing balance", exact_credits(document["closing_micros"])),
            ("fees in what you paid", exact_credits(document["fees_paid_micros"])),
            ("fees kept back from what you earned", exact_credits(document["fees_withheld_micros"])),
        )
    )
    tell(f"All {len(document['lines'])} entries: --csv FILE, or --pdf FILE.", dim=True)
