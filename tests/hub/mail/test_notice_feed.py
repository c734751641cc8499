"""Notices: what people should know, in words, until it is old; and what they have read of it."""

from datetime import timedelta

from support.engine import ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.core.notices import UNMAILED, severity_of
from computepool.hub.core.records import prune_notices, record
from computepool.hub.core.tables import NoticeRow
from computepool.hub.mail.notice_feed import ALL_WORDS
from computepool.hub.mail.words import Notice, page_of
from computepool.hub.nodes.tables import Node


async def notices(pool, query="", user=ALICE):
    return (await pool.call("GET", f"notices{query}", user=user)).json()


def test_renter_and_host_read_what_happened_and_mark_it_as_read(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, name="attic")
        toy = await add_agent(pool, owner=BOB, name="toy", simulated=True)
        good = await pool.submit(name="good")
        await agent.run_next()
        bad = await pool.submit(name="bad")
        await agent.run_next(exit_code=3)
        await agent.disconnect()
        await toy.disconnect()
        await pool.settle(300)
        page = await notices(pool)
        assert [(one["title"], one["severity"], one["link"]) for one in page["items"]] == [
            ("Job bad failed.", "warning", f"/jobs/{bad}"),
            ("Job good succeeded.", "info", f"/jobs/{good}"),
        ]
        assert (page["unread"], page["total"], page["next"]) == (2, 2, None)
        (offline,) = (await notices(pool, user=BOB))["items"]  # of what is simulated nobody is told
        assert (offline["code"], offline["kind"], offline["link"]) == (
            "node.offline",
            "nodes",
            f"/nodes/{agent.node_id}",
        )
        assert offline["title"] == "Your machine attic is offline."

        # Others' ids are passed over.
        newest = page["items"][0]["id"]
        assert (await pool.call("POST", "notices/read", {"ids": [newest]}, user=BOB)).json() == {"unread": 1}
        assert (await notices(pool))["unread"] == 2
        assert (await pool.call("POST", "notices/read", {"ids": [newest, offline["id"]]})).json() == {"unread": 1}
        assert [one["link"] for one in (await notices(pool, "?unread=true"))["items"]] == [f"/jobs/{good}"]
        first = await notices(pool, "?limit=1")
        assert first["items"][0]["read_at"] is not None
        assert (await notices(pool, f"?limit=1&cursor={first['next']}"))["items"][0]["link"] == f"/jobs/{good}"
        assert (await pool.call("POST", "notices/read", {"all": True})).json() == {"unread": 0}
        for nonsense in ({}, {"ids": [1], "all": True}, {"ids": None}):
            assert (await pool.call("POST", "notices/read", nonsense)).status_code == 422

        def forget(session):
            return prune_notices(session, pool.clock.now() + timedelta(seconds=1), 2)

        assert [await pool.db.run(forget) for _ in range(3)] == [2, 1, 0]

    play(hub_url, story)


def test_event_stream_says_that_there_is_a_notice_and_a_decided_quarantine_makes_one(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        before = (await pool.call("GET", "events?follow=false")).text
        cursor = before.split("id: ")[1].split("\n")[0]

        def happen(session):
            now, topics = pool.clock.now(), (f"owner/{ALICE}",)
            record(session, "node.quarantined", agent.node_id, now, topics=topics)
            record(session, "node.quarantined", agent.node_id, now, topics=topics, until=now.isoformat(), level=1)
            record(session, "node.drain", agent.node_id, now, topics=topics)

        await pool.db.run(happen)
        (row,) = pool.rows(NoticeRow)
        assert row.details["level"] == 1
        told = (await pool.call("GET", f"events?follow=false&after={cursor}")).text
        assert told.count('"notice":true') == 1
        assert (await notices(pool))["items"][0]["title"] == "Your machine node is quarantined."
        assert pool.rows(Node)

    play(sqlite_hub, story)


def test_every_notice_has_words_a_severity_and_a_page():
    details = {"job": "job_1", "node": "node_1", "about": "job_1"}
    for action in {*ALL_WORDS, *UNMAILED}:
        assert action in ALL_WORDS
        assert severity_of(action) in ("info", "warning", "error")
        assert page_of(Notice(action, "node_1", details)) in ("/jobs/node_1", "/nodes/node_1", "/jobs/job_1", "/wallet")
