"""How a link begins, and whom the hub sends away."""

import asyncio
from collections import Counter
from datetime import timedelta

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy.orm import Session
from support.engine import ALICE, SECRET_KEY, play
from support.scripted_agent import MemoryPipe, add_agent

from computepool.hub.core.keyring import announce_next_key, rotate_keys
from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.gateway import handshake
from computepool.hub.jobs.policy import VERDICT_OF_REASON
from computepool.hub.nodes.tables import Node
from computepool.protocol.hub_keys import HubKey, ends_of, follow_keys
from computepool.protocol.messages import (
    HOLDING_LIMIT,
    PROTOCOL_VERSION,
    Goodbye,
    Heartbeat,
    Hello,
    Holding,
    KeyAnnouncement,
    KeyRetirement,
    Offer,
    Proof,
    Stop,
    Welcome,
    parse_from_hub,
)
from computepool.protocol.receipt import OLDER_REASONS, EndReason
from computepool.protocol.states import AttemptState, NodeState
from computepool.protocol.timing import MANIFEST_VALID_SECONDS

FIRST_REASONS = {
    *("exited", "memory", "disk", "runtime", "canceled", "outputs", "bundle", "start_failed", "sandbox", "input"),
    *("bad_input", "unreachable", "node_disk", "declined"),
}


def test_each_later_end_reason_has_an_older_one_with_the_same_verdict():
    """Agents tell it to hubs that do not know the later one."""
    assert set(EndReason) - set(OLDER_REASONS) == FIRST_REASONS
    for later, older in OLDER_REASONS.items():
        assert older in FIRST_REASONS
        assert VERDICT_OF_REASON[later] is VERDICT_OF_REASON[older]


def test_welcome_tells_stream_time_and_the_constants_of_leases(hub_url):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        welcome = await agent.connect()
        assert (welcome.hub_id, welcome.heartbeat_seconds, welcome.lease_seconds) == ("hub_test", 10, 120)
        assert abs(welcome.hub_time - pool.clock.now()) < timedelta(seconds=1)
        assert welcome.end_reasons == tuple(OLDER_REASONS)
        assert pool.rows(Node)[0].state == "online"
        assert pool.engine.scheduler.fleet.get(agent.node_id).state is NodeState.ONLINE

    play(hub_url, story)


