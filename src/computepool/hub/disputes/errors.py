from datetime import datetime

from computepool.hub.core.errors import Conflict, Invalid, NotFound
from computepool.protocol.units import format_credits, spell_credits


class NoDispute(NotFound):
    code = "no_such_dispute"

    def __init__(self, dispute_id: str) -> None:
        super().__init__(f"There is no dispute {dispute_id[:60]}.")


class NotFinished(Conflict):
    code = "job_not_finished"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"{job_id} has not ended yet.", hint=f"If you no longer need it, cancel it: computepool cancel {job_id}"
        )


class NothingPaid(Conflict):
    code = "nothing_paid"

    def __init__(self, job_id: str) -> None:
        super().__init__(
            f"There is nothing to refund for {job_id}: you paid nothing, or you got it back, or a host owes it to you.",
            hint=f"computepool explain {job_id} shows it.",
        )


class TooLate(Conflict):
    code = "too_late_to_dispute"

    def __init__(self, job_id: str, until: datetime) -> None:
        super().__init__(
            f"{job_id} could be disputed until {until:%Y-%m-%d %H:%M} UTC. Its hosts may have cashed out since."
        )


class DisputedBefore(Conflict):
    code = "disputed_before"

    def __init__(self, job_id: str, dispute_id: str) -> None:
        super().__init__(f"{job_id} is disputed in {dispute_id} already.", hint="A job can be disputed once.")


class AlreadyResolved(Conflict):
    code = "dispute_resolved"

    def __init__(self, dispute_id: str) -> None:
        super().__init__(f"{dispute_id} is resolved already.")


class BankDecides(Conflict):
    code = "bank_decides"

    def __init__(self, dispute_id: str) -> None:
        super().__init__(
            f"The payer's bank has not decided about {dispute_id} yet. If it returns the money, the renter would have "
            "both that and the refund.",
            hint="Wait for the bank's decision. If the pool loses, you can refund then. You can use `none` now: the "
            "pool pays, and the hosts keep what they earned.",
        )


class TooMuch(Invalid):
    code = "more_than_was_paid"

    def __init__(self, micros: int, most: int) -> None:
        super().__init__(
            f"{spell_credits(micros)} is more than the {format_credits(most)} that can be refunded.",
            hint="To refund everything, use `full`.",
        )
