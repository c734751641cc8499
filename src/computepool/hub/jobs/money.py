"""What an attempt costs, settled in the transaction that ends it: the hold is captured for the seconds that are billed,
and the rest goes back. `ledger.settlement` has the rules, `metering` the seconds, `funding` the holds of new leases.

An attempt that was lost has been settled. If it is taken back, its renter's credits are set aside again; if there are
none any more, one that still runs is refused, and one that brings its result is settled for what there is: it was the
node that was away, and work that is done is not thrown away.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.jobs import funding
from computepool.hub.jobs.metering import PREPARING_LIMITS, Meter, honest, hub_seconds
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.jobs.tables import Attempt
from computepool.hub.jobs.terms import Part, Terms, next_part
from computepool.hub.ledger import refunds
from computepool.hub.ledger.accounts import HOSTS_POCKETS, Kind, account
from computepool.hub.ledger.entries import Entry
from computepool.hub.ledger.holds import (
    HoldRow,
    OpenHold,
    Pockets,
    Resolution,
    find_all_open,
    open_hold,
    resolve_all,
    spendable,
)
from computepool.hub.ledger.journal import lock_accounts, post_all
from computepool.hub.ledger.settlement import (
    NO_HOLD,
    RULES,
    Basis,
    Payer,
    Rule,
    Settlement,
    Share,
    in_figures,
    postings_of,
    rule_of,
    seconds_for,
)
from computepool.hub.ledger.settlement import settle as divide
from computepool.hub.market.pricing import was_dear
from computepool.protocol.receipt import Usage
from computepool.protocol.states import AttemptState, Verdict

SETTLED = "settle"
"""The kind of the entry that resolves a hold."""
RENTERS_POCKETS = (Kind.HELD, Kind.PROMOTIONAL, Kind.AVAILABLE, Kind.EARNINGS)


@dataclass(frozen=True, slots=True)
class Settled:
    cost_micros: int = 0
    """What its renter pays by it; below zero if more is given back."""
    values: Mapping[str, Any] = field(default_factory=dict)
    """What the attempt's row has to say then."""


NOTHING = Settled()


@dataclass(frozen=True, slots=True)
class Bill:
    """An attempt that ended, for its money."""

    view: AttemptView
    ending: Ending
    usage: Usage | None = None
    saved_seconds: float | None = None
    """When its last checkpoint was taken, if it saved one."""


def settle(session: Session, bills: Sequence[Bill], now: datetime) -> list[Settled]:
    """The one end of each, as its verdict says. Of different attempts; many take as many statements as one, but for
    what instalments paid and goes back."""
    accounts = [_account_of(bill, now) for bill in bills]
    due = [one for one in accounts if one is not None]
    if not due:
        return [NOTHING] * len(bills)
    holds = find_all_open(session, [one.view.attempt_id for one in due])
    touched = {name for one in due for name in _pockets(one.view, one.terms)}
    balances = lock_accounts(session, touched, needed={_debt_of(one.terms) for one in due})
    captures = {}
    for one in due:
        subsidy = None if funding.is_charged(one.view.owner_id, one.terms) else _subsidy_left(session, one)
        capture = captures[one.view.attempt_id] = _pay(one, holds.get(one.view.attempt_id), balances, subsidy)
        if capture.entry is not None:
            debt = _debt_of(one.terms)
            balances[debt] += capture.entry.changes.get(debt, 0)  # the next one of this host fills what is left
    _write(session, list(captures.values()), now)
    return [
        NOTHING if one is None else _give_back(session, one, captures[one.view.attempt_id].settled, now)
        for one in accounts
    ]


def hold_again(session: Session, view: AttemptView, now: datetime, *, has_ended: bool) -> bool:
    """For an attempt that was lost, and so settled, and is there again. False if its renter cannot pay for more."""
    terms = Terms.of(view.terms)
    if terms is None or not view.price_micros or not funding.is_charged(view.owner_id, terms):
        return True
    lock_to_hold_again(session, [view])
    has = spendable(session, view.owner_id)
    left = budget_left(session, view.job_id, view.root, view.slice_index, terms)
    part = next_part(view.price_micros, terms.max_seconds, view.settled_seconds, left)
    if part is not None and has.total < part.micros:
        part = None
    if part is None and has_ended:
        part = _what_there_is(has, view.price_micros, terms.max_seconds - view.settled_seconds, left)
        if not part.micros:
            return True
    if part is None:
        return False
    open_next(session, view, part, has, now)
    return True


def lock_to_hold_again(session: Session, views: Iterable[AttemptView]) -> None:
    """What that touches, and what the end of each will: all at once, or others that settle would wait in a ring."""
    names: set[str] = set()
    for view in views:
        if terms := Terms.of(view.terms):
            names.update(_pockets(view, terms), (account(view.owner_id, kind) for kind in Kind))
    lock_accounts(session, names, needed=())


