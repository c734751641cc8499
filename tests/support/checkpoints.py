"""A scripted agent saves checkpoints."""

from support.scripted_agent import add_agent, digest

from computepool.protocol.manifest import SavedFile
from computepool.protocol.messages import CheckpointSaved, UploadFile, UploadRequest


async def running(pool, agent=None, **fields):
    agent = agent or await add_agent(pool)
    await pool.submit(**fields)
    return agent, await take(agent)


async def take(agent):
    work = await agent.take_offer()
    await agent.update(work, "running")
    return work


async def upload(pool, agent, work, **files: bytes):
    """The parts that were really put."""
    asked = tuple(UploadFile(path=path, size_bytes=len(data), digest=digest(data)) for path, data in files.items())
    request = UploadRequest(**work.ref.model_dump(), request=1, files=asked, purpose="checkpoint")
    grant = await agent.answer_to(request)
    assert grant.refused is None, grant.refused
    put = []
    for target in grant.targets:
        for url in filter(None, target.urls):
            pool.store.put(url.removeprefix("memory:"), files[target.path])
            put.append(target.path)
    return put


def report(work, number, **files: bytes):
    saved = tuple(SavedFile(path=path, digest=digest(data), size_bytes=len(data)) for path, data in files.items())
    return CheckpointSaved(**work.ref.model_dump(), sequence=-number, number=number, files=saved, running_seconds=12.5)


async def save(pool, agent, work, number, **files: bytes):
    await upload(pool, agent, work, **files)
    return await agent.answer_to(report(work, number, **files))
