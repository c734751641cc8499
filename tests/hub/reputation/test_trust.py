"""`where.trust: verified` and `where.min_reliability`."""

import pytest
from sqlalchemy import update
from support.engine import ADMIN, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.nodes.benchmarks import hardware_digest, save_benchmark
from computepool.hub.reputation import service
from computepool.hub.reputation.tables import Reputation
from computepool.protocol.messages import Offer
from computepool.protocol.states import IsolationLevel

CONTAINERS = (IsolationLevel.BUBBLEWRAP, IsolationLevel.CONTAINER)
VERIFIED = {"trust": "verified"}


async def examined(pool, agent, *, mark="matches", hardware=None):
    def save(session):
        save_benchmark(
            session,
            agent.node_id,
            mark=mark,
            words="",
            tier_millis=800,
            tier_basis="card",
            hardware=hardware or hardware_digest(agent.capacity),
            figures={"devices": [], "line": {}},
            now=pool.clock.now(),
        )
        return service.note_examined(session, agent.node_id, pool.clock.now())

    pool.engine.standing_changed(agent.node_id, await pool.db.run(save))


async def with_oks(pool, agent, count):
    """As if it had done so many before."""
    await pool.db.run(lambda session: session.execute(update(Reputation).values(ok_count=count)))


async def mark(pool, agent, what="verify"):
    answer = await pool.call("POST", f"admin/nodes/{agent.node_id}/{what}", user=ADMIN)
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_node_is_verified_when_all_of_it_holds_and_says_what_is_missing(hub_url):
    async def story(pool):
        agent = await add_agent(pool, isolation=CONTAINERS)
        shown = await mark(pool, agent)
        assert (shown["verified"], len(shown["missing_for_verified"])) == (False, 2)
        await examined(pool, agent)
        await with_oks(pool, agent, 49)
        assert "49 of 50" in (await mark(pool, agent))["missing_for_verified"][0]
        job_id = await pool.submit(user=BOB, where=VERIFIED)
        await pool.settle(5)
        assert agent.unread(Offer) == []
        await pool.submit(user=BOB)
        await agent.run_next()  # the fiftieth
        await agent.run_next()
        assert (await pool.job(job_id, user=BOB)).state == "succeeded"
        view = (await pool.call("GET", f"nodes/{agent.node_id}")).json()["reliability"]
        assert (view["verified"], view["missing_for_verified"]) == (True, [])

    play(hub_url, story)


def test_it_is_revocable_at_once(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, isolation=CONTAINERS)
        await examined(pool, agent)
        await with_oks(pool, agent, 50)
        assert (await mark(pool, agent))["verified"]
        assert not (await mark(pool, agent, "unverify"))["verified"]
        await pool.submit(user=BOB, where=VERIFIED)
        await pool.settle(5)
        assert agent.unread(Offer) == []
        await mark(pool, agent)
        await agent.run_next()

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    ("lacking", "words"),
    [
        ({"mark": "too_slow"}, "its benchmark does not match its claims"),
        ({"hardware": "another"}, "no benchmark has measured its hardware as it is now"),
        ({"isolation": (IsolationLevel.BUBBLEWRAP,)}, "its isolation is below container"),
    ],
    ids=str,
)
def test_a_mark_alone_is_not_enough(sqlite_hub, lacking, words):
    async def story(pool):
        agent = await add_agent(pool, isolation=lacking.pop("isolation", CONTAINERS))
        await examined(pool, agent, **lacking)
        await with_oks(pool, agent, 50)
        shown = await mark(pool, agent)
        assert not shown["verified"]
        assert shown["missing_for_verified"] == [words]

    play(sqlite_hub, story)


def test_other_hardware_is_not_verified_until_it_was_examined(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, isolation=CONTAINERS)
        await examined(pool, agent)
        await with_oks(pool, agent, 50)
        assert (await mark(pool, agent))["verified"]
        agent.capacity = agent.capacity.model_copy(update={"cpu_model": "another"})
        await agent.disconnect()
        await agent.connect()
        assert not pool.engine.scheduler.fleet.get(agent.node_id).traits.standing.verified

    play(sqlite_hub, story)


def test_min_reliability_asks_for_the_lower_bound(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit(user=BOB, where={"min_reliability": 0.7})
        for _ in range(10):
            assert (await pool.job(job_id, user=BOB)).state == "queued"
            await pool.submit(user=BOB)
            await agent.run_next()
        await agent.run_next()  # the mean was above it long before; the bound is 0.703 now
        assert (await pool.job(job_id, user=BOB)).state == "succeeded"

    play(hub_url, story)


def test_ones_own_nodes_are_trusted_and_reliable_enough(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit(where={"trust": "verified", "min_reliability": 0.99})
        await agent.run_next()
        assert (await pool.job(job_id)).state == "succeeded"

    play(sqlite_hub, story)
