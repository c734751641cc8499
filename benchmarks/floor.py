"""The floor: the least that any durable hub with a process for each job can do on a machine.

    HTTP submit → one SQLite transaction, WAL and FULL (the job and two ledger rows) → Ed25519 signature →
    WebSocket push → check of the signature → spawn, plain or in bubblewrap → a second transaction with the result

No accounts, leases, log stream, receipts, limits or recovery: what a pool adds is what it takes longer. It answers
under the same paths as the hub, so that one client measures both. `python -m benchmarks.floor hub|agent …` is one half.
"""

import argparse
import asyncio
import contextlib
import json
import sqlite3
from collections import deque
from pathlib import Path
from typing import Any

import uvicorn
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from fastapi import FastAPI, Request, Response, WebSocket, WebSocketDisconnect
from websockets.asyncio.client import connect

from benchmarks.client import Client
from benchmarks.processes import Child, answers, free_port, python, wait_until

API = "/api/v1"
SCHEMA = """
PRAGMA journal_mode=WAL;
PRAGMA synchronous=FULL;
CREATE TABLE jobs(id INTEGER PRIMARY KEY, state TEXT, spec TEXT, output BLOB);
CREATE TABLE postings(id INTEGER PRIMARY KEY, job_id INTEGER, account INTEGER, amount INTEGER);
"""
SANDBOX = (
    *("bwrap", "--ro-bind", "/", "/", "--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp"),
    *("--unshare-all", "--die-with-parent", "--new-session"),
)


class FloorHub:
    def __init__(self, database: Path, key: Ed25519PrivateKey, slots: int) -> None:
        self._db = sqlite3.connect(database, isolation_level=None)
        self._db.executescript(SCHEMA)
        self._key = key
        self._free = slots
        self._waiting: deque[str] = deque()
        self._agent: WebSocket | None = None
        self.open = 0

    async def submit(self, spec: Any) -> int:
        job_id = self._commit("INSERT INTO jobs(state, spec) VALUES ('queued', ?)", (json.dumps(spec),), None)
        self.open += 1
        self._waiting.append(json.dumps({"id": job_id, **spec}))
        await self._push()
        return job_id

    async def serve(self, agent: WebSocket) -> None:
        self._agent = agent
        await self._push()
        while True:
            result = json.loads(await agent.receive_text())
            end = "UPDATE jobs SET state = 'done', output = ? WHERE id = ?"
            self._commit(end, (result["output"], result["id"]), result["id"])
            self.open -= 1
            self._free += 1
            await self._push()

    def output(self, job_id: int) -> tuple[bytes, bool]:
        state, output = self._db.execute("SELECT state, output FROM jobs WHERE id = ?", (job_id,)).fetchone()
        return (output or "").encode(), state == "done"

    def _commit(self, statement: str, values: tuple[Any, ...], job_id: int | None) -> int:
        self._db.execute("BEGIN IMMEDIATE")
        row = self._db.execute(statement, values).lastrowid
        job_id = job_id or row or 0
        self._db.execute("INSERT INTO postings(job_id, account, amount) VALUES (?, 1, -5), (?, 2, 5)", (job_id, job_id))
        self._db.execute("COMMIT")
        return job_id

    async def _push(self) -> None:
        while self._agent is not None and self._free and self._waiting:
            self._free -= 1
            manifest = self._waiting.popleft()
            signature = self._key.sign(manifest.encode()).hex()
            await self._agent.send_text(json.dumps({"manifest": manifest, "signature": signature}))


def create_app(hub: FloorHub) -> FastAPI:
    app = FastAPI()

    @app.post(API + "/jobs", status_code=201)
    async def submit(request: Request) -> dict[str, str]:
        return {"id": str(await hub.submit(await request.json()))}

    @app.get(API + "/jobs/{job_id}/logs")
    async def logs(job_id: int) -> Response:
        output, whole = hub.output(job_id)
        return Response(output, headers={"X-Log-Complete": "1" if whole else "0"})

    @app.get(API + "/stats")
    async def stats() -> dict[str, int]:
        return {"slices_running": hub.open, "slices_queued": 0}

    @app.websocket("/agent")
    async def agent(socket: WebSocket) -> None:
        await socket.accept()
        with contextlib.suppress(WebSocketDisconnect):
            await hub.serve(socket)

    return app


async def run_agent(url: str, key: Ed25519PublicKey) -> None:
    running: set[asyncio.Task[None]] = set()
    async with connect(url, compression=None) as socket:

        async def run(order: dict[str, str]) -> None:
            key.verify(bytes.fromhex(order["signature"]), order["manifest"].encode())
            job = json.loads(order["manifest"])
            argv = [*SANDBOX, *job["run"]] if job["isolation"] == "bubblewrap" else job["run"]
            process = await asyncio.create_subprocess_exec(
                *argv, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE
            )
            output, _ = await process.communicate()
            await socket.send(json.dumps({"id": job["id"], "output": output.decode()}))

        async for raw in socket:
            task = asyncio.create_task(run(json.loads(raw)))
            running.add(task)
            task.add_done_callback(running.discard)


class Floor:
    """Both halves, each in a process of its own."""

    def __init__(self, folder: Path, slots: int) -> None:
        key = Ed25519PrivateKey.generate()
        port = free_port()
        self._children: list[Child] = []
        self.client = Client(f"http://127.0.0.1:{port}")
        try:
            words = ("--port", str(port), "--database", folder / "floor.db", "--slots", str(slots))
            self.hub = self._start("hub", folder, *words, "--key", key.private_bytes_raw().hex())
            wait_until(lambda: answers(port), "the floor's hub", self.hub)
            public = key.public_key().public_bytes_raw().hex()
            self.agent = self._start("agent", folder, "--port", str(port), "--key", public)
            first = self.client.submit(["/bin/true"], "process")
            wait_until(lambda: self.client.log(first) is not None, "the floor's agent", self.hub, self.agent)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        self.client.close()
        for child in reversed(self._children):
            child.stop()

    def _start(self, half: str, folder: Path, *words: str | Path) -> Child:
        child = Child(python("-m", "benchmarks.floor", half, *words), folder / f"floor-{half}.log")
        self._children.append(child)
        return child


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("half", choices=("hub", "agent"))
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--key", type=bytes.fromhex, required=True)
    parser.add_argument("--database", type=Path)
    parser.add_argument("--slots", type=int, default=1)
    given = parser.parse_args()
    if given.half == "agent":
        asyncio.run(run_agent(f"ws://127.0.0.1:{given.port}/agent", Ed25519PublicKey.from_public_bytes(given.key)))
    else:
        hub = FloorHub(given.database, Ed25519PrivateKey.from_private_bytes(given.key), given.slots)
        uvicorn.run(
            create_app(hub),
            port=given.port,
            log_level="critical",
            access_log=False,
            loop="uvloop",
            http="httptools",
            ws="websockets-sansio",
            ws_per_message_deflate=False,
            server_header=False,
        )


if __name__ == "__main__":
    main()
