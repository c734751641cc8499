"""Slices that cannot be paid wait, say so, start by themselves when credits come, and are in nobody's way."""

from support.checked_work import add_agents, answer
from support.checkpoints import take
from support.engine import ADMIN, ALICE, BOB, play
from support.money import give_credits
from support.scripted_agent import add_agent

from computepool.hub.core.records import Event
from computepool.hub.jobs.funding import Unfunded, Want
from computepool.hub.jobs.tables import Attempt, Slice
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.journal import SPENDABLE, balances
from computepool.hub.market.requirements import Requirements
from computepool.hub.scheduling.purse import Purse
from computepool.protocol.messages import Offer, Stop

POOR = "user_poor"
HOST = ADMIN
BIG = {"resources": {"cpus": 2}}


async def add_poor(pool, credits=0.0):
    await add_agents(pool, POOR, connect=False)
    if credits:
        await give(pool, POOR, credits)


async def give(pool, owner, credits, key="first"):
    await pool.db.run(give_credits, owner, pool.clock.now(), credits, key=key)
    await pool.settle()


async def has(pool, owner):
    return {kind: micros for kind, micros in (await pool.db.read(balances, owner)).items() if micros}


def test_renter_without_credits_waits_and_is_told_how_many_are_missing(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=HOST)
        await add_poor(pool)
        job_id = await pool.submit(**BIG, user=POOR, max_runtime="1h")
        await pool.settle()
        assert agent.unread(Offer) == []
        why = (await pool.call("GET", f"jobs/{job_id}/why", user=POOR)).json()
        assert why["summary"].startswith(
            "You do not have enough credits: the job needs a hold of 2, and you have 0, so 2 "
        )
        await give(pool, POOR, 1.5)
        why = (await pool.call("GET", f"jobs/{job_id}/why", user=POOR)).json()
        assert "and you have 1.5, so 0.5 are missing" in why["summary"]
        assert "Ask the operator for them. It then starts automatically." in why["summary"], "this pool takes no cards"
        assert agent.unread(Offer) == []
        await give(pool, POOR, 0.5, key="second")
        assert (await take(agent)).manifest.job_id == job_id
        assert await has(pool, POOR) == {Kind.HELD: 2_000_000}

    play(hub_url, story)


def test_what_ends_pays_for_what_waits(sqlite_hub):
    async def story(pool):
        agents = [await add_agent(pool, name=name, owner=HOST) for name in ("one", "two")]
        for agent in agents:
            agent.beat_on()
        await add_poor(pool, 3)
        first = await pool.submit(**BIG, user=POOR)
        second = await pool.submit(**BIG, user=POOR)
        await pool.settle(600)
        busy = next(agent for agent in agents if agent.works)
        work = await take(busy)
        assert work.manifest.job_id == first
        assert [len(agent.works) for agent in agents].count(0) == 1, "there is room, and no money"
        await pool.settle(1000)
        await busy.finish(work)
        await pool.settle(1)
        assert (await pool.job(second, user=POOR)).state == "running"

    play(sqlite_hub, story)


def test_ten_thousand_slices_of_somebody_poor_keep_nobody_waiting(sqlite_hub):
    async def story(pool):
        agents = [await add_agent(pool, name=f"node-{index}", owner=HOST, cpus=64) for index in range(2)]
        for agent in agents:
            agent.beat_on()
        await add_poor(pool, 4.5)
        many = await pool.submit(user=POOR, slices=10_000, resources={"cpus": 1})
        await pool.settle(5)
        running = [row for row in pool.rows(Slice, job_id=many) if row.state == "running"]
        assert len(running) == 4
        looked = pool.db.commits.count("lease")
        await pool.settle(300)
        assert pool.db.commits.count("lease") - looked <= 2, "nothing happens, so nobody looks"
        other = await pool.submit(user=ALICE, **BIG)
        await pool.settle(1)
        assert (await pool.job(other)).state == "running"

    play(sqlite_hub, story)