def open_next(session: Session, view: AttemptView, part: Part, has: Pockets, now: datetime) -> None:
    """The attempt's next hold."""
    numbers = select(func.max(HoldRow.number)).where(HoldRow.attempt_id == view.attempt_id)
    open_hold(
        session,
        view.owner_id,
        view.job_id,
        view.slice_index,
        view.attempt_id,
        (session.scalar(numbers) or 0) + 1,
        part.micros,
        view.price_micros or 0,
        part.seconds,
        now,
        is_last=part.is_last,
        has=has,
    )


def budget_left(session: Session, job_id: str, root: str, slice_index: int, terms: Terms) -> int | None:
    """Of the slice's budget and the job's the lesser; None if neither has one."""
    lefts = []
    if terms.slice_micros is not None:
        lefts.append(terms.slice_micros - funding.used_by_slice(session, job_id, slice_index).micros)
    if terms.job_micros is not None:
        lefts.append(terms.job_micros - funding.used_by_job(session, root).micros)
    return min(lefts, default=None)


def lock_for(session: Session, view: AttemptView, terms: Terms) -> dict[str, int]:
    """Whatever a settlement may touch of both sides."""
    return lock_accounts(session, _pockets(view, terms))


def capture(
    session: Session,
    view: AttemptView,
    terms: Terms,
    hold: OpenHold | None,
    one: Settlement,
    seconds: int,
    until: int,
    now: datetime,
    host_debt: int,
    details: Mapping[str, Any],
) -> Settled:
    """Post it. `until`: how much of its running time is settled with it."""
    captured = _captured(view, terms, hold, one, seconds, until, host_debt, details)
    _write(session, [captured], now)
    return captured.settled


def details_of(view: AttemptView, terms: Terms, meter: Meter, seconds: int, verdict: Verdict | None) -> dict[str, Any]:
    """Everything that `explain` needs to tell where the figures come from."""
    return {
        "verdict": verdict,
        "price_micros": view.price_micros,
        "rate": view.price,
        "fee_bps": terms.fee_bps,
        "refund_failed": terms.refund_failed,
        "seconds": {**meter.in_figures(), "settled_before": view.settled_seconds, "billed": seconds},
        "node_id": view.node_id,
        "host_id": terms.host_id,
        "renter_id": view.owner_id,
        "slice": view.slice_index,
    }


# ── inside ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True, slots=True)
class _Account:
    """Of one attempt: by which rule, and how many of its seconds are paid for in the end."""

    view: AttemptView
    terms: Terms
    verdict: Verdict
    rule: Rule
    meter: Meter
    due: int


@dataclass(frozen=True, slots=True)
class _Capture:
    """What is written of it."""

    settled: Settled
    hold: OpenHold | None
    entry: Entry | None
    """None if nothing moves."""
    paid_seconds: int


def _account_of(bill: Bill, now: datetime) -> _Account | None:
    """None where nothing is paid."""
    view, ending = bill.view, bill.ending
    terms = Terms.of(view.terms)
    if terms is None or not view.price_micros:
        return None
    rule = rule_of(ending.verdict, refund_failed=terms.refund_failed)
    if rule.payer is Payer.PLATFORM and (not ending.is_hubs_fault or was_dear(view.price)):
        # A node's word, such as that an input could not be fetched, is not paid for; nor is any price that a host and
        # a renter may have agreed on to wait for an outage.
        rule = RULES[Verdict.HOST]
    meter = _meter(view, ending, now, bill.usage, bill.saved_seconds)
    return _Account(view, terms, ending.verdict, rule, meter, _due(view, rule, meter, terms))


def _debt_of(terms: Terms) -> str:
    return account(terms.host_id, Kind.DEBT)


def _pockets(view: AttemptView, terms: Terms) -> list[str]:
    names = [account(terms.host_id, kind) for kind in HOSTS_POCKETS]
    if funding.is_charged(view.owner_id, terms):
        names += [account(view.owner_id, kind) for kind in RENTERS_POCKETS]
    return names


def _meter(view: AttemptView, ending: Ending, now: datetime, usage: Usage | None, saved_seconds: float | None) -> Meter:
    on_our_clock = hub_seconds(view.started_at, view.exited_at, view.rested_since, view.rested_seconds, now)
    preparing = 0.0
    limit = PREPARING_LIMITS.get(ending.reason, 0)
    if limit and view.started_at is None and view.state is AttemptState.PREPARING:
        preparing = max(0.0, (now - view.leased_at).total_seconds())
    saved_seconds = None if saved_seconds is None else honest(saved_seconds)
    if usage is None:
        return Meter(
            on_our_clock, saved_seconds=saved_seconds, preparing_seconds=preparing, preparing_limit_seconds=limit
        )
    return Meter(
        on_our_clock,
        claimed_seconds=honest(usage.running_seconds),
        suspended_seconds=honest(usage.suspended_seconds),
        capped_seconds=honest(usage.power_capped_seconds),
        saved_seconds=saved_seconds,
        preparing_seconds=preparing,
        preparing_limit_seconds=limit,
    )


