"""Newcomers are given credits, once: to be spent here, and never cashed out."""

from datetime import UTC, datetime

import pytest
from support.engine import ALICE, play

from computepool.hub.accounts.bootstrap import create_admin
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.journal import balances
from computepool.hub.ledger.promotions import grant_welcome

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
CREDIT = 1_000_000


async def has(pool, owner):
    return {kind: micros for kind, micros in (await pool.db.read(balances, owner)).items() if micros}


async def register(pool):
    person = {"email": "new@example.org", "password": "a long enough password", "name": "New"}
    answer = await pool.call("POST", "auth/register", person, user=None)
    assert answer.status_code in (200, 201), answer.text
    headers = {"Authorization": f"Bearer {answer.json()['access_token']}"}
    return (await pool.call("GET", "me", user=None, headers=headers)).json()["id"]


@pytest.mark.parametrize(
    ("settings", "given"),
    [({}, 100), ({"welcome_credits": 7}, 7), ({"welcome_credits": 0}, 0), ({"money": "off"}, 0)],
    ids=["as it is", "another figure", "none", "no money"],
)
def test_new_account_is_given_what_the_operator_wants(sqlite_hub, settings, given):
    async def story(pool):
        user_id = await register(pool)
        assert await has(pool, user_id) == ({Kind.PROMOTIONAL: given * CREDIT} if given else {})
        assert pool.engine.scheduler.purse.left(user_id) == given * CREDIT

    play(sqlite_hub, story, settings=settings)


def test_welcome_is_given_once(hub_url):
    async def story(pool):
        before = await has(pool, ALICE)
        assert await pool.db.run(grant_welcome, ALICE, 5, pool.clock.now())
        assert not await pool.db.run(grant_welcome, ALICE, 5, pool.clock.now())
        assert (await has(pool, ALICE))[Kind.PROMOTIONAL] == before.get(Kind.PROMOTIONAL, 0) + 5 * CREDIT

    play(hub_url, story)


def test_first_admin_is_welcome_too(sqlite_hub):
    async def story(pool):
        admin = await pool.db.run(create_admin, "user_first", pool.clock.now(), 100)
        assert await has(pool, admin) == {Kind.PROMOTIONAL: 100 * CREDIT}
        assert await pool.db.run(create_admin, "user_second", pool.clock.now(), 100) == admin
        assert await has(pool, admin) == {Kind.PROMOTIONAL: 100 * CREDIT}

    play(sqlite_hub, story)