def test_job_is_stored_although_it_cannot_be_paid_when_the_memory_is_wrong(sqlite_hub):
    async def story(pool):
        await add_agent(pool, owner=HOST)
        await add_poor(pool)
        pool.engine.scheduler.purse.load({POOR: 10**12})
        job_id = await pool.submit(**BIG, user=POOR)
        await pool.settle()
        assert (await pool.job(job_id, user=POOR)).state == "queued"
        assert pool.rows(Attempt) == []
        assert pool.engine.scheduler.purse.left(POOR) == 0
        commits = len(pool.db.commits)
        await pool.settle(20)
        assert pool.db.commits.count("lease") <= 2
        assert len(pool.db.commits) - commits < 20

    play(sqlite_hub, story)


def test_memory_that_was_wrong_is_right_after_some_were_held_and_some_refused(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=HOST, cpus=64)
        agent.beat_on()
        await add_poor(pool, 5)
        pool.engine.scheduler.purse.load({POOR: 10**12})
        await pool.submit(user=POOR, slices=20, resources={"cpus": 2}, max_runtime="1h")
        await pool.settle(5)
        assert len(agent.works) == 2
        assert pool.engine.scheduler.purse.left(POOR) == (await has(pool, POOR))[Kind.AVAILABLE] == 1_000_000

    play(sqlite_hub, story)


def test_purse_is_the_same_after_a_restart(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=HOST)
        await add_poor(pool, 7)
        await pool.submit(**BIG, user=POOR, max_runtime="1h")
        work = await take(agent)
        before = pool.engine.scheduler.purse.left(POOR)
        assert before == 5_000_000
        await pool.restart()
        assert pool.engine.scheduler.purse.left(POOR) == before
        await agent.connect()
        await pool.settle(100)
        await agent.finish(work)
        await pool.settle()
        assert pool.engine.scheduler.purse.left(POOR) == sum((await has(pool, POOR)).values())

    play(sqlite_hub, story)


def test_budget_of_a_job_is_kept_by_all_its_slices(sqlite_hub):
    async def story(pool):
        agents = [await add_agent(pool, name=f"node-{index}", owner=HOST) for index in range(3)]
        for agent in agents:
            agent.beat_on()
        job_id = await pool.submit(**BIG, user=ALICE, slices=3, budget="4")
        await pool.settle(1)
        working = [agent for agent in agents if agent.works]
        assert len(working) == 2
        why = (await pool.call("GET", f"jobs/{job_id}/why")).json()
        assert "rest of the budget is held" in why["summary"]
        other = await pool.submit(**BIG, user=ALICE)
        await pool.settle(1)
        assert (await pool.job(other)).state == "running", "another job of theirs has money of its own"
        for agent in working:
            work = await take(agent)
            await pool.settle(3600)
            await agent.finish(work)
        await pool.settle(1)
        job = await pool.job(job_id)
        assert (job.state, job.verdict) == ("failed", "budget")
        assert "ran out of budget" in (job.message or "")

    play(sqlite_hub, story)


def test_job_whose_budget_is_too_small_to_begin_says_what_it_takes(sqlite_hub):
    async def story(pool):
        await add_agent(pool, owner=HOST)
        job_id = await pool.submit(**BIG, user=ALICE, budget="0.05")
        await pool.settle(1)
        job = await pool.job(job_id)
        assert (job.state, job.verdict, job.started_at) == ("failed", "budget", None)
        words = (
            "The budget of 0.05 is too small to start: a slice needs a hold of 0.1, at 2 an hour."
            " Raise `budget`, or set `max_runtime` to 1m30s or less."
        )
        assert job.message == words
        why = (await pool.call("GET", f"jobs/{job_id}/why")).json()
        assert why["summary"] == f"It failed: it waits for nothing. {words}"
        shorter = await pool.submit(**BIG, user=ALICE, budget="0.05", max_runtime="1m30s")
        await pool.settle(1)
        assert (await pool.job(shorter)).state == "running"

    play(sqlite_hub, story)


