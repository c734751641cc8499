"""An owner's entries, newest first. However long the history: one page costs a few looks at an index."""

import heapq
import itertools
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import ColumnElement, Select, select
from sqlalchemy.orm import Session

from computepool.hub.core.errors import Invalid
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.claims import owed_to
from computepool.hub.ledger.journal import balances
from computepool.hub.ledger.kinds import ENTRY_KINDS
from computepool.hub.ledger.tables import EntryRow, PostingRow
from computepool.hub.nodes.tables import Node
from computepool.hub.wallet.views import ENTRY_PREFIX, EntriesPage, EntryNames, EntryView, WalletView, entry_view


@dataclass(frozen=True, slots=True)
class Filter:
    """All of them have to hold; None is no wish."""

    kinds: tuple[str, ...] = ()
    job_id: str | None = None
    node_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    """Itself not included."""


def show_wallet(session: Session, owner_id: str) -> WalletView:
    has = balances(session, owner_id)
    return WalletView(
        owner_id=owner_id,
        spendable_micros=has[Kind.PROMOTIONAL] + has[Kind.AVAILABLE] + has[Kind.EARNINGS],
        available_micros=has[Kind.AVAILABLE],
        promotional_micros=has[Kind.PROMOTIONAL],
        earnings_micros=has[Kind.EARNINGS],
        held_micros=has[Kind.HELD],
        cashing_out_micros=has[Kind.CASHING_OUT],
        debt_micros=-has[Kind.DEBT],
        owed_to_you_micros=owed_to(session, owner_id),
    )


def page_entries(session: Session, owner_id: str, wanted: Filter, cursor: str | None, limit: int) -> EntriesPage:
    if unknown := sorted(set(wanted.kinds) - ENTRY_KINDS):
        raise Invalid(
            f"There is no kind of entry {unknown[0][:40]!r}.", hint=f"Kinds: {', '.join(sorted(ENTRY_KINDS))}."
        )
    before = _read_cursor(cursor) if cursor is not None else None
    ids = list(itertools.islice(_ids(session, owner_id, wanted, before, limit + 1), limit + 1))
    items = show_entries(session, owner_id, ids[:limit])
    return EntriesPage(items=items, next=items[-1].id if len(ids) > limit else None)


def show_entries(session: Session, owner_id: str, ids: list[int]) -> list[EntryView]:
    """As the owner sees them, in this order."""
    rows = {row.id: row for row in session.scalars(select(EntryRow).where(EntryRow.id.in_(ids)))}
    postings: dict[int, list[PostingRow]] = {entry_id: [] for entry_id in ids}
    query = select(PostingRow).where(PostingRow.entry_id.in_(ids)).order_by(PostingRow.entry_id, PostingRow.number)
    for one in session.scalars(query):
        postings[one.entry_id].append(one)
    names = _names(session, rows.values())
    return [entry_view(owner_id, rows[entry_id], postings[entry_id], names[entry_id]) for entry_id in ids]


def _names(session: Session, rows: Collection[EntryRow]) -> dict[int, EntryNames]:
    """By entry, what it is about: its job and its node."""
    jobs = select(Job.id, Job.owner_id, Job.name).where(Job.id.in_(sorted({row.job_id for row in rows if row.job_id})))
    attempts = sorted({row.attempt_id for row in rows if row.attempt_id})
    nodes = (
        select(Attempt.id, Node.id, Node.name).join(Node, Node.id == Attempt.node_id).where(Attempt.id.in_(attempts))
    )
    about_jobs = {job_id: (owner_id, name) for job_id, owner_id, name in session.execute(jobs)}
    about_nodes = {attempt_id: (node_id, name) for attempt_id, node_id, name in session.execute(nodes)}
    nothing = (None, None)
    return {
        row.id: EntryNames(*about_jobs.get(row.job_id or "", nothing), *about_nodes.get(row.attempt_id or "", nothing))
        for row in rows
    }


def _ids(session: Session, owner_id: str, wanted: Filter, before: int | None, limit: int) -> Iterator[int]:
    """Newest first, each once. Every pocket has an index of its own that is in order already; these are merged."""
    lists = [
        list(session.scalars(_query(side == name, wanted, before, limit)))
        for name in (account(owner_id, kind) for kind in Kind)
        for side in (PostingRow.source, PostingRow.destination)
    ]
    for entry_id, _ in itertools.groupby(heapq.merge(*lists, reverse=True)):
        yield entry_id


def _query(mine: ColumnElement[bool], wanted: Filter, before: int | None, limit: int) -> Select[int]:
    query = select(PostingRow.entry_id).where(mine)
    if before is not None:
        query = query.where(PostingRow.entry_id < before)
    conditions: list[ColumnElement[bool]] = []
    if wanted.kinds:
        conditions.append(EntryRow.kind.in_(wanted.kinds))
    if wanted.job_id is not None:
        conditions.append(EntryRow.job_id == wanted.job_id)
    if wanted.since is not None:
        conditions.append(EntryRow.created_at >= wanted.since)
    if wanted.until is not None:
        conditions.append(EntryRow.created_at < wanted.until)
    if wanted.node_id is not None:
        conditions.append(Attempt.node_id == wanted.node_id)
    if conditions:
        query = query.join(EntryRow, EntryRow.id == PostingRow.entry_id).where(*conditions)
    if wanted.node_id is not None:
        query = query.join(Attempt, Attempt.id == EntryRow.attempt_id)
    return query.distinct().order_by(PostingRow.entry_id.desc()).limit(limit)


def _read_cursor(cursor: str) -> int:
    number = cursor.removeprefix(ENTRY_PREFIX)
    if cursor == number or not number.isascii() or not number.isdigit() or len(number) > 18:
        raise Invalid("This cursor does not belong to this list.", hint="Send the `next` of the page before, as it is.")
    return int(number)
