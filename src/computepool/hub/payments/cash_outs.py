"""Earnings become money: asked for by a host, approved by an operator, paid by hand or by the processor.

The credits leave `earnings` with the request, wait in `cashing_out`, and end in `clearing` with the payment or back in
`earnings`. Each step is one guarded write with its ledger entry, its audit record and a notice to the owner.
"""

from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.notices import ADMINS, mail_topic
from computepool.hub.core.records import ADMIN_TOPIC, HUB_ACTOR, record
from computepool.hub.core.settings import Settings
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.check import PROBLEMS_LIMIT
from computepool.hub.ledger.entries import Entry, Posting, moved
from computepool.hub.ledger.freezing import is_frozen
from computepool.hub.ledger.journal import balances, post
from computepool.hub.ledger.tables import BalanceRow
from computepool.hub.ledger.write_offs import return_to_pool
from computepool.hub.payments import outgoing
from computepool.hub.payments.amounts import Units
from computepool.hub.payments.cash_out_errors import (
    Frozen,
    NoCashOut,
    NotCashable,
    NotInThisState,
    Owes,
    PaidByProcessor,
    TooLittle,
)
from computepool.hub.payments.cash_out_rows import OPEN, CashOutRow, CashOutState, find_cash_out, move_cash_out
from computepool.hub.payments.errors import NoPayoutAccount
from computepool.hub.payments.hooks import PayOutResult, ReversalResult
from computepool.hub.payments.manual import BY_HAND
from computepool.hub.payments.moving import CLEARING
from computepool.hub.payments.pay_outs import ask_pay_out
from computepool.hub.payments.profiles import profile_of
from computepool.hub.payments.provider import Provider, RequestKind
from computepool.hub.payments.safe_earnings import cashable
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import WORDS_LIMIT, RequestRow
from computepool.protocol.units import MICROS_PER_CREDIT

LOOKS = 3
"""A cash-out has at most two steps: whoever looks again each time it changed sees its last state."""


def request_cash_out(
    session: Session,
    settings: Settings,
    provider: Provider,
    units: Units,
    cash_out_id: str,
    owner_id: str,
    micros: int,
    actor: str,
    now: datetime,
) -> CashOutRow:
    """Raises where it could never be paid, so that nobody waits in vain."""
    if is_frozen(session):
        raise Frozen
    least = settings.cash_out_min * MICROS_PER_CREDIT
    if micros < least:
        raise TooLittle(least)
    if provider.moves_money:
        units.minor_of(micros)
        profile = profile_of(session, owner_id)
        if profile is None or profile.account_state != "ready":
            raise NoPayoutAccount(profile.account_words if profile else "")
    can = cashable(session, owner_id, now, settings.hold_back, lock=True)
    if micros > can.micros:
        raise NotCashable(micros, can)
    row = CashOutRow(
        id=cash_out_id,
        owner_id=owner_id,
        micros=micros,
        state=CashOutState.REQUESTED,
        asked_by=actor,
        note="",
        returned_micros=0,
        created_at=now,
    )
    session.add(row)
    session.flush()
    asked = Posting(account(owner_id, Kind.EARNINGS), account(owner_id, Kind.CASHING_OUT), micros)
    _post(session, row, "asked", (asked,), now, actor)
    _tell(session, row, "requested", now, actor)
    return row


def approve(
    session: Session,
    context: Context,
    provider: Provider,
    units: Units,
    cash_out_id: str,
    note: str,
    actor: str,
    now: datetime,
) -> str | None:
    """The id of the request to the processor; None if an operator pays it."""
    if is_frozen(session):
        raise Frozen
    values: dict[str, Any] = {"approved_at": now, "decided_by": actor, "way": provider.name, "note": note}
    row = _move(session, _need(session, cash_out_id), CashOutState.APPROVED, now, **values)
    owed = -balances(session, row.owner_id, lock=True)[Kind.DEBT]
    if owed:
        raise Owes(row.owner_id, owed)
    _tell(session, row, "approved", now, actor, note=note)
    if not provider.moves_money:
        return None
    return ask_pay_out(session, context, units, cash_out_id, row.owner_id, row.micros, now).id


def reject(session: Session, cash_out_id: str, note: str, actor: str, now: datetime) -> CashOutRow:
    """Also an approved one, as long as the processor was not asked for it."""
    row = _decide(session, cash_out_id, CashOutState.REJECTED, now, decided_by=actor, note=note)
    _give_back(session, row, "rejected", now, actor)
    _tell(session, row, "rejected", now, actor, note=note)
    return row


