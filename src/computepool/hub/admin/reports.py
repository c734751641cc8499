"""How the pool does, for its operators: by day, and what is due now."""

from datetime import date, datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.core.errors import Invalid
from computepool.hub.disputes.tables import Dispute, DisputeState
from computepool.hub.disputes.views import count_refunded
from computepool.hub.figures.daily import NOTHING, start_of
from computepool.hub.figures.rollups import read_days
from computepool.hub.jobs.tables import Attempt
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.cash_out_rows import CashOutRow, CashOutState
from computepool.hub.reputation.service import list_standings
from computepool.protocol.model import Documented
from computepool.protocol.states import NodeState, Verdict

MOST_DAYS = 366
DEFAULT_DAYS = 30
HOSTS_SHOWN = 500


class Totals(Documented):
    jobs: int
    """Submitted, without those that the platform runs to check others."""
    spent_micros: int
    """By renters."""
    fees_micros: int
    """Of that, the platform's, without what was given back."""
    refunded_micros: int
    """To renters: after disputes, checks, and attempts that came to nothing."""
    paid_in_micros: int
    """Money that came: top-ups, and what was granted for money."""
    paid_out_micros: int
    """Money that went to hosts: cash-outs, without what was taken back of them."""
    withdrawn_micros: int = 0
    """Money that renters got back elsewhere: what was withdrawn by hand."""
    returned_micros: int = 0
    """Money that went back to cards: refunds and chargebacks, without those that failed or were won."""
    written_off_micros: int = 0
    """Debts that the pool bore, without what came back of that."""
    storage_micros: int = 0
    """What owners paid for storage. It is not among the fees."""


class DayReport(Totals):
    day: date
    """Of UTC."""


class Due(Documented):
    """As it is now."""

    requested: int
    requested_micros: int
    approved: int
    approved_micros: int
    open_disputes: int


class HostReport(Documented):
    node_id: str
    name: str
    owner_id: str
    owner_email: str | None = None
    state: NodeState
    reliability: float
    """As it is ranked: the 5 % lower bound."""
    mean: float
    attempts: int
    """For others, that ended in these days."""
    ok: int
    lost: int
    """Through the host's own fault."""
    earned_micros: int
    refunded_attempts: int
    """Ever, after disputes."""


class Report(Documented):
    since: date
    until: date
    """Itself not included."""
    days: list[DayReport]
    totals: Totals
    due: Due
    hosts: list[HostReport]
    """Those that did most for others first."""


def check_period(since: date | None, until: date | None, today: date) -> tuple[date, date]:
    until = until or today + timedelta(days=1)
    since = since or until - timedelta(days=DEFAULT_DAYS)
    if not timedelta(0) < until - since <= timedelta(days=MOST_DAYS):
        raise Invalid(
            f"A report is about 1 to {MOST_DAYS} days, and {since} to {until} is not.",
            hint="`since` is the first day, `until` the day after the last one.",
        )
    return since, until


def make_report(session: Session, since: date, until: date, now: datetime, half_life: timedelta) -> Report:
    """From the totals of days (`rollups`), which the caller has brought up to date."""
    counted, _ = read_days(session, since, until)
    days = []
    for number in range((until - since).days):
        day = since + timedelta(days=number)
        totals = counted.get(day, NOTHING)
        days.append(DayReport(day=day, **{name: getattr(totals, name) for name in Totals.model_fields}))
    sums = {name: sum(getattr(day, name) for day in days) for name in Totals.model_fields}
    return Report(
        since=since,
        until=until,
        days=days,
        totals=Totals(**sums),
        due=_due(session),
        hosts=_hosts(session, start_of(since), start_of(until), now, half_life),
    )


def _due(session: Session) -> Due:
    query = select(CashOutRow.state, func.count(), func.sum(CashOutRow.micros)).where(CashOutRow.ended_at.is_(None))
    found = {state: (count, int(micros)) for state, count, micros in session.execute(query.group_by(CashOutRow.state))}
    requested, approved = (found.get(state, (0, 0)) for state in (CashOutState.REQUESTED, CashOutState.APPROVED))
    disputes = select(func.count()).where(Dispute.state == DisputeState.OPEN)
    return Due(
        requested=requested[0],
        requested_micros=requested[1],
        approved=approved[0],
        approved_micros=approved[1],
        open_disputes=session.scalar(disputes) or 0,
    )


def _hosts(session: Session, begin: datetime, end: datetime, now: datetime, half_life: timedelta) -> list[HostReport]:
    attempts = func.count()
    rows = session.execute(
        select(
            Attempt.node_id,
            attempts,
            func.count().filter(Attempt.verdict == Verdict.OK),
            func.count().filter(Attempt.verdict == Verdict.HOST),
            func.sum(Attempt.earned_micros),
        )
        .where(Attempt.own.is_(False), Attempt.finished_at >= begin, Attempt.finished_at < end)
        .group_by(Attempt.node_id)
        .order_by(attempts.desc(), Attempt.node_id)
        .limit(HOSTS_SHOWN)
    ).all()
    nodes = {one.id: one for one in session.scalars(select(Node).where(Node.id.in_([node_id for node_id, *_ in rows])))}
    emails = emails_of(session, {one.owner_id for one in nodes.values()})
    standings, refunded = list_standings(session, now, half_life), count_refunded(session, list(nodes))
    found = []
    for node_id, count, ok, lost, earned in rows:
        node, standing = nodes[node_id], standings.get(node_id)
        found.append(
            HostReport(
                node_id=node_id,
                name=node.name,
                owner_id=node.owner_id,
                owner_email=emails.get(node.owner_id),
                state=NodeState(node.state),
                reliability=standing.lower if standing is not None else 0.0,
                mean=standing.mean if standing is not None else 0.0,
                attempts=count,
                ok=ok,
                lost=lost,
                earned_micros=int(earned or 0),
                refunded_attempts=refunded.get(node_id, 0),
            )
        )
    return found
