"""Tables and small texts. Everything from outside goes through `clean`, and never as markup."""

import os
import sys
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from computepool.cli.errors import clean

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

STATE_STYLES = {
    "queued": "yellow",
    "running": "cyan",
    "succeeded": "green",
    "failed": "red",
    "canceled": "dim",
    "lost": "red",
    "online": "green",
    "paused": "yellow",
    "draining": "yellow",
    "offline": "dim",
    "quarantined": "red",
    "banned": "red",
}
WIDE = 200
"""Columns where there is no terminal: a pipe is not to be wrapped."""


def console(*, err: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(file=stream, width=width, highlight=False, markup=False, soft_wrap=False)


def state_text(state: str, note: str = "") -> "Text":
    from rich.text import Text

    return Text(clean(state) + (f" {clean(note)}" if note else ""), style=STATE_STYLES.get(state, ""))


def print_table(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for header in headers:
        # Ids are there to be copied: they are not cut.
        table.add_column(header.upper(), no_wrap=True, overflow="fold" if header == "id" else "ellipsis")
    for row in rows:
        table.add_row(*(cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row))
    console().print(table)


def print_pairs(pairs: Iterable[tuple[str, object]]) -> None:
    """Name and value, one line each; what is empty is left out."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False)
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in pairs:
        if value not in (None, "", (), []):
            table.add_row(name, value if isinstance(value, Text) else Text(clean(value)))
    console().print(table)


def size(size_bytes: float) -> str:
    """About how much, for reading; exact sizes are in the JSON."""
    from computepool.protocol.units import about_bytes

    return about_bytes(size_bytes)


def spoken(seconds: int) -> str:
    """A length of time in words: `15 minutes`, `1 hour 30 minutes`."""
    parts = []
    for length, word in ((86_400, "day"), (3_600, "hour"), (60, "minute"), (1, "second")):
        number, seconds = divmod(seconds, length)
        if number:
            parts.append(count(number, word))
    return " ".join(parts) or "0 seconds"


def duration(seconds: float) -> str:
    if seconds < 10:
        return f"{max(seconds, 0):.1f}s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    days, hours = divmod(hours, 24)
    if days:
        return f"{days}d{hours}h"
    if hours:
        return f"{hours}h{minutes:02}m"
    return f"{minutes}m{rest:02}s" if minutes else f"{rest}s"


def ago(at: datetime | None) -> str:
    if at is None:
        return "never"
    return f"{duration((datetime.now(UTC) - at).total_seconds())} ago"


def instant(at: datetime | None) -> str:
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def cpus(number: float) -> str:
    return f"{number:g} core" + ("" if number == 1 else "s")


def count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
