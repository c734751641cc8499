"""What is known of a machine's past, and what an owner and an operator say about it."""

from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import NODE
from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.models import NodeReliability

EVENTS_SHOWN = 5


def reliability_text(known: "NodeReliability | None") -> str:
    """In one line: `0.87, at least 0.70 (12 ok for others)`."""
    if known is None:
        return ""
    words = f"{known.mean:.2f}, at least {known.lower:.2f} ({known.ok_attempts} ok for others)"
    if known.quarantined_until is not None:
        from computepool.cli.display import instant

        words += f", in quarantine until {instant(known.quarantined_until)}"
    elif known.probed:
        words += ", on probation: one slice of others at a time"
    return words


def presence_text(known: "NodeReliability | None") -> str:
    if known is None:
        return ""
    return f"{known.uptime_30d:.0%} of the last 30 days, known for {known.tenure_days:.0f} days"


def verified_text(known: "NodeReliability | None") -> str:
    if known is None:
        return ""
    return "yes" if known.verified else "no: " + "; ".join(known.missing_for_verified)


def audited_text(known: "NodeReliability | None") -> str:
    if known is None or not (known.audited.ok or known.audited.wrong):
        return ""
    return f"{known.audited.ok} right, {known.audited.wrong} wrong"


def print_events(items: list[dict[str, Any]]) -> None:
    """What moved the score last."""
    if not items:
        return
    from datetime import datetime

    from computepool.cli.display import ago, print_table

    rows = [
        (
            one["id"],
            ago(datetime.fromisoformat(one["at"])),
            one["verdict"],
            one["reason"],
            f"{one['weight']:+g}",
            _state(one),
        )
        for one in items
    ]
    print_table(("event", "when", "verdict", "reason", "counts", ""), rows)


def _state(event: dict[str, Any]) -> str:
    if event["resolution"] is not None:
        return str(event["resolution"]).replace("_", " ")
    return "contested" if event["contested_at"] is not None else ""


@click.command(epilog="Example: computepool node contest alpha 42 --reason 'the power was cut in the whole street'")
@click.argument("node_name", metavar="NODE", type=NODE)
@click.argument("event", type=click.IntRange(1))
@click.option("--reason", required=True, help="Why it was not the machine's fault.")
@json_option
@pool_options
def contest(node_name: str, event: int, reason: str, as_json: bool) -> None:
    """Contest an event that should not count against a machine. An operator decides.

    NODE is an id, the beginning of one, or a name. EVENT is its number in `node show`.
    """
    with open_pool() as pool:
        node_id = pool.find_node(node_name)
        document = pool.call("POST", f"/nodes/{node_id}/reliability/{event}/contest", {"reason": reason})
    if as_json:
        print_json(document)
    else:
        tell(f"Event {event} is contested. An operator will look at it.")


@click.command(epilog="Example: computepool admin contests --all")
@click.option("--all", "settled_too", is_flag=True, help="Settled ones too.")
@json_option
@pool_options
def contests(settled_too: bool, as_json: bool) -> None:
    """List what owners of machines object to."""
    with open_pool() as pool:
        page = pool.call("GET", f"/admin/contests?limit=500&all={'true' if settled_too else 'false'}")
    if as_json:
        print_json(page)
        return
    if not page["items"]:
        tell("Nobody objects to anything.", dim=True)
        return
    from computepool.cli.display import print_table

    rows = [
        (
            one["id"],
            one["node_name"],
            one["verdict"],
            one["reason"],
            f"{one['weight']:+g}",
            _state(one),
            one["contest_reason"],
        )
        for one in page["items"]
    ]
    print_table(("event", "machine", "verdict", "reason", "counts", "state", "why not"), rows)
    tell("computepool admin resolve EVENT upheld|dismissed --note '…'", dim=True)


@click.command(epilog="Example: computepool admin resolve 42 upheld --note 'seen in the status page of the grid'")
@click.argument("event", type=click.IntRange(1))
@click.argument("decision", type=click.Choice(["upheld", "dismissed"]))
@click.option("--note", default="", help="For the owner.")
@json_option
@pool_options
def resolve(event: int, decision: str, note: str, as_json: bool) -> None:
    """Decide on a contested event. Upheld, it counts as if it had never happened."""
    with open_pool() as pool:
        document = pool.call("POST", f"/admin/contests/{event}/resolve", {"resolution": decision, "note": note})
    if as_json:
        print_json(document)
    else:
        tell(f"Event {event}: {decision}.")


@click.command(epilog="Example: computepool admin verify alpha")
@click.argument("node_name", metavar="NODE", type=NODE)
@json_option
@pool_options
def verify(node_name: str, as_json: bool) -> None:
    """Say that a machine's owner, and where its earnings go, were checked."""
    _mark(node_name, "verify", as_json)


@click.command(epilog="Example: computepool admin unverify alpha")
@click.argument("node_name", metavar="NODE", type=NODE)
@json_option
@pool_options
def unverify(node_name: str, as_json: bool) -> None:
    """Take back what `verify` said of a machine, from the next lease on."""
    _mark(node_name, "unverify", as_json)


def _mark(node_name: str, what: str, as_json: bool) -> None:
    with open_pool() as pool:
        document = pool.call("POST", f"/admin/nodes/{pool.find_node(node_name)}/{what}")
    if as_json:
        print_json(document)
        return
    missing = [clean(one) for one in document["missing_for_verified"]]
    tell("It is verified." if document["verified"] else "It is not verified: " + "; ".join(missing) + ".")
