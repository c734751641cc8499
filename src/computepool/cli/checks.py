"""Which results others computed too, and what was found: for renters and for operators."""

from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import JOB, NODE
from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.models import Job
    from computepool.client.pool import Pool

FOUND = {
    "open": "not decided yet",
    "valid": "right",
    "accused": "in doubt",
    "guilty": "wrong",
    "dismissed": "not believed",
    "nondeterm": "differs from run to run",
    "abandoned": "nobody can say",
}
STATES = tuple(FOUND)


def find_checks(pool: "Pool", job: "Job") -> dict[str, Any]:
    """Nothing for jobs that are not declared deterministic, which is most of them: then nobody is asked."""
    if not job.spec.get("deterministic"):
        return {"replicas": [], "checks": []}
    return dict(pool.call("GET", f"/jobs/{job.id}/checks"))


def print_checks(found: dict[str, Any]) -> None:
    from computepool.cli.display import print_table, state_text

    if found["replicas"]:
        click.echo()
        rows = [
            (
                one["slice"],
                state_text(one["state"]),
                one["node_name"] or "",
                {True: "agrees", False: "differs", None: ""}[one["agrees"]],
                one["job_id"],
            )
            for one in found["replicas"]
        ]
        print_table(("slice", "replica", "node", "", "job"), rows)
        tell("The log of a replica: computepool logs JOB", dim=True)
    audits = [one for one in found["checks"] if one["kind"] == "audit"]
    if audits:
        click.echo()
        found_out = [(one["slice"], FOUND.get(one["state"], one["state"]), one["detail"] or "") for one in audits]
        print_table(("slice", "audited", "detail"), found_out)


@click.command(epilog="Example: computepool admin audits --state guilty")
@click.option("--state", "states", type=click.Choice(STATES), multiple=True, help="Only these; may be given again.")
@click.option("--node", "node_name", help="Only results of this machine.")
@json_option
@pool_options
def audits(states: tuple[str, ...], node_name: str | None, as_json: bool) -> None:
    """List the results that others computed again, and what was found."""
    with open_pool() as pool:
        query = "".join(f"&state={state}" for state in states)
        if node_name is not None:
            query += f"&node={pool.find_node(node_name)}"
        page = pool.call("GET", f"/admin/audits?limit=500{query}")
    if as_json:
        print_json(page)
        return
    if not page["items"]:
        tell("Nothing was checked so far.", dim=True)
        return
    from datetime import datetime

    from computepool.cli.display import ago, print_table
    from computepool.protocol.units import format_credits

    rows: list[tuple[str, ...]] = [
        (
            one["id"],
            ago(datetime.fromisoformat(one["created_at"])),
            one["kind"],
            one["node_name"] or "",
            FOUND.get(one["state"], one["state"]),
            f"{one['answers']} of {one['asked']}",
            one["detail"] or "",
            format_credits(one["given_back_micros"]) if one["given_back_micros"] else "",
        )
        for one in page["items"]
    ]
    heads: tuple[str, ...] = ("check", "when", "kind", "machine", "result", "answers", "detail", "gives back")
    if all(one["given_back_micros"] is None for one in page["items"]):  # a pool without money
        heads, rows = heads[:-1], [row[:-1] for row in rows]
    print_table(heads, rows)


@click.group(epilog="Example: computepool admin accusations list")
def accusations() -> None:
    """Results that other nodes found wrong, which an admin confirms or dismisses."""


@accusations.command("list", epilog="Example: computepool admin accusations list --state confirmed")
@click.option(
    "--state",
    "states",
    type=click.Choice(["open", "confirmed", "dismissed"]),
    multiple=True,
    default=("open",),
    show_default=True,
    help="Only these; may be given again.",
)
@json_option
@pool_options
def list_accusations(states: tuple[str, ...], as_json: bool) -> None:
    """List those that wait for a decision."""
    with open_pool() as pool:
        page = pool.call("GET", f"/admin/accusations?limit=500{''.join(f'&state={state}' for state in states)}")
    if as_json:
        print_json(page)
        return
    if not page["items"]:
        tell(f"No accusation is {' or '.join(states)}.", dim=True)
        return
    from datetime import datetime

    from computepool.cli.display import ago, print_table

    rows = [
        (
            accusation["id"],
            ago(datetime.fromisoformat(accusation["created_at"])),
            accusation["node_name"],
            accusation["owner_id"],
            accusation["kind"],
            "proven" if accusation["proven"] else "outvoted",
            accusation["job_id"],
            accusation["state"],
            accusation["note"] or "",
        )
        for accusation in page["items"]
    ]
    print_table(("accusation", "when", "machine", "host", "found by", "", "job", "state", "note"), rows)


