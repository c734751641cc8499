from datetime import datetime
from typing import Annotated, Any, Literal, cast

from pydantic import ConfigDict, Field, StrictBool, StrictFloat, StrictInt, StrictStr, StringConstraints

from computepool.hub.core.actions import ALLOWED, ActionView, refused
from computepool.hub.core.texts import STORABLE
from computepool.hub.payments.profiles import Plan
from computepool.hub.payments.provider import RequestKind
from computepool.hub.payments.states import UNDER_WAY, WORDS, EventState, RequestState, TopUpState
from computepool.hub.payments.tables import (
    DifferenceRow,
    EventRow,
    ProfileRow,
    ReconciliationRow,
    RequestRow,
    TopUpRow,
)
from computepool.hub.payments.top_ups import Way
from computepool.protocol.model import Documented
from computepool.protocol.units import format_credits

NOTE_LIMIT = 400
Note = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=NOTE_LIMIT, pattern=STORABLE)]
"""Why: one that says nothing is refused."""
Remark = Annotated[str, StringConstraints(max_length=NOTE_LIMIT, pattern=STORABLE)]
"""It may say nothing."""
Credits = StrictStr | StrictInt | StrictFloat
"""As people write them; `amounts.parse_amount` makes micros of it, or says what is wrong."""


class Asking(Documented):
    model_config = ConfigDict(extra="forbid")


class TopUpRequest(Asking):
    credits: Credits
    card: Literal["new", "saved"] = "new"
    save_card: StrictBool = False
    """Leave the new card with the processor, for later."""
    owner_id: str | None = Field(default=None, max_length=40, pattern=STORABLE)
    """Whose wallet: one's own, or a team's."""


class PlanRequest(Asking):
    plan: Plan
    below: Credits = 0
    """automatic: charge when fewer credits than this are left."""
    amount: Credits = 0
    """automatic: how much. per_job: at least so much at once."""
    monthly: Credits = 0
    """The most that is charged by itself in a month."""


class AccountRequest(Asking):
    country: str | None = Field(default=None, pattern=r"^[A-Z]{2}$")


class GrantRequest(Asking):
    user: str = Field(min_length=1, max_length=254, pattern=STORABLE)
    """An id, or an e-mail address."""
    credits: Credits
    note: Note
    promotional: StrictBool = False
    unless_repeated: StrictBool = False
    """Refuse it if the same was done a few minutes ago: whoever types a command again may not mean it twice."""


class WriteOffRequest(Asking):
    user: str = Field(min_length=1, max_length=254, pattern=STORABLE)
    """An id, or an e-mail address."""
    credits: Credits | None = None
    """All that they owe and do not have, if not said otherwise."""
    note: Note


class RefundRequest(Asking):
    credits: Credits
    note: Note


class TopUpActions(Documented):
    pay: ActionView
    """Pay or confirm, at `url`."""


class TopUpQuoteActions(Documented):
    top_up: ActionView
    """Buy so many credits: `POST wallet/top-ups`."""


class TopUpQuote(Documented):
    """What a top-up costs. Nobody is charged a part of a coin."""

    credits: str
    micros: int
    amount: str
    """With its currency, such as `50.00 EUR`."""
    currency: str
    amount_minor: int
    """In the currency's smallest coins."""
    is_exact: bool
    """Else what was asked for is no whole number of coins, and this is the next above it."""
    message: str
    """In words, such as `100 credits = 50.00 EUR`."""
    actions: TopUpQuoteActions
    """What the caller may do."""


class TopUpView(Documented):
    id: str
    owner_id: str
    way: Way
    state: TopUpState
    credits: str
    micros: int
    amount: str
    """In the currency."""
    url: str | None
    """Where the person pays or confirms, while there is something to do."""
    message: str
    created_at: datetime
    ended_at: datetime | None
    actions: TopUpActions
    """What its owner may do."""


class TopUpList(Documented):
    items: list[TopUpView]
    next: str | None
    total: int | None


class AdminTopUpActions(Documented):
    """What an admin may do about a top-up."""

    refund: ActionView
    """Send unspent credits back to the card."""


class AdminTopUpView(TopUpView):
    email: str | None
    """Of the owner; a team has none."""
    available_micros: int
    """What the owner has left of credits that were paid for: the most that can go back."""
    admin_actions: AdminTopUpActions
    """What an admin may do about it."""


class AdminTopUpList(Documented):
    items: list[AdminTopUpView]
    next: str | None
    total: int | None


class PlanView(Documented):
    plan: Plan
    below_micros: int
    amount_micros: int
    monthly_micros: int
    stopped: str | None
    """Why nothing is charged by itself any more."""


class PayoutAccountActions(Documented):
    begin: ActionView
    """Say where money goes, or what is missing: `POST wallet/payout-account`."""


class PayoutAccountView(Documented):
    state: Literal["none", "pending", "incomplete", "checking", "ready", "restricted", "gone", "by_hand"]
    message: str
    url: str | None = None
    """Where the host fills in what the processor wants to know; good for a few minutes."""
    actions: PayoutAccountActions
    """What the host may do."""


