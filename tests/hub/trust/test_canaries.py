"""Canaries: work with a known result that the hub sends now and then, and that looks like any other."""

from datetime import timedelta
from random import Random

import pytest
from support.checked_work import CAROL, DAVE, ERIN, add_agents, answer, deliver, judged_by, trust
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import gpu

from computepool.hub.artifacts.tables import Artifact, ArtifactState
from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.reputation.tables import Reputation
from computepool.hub.trust import canaries
from computepool.hub.trust.canaries import MOST_AT_ONCE, draw_below, draw_count
from computepool.hub.trust.tables import Check, Clawback

SAME = {"deterministic": True, "outputs": ["out"]}
FRANK, GRACE = "user_frank", "user_grace"
OFTEN = {"canary_rate_per_day": 100}
BY_HAND = {"canary_rate_per_day": 0}
HOURS = 3600.0
ITS_OWN = {"node_id", "job_id", "attempt_id", "fence", "issued_at", "expires_at"}
"""What differs between any two orders."""


async def known_job(pool, **fields):
    """A job of Alice's whose result Bob gave and Carol confirmed. They leave."""
    (bob,) = await add_agents(pool, BOB, **fields)
    spec = SAME | ({"resources": {"gpu": 1}} if fields.get("gpus") else {})
    job_id = await pool.submit(**spec)
    work = await answer(bob, seconds=30)
    await bob.disconnect()
    (carol,) = await add_agents(pool, CAROL, connect=False, **fields)
    await judged_by(pool, carol, b"right")
    return job_id, work, [bob, carol]


async def offered(pool, agent, hours=3):
    """Its next offer, or None if there is none for so long: about four are due in an hour."""
    agent.beat_on()
    for _ in range(hours * 12):
        if any(work.state == "leased" for work in agent.works.values()):
            return await agent.take_offer()
        await pool.settle(300)
    return None


async def by_hand(pool, job_id, node):
    return await pool.call("POST", "admin/canaries", {"job_id": job_id, "node_id": node.node_id}, user=ADMIN)


def sent(pool):
    return pool.rows(Check, kind="canary")


# ── now and then ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_hub_sends_one_by_itself_at_the_platforms_cost_and_a_right_answer_counts(hub_url):
    async def story(pool):
        job_id, paid, _ = await known_job(pool)
        (erin,) = await add_agents(pool, ERIN)
        work = await offered(pool, erin)
        await erin.update(work, "running")
        await pool.settle(60)
        await deliver(erin, work)
        (check,) = sent(pool)
        assert (check.state, check.node_id, check.job_id) == ("valid", erin.node_id, job_id)
        (hidden,) = pool.rows(Job, id=work.manifest.job_id)
        assert (hidden.owner_id, hidden.state) == (PLATFORM, "succeeded")
        assert pool.attempt(work.id).price_micros > 0
        assert pool.rows(Reputation, id=erin.node_id)[0].audited_ok == 1
        left = {row.attempt_id for row in pool.rows(Artifact) if row.state != ArtifactState.ABANDONED}
        assert left == {paid.id}, "only the digests of the others were asked for"
        assert await offered(pool, erin) is None, "it has seen that one"
        assert not pool.engine.scheduler.briefs

    play(hub_url, story, settings=OFTEN)


def test_a_canary_looks_like_the_paid_job_in_every_word(sqlite_hub):
    async def story(pool):
        _, paid, _ = await known_job(pool)
        (erin,) = await add_agents(pool, ERIN)
        work = await offered(pool, erin)
        mine, theirs = work.manifest.model_dump(), paid.manifest.model_dump()
        assert mine.keys() == theirs.keys()
        assert {key: mine[key] for key in mine if key not in ITS_OWN} == {
            key: theirs[key] for key in theirs if key not in ITS_OWN
        }
        for key in ITS_OWN - {"fence", "issued_at", "expires_at"}:
            assert mine[key].partition("_")[0] == theirs[key].partition("_")[0]
            assert len(mine[key]) == len(theirs[key])
        assert mine["renter"] == ALICE
        assert work.offer.downloads.keys() == paid.offer.downloads.keys()

    play(sqlite_hub, story, settings=OFTEN)


def test_nobody_gets_one_who_would_know_it_or_may_not_have_it(sqlite_hub):
    async def story(pool):
        _, _, (bob, carol) = await known_job(pool)
        (mine,) = await add_agents(pool, ALICE)
        (pretended,) = await add_agents(pool, DAVE, simulated=True)
        for agent in (bob, carol):
            await agent.connect()
        for agent in (bob, carol, pretended, mine):
            assert await offered(pool, agent, hours=2) is None
        assert not sent(pool)

    play(sqlite_hub, story, settings=OFTEN)


