"""Credits by hand: for money they fill a debt before anything can be spent, as a present they do not."""

import asyncio

import pytest
from support.checked_work import CAROL
from support.engine import ADMIN, play
from support.till import add_people

from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import post
from computepool.hub.ledger.tables import EntryRow

CREDIT = 1_000_000


async def owing(pool, credits):
    await pool.db.run(add_people, pool.clock.now())
    posting = Posting(account(CAROL, Kind.DEBT), platform(Platform.CLEARING), credits * CREDIT)
    await pool.db.run(post, Entry("test/chargeback", "chargeback", (posting,)), pool.clock.now())


async def by_hand(pool, route, credits, key=None, **more):
    asked = {"user": CAROL, "credits": str(credits), "note": "in cash", **more}
    headers = {"Idempotency-Key": key} if key else {}
    return (await pool.call("POST", f"admin/{route}", asked, user=ADMIN, headers=headers)).json()


async def has(pool, *names):
    wallet = (await pool.call("GET", "wallet", user=CAROL)).json()
    return tuple(wallet[f"{name}_micros"] // CREDIT for name in names)


@pytest.mark.parametrize(("given", "repaid", "debt", "available"), [(100, 40, 0, 60), (40, 40, 0, 0), (15, 15, 25, 0)])
def test_what_is_granted_for_money_fills_a_debt_first(sqlite_hub, given, repaid, debt, available):
    async def story(pool):
        await owing(pool, 40)
        told = await by_hand(pool, "grants", given)
        assert told["repaid_micros"] == repaid * CREDIT
        assert told["available_micros"] == available * CREDIT
        assert await has(pool, "debt", "available") == (debt, available)

    play(sqlite_hub, story)


def test_who_takes_more_than_there_is_hears_how_much_there_is(sqlite_hub):
    async def story(pool):
        await pool.db.run(add_people, pool.clock.now())
        await by_hand(pool, "grants", 5)
        await by_hand(pool, "grants", 20, promotional=True)
        error = (await by_hand(pool, "withdrawals", 6))["error"]
        assert error["code"] == "insufficient_credits"
        assert error["message"] == "6 credits is more than the 5 that you can withdraw."
        assert "top-up" not in error["hint"]
        error = (await by_hand(pool, "withdrawals", 21, promotional=True))["error"]
        assert error["message"] == "21 credits is more than the 20 that you can withdraw."
        assert await has(pool, "available", "promotional") == (5, 20)
        await by_hand(pool, "withdrawals", 20, promotional=True)
        await by_hand(pool, "withdrawals", 5)
        assert await has(pool, "available", "promotional") == (0, 0)

    play(sqlite_hub, story)


def test_a_present_fills_no_debt(sqlite_hub):
    """It would set as much of later earnings free to be cashed out."""

    async def story(pool):
        await owing(pool, 40)
        told = await by_hand(pool, "grants", 100, promotional=True)
        assert told["repaid_micros"] == 0
        assert await has(pool, "debt", "promotional") == (40, 100)

    play(sqlite_hub, story)


def test_a_grant_that_is_asked_for_again_is_the_same_once(hub_url):
    """The second time there is no debt any more, and still it says what the first one did."""

    async def story(pool):
        await owing(pool, 40)
        first = await by_hand(pool, "grants", 100, key="g1")
        assert await by_hand(pool, "grants", 100, key="g1") == first
        assert await has(pool, "debt", "available") == (0, 60)
        back = await by_hand(pool, "withdrawals", 60, key="g1w")
        assert await by_hand(pool, "withdrawals", 60, key="g1w") == back
        assert back["repaid_micros"] == 0
        assert await has(pool, "debt", "available") == (0, 0)
        assert [row.kind for row in pool.rows(EntryRow)][-2:] == ["grant", "withdrawal"]

    play(hub_url, story)


async def once(pool, route, credits=5, **more):
    return await by_hand(pool, route, credits, unless_repeated=True, **more)


@pytest.mark.parametrize(("route", "done"), [("grants", "given to"), ("withdrawals", "taken from")])
def test_whoever_does_the_same_again_is_asked_whether_it_is_meant(hub_url, route, done):
    """A command is typed again when it seemed to do nothing; credits must not follow twice without a word."""

    async def story(pool):
        await owing(pool, 2)
        await by_hand(pool, "grants", 100)
        assert "id" in await once(pool, route)
        await asyncio.sleep(90)
        error = (await once(pool, route))["error"]
        assert error["code"] == "repeated"
        assert error["message"].startswith("5 credits with this note were " + done)
        assert error["message"].endswith("1 minute ago.")
        assert "--again" in error["hint"]
        before = await has(pool, "available")
        for other in ({"note": "in cash, once more"}, {"credits": 6}):
            assert "id" in await once(pool, route, **other), "that is another one"
        assert "id" in await by_hand(pool, route, 5), "who does not ask for it is not asked"
        assert await has(pool, "available") != before
        await asyncio.sleep(601)
        assert "id" in await once(pool, route), "by then it is another one"

    play(hub_url, story)


def test_a_grant_that_filled_a_debt_is_known_again_too(sqlite_hub):
    async def story(pool):
        await owing(pool, 2)
        assert (await once(pool, "grants"))["repaid_micros"] == 2 * CREDIT
        assert (await once(pool, "grants"))["error"]["code"] == "repeated"
        assert "id" in await once(pool, "grants", promotional=True), "a present is another thing"
        assert (await once(pool, "grants", promotional=True))["error"]["code"] == "repeated"

    play(sqlite_hub, story)


def test_a_request_that_is_sent_again_is_no_repetition(sqlite_hub):
    async def story(pool):
        await pool.db.run(add_people, pool.clock.now())
        first = await once(pool, "grants", key="same")
        assert await once(pool, "grants", key="same") == first

    play(sqlite_hub, story)


@pytest.mark.parametrize("note", ["", " ", " \t\n "])
@pytest.mark.parametrize("path", ["admin/grants", "admin/withdrawals", "admin/ledger/write-offs"])
def test_a_note_that_says_nothing_is_refused(sqlite_hub, path, note):
    async def story(pool):
        await pool.db.run(add_people, pool.clock.now())
        asked = {"user": CAROL, "credits": "1", "note": note}
        refused = (await pool.call("POST", path, asked, user=ADMIN)).json()["error"]
        assert [(one["field"], one["message"]) for one in refused["fields"]] == [("note", "is empty")]
        assert await has(pool, "available") == (0,)

    play(sqlite_hub, story)