def _due(view: AttemptView, rule: Rule, meter: Meter, terms: Terms) -> int:
    """How many seconds of the whole attempt are paid for in the end, by whoever pays."""
    seconds = meter.billed(rule.basis, terms.max_seconds)
    if rule.basis is Basis.KEPT:
        return min(view.billed_seconds, seconds)
    if rule.payer is Payer.NOBODY:
        return 0
    # Time beyond a hold was settled and not paid for: it does not come back as owed.
    return seconds if seconds > view.settled_seconds else min(seconds, view.billed_seconds)


def _subsidy_left(session: Session, one: _Account) -> Share:
    """Of what the platform pays for a job of its own, what no attempt of it has earned yet."""
    earned = session.scalar(select(func.sum(Attempt.earned_micros)).where(Attempt.job_id == one.view.job_id)) or 0
    whole = one.terms.subsidy
    promotional = min(int(earned), whole.promotional)
    return Share(whole.promotional - promotional, max(0, whole.real - (int(earned) - promotional)))


def _pay(one: _Account, hold: OpenHold | None, balances: Mapping[str, int], subsidy: Share | None) -> _Capture:
    """What is owed beyond what instalments settled."""
    view, terms = one.view, one.terms
    is_charged = funding.is_charged(view.owner_id, terms)
    seconds = max(0, one.due - view.settled_seconds)
    if hold is not None:
        seconds = min(seconds, hold.seconds)
    payer = one.rule.payer
    if not is_charged and payer is Payer.RENTER:
        payer = Payer.PLATFORM
    elif is_charged and hold is None:
        seconds = 0  # there was nothing to set aside, when it came back
    pockets = hold.pockets if hold is not None else NO_HOLD
    divided = divide(pockets, view.price_micros or 0, seconds, terms.fee_bps, payer, subsidy)
    debt = -balances[_debt_of(terms)]
    details = details_of(view, terms, one.meter, seconds, one.verdict)
    return _captured(view, terms, hold, divided, seconds, view.settled_seconds + seconds, debt, details)


def _captured(
    view: AttemptView,
    terms: Terms,
    hold: OpenHold | None,
    one: Settlement,
    seconds: int,
    until: int,
    host_debt: int,
    details: Mapping[str, Any],
) -> _Capture:
    number = hold.number if hold is not None else f"at {view.settled_seconds}"
    postings = postings_of(one, view.owner_id, terms.host_id, host_debt)
    entry = None
    if postings:
        entry = Entry(
            f"settle/{view.attempt_id}/{number}",
            SETTLED,
            postings,
            job_id=view.job_id,
            attempt_id=view.attempt_id,
            details={**details, **in_figures(one)},
        )
    values = {
        "settled_seconds": max(view.settled_seconds, until),
        "billed_seconds": view.billed_seconds + (seconds if one.earned or one.cost.total else 0),
        "cost_micros": view.cost_micros + one.cost.total,
        "earned_micros": view.earned_micros + one.earned,
    }
    return _Capture(Settled(one.cost.total, values), hold, entry, seconds if one.cost.total else 0)


def _write(session: Session, captures: Sequence[_Capture], now: datetime) -> None:
    resolved, others = [], []
    for one in captures:
        if one.entry is None:
            continue
        if one.hold is None:
            others.append(one.entry)
        else:
            resolved.append(Resolution(one.hold, one.entry, one.settled.cost_micros, one.paid_seconds))
    if resolved:
        resolve_all(session, resolved, now)
    if others:
        post_all(session, others, now)


def _give_back(session: Session, one: _Account, paid: Settled, now: datetime) -> Settled:
    """What instalments took for seconds that its verdict does not pay for."""
    view, terms = one.view, one.terms
    by_platform = one.rule.payer is Payer.PLATFORM  # then its renter pays for nothing of it, and its host loses nothing
    excess = view.billed_seconds if by_platform else view.billed_seconds - one.due
    if excess <= 0 or not view.cost_micros:
        return paid
    back = refunds.give_back(
        session,
        view.attempt_id,
        terms.host_id,
        excess,
        terms.fee_bps,
        now,
        by_platform=by_platform,
        note=f"verdict {one.verdict}",
    )
    values = {
        **paid.values,
        "billed_seconds": paid.values["billed_seconds"] - (0 if by_platform else back.seconds),
        "cost_micros": paid.values["cost_micros"] - back.cost_micros,
        "earned_micros": paid.values["earned_micros"] - back.earned_micros,
    }
    return Settled(paid.cost_micros - back.cost_micros, values)


def _what_there_is(has: Pockets, price_micros: int, still: int, left_micros: int | None) -> Part:
    micros = has.total if left_micros is None else min(has.total, max(0, left_micros))
    seconds = min(max(0, still), seconds_for(micros, price_micros))
    return Part(-(-price_micros * seconds // 3600), seconds, is_last=True)
