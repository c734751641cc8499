"""Agents that send more than the hub can write, or do not read what it answers: others do not notice."""

import asyncio

import pytest
from support.engine import play
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.hub.artifacts.logs import LogStore
from computepool.hub.gateway import session
from computepool.hub.gateway.session import AgentSession, InFlight
from computepool.protocol.messages import Heartbeat, LogChunk

CHUNK = b"x" * 200_000


async def flooding(pool, name):
    agent = await add_agent(pool, name=name)
    await pool.submit(where={"node": agent.node_id})
    work = await agent.take_offer()
    await agent.update(work, "running")
    for number in range(40):
        chunk = LogChunk(attempt_id=work.id, fence=work.manifest.fence, offset=number * len(CHUNK), data=CHUNK)
        agent.pipe.to_hub.put_nowait(chunk.to_bytes())
    return agent


async def logs_of_all_nodes_are_bounded_together(pool, monkeypatch) -> None:
    """While nothing can be written, each node has one report in the hub, and all together a little more."""
    gate = asyncio.Event()
    append = LogStore.append

    async def held_up(self, attempt_id, offset, data):
        await gate.wait()
        return await append(self, attempt_id, offset, data)

    monkeypatch.setattr(LogStore, "append", held_up)
    in_flight = pool.engine.gateway._in_flight
    monkeypatch.setattr(in_flight, "_limit_bytes", 1_000_000)
    for name in ("one", "two", "three"):
        await flooding(pool, name)
    await pool.settle()
    assert 3 * len(CHUNK) < in_flight.bytes < 1_000_000 + 3 * 300_000
    gate.set()
    await pool.settle()
    assert in_flight.bytes == 0


async def agent_that_does_not_read_is_not_heard(pool, monkeypatch) -> None:
    monkeypatch.setattr(session, "UNSENT_LIMIT_BYTES", 2_000)
    agent = await add_agent(pool)
    agent.pipe.send = lambda raw: asyncio.Event().wait()
    handled: list[object] = []
    handle = AgentSession._handle

    async def counted(self, message, size_bytes):
        handled.append(message)
        await handle(self, message, size_bytes)

    monkeypatch.setattr(AgentSession, "_handle", counted)
    for _ in range(100):
        agent.pipe.to_hub.put_nowait(Heartbeat().to_bytes())
    await pool.settle()
    assert 0 < len(handled) < 50


def everything_is_taken(monkeypatch):
    async def take(self, count, *, is_only_one):
        self.bytes += count

    monkeypatch.setattr(InFlight, "take", take)


def nothing_is_given_back(monkeypatch):
    monkeypatch.setattr(InFlight, "give_back", lambda self, count: self._freed.set())


def unread_answers_pile_up(monkeypatch):
    monkeypatch.setattr(AgentSession, "post_raw", lambda self, raw: self._outgoing.put_nowait(raw))


MUTANTS = {
    logs_of_all_nodes_are_bounded_together: [everything_is_taken, nothing_is_given_back],
    agent_that_does_not_read_is_not_heard: [unread_answers_pile_up],
}


@each_check(MUTANTS)
def test_flood(check, sqlite_hub, monkeypatch):
    play(sqlite_hub, lambda pool: check(pool, monkeypatch))


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, sqlite_hub, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError)):
        play(sqlite_hub, lambda pool: check(pool, monkeypatch))
