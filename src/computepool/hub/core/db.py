"""The one place that runs transactions.

A transaction is a plain function of a session. `await db.run(fn, …)` takes it off the event loop in one hop and
returns once its effects are durable; `await db.read(fn, …)` is for functions that only look. SQLite has a single
writer, so functions that are waiting share a commit, a savepoint each: one that raises undoes only its own work.
PostgreSQL has a small pool of threads instead.
"""

import asyncio
import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

import structlog
from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.orm import Session

from computepool.hub.core.files import keep_private, make_private
from computepool.hub.core.records import CommitOrder, Event, Records, take_records, write_records

P = ParamSpec("P")
R = TypeVar("R")
Waiting = tuple[Callable[[Session], Any], asyncio.Future[Any]]
Answer = tuple[asyncio.Future[Any], Any, Exception | None]
OnCommit = Callable[[list[Event]], None]
"""Called after a commit, from the thread that made it, with the events that are now true."""

GROUP_LIMIT = 64
"""Most transactions that share one commit: bounds how long the first of them waits."""
READERS = 4
POSTGRES_THREADS = 8
BUSY_TIMEOUT_MS = 5_000
LONGEST_PAUSE_SECONDS = 0.02
POSTGRES_TRIES = POSTGRES_THREADS + 1
"""Of a transaction that others got in the way of, or that found a dead connection: all in the pool may be."""
SQLITE_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",  # with NORMAL a power cut takes acknowledged commits back: tests/hub/core/test_power_cuts.py
    "fullfsync=ON",  # on macOS a plain fsync stops at the drive's cache; elsewhere this changes nothing
    "wal_autocheckpoint=8000",  # 32 MB: pages that every commit changes go back to the file less often
    "foreign_keys=ON",
    f"busy_timeout={BUSY_TIMEOUT_MS}",
)

log = structlog.get_logger()


class Undone(Exception):
    """The database took back the whole transaction by itself, as SQLite does when the disk is full."""


class OutcomeUnknown(Exception):
    """The connection was lost while a commit was under way: it may have happened, or not."""

    hint = "Start it again once the database answers: it then reads what is true. computepool hub doctor"

    def __init__(self) -> None:
        super().__init__("The hub stopped: its database was lost in the middle of a commit.")


OnDoubt = Callable[[OutcomeUnknown], None]
"""Called from the thread that met it. What the process has in memory may not be true from here on: it has to end."""


