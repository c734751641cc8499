"""What an owner has stored is counted with what changes it, and has a limit for a day and in all."""

import asyncio
from datetime import UTC, datetime, timedelta

import pytest
from support.waiting import patience

from computepool.hub.accounts.tables import User
from computepool.hub.artifacts import usage
from computepool.hub.artifacts.errors import DailyStorageExceeded, StorageExceeded
from computepool.hub.artifacts.tables import StorageUsage
from computepool.hub.artifacts.usage import Amount, Quotas, charge, find_stored, list_exceeding, release
from computepool.hub.core.owners import PLATFORM, Owner

ALICE, BOB = "user_alice", "user_bob"
DAY = datetime(2026, 3, 1, 12, tzinfo=UTC)
QUOTAS = Quotas(bytes=1_000, objects=5, daily_bytes=100)


def run(hub, fn, *args):
    return asyncio.run(hub.context.db.run(fn, *args))


def stored(hub, owner_id=ALICE):
    return asyncio.run(hub.context.db.read(find_stored, owner_id))


def test_what_is_charged_and_released_is_counted_by_owner(hub):
    run(hub, charge, ALICE, Amount(30, 1), DAY, QUOTAS)
    run(hub, charge, ALICE, Amount(20, 2), DAY, QUOTAS)
    run(hub, charge, BOB, Amount(7, 1), DAY, QUOTAS)
    run(hub, release, [(ALICE, 10), (BOB, 7), (ALICE, 5)], DAY)
    assert (stored(hub).bytes, stored(hub).objects) == (35, 1)
    assert (stored(hub, BOB).bytes, stored(hub, BOB).objects) == (0, 0)


def test_what_a_refused_upload_would_add_is_not_counted(hub):
    run(hub, charge, ALICE, Amount(60, 1), DAY, QUOTAS)
    with pytest.raises(DailyStorageExceeded) as refused:
        run(hub, charge, ALICE, Amount(41, 1), DAY, QUOTAS)
    assert refused.value.retry_after_seconds == 12 * 3600
    assert (stored(hub).bytes, stored(hub).day_bytes) == (60, 60)
    run(hub, charge, ALICE, Amount(40, 1), DAY, QUOTAS)


def test_what_is_deleted_still_counts_for_its_day_and_the_next_day_begins_anew(hub):
    run(hub, charge, ALICE, Amount(100, 1), DAY, QUOTAS)
    run(hub, release, [(ALICE, 100)], DAY)
    with pytest.raises(DailyStorageExceeded):
        run(hub, charge, ALICE, Amount(1, 1), DAY, QUOTAS)
    tomorrow = DAY + timedelta(hours=12)
    run(hub, release, [], tomorrow)
    run(hub, charge, ALICE, Amount(100, 1), tomorrow, QUOTAS)
    with pytest.raises(DailyStorageExceeded):
        run(hub, charge, ALICE, Amount(1, 1), tomorrow, QUOTAS)


def test_limits_of_bytes_and_of_objects_are_told_apart(hub):
    every_day = Quotas(bytes=1_000, objects=5)
    with pytest.raises(StorageExceeded, match="the limit is 1000 B"):
        run(hub, charge, ALICE, Amount(1_001, 1), DAY, every_day)
    with pytest.raises(StorageExceeded, match="the limit is 5 files and logs"):
        run(hub, charge, ALICE, Amount(0, 6), DAY, every_day)
    run(hub, charge, ALICE, Amount(1_000, 5), DAY, every_day)


def test_admins_and_the_pool_itself_have_no_limit(hub):
    def promote(session):
        session.add(User(id=ALICE, email="a@example.org", name="A", role="admin", created_at=DAY))
        session.add(Owner(id=PLATFORM, kind="platform", created_at=DAY))

    run(hub, promote)
    for owner_id in (ALICE, PLATFORM):
        run(hub, charge, owner_id, Amount(10**12, 10**6), DAY, QUOTAS)


def test_owner_with_a_limit_of_its_own_has_that_one(hub):
    run(hub, charge, ALICE, Amount(10, 1), DAY, QUOTAS)

    def grant(session):
        session.get_one(StorageUsage, ALICE).limit_bytes = 5_000

    run(hub, grant)
    run(hub, charge, ALICE, Amount(4_990, 1), DAY, QUOTAS)
    with pytest.raises(StorageExceeded, match=r"4\.9 KB"):
        run(hub, charge, ALICE, Amount(1, 1), DAY, QUOTAS)


def test_those_who_may_have_too_much_are_found_after_a_restart(hub):
    run(hub, usage.count, {ALICE: Amount(101, 1), BOB: Amount(100, 1)}, DAY)

    def exceeding(now):
        return asyncio.run(hub.context.db.read(list_exceeding, now, QUOTAS))

    assert exceeding(DAY) == [ALICE]
    assert exceeding(DAY + timedelta(days=1)) == []
    run(hub, usage.count, {BOB: Amount(0, 5)}, DAY)
    assert exceeding(DAY + timedelta(days=1)) == [BOB]


def test_charges_at_once_do_not_pass_the_limit_together(hub):
    async def story():
        async with asyncio.timeout(patience()):
            charges = [hub.context.db.run(charge, ALICE, Amount(30, 1), DAY, QUOTAS) for _ in range(8)]
            return await asyncio.gather(*charges, return_exceptions=True)

    results = asyncio.run(story())
    assert sum(result is None for result in results) == 3
    assert (stored(hub).bytes, stored(hub).objects, stored(hub).day_bytes) == (90, 3, 90)
