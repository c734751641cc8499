"""Audits: results that others compute again, at the platform's cost, and what becomes of who was wrong."""

import hashlib

import pytest
from sqlalchemy import update
from support.checked_work import CAROL, DAVE, ERIN, add_agents, answer, judged_by, trust
from support.engine import ADMIN, ALICE, BOB, play

from computepool.hub.core.owners import PLATFORM
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.jobs.verification import Consequences
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation.tables import Reputation
from computepool.hub.trust import audits
from computepool.hub.trust.auditing import AuditRecord
from computepool.hub.trust.repository import save_record
from computepool.hub.trust.tables import AuditRecordRow, Check, Clawback

SAME = {"deterministic": True, "outputs": ["out"]}


async def audited(pool, output=b"right"):
    """Bob's result of a job of Alice's, drawn for an audit; Carol, Dave and Erin may judge."""
    (bob,) = await add_agents(pool, BOB)
    job_id = await pool.submit(**SAME)
    work = await answer(bob, output, seconds=60)
    assert (await pool.job(job_id)).state == "succeeded"
    judges = await add_agents(pool, CAROL, DAVE, ERIN, connect=False)
    await trust(pool, *judges)
    return bob, work, job_id, judges


def record_of(pool, agent):
    return pool.rows(AuditRecordRow, id=agent.node_id)[0]


def test_a_result_that_another_owner_confirms_is_counted(hub_url):
    async def story(pool):
        bob, _, job_id, (carol, *_) = await audited(pool)
        work = await judged_by(pool, carol, b"right")
        assert work.manifest.renter == ALICE, "it looks like a paid job"
        (hidden,) = [row for row in pool.rows(Job) if row.id != job_id]
        assert (hidden.owner_id, hidden.state) == (PLATFORM, "succeeded")
        assert [row.state for row in pool.rows(Check)] == ["valid"]
        assert record_of(pool, bob).valid_in_a_row == 1
        assert pool.rows(Reputation, id=bob.node_id)[0].audited_ok == 1
        assert not pool.rows(Clawback)
        assert not pool.engine.scheduler.briefs

    play(hub_url, story)


def test_an_audit_is_nobodys_to_see(sqlite_hub):
    async def story(pool):
        _, _, job_id, _ = await audited(pool)
        (hidden,) = [row.id for row in pool.rows(Job) if row.id != job_id]
        assert [one["id"] for one in (await pool.call("GET", "jobs")).json()["items"]] == [job_id]
        assert (await pool.call("GET", f"jobs/{hidden}")).status_code == 404

    play(sqlite_hub, story)


def test_two_judges_who_agree_prove_a_result_wrong_and_the_right_one_is_delivered(hub_url):
    async def story(pool):
        bob, work, job_id, (carol, dave, _) = await audited(pool, b"wrong")
        await judged_by(pool, carol, b"right")
        assert [row.state for row in pool.rows(Check)] == ["open"], "one rerun proves nothing"
        await judged_by(pool, dave, b"right")
        assert [row.state for row in pool.rows(Check)] == ["guilty"]
        attempt = pool.attempt(work.id)
        assert (attempt.state, attempt.verdict, attempt.reason) == ("failed", "host", "wrong_result")
        assert (record_of(pool, bob).valid_in_a_row, record_of(pool, bob).guilty) == (0, 1)
        assert pool.rows(Reputation, id=bob.node_id)[0].audited_wrong == 1
        assert pool.engine.scheduler.fleet.get(bob.node_id).traits.standing.quarantined_until is not None
        found = (await pool.call("GET", f"jobs/{job_id}/artifacts")).json()["items"]
        assert [one["digest"] for one in found] == ["sha256:" + hashlib.sha256(b"right").hexdigest()]

    play(hub_url, story)


def test_a_node_with_a_record_is_convicted_by_three(sqlite_hub):
    async def story(pool):
        bob, work, _, judges = await audited(pool, b"wrong")
        await trust(pool, bob)
        for judge in judges:
            assert pool.attempt(work.id).verdict == "ok"
            await judged_by(pool, judge, b"right")
        assert pool.attempt(work.id).verdict == "host"

    play(sqlite_hub, story)


def test_a_guilty_node_gives_back_what_it_earned_unaudited(hub_url):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        bob.beat_on()
        await pool.submit()
        plain = await answer(bob, seconds=3600)
        await pool.submit(**SAME)
        work = await answer(bob, b"wrong", seconds=1800)
        carol, dave = await add_agents(pool, CAROL, DAVE, connect=False)
        await trust(pool, carol, dave)
        await judged_by(pool, carol, b"right")
        await judged_by(pool, dave, b"right")
        back = {row.attempt_id: row for row in pool.rows(Clawback)}
        assert set(back) == {plain.id, work.id}
        hour = pool.attempt(plain.id).price_micros
        assert hour > 0
        assert back[plain.id].micros == pytest.approx(hour, rel=0.01)
        assert back[work.id].micros == pytest.approx(pool.attempt(work.id).price_micros / 2, rel=0.01)
        assert {(row.renter_id, row.host_id, row.state) for row in back.values()} == {(ALICE, BOB, "done")}

    play(hub_url, story)


