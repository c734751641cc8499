"""What owners have stored: brought there by scripted agents and renters, and counted anew."""

from typing import Any

from sqlalchemy.orm import Session
from support.engine import Pool
from support.scripted_agent import ScriptedAgent, Work, digest

from computepool.hub.artifacts.usage import Amount, find_stored
from computepool.protocol.messages import UploadFile, UploadGrant, UploadRequest
from computepool.protocol.receipt import OutputRef


def announced(**files: bytes) -> tuple[UploadFile, ...]:
    return tuple(UploadFile(path=path, size_bytes=len(data), digest=digest(data)) for path, data in files.items())


async def ask(agent: ScriptedAgent, work: Work, purpose: Any = "output", **files: bytes) -> UploadGrant:
    request = UploadRequest(**work.ref.model_dump(), request=1, files=announced(**files), purpose=purpose)
    answer = await agent.answer_to(request)
    assert isinstance(answer, UploadGrant), answer
    return answer


async def put_outputs(pool: Pool, agent: ScriptedAgent, work: Work, **files: bytes) -> tuple[OutputRef, ...]:
    """Granted and put; the receipt is to name them."""
    grant = await ask(agent, work, **files)
    assert grant.refused is None, grant.refused
    for target in grant.targets:
        for url in target.urls:
            pool.store.put(url.removeprefix("memory:"), files[target.path])
    return tuple(OutputRef(path=one.path, digest=one.digest, size_bytes=one.size_bytes) for one in announced(**files))


def usage(pool: Pool, owner: str) -> Amount:
    """As it is counted."""
    with Session(pool.db.engine) as session:
        stored = find_stored(session, owner)
        return Amount(stored.bytes, stored.objects)
