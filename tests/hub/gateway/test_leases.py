"""The leases' clock, from the agent's side of the line (promises 11, 13 and 14)."""

import pytest
from support.engine import ALICE, play
from support.scripted_agent import add_agent

from computepool.hub.nodes.tables import Node
from computepool.protocol.messages import AttemptRef, Goodbye, Heartbeat, HeartbeatAck, Offer, ReportAck, Stop
from computepool.protocol.states import NodeState


async def one_running(pool, **fields):
    agent = await add_agent(pool)
    await pool.submit(**fields)
    work = await agent.take_offer()
    await agent.update(work, "running")
    return agent, work


def live_state(pool, agent):
    return pool.engine.scheduler.fleet.get(agent.node_id).state


# ── heartbeats ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_heartbeat_touches_no_database(hub_url):
    async def story(pool):
        agent, work = await one_running(pool)
        for _ in range(3):  # until the day's figures have been counted
            await pool.settle(40)
            await agent.heartbeat()
        before = pool.db.statements
        for _ in range(100):
            ack = await agent.heartbeat()
            assert ack.renewed == (work.ref,)
        await pool.settle(40)
        assert pool.db.statements == before

    play(hub_url, story)


def test_heartbeat_renews_what_the_node_holds_and_nothing_else(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool, resources={"cpus": 2})
        other, others = await one_running(pool, resources={"cpus": 2})
        strange = [
            AttemptRef(attempt_id=work.id, fence=work.fence + 1),
            AttemptRef(attempt_id=work.id, fence=work.fence - 1),
            others.ref,
            AttemptRef(attempt_id="attempt_of_nobody", fence=1),
        ]
        await agent.send(Heartbeat(holding=(*strange, work.ref)))
        assert (await agent.expect(HeartbeatAck)).renewed == (work.ref,)
        held = pool.engine.scheduler.fleet.get(other.node_id).attempts[others.id]
        before = held.renewed_at
        await pool.settle(10)
        await agent.send(Heartbeat(holding=tuple(strange)))
        await agent.expect(HeartbeatAck)
        assert held.renewed_at == before

    play(sqlite_hub, story)


def test_heartbeats_go_on_while_reports_wait_for_the_database(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        with pool.db.held("end_attempt") as waits:
            await agent.send(agent.finished(work))
            await waits.wait()
            assert (await agent.heartbeat()).renewed == (work.ref,)
        await agent.expect(ReportAck)

    play(sqlite_hub, story)


# ── silence ──────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_silent_node_is_offline_at_45_seconds_and_its_work_queued_again_at_135(hub_url):
    async def story(pool):
        agent, work = await one_running(pool)
        heard_at = pool.rows(Node)[0].last_seen_at
        agent.vanish()
        await pool.settle(44)
        assert live_state(pool, agent) is NodeState.ONLINE
        await pool.settle(7)
        assert live_state(pool, agent) is NodeState.OFFLINE
        row = pool.rows(Node)[0]
        assert (row.state, row.last_seen_at) == ("offline", heard_at), "its silence was not a word from it"
        await pool.settle(83)  # 134
        assert pool.attempt(work.id).state == "running"
        await pool.settle(7)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.reason) == ("lost", "host", "lease_expired")
        assert pool.slice_of(work).state == "queued"

    play(hub_url, story)


