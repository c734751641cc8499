"""Turns, limits, preemption and retries in a whole hub: with its database, its restarts, and agents that answer."""

import pytest
from support.checkpoints import save, take
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent

from computepool.hub.jobs import policy
from computepool.hub.jobs.spending import Spending
from computepool.hub.jobs.tables import Attempt, Slice
from computepool.hub.scheduling.limits import seconds_to_midnight
from computepool.hub.scheduling.usage import Usage
from computepool.protocol.messages import Offer, Stop
from computepool.protocol.receipt import EndReason
from computepool.protocol.timing import EVICT_GRACE_SECONDS

CAROL = ADMIN
BIG = {"resources": {"cpus": 2}}
SOFT = {**BIG, "preemptible": True}


async def limit(pool, user, **limits):
    answer = await pool.call("PUT", f"admin/limits/{user}", limits, user=ADMIN)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_slice_that_waits_because_room_is_kept_for_a_larger_one_is_told_so(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL, cpus=8, gpus=(gpu(0), gpu(1)))
        agent.beat_on()
        one, two = {"resources": {"gpu": 1}}, {"resources": {"gpu": 2}}
        await pool.submit(**one, user=BOB)
        work = await take(agent)
        large = await pool.submit(**two, user=ALICE)
        await pool.settle(120)
        pool.engine.scheduler.wake()
        await pool.settle(1)
        small = await pool.submit(**one, user=BOB)
        why = (await pool.call("GET", f"jobs/{small}/why", user=BOB)).json()
        assert why["waiting"][0]["free"] == 1
        assert why["summary"].startswith("What is free is kept for others")
        short = await pool.submit(**one, max_runtime="10m", user=BOB)
        assert (await pool.call("GET", f"jobs/{short}", user=BOB)).json()["state"] == "running"
        why = (await pool.call("GET", f"jobs/{large}/why", user=ALICE)).json()
        assert "busy" in why["summary"]
        await agent.finish(work)

    play(sqlite_hub, story)


def test_room_that_a_submit_lets_go_is_given_to_whoever_was_kept_from_it(sqlite_hub):
    """The slice that room is kept for failed on a node, and must not go there again; another one like it may."""

    async def story(pool):
        bad = await add_agent(pool, owner=CAROL, name="bad", cpus=2, gpus=(gpu(0), gpu(1)))
        large = {"resources": {"gpu": 2, "cpus": 1}, "user": ALICE}
        await pool.submit(**large)
        work = await bad.take_offer()
        kept = await add_agent(pool, owner=CAROL, name="kept", cpus=8, gpus=(gpu(0), gpu(1)))
        small = {"resources": {"gpu": 1, "cpus": 4}, "user": BOB}
        await pool.submit(**small)
        await take(kept)
        await bad.finish(work, reason=EndReason.SANDBOX, exit_code=None)
        for agent in (bad, kept):
            agent.beat_on()
        await pool.settle(120)
        pool.engine.scheduler.wake()
        await pool.settle(1)
        assert len(pool.engine.scheduler.admission.reservations) == 1
        other = await pool.submit(**small)
        assert (await pool.job(other, user=BOB)).state == "queued"
        again = await pool.submit(**large)
        assert (await bad.take_offer()).manifest.job_id == again
        assert len(pool.engine.scheduler.admission.reservations) == 0
        assert (await kept.take_offer()).manifest.job_id == other

    play(sqlite_hub, story)


# ── turns ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_renter_who_comes_later_has_the_next_slot(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        await pool.submit(**BIG, user=ALICE, slices=100)
        work = await take(agent)
        await pool.settle(600)
        single = await pool.submit(**BIG, user=BOB)
        why = (await pool.call("GET", f"jobs/{single}/why", user=BOB)).json()
        assert why["waiting"][0]["position"] == 0
        await agent.finish(work)
        assert (await agent.take_offer()).manifest.job_id == single

    play(sqlite_hub, story)


def test_what_was_used_is_remembered_when_the_hub_starts_again(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL, cpus=4)
        agent.beat_on()
        await pool.submit(**BIG, user=ALICE)
        work = await take(agent)
        await pool.settle(1800)
        await agent.finish(work)
        await pool.submit(**BIG, user=BOB)
        await take(agent)
        await pool.settle(600)
        scheduler = pool.engine.scheduler
        before = [scheduler.occupancy.usage.of(user, pool.clock.monotonic()) for user in (ALICE, BOB)]
        await pool.restart(down_seconds=1)
        scheduler = pool.engine.scheduler
        after = [scheduler.occupancy.usage.of(user, pool.clock.monotonic()) for user in (ALICE, BOB)]
        assert before[0] > before[1] > 0
        assert after == pytest.approx(before, rel=0.01)
        assert scheduler.occupancy.share(BOB).slices == 1
        assert scheduler.occupancy.share(ALICE).slices == 0

    play(hub_url, story)


