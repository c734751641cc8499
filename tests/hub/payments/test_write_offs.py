"""Debts that nobody will pay back: an operator lets the pool bear them, once, and renters who waited are paid."""

from collections.abc import Iterator
from typing import Any

import pytest
from support.checked_work import CAROL
from support.engine import ADMIN, Pool, play
from support.rented import CREDIT, Rented, rented
from support.till import add_people

from computepool.hub.core.tables import AuditRow
from computepool.hub.disputes.service import open_dispute, resolve
from computepool.hub.disputes.tables import Dispute, DisputeState, Outcome
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balance, post
from computepool.hub.ledger.tables import EntryRow
from computepool.hub.ledger.write_offs import MoreThanOwed, NothingOwed, WrittenOff, write_off
from computepool.hub.payments import moving

ALICE, BOB, DAN = "user_ann", "user_ben", "user_dan"
ROUTE = "admin/ledger/write-offs"


@pytest.fixture
def pool(hub_url: str) -> Iterator[Rented]:
    with rented(hub_url, ALICE, BOB, DAN) as made:
        yield made


def borne(pool: Rented) -> float:
    return -pool.run(balance, platform(Platform.WRITE_OFF)) / CREDIT


def bear(pool: Rented, user: str, credits: float | None = None, name: str = "w1") -> WrittenOff:
    micros = None if credits is None else round(credits * CREDIT)
    return pool.run(write_off, name, user, micros, "gone", ADMIN, pool.now)


def cheated(pool: Rented) -> Any:
    """Ben got 80 from Ann, spent them at Dan's, and was found guilty: Ann is owed 80."""
    pool.pay_in(ALICE, 100, "paid")
    held = pool.work(ALICE, BOB, 100)
    pool.work(BOB, DAN, 80)
    pool.find_guilty(held, BOB)
    assert (pool.credits(BOB), pool.owed_to(ALICE)) == ({"debt": -80}, 80)
    return held


# ── the ledger ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_renter_who_waits_is_paid_after_it(pool):
    before = borne(pool)
    cheated(pool)
    assert pool.pay_claims() == 0
    assert bear(pool, BOB) == WrittenOff(80 * CREDIT, 0)
    assert (pool.pay_claims(), pool.owed_to(ALICE)) == (80 * CREDIT, 0)
    assert (pool.credits(ALICE), pool.credits(BOB), borne(pool) - before) == ({"available": 100}, {}, 80)
    assert pool.pay_claims() == 0


def test_part_is_written_off_and_the_rest_is_owed_still(pool):
    cheated(pool)
    bear(pool, BOB, 30)
    assert (pool.pay_claims(), pool.credits(BOB), pool.owed_to(ALICE)) == (30 * CREDIT, {"debt": -50}, 50)
    with pytest.raises(MoreThanOwed, match="50"):
        bear(pool, BOB, 50.000001, "w2")
    bear(pool, BOB, 50, "w2")
    with pytest.raises(NothingOwed, match="owes nothing"):
        bear(pool, BOB, name="w3")


def test_what_its_owner_has_left_pays_first(pool):
    before = borne(pool)
    pool.pay_in(BOB, 30, "left")
    pool.pay_in(BOB, 20, "earned", Kind.EARNINGS)
    pool.pay_in(BOB, 7, "present", Kind.PROMOTIONAL)
    gone = Posting(account(BOB, Kind.DEBT), platform(Platform.CLEARING), 60 * CREDIT)
    pool.run(post, Entry("bank", "chargeback", (gone,)), pool.now)
    with pytest.raises(MoreThanOwed, match="10"):
        bear(pool, BOB, 11)
    assert bear(pool, BOB) == WrittenOff(10 * CREDIT, 50 * CREDIT)
    assert (pool.credits(BOB), borne(pool) - before) == ({"promotional": 7}, 10)


def test_contest_that_is_upheld_later_does_not_pay_twice(pool):
    before = borne(pool)
    held = cheated(pool)
    bear(pool, BOB)
    pool.pay_claims()
    assert pool.overturn(held)
    assert (pool.credits(BOB), borne(pool) - before) == ({}, 0), "it has what it had: the 80 that it spent"


