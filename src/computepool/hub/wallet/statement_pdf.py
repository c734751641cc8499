"""A statement on paper. Letters of one width, so that figures stand below each other; the fonts are every reader's own.

Those fonts have the letters of Western Europe: others are shown as question marks, it is said that they are, and the
same statement as JSON has them all. Letters of the whole world would be fonts of many megabytes, and for half of it a
program that joins them.
"""

import io
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import pydyf  # type: ignore[import-untyped]  # one file, without types

from computepool.hub.wallet.amounts import grouped
from computepool.hub.wallet.statements import Line, Statement

WIDTH, HEIGHT = 842, 595
"""A4, lying: points of a 72nd of an inch."""
MARGIN = 40
SIZE = 7.5
ADVANCE = 0.6
"""The width of every letter of Courier, in its size."""
LEADING = 10.5
LINES_LIMIT = 20_000
COLUMNS = (
    ("date (UTC)", 16, "<"),
    ("entry", 14, "<"),
    ("kind", 19, "<"),
    ("job", 30, "<"),
    ("note", 22, "<"),
    ("change", 17, ">"),
    ("balance", 17, ">"),
    ("fee", 14, ">"),
)
_FONTS = {"F": "Courier", "B": "Courier-Bold"}


@dataclass(frozen=True, slots=True)
class Terms:
    """What the operator says about credits."""

    issuer: str
    currency: str
    credit_value: str


@dataclass(frozen=True, slots=True)
class Text:
    words: str
    bold: bool = False
    size: float = SIZE
    ruled: bool = False
    """With a line below."""
    in_table: bool = False
    """On a new page the table's head comes before it."""


def statement_pdf(made: Statement, terms: Terms) -> bytes:
    """Raises ValueError if it would have too many pages."""
    moved = [one for one in made.lines if one.change or one.fee_paid or one.fee_withheld]
    if len(moved) > LINES_LIMIT:
        raise ValueError(f"{len(moved)} entries are too many for paper")
    document = pydyf.PDF()
    fonts = pydyf.Dictionary({name: _font(document, base) for name, base in _FONTS.items()})
    document.info["Title"] = pydyf.String(f"Statement {made.period.name} of {made.owner_id}")
    document.info["Producer"] = pydyf.String("ComputePool")
    texts = [*_head(made, terms), *_entries(moved), *_foot(made)]
    if any(latin(one.words).count(b"?") > one.words.count("?") for one in texts):
        texts.append(Text("A question mark may be a letter that this paper lacks. The same statement as JSON has it."))
    pages = list(_pages(texts))
    for number, texts in enumerate(pages, 1):
        _add_page(document, fonts, texts, f"{made.owner_id}   {made.period.name}   page {number} of {len(pages)}")
    out = io.BytesIO()
    document.write(out)
    return out.getvalue()


# ── what is on it ────────────────────────────────────────────────────────────────────────────────────────────────────


def _head(made: Statement, terms: Terms) -> Iterator[Text]:
    yield Text(f"Statement {made.period.name}", bold=True, size=15)
    yield Text("")
    facts = (
        ("Wallet of", made.owner_name),
        ("Number", made.owner_id),
        ("Issued by", terms.issuer),
        ("Period", f"{made.period.start:%Y-%m-%d %H:%M} to {made.period.end:%Y-%m-%d %H:%M} UTC, the end not included"),
        ("Made", f"{made.made_at:%Y-%m-%d %H:%M} UTC" + ("" if made.is_over else "; until then: it is not over")),
        ("Unit", f"credits; 1 credit = {terms.credit_value} {terms.currency.upper()} as this is made"),
    )
    for name, value in facts:
        yield Text(f"{name:<12}{value}")
    yield Text("")
    yield Text(f"{'pocket':<20}{'opening':>22}{'closing':>22}", bold=True, ruled=True)
    for kind, micros in made.opening.items():
        if micros or made.closing[kind]:
            yield Text(f"{kind.replace('_', ' '):<20}{grouped(micros):>22}{grouped(made.closing[kind]):>22}")
    opening, closing = sum(made.opening.values()), sum(made.closing.values())
    yield Text(f"{'balance':<20}{grouped(opening):>22}{grouped(closing):>22}", bold=True)
    yield Text("")


