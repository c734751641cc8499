import asyncio
from datetime import timedelta
from typing import Any

from sqlalchemy import func, insert, select
from support.small_hub import small_hub

from computepool.hub.accounts.background import prune
from computepool.hub.core.idempotency import IdempotencyKeyRow
from computepool.hub.core.pruning import PRUNED_AT_ONCE, prune_in_batches
from computepool.hub.core.records import prune_outbox
from computepool.hub.core.tables import OutboxRow

DAY = timedelta(days=1)


def count(session, table):
    return session.scalar(select(func.count()).select_from(table))


def test_an_hour_of_many_keys_is_forgotten_in_one_go(database_url):
    keys = 2 * PRUNED_AT_ONCE + 500

    def add(session, user_id, now):
        row = {"user_id": user_id, "route": "POST jobs", "body_digest": "0" * 64, "result_id": "job_1"}
        rows = [{**row, "key": f"old {number}", "created_at": now - 3 * DAY} for number in range(keys)]
        session.execute(insert(IdempotencyKeyRow), [*rows, {**row, "key": "young", "created_at": now}])

    async def story():
        async with small_hub(database_url) as hub:
            user = (await hub.get("me", (await hub.register())["access_token"])).json()
            await hub.context.db.run(add, user["id"], hub.context.now())
            await prune(hub.context)
            assert await hub.context.db.read(count, IdempotencyKeyRow) == 1

    asyncio.run(story())


def test_old_news_goes_in_batches_and_others_write_in_between(database_url):
    rows, at_once = 5_000, 500

    def add(session, now):
        row = {"topic": "job/job_1", "payload": {}, "created_at": now - DAY}
        session.execute(insert(OutboxRow), [row] * rows)

    def add_one(session, now):
        session.add(OutboxRow(topic="job/job_2", payload={}, created_at=now))

    async def story():
        async with small_hub(database_url) as hub:
            db, now = hub.context.db, hub.context.now()
            await db.run(add, now)
            batches = []

            class WritesInBetween:
                async def run(self, fn, *args):
                    batches.append(await db.run(fn, *args))
                    await db.run(add_one, now)
                    return batches[-1]

            busy: Any = WritesInBetween()
            assert await prune_in_batches(busy, prune_outbox, now, at_once=at_once) == rows
            assert batches == [at_once] * (rows // at_once) + [0]
            assert await db.read(count, OutboxRow) == len(batches)

    asyncio.run(story())
