from datetime import datetime
from decimal import Decimal
from typing import Annotated

from pydantic import BaseModel, Field, StringConstraints

from computepool.hub.core.texts import STORABLE
from computepool.hub.payments.amounts import Units
from computepool.hub.payments.cash_out_rows import WORDS, CashOutRow, CashOutState
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import OBJECT_LIMIT
from computepool.hub.payments.views import Asking, Credits, Note, Remark
from computepool.protocol.units import MICROS_PER_CREDIT, format_credits


class CashOutRequest(Asking):
    credits: Credits
    owner_id: str | None = Field(default=None, max_length=40, pattern=STORABLE)
    """Whose wallet, if not one's own: a team of one's own."""


class Decision(Asking):
    note: Remark = ""
    """For the host."""


class Rejection(Asking):
    note: Note
    """Why; the host reads it."""


class PaidByHand(Decision):
    reference: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=OBJECT_LIMIT, pattern=STORABLE)
    ]
    """Of the payment: what a host finds on their statement."""


class ReversalRequest(Asking):
    credits: Credits | None = None
    """Nothing: all that did not come back yet."""
    note: Note
    """Why; the host reads it when it came back."""


class ReversalView(BaseModel):
    id: str
    cash_out_id: str
    owner_id: str
    credits: str
    micros: int
    state: RequestState
    """done: it is back. waiting: the processor did not answer yet. refused: nothing moved."""
    message: str


class CashOutView(BaseModel):
    id: str
    owner_id: str
    credits: str
    micros: int
    amount: str
    """In the pool's currency."""
    state: CashOutState
    message: str
    note: str
    reference: str | None
    returned_micros: int
    """What was taken back after it was paid."""
    created_at: datetime
    approved_at: datetime | None
    ended_at: datetime | None


class LaterView(BaseModel):
    at: datetime
    micros: int


class CashableView(BaseModel):
    """What can be cashed out, and when the rest can."""

    owner_id: str
    minimum_micros: int
    """The least that is paid out at once."""
    cashable_micros: int
    """Now."""
    later: list[LaterView]
    """If nothing happens until then."""
    unknown_micros: int
    """Earned with jobs that still run, or that somebody disputes."""
    hold_back_days: int
    frozen: bool
    """The ledger does not add up: nobody is paid out until it does."""
    way: str
    """manual: an operator pays by hand. Else the processor that does."""


class CashOutList(BaseModel):
    items: list[CashOutView]
    can: CashableView


class AdminCashOutView(CashOutView):
    email: str | None
    debt_micros: int
    """What they owe the pool: not approved before that is paid."""
    asked_by: str
    decided_by: str | None
    way: str | None


class AdminCashOutList(BaseModel):
    items: list[AdminCashOutView]
    frozen: bool


def amount_of(units: Units, micros: int) -> str:
    value = Decimal(micros) * units.credit_value / MICROS_PER_CREDIT
    places = Decimal(1).scaleb(-units.decimals)
    shown = value.quantize(places) if value == value.quantize(places) else value.normalize()
    return f"{shown:f} {units.currency.upper()}"


def cash_out_view(row: CashOutRow, units: Units) -> CashOutView:
    state = CashOutState(row.state)
    return CashOutView(
        id=row.id,
        owner_id=row.owner_id,
        credits=format_credits(row.micros),
        micros=row.micros,
        amount=amount_of(units, row.micros),
        state=state,
        message=WORDS[state],
        note=row.note,
        reference=row.reference,
        returned_micros=row.returned_micros,
        created_at=row.created_at,
        approved_at=row.approved_at,
        ended_at=row.ended_at,
    )
