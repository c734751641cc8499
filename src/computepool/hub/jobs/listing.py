"""Lists of jobs: filtered, in several orders, a page at a time, with what a row of a table shows.

A page takes the same few statements however long it is, and reads no whole spec. Each order and each filter by what few
jobs are has an index (`tables.Job`). A search by name reads the names of the newest jobs that the other filters leave,
and the page says from when on (`searched_since`).
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from sqlalchemy import ColumnElement, RowMapping, Select, TextClause, func, or_, select, tuple_
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.accounts.visibility import owned_by
from computepool.hub.core.http import Principal
from computepool.hub.core.ids import SLACK, first_id
from computepool.hub.core.paging import SortKey, count_rows, read_page
from computepool.hub.jobs.asked import in_words
from computepool.hub.jobs.repository import count_slices_by_state
from computepool.hub.jobs.tables import (
    ARE_OPEN,
    ARE_SIMULATED,
    ARE_UNSUCCESSFUL,
    OPEN,
    UNSUCCESSFUL,
    Attempt,
    Job,
    Slice,
)
from computepool.hub.jobs.views import JOB_COLUMNS, JobNode, JobPage, JobProgress, JobSummary, costs_of_replicas
from computepool.hub.nodes.tables import Node
from computepool.protocol.gpus import normalise_gpu_name
from computepool.protocol.states import JobState

SHOWN_NODES = 3
SEARCHED_LIMIT = 10_000
"""A search reads the names of so many jobs."""
ID_LETTERS = 26
ID_BEGINNING = re.compile(r"(?:job_)?([0-9a-z]{8,26})")
"""Of a job: its first letters tell the time to a second."""


class JobOrder(StrEnum):
    """What a list is sorted by; with `-` the largest or newest first."""

    CREATED = "created"
    NEWEST = "-created"
    FINISHED = "finished"
    """Of jobs that have ended."""
    LAST_FINISHED = "-finished"
    COST = "cost"
    DEAREST = "-cost"
    NAME = "name"
    NAME_BACKWARDS = "-name"


_KEYS: Mapping[str, SortKey] = {
    "created": Job.id,
    "finished": Job.finished_at,
    "cost": Job.cost_micros,
    "name": Job.name,
}


@dataclass(frozen=True, slots=True)
class JobFilter:
    """All that is given must hold."""

    states: Sequence[JobState] = ()
    search: str | None = None
    """A part of the name, or the beginning of an id."""
    owner_id: str | None = None
    mine: bool = False
    since: datetime | None = None
    until: datetime | None = None
    node: str | None = None
    """An id, or a name."""
    gpu: str | None = None
    simulated: bool | None = None
    retry_of: str | None = None


def list_jobs(
    session: Session, principal: Principal, wanted: JobFilter, order: JobOrder, cursor: str | None, limit: int
) -> JobPage:
    name, ascending = order.value.removeprefix("-"), not order.value.startswith("-")
    conditions, searched_since = _conditions(principal, wanted), None
    if name == "finished":
        conditions.append(Job.finished_at.is_not(None))
    if text := (wanted.search or "").strip().lower():
        found, searched_since = _search(session, conditions, text)
        # In another order SQLite would read all jobs in that order: so the few that were found come first.
        conditions = [*conditions, *found] if name == "created" else [_among([*conditions, *found])]
    query = select(Job.id).where(*conditions)
    keys = [Job.id] if name == "created" else [_KEYS[name], Job.id]
    ids, after = read_page(session, query, keys, cursor, limit, ascending=ascending, order=name)
    total = count_rows(session, query)
    return JobPage(items=_rows_of(session, ids), next=after, total=total, searched_since=searched_since)


def _conditions(principal: Principal, wanted: JobFilter) -> list[Any]:
    found: list[Any] = [owned_by(principal, Job.owner_id), Job.rerun_of.is_(None), Job.deleted_at.is_(None)]
    if wanted.mine:
        found.append(Job.owner_id.in_(sorted(principal.owner_ids)))
    if wanted.owner_id is not None:
        found.append(Job.owner_id == wanted.owner_id)
    everybodys = principal.is_admin and not wanted.mine and wanted.owner_id is None
    found += _of_states(frozenset(wanted.states), everybodys=everybodys)
    if wanted.since is not None:
        found += _since(wanted.since)
    if wanted.until is not None:
        found += [Job.created_at < wanted.until, Job.id < first_id("job", wanted.until, SLACK)]
    if wanted.node is not None:
        nodes = select(Node.id).where(or_(Node.id == wanted.node, Node.name == wanted.node))
        found.append(Job.id.in_(select(Attempt.job_id).where(Attempt.node_id.in_(nodes))))
    if wanted.gpu is not None:
        found.append(Job.gpu == normalise_gpu_name(wanted.gpu))
    if wanted.simulated is not None:
        found += _few(ARE_SIMULATED, everybodys=everybodys) if wanted.simulated else [Job.simulated.is_(False)]
    if wanted.retry_of is not None:
        found.append(Job.retry_of == wanted.retry_of)
    return found


def _since(instant: datetime) -> list[Any]:
    """By id too, which has an index."""
    return [Job.created_at >= instant, Job.id >= first_id("job", instant, -SLACK)]


def _of_states(states: frozenset[JobState], *, everybodys: bool) -> list[Any]:
    """With the words of an index where few jobs are in any of these states."""
    if not states:
        return []
    among = [Job.state.in_(sorted(states))]
    if states <= OPEN:
        return [*_few(ARE_OPEN, everybodys=everybodys), *among]
    return [ARE_UNSUCCESSFUL, *among] if states <= UNSUCCESSFUL else among


def _few(which: TextClause, *, everybodys: bool) -> list[Any]:
    """SQLite would read everybody's jobs in their order, down to the last, in search of few: so these come first."""
    return [_among([which])] if everybodys else [which]


