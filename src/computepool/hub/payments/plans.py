"""Charges that nobody asks for each time: below a threshold, or what a job lacks. Never above the monthly limit."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.ledger.holds import spendable
from computepool.hub.payments.amounts import BadAmount, Units
from computepool.hub.payments.profiles import Plan, stop_plan
from computepool.hub.payments.states import UNDER_WAY
from computepool.hub.payments.tables import ProfileRow, RequestRow, TopUpRow
from computepool.hub.payments.top_ups import ALONE, Way, Wish, charged_since, start_top_up
from computepool.protocol.units import spell_credits

AT_ONCE = 200


@dataclass(frozen=True)
class Lacking:
    """What waiting slices lack: that of the cheapest, and of all of them."""

    least_micros: int = 0
    most_micros: int = 0


def list_paying_by_job(session: Session, after: str) -> tuple[list[str], str]:
    """Whose card may be charged for what a job lacks, of the next so many owners; and where to go on."""
    found = [one.owner_id for one in _next(session, Plan.PER_JOB, after)]
    return found, found[-1] if len(found) == AT_ONCE else ""


def list_below(session: Session, after: str) -> tuple[list[str], str]:
    """Who wants a charge by now, of the next so many owners; and where to go on."""
    looked_at = _next(session, Plan.AUTOMATIC, after)
    below = [one.owner_id for one in looked_at if spendable(session, one.owner_id).total < one.below_micros]
    return below, looked_at[-1].owner_id if len(looked_at) == AT_ONCE else ""


def _next(session: Session, plan: Plan, after: str) -> Sequence[ProfileRow]:
    table = ProfileRow
    wanting = (
        select(table)
        .where(table.plan == plan, table.method_id.is_not(None), table.stopped.is_(None))
        .where(table.owner_id > after)
    )
    return session.scalars(wanting.order_by(table.owner_id).limit(AT_ONCE)).all()


def charge_below(session: Session, context: Context, units: Units, owner_id: str, return_url: str) -> RequestRow | None:
    """Nothing happens if they changed their mind, or have enough by now."""
    profile = session.get(ProfileRow, owner_id)
    if profile is None or profile.plan != Plan.AUTOMATIC or profile.method_id is None or profile.stopped is not None:
        return None
    if spendable(session, owner_id).total >= profile.below_micros:
        return None
    return _charge(session, context, units, profile, profile.amount_micros, "automatic", return_url)


def cover(
    session: Session, context: Context, units: Units, owner_id: str, lacking: Lacking, return_url: str
) -> RequestRow | None:
    """What jobs lack, for those who pay by the job: of all that wait, or of one if the month has no room for more.
    None: it is on its way already, or it cannot be."""
    profile = session.get(ProfileRow, owner_id)
    if profile is None or profile.plan != Plan.PER_JOB or profile.method_id is None or profile.stopped is not None:
        return None
    room = profile.monthly_micros - charged_since(session, owner_id, month_of(context.now()))
    wanted = [max(units.rounded_up(one), profile.amount_micros) for one in (lacking.most_micros, lacking.least_micros)]
    micros = next((one for one in wanted if one <= room), wanted[-1])
    return _charge(session, context, units, profile, micros, "per_job", return_url)


def month_of(now: datetime) -> datetime:
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def _charge(
    session: Session, context: Context, units: Units, profile: ProfileRow, micros: int, way: Way, return_url: str
) -> RequestRow | None:
    now, owner_id = context.now(), profile.owner_id
    session.get_one(ProfileRow, owner_id, with_for_update=True)  # two hubs must not both find nothing under way
    under_way = select(TopUpRow.id).where(
        TopUpRow.owner_id == owner_id, TopUpRow.way.in_(ALONE), TopUpRow.state.in_(UNDER_WAY)
    )
    if session.scalars(under_way.limit(1)).first() is not None:
        return None
    if charged_since(session, owner_id, month_of(now)) + micros > profile.monthly_micros:
        words = f"Your monthly limit of {spell_credits(profile.monthly_micros)} is used up."
        stop_plan(session, owner_id, words, now)
        return None
    wish = Wish(context.new_id("topup"), owner_id, micros, way, return_url)
    try:
        return start_top_up(session, context, units, wish, now)
    except BadAmount as error:
        stop_plan(session, owner_id, error.message, now)
        return None