def test_bank_that_gives_back_later_does_not_pay_twice(pool):
    before = borne(pool)
    pool.pay_in(ALICE, 100, "paid")
    pool.work(ALICE, BOB, 90)
    pool.run(moving.take, "bank", "chargeback", ALICE, 100 * CREDIT, pool.now)
    bear(pool, ALICE)
    assert (pool.credits(ALICE), borne(pool) - before) == ({}, 90)
    pool.run(moving.give_back, "bank/won", "chargeback_won", ALICE, 100 * CREDIT, 0, pool.now)
    assert (pool.credits(ALICE), borne(pool) - before) == ({"available": 10}, 0)
    pool.pay_in(ALICE, 50, "again")
    assert pool.credits(ALICE) == {"available": 60}, "what is paid in anew is nobody else's"


def test_refund_that_comes_later_goes_to_the_pool_first(pool):
    before = borne(pool)
    pool.pay_in(ALICE, 100, "paid")
    held = pool.work(ALICE, BOB, 100)
    pool.run(moving.take, "bank", "chargeback", ALICE, 70 * CREDIT, pool.now)
    bear(pool, ALICE)
    pool.pay_in(ALICE, 5, "more")

    def refund(session) -> Dispute:
        job = session.get_one(Job, held.job_id)
        open_dispute(session, "dispute_1", job, "empty", pool.context().settings.dispute_window, ALICE, pool.now)
        return resolve(session, "dispute_1", Outcome.FULL, None, "it was", ADMIN, pool.now)

    assert pool.run(refund).state == DisputeState.RESOLVED
    assert (pool.credits(ALICE), borne(pool) - before) == ({"available": 35}, 0)


# ── the API ──────────────────────────────────────────────────────────────────────────────────────────────────────────


async def owing(pool: Pool, credits: int) -> None:
    await pool.db.run(add_people, pool.clock.now())
    posting = Posting(account(CAROL, Kind.DEBT), platform(Platform.CLEARING), credits * CREDIT)
    await pool.db.run(post, Entry("test/chargeback", "chargeback", (posting,)), pool.clock.now())


async def ask(pool: Pool, status: int = 201, *, user: str = ADMIN, key: str | None = None, **body: Any) -> Any:
    headers = {"Idempotency-Key": key} if key else {}
    asked = {"user": CAROL, "note": "banned", **body}
    answer = await pool.call("POST", ROUTE, asked, user=user, headers=headers)
    assert answer.status_code == status, answer.text
    return answer.json()


def test_operator_writes_a_debt_off_once_and_its_owner_sees_why(hub_url):
    async def story(pool: Pool) -> None:
        await owing(pool, 40)
        first = await ask(pool, key="k1", credits="15")
        assert (first["owner_id"], first["micros"], first["debt_micros"]) == (CAROL, 15 * CREDIT, 25 * CREDIT)
        assert await ask(pool, key="k1", credits="15") == first
        assert (await ask(pool, 409, credits=26))["error"]["code"] == "more_than_owed"
        rest = await ask(pool, key="k2")
        assert (rest["credits"], rest["debt_micros"]) == ("25", 0)
        assert await ask(pool, key="k2") == rest, "the second time nothing is owed, and it still says what was done"
        assert (await ask(pool, 409))["error"]["code"] == "nothing_owed"
        assert [row.kind for row in pool.rows(EntryRow)].count("write_off") == 2
        (newest, *_) = (await pool.call("GET", "wallet/entries", user=CAROL)).json()["items"]
        assert (newest["kind"], newest["note"], newest["change_micros"]) == ("write_off", "banned", 25 * CREDIT)
        assert newest["lines"] == [{"source": "write_off", "destination": "debt", "micros": 25 * CREDIT}]
        told = [row for row in pool.rows(AuditRow) if row.action == "debt.written_off"]
        assert [(row.actor, row.details["micros"]) for row in told] == [(ADMIN, 15 * CREDIT), (ADMIN, 25 * CREDIT)]
        report = (await pool.call("GET", "admin/reports", user=ADMIN)).json()
        assert report["totals"]["written_off_micros"] == 40 * CREDIT

    play(hub_url, story)


def test_only_operators_write_off_and_only_with_a_note(sqlite_hub):
    async def story(pool: Pool) -> None:
        await owing(pool, 40)
        await ask(pool, 403, user=CAROL)
        await ask(pool, 422, note="")
        await ask(pool, 422, credits="-1")
        wallet = (await pool.call("GET", "wallet", user=CAROL)).json()
        assert wallet["debt_micros"] == 40 * CREDIT

    play(sqlite_hub, story)
