import asyncio
import threading
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from sqlalchemy import create_engine, event, func, select, text
from sqlalchemy.exc import IntegrityError, OperationalError
from support.waiting import patience

from computepool.hub.core.db import (
    BUSY_TIMEOUT_MS,
    GROUP_LIMIT,
    SQLITE_PRAGMAS,
    Database,
    Undone,
    open_database,
)
from computepool.hub.core.idempotency import IdempotencyKeyRow
from computepool.hub.core.records import Event, record
from computepool.hub.core.tables import HubFact
from computepool.hub.tables import metadata

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@asynccontextmanager
async def opened(url: str):
    db = open_database(url)
    try:
        metadata.create_all(db.engine)
        yield db
    finally:
        db.close()


@pytest.fixture
def sqlite_url(tmp_path) -> str:
    return f"sqlite:///{tmp_path / 'hub.db'}"


def add(session, name: str, value: str = "") -> str:
    session.add(HubFact(name=name, value=value))
    record(session, "fact.added", name, NOW, topics=(f"fact/{name}",))
    session.flush()
    return name


def add_and_fail(session, name: str) -> None:
    add(session, name)
    raise ZeroDivisionError(name)


def names(session) -> list[str]:
    return list(session.scalars(select(HubFact.name).order_by(HubFact.name)))


def seen_from_outside(url: str) -> list[str]:
    """By a connection that shares nothing with the hub's."""
    engine = create_engine(url)
    with engine.connect() as connection:
        found = [row.name for row in connection.execute(text("SELECT name FROM hub_facts ORDER BY name"))]
    engine.dispose()
    return found


class Held:
    """Keeps the writer busy, so that what comes next waits together."""

    def __init__(self, db: Database) -> None:
        self.entered, self.release = threading.Event(), threading.Event()
        self.task = asyncio.ensure_future(db.run(self._hold))

    def _hold(self, session) -> None:
        self.entered.set()
        assert self.release.wait(patience())

    async def until_entered(self) -> None:
        await asyncio.to_thread(self.entered.wait, patience())


def test_answer_comes_when_everybody_can_see_it(database_url):
    async def story():
        async with opened(database_url) as db:
            assert await db.run(add, "first") == "first"
            assert seen_from_outside(database_url) == ["first"]
            assert await db.read(names) == ["first"]

    asyncio.run(story())


def test_whole_transaction_is_one_hop_to_one_thread(database_url):
    async def story():
        threads = []

        def look_around(session) -> None:
            threads.append(threading.current_thread())
            session.execute(select(1))
            threads.append(threading.current_thread())

        async with opened(database_url) as db:
            await db.run(look_around)
        assert len(set(threads)) == 1
        assert threading.current_thread() not in threads

    asyncio.run(story())


def test_failure_undoes_only_its_own_work(database_url):
    async def story():
        async with opened(database_url) as db:
            held = Held(db)
            await held.until_entered()
            together = asyncio.gather(
                db.run(add, "a"), db.run(add_and_fail, "b"), db.run(add, "c"), return_exceptions=True
            )
            await asyncio.sleep(0)
            held.release.set()
            first, failed, last = await together
            assert (first, last) == ("a", "c")
            assert isinstance(failed, ZeroDivisionError)
            assert await db.read(names) == ["a", "c"]

    asyncio.run(story())


def test_refused_row_undoes_only_its_own_work(database_url):
    async def story():
        async with opened(database_url) as db:
            results = await asyncio.gather(db.run(add, "a"), db.run(add, "a"), db.run(add, "b"), return_exceptions=True)
            assert sorted(type(result).__name__ for result in results) == ["IntegrityError", "str", "str"]
            assert await db.read(names) == ["a", "b"]

    asyncio.run(story())


def test_waiting_transactions_share_commits_on_sqlite(sqlite_url):
    async def story():
        commits = 0

        def count(_connection) -> None:
            nonlocal commits
            commits += 1

        async with opened(sqlite_url) as db:
            held = Held(db)
            await held.until_entered()
            event.listen(db.engine, "commit", count)
            waiting = asyncio.gather(*(db.run(add, f"n{number:04}") for number in range(2 * GROUP_LIMIT)))
            await asyncio.sleep(0)
            held.release.set()
            await waiting
            assert commits == 3, "the one that was held, and two full groups"
            assert len(await db.read(names)) == 2 * GROUP_LIMIT

    asyncio.run(story())


def test_caller_that_goes_away_while_waiting_changes_nothing(sqlite_url):
    async def story():
        async with opened(sqlite_url) as db:
            held = Held(db)
            await held.until_entered()
            gone, stays = asyncio.ensure_future(db.run(add, "gone")), asyncio.ensure_future(db.run(add, "stays"))
            await asyncio.sleep(0)
            gone.cancel()
            await asyncio.sleep(0)
            held.release.set()
            assert await stays == "stays"
            assert gone.cancelled()
            assert await db.read(names) == ["stays"]

    asyncio.run(story())


def test_caller_that_goes_away_midway_does_not_stop_the_others(database_url):
    async def story():
        async with opened(database_url) as db:
            held = Held(db)
            await held.until_entered()
            held.task.cancel()
            await asyncio.sleep(0)
            held.release.set()
            assert await db.run(add, "next") == "next"

    asyncio.run(story())


def test_events_come_after_the_commit_and_only_from_what_succeeded(database_url):
    async def story():
        told: list[tuple[str, bool]] = []

        def on_commit(events: list[Event]) -> None:
            committed = seen_from_outside(database_url)
            told.extend((event.topic, event.payload["subject"] in committed) for event in events)

        async with opened(database_url) as db:
            db.on_commit = on_commit
            await asyncio.gather(db.run(add, "a"), db.run(add_and_fail, "b"), db.run(add, "c"), return_exceptions=True)
            await db.run(lambda session: None)  # a group later, the first one has told everything
        assert sorted(told) == [("fact/a", True), ("fact/c", True)]

    asyncio.run(story())


