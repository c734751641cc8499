"""Where every credit of a job went, as a document. All figures add up to the ledger's entries."""

from datetime import datetime
from typing import Literal

from computepool.hub.ledger.accounts import Pocket
from computepool.hub.ledger.kinds import EntryKind
from computepool.hub.trust.tables import CheckState
from computepool.protocol.model import Documented
from computepool.protocol.state_words import EndedBy
from computepool.protocol.states import AttemptState, JobState, Verdict

View = Literal["renter", "host"]


class Step(Documented):
    """One step of a calculation that a person can follow with a pocket calculator."""

    label: str
    figure: str
    """What is multiplied, added or taken away, such as `× 0.7`."""
    micros: int | None = None
    """What it comes to, where it is an amount."""


class SecondsView(Documented):
    """How long the attempt ran, and what of that is billed."""

    hub: float
    """On the hub's clock, from running to exit, without the time in which it was known to rest."""
    claimed: float | None
    """By the node's receipt. The lesser of the two counts."""
    suspended: float
    """In neither of them."""
    capped: float
    """While its owner kept the power low: taken off."""
    saved: float | None
    """When the last checkpoint was taken."""
    preparing: float
    """Of an attempt that was canceled before it ran."""
    settled_before: int
    """By earlier instalments."""
    billed: int


class PaymentView(Documented):
    """One entry of the ledger, from the viewer's side."""

    entry_id: str
    kind: EntryKind
    title: str
    """What kind of entry it is, in words."""
    at: datetime
    verdict: Verdict | None
    """None for an instalment, and for what came later."""
    rule: str
    """In words, why so much is paid."""
    seconds: SecondsView | None
    cost_micros: int
    """What the time costs, fee included. Below zero where it is given back."""
    fee_micros: int
    """Of that, the platform's."""
    earned_micros: int
    """Of that, the host's."""
    change_micros: int
    """What the viewer has more or less afterwards."""
    pockets: dict[Pocket, int]
    """By pocket of the viewer's, the same."""
    steps: list[Step]
    check_id: str | None = None
    """The check of results that is behind it."""
    note: str = ""


class RecordView(Documented):
    """From the audit log."""

    id: int
    at: datetime
    action: str


class AttemptExplained(Documented):
    attempt_id: str
    job_id: str
    """Of a replica: the hidden job that it belongs to."""
    slice: int
    number: int
    node_id: str
    node_name: str
    state: AttemptState
    verdict: Verdict | None
    reason: EndedBy | None
    own: bool
    price_micros: int | None
    """For an hour, fee included, locked by the lease."""
    rate: list[Step]
    """How that price came about."""
    payments: list[PaymentView]
    held_micros: int
    """Set aside for it now."""
    billed_seconds: int
    cost_micros: int
    """All payments together."""
    fee_micros: int
    earned_micros: int
    change_micros: int
    """What the viewer has more or less by it, all pockets together."""
    pockets: dict[Pocket, int]
    """By pocket of the viewer's, the same."""
    owed_micros: int = 0
    """To the renter: what the host had to give back and had spent. It comes when the host has earned it."""
    words: list[str]
    records: list[RecordView]


class CheckedView(Documented):
    """A result that others computed too."""

    id: str
    slice: int
    state: CheckState
    detail: str | None
    decided_at: datetime | None


class Explained(Documented):
    job_id: str
    view: View
    state: JobState | None
    """Of the job; only for its renter."""
    verdict: Verdict | None
    attempts: list[AttemptExplained]
    others: list[PaymentView]
    """Entries about the job as a whole."""
    checks: list[CheckedView]
    held_micros: int
    """Of the whole job, those attempts included that are not on this page; so are the following two."""
    change_micros: int
    """What the viewer has more or less by this job."""
    entries: int
    next_slice: int | None
    """Where the attempts go on, if not all of them are here."""
    words: list[str]
