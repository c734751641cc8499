from datetime import datetime

from computepool.hub.core.errors import Conflict, Invalid, NotFound, Unavailable
from computepool.hub.payments.cash_out_rows import CashOutState
from computepool.hub.payments.safe_earnings import Cashable
from computepool.protocol.units import format_credits, spell_credits


class NoCashOut(NotFound):
    code = "no_such_cash_out"

    def __init__(self, cash_out_id: str) -> None:
        super().__init__(f"There is no cash-out {cash_out_id[:60]}.")


class TooLittle(Invalid):
    code = "below_minimum"

    def __init__(self, least_micros: int) -> None:
        super().__init__(
            f"A cash-out is at least {spell_credits(least_micros)}.",
            hint="Wait until you have earned as much, or spend your earnings here.",
        )


class NotCashable(Conflict):
    code = "not_cashable"

    def __init__(self, micros: int, can: Cashable) -> None:
        hint = None
        if can.later:
            more = format_credits(sum(later for _, later in can.later))
            first = _day(can.later[0][0])
            hint = f"{more} more can follow, the first part on {first}. Until then, you may have to give them back."
        elif can.unknown_micros:
            hint = f"{format_credits(can.unknown_micros)} more wait for jobs that are running or disputed."
        super().__init__(
            f"{spell_credits(micros)} is more than the {format_credits(can.micros)} that can be cashed out "
            "now. Only earnings can; promotional credit cannot.",
            hint=hint,
        )


class Frozen(Unavailable):
    code = "cash_outs_frozen"

    def __init__(self) -> None:
        super().__init__(
            "Cash-outs are frozen because the ledger does not add up. An operator has to find the cause.",
            hint="Your credits are safe. Operators: computepool admin ledger check",
        )


class NotInThisState(Conflict):
    code = "cash_out_state"

    def __init__(self, cash_out_id: str, state: str, wanted: str) -> None:
        if (state, wanted) == (CashOutState.REQUESTED, CashOutState.PAID):
            approve = f"Approve it first: computepool admin cash-outs approve {cash_out_id}"
            super().__init__(f"{cash_out_id} is not approved yet, so it cannot be paid.", hint=approve)
        elif state == wanted:
            super().__init__(f"{cash_out_id} is {state} already.")
        else:
            super().__init__(f"{cash_out_id} is {state}, so it can no longer be {wanted}.")


class Owes(Conflict):
    code = "owner_owes"

    def __init__(self, owner_id: str, micros: int) -> None:
        super().__init__(
            f"{owner_id} now owes the pool {spell_credits(micros)}. This debt must be paid first.",
            hint="Reject the cash-out: the returned credits pay the debt, and the host can request the rest again.",
        )


class PaidByProcessor(Conflict):
    code = "paid_by_processor"

    def __init__(self, cash_out_id: str, way: str) -> None:
        super().__init__(
            f"{cash_out_id} may already have been sent by {way}, so only {way} knows its result.",
            hint=f"See it with: computepool admin cash-outs. The hub needs its key for {way} to find out.",
        )


class NotPaid(Conflict):
    code = "cash_out_state"

    def __init__(self, cash_out_id: str, state: str) -> None:
        super().__init__(
            f"{cash_out_id} is {state}. Only a paid cash-out can be taken back.",
            hint="To stop a cash-out that was not sent yet: computepool admin cash-outs reject",
        )


class PaidByHandOnly(Conflict):
    code = "paid_by_hand"

    def __init__(self, cash_out_id: str, owner_id: str) -> None:
        super().__init__(
            f"{cash_out_id} was paid by hand, so it cannot be reversed here.",
            hint="Ask the host to send the money back. When it is there: "
            f"computepool admin grant {owner_id} CREDITS --note WHY. The grant pays their debt first.",
        )


class NotThatMuchLeft(Conflict):
    code = "nothing_left"

    def __init__(self, cash_out_id: str, left: int, asked: int) -> None:
        more = f"; {spell_credits(asked)} more was requested already and has not arrived yet" if asked else ""
        super().__init__(f"Of {cash_out_id}, {spell_credits(left)} can still be taken back{more}.")


def _day(at: datetime) -> str:
    return f"{at:%Y-%m-%d}"
