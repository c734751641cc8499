"""The platform pays for checks without asking what they cost, so it does not ask whoever names any price."""

from support.checked_work import CAROL, ERIN, add_agents, answer, trust
from support.engine import ADMIN, BOB, play

from computepool.hub.market.pricing import Ask, Basis, is_dear
from computepool.hub.market.rates import Factors
from computepool.hub.market.requirements import requirements_of
from computepool.protocol.messages import Offer
from computepool.protocol.spec import parse_spec

SAME = {"deterministic": True, "outputs": ["out"]}


async def ask_for(pool, agent, fixed_micros):
    path = f"nodes/{agent.node_id}"
    reply = await pool.call("PATCH", path, {"price": {"fixed_micros": fixed_micros}}, user=ADMIN)
    assert reply.status_code == 200, reply.text


def test_node_that_asks_for_a_fortune_is_not_asked_to_judge(sqlite_hub):
    """Or its owner would let another node of theirs be audited, and be paid a fortune by the pool."""

    async def story(pool):
        bob, carol, erin = await add_agents(pool, BOB, CAROL, ERIN)
        await trust(pool, carol, erin)
        await ask_for(pool, carol, 10**9)
        for number in range(6):
            await pool.submit(**SAME, where={"node": bob.node_id})
            await answer(bob, b"%d" % number)
            await pool.settle(1)
            assert carol.unread(Offer) == []
            await answer(erin, b"%d" % number)

    play(sqlite_hub, story)


def test_where_only_the_dear_one_could_judge_nobody_does(sqlite_hub):
    async def story(pool):
        bob, carol = await add_agents(pool, BOB, CAROL)
        await ask_for(pool, carol, 10**9)
        await pool.submit(**SAME, where={"node": bob.node_id})
        await answer(bob)
        await pool.settle(5)
        assert carol.unread(Offer) == []
        await ask_for(pool, carol, 0)
        await pool.settle(5)
        assert len(carol.unread(Offer)) == 1

    play(sqlite_hub, story)


def test_dear_is_what_is_a_quarter_above_what_the_pool_suggests():
    needs = requirements_of(parse_spec({"run": ["true"], "resources": {"cpus": 2}}), "user_a")
    basis = Basis("IN", None, Factors(8_000_000, 1000, 1000, 1000))
    assert not is_dear(needs, Ask(0, 1_250_000, basis=basis))
    assert is_dear(needs, Ask(0, 1_250_001, basis=basis))
    assert not is_dear(needs, Ask(0, 10**12))