def cancel(session: Session, owner_ids: frozenset[str], cash_out_id: str, actor: str, now: datetime) -> CashOutRow:
    """Its owner takes it back, before an operator has decided."""
    row = _move(session, own_cash_out(session, owner_ids, cash_out_id), CashOutState.CANCELED, now)
    _give_back(session, row, "canceled", now, actor)
    topics = (f"wallet/{row.owner_id}", ADMIN_TOPIC)
    record(session, "cash_out.canceled", row.id, now, actor=actor, topics=topics, owner=row.owner_id, micros=row.micros)
    return row


def mark_paid(session: Session, cash_out_id: str, reference: str, note: str, actor: str, now: datetime) -> CashOutRow:
    """An operator sent the money. Also while cash-outs are frozen: it is gone, and the ledger has to know."""
    kept = {"note": note} if note else {}
    row = _decide(session, cash_out_id, CashOutState.PAID, now, decided_by=actor, reference=reference, **kept)
    row.way = BY_HAND  # whoever was to pay it did not
    _pay(session, row, now, actor)
    _tell(session, row, "paid", now, actor, reference=reference, note=note)
    return row


def pay_out_ended(session: Session, result: PayOutResult, now: datetime) -> None:
    """What came of it at the processor, once (`Hooks.on_pay_out`)."""
    row = _need(session, result.cash_out_id)
    if result.state == "paid":
        row = _move(session, row, CashOutState.PAID, now, reference=result.object_id)
        _pay(session, row, now, HUB_ACTOR)
        _tell(session, row, "paid", now, reference=result.object_id)
    else:
        row = _move(session, row, CashOutState.FAILED, now, note=result.words[:WORDS_LIMIT])
        _give_back(session, row, "failed", now, HUB_ACTOR)
        _tell(session, row, "failed", now, note=row.note)


def pay_out_returned(session: Session, result: ReversalResult, now: datetime) -> None:
    """A paid one, or a part of it, came back (`Hooks.on_reversal`)."""
    row = session.get_one(CashOutRow, result.cash_out_id, with_for_update=True, populate_existing=True)
    if result.state == "failed":
        about: dict[str, Any] = {"owner": row.owner_id, "micros": result.micros, "note": result.words[:WORDS_LIMIT]}
        record(session, "cash_out.not_returned", row.id, now, topics=(ADMIN_TOPIC, mail_topic(ADMINS)), **about)
        return
    micros = min(result.micros, row.micros - row.returned_micros)
    row.returned_micros += micros
    asked = outgoing.find_request(session, f"reversal/{result.reversal_id}") if result.reversal_id else None
    note = str(asked.params.get("note", "")) if asked else ""
    row.note = note or row.note  # the newest step's, as when it is paid; the earlier one stays with its entry
    session.flush()
    postings = _to_earnings(session, row.owner_id, CLEARING, micros)
    _post(session, row, f"returned/{result.object_id}", postings, now, HUB_ACTOR)
    _tell(session, row, "returned", now, returned_micros=micros, note=note)


def own_cash_out(session: Session, owner_ids: frozenset[str], cash_out_id: str) -> CashOutRow:
    row = find_cash_out(session, cash_out_id)
    if row is None or row.owner_id not in owner_ids:
        raise NoCashOut(cash_out_id)
    return row


_OPEN_SUMS = (
    select(CashOutRow.owner_id, func.sum(CashOutRow.micros))
    .where(CashOutRow.state.in_(sorted(OPEN)))
    .group_by(CashOutRow.owner_id)
)
_WAITING_REFUNDS = select(RequestRow).where(
    RequestRow.kind == RequestKind.REFUND, RequestRow.state == RequestState.WAITING
)
_SUFFIX = f"/{Kind.CASHING_OUT}"
_KEPT = select(BalanceRow.account, BalanceRow.micros).where(BalanceRow.account.endswith(_SUFFIX, autoescape=True))


