"""What an agent says it holds, against what the hub thinks: every combination, within a stream and over a restart."""

import pytest
from support.engine import play
from support.scripted_agent import add_agent

from computepool.protocol.messages import LEASE_OVER, Holding, Offer, ReportAck, Stop
from computepool.protocol.states import AttemptState

HELD = [True, False]
RESTARTED = [False, True]


async def prepare(pool, hub_state):
    """An agent with one attempt, which the hub has in that state; its line is down."""
    agent = await add_agent(pool, name="one")
    job_id = await pool.submit(retries=3)
    work = await agent.take_offer()
    other = None
    if hub_state not in {"leased", "canceling leased"}:
        await agent.update(work, "running")
    await agent.heartbeat()
    match hub_state:
        case "succeeded":
            await agent.send(agent.finished(work))  # and the answer is lost
        case "failed":
            await agent.send(agent.finished(work, exit_code=1))
        case "preparing" | "running" | "leased":
            pass
    await pool.settle(0.01)
    agent.pipe.hang_up()
    agent.pipe = None
    if hub_state.startswith("lost") or hub_state == "superseded":
        await pool.settle(150)
    if hub_state in ("lost, given to another", "superseded"):
        other = await add_agent(pool, name="two")
        other.beat_on()
        again = await other.take_offer()
        if hub_state == "superseded":
            await other.finish(again)
    if hub_state.startswith("canceling"):
        await pool.cancel(job_id)
    return agent, work, other


async def come_back(pool, agent, work, other, *, held, restarted):
    if restarted:
        await pool.restart()
        if other is not None:
            await other.connect()
    if not held:
        agent.works.clear()
    agent.commands.clear()
    await agent.connect()
    await pool.settle(0.1)
    about = [
        "offer" if isinstance(command, Offer) else command.reason
        for command in agent.commands
        if work.id == (agent.open(command.manifest) if isinstance(command, Offer) else command).attempt_id
    ]
    return pool.attempt(work.id).state, about


EXPECTED = {
    # the hub's state, held → the attempt's state afterwards, the commands about it, the job's state
    ("leased", True): ("leased", [], "running"),
    ("leased", False): ("leased", ["offer"], "running"),
    ("running", True): ("running", [], "running"),
    ("running", False): ("lost", [], "running"),
    ("lost", True): ("running", [], "running"),
    ("lost", False): ("lost", [], "running"),
    ("lost, given to another", True): ("lost", ["superseded"], "running"),
    ("lost, given to another", False): ("lost", [], "running"),
    ("superseded", True): ("lost", ["superseded"], "succeeded"),
    ("superseded", False): ("lost", [], "succeeded"),
    ("succeeded", True): ("succeeded", ["superseded"], "succeeded"),
    ("succeeded", False): ("succeeded", [], "succeeded"),
    ("failed", True): ("failed", ["superseded"], "running"),
    ("failed", False): ("failed", [], "running"),
    ("canceling", True): ("running", ["canceled"], "running"),
    ("canceling", False): ("lost", [], "canceled"),
    ("canceling leased", True): ("leased", ["canceled"], "running"),
    ("canceling leased", False): ("lost", [], "canceled"),
}


@pytest.mark.parametrize("restarted", RESTARTED, ids=["same stream", "new stream"])
@pytest.mark.parametrize(("hub_state", "held"), EXPECTED, ids=str)
def test_what_both_sides_hold_is_settled(sqlite_hub, hub_state, held, restarted):
    state, commands, job_state = EXPECTED[hub_state, held]

    async def story(pool):
        agent, work, other = await prepare(pool, hub_state)
        found, about = await come_back(pool, agent, work, other, held=held, restarted=restarted)
        if hub_state.startswith("canceling") and not held and not restarted:
            assert about == ["canceled"]  # it was told to the line when nobody listened, and is no news to the agent
        else:
            assert about == commands
        assert found == state
        assert (await pool.job(work.manifest.job_id)).state == job_state
        memory = pool.engine.scheduler.fleet.get(agent.node_id).attempts
        assert (work.id in memory) == (state in ("leased", "running"))
        waits = (work.manifest.job_id, 0) in pool.engine.scheduler.queue
        assert waits == (pool.slice_of(work).state == "queued")

    play(sqlite_hub, story)


