"""Disputes, for renters and for operators; and how the pool does."""

from datetime import datetime
from typing import Any

import click

from computepool.cli.completion import JOB
from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json


@click.command(epilog="Example: computepool dispute last --reason 'the output is empty'")
@click.argument("job", metavar="[JOB]", required=False, type=JOB)
@click.option("--reason", metavar="TEXT", help="What was wrong with the job.")
@json_option
@pool_options
def dispute(job: str | None, reason: str | None, as_json: bool) -> None:
    """Ask for credits back for a finished job. An operator decides.

    Without JOB: list your disputes and their outcomes.
    """
    if job is None:
        if reason is not None:
            raise CliError("--reason needs a job.", "computepool dispute JOB --reason TEXT", USAGE)
        _list_own(as_json)
        return
    if reason is None:
        raise CliError("A dispute needs a reason.", "computepool dispute JOB --reason TEXT", USAGE)
    with open_pool() as pool:
        made = pool.disputes.open(pool.find_job(job), reason)
    if as_json:
        print_json(made)
        return
    from computepool.cli.display import in_credits

    tell(f"{clean(made['id'])} is open, for {in_credits(made['micros'])}. An operator will decide.")
    tell("To see the outcome: computepool dispute", dim=True)


def _list_own(as_json: bool) -> None:
    with open_pool() as pool:
        items = pool.disputes.own()
    if as_json:
        print_json({"items": items})
        return
    if not items:
        tell("You have no disputes.", dim=True)
        return
    from computepool.cli.display import ago, credits, print_table

    rows = [
        (
            one["id"],
            ago(datetime.fromisoformat(one["opened_at"])),
            one["job_id"] or "",
            one["outcome"] or one["state"],
            credits(one["refunded_micros"]) if one["refunded_micros"] else "",
            one["note"],
        )
        for one in items
    ]
    headers = ("id", "opened", "job", "outcome", "given back", "note")
    print_table(headers, rows, below=("id", "job", "note"))


# ── operators ────────────────────────────────────────────────────────────────────────────────────────────────────────


@click.group(invoke_without_command=True, epilog="Example: computepool admin disputes --all")
@click.option("--all", "resolved_too", is_flag=True, help="Resolved ones too.")
@json_option
@pool_options
@click.pass_context
def disputes(ctx: click.Context, resolved_too: bool, as_json: bool) -> None:
    """What renters, and their banks, want back."""
    if ctx.invoked_subcommand is not None:
        return
    with open_pool() as pool:
        items = pool.disputes.list_all(None if resolved_too else "open")
    if as_json:
        print_json({"items": items})
        return
    if not items:
        tell("Nobody disputes anything.", dim=True)
        return
    from computepool.cli.display import ago, credits, print_table

    rows = [
        (
            one["id"],
            ago(datetime.fromisoformat(one["opened_at"])),
            one["kind"] if one["bank"] is None else f"{one['kind']} ({one['bank']})",
            _who(one),
            credits(one["micros"]),
            credits(one["uncovered_micros"]) if one.get("uncovered_micros") else "",
            one["outcome"] or one["state"],
            one["reason"],
        )
        for one in items
    ]
    headers = ("id", "opened", "kind", "renter", "about", "uncovered", "outcome", "reason")
    print_table(headers, rows, below=("id", "reason", "renter"))
    tell("computepool admin disputes show DISPUTE", dim=True)


@disputes.command(epilog="Example: computepool admin disputes show dispute_01k9…")
@click.argument("dispute_id", metavar="DISPUTE")
@json_option
@pool_options
def show(dispute_id: str, as_json: bool) -> None:
    """Show what it takes to decide: jobs, attempts, receipts, and what is known of the machines."""
    with open_pool() as pool:
        facts = pool.disputes.show(dispute_id)
    if as_json:
        print_json(facts)
        return
    from computepool.cli.display import instant, print_pairs, print_table
    from computepool.protocol.units import format_credits as credits  # what is shown can be given back as it stands
    from computepool.protocol.units import in_credits

    one = facts["dispute"]
    print_pairs(
        (
            ("dispute", one["id"]),
            ("renter", f"{_who(one)} ({one['owner_id']})" if one.get("owner_email") else one["owner_id"]),
            ("opened", instant(datetime.fromisoformat(one["opened_at"]))),
            ("reason", one["reason"]),
            ("outcome", one["outcome"] or "open"),
            ("can be given back", credits(facts["refundable_micros"])),
            *((("uncovered", _uncovered(one, credits)),) if one.get("uncovered_micros") else ()),
            *((("given back", credits(one["refunded_micros"])),) if one["outcome"] else ()),
            *((("note", one["note"]),) if one["note"] else ()),
        )
    )
    jobs = [(job["id"], job["state"], job["verdict"] or "", job["message"] or "") for job in facts["jobs"]]
    click.echo()
    print_table(("job", "state", "verdict", "message"), jobs, below=("message",))
    click.echo()
    print_table(
        ("attempt", "slice", "machine", "verdict", "exit", "seconds", "cost", "signed"),
        [_attempt_row(each, credits) for each in facts["attempts"]],
        below=("attempt", "machine"),
    )
    click.echo()
    print_table(
        ("machine", "host", "reliability", "audits", "refunded before", "host has"),
        [_machine_row(each, credits) for each in facts["nodes"]],
        below=("host", "audits"),
    )
    for out in facts.get("paid_out", ()):
        owed = credits(out["micros"])
        tell(
            f"{clean(_who(out))} owes {in_credits(owed)} of what was paid out by {clean(out['way'])}: "
            f"computepool admin cash-outs reverse {clean(out['cash_out_id'])} {owed} --note WHY"
        )
    for job in facts["jobs"][:3]:
        tell(
            f"Its log: computepool logs {clean(job['id'])}    Its signatures: computepool verify {clean(job['id'])}",
            dim=True,
        )


