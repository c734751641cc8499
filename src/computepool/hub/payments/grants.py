"""Credits by hand: an operator took money elsewhere, gives a present, or takes credits back."""

from datetime import datetime

from sqlalchemy import select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Conflict
from computepool.hub.core.records import record
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balances, post, postings_of
from computepool.hub.ledger.tables import EntryRow
from computepool.hub.payments.moving import paid_in
from computepool.protocol.units import format_credits

DONE = {"grant": "credits.granted", "withdrawal": "credits.withdrawn"}


class NotThere(Conflict):
    """The same as the ledger's own refusal, in words for the operator who takes, not for the one who pays."""

    code = "insufficient_credits"

    def __init__(self, micros: int, has: int, *, promotional: bool) -> None:
        super().__init__(
            f"{format_credits(micros)} credits are more than the {format_credits(has)} that can be taken.",
            hint="Only presents that are neither spent nor held."
            if promotional
            else "Only what was bought, or granted for money, and is neither spent nor held; presents: --promotional.",
        )


def by_hand(
    session: Session,
    *,
    giving: bool,
    grant_id: str,
    owner_id: str,
    micros: int,
    note: str,
    actor: str,
    now: datetime,
    promotional: bool = False,
) -> int:
    """Once for each id. How much of it filled a debt. Taking raises NotThere if they are spent.

    What is given for money fills debt first, as top-ups do. A present does not: it would set as much of later earnings
    free to be cashed out, and so become money.
    """
    kind, debt = "grant" if giving else "withdrawal", account(owner_id, Kind.DEBT)
    key = f"{kind}/{grant_id}"
    entry_id = session.scalar(select(EntryRow.id).where(EntryRow.key == key))
    if entry_id is None:
        pool = platform(Platform.SUBSIDY if promotional else Platform.CLEARING)
        sort = Kind.PROMOTIONAL if promotional else Kind.AVAILABLE
        pocket = account(owner_id, sort)
        if giving and not promotional:
            postings = paid_in(session, owner_id, micros)
        else:
            if not giving and micros > (has := balances(session, owner_id)[sort]):
                raise NotThere(micros, has, promotional=promotional)
            postings = (Posting(pool, pocket, micros) if giving else Posting(pocket, pool, micros),)
        entry_id = post(session, Entry(key, kind, postings, actor=actor, note=note), now).id
        about = {kind: grant_id, "micros": micros, "note": note, "promotional": promotional}
        record(session, DONE[kind], owner_id, now, actor=actor, topics=(f"wallet/{owner_id}",), **about)
    return sum(one.micros for one in postings_of(session, entry_id) if one.destination == debt)
