"""Agents of different owners that answer the same work, rightly or not."""

import hashlib
from datetime import timedelta
from typing import Any

from sqlalchemy.orm import Session
from support.engine import Pool
from support.scripted_agent import ScriptedAgent, Work, add_agent

from computepool.hub.core.owners import Owner
from computepool.hub.reputation import repository as reputations
from computepool.protocol.messages import ReportAck, UploadFile, UploadGrant, UploadRequest
from computepool.protocol.receipt import OutputRef

CAROL, DAVE, ERIN = "user_carol", "user_dave", "user_erin"


async def add_agents(pool: Pool, *owners: str, **fields: Any) -> list[ScriptedAgent]:
    """One of each owner."""
    now = pool.clock.now()

    def add_owners(session: Session) -> None:
        for owner in owners:
            if session.get(Owner, owner) is None:
                session.add(Owner(id=owner, kind="user", created_at=now - timedelta(days=1)))

    await pool.db.run(add_owners)
    return [await add_agent(pool, name=owner, owner=owner, **fields) for owner in owners]


async def answer(agent: ScriptedAgent, output: bytes = b"right", *, seconds: float = 0.0, **changes: Any) -> Work:
    """Take the next offer, run it, and deliver one file."""
    work = await agent.take_offer()
    await agent.update(work, "running")
    if seconds:
        await agent.pool.settle(seconds)
    return await deliver(agent, work, output, **changes)


async def deliver(agent: ScriptedAgent, work: Work, output: bytes = b"right", **changes: Any) -> Work:
    digest = "sha256:" + hashlib.sha256(output).hexdigest()
    file = UploadFile(path="out", digest=digest, size_bytes=len(output))
    granted = await agent.answer_to(UploadRequest(**work.ref.model_dump(), request=1, files=(file,)))
    assert isinstance(granted, UploadGrant), granted
    assert not granted.refused, granted
    for url in granted.targets[0].urls:
        agent.pool.store.put(url.removeprefix("memory:"), output)
    outputs = (OutputRef(path="out", digest=digest, size_bytes=len(output)),)
    done = await agent.finish(work, **{"outputs": outputs, **changes})
    assert isinstance(done, ReportAck), done
    return work


async def trust(pool: Pool, *agents: ScriptedAgent) -> None:
    """Their results were found right ten times."""

    def write(session: Session) -> None:
        for agent in agents:
            reputations.write(session, reputations.lock(session, agent.node_id).id, {"audited_ok": 10})

    await pool.db.run(write)
    await pool.engine.refresh_standings()


async def judged_by(pool: Pool, judge: ScriptedAgent, output: bytes) -> Work:
    """It is there just for that."""
    await judge.connect()
    work = await answer(judge, output)
    await judge.disconnect()
    await pool.settle(60)
    return work
