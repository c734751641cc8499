"""A paid cash-out is taken back, or a part of it: the processor is asked, and what comes back fills debts first."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.records import record
from computepool.hub.payments import outgoing
from computepool.hub.payments.amounts import BadAmount
from computepool.hub.payments.cash_out_errors import NoCashOut, NotPaid, NotThatMuchLeft, PaidByHandOnly
from computepool.hub.payments.cash_out_rows import CashOutRow, CashOutState
from computepool.hub.payments.errors import NoProcessor
from computepool.hub.payments.manual import BY_HAND
from computepool.hub.payments.pay_outs import ask_reversal
from computepool.hub.payments.provider import Provider, RequestKind
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import RequestRow
from computepool.protocol.units import spell_credits


def reverse_cash_out(
    session: Session,
    context: Context,
    provider: Provider,
    cash_out_id: str,
    reversal_id: str,
    micros: int | None,
    note: str,
    actor: str,
    now: datetime,
) -> RequestRow:
    """Ask the processor for so much of it, or for all that is left. Nothing moves here before it is there again.

    Also while cash-outs are frozen: it brings money to the pool.
    """
    row = session.get(CashOutRow, cash_out_id, with_for_update=True, populate_existing=True)
    if row is None:
        raise NoCashOut(cash_out_id)
    if row.state != CashOutState.PAID:
        raise NotPaid(row.id, row.state)
    paid = outgoing.find_request(session, f"pay-out/{row.id}")
    if row.way in (None, BY_HAND) or paid is None or paid.state != RequestState.DONE:
        raise PaidByHandOnly(row.id, row.owner_id)
    if provider.name != row.way:
        raise NoProcessor(f"{row.id} was paid by {row.way}, but this hub no longer has a key for it.")
    left = left_of(session, row)
    wanted = left if micros is None else micros
    if not 0 < wanted <= left:
        raise NotThatMuchLeft(row.id, left, _asked_micros(session, row))
    minor, rest = divmod(wanted * paid.params["minor"], paid.params["micros"])
    if minor == 0 or (rest and wanted != left):
        raise BadAmount(f"{spell_credits(wanted)} is not a whole number of the currency's smallest unit.")
    about: dict[str, Any] = {"owner": row.owner_id, "micros": wanted, "reversal": reversal_id, "note": note}
    record(session, "cash_out.reversal_asked", row.id, now, actor=actor, **about)
    return ask_reversal(session, context, row.id, reversal_id, wanted, minor, note, now)


def left_of(session: Session, row: CashOutRow) -> int:
    """What was neither returned yet nor asked for."""
    return row.micros - row.returned_micros - _asked_micros(session, row)


def list_reversible(session: Session, owner_ids: Iterable[str], since: datetime) -> list[tuple[CashOutRow, int]]:
    """What a processor paid them since then and could take back, the newest first."""
    query = select(CashOutRow).where(
        CashOutRow.owner_id.in_(sorted(owner_ids)),
        CashOutRow.state == CashOutState.PAID,
        CashOutRow.way != BY_HAND,
        CashOutRow.ended_at >= since,
    )
    found = [(row, left_of(session, row)) for row in session.scalars(query.order_by(CashOutRow.id.desc()))]
    return [(row, left) for row, left in found if left > 0]


def _asked_micros(session: Session, row: CashOutRow) -> int:
    waiting = select(RequestRow).where(
        RequestRow.owner_id == row.owner_id,
        RequestRow.kind == RequestKind.REVERSAL,
        RequestRow.state == RequestState.WAITING,
    )
    return sum(one.params["micros"] for one in session.scalars(waiting) if one.params["cash_out_id"] == row.id)
