"""What one owner has in a pool: a finished job with a log and an output, a waiting one, a node and an artifact."""

from typing import Any

from support.engine import Pool
from support.scripted_agent import add_agent, digest

from computepool.protocol.messages import UploadFile, UploadRequest
from computepool.protocol.receipt import OutputRef


async def things_of(pool: Pool, user: str) -> dict[str, Any]:
    """A finished job with a log and an output, a waiting one, a node and an artifact of one user."""
    agent = await add_agent(pool, owner=user, name=f"node of {user}", tags=(f"of-{user.replace('_', '-')}",))
    where = {"node": agent.node_id}
    done = await pool.submit(user=user, where=where)
    work = await agent.take_offer()
    await agent.write_log(work, f"the secret of {user}\n".encode())
    content = f"the output of {user}".encode()
    file = UploadFile(path="out.txt", size_bytes=len(content), digest=digest(content))
    grant = await agent.answer_to(UploadRequest(**work.ref.model_dump(), request=1, files=(file,)))
    put = await pool.client.put(f"http://hub.test{grant.targets[0].urls[0]}", content=content)
    assert put.status_code in (200, 201, 204), put.text
    ref = OutputRef(path="out.txt", digest=digest(content), size_bytes=len(content))
    await agent.finish(work, outputs=(ref,))
    running = await pool.submit(user=user, where=where)
    await agent.take_offer()
    announced = await pool.call("POST", "artifacts", {"digest": digest(b"x"), "size_bytes": 1}, user=user)
    artifact = announced.json()
    for upload in artifact["uploads"]:
        await pool.client.put(f"http://hub.test{upload['url']}", content=b"x")
    return {"job_id": done, "running": running, "node_id": agent.node_id, "artifact_id": artifact["id"], "agent": agent}
