import asyncio
import random
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import Column, MetaData, String, Table, func, insert, select
from support.proofs import figure

from computepool.hub.core.db import open_database
from computepool.hub.core.idempotency import IdempotencyKeyRow, KeyReused, claim, digest_of, prune_idempotency_keys
from computepool.hub.core.owners import Owner
from computepool.hub.core.tables import Base

NOW = datetime(2026, 1, 2, tzinfo=UTC)
USERS = ("user_a", "user_b")


THINGS = Table("things", MetaData(), Column("id", String(40), primary_key=True), Column("body", String(40)))
"""Stand for whatever a request creates."""


@contextmanager
def database(url):
    db = open_database(url)
    tables = [Base.metadata.tables[name] for name in ("owners", "idempotency_keys")]
    Base.metadata.create_all(db.engine, tables)
    THINGS.metadata.create_all(db.engine)
    try:
        yield db
    finally:
        db.close()


def add_users(session):
    session.add_all([Owner(id=user_id, kind="user", created_at=NOW) for user_id in USERS])


def create(session, thing_id, body, key, user_id="user_a", *, fail=False):
    """As a service would: ask for the key, then create."""
    earlier = claim(session, user_id, key, "POST things", digest_of(body.encode()), thing_id, NOW)
    if earlier is not None:
        return earlier
    session.execute(insert(THINGS).values(id=thing_id, body=body))
    if fail:
        raise RuntimeError("something else went wrong")
    return thing_id


def test_same_key_creates_once_and_a_changed_body_is_refused(database_url):
    async def story(db):
        await db.run(add_users)
        assert await db.run(create, "thing_1", "body", "key") == "thing_1"
        assert await db.run(create, "thing_2", "body", "key") == "thing_1"
        with pytest.raises(KeyReused) as refused:
            await db.run(create, "thing_3", "another body", "key")
        assert (refused.value.status, refused.value.code) == (409, "idempotency_mismatch")
        assert await db.run(create, "thing_4", "body", "key", "user_b") == "thing_4"  # keys are each user's own
        assert await db.run(create, "thing_5", "body", "key 2") == "thing_5"

        def other_route(session):
            return claim(session, "user_a", "key", "POST others", digest_of(b"body"), "thing_6", NOW)

        with pytest.raises(KeyReused):
            await db.run(other_route)

    with database(database_url) as db:
        asyncio.run(story(db))


def test_twins_at_the_same_moment_create_once(database_url):
    async def story(db):
        await db.run(add_users)
        for turn in range(10):
            results = await asyncio.gather(
                *[db.run(create, f"thing_{turn}_{twin}", "body", f"key {turn}") for twin in range(8)]
            )
            assert len(set(results)) == 1
        assert await db.read(lambda session: session.scalar(select(func.count()).select_from(THINGS))) == 10

    with database(database_url) as db:
        asyncio.run(story(db))


def test_failed_creation_leaves_its_key_free(database_url):
    async def story(db):
        await db.run(add_users)
        tries = [db.run(create, f"thing_{n}", "body", "key", fail=n % 2 == 0) for n in range(6)]
        results = await asyncio.gather(*tries, return_exceptions=True)
        made = {result for result in results if isinstance(result, str)}
        assert len(made) == 1
        assert await db.read(lambda session: list(session.scalars(select(THINGS.c.id)))) == list(made)

    with database(database_url) as db:
        asyncio.run(story(db))


@pytest.mark.proof
def test_retries_after_lost_replies_create_no_duplicate(database_url):
    """Promise 8: replies are lost at 30 %, the client retries until it has one."""
    requests, least_retries = figure(1_200, 24_000), figure(450, 10_000)

    async def story(db):
        await db.run(add_users)
        chance = random.Random(8)
        retries = 0

        async def client(number):
            nonlocal retries
            tries = 0
            while True:
                tries += 1
                made = await db.run(create, f"thing_{number}_{tries}", f"body {number}", f"key {number}")
                if chance.random() >= 0.3:
                    return made
                retries += 1

        results = []
        for start in range(0, requests, 50):
            results += await asyncio.gather(*[client(number) for number in range(start, start + 50)])
        assert len(set(results)) == requests
        assert await db.read(lambda session: session.scalar(select(func.count()).select_from(THINGS))) == requests
        assert retries >= least_retries  # the fault did fire

    with database(database_url) as db:
        asyncio.run(story(db))


def test_old_keys_are_forgotten_and_young_ones_kept(database_url):
    async def story(db):
        await db.run(add_users)
        for number in range(3):
            await db.run(create, f"thing_{number}", "body", f"key {number}")
        assert await db.run(prune_idempotency_keys, NOW + timedelta(hours=24), 10) == 0
        assert await db.run(prune_idempotency_keys, NOW + timedelta(hours=49), 2) == 2
        left = await db.read(lambda session: session.scalar(select(func.count()).select_from(IdempotencyKeyRow)))
        assert left == 1

    with database(database_url) as db:
        asyncio.run(story(db))