def _entries(lines: Sequence[Line]) -> Iterator[Text]:
    if not lines:
        yield Text("Nothing came or went in this period.")
        return
    yield _table_head()
    for one in lines:
        fee = one.fee_paid or one.fee_withheld
        cells = (
            f"{one.at:%Y-%m-%d %H:%M}",
            one.entry_id,
            one.kind.replace("_", " "),
            one.job_id or "",
            one.note,
            grouped(one.change),
            grouped(one.balance),
            grouped(fee) if fee else "",
        )
        words = "  ".join(_cell(cell, width, side) for cell, (_, width, side) in zip(cells, COLUMNS, strict=True))
        yield Text(words, in_table=True)


def _table_head() -> Text:
    return Text("  ".join(f"{name:{side}{width}}" for name, width, side in COLUMNS), bold=True, ruled=True)


def _foot(made: Statement) -> Iterator[Text]:
    yield Text("")
    yield Text(f"{'total by kind':<40}{'change':>22}", bold=True, ruled=True)
    for kind, micros in made.totals.items():
        if micros:
            yield Text(f"{kind.replace('_', ' '):<40}{grouped(micros):>22}")
    change = sum(made.closing.values()) - sum(made.opening.values())
    yield Text(f"{'all together: closing less opening':<40}{grouped(change):>22}", bold=True)
    yield Text("")
    yield Text(f"{'fees in what was paid for work':<40}{grouped(made.fees_paid):>22}")
    yield Text(f"{'fees kept back from what was earned':<40}{grouped(made.fees_withheld):>22}")
    yield Text("")
    yield Text("What was only held and came back is left out here. The CSV of the same period has every entry.")


def _cell(value: str, width: int, side: str) -> str:
    is_amount = side == ">"  # of which nothing is ever cut off
    text = value if len(value) <= width or is_amount else f"{value[: width - 1]}…"
    return f"{text:{side}{width}}"


# ── how it gets there ────────────────────────────────────────────────────────────────────────────────────────────────


def _pages(texts: Sequence[Text]) -> Iterator[list[Text]]:
    room = HEIGHT - 2 * MARGIN - LEADING
    page, used = list[Text](), 0.0
    head = _table_head()
    for text in texts:
        height = _height(text)
        if used + height > room:
            yield page
            page, used = ([head], _height(head)) if text.in_table else ([], 0.0)
        page.append(text)
        used += height
    yield page


def _height(text: Text) -> float:
    return LEADING * max(1.0, text.size / SIZE) + (2 if text.ruled else 0)


def _add_page(document: "pydyf.PDF", fonts: "pydyf.Dictionary", texts: Sequence[Text], footer: str) -> None:
    stream = pydyf.Stream(compress=True)
    y = float(HEIGHT - MARGIN)
    for text in texts:
        y -= _height(text)
        _write(stream, text, MARGIN, y)
        if text.ruled:
            stream.set_line_width(0.4)
            stream.move_to(MARGIN, y - 2.5)
            stream.line_to(MARGIN + len(text.words) * SIZE * ADVANCE, y - 2.5)
            stream.stroke()
    _write(stream, Text(footer, size=6.5), MARGIN, MARGIN - 12)
    document.add_object(stream)
    page = {
        "Type": "/Page",
        "Parent": document.pages.reference,
        "MediaBox": pydyf.Array([0, 0, WIDTH, HEIGHT]),
        "Resources": pydyf.Dictionary({"Font": fonts}),
        "Contents": stream.reference,
    }
    document.add_page(pydyf.Dictionary(page))


def _write(stream: "pydyf.Stream", text: Text, x: float, y: float) -> None:
    stream.begin_text()
    stream.set_font_size("B" if text.bold else "F", text.size)
    stream.set_text_matrix(1, 0, 0, 1, x, y)
    stream.show_text(b"<" + latin(text.words).hex().encode() + b">")
    stream.end_text()


def latin(words: str) -> bytes:
    """In the letters that the fonts have: an accent that they lack is left out, a letter is a question mark."""
    plain = "".join(char if char.isprintable() else " " for char in words)
    found = b""
    for char in plain:
        try:
            found += char.encode("cp1252")
        except UnicodeEncodeError:
            base = unicodedata.normalize("NFKD", char)[0]
            found += base.encode("cp1252", "replace")
    return found


def _font(document: "pydyf.PDF", base: str) -> bytes:
    font = pydyf.Dictionary(
        {"Type": "/Font", "Subtype": "/Type1", "BaseFont": f"/{base}", "Encoding": "/WinAnsiEncoding"}
    )
    document.add_object(font)
    reference: bytes = font.reference
    return reference