class PaymentActions(Documented):
    top_up: ActionView
    """Buy credits: `POST wallet/top-ups`."""
    save_card: ActionView
    """Leave a card for later: `POST wallet/card`."""
    forget_card: ActionView
    """Forget the saved card: `DELETE wallet/card`."""
    set_plan: ActionView
    """Let the saved card be charged by itself: `PUT wallet/plan`."""
    redeem_voucher: ActionView
    """Type in a voucher's code: `POST wallet/vouchers`."""


class PaymentsView(Documented):
    provider: str
    currency: str
    credit_value: str
    card: str | None
    """What the hub knows of it: its kind and last digits."""
    plan: PlanView
    payout_account: PayoutAccountView
    message: str
    actions: PaymentActions
    """What the caller may do."""


class CardView(Documented):
    state: Literal["pending", "open", "failed"]
    url: str | None
    message: str


class GrantView(Documented):
    id: str
    owner_id: str
    email: str | None = None
    """Of the user; a team has none."""
    credits: str
    micros: int
    repaid_micros: int = 0
    """Of what was given: it filled a debt, before anything could be spent."""
    available_micros: int
    promotional_micros: int


class WriteOffView(Documented):
    id: str
    owner_id: str
    email: str | None = None
    """Of the user; a team has none."""
    credits: str
    micros: int
    """What the pool bears."""
    filled_micros: int
    """What the owner had left: it went into the debt before."""
    debt_micros: int
    """What they still owe."""


class RefundView(Documented):
    id: str
    top_up_id: str
    micros: int
    state: RequestState
    message: str


class ProcessorEvent(Documented):
    id: str
    type: str
    state: EventState
    about: str | None
    tries: int
    message: str
    received_at: datetime
    ended_at: datetime | None


class WebhookReceived(Documented):
    received: Literal[True] = True
    """It is stored."""


class EventList(Documented):
    items: list[ProcessorEvent]
    next: str | None
    total: int | None


class RequestView(Documented):
    key: str
    kind: RequestKind
    owner_id: str
    state: RequestState
    tries: int
    object_id: str | None
    message: str
    created_at: datetime
    next_try_at: datetime | None


class RequestList(Documented):
    items: list[RequestView]
    next: str | None
    total: int | None


DifferenceKind = Literal["amount", "currency", "missing_here", "missing_there", "stuck"]


class DifferenceView(Documented):
    id: int
    movement: str
    kind: DifferenceKind
    here_minor: int | None
    there_minor: int | None
    message: str
    found_at: datetime
    settled_at: datetime | None


class ReconciliationView(Documented):
    since: datetime
    until: datetime
    compared: int
    differences: int
    made_at: datetime


class DifferenceList(Documented):
    items: list[DifferenceView]
    next: str | None
    total: int | None
    last: ReconciliationView | None


def top_up_view(row: TopUpRow, spelled: str) -> TopUpView:
    state = TopUpState(row.state)
    return TopUpView(
        id=row.id,
        owner_id=row.owner_id,
        way=cast("Way", row.way),
        state=state,
        credits=format_credits(row.micros),
        micros=row.micros,
        amount=spelled,
        url=row.url,
        message=f"{WORDS[state]} {row.words}".strip(),
        created_at=row.created_at,
        ended_at=row.ended_at,
        actions=TopUpActions(
            pay=ALLOWED
            if row.url is not None and state in UNDER_WAY
            else refused(f"There is nothing to pay: it is {state}.")
        ),
    )


def plan_view(row: ProfileRow | None) -> PlanView:
    if row is None:
        return PlanView(plan=Plan.NONE, below_micros=0, amount_micros=0, monthly_micros=0, stopped=None)
    return PlanView(
        plan=Plan(row.plan),
        below_micros=row.below_micros,
        amount_micros=row.amount_micros,
        monthly_micros=row.monthly_micros,
        stopped=row.stopped,
    )


def event_view(row: EventRow) -> ProcessorEvent:
    return ProcessorEvent(
        id=row.id,
        type=row.type,
        state=EventState(row.state),
        about=row.subject_id,
        tries=row.tries,
        message=row.words,
        received_at=row.received_at,
        ended_at=row.ended_at,
    )


def request_view(row: RequestRow) -> RequestView:
    return RequestView(
        key=row.key,
        kind=RequestKind(row.kind),
        owner_id=row.owner_id,
        state=RequestState(row.state),
        tries=row.tries,
        object_id=row.object_id,
        message=row.words,
        created_at=row.created_at,
        next_try_at=row.next_try_at if row.ended_at is None else None,
    )


def difference_view(row: DifferenceRow) -> DifferenceView:
    return DifferenceView(
        id=row.id,
        movement=row.movement_id,
        kind=cast("DifferenceKind", row.kind),
        here_minor=row.here_minor,
        there_minor=row.there_minor,
        message=row.words,
        found_at=row.found_at,
        settled_at=row.settled_at,
    )


def reconciliation_view(row: ReconciliationRow | None) -> ReconciliationView | None:
    if row is None:
        return None
    facts: dict[str, Any] = {name: getattr(row, name) for name in ReconciliationView.model_fields}
    return ReconciliationView(**facts)