def test_with_a_rate_of_zero_none_is_sent(sqlite_hub):
    async def story(pool):
        await known_job(pool)
        (erin,) = await add_agents(pool, ERIN)
        assert await offered(pool, erin, hours=3) is None

    play(sqlite_hub, story, settings=BY_HAND)


def test_one_at_a_time_and_none_to_make_up_for_after_a_long_sleep(hub_url):
    async def story(pool):
        for _ in range(2):
            await known_job(pool)
        (erin,) = await add_agents(pool, ERIN)
        work = await offered(pool, erin)
        await erin.update(work, "running")
        await pool.settle(2 * HOURS)
        assert len(sent(pool)) == 1, "it has not answered the first one"
        await pool.restart(down_seconds=6 * HOURS)
        await erin.connect()
        erin.beat_on()
        await pool.settle(90)
        assert len(sent(pool)) == 1

    play(hub_url, story, settings=OFTEN)


def test_results_serve_for_thirty_days(sqlite_hub):
    async def story(pool):
        await known_job(pool)
        now = pool.clock.now()
        assert len(await pool.db.read(canaries.list_known, now)) == 1
        assert not await pool.db.read(canaries.list_known, now + canaries.KEPT + timedelta(days=1))

    play(sqlite_hub, story, settings=BY_HAND)


@pytest.mark.parametrize(("card", "comes"), [("rtx-4090", True), ("rtx-3060", False)])
def test_a_result_is_known_for_one_model_of_gpu_alone(sqlite_hub, card, comes):
    async def story(pool):
        await known_job(pool, gpus=(gpu(0),))
        (erin,) = await add_agents(pool, ERIN, gpus=(gpu(0, card),))
        assert (await offered(pool, erin) is not None) is comes

    play(sqlite_hub, story, settings=OFTEN)


