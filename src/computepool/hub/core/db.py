"""The one place that runs transactions.

A transaction is a plain function of a session. `await db.run(fn, …)` takes it off the event loop in one hop and
returns once its effects are durable; `await db.read(fn, …)` is for functions that only look. SQLite has a single
writer, so functions that are waiting share a commit, a savepoint each: one that raises undoes only its own work.
PostgreSQL has a small pool of threads instead.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import URL, Connection, Engine, create_engine, event, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session

from computepool.hub.core.records import Event, write_records

P = ParamSpec("P")
R = TypeVar("R")
Waiting = tuple[Callable[[Session], Any], Future[Any]]
OnCommit = Callable[[list[Event]], None]
"""Called after a commit, from the thread that made it, with the events that are now true."""

GROUP_LIMIT = 64
"""Most transactions that share one commit: bounds how long the first of them waits."""
READERS = 4
POSTGRES_THREADS = 8
BUSY_TIMEOUT_MS = 5_000
SERIALIZATION_RETRIES = 5


class Database(Protocol):
    engine: Engine
    on_commit: OnCommit

    async def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    async def read(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R: ...

    def close(self) -> None: ...


def open_database(url: str) -> Database:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        return SqliteDatabase(parsed)
    return PostgresDatabase(parsed)


def in_transaction(connection: Connection, fn: Callable[[Session], R]) -> tuple[R, list[Event]]:
    """Run one function inside the connection's transaction, in a savepoint of its own."""
    with Session(connection, join_transaction_mode="create_savepoint", expire_on_commit=False) as session:
        with session.begin():
            result = fn(session)
            events = write_records(session)
        return result, events


class SqliteDatabase:
    def __init__(self, url: URL) -> None:
        self.engine = durable_sqlite_engine(url)
        self.on_commit: OnCommit = _nobody
        self._queue: queue.SimpleQueue[Waiting | None] = queue.SimpleQueue()
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="sqlite-reader")
        self._writer = threading.Thread(target=self._write, name="sqlite-writer", daemon=True)
        self._writer.start()

    async def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        done: Future[R] = Future()
        self._queue.put((lambda session: fn(session, *args, **kwargs), done))
        return await asyncio.wrap_future(done)

    async def read(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(
            self._readers.submit(_look, self.engine, lambda session: fn(session, *args, **kwargs))
        )

    def close(self) -> None:
        """Finish what is waiting, then stop."""
        self._queue.put(None)
        self._writer.join()
        self._readers.shutdown()
        self.engine.dispose()

    def _write(self) -> None:
        with self.engine.connect() as connection:
            while group := self._next_group():
                self._commit_together(connection, group)

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

    def _commit_together(self, connection: Connection, group: list[Waiting]) -> None:
        answers: list[Callable[[], None]] = []
        events: list[Event] = []
        try:
            with connection.begin():
                for fn, done in group:
                    if not done.set_running_or_notify_cancel():
                        continue  # whoever asked has gone away before it began
                    try:
                        result, caused = in_transaction(connection, fn)
                        events += caused
                        answers.append(partial(done.set_result, result))
                    except Exception as error:
                        answers.append(partial(done.set_exception, error))
        except Exception as error:
            answers = [partial(done.set_exception, error) for _, done in group if not done.cancelled()]
            events = []
        for answer in answers:  # only now: an answer before the commit would be a lie
            answer()
        if events:
            self.on_commit(events)


class PostgresDatabase:
    def __init__(self, url: URL) -> None:
        self.engine = create_engine(url, pool_size=POSTGRES_THREADS, max_overflow=0, pool_pre_ping=True)
        self.on_commit: OnCommit = _nobody
        self._threads = ThreadPoolExecutor(POSTGRES_THREADS, thread_name_prefix="postgres")

    async def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(
            self._threads.submit(self._commit, lambda session: fn(session, *args, **kwargs))
        )

    async def read(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        return await asyncio.wrap_future(
            self._threads.submit(_look, self.engine, lambda session: fn(session, *args, **kwargs))
        )

    def close(self) -> None:
        self._threads.shutdown()
        self.engine.dispose()

    def _commit(self, fn: Callable[[Session], R]) -> R:
        for tries_left in reversed(range(SERIALIZATION_RETRIES)):
            try:
                with Session(self.engine, expire_on_commit=False) as session, session.begin():
                    result = fn(session)
                    events = write_records(session)
            except OperationalError as error:
                if tries_left and getattr(error.orig, "sqlstate", None) in _TRY_AGAIN:
                    continue  # two transactions got in each other's way; nothing of ours is left behind
                raise
            if events:
                self.on_commit(events)
            return result
        raise AssertionError("unreachable")


_TRY_AGAIN = frozenset({"40001", "40P01"})
"""serialization_failure, deadlock_detected"""


def durable_sqlite_engine(url: URL) -> Engine:
    engine = create_engine(url, connect_args={"check_same_thread": False})

    @event.listens_for(engine, "connect")
    def prepare(dbapi_connection: Any, _record: Any) -> None:
        dbapi_connection.isolation_level = None  # the driver must not begin transactions behind our back
        for pragma in (
            "journal_mode=WAL",
            "synchronous=FULL",
            "foreign_keys=ON",
            f"busy_timeout={BUSY_TIMEOUT_MS}",
        ):
            dbapi_connection.execute(f"PRAGMA {pragma}")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        mode = "DEFERRED" if connection.get_execution_options().get("only_looks") else "IMMEDIATE"
        connection.exec_driver_sql(f"BEGIN {mode}")

    return engine


def _look(engine: Engine, fn: Callable[[Session], R]) -> R:
    with (
        engine.connect().execution_options(only_looks=True) as connection,
        Session(connection, expire_on_commit=False) as session,
    ):
        return fn(session)


def _nobody(_events: list[Event]) -> None:
    pass