def test_reruns_that_disagree_leave_everybody_as_they_were(sqlite_hub):
    async def story(pool):
        bob, work, _, (carol, dave, _) = await audited(pool, b"one")
        await judged_by(pool, carol, b"two")
        await judged_by(pool, dave, b"three")
        assert [row.state for row in pool.rows(Check)] == ["nondeterm"]
        assert pool.attempt(work.id).verdict == "ok"
        assert not pool.rows(AuditRecordRow)
        assert not pool.rows(Clawback)
        await bob.connect()
        await pool.submit(**SAME)
        await answer(bob, b"four")
        assert len(pool.rows(Check)) == 1, "that spec is known to vary, and judges nobody"

    play(sqlite_hub, story)


def test_newcomers_cannot_prove_anybody_wrong_where_others_may_judge(sqlite_hub):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        carol, dave, *judges = await add_agents(pool, CAROL, DAVE, ERIN, "user_frank", "user_grace", connect=False)
        await trust(pool, *judges)
        await pool.submit(**SAME)
        await answer(bob)
        await judged_by(pool, carol, b"nothing")
        await dave.connect()
        dave.beat_on()
        await pool.settle(300)
        assert not dave.works, "the next one must be of somebody who may judge"
        await trust(pool, dave)
        pool.engine.scheduler.wake()
        await answer(dave)
        await judged_by(pool, judges[0], b"right")
        assert [row.state for row in pool.rows(Check)] == ["valid"]

    play(sqlite_hub, story)


def test_in_a_young_pool_two_newcomers_who_agree_prove_a_result_wrong(hub_url):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        carol, dave = await add_agents(pool, CAROL, DAVE, connect=False)
        await pool.submit(**SAME)
        work = await answer(bob, b"wrong")
        await judged_by(pool, carol, b"right")
        assert [row.state for row in pool.rows(Check)] == ["open"], "one rerun proves nothing"
        await judged_by(pool, dave, b"right")
        assert [row.state for row in pool.rows(Check)] == ["guilty"]
        assert (pool.attempt(work.id).verdict, record_of(pool, bob).guilty) == ("host", 1)

    play(hub_url, story)


def test_a_second_wrong_result_bans_the_node(sqlite_hub):
    async def story(pool):
        bob, _, _, (carol, dave, _) = await audited(pool, b"wrong")
        await pool.db.run(save_record, bob.node_id, AuditRecord(0, 1, None))
        await judged_by(pool, carol, b"right")
        await judged_by(pool, dave, b"right")
        assert pool.rows(Node, id=bob.node_id)[0].state == "banned"
        await pool.settle(10)
        assert pool.engine.scheduler.fleet.get(bob.node_id) is None

    play(sqlite_hub, story)


def test_an_audit_goes_on_after_a_restart_of_the_hub(hub_url):
    async def story(pool):
        bob, _, _, (carol, dave, _) = await audited(pool, b"wrong")
        await judged_by(pool, carol, b"right")
        await pool.restart()
        await judged_by(pool, dave, b"right")
        assert [row.state for row in pool.rows(Check)] == ["guilty"]
        assert record_of(pool, bob).guilty == 1

    play(hub_url, story)


def test_neither_the_renters_nor_the_accused_owners_nodes_are_asked(sqlite_hub):
    async def story(pool):
        await audited(pool)
        await trust(pool, *await add_agents(pool, ALICE, BOB))
        await pool.settle(300)
        assert all(row.state == "succeeded" for row in pool.rows(Attempt))
        assert [row.state for row in pool.rows(Check)] == ["open"]

    play(sqlite_hub, story)


@pytest.mark.parametrize("fields", [{"network": True}, {"setup": "pip install x"}, {"deterministic": False}])
def test_what_may_differ_for_other_reasons_is_not_audited(sqlite_hub, fields):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        node = pool.engine.scheduler.fleet.get(bob.node_id)
        bob.capacity = bob.capacity.model_copy(update={"networked": bob.capacity.isolation})
        await bob.disconnect()
        await bob.connect()
        await pool.submit(**{**SAME, **fields})
        await answer(bob)
        assert node is not None
        assert not pool.rows(Check)

    play(sqlite_hub, story)


def test_work_on_ones_own_node_is_not_audited(sqlite_hub):
    async def story(pool):
        (mine,) = await add_agents(pool, ALICE)
        await pool.submit(**SAME)
        await answer(mine)
        assert not pool.rows(Check)

    play(sqlite_hub, story)