def cash_outs_are_cashing_out(session: Session) -> list[str]:
    """For `ledger.check`: what an owner has on its way out is their open cash-outs, and refunds to their card."""
    waiting: dict[str, int] = {}
    for owner_id, micros in session.execute(_OPEN_SUMS):
        waiting[owner_id] = int(micros)
    for refund in session.scalars(_WAITING_REFUNDS):
        waiting[refund.owner_id] = waiting.get(refund.owner_id, 0) + int(refund.params["micros"])
    kept = {name.removesuffix(_SUFFIX): micros for name, micros in session.execute(_KEPT) if micros}
    return [
        f"{owner_id} has {kept.get(owner_id, 0)} micros on their way out, and open cash-outs of "
        f"{waiting.get(owner_id, 0)}"
        for owner_id in sorted({*waiting, *kept})
        if waiting.get(owner_id, 0) != kept.get(owner_id, 0)
    ][:PROBLEMS_LIMIT]


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def _need(session: Session, cash_out_id: str) -> CashOutRow:
    row = find_cash_out(session, cash_out_id)
    if row is None:
        raise NoCashOut(cash_out_id)
    return row


def _decide(session: Session, cash_out_id: str, to: CashOutState, now: datetime, **values: Any) -> CashOutRow:
    """An operator ends it: never behind the back of whoever sends it, or is about to.

    The request to the processor comes first, as it does for those who send it: whoever has its row decides. What was
    seen has to hold still, so that one that is approved at this moment is looked at again, with its request.
    """
    for _ in range(LOOKS):
        row = _need(session, cash_out_id)
        seen = row.state
        is_sent = seen == CashOutState.APPROVED and row.way not in (None, BY_HAND)
        if is_sent and not outgoing.drop(session, f"pay-out/{row.id}", f"{to} by an operator", now):
            if _need(session, cash_out_id).state != seen:
                continue
            raise PaidByProcessor(row.id, row.way or "")
        if move_cash_out(session, row.id, to, now, seen=seen, **values):
            return _need(session, row.id)
    raise NotInThisState(cash_out_id, _need(session, cash_out_id).state, to)


def _move(session: Session, row: CashOutRow, to: CashOutState, now: datetime, **values: Any) -> CashOutRow:
    if not move_cash_out(session, row.id, to, now, **values):
        raise NotInThisState(row.id, _need(session, row.id).state, to)
    return _need(session, row.id)


def _pay(session: Session, row: CashOutRow, now: datetime, actor: str) -> None:
    posting = Posting(account(row.owner_id, Kind.CASHING_OUT), CLEARING, row.micros)
    _post(session, row, "paid", (posting,), now, actor)


def _give_back(session: Session, row: CashOutRow, why: str, now: datetime, actor: str) -> None:
    source = account(row.owner_id, Kind.CASHING_OUT)
    _post(session, row, why, _to_earnings(session, row.owner_id, source, row.micros), now, actor)


def _to_earnings(session: Session, owner_id: str, source: str, micros: int) -> tuple[Posting, ...]:
    """What is owed comes first."""
    owed = min(-balances(session, owner_id, lock=True)[Kind.DEBT], micros)
    to_debt = moved(source, account(owner_id, Kind.DEBT), owed)
    return (*to_debt, *moved(source, account(owner_id, Kind.EARNINGS), micros - owed))


def _post(
    session: Session, row: CashOutRow, step: str, postings: tuple[Posting, ...], now: datetime, actor: str
) -> None:
    kind = "cash_out" if step in ("asked", "paid") else "cash_out_returned"
    details = {"cash_out": row.id, "step": step.partition("/")[0]}
    if postings:
        entry = Entry(f"cash-out/{row.id}/{step}", kind, postings, actor=actor, note=row.note, details=details)
        if not post(session, entry, now).is_new:
            raise AssertionError(f"{row.id} was {step} before")
        # A debt that the pool bore meanwhile would have been filled by it.
        earnings = account(row.owner_id, Kind.EARNINGS)
        came = sum(one.micros for one in postings if one.destination == earnings)
        return_to_pool(session, f"{entry.key}/written_off", row.owner_id, came, now, (Kind.EARNINGS,))


def _tell(session: Session, row: CashOutRow, what: str, now: datetime, actor: str = HUB_ACTOR, **about: Any) -> None:
    deciding = (ADMIN_TOPIC, mail_topic(ADMINS)) if what == "requested" else ()
    topics = (f"wallet/{row.owner_id}", mail_topic(row.owner_id), *deciding)
    details = {"owner": row.owner_id, "micros": row.micros, **about}
    record(session, f"cash_out.{what}", row.id, now, actor=actor, topics=topics, **details)
