"""What a guilty node gives back, in the ledger: to the renter what is left of it, and the rest when it is earned."""

from sqlalchemy.orm import Session
from support.checked_work import CAROL, DAVE, ERIN, add_agents, answer, judged_by, trust
from support.engine import ALICE, BOB, play

from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.tables import OutboxRow
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balance, balances, post
from computepool.hub.payments import moving
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.trust.restitution import carry_out, overturn
from computepool.hub.trust.tables import Check, Clawback

SAME = {"deterministic": True, "outputs": ["out"]}
TWICE = {**SAME, "verify": {"replicas": 2}}


async def has(pool, owner):
    return {kind: micros for kind, micros in (await pool.db.read(balances, owner)).items() if micros}


async def caught(pool, keeps=None):
    """Bob is paid for a wrong result, spends all but what he keeps of it, and is found out."""
    before = await has(pool, ALICE)
    (bob,) = await add_agents(pool, BOB)
    await pool.submit(**SAME)
    work = await answer(bob, b"wrong", seconds=60)
    paid = pool.attempt(work.id)
    assert paid.cost_micros > paid.earned_micros > 0
    if keeps is not None:
        spend = Posting(account(BOB, Kind.EARNINGS), platform(Platform.CLEARING), paid.earned_micros - keeps)
        await pool.db.run(post, Entry("cash_out/test", "test", (spend,)), pool.clock.now())
    judges = await add_agents(pool, CAROL, DAVE, ERIN, connect=False)
    await trust(pool, *judges)
    for judge in judges:
        if all(row.state == "open" for row in pool.rows(Check)):
            await judged_by(pool, judge, b"right")
    await pool.settle(120)
    return before, paid


def adds_up(pool):
    with Session(pool.db.engine) as session:
        report = check(session, INVARIANTS)
    assert report.balanced, report.problems


def test_renter_gets_back_all_that_a_wrong_result_cost(hub_url):
    async def story(pool):
        before, paid = await caught(pool)
        (row,) = pool.rows(Clawback)
        assert (row.state, row.micros, row.renter_id) == ("done", paid.cost_micros, ALICE)
        assert await has(pool, ALICE) == before
        assert (await has(pool, BOB)).get(Kind.EARNINGS, 0) == 0
        assert pool.attempt(paid.id).cost_micros == 0
        adds_up(pool)

    play(hub_url, story)


def test_judges_are_paid_by_the_platform(sqlite_hub):
    async def story(pool):
        await caught(pool)
        hidden = [row.id for row in pool.rows(Job) if row.owner_id == PLATFORM]
        paid = [row for row in pool.rows(Attempt) if row.job_id in hidden and row.earned_micros]
        assert await pool.db.read(balance, platform(Platform.SUBSIDY)) <= -sum(row.earned_micros for row in paid)
        adds_up(pool)

    play(sqlite_hub, story)


def test_what_was_spent_already_comes_back_when_the_debt_is_filled(hub_url):
    async def story(pool):
        before, paid = await caught(pool, keeps=5)
        owed = paid.earned_micros - 5
        assert (await has(pool, BOB))[Kind.DEBT] == -owed
        assert await has(pool, ALICE) == {**before, Kind.AVAILABLE: before[Kind.AVAILABLE] - owed}
        assert not await pool.db.run(carry_out, paid.id, pool.clock.now()), "once"
        assert (await pool.call("GET", "wallet")).json()["owed_to_you_micros"] == owed
        await pool.db.run(moving.credit, "top-up/1", "top_up", BOB, owed - 1, pool.clock.now())
        await pool.settle(120)
        assert (await has(pool, ALICE))[Kind.AVAILABLE] == before[Kind.AVAILABLE] - 1
        await pool.db.run(moving.credit, "top-up/2", "top_up", BOB, 1, pool.clock.now())
        await pool.settle(120)
        assert await has(pool, ALICE) == before
        assert (await pool.call("GET", "wallet")).json()["owed_to_you_micros"] == 0
        told = [row.payload["micros"] for row in pool.rows(OutboxRow, topic=f"owner/{ALICE}") if is_paid(row)]
        assert told == [owed - 1, 1]
        adds_up(pool)

    play(hub_url, story)


def is_paid(row: OutboxRow) -> bool:
    return row.payload["action"] == "restitution.paid"


def test_finding_that_does_not_last_is_made_good_by_the_platform(sqlite_hub):
    async def story(pool):
        before, paid = await caught(pool)
        earned = (await has(pool, BOB)).get(Kind.EARNINGS, 0)
        events = [row for row in pool.rows(ReputationEvent, attempt_id=paid.id) if row.reason == "failed_audit"]

        def uphold(session):
            event = session.get_one(ReputationEvent, events[0].id)
            event.contested_at, event.resolution = pool.clock.now(), "upheld"

        await pool.db.run(uphold)
        await pool.settle(120)
        (overturned,) = pool.rows(Clawback)
        assert overturned.state == "overturned"
        assert await has(pool, ALICE) == before, "the renter keeps it"
        assert (await has(pool, BOB))[Kind.EARNINGS] == earned + paid.earned_micros
        assert not await pool.db.run(overturn, paid.id, overturned.check_id, pool.clock.now()), "once"
        adds_up(pool)

    play(sqlite_hub, story)


def test_outvoted_replica_is_not_paid_in_the_end(sqlite_hub):
    async def story(pool):
        before = sum((await has(pool, ALICE)).values())
        bob, carol = await add_agents(pool, BOB, CAROL)
        await pool.submit(**TWICE)
        wrong = await answer(bob, b"wrong", seconds=100.0)
        right = await answer(carol)
        (dave,) = await add_agents(pool, DAVE)
        third = await answer(dave)
        await pool.settle(120)
        assert pool.attempt(wrong.id).verdict == "host"
        assert (await has(pool, BOB)).get(Kind.EARNINGS, 0) == 0
        spent = sum(pool.attempt(work.id).cost_micros for work in (right, third))
        assert sum((await has(pool, ALICE)).values()) == before - spent
        adds_up(pool)

    play(sqlite_hub, story)
