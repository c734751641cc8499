"""Money as its owner sees it. Other people's accounts are named by what they are to one, never by whose they are."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal, cast

from computepool.hub.jobs.money import SETTLED
from computepool.hub.ledger.accounts import RESTITUTION, Kind, Platform, Pocket, is_platforms, kind_of, owner_of
from computepool.hub.ledger.kinds import EntryKind, entry_title
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.wallet.amounts import came_back, signed
from computepool.protocol.model import Documented

ENTRY_PREFIX = "entry_"


BalanceName = Literal[
    "spendable", "available", "promotional", "earnings", "cashable", "held", "cashing_out", "debt", "owed"
]


class BalanceView(Documented):
    """One of the balances of a wallet, for people."""

    name: Literal[
        "spendable", "available", "promotional", "earnings", "cashable", "held", "cashing_out", "debt", "owed"
    ]
    title: str
    """A word or two."""
    meaning: str
    """A sentence on what these credits are."""
    micros: int
    credits: str
    """The same in credits."""


class WalletView(Documented):
    """In millionths of a credit."""

    owner_id: str
    spendable_micros: int
    """Promotional, available and earnings, which are spent in this order."""
    available_micros: int
    promotional_micros: int
    """Promotional credit: can be spent, cannot be cashed out."""
    earnings_micros: int
    held_micros: int
    """Set aside for what runs now; what is not used comes back."""
    cashing_out_micros: int
    cashable_micros: int = 0
    """Of the earnings, what can be cashed out now: what nobody can dispute any more."""
    debt_micros: int
    """What had to be given back and was spent already: the next earnings go there."""
    owed_to_you_micros: int = 0
    """What hosts had to give back to you and had spent: it comes when they have earned it."""
    balances: list[BalanceView] = []  # noqa: RUF012 (pydantic copies it)
    """All of these with a sentence on each, in the order in which people read them."""


Place = Pocket | Literal["host", "pool", "fee", "outside", "write_off", "other"]
"""A pocket of one's own by its name, or what another account is to its viewer."""


class LineView(Documented):
    """One movement, as seen from one's own side."""

    source: Place
    """Where it came from: a pocket of one's own, or what the other account is."""
    destination: Place
    """Where it went."""
    micros: int


class EntryView(Documented):
    id: str
    kind: EntryKind
    title: str
    """What kind of entry it is, in words."""
    at: datetime
    job_id: str | None
    job_name: str | None
    """Of a job of one's own; null to its hosts."""
    attempt_id: str | None
    node_id: str | None
    """Where the attempt ran."""
    node_name: str | None
    note: str
    change_micros: int
    """What one has more or less afterwards, all pockets together."""
    pockets: dict[Pocket, int]
    """By pocket, what it has more or less."""
    lines: list[LineView]
    reverses: str | None


class EntriesPage(Documented):
    items: list[EntryView]
    next: str | None


class LedgerReport(Documented):
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


class LedgerState(Documented):
    """What is known of the ledger, without a new check."""

    last: LedgerReport | None
    """What the last check found; null before the first, a minute after the hub's start."""
    frozen_since: datetime | None
    """Since when nobody is paid out, because the ledger does not add up; null while it does."""


_OUTSIDE: dict[Platform, Place] = {
    Platform.FEES: "fee",
    Platform.SUBSIDY: "pool",
    Platform.CLEARING: "outside",
    Platform.WRITE_OFF: "write_off",
    Platform.STORAGE: "pool",
    Platform.RESTITUTION: "host",
}


def name_for(viewer_id: str, name: str, row: EntryRow, renter_id: str | None) -> Place:
    """An account as `viewer_id` may see it. `renter_id`: whose job the entry is about, if it is about one.

    To a host every payer is the pool: one who could tell a renter's credits from the platform's would know which jobs
    were checks of its honesty.
    """
    if owner_of(name) == viewer_id:
        return cast("Pocket", kind_of(name))
    is_about_work = row.attempt_id is not None
    if is_about_work and renter_id != viewer_id:
        return "pool"
    if is_platforms(name):
        return "fee" if is_about_work and row.kind == SETTLED else _OUTSIDE[Platform(kind_of(name))]
    return "host" if is_about_work else "other"


