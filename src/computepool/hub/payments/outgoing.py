"""Requests to the processor: written first, sent after the commit, and never taken for done or undone without knowing.

The processor keeps a key for a day. Within it, a request that is sent again under its key is done once. After it, the
hub looks for what the request made, and only if there is nothing it asks under a new key (a generation). A failure of
the processor's own may be its answer to that key from then on, so the same is done an hour after one.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import select, update
from sqlalchemy.orm import Session

from computepool.hub.core.context import Context
from computepool.hub.core.paging import read_list
from computepool.hub.ledger.freezing import is_frozen
from computepool.hub.payments.errors import RequestChanged
from computepool.hub.payments.provider import Request, RequestKind
from computepool.hub.payments.states import RequestState
from computepool.hub.payments.tables import WORDS_LIMIT, RequestRow

KEY_KEPT = timedelta(hours=23)
"""The processor says a day. An hour is left for slow networks and clocks."""
DOUBT = timedelta(hours=1)
"""After the processor's own failure: by then what was made of the request can be found."""
CLAIM = timedelta(minutes=2)
"""How long one process may be busy with a request before another takes it up."""
FIRST_WAIT = timedelta(seconds=5)
LONGEST_WAIT = timedelta(minutes=10)


@dataclass(frozen=True)
class Sending:
    """A request that is ours to send for two minutes."""

    id: str
    request: Request
    claimed_at: datetime
    is_again: bool
    """It may have been sent before: look for what it made first."""
    is_outdated: bool
    """Its key may be forgotten: only look, do not send."""

    @property
    def good_until(self) -> datetime:
        """A machine that slept meanwhile must not send what another one took up."""
        return self.claimed_at + CLAIM / 2


def ask(
    session: Session,
    context: Context,
    kind: RequestKind,
    key: str,
    owner_id: str,
    params: Mapping[str, Any],
    now: datetime,
) -> RequestRow:
    """Write the request down, in the transaction of what it is for. The same key is one request, for ever."""
    digest = hashlib.sha256(json.dumps([kind, owner_id, params], sort_keys=True).encode()).hexdigest()
    earlier = session.scalars(select(RequestRow).where(RequestRow.key == key)).one_or_none()
    if earlier is not None:
        if earlier.params_digest != digest:
            raise RequestChanged(f"The key {key} was already used for a different request to the processor.")
        return earlier
    row = RequestRow(
        id=context.new_id("preq"),
        key=key,
        kind=kind,
        owner_id=owner_id,
        params=dict(params),
        params_digest=digest,
        state=RequestState.WAITING,
        generation=1,
        tries=0,
        first_sent_at=None,
        is_doubtful=False,
        next_try_at=now,
        object_id=None,
        words="",
        created_at=now,
        ended_at=None,
    )
    session.add(row)
    session.flush()
    return row


def find_request(session: Session, key: str) -> RequestRow | None:
    return session.scalars(select(RequestRow).where(RequestRow.key == key)).one_or_none()


def list_due(session: Session, now: datetime, limit: int) -> list[str]:
    """Pay-outs that are frozen do not stand in the way of the others."""
    query = select(RequestRow.id).where(RequestRow.state == RequestState.WAITING, RequestRow.next_try_at <= now)
    if is_frozen(session):
        query = query.where(RequestRow.kind != RequestKind.PAY_OUT)
    return list(session.scalars(query.order_by(RequestRow.next_try_at).limit(limit)))


def claim(session: Session, request_id: str, now: datetime, hub_id: str) -> Sending | None:
    """The right to send it, written down before it is used. None: done, or somebody is at it."""
    table = RequestRow
    if is_frozen(session) and session.scalar(select(table.kind).where(table.id == request_id)) == RequestKind.PAY_OUT:
        return None  # it was approved before the ledger stopped adding up
    mine = (
        update(table)
        .where(table.id == request_id, table.state == RequestState.WAITING, table.next_try_at <= now)
        .values(next_try_at=now + CLAIM, tries=table.tries + 1)
        .returning(table.id)
    )
    if session.execute(mine).first() is None:
        return None
    row = session.get_one(RequestRow, request_id, populate_existing=True)
    outdated = row.first_sent_at is not None and is_outdated(row.first_sent_at, row.is_doubtful, now)
    if row.first_sent_at is None:
        row.first_sent_at = now
    request = Request(
        row.key,
        f"{hub_id}/{row.key}/{row.generation}",
        RequestKind(row.kind),
        row.owner_id,
        row.params,
        row.created_at,
    )
    return Sending(row.id, request, now, is_again=row.tries > 1, is_outdated=outdated)


def is_outdated(first_sent_at: datetime, doubtful: bool, now: datetime) -> bool:
    return now - first_sent_at >= (DOUBT if doubtful else KEY_KEPT)


def renew(session: Session, sending: Sending, now: datetime) -> bool:
    """Nothing was found of it: from now on it has a key that the processor never saw. Whether it is still ours."""
    table = RequestRow
    again = (
        update(table)
        .where(
            table.id == sending.id,
            table.state == RequestState.WAITING,
            table.next_try_at == sending.claimed_at + CLAIM,
        )
        .values(generation=table.generation + 1, first_sent_at=None, is_doubtful=False, next_try_at=now)
        .returning(table.id)
    )
    return session.execute(again).first() is not None


def postpone(session: Session, sending: Sending, words: str, is_saved: bool, now: datetime) -> None:
    row = session.get_one(RequestRow, sending.id)
    if row.state == RequestState.WAITING:
        row.next_try_at = now + wait_after(row.tries)
        row.words = words[:WORDS_LIMIT]
        row.is_doubtful = row.is_doubtful or is_saved


def wait_after(tries: int) -> timedelta:
    return min(FIRST_WAIT * (1 << min(tries, 10)), LONGEST_WAIT)


def end(session: Session, request_id: str, state: RequestState, now: datetime, *, object_id: str | None = None) -> bool:
    """Its one end. False: it had one."""
    table = RequestRow
    done = (
        update(table)
        .where(table.id == request_id, table.state == RequestState.WAITING)
        .values(state=state, object_id=object_id, ended_at=now)
        .returning(table.id)
    )
    return session.execute(done).first() is not None


def drop(session: Session, key: str, words: str, now: datetime) -> bool:
    """End one that nobody ever claimed, so that nobody will. False: it may have been sent, or has had its end.

    One that was renewed has no `first_sent_at` either, and was sent all the same: its tries say so.
    """
    table = RequestRow
    unsent = (table.state == RequestState.WAITING, table.first_sent_at.is_(None), table.tries == 0)
    dropped = (
        update(table)
        .where(table.key == key, *unsent)
        .values(state=RequestState.DROPPED, words=words[:WORDS_LIMIT], ended_at=now)
        .returning(table.id)
    )
    return session.execute(dropped).first() is not None


def end_if_waiting(session: Session, request_id: str, object_id: str, now: datetime) -> None:
    """Most facts end their request themselves; of some, such as a refund, the fact is about another object."""
    end(session, request_id, RequestState.DONE, now, object_id=object_id)


def list_requests(
    session: Session,
    state: RequestState | None,
    order: str,
    cursor: str | None,
    limit: int,
    *,
    kind: RequestKind | None = None,
    owner_id: str | None = None,
) -> tuple[list[RequestRow], str | None, int | None]:
    """A page, the cursor of the next one, and how many there are in all."""
    query, row = select(RequestRow), RequestRow
    for column, wanted in ((row.state, state), (row.kind, kind), (row.owner_id, owner_id)):
        if wanted is not None:
            query = query.where(column == wanted)
    return read_list(session, query, [row.id], cursor, limit, order)
