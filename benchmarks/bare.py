"""The least that is durable: one row and one commit, by the bare driver."""

import sqlite3
import threading
import time
from collections.abc import Sequence
from typing import Any

import psycopg
from sqlalchemy import Engine, make_url

from computepool.hub.core.db import SQLITE_PRAGMAS

_ADD = "INSERT INTO bare_commits VALUES (?, ?, 1)"


class Link:
    """A connection to the same database, as durable as the hub's, without anything of the pool."""

    def __init__(self, engine: Engine) -> None:
        self._is_sqlite = engine.dialect.name == "sqlite"
        self._link: Any
        if self._is_sqlite:
            self._link = sqlite3.connect(str(engine.url.database), isolation_level=None, check_same_thread=False)
            for pragma in SQLITE_PRAGMAS:
                self._link.execute(f"PRAGMA {pragma}")
        else:
            url = make_url(engine.url)
            words: dict[str, Any] = {"host": url.host, "port": url.port, "user": url.username, "dbname": url.database}
            self._link = psycopg.connect(**words, autocommit=True)

    def run(self, words: str, values: Sequence[Any] = ()) -> list[Any]:
        """Commits by itself, unless a BEGIN came before."""
        if self._is_sqlite:
            return list(self._link.execute(words, values))
        cursor = self._link.execute(words.replace("?", "%s"), values, prepare=bool(values))
        return list(cursor.fetchall()) if cursor.description else []

    def close(self) -> None:
        self._link.close()


class Bare:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._one_writer = threading.Lock()
        """SQLite has one. Whoever polls for its lock instead of queueing is only slower."""
        with engine.begin() as connection:
            connection.exec_driver_sql("CREATE TABLE bare_commits (thread INTEGER, number INTEGER, micros BIGINT)")

    def commit(self, count: int, clients: int) -> float:
        """By so many clients, with a connection and a thread each; how many a second."""
        links = [Link(self._engine) for _ in range(clients)]
        each = max(1, count // clients)

        def client(thread: int, link: Link) -> None:
            for number in range(each):
                if self._engine.dialect.name == "sqlite":
                    with self._one_writer:
                        link.run(_ADD, (thread, number))
                else:
                    link.run(_ADD, (thread, number))

        threads = [threading.Thread(target=client, args=one) for one in enumerate(links)]
        began = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        seconds = time.perf_counter() - began
        for link in links:
            link.close()
        return each * clients / seconds
