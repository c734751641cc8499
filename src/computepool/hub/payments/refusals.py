"""What follows when the processor says no, for good."""

from datetime import datetime

from sqlalchemy.orm import Session

from computepool.hub.core.records import record
from computepool.hub.payments import moving, outgoing
from computepool.hub.payments.facts import Desk
from computepool.hub.payments.hooks import PayOutResult, ReversalResult
from computepool.hub.payments.profiles import stop_plan
from computepool.hub.payments.provider import RequestKind
from computepool.hub.payments.states import RequestState, TopUpState
from computepool.hub.payments.tables import WORDS_LIMIT, RequestRow
from computepool.hub.payments.top_up_rows import find_top_up, move_top_up
from computepool.hub.payments.top_ups import ALONE


def refuse(session: Session, desk: Desk, request_id: str, words: str, now: datetime) -> None:
    row = session.get_one(RequestRow, request_id)
    if not outgoing.end(session, request_id, RequestState.REFUSED, now):
        return  # an event told meanwhile that it went through
    row = session.get_one(RequestRow, request_id, populate_existing=True)
    row.words = words[:WORDS_LIMIT]
    record(session, "payment.refused", row.owner_id, now, request=row.key, words=row.words)
    if row.kind in (RequestKind.CHECKOUT, RequestKind.CHARGE):
        top_up = find_top_up(session, row.key)
        moved = top_up is not None and move_top_up(session, top_up.id, TopUpState.FAILED, now, words=words)
        if top_up is not None and moved and top_up.way in ALONE:
            stop_plan(session, top_up.owner_id, words, now)
    elif row.kind == RequestKind.CONFIRM:
        top_up = find_top_up(session, f"top-up/{row.key.partition('/')[2]}")
        if top_up is not None:
            move_top_up(session, top_up.id, TopUpState.FAILED, now, words=words)
            stop_plan(session, top_up.owner_id, words, now)
    elif row.kind == RequestKind.REFUND:
        moving.end_set_aside(
            session, f"{row.key}/refused", "refund_failed", row.owner_id, row.params["micros"], False, now
        )
    elif row.kind == RequestKind.PAY_OUT:
        cash_out_id, micros = row.params["cash_out_id"], row.params["micros"]
        desk.hooks.on_pay_out(session, PayOutResult(cash_out_id, row.owner_id, micros, "failed", None, words), now)
    elif row.kind == RequestKind.REVERSAL:
        asked = row.params
        result = ReversalResult(
            asked["cash_out_id"], asked["reversal_id"], row.owner_id, asked["micros"], "failed", None, words
        )
        desk.hooks.on_reversal(session, result, now)
