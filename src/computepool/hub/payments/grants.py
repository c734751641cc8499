"""Credits by hand: an operator took money elsewhere, gives promotional credit, or takes credits back."""

from datetime import datetime, timedelta

from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Conflict
from computepool.hub.core.owners import Owner
from computepool.hub.core.records import record
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balances, post, postings_of
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.ledger.timeline import first_entry_since
from computepool.hub.payments.moving import paid_in
from computepool.protocol.units import MICROS_PER_CREDIT, format_credits, spell_credits

REPEATED_WITHIN = timedelta(minutes=10)
DONE = {"grant": "credits.granted", "withdrawal": "credits.withdrawn"}


class NotThere(Conflict):
    """The same as the ledger's own refusal, in words for the operator who takes, not for the one who pays."""

    code = "insufficient_credits"

    def __init__(self, micros: int, has: int, *, promotional: bool) -> None:
        super().__init__(
            f"{spell_credits(micros)} is more than the {format_credits(has)} that you can withdraw.",
            hint="You can withdraw only promotional credit that is neither spent nor held."
            if promotional
            else "You can withdraw only bought or granted credits that are neither spent nor held. "
            "For promotional credit use --promotional.",
        )


class DoneBefore(Conflict):
    """Somebody may have typed a command twice."""

    code = "repeated"

    def __init__(self, micros: int, whose: str, at: datetime, now: datetime, *, giving: bool) -> None:
        ago = max(1, round((now - at).total_seconds()))
        done = f"given to {whose}" if giving else f"taken from {whose}"
        was = "was" if micros == MICROS_PER_CREDIT else "were"
        super().__init__(
            f"{spell_credits(micros)} with this note {was} {done} {about_ago(ago)} ago.",
            hint="To do it again anyway, use --again or another note.",
        )


def about_ago(seconds: int) -> str:
    number, word = (seconds, "second") if seconds < 60 else (seconds // 60, "minute")
    return f"{number} {word}" + ("" if number == 1 else "s")


def refuse_repeated(
    session: Session,
    *,
    giving: bool,
    owner_id: str,
    micros: int,
    note: str,
    whose: str,
    now: datetime,
    promotional: bool = False,
) -> None:
    """Raise DoneBefore if the same was done within `REPEATED_WITHIN`."""
    _one_at_a_time(session, owner_id)
    pool, since = _pool(promotional), now - REPEATED_WITHIN
    ours, theirs = PostingRow.source, PostingRow.destination
    if not giving:
        ours, theirs = theirs, ours
    pockets = [account(owner_id, kind) for kind in (Kind.AVAILABLE, Kind.PROMOTIONAL, Kind.DEBT)]
    same = (
        select(EntryRow.created_at)
        .join(PostingRow, PostingRow.entry_id == EntryRow.id)
        .where(EntryRow.id >= first_entry_since(session, since), EntryRow.created_at > since)
        .where(EntryRow.kind == ("grant" if giving else "withdrawal"), EntryRow.note == note)
        .where(ours == pool, theirs.in_(pockets))
        .group_by(EntryRow.id, EntryRow.created_at)
        .having(func.sum(PostingRow.micros) == micros)
        .order_by(EntryRow.id.desc())
        .limit(1)
    )
    at = session.scalar(same)
    if at is not None:
        raise DoneBefore(micros, whose, at, now, giving=giving)


def _one_at_a_time(session: Session, owner_id: str) -> None:
    """Whoever else gives or takes by hand at this moment is waited for.

    By the owner's row, since somebody who never had a credit has no balance to lock; and so that other rows may still
    refer to it meanwhile.
    """
    session.execute(select(Owner.id).where(Owner.id == owner_id).with_for_update(key_share=True))


def _pool(promotional: bool) -> str:
    return platform(Platform.SUBSIDY if promotional else Platform.CLEARING)


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

    What is given for money fills debt first, as top-ups do. Promotional credit does not: it would free as
    much of later earnings to be cashed out, and so become money.
    """
    kind, debt = "grant" if giving else "withdrawal", account(owner_id, Kind.DEBT)
    key = f"{kind}/{grant_id}"
    _one_at_a_time(session, owner_id)
    entry_id = session.scalar(select(EntryRow.id).where(EntryRow.key == key))
    if entry_id is None:
        pool = _pool(promotional)
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
