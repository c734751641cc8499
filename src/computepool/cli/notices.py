"""What one should know, with what was read already."""

from datetime import datetime
from typing import Any

import click

from computepool.cli.errors import clean, tell
from computepool.cli.options import json_option, open_pool, pool_options, print_json

COLORS = {"warning": "yellow", "error": "red"}


@click.command(epilog="Example: computepool notices --all")
@click.option("--all", "with_read", is_flag=True, help="Also those that were read already.")
@click.option("--keep-unread", is_flag=True, help="Do not mark as read what is shown.")
@click.option("-n", "--limit", default=50, show_default=True, type=click.IntRange(1, 200), help="Show this many.")
@json_option
@pool_options
def notices(with_read: bool, keep_unread: bool, limit: int, as_json: bool) -> None:
    """Show what you should know, the newest first, and mark it as read. They are kept for 90 days."""
    with open_pool() as pool:
        document = pool.call("GET", f"/notices?limit={limit}&unread={'false' if with_read else 'true'}")
        new = [notice["id"] for notice in document["items"] if notice["read_at"] is None]
        if as_json:
            print_json(document)
        else:
            _print(document["items"])
        if new and not keep_unread and not as_json:
            left = pool.call("POST", "/notices/read", {"ids": new})["unread"]
            if left != 0:
                tell(f"{'More than 10,000' if left is None else left} more are unread.", dim=True)


def _print(items: list[dict[str, Any]]) -> None:
    if not items:
        tell("Nothing new.", dim=True)
        return
    from computepool.cli.display import instant

    for one in items:
        text = f"{instant(datetime.fromisoformat(one['at']))}  {clean(one['title'])}"
        click.secho(text, fg=COLORS.get(one["severity"]), bold=one["read_at"] is None)
        if one["text"]:
            click.echo(f"  {clean(one['text'])}")