# ── limits ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_slice_beyond_a_limit_waits_says_so_and_runs_when_there_is_room_within_it(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL, cpus=4)
        shown = await limit(pool, ALICE, slices=1)
        assert (shown["slices"], shown["daily_micros"]) == (1, None)
        first, second = [await pool.submit(user=ALICE) for _ in range(2)]
        work = await take(agent)
        await pool.settle()
        assert (work.manifest.job_id, agent.unread(Offer)) == (first, [])
        why = (await pool.call("GET", f"jobs/{second}/why", user=ALICE)).json()
        assert why["summary"].startswith("You may run 1 slice at once on other people's nodes")
        assert (await pool.call("GET", "me/limits", user=ALICE)).json()["running_slices"] == 1
        other = await pool.submit(user=BOB)
        assert (await agent.take_offer()).manifest.job_id == other
        await pool.restart()
        await agent.connect()
        await pool.settle()
        assert agent.unread(Offer) == []
        await agent.finish(work)
        assert (await agent.take_offer()).manifest.job_id == second

    play(hub_url, story)


def test_limit_that_is_lifted_is_no_limit(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL, cpus=4)
        await limit(pool, ALICE, slices=1)
        await pool.submit(user=ALICE, slices=2)
        await take(agent)
        await limit(pool, ALICE)
        await agent.take_offer()

    play(sqlite_hub, story)


def test_limits_are_an_admins_to_set_and_of_somebody_who_is_there(sqlite_hub):
    async def story(pool):
        assert (await pool.call("PUT", f"admin/limits/{ALICE}", {"slices": 1}, user=ALICE)).status_code == 403
        assert (await pool.call("PUT", "admin/limits/user_nobody", {"slices": 1}, user=ADMIN)).status_code == 404
        assert (await pool.call("GET", "admin/limits/user_nobody", user=ADMIN)).status_code == 404
        assert (await pool.call("GET", f"admin/limits/{ALICE}", user=ALICE)).status_code == 403
        bad_ones = [{"slices": 0}, {"slices": -1}, {"slices": True}, {"slices": "5"}, {"hourly_micros": 1.0}]
        for bad in (*bad_ones, {"daily_micros": 10**16}, {"weekly_micros": 5}):
            assert (await pool.call("PUT", f"admin/limits/{ALICE}", bad, user=ADMIN)).status_code == 422, bad

    play(sqlite_hub, story)


