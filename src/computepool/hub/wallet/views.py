"""Money as its owner sees it. Other people's accounts are named by what they are to one, never by whose they are."""

from datetime import datetime
from typing import Any, Literal

from pydantic import BaseModel

from computepool.hub.ledger.accounts import Kind, Platform, is_platforms, kind_of, owner_of

ENTRY_PREFIX = "entry_"


class WalletView(BaseModel):
    """In millionths of a credit."""

    owner_id: str
    spendable_micros: int
    """Promotional, available and earnings, which are spent in this order."""
    available_micros: int
    promotional_micros: int
    """Presents: spendable, never cashed out."""
    earnings_micros: int
    held_micros: int
    """Set aside for what runs now; what is not used comes back."""
    cashing_out_micros: int
    debt_micros: int
    """What had to be given back and was spent already: the next earnings go there."""


class LineView(BaseModel):
    """One movement, as seen from one's own side."""

    source: str
    """A pocket of one's own by its name; else host, renter, fee, subsidy, outside or write_off."""
    destination: str
    micros: int


class EntryView(BaseModel):
    id: str
    kind: str
    at: datetime
    job_id: str | None
    attempt_id: str | None
    note: str
    change_micros: int
    """What one has more or less afterwards, all pockets together."""
    pockets: dict[str, int]
    """By pocket, what it has more or less."""
    lines: list[LineView]
    reverses: str | None


class EntriesPage(BaseModel):
    items: list[EntryView]
    next: str | None


class LedgerReport(BaseModel):
    """Whether all postings, balances and holds add up."""

    balanced: bool
    entries: int
    postings: int
    accounts: int
    moved_micros: int
    problems: list[str]
    checked_at: datetime
    cash_outs_frozen: bool
    """Until a check finds everything in order again."""
    platform: dict[str, int]
    """By account of the pool's own, its balance in micros."""


_OUTSIDE = {
    Platform.FEES: "fee",
    Platform.SUBSIDY: "subsidy",
    Platform.CLEARING: "outside",
    Platform.WRITE_OFF: "write_off",
}
Side = Literal["source", "destination"]


def name_for(viewer_id: str, name: str, side: Side) -> str:
    """An account as `viewer_id` may see it."""
    if owner_of(name) == viewer_id:
        return kind_of(name)
    if is_platforms(name):
        return _OUTSIDE[Platform(kind_of(name))]
    if kind_of(name) in (Kind.EARNINGS, Kind.DEBT):
        return "host"
    if kind_of(name) == Kind.HELD:
        return "renter"
    # A present that is spent lands in the host's presents; one that comes back, in the renter's own pockets.
    return "host" if side == "destination" and kind_of(name) == Kind.PROMOTIONAL else "renter"


def entry_view(viewer_id: str, row: Any, postings: list[Any]) -> EntryView:
    """Of what an entry moved, only what begins or ends with the viewer."""
    pockets: dict[str, int] = {}
    lines = []
    for one in postings:
        mine = [name for name in (one.source, one.destination) if owner_of(name) == viewer_id]
        if not mine:
            continue
        for name, sign in ((one.source, -1), (one.destination, 1)):
            if owner_of(name) == viewer_id:
                pockets[kind_of(name)] = pockets.get(kind_of(name), 0) + sign * one.micros
        lines.append(
            LineView(
                source=name_for(viewer_id, one.source, "source"),
                destination=name_for(viewer_id, one.destination, "destination"),
                micros=one.micros,
            )
        )
    return EntryView(
        id=f"{ENTRY_PREFIX}{row.id}",
        kind=row.kind,
        at=row.created_at,
        job_id=row.job_id,
        attempt_id=row.attempt_id,
        note=row.note,
        change_micros=sum(pockets.values()),
        pockets={kind: micros for kind, micros in pockets.items() if micros},
        lines=lines,
        reverses=f"{ENTRY_PREFIX}{row.reverses}" if row.reverses is not None else None,
    )