def test_listener_that_fails_harms_nobody(database_url):
    async def story():
        async with opened(database_url) as db:
            db.on_commit = lambda events: 1 / 0
            assert await db.run(add, "a") == "a"
            assert await db.run(add, "b") == "b"
            assert await db.read(names) == ["a", "b"]

    asyncio.run(story())


def break_at_the_commit(session, name: str) -> str:
    """Succeeds; what it did is refused only at the commit."""
    session.execute(text("PRAGMA defer_foreign_keys=ON"))
    key = IdempotencyKeyRow(user_id="nobody", key="k", route="r", body_digest="d", result_id="x", created_at=NOW)
    session.add(key)
    return add(session, name)


def test_failed_commit_fails_everybody_in_the_group_and_tells_nobody(sqlite_url):
    async def story():
        told: list[Event] = []
        async with opened(sqlite_url) as db:
            db.on_commit = told.extend
            held = Held(db)
            await held.until_entered()
            together = asyncio.gather(
                db.run(add, "a"), db.run(break_at_the_commit, "b"), db.run(add, "c"), return_exceptions=True
            )
            await asyncio.sleep(0)
            held.release.set()
            assert [type(result) for result in await together] == [IntegrityError] * 3
            assert await db.read(names) == []
            assert told == []
            assert await db.run(add, "later") == "later"
            await db.run(lambda session: None)
            assert [one.topic for one in told] == ["fact/later"]

    asyncio.run(story())


def test_full_disk_in_the_middle_of_a_group_is_told_to_everybody(sqlite_url):
    """SQLite then undoes the whole transaction, not one savepoint; a commit would succeed, with nothing in it."""

    async def story():
        async with opened(sqlite_url) as db:
            pages = await db.read(lambda session: session.scalar(text("PRAGMA page_count")))
            await db.run(lambda session: session.scalar(text(f"PRAGMA max_page_count={pages + 1}")))
            held = Held(db)
            await held.until_entered()
            told: list[Event] = []
            db.on_commit = told.extend
            together = asyncio.gather(
                db.run(add, "a"), db.run(add, "b", "x" * 100_000), db.run(add, "c"), return_exceptions=True
            )
            await asyncio.sleep(0)
            held.release.set()
            results = await together
            assert [type(result) for result in results] == [Undone] * 3
            assert "disk is full" in str(results[0])
            assert await db.read(names) == []
            assert await db.run(add, "later") == "later"
            assert [one.topic for one in told if one.topic != "fact/later"] == []

    asyncio.run(story())


def test_database_that_cannot_be_opened_is_told_to_every_caller(tmp_path):
    async def story():
        db = open_database(f"sqlite:///{tmp_path / 'missing' / 'hub.db'}")
        for _ in range(2):
            with pytest.raises(OperationalError, match="unable to open"):
                await db.run(names)
        (tmp_path / "missing").mkdir()
        metadata.create_all(db.engine)
        assert await db.run(names) == []
        db.close()

    asyncio.run(story())


def test_reader_sees_only_what_is_committed(database_url):
    async def story():
        async with opened(database_url) as db:
            added, release = threading.Event(), threading.Event()

            def add_slowly(session) -> None:
                add(session, "a")
                added.set()
                assert release.wait(patience())

            writing = asyncio.ensure_future(db.run(add_slowly))
            await asyncio.to_thread(added.wait, 30)
            assert await db.read(names) == [], "it neither waits nor sees half of it"
            release.set()
            await writing
            assert await db.read(names) == ["a"]

    asyncio.run(story())


def test_what_a_reader_writes_is_dropped(database_url):
    async def story():
        async with opened(database_url) as db:
            await db.read(add, "a")
            assert await db.read(names) == []

    asyncio.run(story())


def test_closing_finishes_what_waits_and_takes_nothing_more(database_url):
    async def story():
        db = open_database(database_url)
        metadata.create_all(db.engine)
        waiting = [asyncio.ensure_future(db.run(add, f"n{number}")) for number in range(5)]
        await asyncio.sleep(0)
        db.close()
        assert await asyncio.gather(*waiting) == [f"n{number}" for number in range(5)]
        with pytest.raises(RuntimeError):
            await db.run(add, "late")
        assert len(seen_from_outside(database_url)) == 5

    asyncio.run(story())


def test_every_sqlite_connection_is_durable_and_checks_foreign_keys(sqlite_url):
    def pragmas(session) -> list:
        asked = ("journal_mode", "synchronous", "fullfsync", "foreign_keys", "busy_timeout")
        return [session.scalar(text(f"PRAGMA {name}")) for name in asked]

    async def story():
        async with opened(sqlite_url) as db:
            full = 2
            expected = ["wal", full, 1, 1, BUSY_TIMEOUT_MS]
            assert await db.run(pragmas) == expected
            reads = await asyncio.gather(*(db.read(pragmas) for _ in range(8)))
            assert all(found == expected for found in reads)

    asyncio.run(story())
    assert [pragma.split("=")[0] for pragma in SQLITE_PRAGMAS][:2] == ["journal_mode", "synchronous"]


def test_transactions_of_one_caller_happen_in_its_order(database_url):
    async def story():
        async with opened(database_url) as db:
            counts = [await db.run(_add_and_count, f"n{number}") for number in range(20)]
            assert all(later == earlier + 1 for earlier, later in pairwise(counts))

    asyncio.run(story())


def _add_and_count(session, name: str) -> int:
    add(session, name)
    return session.scalar(select(func.count()).select_from(HubFact))