@dataclass(frozen=True, slots=True)
class EntryNames:
    """What an entry is about, by name."""

    renter_id: str | None = None
    job_name: str | None = None
    node_id: str | None = None
    node_name: str | None = None


def entry_view(viewer_id: str, row: EntryRow, postings: Sequence[PostingRow], about: EntryNames) -> EntryView:
    """Of what an entry moved, only what begins or ends with the viewer."""
    renter_id = about.renter_id
    mine = [one for one in postings if viewer_id in (owner_of(one.source), owner_of(one.destination))]
    pockets: Counter[str] = Counter()
    for one in mine:
        for name, sign in ((one.source, -1), (one.destination, 1)):
            if owner_of(name) == viewer_id:
                pockets[kind_of(name)] += sign * one.micros
    return EntryView(
        id=f"{ENTRY_PREFIX}{row.id}",
        kind=cast("EntryKind", row.kind),
        title=entry_title(row.kind),
        at=row.created_at,
        job_id=row.job_id,
        job_name=about.job_name if renter_id == viewer_id else None,
        attempt_id=row.attempt_id,
        node_id=about.node_id,
        node_name=about.node_name,
        note=_note(row, pockets, postings, is_renter=renter_id == viewer_id),
        change_micros=sum(pockets.values()),
        pockets={cast("Pocket", kind): micros for kind, micros in pockets.items() if micros},
        lines=[
            LineView(
                source=name_for(viewer_id, one.source, row, renter_id),
                destination=name_for(viewer_id, one.destination, row, renter_id),
                micros=one.micros,
            )
            for one in mine
        ],
        reverses=f"{ENTRY_PREFIX}{row.reverses}" if row.reverses is not None else None,
    )


def _note(row: EntryRow, pockets: Mapping[str, int], postings: Sequence[PostingRow], *, is_renter: bool) -> str:
    """As it was written, and what became of what its host had spent: from the viewer's side."""
    words = [row.note] if row.note else []
    if is_renter:
        owed = sum(one.micros for one in postings if one.destination == RESTITUTION)
        words += came_back(sum(pockets.values()), owed, int(row.details.get("lost_micros", 0)))
    elif row.attempt_id is not None and pockets.get(Kind.DEBT, 0) < 0:
        words.append(f"{signed(-pockets[Kind.DEBT])} of it was spent already: the next earnings fill it up.")
    return " ".join(words)


_BALANCES: tuple[tuple[BalanceName, str, str], ...] = (
    (
        "spendable",
        "Spendable",
        "Credits that can pay for jobs now: promotional first, then available, then earned.",
    ),
    ("available", "Available", "Bought, or granted in return for a payment."),
    (
        "promotional",
        "Promotional",
        "Given by the pool, or earned from jobs paid with such credits. Spent first; cannot be cashed out.",
    ),
    ("earnings", "Earned", "Earned by your nodes. Can be spent, and cashed out once it can no longer be disputed."),
    ("cashable", "Can be cashed out", "The part of your earnings that can no longer be disputed."),
    ("held", "Held", "Reserved for running slices. Whatever is not used comes back."),
    ("cashing_out", "Being paid out", "Requested as a cash-out or a refund, and not paid yet."),
    ("debt", "Owed", "Had to be given back after it was spent. Your next earnings pay it off."),
    ("owed", "Owed to you", "Hosts owe you this. You get it as they earn."),
)


def with_balances(wallet: WalletView) -> WalletView:
    """The same with its balances in words."""
    micros = {name: getattr(wallet, f"{'owed_to_you' if name == 'owed' else name}_micros") for name, *_ in _BALANCES}
    balances = [
        BalanceView(name=name, title=title, meaning=meaning, micros=micros[name], credits=signed(micros[name]))
        for name, title, meaning in _BALANCES
    ]
    return wallet.model_copy(update={"balances": balances})
