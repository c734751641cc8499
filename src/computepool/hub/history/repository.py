from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum

import structlog
from sqlalchemy import delete, select, tuple_
from sqlalchemy.orm import Session

from computepool.hub.history.series import BadChunk, Series, bounded, decode, encode, merged
from computepool.hub.history.tables import HistoryChunk

log = structlog.get_logger()

HOUR_SECONDS = 3600
DAY_SECONDS = 24 * HOUR_SECONDS
COARSE_STEP = HOUR_SECONDS
"""Of what is older than `FINE_DAYS`."""
FINE_DAYS = 7
ATTEMPT_BUCKETS = 120
"""Of one attempt: with more of them, its step doubles."""
READ_LIMIT = 20_000
"""Chunks of one answer: two years of days and a week of hours are 900."""


class HistoryKind(StrEnum):
    """What a row of history is about, and how long it is."""

    NODE = "node"
    NODE_DAY = "node_day"
    POOL = "pool"
    POOL_DAY = "pool_day"
    ATTEMPT = "attempt"


COARSE = {HistoryKind.NODE: HistoryKind.NODE_DAY, HistoryKind.POOL: HistoryKind.POOL_DAY}
"""Into which rows hours are merged when they are old."""
FINEST = {HistoryKind.NODE: 900, HistoryKind.POOL: 60, HistoryKind.ATTEMPT: 10}
"""The step in seconds with which each kind is first stored."""


@dataclass(frozen=True)
class Delta:
    """Samples of one subject that are not stored yet."""

    kind: HistoryKind
    subject: str
    series: Series


def instant(second: int) -> datetime:
    return datetime.fromtimestamp(second, UTC)


def add_samples(session: Session, deltas: Sequence[Delta]) -> None:
    """Merge samples into the rows that they belong to. Each sample is given once."""
    for kind in dict.fromkeys(delta.kind for delta in deltas):
        some = [delta for delta in deltas if delta.kind is kind]
        if kind is HistoryKind.ATTEMPT:
            _add_to_attempts(session, {delta.subject: delta.series for delta in some})
        else:
            parts = {
                (delta.subject, start): part
                for delta in some
                for start, part in delta.series.split(HOUR_SECONDS).items()
            }
            _add(session, kind, parts)


def _add_to_attempts(session: Session, series: Mapping[str, Series]) -> None:
    wanted = (HistoryChunk.kind == HistoryKind.ATTEMPT, HistoryChunk.subject.in_(series))
    known = {row.subject: row for row in session.scalars(select(HistoryChunk).where(*wanted).limit(len(series)))}
    for subject, part in series.items():
        row = known.get(subject)
        whole = bounded(merged(part, _series_of(row)) if row is not None else part, ATTEMPT_BUCKETS)
        start = row.start_at if row is not None else instant(min(part.buckets) * part.step)
        _write(session, row, HistoryKind.ATTEMPT, subject, start, whole)


def _add(session: Session, kind: HistoryKind, parts: Mapping[tuple[str, int], Series]) -> None:
    """By subject and start."""
    wanted = (
        HistoryChunk.kind == kind,
        HistoryChunk.subject.in_({subject for subject, _ in parts}),
        HistoryChunk.start_at.in_({instant(start) for _, start in parts}),
    )
    rows = session.scalars(select(HistoryChunk).where(*wanted).limit(READ_LIMIT))
    known = {(row.subject, int(row.start_at.timestamp())): row for row in rows}
    for (subject, start), part in parts.items():
        row = known.get((subject, start))
        whole = merged(part, _series_of(row)) if row is not None else part
        _write(session, row, kind, subject, instant(start), whole)


def _write(
    session: Session, row: HistoryChunk | None, kind: HistoryKind, subject: str, start_at: datetime, series: Series
) -> None:
    if row is None:
        row = HistoryChunk(kind=kind, subject=subject, start_at=start_at)
        session.add(row)
    row.step_seconds, row.data = series.step, encode(series)


def read_series(
    session: Session, kind: HistoryKind, subject: str, since: datetime, until: datetime, step: int, known: Series
) -> Series:
    """What is stored of a subject in this time, with what is `known` beside it, in buckets of at least `step` seconds:
    of more where a part of it is stored more coarsely."""
    kinds = [kind, COARSE[kind]] if kind in COARSE else [kind]
    query = select(HistoryChunk).where(HistoryChunk.kind.in_(kinds), HistoryChunk.subject == subject)
    if kind in COARSE:
        query = query.where(HistoryChunk.start_at > since - timedelta(days=1), HistoryChunk.start_at < until)
    stored = [_series_of(row) for row in session.scalars(query.limit(READ_LIMIT))]
    whole = merged(known, *stored)
    return whole.at_step(-(-step // whole.step) * whole.step).between(since.timestamp(), until.timestamp())


def _series_of(row: HistoryChunk) -> Series:
    """A row that cannot be read counts as empty: it must not keep others from being written."""
    try:
        return decode(row.data)
    except BadChunk as error:
        log.warning("history.unreadable", kind=row.kind, subject=row.subject, reason=str(error))
        return Series(row.step_seconds)


def merge_old(session: Session, now: datetime, limit: int) -> int:
    """Hours of nodes and of the pool that are older than `FINE_DAYS` become days of wider buckets; how many rows."""
    day = int((now - timedelta(days=FINE_DAYS)).timestamp()) // DAY_SECONDS * DAY_SECONDS
    done = 0
    for kind, coarse in COARSE.items():
        old = (HistoryChunk.kind == kind, HistoryChunk.start_at < instant(day))
        rows = session.scalars(select(HistoryChunk).where(*old).order_by(HistoryChunk.start_at).limit(limit)).all()
        parts: dict[tuple[str, int], Series] = {}
        for row in rows:
            start = int(row.start_at.timestamp()) // DAY_SECONDS * DAY_SECONDS
            parts.setdefault((row.subject, start), Series(COARSE_STEP)).merge(_series_of(row))
            session.delete(row)
        if parts:
            _add(session, coarse, parts)
        done += len(rows)
    return done


def forget_usage(session: Session, attempt_ids: Sequence[str]) -> None:
    """Of attempts whose job was deleted."""
    session.execute(
        delete(HistoryChunk).where(HistoryChunk.kind == HistoryKind.ATTEMPT, HistoryChunk.subject.in_(attempt_ids))
    )


def prune_history(session: Session, before: datetime, limit: int) -> int:
    """Forget what is older; how many rows."""
    key = tuple_(HistoryChunk.kind, HistoryChunk.subject, HistoryChunk.start_at)
    columns = (HistoryChunk.kind, HistoryChunk.subject, HistoryChunk.start_at)
    old = select(*columns).where(HistoryChunk.kind.in_(list(HistoryKind)), HistoryChunk.start_at < before).limit(limit)
    found = session.execute(old).all()
    if found:
        session.execute(delete(HistoryChunk).where(key.in_([tuple(row) for row in found])))
    return len(found)