def test_node_without_its_key_is_sent_away_for_good(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        answer = await agent.try_to_connect(key=Ed25519PrivateKey.generate())
        assert isinstance(answer, Goodbye)
        assert (answer.code, answer.retry) == ("bad_proof", False)
        for wrong in ("", "not base64!", "AAAA"):
            answer = await agent.try_to_connect(proof={"signature": wrong})
            assert isinstance(answer, Goodbye)
            assert answer.code == "bad_proof"
        assert pool.rows(Node)[0].state == "offline"

    play(sqlite_hub, story)


def test_proof_of_another_link_node_or_start_is_worth_nothing(sqlite_hub):
    async def story(pool):
        agent, other = await add_agent(pool, connect=False), await add_agent(pool, name="other", connect=False)
        recorded = MemoryPipe()
        serving = asyncio.create_task(pool.engine.gateway.serve(recorded))
        hello = Hello(node_id=agent.node_id, instance_id=agent.instance_id, agent_version="1")
        recorded.to_hub.put_nowait(hello.to_bytes())
        assert parse_from_hub(await recorded.from_hub.get() or b"") is not None
        recorded.hang_up()
        await serving
        answer = await agent.try_to_connect(hello={"instance_id": "another start".ljust(32, "x")})
        assert isinstance(answer, Goodbye)
        assert answer.code == "bad_proof"
        answer = await agent.try_to_connect(hello={"node_id": other.node_id})
        assert isinstance(answer, Goodbye)
        assert answer.code == "bad_proof"

    play(sqlite_hub, story)


def test_unknown_and_banned_nodes_are_sent_away_for_good(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        answer = await agent.try_to_connect(hello={"node_id": "node_of_nobody"})
        assert isinstance(answer, Goodbye)
        assert (answer.code, answer.retry) == ("unknown_node", False)
        assert (await pool.call("POST", f"nodes/{agent.node_id}/ban")).status_code == 200
        assert (await agent.expect(Goodbye)).code == "banned"
        answer = await agent.try_to_connect()
        assert isinstance(answer, Goodbye)
        assert (answer.code, answer.retry) == ("unknown_node", False)
        assert len(pool.engine.scheduler.fleet) == 0

    play(sqlite_hub, story)


def test_node_banned_in_the_middle_of_its_handshake_does_not_slip_in(hub_url):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        with pool.db.held("reconcile") as waits:
            connecting = asyncio.create_task(agent.try_to_connect())
            await waits.wait()
            assert (await pool.call("POST", f"nodes/{agent.node_id}/ban")).status_code == 200
        answer = await connecting
        assert isinstance(answer, Goodbye)
        assert answer.code in ("unknown_node", "banned")
        assert len(pool.engine.scheduler.fleet) == 0
        await pool.submit()
        assert pool.rows(Node)[0].state == "banned"

    play(hub_url, story)


def test_drain_in_the_middle_of_a_handshake_is_not_forgotten(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        with pool.db.held("reconcile") as waits:
            connecting = asyncio.create_task(agent.connect())
            await waits.wait()
            assert (await pool.call("POST", f"nodes/{agent.node_id}/drain")).status_code == 200
        await connecting
        await pool.submit()
        await agent.heartbeat()
        await pool.settle()
        assert agent.unread(Offer) == []
        assert pool.engine.scheduler.fleet.get(agent.node_id).state is NodeState.DRAINING

    play(sqlite_hub, story)


def test_newer_protocol_is_told_to_wait_for_an_upgrade(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        answer = await agent.try_to_connect(hello={"protocol": PROTOCOL_VERSION + 1})
        assert isinstance(answer, Goodbye)
        assert (answer.code, answer.retry) == ("protocol", True)

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    ("first", "code"),
    [
        (Heartbeat().to_bytes(), "handshake"),
        (b'{"type": "of the future"}', "handshake"),
        (b"{}", "malformed"),
        (b"\xff\x00", "malformed"),
        (Hello(node_id="n", instance_id="i", agent_version="x").to_bytes()[:-9], "malformed"),
    ],
)
def test_link_that_begins_otherwise_is_ended_with_a_word(sqlite_hub, first, code):
    async def story(pool):
        pipe = MemoryPipe()
        pipe.to_hub.put_nowait(first)
        await pool.engine.gateway.serve(pipe)
        goodbye = parse_from_hub(pipe.from_hub.get_nowait() or b"")
        assert isinstance(goodbye, Goodbye)
        assert (goodbye.code, pipe.closed) == (code, True)

    play(sqlite_hub, story)


def test_link_that_stays_silent_is_closed(sqlite_hub):
    async def story(pool):
        pipe = MemoryPipe()
        began = pool.clock.now()
        await pool.engine.gateway.serve(pipe)
        assert pipe.closed
        assert timedelta(seconds=19) < pool.clock.now() - began < timedelta(seconds=21)

    play(sqlite_hub, story)


# ── two at once ──────────────────────────────────────────────────────────────────────────────────────────────────────


def test_cloned_disk_is_refused_and_flagged_and_the_first_stays(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        agent.beat_on()
        first, instance = agent.pipe, agent.instance_id
        await pool.settle(100)
        agent.reborn()
        for _ in range(2):
            answer = await agent.try_to_connect()
            assert isinstance(answer, Goodbye)
            assert (answer.code, answer.retry) == ("cloned", True)
            await pool.settle(15)
        assert [row.details["instance_id"] for row in pool.rows(AuditRow, action="node.cloned")] == [agent.instance_id]
        agent.instance_id = instance
        assert not first.closed
        await pool.submit()
        await agent.take_offer()

    play(hub_url, story)


def test_same_start_replaces_its_own_link(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        first = agent.pipe
        await agent.connect()
        assert first.closed
        assert not agent.pipe.closed
        await pool.submit()
        await agent.take_offer()
        assert pool.rows(AuditRow, action="node.cloned") == []

    play(sqlite_hub, story)


def test_restarted_agent_takes_over_once_the_old_link_is_silent(sqlite_hub):
    """Its machine was switched off, and nobody told the hub."""

    async def story(pool):
        agent = await add_agent(pool)
        agent.vanish()
        agent.reborn()
        assert isinstance(await agent.try_to_connect(), Goodbye)
        await pool.settle(46)
        assert isinstance(await agent.try_to_connect(), Welcome)

    play(sqlite_hub, story)


def test_handshake_that_fails_half_way_is_not_taken_for_a_clone_later(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        real = pool.db.run

        async def failing(fn, *args, **kwargs):
            if fn.__name__ == "reconcile":
                raise OSError("the disk is full")
            return await real(fn, *args, **kwargs)

        pool.db.run = failing
        with pytest.raises(AssertionError, match="without a word"):
            await agent.try_to_connect()
        with pytest.raises(OSError, match="disk"):
            await agent._tasks[0]
        pool.db.run = real
        agent.reborn()
        await agent.connect()

    play(sqlite_hub, story)


def test_slow_database_does_not_tear_a_handshake(sqlite_hub):
    """What is decided in it must reach the memory, however long the commit took."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        agent.vanish()
        await pool.settle(150)
        assert work.id not in pool.engine.scheduler.fleet.get(agent.node_id).attempts
        with pool.db.held("reconcile", "after") as waits:
            connecting = asyncio.create_task(agent.connect())
            await waits.wait()
            await pool.settle(30)
        await connecting
        assert work.id in pool.engine.scheduler.fleet.get(agent.node_id).attempts
        await agent.finish(work)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_attempt_that_is_lost_while_a_handshake_is_answered_is_not_held_again(sqlite_hub):
    """It ran on when both sides were compared. Until the answer came its lease had ended, and memory knew."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        agent.vanish()
        await pool.settle(125)
        with pool.db.held("reconcile", "after") as waits:
            connecting = asyncio.create_task(agent.connect())
            await waits.wait()
            await pool.settle(25)
            assert pool.attempt(work.id).state == "lost"
        await connecting
        assert work.id not in pool.engine.scheduler.fleet.get(agent.node_id).attempts

    play(sqlite_hub, story)


# ── what else is said ────────────────────────────────────────────────────────────────────────────────────────────────


def test_next_key_is_announced_to_every_link(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        await pool.db.run(announce_next_key, SECRET_KEY, pool.clock.now())
        await pool.restart()
        await agent.connect()
        announced = await agent.expect(KeyAnnouncement)
        assert announced.announcement.key_id == pool.engine.keyring.current_id

    play(sqlite_hub, story)


def test_retired_key_ends_when_its_successor_signs_and_every_link_hears_of_it(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        old = pool.engine.keyring.current_id
        await pool.db.run(announce_next_key, SECRET_KEY, pool.clock.now())
        await pool.db.run(rotate_keys, pool.clock.now())
        await pool.restart()
        began = pool.clock.now()
        await agent.connect()
        retired = await agent.expect(KeyRetirement)
        keyring = pool.engine.keyring
        assert [key.key_id for key in keyring.pinned] == [keyring.current_id]
        assert keyring.current_id != old
        ends = ends_of(keyring.public)
        assert set(ends) == {old}
        assert began <= ends[old] <= began + timedelta(seconds=MANIFEST_VALID_SECONDS)
        assert retired.retirement.key_id == keyring.current_id
        # A verifier that knew the old key alone follows it to the new one.
        known = [HubKey(key_id=key.key_id, public_key=key.public_key) for key in keyring.public if key.key_id == old]
        assert {key.key_id for key in follow_keys(known, keyring.public)} == {old, keyring.current_id}
        # The next start does not give it more time.
        await pool.restart()
        assert ends_of(pool.engine.keyring.public) == ends

    play(sqlite_hub, story)


def test_capacity_and_version_are_kept_as_the_agent_says(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        agent.capacity = agent.capacity.model_copy(update={"cpus": 6.0})
        await agent.connect(hello={"agent_version": "2"})
        (row,) = pool.rows(Node)
        assert (row.capacity["cpus"], row.agent_version) == (6.0, "2")
        await pool.submit(resources={"cpus": 6})
        await agent.take_offer()

    play(sqlite_hub, story)


def test_stopping_hub_says_goodbye_and_come_back(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.engine.gateway.close()
        goodbye = await agent.expect(Goodbye)
        assert (goodbye.code, goodbye.retry) == ("hub_stopping", True)
        assert agent.pipe.closed

    play(sqlite_hub, story)


def test_malformed_report_ends_the_link_and_not_the_work(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        agent.pipe.to_hub.put_nowait(b'{"type": "update", "attempt_id": 5}')
        assert (await agent.expect(Goodbye)).code == "malformed"
        await pool.settle()
        await agent.connect()
        await agent.update(work, "running")
        await agent.finish(work)
        assert (await pool.job(work.manifest.job_id)).state == "succeeded"

    play(sqlite_hub, story)


def test_second_hello_in_the_middle_of_a_link_is_no_news(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        await agent.send(Hello(node_id=agent.node_id, instance_id=agent.instance_id, agent_version="1"))
        await agent.send(Proof(signature="x", capacity=agent.capacity))
        await agent.heartbeat()

    play(sqlite_hub, story)


def test_link_that_carries_no_answers_is_ended(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        pipe = agent.pipe
        pipe.torn = True
        await agent.send(Heartbeat())
        await pool.settle()
        assert pipe.closed
        assert pool.engine.scheduler.fleet.get(agent.node_id).line is None

    play(sqlite_hub, story)


def test_states_of_nodes_reach_their_owners_stream(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        agent.state = "paused"
        await agent.heartbeat()
        await pool.settle(60)
        actions = [row.payload["action"] for row in pool.rows(OutboxRow, topic=f"owner/{ALICE}")]
        assert actions == ["node.enrolled", "node.online", "node.paused", "node.offline"]

    play(sqlite_hub, story)


def test_session_of_the_database_is_not_kept_by_a_link(hub_url):
    """A link lives for days; a transaction must not."""

    async def story(pool):
        await add_agent(pool)
        assert pool.db.engine.pool.checkedout() == 0
        with Session(pool.db.engine) as session:
            assert session.get(Node, "nobody") is None

    play(hub_url, story)


# ── agents that hold more than there is ──────────────────────────────────────────────────────────────────────────────


def strange(count):
    return tuple(Holding(attempt_id=f"attempt_{i}", fence=1, state=AttemptState.RUNNING) for i in range(count))


def test_thousands_of_strange_attempts_are_looked_up_together(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.disconnect()
        await pool.settle(150)
        assert pool.attempt(work.id).state == "lost"
        before = pool.db.statements
        await agent.connect(holding=(*strange(HOLDING_LIMIT - 1), *agent.holding))
        await pool.settle()
        assert pool.db.statements - before < 40
        assert pool.attempt(work.id).state == "running"  # and what may be taken back is found among them
        stopped = [command.attempt_id for command in agent.commands if isinstance(command, Stop)]
        assert stopped == [one.attempt_id for one in strange(HOLDING_LIMIT - 1)]

    play(hub_url, story)


def test_agent_that_claims_more_than_a_node_may_hold_is_sent_away(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, connect=False)
        answer = await agent.try_to_connect(proof={"holding": strange(HOLDING_LIMIT + 1)})
        assert isinstance(answer, Goodbye)
        assert answer.code == "malformed"
        await agent.connect()
        pipe = agent.pipe
        beat = Heartbeat().model_copy(update={"holding": strange(HOLDING_LIMIT + 1)})
        await agent.send(beat)
        assert (await agent.expect(Goodbye)).code == "malformed"
        assert pipe.closed

    play(sqlite_hub, story)


# ── links that follow each other ─────────────────────────────────────────────────────────────────────────────────────


A_FEW_VIRTUAL_SECONDS = 5
"""Virtual time: a slow machine does not run out of it."""


class BlockedPipe(MemoryPipe):
    """Its peer is gone without a word: whoever closes it waits minutes for an answer that never comes."""

    async def close(self):
        await asyncio.sleep(300)
        self.hang_up()


def block(agent):
    agent.pipe.__class__ = BlockedPipe


@pytest.mark.parametrize("how", ["comes back", "is banned", "the hub stops"])
def test_nobody_waits_for_the_farewell_to_a_peer_that_is_gone(sqlite_hub, how):
    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        block(agent)
        async with asyncio.timeout(A_FEW_VIRTUAL_SECONDS):
            match how:
                case "comes back":
                    await agent.connect()
                    await agent.finish(work)
                    assert (await pool.job(work.manifest.job_id)).state == "succeeded"
                case "is banned":
                    await pool.call("POST", f"nodes/{agent.node_id}/ban")
                    assert pool.attempt(work.id).state == "lost"
                case "the hub stops":
                    await pool.engine.gateway.close()

    play(sqlite_hub, story)


def test_link_that_was_replaced_while_it_waited_settles_nothing(hub_url):
    """What it says the agent holds is old by then."""

    async def story(pool):
        agent = await add_agent(pool)
        await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        pool.db.commits.clear()
        with pool.db.held("reconcile") as waits:
            first = asyncio.create_task(agent.try_to_connect())
            await waits.wait()
            second = asyncio.create_task(agent.try_to_connect(holding=()))
            await pool.settle()
            third = asyncio.create_task(agent.try_to_connect())
            await pool.settle()
        assert isinstance(await third, Welcome)
        await pool.settle()
        assert pool.db.commits.count("reconcile") == 2
        assert pool.attempt(work.id).state == "running"
        assert pool.engine.scheduler.fleet.get(agent.node_id).takes_work
        for task in (first, second):
            task.cancel()

    play(hub_url, story)


@pytest.mark.parametrize("batch", [5, 10**6], ids=["batches", "planted bug"])
def test_hub_that_stops_says_goodbye_in_batches(sqlite_hub, monkeypatch, batch):
    """Between them others are answered: a goodbye to thousands at once kept everybody waiting."""
    monkeypatch.setattr(handshake, "ENDING_BATCH", batch)

    async def story(pool):
        agents = [await add_agent(pool) for _ in range(12)]
        gateway, turn, told_in = pool.engine.gateway, 0, []
        hang_up = gateway._hang_up

        def noting(pipe, goodbye=None):
            told_in.append(turn)
            hang_up(pipe, goodbye)

        monkeypatch.setattr(gateway, "_hang_up", noting)
        closing = asyncio.ensure_future(gateway.close())
        while len(told_in) < len(agents):
            await asyncio.sleep(0)
            turn += 1
        await closing
        for agent in agents:
            assert (await agent.expect(Goodbye)).code == "hub_stopping"
        assert sorted(Counter(told_in).values()) == ([2, 5, 5] if batch == 5 else [12])

    play(sqlite_hub, story)
