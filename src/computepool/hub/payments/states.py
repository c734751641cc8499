"""A top-up's life. `paid` is the processor's word about money, so it wins over whatever was believed before."""

from enum import StrEnum


class TopUpState(StrEnum):
    PENDING = "pending"
    """Not at the processor yet."""
    OPEN = "open"
    """Waits for the person, on the processor's page."""
    REQUIRES_ACTION = "requires_action"
    """The bank wants the person to confirm."""
    PROCESSING = "processing"
    PAID = "paid"
    FAILED = "failed"
    EXPIRED = "expired"


_S = TopUpState
NEXT: dict[TopUpState, frozenset[TopUpState]] = {
    _S.PENDING: frozenset({_S.OPEN, _S.REQUIRES_ACTION, _S.PROCESSING, _S.PAID, _S.FAILED, _S.EXPIRED}),
    _S.OPEN: frozenset({_S.REQUIRES_ACTION, _S.PROCESSING, _S.PAID, _S.FAILED, _S.EXPIRED}),
    _S.REQUIRES_ACTION: frozenset({_S.PROCESSING, _S.PAID, _S.FAILED, _S.EXPIRED}),
    _S.PROCESSING: frozenset({_S.REQUIRES_ACTION, _S.PAID, _S.FAILED}),
    _S.FAILED: frozenset({_S.PAID}),
    _S.EXPIRED: frozenset({_S.PAID}),
    _S.PAID: frozenset(),
}
UNDER_WAY = frozenset({_S.PENDING, _S.OPEN, _S.REQUIRES_ACTION, _S.PROCESSING})

WORDS = {
    _S.PENDING: "The payment processor has not answered yet. Nothing is lost; the hub tries again automatically.",
    _S.OPEN: "Pay on the processor's page; the credits arrive a moment later.",
    _S.REQUIRES_ACTION: "Your bank wants you to confirm this payment.",
    _S.PROCESSING: "The payment is being processed. The credits arrive when it is complete.",
    _S.PAID: "Paid: the credits are in your wallet.",
    _S.FAILED: "The payment failed. You were not charged.",
    _S.EXPIRED: "The payment page expired before you paid. You were not charged.",
}


class RequestState(StrEnum):
    WAITING = "waiting"
    DONE = "done"
    REFUSED = "refused"
    DROPPED = "dropped"
    """By an operator, before it was ever sent."""


class EventState(StrEnum):
    RECEIVED = "received"
    APPLIED = "applied"
    UNKNOWN = "unknown"
    """About something that this hub did not ask for. Kept, in case it becomes known."""
    IGNORED = "ignored"
    """Of a kind that moves nothing here."""