def test_after_many_valid_results_chance_decides(sqlite_hub):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        await pool.db.run(save_record, bob.node_id, AuditRecord(50, 0, None))
        for _ in range(40):
            await pool.submit(**SAME)
            await answer(bob)
        assert len(pool.rows(Check)) <= 4

    play(sqlite_hub, story)


def test_a_failure_is_a_result_too(sqlite_hub):
    """Who says "exit code 1" without having run anything is found out as well."""

    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        await pool.submit(**SAME)
        work = await answer(bob, exit_code=1)
        carol, dave = await add_agents(pool, CAROL, DAVE, connect=False)
        await trust(pool, carol, dave)
        await judged_by(pool, carol, b"right")
        await judged_by(pool, dave, b"right")
        assert pool.attempt(work.id).reason == "wrong_result"

    play(sqlite_hub, story)


def resume(session, attempt_id):
    session.execute(update(Attempt).where(Attempt.id == attempt_id).values(resumed_from=1))


def test_a_result_that_went_on_from_anothers_checkpoint_accuses_nobody(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        await pool.submit(**SAME)
        await pool.settle(1)
        first = next(agent for agent in (bob, carol) if agent.works)
        other = carol if first is bob else bob
        await first.gone(await first.take_offer())
        await first.disconnect()
        await pool.settle(1)
        work = await other.take_offer()
        await pool.db.run(resume, work.id)
        await other.update(work, "running")
        await other.finish(work)
        assert not pool.rows(Check)

    play(sqlite_hub, story)


# ── what people see ──────────────────────────────────────────────────────────────────────────────────────────────────


def test_the_renter_sees_what_was_found_and_only_then_and_the_operator_sees_all(sqlite_hub):
    async def story(pool):
        bob, _, job_id, (carol, dave, _) = await audited(pool, b"wrong")
        assert (await pool.call("GET", f"jobs/{job_id}/checks")).json() == {"replicas": [], "checks": []}
        (shown,) = (await pool.call("GET", "admin/audits", user=ADMIN)).json()["items"]
        assert (shown["state"], shown["node_id"]) == ("open", bob.node_id)
        await judged_by(pool, carol, b"right")
        await judged_by(pool, dave, b"right")
        (found,) = (await pool.call("GET", f"jobs/{job_id}/checks")).json()["checks"]
        assert (found["state"], found["answers"]) == ("guilty", 2)
        (shown,) = (await pool.call("GET", "admin/audits?state=guilty", user=ADMIN)).json()["items"]
        assert shown["given_back_micros"] > 0
        assert (await pool.call("GET", "admin/audits?state=open", user=ADMIN)).json()["items"] == []
        assert (await pool.call("GET", f"jobs/{job_id}/checks", user=BOB)).status_code == 404
        assert (await pool.call("GET", "admin/audits", user=BOB)).status_code == 403

    play(sqlite_hub, story)


# ── where nobody can be found ────────────────────────────────────────────────────────────────────────────────────────


def test_audits_of_one_node_do_not_pile_up_without_end(sqlite_hub):
    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        for _ in range(audits.OPEN_AT_MOST + 3):
            await pool.submit(**SAME)
            await answer(bob)
        assert len(pool.rows(Check)) == audits.OPEN_AT_MOST

    play(sqlite_hub, story)


def test_an_audit_that_found_nobody_for_two_weeks_is_given_up(hub_url):
    async def story(pool):
        await audited(pool)
        after = await pool.db.run(audits.give_up_old, pool.clock.now())
        assert after == Consequences()
        after = await pool.db.run(audits.give_up_old, pool.clock.now() + audits.PATIENCE * 2)
        pool.engine.checks_changed(after)
        assert [row.state for row in pool.rows(Check)] == ["abandoned"]
        assert sorted(row.state for row in pool.rows(Job)) == ["canceled", "succeeded"]
        assert not pool.engine.scheduler.briefs
        assert not len(pool.engine.scheduler.queue)

    play(hub_url, story)


def test_who_is_asked_is_drawn_by_lot_and_not_the_cheapest(sqlite_hub):
    async def story(pool):
        bob, *judges = await add_agents(pool, BOB, *(f"user_{number}" for number in range(6)))
        await trust(pool, *judges)
        asked = set()
        for number in range(9):
            await pool.submit(**SAME, where={"node": bob.node_id})
            await answer(bob, b"%d" % number)
            await pool.settle(1)
            (judge,) = [one for one in judges if one.works]
            asked.add(judge.node_id)
            await answer(judge, b"%d" % number)
        assert len(asked) >= 3
        assert record_of(pool, bob).valid_in_a_row == 9

    play(sqlite_hub, story)