class Database(Protocol):
    engine: Engine
    on_commit: OnCommit
    on_settled: OnCommit
    """Called with the events of the outbox in the order of their numbers, also where commits overtake each other."""
    on_doubt: OnDoubt

    async def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def read(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    def close(self) -> None: ...


def open_database(url: str) -> Database:
    engine = durable_engine(url)
    return SqliteDatabase(engine) if engine.dialect.name == "sqlite" else PostgresDatabase(engine)


def in_transaction(connection: Connection, fn: Callable[[Session], R]) -> tuple[R, Records]:
    """Run one function inside the connection's transaction, in a savepoint of its own. Its records are still to be
    written."""
    with Session(connection, join_transaction_mode="create_savepoint", expire_on_commit=False) as session:
        with session.begin():
            result = fn(session)
        return result, take_records(session)


class SqliteDatabase:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.on_commit: OnCommit = _nobody
        self.on_settled: OnCommit = _nobody
        self.on_doubt: OnDoubt = _nobody
        """Never: a file does not keep its answer to itself."""
        self._connection: Connection | None = None
        self._closed = False
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._writer = threading.Thread(target=self._write, name="sqlite-writer", daemon=True)
        self._writer.start()

    async def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        if self._closed:
            raise RuntimeError("the database is closed")
        done: asyncio.Future[R] = asyncio.get_running_loop().create_future()
        self._queue.put((lambda session: fn(session, *args, **kwargs), done))
        return await done

    async def read(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(
            self._readers.submit(_look, self.engine, lambda session: fn(session, *args, **kwargs))
        )

    def close(self) -> None:
        """Finish what is waiting, then stop."""
        self._closed = True
        self._queue.put(None)
        self._writer.join()
        self._readers.shutdown()
        self.engine.dispose()

    def _write(self) -> None:
        try:
            while group := self._next_group():
                # From here on nobody can take a request back; whoever already did is left out.
                self._commit_together([item for item in group if not item[1].cancelled()])
        finally:
            self._drop_connection()

    def _drop_connection(self) -> None:
        """After a failure the next group starts on a fresh one, whatever state this one was left in."""
        if self._connection is not None:
            self._connection.invalidate()
            self._connection.close()
            self._connection = None

    def _next_group(self) -> list[Waiting]:
        """Wait for the first, then take those already queued behind it. Empty once closed."""
        group: list[Waiting] = []
        while len(group) < GROUP_LIMIT and not (group and self._queue.empty()):
            item = self._queue.get()
            if item is None:
                self._queue.put(None)  # found again when this group is done
                break
            group.append(item)
        return group

    def _commit_together(self, group: list[Waiting]) -> None:
        answers: list[Answer] = []
        records = Records()
        try:
            connection = self._connection = self._connection or self.engine.connect()
            with connection.begin():
                for fn, done in group:
                    try:
                        result, caused = in_transaction(connection, fn)
                        records.add(caused)
                        answers.append((done, result, None))
                    except Exception as error:
                        _refuse_to_go_on_alone(connection, error)
                        answers.append((done, None, error))
                records.write(connection)
        except Exception as error:
            answers = [(done, None, error) for _, done in group]
            records = Records()
            self._drop_connection()
        _give(answers)  # only now: an answer before the commit would be a lie
        _tell(self.on_commit, records.events)
        _tell(self.on_settled, [event for event in records.events if event.id is not None])


def _give(answers: list[Answer]) -> None:
    """All of a group at once: to wake an event loop costs as much as a statement does."""
    by_loop: dict[asyncio.AbstractEventLoop, list[Answer]] = {}
    for answer in answers:
        by_loop.setdefault(answer[0].get_loop(), []).append(answer)
    for loop, its in by_loop.items():
        with contextlib.suppress(RuntimeError):  # it is closed: nobody waits any more
            loop.call_soon_threadsafe(_answer, its)


def _answer(answers: list[Answer]) -> None:
    for done, result, error in answers:
        if done.done():
            continue  # whoever asked went away
        if error is not None:
            done.set_exception(error)
        else:
            done.set_result(result)


def _refuse_to_go_on_alone(connection: Connection, error: Exception) -> None:
    """Usually a failure undoes one savepoint. If it undid all of them, those before it are gone as well.

    A commit would then succeed, with nothing in it.
    """
    if not connection.connection.driver_connection.in_transaction:  # type: ignore[union-attr]  # open, so it is there
        while error.__context__ is not None:  # the failed return to the savepoint hides the cause
            error = error.__context__  # type: ignore[assignment]  # only exceptions of the driver are in this chain
        raise Undone(f"nothing was saved: {error}") from error


class PostgresDatabase:
    def __init__(self, engine: Engine) -> None:
        self.engine = engine
        self.on_commit: OnCommit = _nobody
        self.on_settled: OnCommit = _nobody
        self.on_doubt: OnDoubt = _nobody
        self._doubt: OutcomeUnknown | None = None
        self._order = CommitOrder()
        self._threads = ThreadPoolExecutor(POSTGRES_THREADS, thread_name_prefix="postgres")

    async def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(
            self._threads.submit(self._commit, lambda session: fn(session, *args, **kwargs))
        )

    async def read(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(self._threads.submit(self._look, lambda session: fn(session, *args, **kwargs)))

    def close(self) -> None:
        self._threads.shutdown()
        self.engine.dispose()

    def _look(self, fn: Callable[[Session], R]) -> R:
        for tries_left in reversed(range(POSTGRES_TRIES)):
            try:
                return _look(self.engine, fn)
            except DBAPIError as error:
                if not tries_left or not _may_go_better(error):
                    raise
        raise AssertionError("unreachable")

    def _commit(self, fn: Callable[[Session], R]) -> R:
        for tries_left in reversed(range(POSTGRES_TRIES)):
            if self._doubt is not None:
                raise self._doubt
            committing = False
            ticket: object | None = None
            try:
                with Session(self.engine, expire_on_commit=False) as session, session.begin():
                    result = fn(session)
                    session.flush()
                    ticket = self._order.begin()
                    events = write_records(session)
                    committing = True
            except Exception as error:
                if committing and isinstance(error, DBAPIError) and error.connection_invalidated:
                    raise self._begin_to_doubt() from error
                if ticket is not None:
                    self._settle(ticket, [])
                if not isinstance(error, DBAPIError) or not tries_left or not _may_go_better(error):
                    raise
                time.sleep(secrets.randbelow(1000) * LONGEST_PAUSE_SECONDS / 1000)  # or the same two meet again
                continue  # nothing of ours is left behind
            _tell(self.on_commit, events)
            self._settle(ticket, events)
            return result
        raise AssertionError("unreachable")

    def _settle(self, ticket: object, committed: list[Event]) -> None:
        self._order.end(ticket, committed, lambda settled: _tell(self.on_settled, settled))

    def _begin_to_doubt(self) -> OutcomeUnknown:
        """What was to be true after the commit is in nobody's memory, and may be in the database. Nothing that is
        decided from here on could be trusted, so nothing is written any more."""
        self._doubt = OutcomeUnknown()
        log.error("database.outcome_unknown")
        self.on_doubt(self._doubt)
        return self._doubt


_TRY_AGAIN = frozenset({"40001", "40P01"})
"""serialization_failure, deadlock_detected"""


def _may_go_better(error: DBAPIError) -> bool:
    """Two transactions got in each other's way; or the connection was a dead one, as all are that were open when the
    server was started anew. To ask each first whether it lives would be a round trip more for every transaction."""
    return error.connection_invalidated or getattr(error.orig, "sqlstate", None) in _TRY_AGAIN


def durable_engine(url: str) -> Engine:
    """Connections on which a commit is safe once it returns."""
    parsed = make_url(url)
    return durable_sqlite_engine(parsed) if parsed.get_backend_name() == "sqlite" else durable_postgres_engine(parsed)


def _make_private(database: str | None) -> None:
    """Its journals too: SQLite makes them like the database, but those of an older hub are there already."""
    if database in (None, "", ":memory:"):
        return
    path = Path(str(database))
    with contextlib.suppress(FileNotFoundError):  # the folder is not there: SQLite says it better
        make_private(path)
    for name in ("-wal", "-shm"):
        keep_private(path.with_name(path.name + name))


def durable_sqlite_engine(url: URL, **options: Any) -> Engine:
    engine = create_engine(url, connect_args={"check_same_thread": False}, **options)

    @event.listens_for(engine, "do_connect")
    def before(*_: Any) -> None:
        _make_private(url.database)

    @event.listens_for(engine, "connect")
    def prepare(dbapi_connection: Any, _record: Any) -> None:
        dbapi_connection.isolation_level = None  # the driver must not begin transactions behind our back
        for pragma in SQLITE_PRAGMAS:
            dbapi_connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        mode = "DEFERRED" if connection.get_execution_options().get("only_looks") else "IMMEDIATE"
        connection.exec_driver_sql(f"BEGIN {mode}")

    _straighten_savepoints(engine.dialect)
    return engine


def _straighten_savepoints(dialect: Any) -> None:
    """Every function of a group has a savepoint. As a statement like any other it costs twice what an insert does."""

    def to_the_driver(words: str) -> Callable[[Connection, str], None]:
        def act(connection: Connection, name: str) -> None:
            driver: Any = connection.connection.driver_connection
            driver.execute(f"{words} {name}")

        return act

    dialect.do_savepoint = to_the_driver("SAVEPOINT")
    dialect.do_rollback_to_savepoint = to_the_driver("ROLLBACK TO")
    dialect.do_release_savepoint = to_the_driver("RELEASE")


def durable_postgres_engine(url: URL) -> Engine:
    engine = create_engine(url, pool_size=POSTGRES_THREADS, max_overflow=0)

    @event.listens_for(engine, "connect")
    def prepare(dbapi_connection: Any, _record: Any) -> None:
        # A server may be set up to answer before the write is safe. Stronger settings than `on` are left alone.
        dbapi_connection.execute(
            "SELECT set_config('synchronous_commit', 'on', false) WHERE current_setting('synchronous_commit') = 'off'"
        )
        dbapi_connection.commit()

    return engine


def _look(engine: Engine, fn: Callable[[Session], R]) -> R:
    with (
        engine.connect().execution_options(only_looks=True) as connection,
        Session(connection, expire_on_commit=False) as session,
    ):
        return fn(session)


def _tell(on_commit: OnCommit, events: list[Event]) -> None:
    """What is committed stays so, whatever the listener makes of it."""
    if events:
        try:
            on_commit(events)
        except Exception:
            log.exception("database.listener_failed", events=len(events))


def _nobody(_news: object) -> None:
    pass
