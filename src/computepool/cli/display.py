"""Tables and small texts. Everything from outside goes through `clean`, and never as markup."""

import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

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
KEPT = frozenset({"id", "name", "state", "job", "node", "slice.attempt"})
"""Columns that say which thing a line is about: they are copied and compared, so they wrap before they are cut."""
IDS = frozenset({"id", "job", "attempt"})
SHORTENED = 12
"""To how many characters other text is shortened before anything else has to give."""
NARROWEST = 8
GAP = 2


def console(*, err: bool = False) -> "Console":
    from rich.console import Console

    stream = sys.stderr if err else sys.stdout
    width = None if stream.isatty() or "COLUMNS" in os.environ else WIDE
    return Console(file=stream, width=width, highlight=False, markup=False, soft_wrap=False)


def state_text(state: str, note: str = "") -> "Text":
    from rich.text import Text

    return Text(clean(state) + (f" {clean(note)}" if note else ""), style=STATE_STYLES.get(state, ""))


def print_table(
    headers: Sequence[str], rows: Iterable[Sequence[object]], *, spare: Sequence[str] = (), below: Sequence[str] = ()
) -> None:
    """In a narrow terminal empty columns go first; then those of `below` move whole to a line below their row, in their
    order; then the `spare` ones go (`id`: to the line below), and text is shortened with a mark. What names a thing is
    never cut."""
    from rich.text import Text

    out = console()
    cells = [[cell if isinstance(cell, Text) else Text(clean(cell)) for cell in row] for row in rows]
    columns = {header: [row[place] for row in cells] for place, header in enumerate(headers)}
    natural = {header: max(len(header), *(cell.cell_len for cell in column), 0) for header, column in columns.items()}
    least = {header: width if header in KEPT else min(width, SHORTENED) for header, width in natural.items()}
    empty = [header for header, column in columns.items() if not any(cell.plain.strip() for cell in column)]
    for header in empty:
        if _total(natural, columns) > out.width:
            del columns[header]
    moved: dict[str, list[Text]] = {}
    for header in below:
        if header in columns and len(columns) > 1 and _total(natural, columns) > out.width:
            moved[header] = columns.pop(header)
    for header in spare if "id" in spare else (*spare, "id"):
        if header in columns and len(columns) > 1 and _total(least, columns) > out.width:
            dropped = columns.pop(header)
            if header == "id":
                moved = {header: dropped, **moved}
    _print_rows(out, columns, _fit(natural, least, columns, out.width), _lines_below(moved))


def _lines_below(moved: "Mapping[str, Sequence[Text]]") -> "list[Text]":
    """By row, what has no column: ids speak for themselves, the rest is named."""
    from rich.text import Text

    return [
        Text(" · ").join(
            cell if header in IDS else Text(f"{header}: ").append_text(cell)
            for header, cell in zip(moved, row, strict=True)
            if cell.plain.strip()
        )
        for row in zip(*moved.values(), strict=True)
    ]


def _total(widths: Mapping[str, int], columns: Iterable[str]) -> int:
    used = [widths[header] for header in columns]
    return sum(used) + GAP * (len(used) - 1)


def _fit(natural: Mapping[str, int], least: Mapping[str, int], columns: Iterable[str], room: int) -> dict[str, int]:
    """The widest gives first; below its least width a column goes only when no other has anything left to give."""
    widths = {header: min(natural[header], room) for header in columns}
    for floor in (least, dict.fromkeys(widths, NARROWEST)):
        while _total(widths, widths) > room:
            giving = [header for header, width in widths.items() if width > floor[header]]
            if not giving:
                break
            widths[max(giving, key=widths.__getitem__)] -= 1
    return widths


def _print_rows(
    out: "Console", columns: "Mapping[str, Sequence[Text]]", widths: Mapping[str, int], below: "Sequence[Text]" = ()
) -> None:
    from rich.padding import Padding
    from rich.table import Table

    def table(with_header: bool) -> Table:
        made = Table(box=None, pad_edge=False, padding=(0, GAP, 0, 0), header_style="bold", show_header=with_header)
        for header in columns:
            kept = header in KEPT
            overflow: Literal["fold", "ellipsis"] = "fold" if kept else "ellipsis"
            made.add_column(header.upper(), width=widths[header], no_wrap=not kept, overflow=overflow)
        return made

    whole = table(True)
    for number, row in enumerate(zip(*columns.values(), strict=True)):
        whole.add_row(*row)
        if below:
            out.print(whole)
            if below[number].plain:
                out.print(Padding(below[number], (0, 0, 0, GAP), expand=False), overflow="fold")
            whole = table(False)
    if not below:
        out.print(whole)


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
    if seconds < 0.1:
        return "<0.1s"
    if seconds < 10:
        return f"{seconds:.1f}s"
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
    seconds = (datetime.now(UTC) - at).total_seconds()
    return f"{duration(seconds)} ago" if seconds >= 0.1 else "now"


def instant(at: datetime | None) -> str:
    return "" if at is None else at.astimezone().strftime("%Y-%m-%d %H:%M:%S %Z")


def credits(micros: int) -> str:
    """About how much, for reading: `28.5`, `0.004`; exact amounts are in the JSON."""
    amount = micros / 1_000_000
    text = f"{amount:,.2f}" if abs(amount) >= 0.1 or not micros else f"{amount:.3g}"
    return text.rstrip("0").rstrip(".") if "." in text and "e" not in text else text


def in_credits(amount: int | str, sort: str = "") -> str:
    """The same with its unit: `28.5 credits`, `1 credit`. A text is shown as the hub wrote it."""
    from computepool.protocol.units import in_credits

    return in_credits(clean(amount) if isinstance(amount, str) else credits(amount), sort)


def exact_credits(micros: int) -> str:
    """To the millionth, all of them with six decimals, so that they stand below each other: `-1,234.500000`."""
    whole, fraction = divmod(abs(micros), 1_000_000)
    return f"{'-' if micros < 0 else ''}{whole:,}.{fraction:06}"


def cpus(number: float) -> str:
    return f"{number:g} core" + ("" if number == 1 else "s")


def count(number: int, word: str) -> str:
    return f"{number} {word}" + ("" if number == 1 else "s")