def test_what_an_attempt_cost_is_counted_for_its_day_and_kept(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        await pool.submit(**BIG, user=ALICE)
        work = await take(agent)
        await pool.settle(1800)
        await agent.finish(work)
        price = pool.attempt(work.id).price_micros
        assert price > 0
        [row] = pool.rows(Spending)
        assert (row.owner_id, row.day) == (ALICE, pool.clock.now().date().isoformat())
        assert row.micros == pytest.approx(price / 2, rel=0.01)
        await pool.restart()
        shown = (await pool.call("GET", "me/limits", user=ALICE)).json()
        assert shown["spent_today_micros"] == shown["spent_this_month_micros"] == row.micros

    play(hub_url, story)


def test_day_that_begins_lets_those_go_on_who_waited_for_it(sqlite_hub):
    async def story(pool):
        pool.clock.wall_error_seconds += seconds_to_midnight(pool.clock.now()) - 5000  # it is evening
        agent = await add_agent(pool, owner=CAROL)
        agent.beat_on()
        await pool.submit(**BIG, max_runtime="1h", user=ALICE)
        work = await take(agent)
        await pool.settle(3000)
        await agent.finish(work)
        price = pool.attempt(work.id).price_micros
        await limit(pool, ALICE, daily_micros=price)
        waiting = await pool.submit(**BIG, max_runtime="1h", user=ALICE)
        await pool.settle()
        assert agent.unread(Offer) == []
        await pool.settle(seconds_to_midnight(pool.clock.now()) - 5)
        assert agent.unread(Offer) == []
        await pool.settle(10)
        assert (await agent.take_offer()).manifest.job_id == waiting

    play(sqlite_hub, story)


# ── preemption ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_preemptible_slice_costs_less(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL, cpus=4)
        await pool.submit(**BIG, user=ALICE)
        await pool.submit(**SOFT, user=BOB)
        prices = [pool.attempt((await agent.take_offer()).id).price_micros for _ in range(2)]
        assert prices[1] == -(-prices[0] * 70 // 100)

    play(sqlite_hub, story)


@pytest.mark.parametrize("old_agent", [False, True], ids=["new agent", "old agent"])
def test_preemptible_slice_makes_room_goes_on_from_its_checkpoint_and_loses_nothing(hub_url, old_agent):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        soft = await pool.submit(**SOFT, user=ALICE)
        work = await take(agent)
        await save(pool, agent, work, 1, step=b"1")
        firm = await pool.submit(**BIG, user=BOB)
        stop = await agent.expect(Stop)
        assert (stop.attempt_id, stop.reason, stop.grace_seconds) == (work.id, "evicted", EVICT_GRACE_SECONDS)
        if old_agent:
            await agent.finish(work, reason=EndReason.CANCELED, exit_code=143, detail="stopped by the hub: evicted")
        else:
            await agent.gone(work, "preempted")
        row, part = pool.attempt(work.id), pool.slice_of(work)
        assert (row.verdict, row.reason) == ("preempted", "preempted")
        assert (part.state, part.failures, part.losses, part.avoid) == ("queued", 0, 0, [])
        its = await take(agent)
        assert its.manifest.job_id == firm
        await agent.finish(its)
        again = await take(agent)
        assert (again.manifest.job_id, again.manifest.saved.number) == (soft, 1)
        await agent.finish(again)
        assert (await pool.job(soft)).state == "succeeded"

    play(hub_url, story)


def test_ceiling_that_the_pool_chose_is_no_bid(sqlite_hub):
    """While nothing is free a silent job gets a higher ceiling: it takes no slot from one that was silent before."""

    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        agent.beat_on()
        first = await pool.submit(**SOFT, user=ALICE)
        await take(agent)
        silent = await pool.submit(**SOFT, user=BOB)
        await pool.settle(60)
        ceilings = [
            (await pool.call("GET", f"jobs/{job}", user=user)).json()["ceiling_micros"]
            for job, user in ((first, ALICE), (silent, BOB))
        ]
        assert ceilings[0] < ceilings[1]
        assert (await pool.call("GET", f"jobs/{first}", user=ALICE)).json()["state"] == "running"
        assert pool.engine.scheduler.admission.claims.count(pool.engine.scheduler.briefs[silent].requirements) == 0
        bids = await pool.submit(**SOFT, max_price=50, user=BOB)
        await pool.settle(1)
        assert pool.engine.scheduler.admission.claims.count(pool.engine.scheduler.briefs[bids].requirements) == 1

    play(sqlite_hub, story)


def test_preempted_again_and_again_is_never_given_up(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        soft = await pool.submit(**SOFT, user=ALICE)
        for _ in range(12):
            work = await take(agent)
            await pool.submit(**BIG, user=BOB)
            assert (await agent.expect(Stop)).attempt_id == work.id
            await agent.gone(work, "preempted")
            await agent.run_next()
        await agent.run_next()
        assert (await pool.job(soft)).state == "succeeded"

    play(sqlite_hub, story)


def test_node_that_says_preempted_without_being_asked_has_failed(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        await pool.submit(**SOFT, user=ALICE)
        work = await take(agent)
        await agent.gone(work, "preempted")
        assert pool.attempt(work.id).verdict == "host"

    play(sqlite_hub, story)


def test_one_that_finishes_within_its_grace_has_finished(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        soft = await pool.submit(**SOFT, user=ALICE)
        work = await take(agent)
        await pool.submit(**BIG, user=BOB)
        await agent.expect(Stop)
        await agent.finish(work)
        assert (await pool.job(soft)).state == "succeeded"

    play(sqlite_hub, story)


def test_word_to_make_room_is_said_again_after_a_restart(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        await pool.submit(**SOFT, user=ALICE)
        work = await take(agent)
        agent.pipe.deaf = True
        await pool.submit(**BIG, user=BOB)
        await pool.settle()
        await pool.restart()
        await agent.connect()
        stop = await agent.expect(Stop)
        assert (stop.attempt_id, stop.reason) == (work.id, "evicted")
        await agent.gone(work, "preempted")
        assert pool.attempt(work.id).verdict == "preempted"

    play(sqlite_hub, story)


def test_firm_slice_is_never_told_to_make_room(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL)
        await pool.submit(**BIG, user=ALICE)
        await take(agent)
        await pool.submit(**BIG, user=BOB, max_price=1000)
        await pool.settle(120)
        assert agent.unread(Stop) == []

    play(sqlite_hub, story)


# ── retries ──────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(("reason", "code"), [(EndReason.EXITED, 3), (EndReason.SANDBOX, None)])
def test_slice_that_fails_the_same_way_on_three_nodes_stops_and_says_so(sqlite_hub, reason, code):
    async def story(pool):
        job_id = await pool.submit(retries=50)
        for number in range(3):
            agent = await add_agent(pool, name=f"n{number}")
            work = await agent.take_offer()
            await agent.finish(work, reason=reason, exit_code=code)
            await agent.disconnect()
            await pool.settle(60)
        job = await pool.job(job_id)
        assert job.state == "failed"
        assert job.message.startswith("The job failed in the same way on 3 nodes, so it was not tried again.")

    play(sqlite_hub, story)


def test_slice_that_fails_each_time_in_another_way_is_tried_as_often_as_it_may(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit(retries=5)
        for number in range(5):
            agent = await add_agent(pool, name=f"n{number}")
            await agent.run_next(exit_code=1 + number % 3)
            await agent.disconnect()
            await pool.settle(60)
        assert (await pool.job(job_id)).state == "running"

    play(sqlite_hub, story)


def test_retry_runs_only_what_did_not_succeed_with_its_numbers(hub_url):
    async def story(pool):
        agent = await add_agent(pool, cpus=8)
        job_id = await pool.submit(slices=5)
        for work in [await take(agent) for _ in range(5)]:
            await agent.finish(work, exit_code=work.manifest.slice_index % 2)
        job = await pool.job(job_id)
        assert [(one.count, one.slices, one.exit_code) for one in job.failures] == [(2, "1, 3", 1)]
        again = (await pool.call("POST", f"jobs/{job_id}/retry")).json()
        assert (again["retry_of"], again["slice_count"], again["slice_indices"]) == (job_id, 2, [1, 3])
        assert [part["index"] for part in again["slices"]] == [1, 3]
        works = [await take(agent) for _ in range(2)]
        assert [(work.manifest.slice_index, work.manifest.slices) for work in works] == [(1, 5), (3, 5)]
        await pool.restart()
        await agent.connect()
        await agent.finish(works[0])
        await agent.finish(works[1], exit_code=9)
        shown = (await pool.call("GET", f"jobs/{again['id']}")).json()
        assert (shown["state"], shown["counts"], shown["next_slice"]) == ("failed", {"succeeded": 1, "failed": 1}, None)
        third = (await pool.call("POST", f"jobs/{again['id']}/retry")).json()
        assert third["slice_indices"] == [3]
        log = await pool.call("GET", f"jobs/{third['id']}/logs?slice=1")
        assert (log.status_code, "not one of them" in log.text) == (404, True)

    play(hub_url, story)


def test_retry_of_all_or_of_a_job_that_succeeded_runs_everything(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=8)
        job_id = await pool.submit(slices=2)
        for code in (0, 1):
            await agent.run_next(exit_code=code)
        every = (await pool.call("POST", f"jobs/{job_id}/retry?all=true")).json()
        assert (every["slice_count"], every["slice_indices"]) == (2, None)
        for _ in range(2):
            await agent.run_next()
        again = (await pool.call("POST", f"jobs/{every['id']}/retry")).json()
        assert (again["slice_count"], again["slice_indices"]) == (2, None)

    play(sqlite_hub, story)


# ── mutants ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_preemption_that_counts_as_a_loss_is_found(monkeypatch, sqlite_hub):
    real = policy.next_step

    def careless(ending, tries, *, cancel_requested):
        step = real(ending, tries, cancel_requested=cancel_requested)
        lost = ending.verdict == "preempted"
        return step if not lost else policy.Next(step.state, step.failures, tries.losses + 1, step.delay_seconds)

    monkeypatch.setattr("computepool.hub.jobs.ending.next_step", careless)
    with pytest.raises(AssertionError):
        test_preemptible_slice_makes_room_goes_on_from_its_checkpoint_and_loses_nothing(sqlite_hub, old_agent=False)


def test_use_that_is_forgotten_by_a_restart_is_found(monkeypatch, sqlite_hub):
    monkeypatch.setattr(Usage, "remember", lambda *args: None)
    with pytest.raises(AssertionError):
        test_what_was_used_is_remembered_when_the_hub_starts_again(sqlite_hub)


def test_every_attempt_has_its_weight_and_every_slice_its_row(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=CAROL, cpus=8)
        await pool.submit(**BIG, user=ALICE)
        await pool.submit(**BIG, user=CAROL)
        await agent.take_offer()
        await agent.take_offer()
        assert sorted(row.weight for row in pool.rows(Attempt)) == [0, 2000]
        assert len(pool.rows(Slice)) == 2

    play(sqlite_hub, story)