def test_budget_of_nothing_is_for_nodes_that_cost_nothing(sqlite_hub):
    async def story(pool):
        await add_agent(pool, owner=HOST)
        job_id = await pool.submit(**BIG, user=ALICE, budget="0")
        await pool.settle(1)
        assert (await pool.job(job_id)).state == "queued", "it waits, and does not fail"
        (why,) = (await pool.call("GET", f"jobs/{job_id}/why")).json()["waiting"]
        assert why["suggestions"] == ["a larger budget, and max_price: 2 (+2 credits an hour) would find a node"]
        await add_agent(pool, name="own", owner=ALICE)
        await pool.settle(1)
        assert (await pool.job(job_id)).state == "running"

    play(sqlite_hub, story)


def test_replicated_job_whose_budget_is_spent_comes_to_an_end(sqlite_hub):
    """The answer that is there waits for nobody who could not be paid."""

    async def story(pool):
        agents = await add_agents(pool, HOST, BOB)
        for agent in agents:
            agent.beat_on()
        twice = {"deterministic": True, "verify": {"replicas": 2}, "outputs": ["out"]}
        job_id = await pool.submit(**BIG, **twice, user=ALICE, budget="2")
        await pool.settle(1)
        (working,) = [agent for agent in agents if agent.works]
        await answer(working, seconds=3600)
        await pool.settle(10)
        job = await pool.job(job_id)
        assert (job.state, job.verdict) == ("failed", "budget")
        assert not pool.engine.scheduler.queue
        assert not pool.engine.scheduler.briefs

    play(sqlite_hub, story)


def test_without_money_nothing_is_priced_or_held(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=HOST)
        await add_poor(pool)
        await pool.submit(**BIG, user=POOR, max_runtime="1h")
        work = await take(agent)
        await pool.settle(100)
        await agent.finish(work)
        row = pool.attempt(work.id)
        assert (row.price_micros, row.terms, row.cost_micros) == (0, None, 0)
        assert pool.rows(HoldRow) == []

    play(sqlite_hub, story, settings={"money": "off"})


