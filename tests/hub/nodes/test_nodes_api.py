"""Nodes over HTTP: seen and changed by their owner, and the fleet hears of it."""

from datetime import datetime

import pytest
from support.engine import ADMIN, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.core.tables import AuditRow
from computepool.hub.nodes.errors import NodeMoved
from computepool.hub.nodes.repository import move_node
from computepool.hub.nodes.service import effective_state
from computepool.hub.nodes.tables import Node
from computepool.protocol.messages import Offer
from computepool.protocol.states import NODE_NEXT, NodeState

N = NodeState


def test_node_moves_only_along_the_table(hub_url):
    async def story(pool):
        agent = await add_agent(pool, connect=False)

        def each_pair(session):
            for before in NodeState:
                for after in NodeState:
                    session.get_one(Node, agent.node_id).state = before
                    session.flush()
                    if after in NODE_NEXT[before]:
                        assert move_node(session, agent.node_id, after, pool.clock.now())
                    elif after is before:
                        assert not move_node(session, agent.node_id, after, pool.clock.now())
                    else:
                        with pytest.raises(NodeMoved):
                            move_node(session, agent.node_id, after, pool.clock.now())
                    session.expire_all()

        await pool.db.run(each_pair)

    play(hub_url, story)


@pytest.mark.parametrize(
    ("reported", "drain", "expected"),
    [
        (N.ONLINE, False, N.ONLINE),
        (N.ONLINE, True, N.DRAINING),
        (N.PAUSED, False, N.PAUSED),
        (N.PAUSED, True, N.PAUSED),
        (N.DRAINING, False, N.DRAINING),
        (N.DRAINING, True, N.DRAINING),
    ],
)
def test_owners_wish_and_agents_word_make_the_state(reported, drain, expected):
    assert effective_state(reported, drain_requested=drain) is expected


def test_list_shows_ones_own_page_by_page_and_an_admin_all(sqlite_hub):
    async def story(pool):
        mine = [(await add_agent(pool, name=f"n{i}")).node_id for i in range(3)]
        theirs = (await add_agent(pool, owner=BOB)).node_id
        first = (await pool.call("GET", "nodes?limit=2")).json()
        rest = (await pool.call("GET", f"nodes?limit=2&cursor={first['next']}")).json()
        assert sorted(node["id"] for node in first["items"] + rest["items"]) == sorted(mine)
        assert rest["next"] is None
        everything = (await pool.call("GET", "nodes", user=ADMIN)).json()["items"]
        assert sorted(node["id"] for node in everything) == sorted([*mine, theirs])

    play(sqlite_hub, story)


def test_node_shows_what_is_free_of_it_and_when_it_was_seen(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        await pool.submit(resources={"cpus": 1.5})
        await pool.settle(5)
        node = (await pool.call("GET", f"nodes/{agent.node_id}")).json()
        assert (node["free"]["cpus"], node["running_attempts"], node["state"]) == (2.5, 1, "online")
        await agent.heartbeat()
        later = (await pool.call("GET", f"nodes/{agent.node_id}")).json()
        assert later["last_seen_at"] > node["last_seen_at"]

    play(sqlite_hub, story)


@pytest.mark.parametrize("silence", [20, 200])
def test_node_whose_line_is_gone_was_seen_when_it_was_last_heard(sqlite_hub, silence):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.settle(5)
        await agent.heartbeat()
        heard = pool.clock.now()
        await agent.disconnect()
        await pool.settle(silence)
        node = (await pool.call("GET", f"nodes/{agent.node_id}")).json()
        assert node["state"] == ("online" if silence == 20 else "offline")
        assert abs((datetime.fromisoformat(node["last_seen_at"]) - heard).total_seconds()) < 1

    play(sqlite_hub, story)


def test_change_of_tags_and_country_decides_on_the_next_job(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit(where={"tags": ["fast"], "country": ["DE"]})
        await pool.settle()
        assert agent.unread(Offer) == []
        answer = await pool.call("PATCH", f"nodes/{agent.node_id}", {"tags": ["fast"], "country": "DE", "name": "new"})
        assert (answer.status_code, answer.json()["name"]) == (200, "new")
        assert (await agent.take_offer()).manifest.job_id == job_id
        assert pool.rows(AuditRow, action="node.changed")[0].details == {
            "tags": ["fast"], "country": "DE", "name": "new"
        }  # fmt: skip

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    "change",
    [{"name": ""}, {"name": "a\0b"}, {"country": "de"}, {"tags": ["a b"]}, {"colour": "red"}, {"state": "online"}],
)
def test_nonsense_change_is_refused(sqlite_hub, change):
    async def story(pool):
        agent = await add_agent(pool)
        assert (await pool.call("PATCH", f"nodes/{agent.node_id}", change)).status_code == 422

    play(sqlite_hub, story)


def test_ban_is_for_good_and_may_be_said_twice(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        for _ in range(2):
            answer = await pool.call("POST", f"nodes/{agent.node_id}/ban")
            assert (answer.status_code, answer.json()["state"]) == (200, "banned")
        for action in ("drain", "resume"):
            assert (await pool.call("POST", f"nodes/{agent.node_id}/{action}")).json()["error"]["code"] == "node_state"
        await pool.restart()
        assert len(pool.engine.scheduler.fleet) == 0

    play(sqlite_hub, story)
