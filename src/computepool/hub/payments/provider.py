"""What a payment provider is to the hub: it carries out requests, and it tells facts.

Whatever the hub asked for or heard of, it ends with a fact: what the provider now says about one object. Facts are
applied by one function (`facts.apply`), as often as they come and in any order.

    Refused              it will never be done as asked; the words are for the person
    ProviderUnreachable  nobody knows whether it was done: ask again later, with the same key
    NoSuchObject         the provider does not know it
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, Literal, Protocol


class RequestKind(StrEnum):
    CHECKOUT = "checkout"
    """A page of the processor's on which a top-up is paid."""
    CARD = "card"
    """A page on which a card is left with the processor."""
    CHARGE = "charge"
    """The saved card pays."""
    CONFIRM = "confirm"
    """A charge that its bank wants confirmed gets an address where the person does that."""
    REFUND = "refund"
    ACCOUNT = "account"
    """Where a host's money goes."""
    PAY_OUT = "pay_out"
    REVERSAL = "reversal"
    """A pay-out, or a part of it, is taken back."""


@dataclass(frozen=True)
class Request:
    """One request as it is sent."""

    key: str
    """The hub's own, for ever: the provider keeps it with the object, so that the object can be found again."""
    sent_key: str
    """Its idempotency key at the provider, which forgets it after a day."""
    kind: RequestKind
    owner_id: str
    params: Mapping[str, Any]
    created_at: datetime


class Refused(Exception):
    def __init__(self, words: str) -> None:
        super().__init__(words)
        self.words = words


class ProviderUnreachable(Exception):
    def __init__(self, words: str, *, is_saved: bool = False) -> None:
        super().__init__(words)
        self.words = words
        self.is_saved = is_saved
        """The provider's own failure: it may give the same answer to the same key from now on."""


class NoSuchObject(Exception):
    pass


# ── facts ────────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class About:
    """What the hub wrote on the object when it asked for it."""

    hub_id: str | None = None
    owner_id: str | None = None
    request: str | None = None


@dataclass(frozen=True)
class Card:
    """All that the hub ever knows of one."""

    customer_id: str
    method_id: str
    words: str
    """Such as `visa ending in 4242`."""


class PaymentState(StrEnum):
    OPEN = "open"
    PROCESSING = "processing"
    NEEDS_ACTION = "needs_action"
    """The bank wants the person to confirm, at `url`."""
    NEEDS_CONFIRMATION = "needs_confirmation"
    """The bank would want that, and nobody was there: to be confirmed again, with the person."""
    PAID = "paid"
    FAILED = "failed"
    CANCELED = "canceled"


@dataclass(frozen=True)
class Refund:
    id: str
    minor: int
    is_failed: bool
    about: About
    at: datetime


@dataclass(frozen=True)
class Withdrawal:
    """A chargeback: the payer's bank takes the money back, and may give it back."""

    id: str
    minor: int
    reason: str
    withdrawn_at: datetime | None
    reinstated_at: datetime | None
    is_lost: bool


@dataclass(frozen=True)
class Payment:
    id: str
    about: About
    state: PaymentState
    minor: int
    """Received, once it is paid."""
    currency: str
    at: datetime
    url: str | None = None
    words: str = ""
    card: Card | None = None
    """Kept for later, if the person wanted that."""
    refunds: tuple[Refund, ...] = ()
    withdrawals: tuple[Withdrawal, ...] = ()


@dataclass(frozen=True)
class Checkout:
    id: str
    about: About
    state: Literal["open", "complete", "expired"]
    url: str | None
    payment_id: str | None
    card: Card | None = None


@dataclass(frozen=True)
class PayoutAccount:
    id: str
    about: About
    state: Literal["incomplete", "checking", "ready", "restricted", "gone"]
    words: str = ""


@dataclass(frozen=True)
class TakenBack:
    id: str
    minor: int
    about: About
    at: datetime


@dataclass(frozen=True)
class Transfer:
    id: str
    about: About
    minor: int
    currency: str
    at: datetime
    reversals: tuple[TakenBack, ...] = ()


Fact = Payment | Checkout | PayoutAccount | Transfer

SubjectKind = Literal["payment", "checkout", "account", "transfer"]


@dataclass(frozen=True)
class Subject:
    """What there is a fact about."""

    kind: SubjectKind
    id: str


@dataclass(frozen=True)
class Movement:
    """Money that moved at the provider, under the name that `tables.MovementRow` has for the same."""

    id: str
    kind: str
    minor: int
    """More than zero: to the pool."""
    currency: str
    at: datetime
    subject: Subject | None


class Provider(Protocol):
    name: str
    moves_money: bool
    """Whether it does anything by itself. By hand, an operator does."""

    def perform(self, request: Request) -> Fact:
        """Do it. Twice with the same `sent_key`, within a day, is once."""
        ...

    def find(self, request: Request) -> Fact | None:
        """What this request made, if it made anything, whatever keys the provider remembers."""
        ...

    def look(self, subject: Subject) -> Fact:
        """How it is now."""
        ...

    def onboarding_url(self, account_id: str, return_url: str) -> str:
        """A page on which a host says who they are and where money goes; good for a few minutes."""
        ...

    def list_movements(self, since: datetime, until: datetime) -> Iterator[Movement]: ...

    def probe(self) -> str:
        """Whether it answers and takes the hub's key: what was found. Raises ProviderUnreachable or Refused."""
        ...

    def close(self) -> None: ...
