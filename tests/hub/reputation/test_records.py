"""What ends of attempts do to a node's record, with a real hub, on both databases."""

from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import GIB, ScriptedAgent, add_agent, enrol_request

from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs.tables import Attempt
from computepool.hub.nodes import service as nodes
from computepool.hub.nodes.errors import ReplacedAlready
from computepool.hub.nodes.tables import Node
from computepool.hub.reputation import repository, service
from computepool.hub.reputation.tables import Reputation, ReputationEvent
from computepool.protocol.capacity import Capacity
from computepool.protocol.messages import Gone
from computepool.protocol.receipt import EndReason
from computepool.protocol.states import IsolationLevel

HOST_FAILURE = {"reason": EndReason.SANDBOX, "exit_code": None}


def events(pool):
    return [(row.verdict, row.reason, row.weight) for row in pool.rows(ReputationEvent)]


def record(pool, node_id):
    with Session(pool.db.engine) as session:
        return repository.find(session, node_id)


def standing(pool, agent):
    return pool.engine.scheduler.fleet.get(agent.node_id).traits.standing


async def do_jobs(pool, agent, count, *, user=BOB, **changes):
    for _ in range(count):
        await pool.submit(user=user)
        await agent.run_next(**changes)
    await pool.settle()


def test_a_strangers_attempt_that_is_ok_counts_for_the_node(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await do_jobs(pool, agent, 10)
        assert events(pool) == [("ok", "exited", 1.0)] * 10
        assert f"{standing(pool, agent).mean:.2f} / {standing(pool, agent).lower:.2f}" == "0.87 / 0.70"
        assert standing(pool, agent).has_record

    play(hub_url, story)


def test_ones_own_jobs_build_no_record_and_spoil_none(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=ALICE)
        before = standing(pool, agent)
        await do_jobs(pool, agent, 3, user=ALICE)
        await pool.submit(user=ALICE)
        await agent.run_next(**HOST_FAILURE)
        assert events(pool) == []
        assert standing(pool, agent) == before

    play(hub_url, story)


def test_what_is_the_renters_doing_says_nothing_of_the_node(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await do_jobs(pool, agent, 1, exit_code=3)
        await do_jobs(pool, agent, 1, reason=EndReason.MEMORY, exit_code=137)
        assert events(pool) == []

    play(sqlite_hub, story)


def test_an_owner_who_comes_back_costs_a_little(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(user=BOB)
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.answer_to(Gone(**work.ref.model_dump(), reason="owner"))
        agent.works.clear()
        assert events(pool) == [("owner", "taken_back_by_owner", -1.0)]

    play(sqlite_hub, story)


def test_a_node_that_vanished_loses_four_and_gets_them_back_if_its_attempt_does(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await do_jobs(pool, agent, 3)
        good = standing(pool, agent)
        await pool.submit(user=BOB)
        work = await agent.take_offer()
        await agent.update(work, "running")
        agent.vanish()
        await pool.settle(150)
        assert pool.attempt(work.id).state == "lost"
        assert events(pool)[-1] == ("host", "lease_expired", -4.0)
        assert standing(pool, agent).mean < good.mean - 0.1
        await agent.connect()
        agent.beat_on()
        assert pool.attempt(work.id).state == "running"
        assert pool.rows(ReputationEvent)[-1].resolution == "taken_back"
        assert standing(pool, agent).mean == pytest.approx(good.mean, abs=1e-3)
        assert record(pool, agent.node_id).trouble.streak == 0
        await agent.finish(work)
        assert events(pool)[-1] == ("ok", "exited", 1.0)
        assert record(pool, agent.node_id).ok_count == 4
        agent.stop_beating()

    play(hub_url, story)


def test_a_result_of_a_lost_attempt_counts_once_and_as_what_it_is(hub_url):
    """It comes without a handshake in between: the loss is undone in the transaction that takes the result."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(user=BOB)
        work = await agent.take_offer()
        await agent.update(work, "running")
        await pool.settle(150)
        assert events(pool) == [("host", "lease_expired", -4.0)]
        await agent.finish(work)
        assert pool.attempt(work.id).verdict == "ok"
        here = record(pool, agent.node_id)
        assert (here.ok_count, here.trouble.streak) == (1, 0)
        assert (here.evidence.good, here.evidence.bad) == pytest.approx((1, 0), abs=1e-3)
        assert await agent.finish(work)  # told again
        assert len(pool.rows(ReputationEvent)) == 2

    play(hub_url, story)


def test_the_memory_is_rebuilt_from_the_records(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await do_jobs(pool, agent, 12)
        before = standing(pool, agent)
        await pool.restart()
        again = standing(pool, agent)
        assert again.mean == pytest.approx(before.mean, abs=1e-4)
        assert (again.lower, again.has_record) == (pytest.approx(before.lower, abs=1e-4), True)

    play(hub_url, story)


def test_what_a_node_did_fades_in_the_memory_too(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await do_jobs(pool, agent, 12)
        before = standing(pool, agent)
        pool.clock.wall_error_seconds = 60 * 86_400.0
        await pool.engine.refresh_standings()
        assert standing(pool, agent).lower < before.lower - 0.1
        assert not standing(pool, agent).has_record

    play(sqlite_hub, story)


def test_changes_of_a_node_leave_its_standing(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await do_jobs(pool, agent, 10)
        before = standing(pool, agent).mean
        assert (await pool.call("PATCH", f"nodes/{agent.node_id}", {"tags": ["lab"]})).status_code == 200
        assert standing(pool, agent).mean == before
        await agent.disconnect()
        await agent.connect()
        assert standing(pool, agent).mean == pytest.approx(before, abs=1e-4)

    play(sqlite_hub, story)


def test_an_ends_records_cost_few_statements(sqlite_hub):
    """Three for a stranger's attempt, none for one's own (ADR 0012)."""

    async def story(pool):
        agent = await add_agent(pool)
        counts = {}
        for user in (ALICE, BOB):
            await do_jobs(pool, agent, 1, user=user)  # what is built once is built now
            await pool.submit(user=user)
            work = await agent.take_offer()
            await agent.update(work, "running")
            done = agent.finished(work)
            before = pool.db.statements
            await agent.answer_to(done)
            counts[user] = pool.db.statements - before
            agent.works.clear()
        assert counts[BOB] - counts[ALICE] == 3

    play(sqlite_hub, story, settings={"money": "off"})  # what is paid is written too, and counted elsewhere


def test_a_node_that_replaces_another_goes_on_with_its_record(hub_url):
    async def story(pool):
        old = await add_agent(pool, name="old")
        await do_jobs(pool, old, 1, **HOST_FAILURE)
        await pool.cancel(pool.rows(Attempt)[-1].job_id, user=BOB)
        bad = standing(pool, old)
        new = await replaced(pool, old.node_id)
        assert standing(pool, new).mean == pytest.approx(bad.mean, abs=1e-4)
        newest = await replaced(pool, new.node_id)
        await do_jobs(pool, newest, 1)
        assert record(pool, old.node_id) == record(pool, newest.node_id)
        assert [row.id for row in pool.rows(Reputation)] == [old.node_id]
        answer = await pool.call("GET", f"nodes/{newest.node_id}/reliability")
        assert [item["verdict"] for item in answer.json()["items"]] == ["ok", "host"]

    play(hub_url, story)


def test_a_good_record_is_not_multiplied(sqlite_hub):
    async def story(pool):
        old = await add_agent(pool)
        await replaced(pool, old.node_id)
        with pytest.raises(ReplacedAlready):
            await replaced(pool, old.node_id)

    play(sqlite_hub, story)


async def replaced(pool, node_id):
    """A new machine in the place of that one."""
    await pool.settle(0.1)
    capacity = Capacity(cpus=2, memory_bytes=8 * GIB, disk_bytes=50 * GIB, isolation=(IsolationLevel.BUBBLEWRAP,))
    key, token, now = Ed25519PrivateKey.generate(), nodes.new_join_token(), pool.clock.now()
    request = enrol_request(key, token, capacity=capacity, replace=node_id)

    def enrol(session):
        join_id = pool.engine.context.new_id("join")
        nodes.create_join_token(session, join_id, ALICE, token, 1, timedelta(minutes=15), now, actor=ALICE)
        return nodes.enrol(session, pool.engine.context.new_id("node"), request, now)

    node = await pool.db.run(enrol)
    await pool.engine.node_changed(await pool.db.read(lambda session: session.get_one(Node, node_id)))
    await pool.engine.node_changed(node)
    agent = ScriptedAgent(pool, node.id, key, capacity)
    await agent.connect()
    return agent


def test_audits_are_counted_apart_and_a_wrong_result_is_a_host_verdict(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        for right in (True, True, False):
            await pool.db.run(service.count_audit, agent.node_id, "attempt_1", pool.clock.now(), right=right)
        here = record(pool, agent.node_id)
        assert (here.audited_ok, here.audited_wrong, here.ok_count) == (2, 1, 0)
        assert events(pool) == [("host", "failed_audit", -4.0)]

    play(hub_url, story)


def test_a_node_may_judge_with_its_tenth_right_result_and_not_one_later(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        found = [
            await pool.db.run(service.count_audit, agent.node_id, f"attempt_{n}", pool.clock.now(), right=True)
            for n in range(10)
        ]
        assert [one.may_judge for one in found] == [False] * 9 + [True]

    play(sqlite_hub, story)


def test_uptime_is_added_up_when_a_node_comes_and_goes_and_heartbeats_write_nothing(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        agent.beat_on()
        await pool.settle(30)
        commits = len(pool.db.commits)
        await pool.settle(3600)
        assert [name for name in pool.db.commits[commits:] if name in ("note_presence", "_move_node")] == []
        agent.vanish()
        await pool.settle(3600)
        view = (await pool.call("GET", f"nodes/{agent.node_id}")).json()["reliability"]
        assert view["uptime_30d"] == pytest.approx(0.5, abs=0.02)
        assert view["tenure_days"] == pytest.approx(7230 / 86_400, rel=0.01)
        await agent.connect()
        await pool.settle(10)
        assert record(pool, agent.node_id).online_since is not None

    play(hub_url, story)


def test_every_change_is_in_the_audit_log(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        for _ in range(3):
            await do_jobs(pool, agent, 1, **HOST_FAILURE)
            for row in pool.rows(Attempt):
                await pool.cancel(row.job_id, user=BOB)
        assert [row.details["level"] for row in pool.rows(AuditRow, action="node.quarantined")] == [1]
        await pool.call("POST", f"admin/nodes/{agent.node_id}/verify", user=ADMIN)
        await pool.call("POST", f"admin/nodes/{agent.node_id}/unverify", user=ADMIN)
        marks = [row.action for row in pool.rows(AuditRow, actor=ADMIN)]
        assert marks == ["node.verified", "node.unverified"]

    play(sqlite_hub, story)
