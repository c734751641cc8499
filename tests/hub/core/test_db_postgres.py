import asyncio
import threading
from contextlib import asynccontextmanager, suppress

import psycopg
import pytest
from sqlalchemy import create_engine, select, text
from sqlalchemy.exc import IntegrityError, OperationalError, PendingRollbackError
from support.waiting import patience

from computepool.hub.core.db import POSTGRES_THREADS, OutcomeUnknown, open_database
from computepool.hub.core.driver import driver_of
from computepool.hub.core.records import Event
from computepool.hub.core.tables import HubFact
from computepool.hub.tables import metadata


@asynccontextmanager
async def opened(url: str):
    db = open_database(url)
    try:
        metadata.create_all(db.engine)
        yield db
    finally:
        db.close()


def add(session, name: str, value: str = "") -> str:
    session.add(HubFact(name=name, value=value))
    session.flush()
    return name


def test_failed_commit_is_told_on_postgresql(postgres_url):
    async def story():
        told: list[Event] = []
        async with opened(postgres_url) as db:
            db.on_commit = told.extend
            with db.engine.begin() as connection:
                connection.execute(text("CREATE TABLE late (id INTEGER UNIQUE DEFERRABLE INITIALLY DEFERRED)"))

            def break_late(session) -> str:
                session.execute(text("INSERT INTO late VALUES (1), (1)"))
                return add(session, "a")

            with pytest.raises(IntegrityError):
                await db.run(break_late)
            assert await db.read(lambda session: session.get(HubFact, "a")) is None
            assert told == []

    asyncio.run(story())


def test_postgresql_that_answers_too_early_is_corrected(postgres_url):
    """`synchronous_commit=off` on the server would lose acknowledged work in a crash."""
    name = postgres_url.rsplit("/", 1)[1]
    plain = create_engine(postgres_url, isolation_level="AUTOCOMMIT")
    with plain.connect() as connection:
        connection.execute(text(f"ALTER DATABASE {name} SET synchronous_commit = off"))
    plain.dispose()

    async def story():
        async with opened(postgres_url) as db:
            setting = text("SHOW synchronous_commit")
            assert await db.run(lambda session: session.scalar(setting)) == "on"
            assert await db.read(lambda session: session.scalar(setting)) == "on"

    asyncio.run(story())


def test_postgresql_deadlock_is_tried_again(postgres_url):
    async def story():
        async with opened(postgres_url) as db:
            await asyncio.gather(db.run(add, "a", "0"), db.run(add, "b", "0"))
            both_have_their_first = threading.Barrier(2)
            tries = []

            def cross(session, first: str, second: str) -> None:
                tries.append(first)
                raise_value(session, first)
                if len(tries) <= 2:
                    both_have_their_first.wait(patience())
                raise_value(session, second)

            await asyncio.gather(db.run(cross, "a", "b"), db.run(cross, "b", "a"))
            # The one sent back may be faster at its first row than the other at its second: then they meet again.
            assert len(tries) >= 3, "one of the two was sent back, and came through later"
            assert await db.read(lambda session: list(session.scalars(select(HubFact.value)))) == ["2", "2"]

    asyncio.run(story())


def raise_value(session, name: str) -> None:
    session.execute(text("UPDATE hub_facts SET value = (value::int + 1)::text WHERE name = :name"), {"name": name})


def test_postgresql_serialization_failure_is_tried_again(postgres_url):
    async def story():
        async with opened(postgres_url) as db:
            await db.run(add, "counter", "0")
            both_have_looked = threading.Barrier(2)
            tries = []

            def count_up(session) -> None:
                session.execute(text("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE"))
                value = session.scalar(text("SELECT value FROM hub_facts WHERE name = 'counter'"))
                tries.append(value)
                if len(tries) <= 2:
                    both_have_looked.wait(patience())
                session.execute(text("UPDATE hub_facts SET value = :value"), {"value": str(int(value) + 1)})

            await asyncio.gather(db.run(count_up), db.run(count_up))
            assert tries == ["0", "0", "1"]
            assert await db.read(lambda session: session.scalar(select(HubFact.value))) == "2"

    asyncio.run(story())


# ── a connection that is lost ────────────────────────────────────────────────────────────────────────────────────────


def lose_answers(db) -> None:
    """From here on every commit happens, and the connection is gone before the answer comes."""
    commit = db.engine.dialect.do_commit

    def commit_and_vanish(connection) -> None:
        commit(connection)
        connection.driver_connection.close()
        raise psycopg.OperationalError("server closed the connection unexpectedly")

    db.engine.dialect.do_commit = commit_and_vanish


def test_commit_whose_answer_is_lost_is_neither_done_nor_undone(postgres_url):
    """It is there, and whoever asked for it must not go on as if it were not."""

    async def story():
        doubts: list[OutcomeUnknown] = []
        told: list[Event] = []
        async with opened(postgres_url) as db:
            db.on_doubt, db.on_commit = doubts.append, told.extend
            await db.run(add, "before")
            lose_answers(db)
            with pytest.raises(OutcomeUnknown) as caught:
                await db.run(add, "a")
            assert doubts == [caught.value]
            with pytest.raises(OutcomeUnknown):
                await db.run(add, "b")  # nothing is written any more
            found = await db.read(lambda session: set(session.scalars(select(HubFact.name))))
            assert found == {"before", "a"}
            assert len(doubts) == 1

    asyncio.run(story())


def test_connection_that_is_lost_before_the_commit_leaves_no_doubt(postgres_url):
    async def story():
        doubts: list[OutcomeUnknown] = []
        async with opened(postgres_url) as db:
            db.on_doubt = doubts.append

            def vanish(session) -> None:
                add(session, "a")
                with suppress(OperationalError):
                    session.execute(text("SELECT pg_terminate_backend(pg_backend_pid())"))
                add(session, "b")

            with pytest.raises((OperationalError, PendingRollbackError)):
                await db.run(vanish)
            await db.run(add, "c")
            assert await db.read(lambda session: list(session.scalars(select(HubFact.name)))) == ["c"]
            assert doubts == []

    asyncio.run(story())


@pytest.mark.parametrize("way", ["session", "driver"])
def test_server_that_was_started_anew_costs_nobody_an_error(postgres_url, way):
    """Every connection that was open is dead then, and none of them is asked before it is used."""

    def touch(session) -> int:
        if way == "driver":
            return driver_of(session).run("SELECT count(*) FROM hub_facts WHERE value <> ?", ("x",))[0][0]
        return len(session.scalars(select(HubFact)).all())

    async def story():
        async with opened(postgres_url) as db:
            meeting = threading.Barrier(POSTGRES_THREADS)

            def meet(session) -> None:
                touch(session)
                meeting.wait(patience())

            for ask in (db.run, db.read):
                await asyncio.gather(*(db.run(meet) for _ in range(POSTGRES_THREADS)))
                assert end_all(postgres_url) == POSTGRES_THREADS
                assert await asyncio.gather(*(ask(touch) for _ in range(POSTGRES_THREADS))) == [0] * POSTGRES_THREADS
            await db.run(add, "a")
            assert await db.read(touch) == 1

    asyncio.run(story())


def end_all(url: str) -> int:
    """Whoever is connected to it, as when the server stops; how many there were."""
    query = (
        "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid()"
    )
    with psycopg.connect(url.replace("+psycopg", ""), autocommit=True) as link:
        return len(link.execute(query, (url.rsplit("/", 1)[1],)).fetchall())