def test_dead_agents_job_runs_elsewhere_within_150_seconds(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        spare = await add_agent(pool, name="spare")
        spare.beat_on()
        died_at = pool.clock.now()
        agent.vanish()
        await pool.settle(100)
        offer = await spare.expect(Offer)
        assert (pool.clock.now() - died_at).total_seconds() <= 150
        assert spare.open(offer.manifest).job_id == work.manifest.job_id

    play(sqlite_hub, story)


def test_dead_agents_job_waits_if_there_is_no_other_and_goes_on_when_it_is_back(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        agent.vanish()
        await pool.settle(1000)
        agent.works.clear()
        agent.reborn()
        await agent.connect()
        again = await agent.take_offer()
        await agent.finish(again)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_offline_node_gets_no_work_until_it_is_heard_again(sqlite_hub):
    """Its link is half open: the hub could still write into it."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.settle(60)
        await pool.submit()
        await pool.settle()
        assert agent.unread(Offer) == []
        await agent.heartbeat()
        await agent.take_offer()
        assert pool.rows(Node)[0].state == "online"

    play(sqlite_hub, story)


def test_work_of_a_node_that_renews_is_never_taken_from_it(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool, max_runtime="4h")
        agent.beat_on()
        await pool.settle(3 * 3600)
        assert pool.attempt(work.id).state == "running"
        await agent.finish(work)
        assert len((await pool.job(work.manifest.job_id)).slices[0].attempts) == 1

    play(sqlite_hub, story)


def test_heartbeat_that_does_not_name_an_attempt_does_not_renew_it(sqlite_hub):
    """The agent lives and has forgotten it."""

    async def story(pool):
        agent, work = await one_running(pool)
        agent.works.clear()
        agent.beat_on()
        await pool.settle(145)
        assert pool.attempt(work.id).state == "lost"
        assert live_state(pool, agent) is NodeState.ONLINE

    play(sqlite_hub, story)


def test_lease_that_is_being_ended_is_not_renewed_however_long_that_takes(sqlite_hub):
    """Else its node would go on with it, and another be given its slice a moment later."""

    async def story(pool):
        agent, work = await one_running(pool)
        agent.vanish()
        with pool.db.held("end_attempt") as waits:
            await pool.settle(145)
            assert waits.is_set()
            await agent.connect()
            assert (await agent.heartbeat()).renewed == ()
        await pool.settle(1)
        assert pool.attempt(work.id).state == "lost"

    play(sqlite_hub, story)


def test_attempt_that_cannot_be_ended_does_not_keep_the_others_from_it(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit(slices=2)
        works = [await agent.take_offer() for _ in range(2)]
        real, poisoned = pool.db.run, works[0].id

        async def failing(fn, *args, **kwargs):
            if fn.__name__ == "end_attempt" and args[0] == poisoned:
                raise OSError("a broken page")
            return await real(fn, *args, **kwargs)

        pool.db.run = failing
        agent.vanish()
        await pool.settle(150)
        assert [pool.attempt(work.id).state for work in works] == ["leased", "lost"]
        pool.db.run = real
        await pool.settle(10)
        assert pool.attempt(poisoned).state == "lost"

    play(sqlite_hub, story)


# ── nodes that answer, and do not do what they should ────────────────────────────────────────────────────────────────


def test_node_that_runs_a_job_past_its_time_loses_it(hub_url):
    async def story(pool):
        agent, work = await one_running(pool, max_runtime="10m")
        agent.beat_on()
        await pool.settle(655)
        assert pool.attempt(work.id).state == "running"  # its own limit ends it, and ending takes a moment
        await pool.settle(12)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.reason) == ("lost", "host", "overdue")
        assert pool.slice_of(work).state in ("queued", "running")  # and not for long on this node, if there is another
        assert pool.slice_of(work).avoid == [agent.node_id]

    play(hub_url, story)


def test_node_that_uploads_for_long_after_the_job_keeps_it(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool, max_runtime="10m")
        agent.beat_on()
        await agent.update(work, "finishing")
        await pool.settle(3600)
        await agent.finish(work)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"

    play(sqlite_hub, story)


@pytest.mark.parametrize("state", ["preparing", "running", "finishing"])
def test_cancel_holds_against_a_node_that_does_not_stop(hub_url, state):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, state)
        agent.beat_on()
        await pool.cancel(job_id)
        await agent.expect(Stop)
        await pool.settle(65)
        assert (await pool.job(job_id)).state == "running"
        await pool.settle(12)
        assert (await pool.job(job_id)).state == "canceled"
        assert pool.attempt(work.id).reason == "overdue"

    play(hub_url, story)


def test_clock_of_an_overdue_job_begins_anew_with_the_hub(sqlite_hub):
    """What was running may have ended in time, and its agent could not say so."""

    async def story(pool):
        agent, work = await one_running(pool, max_runtime="10m")
        await pool.restart(down_seconds=3600)
        await agent.connect()
        agent.beat_on()
        await pool.settle(600)
        assert pool.attempt(work.id).state == "running"
        await pool.settle(75)
        assert pool.attempt(work.id).reason == "overdue"

    play(sqlite_hub, story)


# ── the hub's own downtime ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("down_seconds", [1, 60, 3600])
def test_healthy_job_survives_the_hubs_outage(sqlite_hub, down_seconds):
    async def story(pool):
        agent, work = await one_running(pool)
        await pool.restart(down_seconds=down_seconds)
        await pool.settle(100)  # it takes its time to come back
        await agent.connect()
        agent.beat_on()
        await pool.settle(300)
        assert pool.attempt(work.id).state == "running"
        await agent.finish(work)
        view = await pool.job(work.manifest.job_id)
        assert (view.state, len(view.slices[0].attempts)) == ("succeeded", 1)

    play(sqlite_hub, story)


def test_nothing_is_queued_again_within_one_lease_of_the_hubs_start(hub_url):
    async def story(pool):
        agent = await add_agent(pool, cpus=50, memory_bytes=400 * 1024**3, disk_bytes=400 * 1024**3)
        await pool.submit(slices=50)
        works = [await agent.take_offer() for _ in range(50)]
        for _ in range(3):
            await pool.restart(down_seconds=200)
            await pool.settle(130)
            assert {pool.attempt(work.id).state for work in works} == {"leased"}
        await pool.settle(15)
        row = pool.attempt(works[0].id)
        assert (row.state, row.verdict, row.reason) == ("lost", "hub", "hub_downtime")
        assert pool.slice_of(works[0]).avoid == []  # nobody is blamed

    play(hub_url, story)


def test_host_that_came_back_and_then_left_is_to_blame_again(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        await pool.restart()
        await agent.connect()
        agent.vanish()
        await pool.settle(150)
        assert pool.attempt(work.id).verdict == "host"

    play(sqlite_hub, story)


# ── the hub's own sleep ──────────────────────────────────────────────────────────────────────────────────────────────


def test_healthy_work_survives_the_sleep_of_the_hubs_machine(hub_url):
    """Its clock went on, its timers and its ears did not: nobody had a chance to renew anything."""

    async def story(pool):
        agent, work = await one_running(pool)
        leased = await add_agent(pool, name="other")
        await pool.submit(resources={"cpus": 2})
        offered = await leased.take_offer()
        for one in (agent, leased):
            one.beat_on()
        await pool.settle(30)
        for one in (agent, leased):
            one.stop_beating()
        pool.clock.slept_seconds += 400
        await pool.settle(40)  # they notice, and take their time to come back
        assert [pool.attempt(one.id).state for one in (work, offered)] == ["running", "leased"]
        assert {row.state for row in pool.rows(Node)} == {"online"}
        for one in (agent, leased):
            await one.connect()
            one.beat_on()
        await pool.settle(300)
        await agent.finish(work)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"
        assert pool.attempt(offered.id).state == "leased"

    play(hub_url, story)


def test_node_that_does_not_come_back_after_the_hubs_sleep_loses_its_work_and_is_not_blamed(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        agent.vanish()
        pool.clock.slept_seconds += 400
        await pool.settle(130)
        assert pool.attempt(work.id).state == "running"
        await pool.settle(20)
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.reason) == ("lost", "hub", "hub_downtime")

    play(sqlite_hub, story)


def test_time_that_the_hub_slept_is_not_counted_against_a_job(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool, max_runtime="10m")
        agent.beat_on()
        await pool.settle(300)
        pool.clock.slept_seconds += 3600
        await pool.settle(340)
        assert pool.attempt(work.id).state == "running"
        await pool.settle(40)
        assert pool.attempt(work.id).reason == "overdue"

    play(sqlite_hub, story)


def test_time_that_the_hub_slept_is_not_counted_against_a_node_that_was_told_to_stop(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        agent.beat_on()
        await pool.cancel(work.manifest.job_id)
        await pool.settle(20)
        pool.clock.slept_seconds += 3600
        await pool.settle(30)
        assert pool.attempt(work.id).state == "running"
        await pool.settle(40)
        assert pool.attempt(work.id).reason == "overdue"

    play(sqlite_hub, story)


def test_sweep_that_takes_long_is_no_absence(sqlite_hub):
    """Who has been silent meanwhile has been silent: heartbeats need no database."""

    async def story(pool):
        agent, work = await one_running(pool)
        idle = await add_agent(pool, name="idle")
        agent.vanish()
        with pool.db.held("_move_node") as waits:
            idle.vanish()
            await waits.wait()
            await pool.settle(60)
        await pool.settle(45)
        assert pool.attempt(work.id).verdict == "host"

    play(sqlite_hub, story)


# ── drain, resume, ban ───────────────────────────────────────────────────────────────────────────────────────────────


def test_draining_node_finishes_its_work_and_takes_nothing_new(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        agent.beat_on()
        answer = await pool.call("POST", f"nodes/{agent.node_id}/drain")
        assert answer.json()["state"] == "draining"
        waiting = await pool.submit()
        await pool.settle(200)
        assert agent.unread(Offer) == []
        assert pool.attempt(work.id).state == "running"
        await agent.finish(work)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"
        await agent.disconnect()
        await agent.connect()
        assert live_state(pool, agent) is NodeState.DRAINING
        answer = await pool.call("POST", f"nodes/{agent.node_id}/resume")
        assert answer.json()["state"] == "online"
        assert (await agent.take_offer()).manifest.job_id == waiting

    play(sqlite_hub, story)


@pytest.mark.parametrize("own_state", ["draining", "paused"])
def test_what_the_agent_says_of_itself_holds_against_a_resume(sqlite_hub, own_state):
    async def story(pool):
        agent = await add_agent(pool)
        agent.state = own_state
        await agent.heartbeat()
        assert pool.rows(Node)[0].state == own_state
        await pool.call("POST", f"nodes/{agent.node_id}/drain")
        await pool.call("POST", f"nodes/{agent.node_id}/resume")
        await pool.submit()
        await pool.settle()
        assert agent.unread(Offer) == []
        agent.state = "online"
        await agent.heartbeat()
        await agent.take_offer()

    play(sqlite_hub, story)


def test_drain_survives_a_restart_of_the_hub(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.call("POST", f"nodes/{agent.node_id}/drain")
        await pool.restart()
        await agent.connect()
        await pool.submit()
        await pool.settle()
        assert agent.unread(Offer) == []

    play(sqlite_hub, story)


def test_banned_node_loses_its_work_at_once_and_hears_why(hub_url):
    async def story(pool):
        agent, work = await one_running(pool)
        spare = await add_agent(pool, name="spare")
        pipe = agent.pipe
        assert (await pool.call("POST", f"nodes/{agent.node_id}/ban")).json()["state"] == "banned"
        assert (await agent.expect(Goodbye)).retry is False
        assert pipe.closed
        assert (await spare.take_offer()).manifest.job_id == work.manifest.job_id
        assert pool.attempt(work.id).reason == "node_banned"

    play(hub_url, story)


@pytest.mark.parametrize("when", ["before", "after"])
def test_ban_is_not_undone_by_a_sweep_that_found_the_node_silent(hub_url, when):
    """The sweep looked before the ban, and writes after it."""

    async def story(pool):
        agent = await add_agent(pool)
        agent.vanish()
        with pool.db.held("_move_node", when) as waits:
            await waits.wait()
            await pool.call("POST", f"nodes/{agent.node_id}/ban")
        await pool.settle(60)
        assert pool.rows(Node)[0].state == "banned"
        answer = await agent.try_to_connect()
        assert isinstance(answer, Goodbye)
        assert (answer.code, answer.retry) == ("unknown_node", False)
        assert len(pool.engine.scheduler.fleet) == 0

    play(hub_url, story)


def test_lease_that_was_being_made_for_a_banned_node_is_taken_from_it(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit()
        with pool.db.held("lease") as waits:
            agent = await add_agent(pool, name="banned")
            await waits.wait()
            await pool.call("POST", f"nodes/{agent.node_id}/ban")
        await pool.settle(10)
        spare = await add_agent(pool, name="spare")
        assert (await spare.take_offer()).manifest.job_id == job_id
        assert agent.unread(Offer) == []

    play(sqlite_hub, story)


def test_work_of_a_banned_node_is_not_stuck_when_the_database_failed_at_that_moment(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        real = pool.db.run

        async def failing(fn, *args, **kwargs):
            if fn.__name__ == "end_attempt":
                raise OSError("the disk is full")
            return await real(fn, *args, **kwargs)

        pool.db.run = failing
        assert (await pool.call("POST", f"nodes/{agent.node_id}/ban")).json()["state"] == "banned"
        await pool.settle(12)
        assert pool.attempt(work.id).state == "running"
        pool.db.run = real
        await pool.settle(12)
        assert (pool.attempt(work.id).state, pool.attempt(work.id).reason) == ("lost", "node_banned")
        assert pool.slice_of(work).state == "queued"

    play(sqlite_hub, story)


def test_work_of_a_banned_node_is_not_stuck_when_the_hub_died_in_between(hub_url):
    """The ban is committed, and then the hub is gone before it could take anything from the node."""

    async def story(pool):
        agent, work = await one_running(pool)
        with pool.db.held("end_attempt") as waits:
            banning = pool.loop.create_task(pool.call("POST", f"nodes/{agent.node_id}/ban"))
            await waits.wait()
            banning.cancel()
            await pool.settle()
            await pool.restart()
        assert pool.rows(Node)[0].state == "banned"
        await pool.settle(10)
        assert pool.attempt(work.id).state == "lost"
        assert pool.slice_of(work).state == "queued"
        assert len(pool.engine.scheduler.fleet) == 0

    play(hub_url, story)


# ── stops ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cancel_is_told_once_however_often_it_is_asked_for(sqlite_hub):
    async def story(pool):
        agent, work = await one_running(pool)
        await agent.disconnect()
        for _ in range(5):
            await pool.cancel(work.manifest.job_id)
        await agent.connect()
        await pool.settle()
        assert [command.reason for command in agent.commands if isinstance(command, Stop)] == ["canceled"]

    play(sqlite_hub, story)


def test_owner_of_nodes_is_the_enroller(sqlite_hub):
    async def story(pool):
        await add_agent(pool)
        assert pool.rows(Node)[0].owner_id == ALICE

    play(sqlite_hub, story)
