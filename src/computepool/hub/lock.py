"""One hub on one database. The fleet, the queue and the leases live in one process's memory: two would both schedule.

On SQLite the lock is a file's. On PostgreSQL it is an advisory lock of a connection that does nothing else: the server
gives it up the moment that connection ends. Whoever loses it may not be alone any more, and has to stop.
"""

import asyncio
import fcntl
import os
import socket
import time
from pathlib import Path
from typing import IO, Any, Protocol

from sqlalchemy import URL, Connection, create_engine, make_url, text
from sqlalchemy.exc import SQLAlchemyError
from sqlalchemy.pool import NullPool

from computepool.hub.core.files import make_private
from computepool.hub.core.settings import Settings

PATIENCE_SECONDS = 3.0
"""A server takes a moment to notice that a hub was killed."""
AGAIN_SECONDS = 0.05
PING_SECONDS = 5.0
SILENCE_SECONDS = 15
"""After so long without a word from the other side the line counts as dead, for both."""
KEY = 0x636F6D70_706F6F6C
"""The lock's number; a database has its own numbers."""


class AlreadyRunning(Exception):
    """A database means one hub process; there is one already."""


class LockLost(Exception):
    """Another hub may be running on the database by now."""

    hint = "Start it again once the database answers: computepool hub doctor"

    def __init__(self, where: str) -> None:
        super().__init__(f"The hub stopped: it lost its lock on {where}, so another one could have begun.")


class DatabaseLock(Protocol):
    async def lost(self) -> LockLost:
        """Returns when it is gone, and never as long as it is held."""
        ...

    def close(self) -> None: ...


def lock_database(settings: Settings, *, patience_seconds: float = PATIENCE_SECONDS) -> DatabaseLock:
    """Held until it is closed. Raises AlreadyRunning where another process has it."""
    url = make_url(settings.effective_database_url)
    if url.get_backend_name() == "sqlite":
        return FileLock(Path(url.database or ""))
    return PostgresLock(url, patience_seconds)


class FileLock:
    """The kernel lets go of it when we die, however we die."""

    def __init__(self, database: Path) -> None:
        database.parent.mkdir(parents=True, exist_ok=True)
        file = Path(f"{database}.lock")
        make_private(file)
        self._file: IO[str] = file.open("a+")
        try:
            fcntl.flock(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            self._file.seek(0)
            holder = self._file.read().strip()
            self._file.close()
            who = f" (process {holder})." if holder else "."
            raise AlreadyRunning(f"A hub is already running on {database}{who}") from None
        self._file.truncate(0)
        self._file.write(f"{os.getpid()}\n")
        self._file.flush()

    async def lost(self) -> LockLost:
        await asyncio.Event().wait()
        raise AssertionError("a file's lock is not lost")

    def close(self) -> None:
        self._file.close()


class PostgresLock:
    """Not through a pooler that gives a connection to many in turn: the lock is the connection's."""

    def __init__(self, url: URL, patience_seconds: float) -> None:
        self._where = f"{url.host or 'the local PostgreSQL'}/{url.database}"
        name = f"computepool hub, {socket.gethostname()[:24]}, process {os.getpid()}"
        silence = {"keepalives_idle": 5, "keepalives_interval": 5, "keepalives_count": 2}
        self._engine = create_engine(
            url,
            poolclass=NullPool,
            isolation_level="AUTOCOMMIT",
            connect_args={"application_name": name, "tcp_user_timeout": SILENCE_SECONDS * 1000, **silence},
        )
        self._connection = self._engine.connect()
        try:
            # A machine that vanishes says nothing: the server has to ask, or it would keep the lock for hours.
            for option, value in silence.items():
                self._connection.execute(text(f"SET tcp_{option} = {value}"))
            self._take(patience_seconds)
        except BaseException:
            self.close()
            raise

    def _take(self, patience_seconds: float) -> None:
        until = time.monotonic() + patience_seconds
        while not self._connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": KEY}):
            if time.monotonic() >= until:
                raise AlreadyRunning(f"A hub is already running on {self._where}{_holder(self._connection)}.")
            time.sleep(AGAIN_SECONDS)

    async def lost(self) -> LockLost:
        driver: Any = self._connection.connection.driver_connection
        while True:
            await _something_to_read(driver.fileno(), PING_SECONDS)
            try:
                await asyncio.to_thread(self._connection.execute, text("SELECT 1"))
            except SQLAlchemyError:
                return LockLost(self._where)

    def close(self) -> None:
        self._connection.invalidate()
        self._connection.close()
        self._engine.dispose()


def _holder(connection: Connection) -> str:
    """What the holder calls itself, where we may know."""
    found = connection.scalar(
        text(
            "SELECT application_name FROM pg_locks JOIN pg_stat_activity USING (pid) WHERE locktype = 'advisory' "
            "AND granted AND objsubid = 1 AND (classid::bigint << 32) + objid::bigint = :key "
            "AND pg_locks.database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        ),
        {"key": KEY},
    )
    return f" ({str(found).removeprefix('computepool hub, ')})" if found else ""


async def _something_to_read(descriptor: int, seconds: float) -> None:
    """A line that is closed has an end to read; a silent one is asked after a while."""
    loop = asyncio.get_running_loop()
    readable = asyncio.Event()
    loop.add_reader(descriptor, readable.set)
    try:
        async with asyncio.timeout(seconds):
            await readable.wait()
    except TimeoutError:
        pass
    finally:
        loop.remove_reader(descriptor)
