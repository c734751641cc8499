"""A statement as JSON and as a table for spreadsheets."""

import csv
import io
from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import cast

from computepool.hub.ledger.accounts import Kind, Pocket
from computepool.hub.ledger.kinds import EntryKind, entry_title
from computepool.hub.wallet.amounts import signed
from computepool.hub.wallet.statements import Statement
from computepool.protocol.model import Documented

POCKETS = tuple(kind.value for kind in Kind)
HEADS = ("date", "entry", "kind", "job", "attempt", "note", "change", "balance", *POCKETS, "fee_paid", "fee_withheld")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


class StatementLine(Documented):
    entry_id: str
    at: datetime
    kind: EntryKind
    title: str
    """What kind of entry it is, in words."""
    job_id: str | None
    attempt_id: str | None
    note: str
    change_micros: int
    balance_micros: int
    pockets: dict[Pocket, int]
    fee_paid_micros: int
    fee_withheld_micros: int


class StatementView(Documented):
    """In millionths of a credit. All pockets together, debts taken off, are the balance."""

    owner_id: str
    owner_name: str
    period: str
    start: datetime
    end: datetime
    """Itself not included."""
    made_at: datetime
    is_over: bool
    """Else it goes up to `made_at`, and more may come."""
    opening_micros: int
    closing_micros: int
    opening: dict[Pocket, int]
    """By pocket."""
    closing: dict[Pocket, int]
    lines: list[StatementLine]
    totals: dict[EntryKind, int]
    """By kind of entry, what all of them changed."""
    fees_paid_micros: int
    """In what was paid as a renter."""
    fees_withheld_micros: int
    """From what was paid for work as a host: it never came into the wallet."""


def statement_view(made: Statement) -> StatementView:
    return StatementView(
        owner_id=made.owner_id,
        owner_name=made.owner_name,
        period=made.period.name,
        start=made.period.start,
        end=made.period.end,
        made_at=made.made_at,
        is_over=made.is_over,
        opening_micros=sum(made.opening.values()),
        closing_micros=sum(made.closing.values()),
        opening=cast("dict[Pocket, int]", dict(made.opening)),
        closing=cast("dict[Pocket, int]", dict(made.closing)),
        lines=[
            StatementLine(
                entry_id=one.entry_id,
                at=one.at,
                kind=cast("EntryKind", one.kind),
                title=entry_title(one.kind),
                job_id=one.job_id,
                attempt_id=one.attempt_id,
                note=one.note,
                change_micros=one.change,
                balance_micros=one.balance,
                pockets=cast("dict[Pocket, int]", dict(one.pockets)),
                fee_paid_micros=one.fee_paid,
                fee_withheld_micros=one.fee_withheld,
            )
            for one in made.lines
        ],
        totals=cast("dict[EntryKind, int]", made.totals),
        fees_paid_micros=made.fees_paid,
        fees_withheld_micros=made.fees_withheld,
    )


def statement_csv(made: Statement) -> str:
    """One table: the opening balance, every entry, the closing balance, then totals. Credits are exact."""
    out = io.StringIO(newline="")
    table = csv.writer(out)
    table.writerow(HEADS)
    table.writerows(_rows(made))
    return out.getvalue()


def _rows(made: Statement) -> Iterator[list[str]]:
    yield _balance_row(made.period.start, "opening_balance", made.opening)
    for one in made.lines:
        yield [
            one.at.isoformat(),
            one.entry_id,
            one.kind,
            one.job_id or "",
            one.attempt_id or "",
            _text(one.note),
            signed(one.change),
            signed(one.balance),
            *(signed(one.pockets.get(kind, 0)) for kind in POCKETS),
            signed(one.fee_paid),
            signed(one.fee_withheld),
        ]
    yield _balance_row(made.until, "closing_balance", made.closing)
    for kind, micros in made.totals.items():
        yield _total_row(f"total:{kind}", micros)
    last = _total_row("total:fees", 0)
    last[6], last[-2], last[-1] = "", signed(made.fees_paid), signed(made.fees_withheld)
    yield last


def _balance_row(at: datetime, kind: str, pockets: Mapping[str, int]) -> list[str]:
    amounts = [signed(pockets.get(one, 0)) for one in POCKETS]
    return [at.isoformat(), "", kind, "", "", "", "", signed(sum(pockets.values())), *amounts, "", ""]


def _total_row(kind: str, micros: int) -> list[str]:
    return ["", "", kind, "", "", "", signed(micros), "", *[""] * len(POCKETS), "", ""]


def _text(note: str) -> str:
    """Spreadsheets take a cell that begins so for a formula, and others write notes."""
    return f"'{note}" if note.startswith(_FORMULA) else note
