from computepool.hub.core.errors import Conflict, Forbidden, NotFound, Unavailable
from computepool.hub.payments.manual import HOW_TO_BE_PAID


class NoProcessor(Conflict):
    """Something that only a payment processor can do."""

    code = "no_payment_processor"

    def __init__(self, message: str, hint: str | None = None) -> None:
        super().__init__(
            message,
            hint=hint or "The operator can set COMPUTEPOOL_STRIPE_SECRET_KEY; docs/guides/stripe.md says how.",
        )


class NoTopUp(NotFound):
    code = "no_such_top_up"

    def __init__(self, top_up_id: str) -> None:
        super().__init__(f"There is no top-up {top_up_id[:60]}.")


class NoSuchPaymentEvent(NotFound):
    code = "no_such_event"

    def __init__(self, event_id: str) -> None:
        super().__init__(f"There is no event {event_id[:60]}.")


class NoSuchDifference(NotFound):
    code = "no_such_difference"

    def __init__(self, difference_id: int) -> None:
        super().__init__(f"There is no difference {difference_id}.")


class NoWebhooks(NotFound):
    code = "no_payment_processor"

    def __init__(self) -> None:
        super().__init__("This hub has no payment processor, so it accepts no webhook events.")


class NoCard(Conflict):
    code = "no_saved_card"

    def __init__(self) -> None:
        super().__init__("You have no saved card.", hint="Save one first: computepool wallet card")


class NoPayoutAccount(Conflict):
    code = "no_payout_account"

    def __init__(self, words: str = "") -> None:
        super().__init__(
            f"You cannot be paid yet, because your payout account is not ready. {words}".strip(),
            hint="Set it up with: computepool wallet payout-account",
        )


class PaysByHand(NoProcessor):
    def __init__(self) -> None:
        super().__init__(HOW_TO_BE_PAID)


class ProcessorAway(Unavailable):
    code = "processor_away"
    retry_after_seconds = 30

    def __init__(self, words: str) -> None:
        super().__init__(f"The payment processor does not answer: {words}", hint="Try again in a few minutes.")


class BadSignature(Forbidden):
    """A webhook that the processor did not send, or sent long ago."""

    code = "bad_signature"


class NotPaidByCard(Conflict):
    code = "not_paid"

    def __init__(self, top_up_id: str) -> None:
        super().__init__(f"{top_up_id} was not paid through the payment processor, so it cannot be refunded there.")


class RequestChanged(Conflict):
    """The same key for something else: a bug of the caller, which must not move anything."""

    code = "request_changed"
