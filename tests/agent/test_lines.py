"""The line to the hub: handshake, clones, goodbyes, restarts of the hub, and key rotation."""

import asyncio
import random
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.agents import running_agent
from support.fake_hub import FakeHub, raw_public
from support.waiting import patience

from computepool.agent.link.backoff import reconnect_delay_seconds
from computepool.agent.link.failover import Baton
from computepool.agent.link.handshake import Dismissed
from computepool.agent.ports import LinkKind
from computepool.protocol.manifest import MANIFEST
from computepool.protocol.signing import key_id_of, sign
from computepool.protocol.states import AttemptState
from computepool.protocol.timing import RECONNECT_LIMIT_IDLE_SECONDS, RECONNECT_LIMIT_WITH_JOB_SECONDS


def test_agent_proves_itself_and_says_what_it_has(tmp_path):
    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            proof = running.node.proofs[0]
            assert proof.capacity.cpus == 4.0
            assert (proof.holding, proof.cursor, proof.stream_id, proof.state) == ((), 0, None, "online")
            await hub.until(lambda: running.agent.status()["link"] == "websocket")
            await hub.until(lambda: len(running.node.heartbeats) >= 2)

    asyncio.run(story())


def test_second_start_under_the_same_identity_is_dismissed(tmp_path):
    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as first:
            async with running_agent(hub, tmp_path, wait=False) as clone:
                with pytest.raises(Dismissed) as dismissed:
                    await asyncio.wait_for(clone.task, patience())
                assert dismissed.value.code == "cloned"
            assert not first.task.done()
            attempt_id = hub.offer(first.node, "/bin/true")
            await hub.until(lambda: attempt_id in hub.receipts)

    asyncio.run(story())


def test_restart_of_the_hub_is_hardly_noticed(tmp_path):
    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            script = "for i in 1 2 3 4; do echo $i; sleep 0.05; done; while [ ! -e go ]; do sleep 0.05; done; echo 5"
            attempt_id = hub.offer(running.node, "/bin/sh", "-c", script)
            await hub.until(lambda: hub.logs[attempt_id])
            await hub.go_away()
            await asyncio.sleep(0.3)
            await hub.start()
            await hub.until(lambda: len(running.node.proofs) == 2)
            assert [one.attempt_id for one in running.node.proofs[1].holding] == [attempt_id]
            assert running.node.proofs[1].holding[0].state is AttemptState.RUNNING
            (running.job_folders[0] / "work" / "go").touch()
            await hub.until(lambda: attempt_id in hub.receipts)
            assert bytes(hub.logs[attempt_id]) == b"1\n2\n3\n4\n5\n"
            assert hub.receipts[attempt_id].exit_code == 0

    asyncio.run(story())


def test_unacknowledged_reports_are_said_again_on_the_next_line(tmp_path):
    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            hub.acknowledge_reports = False
            attempt_id = hub.offer(running.node, "/bin/echo", "hello")
            await hub.until(lambda: bytes(hub.logs[attempt_id]) == b"hello\n" and hub.updates[attempt_id])
            await asyncio.sleep(0.3)
            assert attempt_id not in hub.receipts
            hub.acknowledge_reports = True
            hub.drop_lines()
            await hub.until(lambda: attempt_id in hub.receipts)
            assert running.node.proofs[1].holding[0].state is AttemptState.FINISHING
            assert [update.state for update in hub.updates[attempt_id]] == ["running"]

    asyncio.run(story())


def test_wall_clock_of_the_node_does_not_matter(tmp_path):
    async def story():
        async with FakeHub() as hub:
            hub.time_offset = timedelta(days=400)
            async with running_agent(hub, tmp_path) as running:
                attempt_id = hub.offer(running.node, "/bin/true")
                await hub.until(lambda: attempt_id in hub.receipts)
                started = hub.receipts[attempt_id].started_at
                assert started is not None
                assert abs((hub.now() - started).total_seconds()) < 3600
                assert running.agent.status()["clock_skew_seconds"] < -86400

    asyncio.run(story())


def test_next_key_of_the_hub_is_pinned_when_the_current_one_signed_it(tmp_path):
    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            following = Ed25519PrivateKey.generate()
            key_id = key_id_of(raw_public(following))

            def offer_signed_by_next():
                manifest = hub.manifest(running.node, ("/bin/true",))
                hub.offer_signed(running.node, sign(following, key_id, MANIFEST, manifest.to_bytes()))
                return manifest.attempt_id

            too_early = offer_signed_by_next()
            hub.announce_key(running.node, following)
            accepted = offer_signed_by_next()
            await hub.until(lambda: accepted in hub.receipts)
            assert too_early not in hub.updates
            assert [key.key_id for key in running.home.node().hub_keys] == [hub.key_id, key_id]

            # A key that some other key announces is not trusted.
            stranger = Ed25519PrivateKey.generate()
            hub.key, hub.key_id = stranger, key_id_of(raw_public(stranger))
            hub.announce_key(running.node, Ed25519PrivateKey.generate())
            await asyncio.sleep(0.1)
            assert len(running.home.node().hub_keys) == 2

    asyncio.run(story())


