"""How a machine did over time, and what happened to a job."""

from typing import TYPE_CHECKING, Any

import click

from computepool.cli.completion import NODE
from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.node_price import NODE_HELP
from computepool.cli.options import json_option, open_pool, pool_options, print_json

if TYPE_CHECKING:
    from computepool.client.pool import Pool

BARS = "▁▂▃▄▅▆▇█"
POINTS_SHOWN = 48
EVENTS_LIMIT = 1_000


@click.command(
    epilog="Examples: computepool node history alpha · computepool node history alpha --since 7d --json",
    help=f"Show the load of a machine over time: processor, memory, disk, network and each GPU. {NODE_HELP}",
)
@click.argument("node_name", metavar="NODE", type=NODE)
@click.option("--since", default="24h", show_default=True, metavar="TIME", help="How far back, such as 1h or 7d.")
@json_option
@pool_options
def history(node_name: str, since: str, as_json: bool) -> None:
    asked = f"since={instant_before(since)}&step={max(1, round(_seconds(since) / POINTS_SHOWN))}"
    with open_pool() as pool:
        document = pool.call("GET", f"/nodes/{pool.find_node(node_name)}/telemetry?{asked}")
    if as_json:
        print_json(document)
        return
    rows = [_row(column) for column in document.get("columns", [])]
    if not rows:
        tell("Nothing was recorded in this time. A machine reports its load about once a minute.", dim=True)
        return
    from computepool.cli.display import print_table, spoken

    print_table(("what", "least", "mean", "most", f"over {since}"), rows)
    gpus = document.get("gpus", [])
    if gpus:
        tell(", ".join(f"gpu{place} is {clean(gpu)}" for place, gpu in enumerate(gpus)), dim=True)
    tell(f"One bar is {spoken(document['step_seconds'])}; a gap means that nothing was recorded.", dim=True)


def instant_before(since: str) -> str:
    """So long ago, as the hub reads it."""
    from datetime import UTC, datetime, timedelta

    return f"{datetime.now(UTC) - timedelta(seconds=_seconds(since)):%Y-%m-%dT%H:%M:%SZ}"


def _seconds(since: str) -> float:
    from computepool.protocol.units import BadValueError, parse_duration

    try:
        return parse_duration(since)
    except BadValueError as error:
        raise CliError(f"--since: {error}.", "Such as --since 24h.", USAGE) from None


def _row(column: dict[str, Any]) -> tuple[str, ...]:
    unit, means = column["unit"], column["average"]
    known = [value for value in means if value is not None]
    least = min((value for value in column["minimum"] if value is not None), default=None)
    most = max((value for value in column["maximum"] if value is not None), default=None)
    mean = sum(known) / len(known) if known else None
    top = 1.0 if unit == "share" else most
    name = clean(column["name"]).replace("_", " ").replace(".", " ")
    return (name, *(_value(value, unit) for value in (least, mean, most)), bars(means, top))


def bars(values: "list[float | None]", top: float | None) -> str:
    """A bar for each value, by its share of the top; a space for none."""
    if not top or top <= 0:
        return "".join(" " if value is None else BARS[0] for value in values)
    steps = len(BARS) - 1
    return "".join(" " if value is None else BARS[min(steps, max(0, round(value / top * steps)))] for value in values)


def _value(value: float | None, unit: str) -> str:
    from computepool.cli.display import size

    if value is None:
        return ""
    if unit == "share":
        return f"{value:.0%}"
    if unit.startswith("bytes"):
        return size(round(value)) + ("/s" if unit != "bytes" else "")
    return f"{value:.0f} {'°C' if unit == 'celsius' else 'W' if unit == 'watts' else unit}"


# ── jobs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def timeline_of(pool: "Pool", job_id: str) -> dict[str, Any]:
    """What happened to a job, oldest first: as much as people read."""
    items: list[dict[str, Any]] = []
    cursor = None
    while len(items) < EVENTS_LIMIT:
        after = f"&cursor={cursor}" if cursor is not None else ""
        page = pool.call("GET", f"/jobs/{job_id}/timeline?limit=500{after}")
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            break
    return {"items": items, "next": cursor}


def print_timeline(document: dict[str, Any]) -> None:
    from datetime import datetime

    from computepool.cli.display import instant, print_table

    rows = [
        (
            instant(datetime.fromisoformat(event["at"])),
            "" if event["slice"] is None else f"{event['slice']}.{event['attempt']}",
            _told(event),
            clean(event["by"]),
            clean(event["node_name"] or ""),
        )
        for event in document["items"]
    ]
    print_table(("at", "slice.attempt", "what", "by", "node"), rows, spare=("by",))
    if document["next"] is not None:
        tell(f"The first {len(rows)} events. The rest: GET /jobs/JOB/timeline?cursor={document['next']}", dim=True)


def _told(event: dict[str, Any]) -> str:
    why = ", ".join(filter(None, (event["verdict"] and f"verdict {event['verdict']}", event["reason"])))
    return clean(f"{event['message']} ({why})" if why else event["message"])