def test_what_was_offered_again_is_the_very_same_order(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        agent.works.clear()
        agent.reborn()
        await pool.restart()
        await agent.connect()
        again = await agent.take_offer()
        assert (again.id, again.fence, again.offer.manifest) == (work.id, work.fence, work.offer.manifest)
        await agent.finish(again)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_offer_that_is_too_old_is_not_made_again(sqlite_hub):
    """The agent would refuse it: the slice waits for a fresh one instead, and nobody is blamed."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        agent.works.clear()
        agent.reborn()
        await pool.restart(down_seconds=400)
        await agent.connect()
        again = await agent.take_offer()
        assert again.id != work.id
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.reason) == ("lost", "hub", "never_delivered")

    play(sqlite_hub, story)


@pytest.mark.parametrize("state", [AttemptState.FINISHING, AttemptState.SUCCEEDED])
def test_result_that_waited_for_the_line_is_taken_with_the_rest_of_its_log(sqlite_hub, state):
    """Given up meanwhile, and nobody else has the slice."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.write_log(work, b"before\n")
        await agent.disconnect()
        await pool.settle(150)
        assert pool.attempt(work.id).state == "lost"
        work.state = state
        await agent.connect()
        await agent.write_log(work, b"after\n")
        assert isinstance(await agent.finish(work), ReportAck)
        view = await pool.job(work.manifest.job_id)
        assert (view.state, view.slices[0].attempts[0].log_bytes) == ("succeeded", 13)
        assert len(pool.engine.scheduler.queue) == 0
        await pool.settle(100)
        assert agent.unread(Offer) == []

    play(sqlite_hub, story)


def test_taken_back_attempt_starts_where_it_is(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "preparing")
        await agent.disconnect()
        await pool.settle(150)
        await agent.connect()
        assert pool.attempt(work.id).state == "preparing"
        await agent.update(work, "running")
        view = await pool.job(job_id)
        assert view.started_at is not None
        assert view.slices[0].attempts[0].started_at is not None

    play(sqlite_hub, story)


def test_attempt_that_the_memory_missed_is_held_again(sqlite_hub):
    """Whatever tore the hub's memory from its truth: the next handshake mends it."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.disconnect()
        node = pool.engine.scheduler.fleet.get(agent.node_id)
        held = node.attempts.pop(work.id)
        await agent.connect()
        assert node.attempts[work.id].grant == held.grant
        await agent.write_log(work, b"x")
        assert isinstance(await agent.finish(work), ReportAck)

    play(sqlite_hub, story)


def test_claim_on_what_is_anothers_is_stopped_and_changes_nothing(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, name="one")
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        thief = await add_agent(pool, name="two", connect=False)
        claim = (
            Holding(attempt_id=work.id, fence=work.fence, state=AttemptState.RUNNING),
            Holding(attempt_id="attempt_of_nobody", fence=1, state=AttemptState.RUNNING),
        )
        before = pool.truth(nodes=False)
        await thief.connect(holding=claim)
        stops = [await thief.expect(Stop) for _ in claim]
        assert {stop.reason for stop in stops} == {"superseded"}
        assert pool.truth(nodes=False) == before
        assert work.id not in pool.engine.scheduler.fleet.get(thief.node_id).attempts

    play(sqlite_hub, story)


def test_claim_with_another_fence_does_not_keep_the_attempt(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.disconnect()
        await agent.connect(holding=(Holding(attempt_id=work.id, fence=work.fence + 1, state=AttemptState.RUNNING),))
        assert pool.attempt(work.id).state == "lost"

    play(sqlite_hub, story)


def test_agent_that_restarts_without_its_work_says_so_and_it_is_queued_at_once(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.disconnect()
        agent.reborn()
        agent.works.clear()
        came_back_at = pool.clock.now()
        await agent.connect()
        again = await agent.take_offer()
        assert (pool.clock.now() - came_back_at).total_seconds() < 2  # a backoff, no lease to wait for
        assert again.manifest.attempt_number == 2
        row = pool.attempt(work.id)
        assert (row.state, row.verdict, row.reason) == ("lost", "host", "forgotten_by_agent")
        await agent.finish(again)
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_lease_of_which_the_hub_lost_the_answer_is_offered_when_the_node_comes_back(hub_url):
    """The commit happened, and the hub's memory was told that it did not."""

    async def story(pool):
        job_id = await pool.submit()
        real, lost = pool.db.run, iter([True])

        async def commit_and_fail(fn, *args, **kwargs):
            result = await real(fn, *args, **kwargs)
            if fn.__name__ == "lease" and next(lost, False):
                raise OSError("the answer was lost")
            return result

        pool.db.run = commit_and_fail
        agent = await add_agent(pool)
        await pool.settle(5)
        assert agent.unread(Offer) == []
        await agent.disconnect()
        await agent.connect()
        assert (await agent.run_next()).manifest.job_id == job_id
        assert (await pool.job(job_id)).state == "succeeded"
        node = pool.engine.scheduler.fleet.get(agent.node_id)
        assert (node.attempts, node.free.cpu_millis) == ({}, 2000)

    play(hub_url, story)


# ── what is gone ─────────────────────────────────────────────────────────────────────────────────────────────────────


def gone(work):
    return Holding(attempt_id=work.id, fence=work.fence, state=work.state, gone=True)


async def told_where_it_went(pool, work):
    await pool.settle(1)
    row = pool.attempt(work.id)
    return row.state, row.verdict, row.reason


def test_attempt_that_ended_while_the_hub_was_away_is_the_hubs_doing(hub_url):
    async def story(pool):
        agent, work, _ = await prepare(pool, "running")
        await pool.restart(down_seconds=200)
        await agent.connect(holding=(gone(work),))
        assert isinstance(await agent.gone(work, LEASE_OVER), ReportAck)
        assert await told_where_it_went(pool, work) == ("lost", "hub", "hub_downtime")

    play(hub_url, story)


def test_attempt_that_is_gone_is_not_taken_back(hub_url):
    async def story(pool):
        agent, work, _ = await prepare(pool, "lost")
        await agent.connect(holding=(gone(work),))
        assert await told_where_it_went(pool, work) == ("lost", "host", "lease_expired")
        assert work.id not in [command.attempt_id for command in agent.commands if isinstance(command, Stop)]
        assert isinstance(await agent.gone(work, LEASE_OVER), ReportAck)

    play(hub_url, story)


def test_attempt_that_is_gone_is_not_renewed(sqlite_hub):
    async def story(pool):
        agent, work, _ = await prepare(pool, "running")
        await pool.settle(100)
        await agent.connect(holding=(gone(work),))
        agent.works.clear()
        agent.beat_on()
        await pool.settle(60)
        assert await told_where_it_went(pool, work) == ("lost", "host", "lease_expired")

    play(sqlite_hub, story)
