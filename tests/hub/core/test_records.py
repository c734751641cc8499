import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select

from computepool.hub.core.db import open_database
from computepool.hub.core.records import prune_audit, prune_outbox, record
from computepool.hub.core.tables import AuditRow, HubFact, OutboxRow
from computepool.hub.tables import metadata

NOW = datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC)


@pytest.fixture
def db(database_url):
    opened = open_database(database_url)
    metadata.create_all(opened.engine)
    yield opened
    opened.close()


def change(session, name: str, *, fail: bool = False) -> None:
    session.add(HubFact(name=name, value="1"))
    record(
        session, "fact.added", name, NOW, actor="user_1", topics=(f"owner/{name}", "admin", f"job/{name}"), why="a test"
    )
    if fail:
        raise ZeroDivisionError


def audits(session) -> list[tuple]:
    rows = session.scalars(select(AuditRow).order_by(AuditRow.id))
    return [(row.at, row.actor, row.action, row.subject, row.details) for row in rows]


def outbox(session) -> list[tuple]:
    rows = session.scalars(select(OutboxRow).order_by(OutboxRow.id))
    return [(row.topic, row.payload, row.created_at) for row in rows]


def test_audit_and_outbox_are_written_with_the_change(db):
    async def story():
        await db.run(change, "a")
        assert await db.read(audits) == [(NOW, "user_1", "fact.added", "a", {"why": "a test"})]
        payload = {"action": "fact.added", "subject": "a", "why": "a test"}
        assert await db.read(outbox) == [("owner/a", payload, NOW), ("admin", payload, NOW)]

    asyncio.run(story())


def test_failed_change_leaves_no_record(db):
    async def story():
        with pytest.raises(ZeroDivisionError):
            await db.run(change, "a", fail=True)
        await db.run(lambda session: None)
        assert await db.read(audits) == []
        assert await db.read(outbox) == []

    asyncio.run(story())


def test_change_that_cannot_be_recorded_does_not_happen(db):
    def change_with_nonsense(session) -> None:
        session.add(HubFact(name="a", value="1"))
        record(session, "fact.added", "a", NOW, nonsense=object())

    async def story():
        with pytest.raises(Exception, match="not JSON serializable"):
            await db.run(change_with_nonsense)
        assert await db.read(lambda session: session.get(HubFact, "a")) is None

    asyncio.run(story())


def test_events_are_told_in_the_order_they_were_recorded(db):
    async def story():
        told: list[str] = []
        db.on_commit = lambda events: told.extend(event.topic for event in events)
        await db.run(change, "a")
        await db.run(change, "b")
        await db.run(lambda session: None)
        assert told == ["owner/a", "admin", "job/a", "owner/b", "admin", "job/b"]

    asyncio.run(story())


def test_record_without_topics_is_only_audited(db):
    async def story():
        await db.run(lambda session: record(session, "hub.started", "hub_1", NOW))
        assert await db.read(audits) == [(NOW, "hub", "hub.started", "hub_1", {})]
        assert await db.read(outbox) == []

    asyncio.run(story())


def test_instant_without_a_zone_is_refused(db):
    async def story():
        with pytest.raises(Exception, match="an instant without a zone"):
            await db.run(lambda session: record(session, "x", "y", NOW.replace(tzinfo=None)))

    asyncio.run(story())


def test_old_news_is_pruned_and_audit_is_kept(db):
    async def story():
        await db.run(change, "a")
        await db.run(prune_outbox, NOW, 10)
        assert len(await db.read(outbox)) == 2
        await db.run(prune_outbox, NOW + timedelta(microseconds=1), 10)
        assert [topic for topic, *_ in await db.read(outbox)] == ["admin"]  # the newest, so that its id stays taken
        assert len(await db.read(audits)) == 1

    asyncio.run(story())


def test_old_records_are_pruned_a_few_at_a_time_and_newer_ones_kept(db):
    async def story():
        for number in range(5):
            await db.run(lambda session, at: record(session, "x", "y", at), NOW + timedelta(days=number))
        assert await db.run(prune_audit, NOW + timedelta(days=3), 2) == 2
        assert await db.run(prune_audit, NOW + timedelta(days=3), 2) == 1
        assert await db.run(prune_audit, NOW + timedelta(days=3), 2) == 0
        assert [row[0] for row in await db.read(audits)] == [NOW + timedelta(days=3), NOW + timedelta(days=4)]

    asyncio.run(story())
