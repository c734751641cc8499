"""Cash-outs as the API takes and shows them."""

from datetime import datetime
from typing import Annotated

from pydantic import Field, StringConstraints

from computepool.hub.api.payment_views import Asking, Credits, Note, Remark
from computepool.hub.core.actions import ActionView
from computepool.hub.core.texts import STORABLE
from computepool.hub.payments.cash_out_actions import AdminCashOutActions
from computepool.hub.payments.cash_out_rows import CashOutState
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import OBJECT_LIMIT
from computepool.protocol.model import Documented


class CashOutRequest(Asking):
    credits: Credits
    owner_id: str | None = Field(default=None, max_length=40, pattern=STORABLE)
    """Whose wallet, if not one's own: a team of one's own."""


class CashOutDecision(Asking):
    note: Remark = ""
    """For the host."""


class Rejection(Asking):
    note: Note
    """Why; the host reads it."""


class PaidByHand(CashOutDecision):
    reference: Annotated[
        str, StringConstraints(strip_whitespace=True, min_length=1, max_length=OBJECT_LIMIT, pattern=STORABLE)
    ]
    """Of the payment: what a host finds on their statement."""


class ReversalRequest(Asking):
    credits: Credits | None = None
    """Nothing: all that did not come back yet."""
    note: Note
    """Why; the host reads it when it came back."""


class ReversalView(Documented):
    id: str
    cash_out_id: str
    owner_id: str
    credits: str
    micros: int
    state: RequestState
    """done: it is back. waiting: the processor did not answer yet. refused: nothing moved."""
    message: str


class CashOutActions(Documented):
    cancel: ActionView
    """Take it back, before an operator has decided: `POST wallet/cash-outs/{id}/cancel`."""


class CashOutView(Documented):
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
    actions: CashOutActions
    """What its owner may do."""


class LaterView(Documented):
    at: datetime
    micros: int


class CashableActions(Documented):
    request: ActionView
    """Ask for all that is cashable: `POST wallet/cash-outs`."""


class CashableView(Documented):
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
    actions: CashableActions
    """What its owner may do."""


class CashOutList(Documented):
    items: list[CashOutView]
    next: str | None
    total: int | None
    can: CashableView


class AdminCashOutView(CashOutView):
    email: str | None
    debt_micros: int
    """What they owe the pool: not approved before that is paid."""
    asked_by: str
    decided_by: str | None
    way: str | None
    admin_actions: AdminCashOutActions
    """What an admin may do about it."""


class AdminCashOutList(Documented):
    items: list[AdminCashOutView]
    next: str | None
    total: int | None
    frozen: bool