def _among(conditions: Sequence[Any]) -> ColumnElement[bool]:
    return Job.id.in_(select(Job.id).where(*conditions).correlate(None))


def _search(session: Session, conditions: Sequence[Any], text: str) -> tuple[list[Any], datetime | None]:
    """What a job must fulfil besides `conditions`, and since when the searched ones were submitted; None: all."""
    if letters := ID_BEGINNING.fullmatch(text):
        least, most = (f"job_{letters[1].ljust(ID_LETTERS, filler)}" for filler in "0z")
        named = [_among([Job.id >= least, Job.id <= most])]
        if session.scalar(select(Job.id).where(*conditions, *named).limit(1)) is not None:
            return named, None
    newest = select(Job.created_at).where(*conditions).order_by(Job.id.desc())
    since = session.scalar(newest.offset(SEARCHED_LIMIT).limit(1))
    named = [func.lower(Job.name).contains(text, autoescape=True)]
    return (named, None) if since is None else ([*_since(since), *named], since)


def _rows_of(session: Session, ids: Sequence[str]) -> list[JobSummary]:
    if not ids:
        return []
    columns = (*JOB_COLUMNS, Job.role, Job.spec["resources"].label("asked"), User.name.label("owner_name"))
    query: Select[Any] = select(*columns).outerjoin(User, User.id == Job.owner_id).where(Job.id.in_(ids))
    found = {row["id"]: row for row in session.execute(query).mappings()}
    jobs = [found[job_id] for job_id in ids if job_id in found]
    counts, replicas, nodes = _counts_of(session, jobs), costs_of_replicas(session, jobs), _nodes_of(session, jobs)
    return [
        JobSummary.model_validate(
            {
                **job,
                "cost_micros": job["cost_micros"] + replicas.get(job["id"], 0),
                "resources": in_words(job["asked"]),
                "counts": counts[job["id"]],
                "progress": progress_of(job["slice_count"], counts[job["id"]]),
                "nodes": nodes.get(job["id"], []),
            }
        )
        for job in jobs
    ]


def _counts_of(session: Session, jobs: Sequence[RowMapping]) -> dict[str, dict[str, int]]:
    """A job that succeeded did so in all of its slices: these need not be counted."""
    done = {job["id"]: {JobState.SUCCEEDED.value: job["slice_count"]} for job in jobs if job["state"] == "succeeded"}
    return done | count_slices_by_state(session, [job["id"] for job in jobs if job["id"] not in done])


def progress_of(total: int, counts: Mapping[str, int]) -> JobProgress:
    return JobProgress(
        total=total,
        succeeded=counts.get(JobState.SUCCEEDED, 0),
        failed=counts.get(JobState.FAILED, 0) + counts.get(JobState.CANCELED, 0),
        running=counts.get(JobState.RUNNING, 0),
        waiting=counts.get(JobState.QUEUED, 0),
    )


def _nodes_of(session: Session, jobs: Sequence[RowMapping]) -> dict[str, list[JobNode]]:
    places = [
        (job["id"], index)
        for job in jobs
        for index in (job["slice_indices"] or range(job["slice_count"]))[:SHOWN_NODES]
    ]
    newest = (Attempt.job_id == Slice.job_id) & (Attempt.slice_index == Slice.index) & (Attempt.fence == Slice.fence)
    query = (
        select(Slice.job_id, Node.id, Node.name)
        .join(Attempt, newest)
        .join(Node, Node.id == Attempt.node_id)
        # By column too: SQLite finds no index for pairs, and would read all attempts.
        .where(Slice.job_id.in_({job_id for job_id, _ in places}), Slice.index.in_({index for _, index in places}))
        .where(tuple_(Slice.job_id, Slice.index).in_(places))
        .order_by(Slice.job_id, Slice.index)
    )
    found: dict[str, dict[str, JobNode]] = {}
    for job_id, node_id, name in session.execute(query):
        found.setdefault(job_id, {})[node_id] = JobNode(id=node_id, name=name)
    return {job_id: list(nodes.values()) for job_id, nodes in found.items()}
