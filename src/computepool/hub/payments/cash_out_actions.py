"""What an admin may do about a cash-out, by the rules by which the routes refuse."""

from computepool.hub.core.actions import ALLOWED, ActionView, refused, unless
from computepool.hub.core.errors import PoolError
from computepool.hub.payments.cash_out_errors import Frozen, Owes
from computepool.hub.payments.cash_out_rows import OPEN, WORDS, CashOutRow, CashOutState
from computepool.hub.payments.manual import BY_HAND
from computepool.protocol.model import Documented


class AdminCashOutActions(Documented):
    """What an admin may do about a cash-out."""

    approve: ActionView
    """Let it be paid."""
    reject: ActionView
    """Give the credits back to the host."""
    mark_paid: ActionView
    """Say that the money was sent by hand."""
    reverse: ActionView
    """Let the processor take back what it paid."""


def admin_cash_out_actions(row: CashOutRow, debt_micros: int, *, is_frozen: bool) -> AdminCashOutActions:
    state = CashOutState(row.state)
    over = refused(WORDS[state])
    ending = ALLOWED if state in OPEN else over  # one that the processor has may be refused: it knows what it sent
    approving: PoolError | None = Owes(row.owner_id, debt_micros) if debt_micros > 0 else None
    return AdminCashOutActions(
        approve=unless(Frozen() if is_frozen else approving) if state is CashOutState.REQUESTED else over,
        reject=ending,
        mark_paid=refused("It has to be approved first.") if state is CashOutState.REQUESTED else ending,
        reverse=_reversing(row, state),
    )


def _reversing(row: CashOutRow, state: CashOutState) -> ActionView:
    if state is not CashOutState.PAID:
        return refused("It was not paid.")
    if row.way == BY_HAND:
        return refused("It was paid by hand.")
    return ALLOWED if row.returned_micros < row.micros else refused("All of it was taken back already.")