# ── long attempts ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_long_attempt_is_settled_hour_by_hour(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=HOST)
        agent.beat_on()
        await add_poor(pool, 100)
        await pool.submit(**BIG, user=POOR, max_runtime="10h")
        work = await take(agent)
        price = pool.attempt(work.id).price_micros
        assert (await has(pool, POOR))[Kind.HELD] == -(-price * 3720 // 3600)
        await pool.settle(3700)
        row = pool.attempt(work.id)
        assert row.cost_micros > 0
        assert [hold.resolved_at is None for hold in pool.rows(HoldRow)] == [False, True]
        assert (await has(pool, HOST))[Kind.EARNINGS] == row.earned_micros == row.cost_micros - row.cost_micros // 5
        await pool.restart()
        await agent.connect()
        agent.beat_on()
        await pool.settle(2 * 3600)
        await agent.finish(work)
        row = pool.attempt(work.id)
        ran = (row.finished_at - row.started_at).total_seconds()
        assert abs(row.billed_seconds - ran) <= 1
        assert abs(row.cost_micros - price * ran / 3600) <= price / 3600 + 4
        assert Kind.HELD not in await has(pool, POOR)

    play(hub_url, story)


def test_attempt_whose_money_is_over_saves_its_work_and_ends_with_the_verdict_budget(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=HOST)
        agent.beat_on()
        await add_poor(pool, 3)
        job_id = await pool.submit(**BIG, user=POOR, max_runtime="10h", retries=5)
        work = await take(agent)
        stop = await agent.expect(Stop) if agent.unread(Stop) else None
        while stop is None:
            await pool.settle(60)
            stop = agent.unread(Stop)[0] if agent.unread(Stop) else None
        assert (stop.attempt_id, stop.reason) == (work.id, "evicted")
        row = pool.attempt(work.id)
        assert row.leave_for == "budget"
        await pool.settle(20)
        await agent.finish(work, exit_code=None, reason="canceled")
        await pool.settle(1)
        job = await pool.job(job_id, user=POOR)
        assert (job.state, job.verdict, job.reason) == ("failed", "budget", "budget")
        assert (job.message or "").startswith("The job's budget or your credits ran out")
        left = await has(pool, POOR)
        assert set(left) <= {Kind.AVAILABLE}
        assert sum(left.values()) + pool.attempt(work.id).cost_micros == 3_000_000
        assert len(pool.rows(Attempt)) == 1, "it is not tried again"

    play(sqlite_hub, story)


def test_hub_that_was_away_bills_no_more_than_was_held(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=HOST)
        await add_poor(pool, 100)
        await pool.submit(**BIG, user=POOR, max_runtime="30h")
        work = await take(agent)
        price = pool.attempt(work.id).price_micros
        await pool.settle(100)
        await pool.restart(down_seconds=8 * 3600)
        await agent.connect()
        agent.beat_on()
        await pool.settle(100)
        await agent.finish(work)
        assert pool.attempt(work.id).cost_micros <= -(-price * (3720 + 300) // 3600)

    play(sqlite_hub, story)


# ── the purse itself ─────────────────────────────────────────────────────────────────────────────────────────────────


def told(owner, micros, hold=None):
    return Event(SPENDABLE, {"owner": owner, "micros": micros, "hold": hold}, None, kept=False)  # type: ignore[arg-type]


def needs(**fields):
    return Requirements(owner_id=BOB, cpu_millis=1000, memory_bytes=1, disk_bytes=1, seconds=3600.0, **fields)


def test_what_is_being_leased_is_not_spent_again():
    purse = Purse()
    purse.load({BOB: 10})
    purse.place("attempt_1", BOB, 6, 3600)
    assert purse.left(BOB) == 4
    assert purse.within(needs(max_price_micros=6)).max_price_micros == 4
    purse.hear([told(BOB, -6, "attempt_1")])
    purse.forget("attempt_1")
    assert purse.left(BOB) == 4


def test_credits_can_be_bought_only_where_cards_are_taken():
    assert "`computepool wallet top-up`, or ask the operator. It" in Purse().words(needs(), 6)
    assert "top-up" not in Purse(takes_cards=False).words(needs(), 6)


def test_changes_may_come_in_any_order():
    purse = Purse()
    purse.hear([told(BOB, -5)])
    purse.hear([told(BOB, +9)])
    assert purse.left(BOB) == 4


def test_only_who_was_short_wakes_the_scheduler():
    purse = Purse()
    assert not purse.hear([told(BOB, 5)])
    purse.within(needs(max_price_micros=6))
    assert not purse.hear([told(ALICE, 5), told(BOB, -1)])
    assert purse.hear([told(BOB, 5)])
    assert not purse.hear([told(BOB, 5)]), "nobody has looked since"


def short_of(needed, *, has):
    return Unfunded("attempt_1", "job_1", 0, 0, "job_1", BOB, Want.CREDITS, needed, has)


def test_old_answer_of_the_ledger_does_not_overrule_newer_news():
    purse = Purse()
    before = purse.heard([BOB])
    purse.hear([told(BOB, 50)])
    purse.refused([short_of(40, has=0)], before)
    assert purse.left(BOB) == 50
    purse.refused([short_of(60, has=30)], purse.heard([BOB]))
    assert purse.left(BOB) == 30


def test_own_nodes_and_the_platform_need_no_purse():
    purse = Purse()
    mine = needs(mine_only=True)
    assert purse.within(mine) is mine
    assert purse.within(needs(max_price_micros=0)).max_price_micros == 0