def test_replicas_that_agree_are_known_as_well(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        job_id = await pool.submit(**SAME, verify={"replicas": 2})
        await answer(bob)
        await answer(carol)
        (known,) = await pool.db.read(canaries.list_known, pool.clock.now())
        assert (known.root.id, known.kind) == (job_id, "replicas")

    play(sqlite_hub, story, settings=BY_HAND)


# ── chance ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_as_many_are_drawn_as_the_rate_says():
    randbits = Random(5).getrandbits
    drawn = [draw_count(200, 0.2, 60, randbits) for _ in range(20 * 1440)]
    assert sum(drawn) / 200 / 20 == pytest.approx(0.2, rel=0.1)


def test_however_high_the_rate_few_are_sent_at_once():
    randbits = Random(5).getrandbits
    assert max(draw_count(1_000_000, 100, 300, randbits) for _ in range(50)) <= MOST_AT_ONCE
    assert draw_count(1_000, 0, 60, randbits) == draw_count(0, 1, 60, randbits) == draw_count(9, 1, -5, randbits) == 0
    assert {draw_below(3, randbits) for _ in range(100)} == {0, 1, 2}
    assert draw_below(1, lambda bits: 2**bits - 1) == 0


# ── by hand ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_a_wrong_answer_needs_three_others_who_give_the_known_one(hub_url):
    async def story(pool):
        job_id, _, known_by = await known_job(pool)
        erin, *judges = await add_agents(pool, ERIN, DAVE, FRANK, GRACE, connect=False)
        await trust(pool, *judges, *known_by)
        await erin.connect()
        assert (await by_hand(pool, job_id, erin)).status_code == 201
        work = await answer(erin, b"wrong", seconds=60)
        await erin.disconnect()
        for agent in known_by:
            await agent.connect()
            agent.beat_on()
        await pool.settle(300)
        assert not any(agent.works for agent in known_by), "who made it known would only repeat it"
        for judge in judges:
            assert [check.state for check in sent(pool)] == ["open"]
            await judged_by(pool, judge, b"right")
        assert [check.state for check in sent(pool)] == ["guilty"]
        assert [row.attempt_id for row in pool.rows(Clawback)] == [work.id]
        assert pool.rows(Reputation, id=erin.node_id)[0].audited_wrong == 1
        found = (await pool.call("GET", f"jobs/{job_id}/checks")).json()["checks"]
        assert [one["kind"] for one in found] == ["audit"], "the renter hears nothing of canaries"
        assert "job.result_corrected" not in {row.action for row in pool.rows(AuditRow)}

    play(hub_url, story, settings=BY_HAND)


def test_in_a_young_pool_three_newcomers_who_give_the_known_result_prove_a_canary_wrong(sqlite_hub):
    async def story(pool):
        job_id, _, _ = await known_job(pool)
        erin, *others = await add_agents(pool, ERIN, DAVE, FRANK, GRACE, connect=False)
        await erin.connect()
        await by_hand(pool, job_id, erin)
        await answer(erin, b"wrong")
        await erin.disconnect()
        for other in others:
            assert [check.state for check in sent(pool)] == ["open"]
            await judged_by(pool, other, b"right")
        assert [check.state for check in sent(pool)] == ["guilty"]

    play(sqlite_hub, story, settings=BY_HAND)


def test_what_two_agreed_on_falsely_convicts_no_honest_host(sqlite_hub):
    """Bob and Carol left everything undone, and agree; Erin, who is sent the same, did it."""

    async def story(pool):
        job_id, _, _ = await known_job(pool)
        erin, dave = await add_agents(pool, ERIN, DAVE, connect=False)
        await erin.connect()
        await by_hand(pool, job_id, erin)
        await answer(erin, b"really done")
        await erin.disconnect()
        await judged_by(pool, dave, b"really done")
        assert [check.state for check in sent(pool)] == ["nondeterm"]
        assert not pool.rows(Clawback)
        assert not await pool.db.read(canaries.list_known, pool.clock.now()), "it is sent to nobody any more"

    play(sqlite_hub, story, settings=BY_HAND)


def test_a_job_whose_right_result_is_not_known_is_no_canary(sqlite_hub):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        job_id = await pool.submit()
        await answer(bob)
        for path in ("admin/canaries", "admin/canaries/answers"):
            body = {"job_id": job_id} | ({"node_id": bob.node_id} if path == "admin/canaries" else {})
            answered = await pool.call("POST", path, body, user=ADMIN)
            assert answered.status_code == 409
            assert "bad_canary" in answered.text

    play(sqlite_hub, story)


# ── what operators vouch for ─────────────────────────────────────────────────────────────────────────────────────────


def test_an_operator_vouches_for_a_result_and_withdraws_it(hub_url):
    async def story(pool):
        (mine,) = await add_agents(pool, ALICE)
        job_id = await pool.submit(**SAME)
        await answer(mine, seconds=5)
        await mine.disconnect()
        assert (await pool.call("GET", "admin/canaries", user=ADMIN)).json() == {"rate_per_day": 100, "items": []}
        assert (await pool.call("POST", "admin/canaries/answers", {"job_id": job_id})).status_code == 403
        made = await pool.call("POST", "admin/canaries/answers", {"job_id": job_id}, user=ADMIN)
        assert made.status_code == 201, made.text
        (listed,) = (await pool.call("GET", "admin/canaries", user=ADMIN)).json()["items"]
        assert listed == made.json()
        assert (listed["kind"], listed["job_id"], listed["gpu_class"]) == ("known", job_id, None)
        assert (await pool.call("GET", f"jobs/{job_id}/checks")).json()["checks"] == []
        (erin,) = await add_agents(pool, ERIN)
        assert (await offered(pool, erin)).manifest.renter == ALICE
        path = f"admin/canaries/answers/{listed['id']}/withdraw"
        assert (await pool.call("POST", path, user=ADMIN)).status_code == 200
        assert (await pool.call("GET", "admin/canaries", user=ADMIN)).json()["items"] == []
        assert (await pool.call("POST", path, user=ADMIN)).status_code == 404
        again = await pool.call("POST", "admin/canaries/answers", {"job_id": job_id}, user=ADMIN)
        assert again.json()["id"] == listed["id"]

    play(hub_url, story, settings=OFTEN)


def test_what_the_web_may_change_or_a_renter_kept_to_one_node_is_not_sent(sqlite_hub):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        job_id = await pool.submit(**SAME, where={"node": bob.node_id})
        await answer(bob)
        refused = await pool.call("POST", "admin/canaries/answers", {"job_id": job_id}, user=ADMIN)
        assert refused.status_code == 409
        assert not pool.rows(Check, kind="known"), "nothing is left of it"
        assert len(pool.rows(Attempt)) == 1

    play(sqlite_hub, story, settings=BY_HAND)
