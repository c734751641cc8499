"""Money to hosts. The request is a row in the caller's transaction; what comes of it is told by `Hooks`."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.payments import outgoing
from computepool.hub.payments.amounts import Units
from computepool.hub.payments.errors import NoPayoutAccount
from computepool.hub.payments.profiles import profile_of
from computepool.hub.payments.provider import RequestKind
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import RequestRow


def ask_pay_out(
    session: Session, context: Context, units: Units, cash_out_id: str, owner_id: str, micros: int, now: datetime
) -> RequestRow:
    """One cash-out is paid at most once, for ever. Raises NoPayoutAccount where nobody knows whereto."""
    profile = profile_of(session, owner_id)
    if profile is None or profile.account_id is None or profile.account_state != "ready":
        raise NoPayoutAccount(profile.account_words if profile else "")
    params = {
        "cash_out_id": cash_out_id,
        "account_id": profile.account_id,
        "micros": micros,
        "minor": units.minor_of(micros),
        "currency": units.currency,
    }
    return outgoing.ask(session, context, RequestKind.PAY_OUT, f"pay-out/{cash_out_id}", owner_id, params, now)


def ask_reversal(
    session: Session,
    context: Context,
    cash_out_id: str,
    reversal_id: str,
    micros: int,
    minor: int,
    note: str,
    now: datetime,
) -> RequestRow:
    """Take a pay-out back, or a part of it: `minor` is what that was worth when it was paid.

    Raises NoPayoutAccount if nothing of it was paid."""
    paid = outgoing.find_request(session, f"pay-out/{cash_out_id}")
    if paid is None or paid.state != RequestState.DONE:
        raise NoPayoutAccount("No money was sent for this cash-out.")
    params = {
        "reversal_id": reversal_id,
        "cash_out_id": cash_out_id,
        "transfer_id": paid.object_id,
        "micros": micros,
        "minor": minor,
        "note": note,
    }
    return outgoing.ask(session, context, RequestKind.REVERSAL, f"reversal/{reversal_id}", paid.owner_id, params, now)


def ask_account(
    session: Session, context: Context, owner_id: str, country: str | None, now: datetime
) -> RequestRow | None:
    """An account at the processor for a host, who fills in who they are on its own pages. None: there is one."""
    profile = profile_of(session, owner_id)
    if profile is not None and profile.account_id is not None and profile.account_state != "gone":
        return None
    table = RequestRow
    earlier = session.scalars(
        select(table).where(table.owner_id == owner_id, table.kind == RequestKind.ACCOUNT).order_by(table.id.desc())
    ).all()
    if earlier and earlier[0].state == RequestState.WAITING:
        return earlier[0]
    key = f"account/{owner_id}/{len(earlier) + 1}"
    return outgoing.ask(session, context, RequestKind.ACCOUNT, key, owner_id, {"country": country}, now)