def test_order_of_a_retired_key_is_refused_whatever_time_the_hub_tells(tmp_path):
    async def story():
        async with FakeHub() as hub, running_agent(hub, tmp_path) as running:
            old_key, old_id = hub.key, hub.key_id
            following = Ed25519PrivateKey.generate()
            key_id = key_id_of(raw_public(following))

            def offer_signed_by(key, signer_id):
                manifest = hub.manifest(running.node, ("/bin/true",))
                hub.offer_signed(running.node, sign(key, signer_id, MANIFEST, manifest.to_bytes()))
                return manifest.attempt_id

            hub.announce_key(running.node, following)
            before = offer_signed_by(old_key, old_id)
            await hub.until(lambda: before in hub.receipts)
            hub.key, hub.key_id = following, key_id
            hub.retire_key(running.node, old_id, hub.now() - timedelta(seconds=1))
            # A thief who has the old key and the line can tell any time.
            running.agent.supervisor._shop.hub_time.set(hub.now() - timedelta(days=1))
            refused = offer_signed_by(old_key, old_id)
            running.agent.supervisor._shop.hub_time.set(hub.now())
            accepted = offer_signed_by(following, key_id)
            await hub.until(lambda: accepted in hub.receipts)
            assert refused not in hub.updates
            assert running.home.node().keys_at(hub.now()).keys() == {key_id}

    asyncio.run(story())


def test_blocked_websocket_is_replaced_by_long_poll(tmp_path):
    async def story():
        async with FakeHub() as hub:
            hub.block_websockets = True
            async with running_agent(hub, tmp_path) as running:
                assert running.node.lines == ["long_poll"]
                ids = [hub.offer(running.node, "/bin/sh", "-c", f"echo {i}") for i in range(5)]
                await hub.until(lambda: all(attempt_id in hub.receipts for attempt_id in ids))
                assert [bytes(hub.logs[attempt_id]) for attempt_id in ids] == [b"0\n", b"1\n", b"2\n", b"3\n", b"4\n"]
                await hub.until(lambda: len(running.node.heartbeats) >= 2)

    asyncio.run(story())


def test_lost_replies_of_polls_lose_and_repeat_nothing(tmp_path):
    async def story():
        async with FakeHub() as hub:
            hub.block_websockets = True
            async with running_agent(hub, tmp_path) as running:
                ids = []
                for number in range(6):
                    hub.lose_poll_replies = 2
                    ids.append(hub.offer(running.node, "/bin/sh", "-c", f"echo {number} | tee -a {tmp_path}/ran"))
                    await hub.until(lambda: ids[-1] in hub.receipts)
                assert (tmp_path / "ran").read_text() == "0\n1\n2\n3\n4\n5\n"
                assert all(hub.finished_count[attempt_id] == 1 for attempt_id in ids)

    asyncio.run(story())


def test_reconnect_waits_longer_and_longer_within_limits():
    rng = random.Random(3)
    for limit in (RECONNECT_LIMIT_WITH_JOB_SECONDS, RECONNECT_LIMIT_IDLE_SECONDS):
        delays = [reconnect_delay_seconds(failures, limit, rng) for failures in range(1, 20)]
        assert delays[0] <= 0.25
        assert max(delays) <= limit
        assert delays[-1] >= limit / 2
    assert len({reconnect_delay_seconds(5, 60, rng) for _ in range(20)}) == 20


def test_baton_prefers_websocket_polls_while_it_is_sick_and_tries_it_again():
    baton = Baton(random.Random(1))
    assert baton.choose(0) is LinkKind.WEBSOCKET
    baton.failed(LinkKind.WEBSOCKET, 0)
    baton.failed(LinkKind.WEBSOCKET, 1)
    assert baton.choose(1) is LinkKind.WEBSOCKET
    baton.failed(LinkKind.WEBSOCKET, 2)
    assert baton.choose(2) is LinkKind.LONG_POLL
    assert not baton.wants_probe(200)
    assert baton.wants_probe(400)
    baton.probe_failed(400)
    assert not baton.wants_probe(401)
    assert baton.choose(900) is LinkKind.WEBSOCKET
    baton.held(LinkKind.WEBSOCKET)
    assert baton.choose(901) is LinkKind.WEBSOCKET


def test_baton_takes_a_refusal_as_a_stronger_sign_and_a_restart_as_none():
    baton = Baton(random.Random(1))
    baton.failed(LinkKind.WEBSOCKET, 0, blocked=True)
    baton.failed(LinkKind.WEBSOCKET, 0, blocked=True)
    assert baton.choose(1) is LinkKind.LONG_POLL

    restarted = Baton(random.Random(1))
    for _ in range(10):
        restarted.failed(LinkKind.WEBSOCKET, 0)
        restarted.hub_restarted()
    assert restarted.choose(1) is LinkKind.WEBSOCKET


def test_baton_returns_to_websocket_when_polling_fails_too():
    baton = Baton(random.Random(1))
    for _ in range(3):
        baton.failed(LinkKind.WEBSOCKET, 0)
    baton.failed(LinkKind.LONG_POLL, 1)
    assert baton.choose(1) is LinkKind.WEBSOCKET


def test_baton_does_not_blame_the_websocket_for_a_hub_that_is_away():
    baton = Baton(random.Random(1))
    for second in range(10):
        baton.failed(LinkKind.WEBSOCKET, float(second), away=True)
    assert baton.choose(10.0) is LinkKind.WEBSOCKET
