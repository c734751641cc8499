"""A copy of a machine is refused, and its owner hears of it: once a copy, and by mail at most once a day."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.engine import ALICE, Pool, play
from support.planted import each_check, each_mutant
from support.scripted_agent import ScriptedAgent, add_agent

from computepool.hub.core.notices import mail_topic
from computepool.hub.core.records import Event, record
from computepool.hub.core.tables import AuditRow
from computepool.hub.gateway import handshake
from computepool.hub.mail.words import Known, write
from computepool.hub.mail.words import Notice as MailNotice
from computepool.hub.nodes import service
from computepool.hub.nodes.service import CLONE_SHOWN_FOR, CLONE_TOLD_EVERY
from computepool.hub.nodes.tables import Node
from computepool.hub.payments.amounts import Units
from computepool.protocol.messages import Goodbye, Welcome
from computepool.protocol.timing import HEARTBEAT_SECONDS, OFFLINE_AFTER_SECONDS

HOUR = timedelta(hours=1)


async def refused(agent: ScriptedAgent, times: int = 1) -> Goodbye:
    """The copy comes, under its own instance id, and again after the first one was heard."""
    for _ in range(times + 1):
        answer = await agent.try_to_connect()
        assert isinstance(answer, Goodbye)
        assert (answer.code, answer.retry) == ("cloned", True)
        last = answer
        await agent.pool.settle(HEARTBEAT_SECONDS + 1)
    return last


class Told:
    """What the owner is told from here on."""

    def __init__(self, pool: Pool) -> None:
        self._pool, self._mails = pool, 0
        real = pool.db.on_commit

        def count(events: list[Event]) -> None:
            self._mails += sum(event.topic == mail_topic(ALICE) for event in events)
            real(events)

        pool.db.on_commit = count

    @property
    def records_and_mails(self) -> tuple[int, int]:
        return len(self._pool.rows(AuditRow, action="node.cloned")), self._mails


async def lively_node(pool: Pool) -> tuple[ScriptedAgent, ScriptedAgent]:
    """An agent that beats, and its copy."""
    first = await add_agent(pool)
    first.beat_on()
    await pool.settle(100)
    copy = ScriptedAgent(pool, first.node_id, first.key, first.capacity)
    copy.instance_id = "another start of another machine"
    return first, copy


async def time_passes(pool: Pool, length: timedelta) -> None:
    """What is known of the copy is so much older. The virtual clock is not made for days of heartbeats."""

    def age(session: Session) -> None:
        for node in session.scalars(select(Node).where(Node.clone_seen_at.is_not(None))):
            assert node.clone_seen_at is not None
            assert node.clone_told_at is not None
            node.clone_seen_at -= length
            node.clone_told_at -= length

    await pool.db.run(age)


async def owner_is_told_without_a_flood(pool: Pool) -> None:
    _, copy = await lively_node(pool)
    told = Told(pool)
    await refused(copy, times=5)
    assert told.records_and_mails == (1, 1)
    for start in range(3):
        copy.instance_id = f"the copy restarts, {start}"
        await refused(copy, times=2)
    assert told.records_and_mails == (4, 1), "each start is recorded, and none of them is another mail"
    await time_passes(pool, CLONE_TOLD_EVERY + HOUR)
    await refused(copy)
    assert told.records_and_mails == (4, 1), "the same start stays the same copy"
    copy.instance_id = "it comes again, a day later"
    await refused(copy)
    assert told.records_and_mails == (5, 2)


async def owner_sees_it_until_it_is_over(pool: Pool) -> None:
    first, copy = await lively_node(pool)
    assert (await pool.call("GET", f"nodes/{first.node_id}")).json()["clone_seen_at"] is None
    message = (await refused(copy)).message
    assert "computepool join" in message
    assert "computepool agent rotate-key" in message
    shown = (await pool.call("GET", "nodes")).json()["items"][0]
    assert shown["clone_seen_at"] is not None
    assert shown["notice"].startswith("A second agent with this node's key was refused")
    assert "agent rotate-key" in shown["notice"]
    assert "second agent" in (await first.connect()).notice, "the agent that is let in hears of it too"
    await time_passes(pool, 4 * HOUR)
    await refused(copy)
    later = (await pool.call("GET", f"nodes/{first.node_id}")).json()
    assert later["clone_seen_at"] >= shown["clone_seen_at"], "it is still there, and was seen again"
    await time_passes(pool, CLONE_SHOWN_FOR + HOUR)
    after = (await pool.call("GET", f"nodes/{first.node_id}")).json()
    assert after["clone_seen_at"] is None
    assert "second agent" not in after["notice"]


async def restarted_machine_is_no_copy(pool: Pool) -> None:
    """It lost its power, and is back before the hub misses it: its old link is silent, and nobody is alarmed."""
    agent, told = await add_agent(pool), Told(pool)
    await pool.settle(5)
    agent.vanish()
    agent.reborn()
    for _ in range(5):
        answer = await agent.try_to_connect()
        assert isinstance(answer, Goodbye)
        await pool.settle(2)
    await pool.settle(OFFLINE_AFTER_SECONDS)
    assert isinstance(await agent.try_to_connect(), Welcome)
    assert told.records_and_mails == (0, 0)
    assert (await pool.call("GET", f"nodes/{agent.node_id}")).json()["clone_seen_at"] is None


def every_refusal_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def flag(session: Any, node_id: str, instance_id: str, now: Any) -> None:
        node = session.get(Node, node_id)
        topics = (mail_topic(node.owner_id),)
        record(session, "node.cloned", node_id, now, actor=node_id, topics=topics, instance_id=instance_id)

    monkeypatch.setattr(handshake, "flag_clone", flag)


def every_start_is_a_mail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CLONE_TOLD_EVERY", timedelta(0))


def a_refusal_is_enough(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake.Connected, "is_cloned", lambda self, instance_id, seen_at, now: True)


def nobody_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(handshake, "flag_clone", lambda session, node_id, instance_id, now: None)


def first_sight_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CLONE_SEEN_EVERY", timedelta(days=30))


def it_is_shown_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "CLONE_SHOWN_FOR", timedelta(days=10_000))


MUTANTS = {
    owner_is_told_without_a_flood: [every_refusal_is_told, every_start_is_a_mail, nobody_is_told],
    restarted_machine_is_no_copy: [a_refusal_is_enough],
    owner_sees_it_until_it_is_over: [nobody_is_told, first_sight_is_kept, it_is_shown_for_ever],
}


@each_check(MUTANTS)
def test_clone(check, hub_url):
    play(hub_url, check)


@each_mutant(MUTANTS)
def test_planted_bug_is_found(check, mutant, sqlite_hub, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)


@pytest.mark.parametrize("action", ["node.cloned", "node.key_replaced"])
def test_mail_names_the_machine_and_says_what_to_do(action):
    known = Known(Units("USD", Decimal(1)), nodes={"node_1": "my box"})
    subject, body = write([MailNotice(action, "node_1", {"key": "k1"})], known)
    assert "your machine" in subject
    assert "my box (node_1)" in body
    assert ("agent rotate-key" if action == "node.cloned" else "--replace node_1") in body