def _decide(accusation: str, what: str, note: str | None, as_json: bool) -> None:
    from urllib.parse import quote

    with open_pool() as pool:
        decided = pool.call("POST", f"/admin/accusations/{quote(accusation, safe='')}/{what}", {"note": note})
    if as_json:
        print_json(decided)
    else:
        tell(f"{clean(decided['id'])} is {clean(decided['state'])}.")


@accusations.command(
    epilog="Example: computepool admin accusations confirm accusation_01k9… --note 'ran it again myself'"
)
@click.argument("accusation")
@click.option("--note", help="Why; the host reads it.")
@json_option
@pool_options
def confirm(accusation: str, note: str | None, as_json: bool) -> None:
    """Confirm that the result was wrong.

    The machine gives back what it earned since it was last found right, loses its record, and gets no strangers' work
    for a day; the second time it is banned. The renter gets the right result.
    """
    _decide(accusation, "confirm", note, as_json)


@accusations.command(
    epilog="Example: computepool admin accusations dismiss accusation_01k9… --note 'both judges are new'"
)
@click.argument("accusation")
@click.option("--note", help="Why; the host reads it.")
@json_option
@pool_options
def dismiss(accusation: str, note: str | None, as_json: bool) -> None:
    """Dismiss it: the machine loses nothing, and its earnings can be cashed out again."""
    _decide(accusation, "dismiss", note, as_json)


@click.command(epilog="Example: computepool admin canary alpha job_01k9… --slice 3")
@click.argument("node_name", metavar="NODE", type=NODE)
@click.argument("job", metavar="JOB", type=JOB)
@click.option("--slice", "index", type=click.IntRange(0), default=0, show_default=True, help="Which part of it.")
@json_option
@pool_options
def canary(node_name: str, job: str, index: int, as_json: bool) -> None:
    """Let a machine run a slice whose right result is known.

    JOB is one that succeeded: deterministic, without network and without setup. To the machine it looks like paid work.
    """
    with open_pool() as pool:
        body = {"node_id": pool.find_node(node_name), "job_id": pool.find_job(job), "slice": index}
        document = pool.call("POST", "/admin/canaries", body)
    if as_json:
        print_json(document)
    else:
        tell(f"{clean(document['job_id'])} is on its way. What comes of it: computepool admin audits")


@click.group(epilog="Example: computepool admin canaries list")
def canaries() -> None:
    """Slices whose right result is known, which the hub sends to machines now and then."""


@canaries.command("list", epilog="Example: computepool admin canaries list --json")
@json_option
@pool_options
def list_canaries(as_json: bool) -> None:
    """List what canaries are drawn from."""
    with open_pool() as pool:
        page = pool.call("GET", "/admin/canaries")
    if as_json:
        print_json(page)
        return
    rate = page["rate_per_day"]
    often = f"Each machine gets {rate:g} a day on average" if rate else "The hub sends none by itself"
    tell(f"{often} (COMPUTEPOOL_CANARY_RATE_PER_DAY).", dim=True)
    if not page["items"]:
        tell("No result is known yet. Vouch for one: computepool admin canaries add JOB", dim=True)
        return
    from datetime import datetime

    from computepool.cli.display import ago, print_table

    words = {"known": "an operator vouches", "audit": "audited", "replicas": "replicas agreed"}
    rows: list[tuple[str, ...]] = [
        (
            one["id"],
            ago(datetime.fromisoformat(one["since"])),
            words.get(one["kind"], one["kind"]),
            one["job_id"],
            one["slice"],
            one["gpu_class"] or "",
            f"{one['seconds']:.0f} s",
        )
        for one in page["items"]
    ]
    print_table(("canary", "known", "because", "job", "slice", "GPU", "ran"), rows)


@canaries.command("add", epilog="Example: computepool admin canaries add job_01k9… --slice 3")
@click.argument("job", metavar="JOB", type=JOB)
@click.option("--slice", "index", type=click.IntRange(0), default=0, show_default=True, help="Which part of it.")
@json_option
@pool_options
def add_canary(job: str, index: int, as_json: bool) -> None:
    """Vouch for the result of a slice that succeeded.

    JOB is deterministic, without network, setup or inputs from the web, and took at most a quarter of an hour. It is
    sent in the name of its renter: submit it from an account that hosts do not know as yours.
    """
    with open_pool() as pool:
        document = pool.call("POST", "/admin/canaries/answers", {"job_id": pool.find_job(job), "slice": index})
    if as_json:
        print_json(document)
    else:
        tell(f"{clean(document['id'])} is sent to machines from now on.")


@canaries.command("remove", epilog="Example: computepool admin canaries remove check_01k9…")
@click.argument("check", metavar="CANARY")
@pool_options
def remove_canary(check: str) -> None:
    """Send it to nobody any more; those that owners agreed on stay for thirty days."""
    from urllib.parse import quote

    with open_pool() as pool:
        pool.call("POST", f"/admin/canaries/answers/{quote(check, safe='')}/withdraw")
    tell(f"{clean(check)} is sent to nobody any more.")
