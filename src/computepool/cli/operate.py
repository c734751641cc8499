"""For operators: the pool at a glance, what needs a person, who did what, and settings that are changed while the hub
runs."""

import json
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

import click

from computepool.cli.errors import USAGE, CliError, clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

SECONDS_PER_HOUR = 3600


@click.command(epilog="Example: computepool admin overview --days 7")
@click.option("--days", default=14, show_default=True, type=click.IntRange(1, 365), help="So many, with today.")
@json_option
@pool_options
def overview(days: int, as_json: bool) -> None:
    """Jobs, work, waiting times, new users and spending by day of UTC."""
    with open_pool() as pool:
        document = pool.call("GET", f"/admin/overview?days={days}")
    if as_json:
        print_json(document)
        return
    from computepool.cli.display import credits, print_table

    has_money = document["today"]["spent_micros"] is not None
    rows = []
    for one in [*document["days"], {**document["totals"], "day": "all"}]:
        figures = (
            one["day"],
            one["jobs"],
            one["attempts"],
            f"{one['gpu_seconds'] / SECONDS_PER_HOUR:.1f}",
            _seconds(one["wait_average_seconds"]),
            _seconds(one["start_average_seconds"]),
            one["users"],
            one["nodes"],
        )
        rows.append((*figures, credits(one["spent_micros"]), credits(one["fees_micros"])) if has_money else figures)
    headers = ("day", "jobs", "attempts", "GPU hours", "waited", "started after", "new users", "nodes")
    print_table((*headers, "spent", "fees") if has_money else headers, rows, below=("new users", "nodes"))


def _seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.0f} s"


@click.command(epilog="Example: computepool admin queue --kind cash_out")
@click.option("--kind", metavar="KIND", multiple=True, help="Only of this kind, such as dispute or cash_out.")
@json_option
@pool_options
def queue(kind: tuple[str, ...], as_json: bool) -> None:
    """List what needs a person, the longest waiting first."""
    with open_pool() as pool:
        document = pool.call("GET", f"/admin/queue?{urlencode([('limit', 200), *(('kind', one) for one in kind)])}")
    if as_json:
        print_json(document)
        return
    if not document["items"]:
        tell("Nothing waits for a person.", dim=True)
        return
    from computepool.cli.display import ago, credits, print_table

    rows = [
        (
            one["kind"].replace("_", " "),
            ago(datetime.fromisoformat(one["since"])) if one["since"] else "",
            one["title"],
            "" if one["amount_micros"] is None else credits(one["amount_micros"]),
            one["owner_email"] or one["owner_id"] or "",
            one["id"],
        )
        for one in document["items"]
    ]
    print_table(("kind", "since", "what", "credits", "who", "id"), rows, below=("what", "who"))
    if document["next"]:
        tell(f"The first {len(rows)} of {document['total']}.", dim=True)


@click.command(epilog="Example: computepool admin audit --action cash_out. --since 2026-11-01")
@click.option("--actor", metavar="WHO", help="An id, an e-mail address, or hub.")
@click.option("--action", metavar="ACTION", help="An action, or its beginning such as `cash_out.`")
@click.option("--subject", metavar="ID", help="What it was done to: an id, or a user's e-mail address.")
@click.option("--text", metavar="TEXT", help="A text in the record.")
@click.option("--since", metavar="TIME", help="Such as 24h, 2026-11-01 or 2026-11-01T12:00:00Z.")
@click.option("--until", metavar="TIME", help="The instant after the last.")
@click.option("--oldest", is_flag=True, help="The oldest first.")
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 10_000), help="Show this many.")
@json_option
@pool_options
def audit(limit: int, oldest: bool, as_json: bool, text: str | None, **filters: str | None) -> None:
    """Search the record of who did what to which object. `admin audits` is about results that were checked."""
    from computepool.cli.history import instant_before

    for name in ("since", "until"):
        if (value := filters[name]) is not None and "-" not in value:
            filters[name] = instant_before(value)
    asked = {name: value for name, value in {**filters, "q": text}.items() if value is not None}
    asked["order"] = "at" if oldest else "-at"
    items: list[dict[str, Any]] = []
    cursor: str | None = None
    with open_pool() as pool:
        while True:
            page = {"limit": str(min(500, limit - len(items))), **({"cursor": cursor} if cursor else {})}
            document = pool.call("GET", f"/admin/audit?{urlencode({**asked, **page})}")
            items += document["items"]
            cursor = document["next"]
            if cursor is None or len(items) >= limit:
                break
    if as_json:
        print_json({"items": items, "more": cursor is not None})
        return
    if not items:
        tell("No such record.", dim=True)
        return
    from computepool.cli.display import instant, print_table

    rows = [
        (
            instant(datetime.fromisoformat(one["at"])),
            one["action"],
            one["actor_name"] or one["actor"],
            one["subject_name"] or one["subject"],
            ", ".join(f"{detail['name']}={detail['value']}" for detail in one["details"]),
        )
        for one in items
    ]
    print_table(("when", "action", "who", "what", "details"), rows, below=("what", "details"))
    if cursor is not None:
        tell(f"{len(items)} of more; see them with --limit.", dim=True)