def _who(one: dict[str, Any]) -> str:
    """As people know them; a team has only its id."""
    return str(one.get("owner_email") or one["owner_id"])


def _uncovered(one: dict[str, Any], credits: Any) -> str:
    return f"{credits(one['uncovered_micros'])} of that: hosts have spent it, and the pool would pay until they earn it"


def _attempt_row(one: dict[str, Any], credits: Any) -> tuple[object, ...]:
    return (
        one["attempt_id"],
        one["slice"],
        one["node_name"],
        one["verdict"] or "",
        "" if one["exit_code"] is None else one["exit_code"],
        one["billed_seconds"],
        credits(one["cost_micros"]),
        "yes" if one["receipt"] is not None else "no",
    )


def _machine_row(one: dict[str, Any], credits: Any) -> tuple[object, ...]:
    reliability = one["reliability"]
    return (
        one["name"],
        _who(one),
        f"{reliability['mean']:.2f}, at least {reliability['lower']:.2f}",
        f"{reliability['audited']['ok']} right, {reliability['audited']['wrong']} wrong",
        one["refunded_before"],
        credits(one["earnings_micros"]),
    )


@disputes.command(epilog="Example: computepool admin disputes resolve dispute_01k9… partial 25 --note 'half was there'")
@click.argument("dispute_id", metavar="DISPUTE")
@click.argument("outcome", type=click.Choice(["full", "partial", "none"]))
@click.argument("credits", required=False, metavar="[CREDITS]")
@click.option("--note", required=True, metavar="TEXT", help="Why; the renter reads it, and the hosts do.")
@json_option
@pool_options
def resolve(dispute_id: str, outcome: str, credits: str | None, note: str, as_json: bool) -> None:
    """Give everything back, a part, or nothing. The hosts give back what they got, and the platform its fee."""
    if (outcome == "partial") != (credits is not None):
        raise CliError(
            "A partial refund says how many credits, and no other does.", "Such as: resolve DISPUTE partial 25", USAGE
        )
    with open_pool() as pool:
        document = pool.disputes.resolve(dispute_id, outcome, note, credits)
    if as_json:
        print_json(document)
        return
    from computepool.cli.display import credits as shown
    from computepool.cli.display import in_credits

    tell(f"{clean(document['id'])} is resolved: {in_credits(document['refunded_micros'])} went back.")
    if document["owed_micros"]:
        tell(
            f"Hosts had spent {shown(document['owed_micros'])} of that: it comes out of what they earn next.", dim=True
        )


@click.command(epilog="Example: computepool admin reports --since 2026-11-01 --until 2026-12-01")
@click.option("--since", metavar="DAY", help="The first day, such as 2026-11-01; else thirty days ago.")
@click.option("--until", metavar="DAY", help="The day after the last one; else tomorrow.")
@json_option
@pool_options
def reports(since: str | None, until: str | None, as_json: bool) -> None:
    """Jobs, spending, fees and refunds by day; what is due now; how reliable hosts are."""
    with open_pool() as pool:
        report = pool.disputes.report(since, until)
    if as_json:
        print_json(report)
        return
    from computepool.cli.display import count, credits, in_credits, print_pairs, print_table

    rows = [_figures(one["day"], one) for one in report["days"]]
    rows = [row for row in rows if any(figure not in (0, "0") for figure in row[1:])]
    totals = report["totals"]
    rows.append(_figures("all", totals))
    headers = ("day", "jobs", "spent", "fees", "given back", "paid in", "to hosts", "to renters")
    print_table(headers, rows, below=("to renters", "to hosts", "paid in"))
    click.echo()
    by_hand, to_cards = totals.get("withdrawn_micros", 0), totals.get("returned_micros", 0)
    due = report["due"]
    print_pairs(
        (
            ("paid in", "money: top-ups, and grants that are not promotional"),
            ("to hosts", "money: cash-outs, less what was taken back"),
            ("to renters", f"money: {in_credits(by_hand)} withdrawn by hand, {in_credits(to_cards)} back to cards"),
            ("to decide", f"{count(due['requested'], 'cash-out')}, {in_credits(due['requested_micros'])}"),
            ("to pay", f"{count(due['approved'], 'cash-out')}, {in_credits(due['approved_micros'])}"),
            ("disputes", f"{due['open_disputes']} open"),
            ("written off", in_credits(totals.get("written_off_micros", 0))),
            ("storage", in_credits(totals.get("storage_micros", 0))),
        )
    )
    hosts = [
        (
            one["name"],
            _who(one),
            one["state"],
            f"{one['mean']:.2f}, at least {one['reliability']:.2f}",
            one["attempts"],
            one["ok"],
            one["lost"],
            credits(one["earned_micros"]),
        )
        for one in report["hosts"]
    ]
    if hosts:
        click.echo()
        headers = ("machine", "host", "state", "reliability", "attempts", "ok", "its fault", "earned")
        print_table(headers, hosts, below=("host", "reliability"))


def _figures(name: str, one: dict[str, Any]) -> tuple[object, ...]:
    from computepool.cli.display import credits

    to_renters = one.get("withdrawn_micros", 0) + one.get("returned_micros", 0)
    figures = ("spent_micros", "fees_micros", "refunded_micros", "paid_in_micros", "paid_out_micros")
    return (name, one["jobs"], *(credits(one[each]) for each in figures), credits(to_renters))