# ── settings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


@click.command("list", epilog="Example: computepool admin settings list --json")
@json_option
@pool_options
def list_settings(as_json: bool) -> None:
    """List what can be changed while the hub runs: the value in force, and where it comes from."""
    with open_pool() as pool:
        document = pool.call("GET", "/admin/settings")
    if as_json:
        print_json(document)
        return
    from computepool.cli.display import print_table

    sources = {"stored": "an admin", "env": "the environment", "default": "the program"}
    rows = [
        (
            one["name"],
            _shown(one["value"]),
            one["unit"] or "",
            sources.get(one["source"], one["source"]),
            one["changed_by_email"] or one["changed_by"] or "",
        )
        for one in document["items"]
    ]
    print_table(("name", "value", "unit", "from", "changed by"), rows, below=("changed by",))
    tables = ", ".join(one["name"] for one in document["tables"])
    if tables:
        tell(f"Tables with commands of their own: {clean(tables)}.", dim=True)


@click.command("set", epilog="Example: computepool admin settings set platform_fee_bps 1500 --reason 'a spring offer'")
@click.argument("name")
@click.argument("value")
@click.option("--reason", required=True, metavar="TEXT", help="Why. It stays in the history.")
@click.option("--preview", is_flag=True, help="Only say what it would change.")
@json_option
@pool_options
def set_setting(name: str, value: str, reason: str, preview: bool, as_json: bool) -> None:
    """Change one. It counts at once; what runs keeps the terms of its lease. VALUE `none` is no limit."""
    with open_pool() as pool:
        before = pool.call("GET", f"/admin/settings/{_path(name)}")
        body: dict[str, Any] = {"value": _value(before, value)}
        if preview:
            document = pool.call("POST", f"/admin/settings/{_path(name)}/preview", body)
        else:
            body |= {"reason": reason, "version": before["version"]}
            document = pool.call("PUT", f"/admin/settings/{_path(name)}", body)
    if as_json:
        print_json(document)
    elif preview:
        for line in document["lines"]:
            tell(f"{clean(line['label'])}: {clean(line['before'])}, then {clean(line['after'])}.")
        tell(document["message"])
    else:
        tell(f"{clean(name)} is {_shown(document['value'])} now; it was {_shown(before['value'])}.")


@click.command("reset", epilog="Example: computepool admin settings reset cash_out_min --reason 'over'")
@click.argument("name")
@click.option("--reason", required=True, metavar="TEXT", help="Why. It stays in the history.")
@json_option
@pool_options
def reset_setting(name: str, reason: str, as_json: bool) -> None:
    """Go back to what the hub's environment says."""
    with open_pool() as pool:
        document = pool.call("POST", f"/admin/settings/{_path(name)}/reset", {"reason": reason})
    if as_json:
        print_json(document)
    else:
        tell(f"{clean(name)} is {_shown(document['value'])} again, as the environment says.")


@click.command("history", epilog="Example: computepool admin settings history platform_fee_bps")
@click.argument("name")
@json_option
@pool_options
def setting_history(name: str, as_json: bool) -> None:
    """Show who changed a setting to what, when and why."""
    with open_pool() as pool:
        document = pool.call("GET", f"/admin/settings/{_path(name)}/history?limit=200")
    if as_json:
        print_json(document)
        return
    if not document["items"]:
        tell("Nobody changed it yet.", dim=True)
        return
    from computepool.cli.display import instant, print_table

    rows = [
        (
            instant(datetime.fromisoformat(one["changed_at"])),
            _shown(one["before"]),
            "reset" if one["reset"] else _shown(one["value"]),
            one["changed_by_email"] or one["changed_by"],
            one["reason"],
        )
        for one in document["items"]
    ]
    print_table(("when", "before", "after", "who", "why"), rows, below=("who", "why"))


def _path(name: str) -> str:
    return quote(name, safe="")


def _value(setting: dict[str, Any], text: str) -> Any:
    """As the setting's type wants it; whether it is within its bounds, the hub says."""
    if setting["optional"] and text.lower() in ("none", "null", ""):
        return None
    if setting["type"] in ("choice", "decimal"):
        return text
    try:
        return json.loads(text)
    except ValueError:
        raise CliError(
            f"{clean(text)!r} is not a value of {clean(setting['name'])}.", f"It takes: {setting['type']}.", USAGE
        ) from None


def _shown(value: Any) -> str:
    return "none" if value is None else clean(str(value).lower() if isinstance(value, bool) else value)
