"""Floods of a hub, each for a bounded time: `python -m benchmarks.flooding FILE` runs the one that the file describes.

It prints a line when it begins and, when it has ended by itself, how much it sent as JSON. Every flood goes on as a
hostile client would: whoever is refused, or cut off, connects again at once.
"""

import asyncio
import contextlib
import json
import select
import socket
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus, WebSocketException

from benchmarks.crowd import ENDLESS, Invented, SimulatedAgent
from computepool.agent.link.base import Link, LinkClosed
from computepool.agent.link.websocket import open_websocket
from computepool.protocol.messages import (
    LOG_CHUNK_LIMIT_BYTES,
    LogAck,
    LogChunk,
    Offer,
    Update,
    parse_from_hub,
)

READY = "ready"
MEGABYTE = 1_000_000
HEADER_CLIENTS = 4
POLL_CLIENTS = 6
POLL_BYTES = 4 * MEGABYTE
UPLOAD_CLIENTS = 6
LOG_LIMIT_BYTES = 900 * MEGABYTE
LOG_WINDOW = 8
"""Chunks that are on their way at once."""
RETRY_SECONDS = 0.1
SOCKET_SECONDS = 5.0

Plan = dict[str, Any]
"""`kind`, `port`, `seconds`, and what the kind needs."""


class Flood:
    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._port: int = plan["port"]
        self._ends_at = 0.0
        self.counts: Counter[str] = Counter()
        """Connections, requests, messages and bytes."""

    def run(self) -> None:
        getattr(self, f"_{self._plan['kind']}")()

    def _begin(self) -> None:
        self._ends_at = time.monotonic() + self._plan["seconds"]
        print(READY, flush=True)

    def _is_on(self) -> bool:
        return time.monotonic() < self._ends_at

    def _clients(self, count: int, client: Callable[[int], None]) -> None:
        def persistent(number: int) -> None:
            while self._is_on():
                with contextlib.suppress(OSError):
                    client(number)

        self._begin()
        threads = [threading.Thread(target=persistent, args=(number,)) for number in range(count)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _connect(self) -> socket.socket:
        self.counts["connections"] += 1
        return socket.create_connection(("127.0.0.1", self._port), SOCKET_SECONDS)

    def _send(self, line: socket.socket, data: bytes | memoryview) -> None:
        line.sendall(data)
        self.counts["bytes"] += len(data)

    def _headers(self) -> None:
        """Heads of requests without an end."""
        piece = b"x" * MEGABYTE

        def client(_number: int) -> None:
            with self._connect() as line:
                self._send(line, b"GET / HTTP/1.1\r\nHost: hub\r\nLong: ")
                while self._is_on():
                    self._send(line, piece)

        self._clients(HEADER_CLIENTS, client)

    def _half_open(self) -> None:
        """Connections whose request never ends; one that the hub ended is opened again."""
        lines: dict[int, socket.socket] = {}
        poll = select.poll()
        self._begin()
        try:
            while self._is_on():
                while len(lines) < self._plan["connections"] and self._is_on():
                    line = self._connect()
                    lines[line.fileno()] = line
                    poll.register(line, select.POLLIN)
                    with contextlib.suppress(OSError):
                        self._send(line, b"GET / HTTP/1.1\r\nHost:")
                for number, _event in poll.poll(100):
                    poll.unregister(number)
                    lines.pop(number).close()
        finally:
            for line in lines.values():
                line.close()

    def _polls(self) -> None:
        """Large polls that no node signed: of unknown nodes, of a known one, with a head and without."""
        filling = memoryview(b"x" * POLL_BYTES)

        def client(number: int) -> None:
            node_id = self._plan["node_id"] if number % 2 else "node_nobody"
            session = f"{number:032}"
            start = (
                f'{{"node_id":"{node_id}","session":"{session}","start":0,"received":0,"wait_seconds":0,"messages":["'
            ).encode()
            digest = f"sha256:{'0' * 64}"
            head = f'X-Computepool-Poll: {{"node_id":"{node_id}","session":"{session}","body_digest":"{digest}"}}\r\n'
            with self._connect() as line:
                self._send(
                    line,
                    b"POST /api/v1/agent/poll HTTP/1.1\r\nHost: hub\r\nX-Computepool-Signature: c2lnbmVk\r\n"
                    + (head.encode() if number >= POLL_CLIENTS // 2 else b"")
                    + f"Content-Length: {POLL_BYTES}\r\n\r\n".encode()
                    + start,
                )
                self.counts["requests"] += 1
                self._send(line, filling[len(start) :])
                line.recv(4096)

        self._clients(POLL_CLIENTS, client)

    def _uploads(self) -> None:
        """One part of an upload, put again and again."""
        body = bytes(self._plan["size_bytes"])

        def client(number: int) -> None:
            url = self._plan["urls"][number % len(self._plan["urls"])]
            head = f"PUT {url} HTTP/1.1\r\nHost: hub\r\nContent-Length: {len(body)}\r\n\r\n".encode()
            with self._connect() as line:
                while self._is_on():
                    self.counts["requests"] += 1
                    self._send(line, head)
                    for start in range(0, len(body), MEGABYTE):
                        self._send(line, body[start : start + MEGABYTE])
                        if not self._is_on():
                            return
                    if b" 201 " not in line.recv(4096):
                        return

        self._clients(UPLOAD_CLIENTS, client)

    def _streams(self) -> None:
        asyncio.run(self._watch_all())

    async def _watch_all(self) -> None:
        """Live streams of a large job with the token of one account."""
        address = f"ws://127.0.0.1:{self._port}/api/v1/jobs/{self._plan['job_id']}/stream"
        headers = {"Authorization": f"Bearer {self._plan['token']}"}

        async def watch() -> None:
            while True:
                try:
                    self.counts["connections"] += 1
                    async with connect(address, additional_headers=headers, compression=None, max_size=None) as stream:
                        self.counts["streams"] += 1
                        async for message in stream:
                            self.counts["bytes"] += len(message)
                except InvalidStatus:
                    self.counts["refused"] += 1
                except (WebSocketException, OSError):
                    pass
                await asyncio.sleep(RETRY_SECONDS)

        self._begin()
        tasks = [asyncio.create_task(watch()) for _ in range(self._plan["streams"])]
        await asyncio.sleep(max(0.0, self._ends_at - time.monotonic()))
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _logs(self) -> None:
        asyncio.run(self._log_on())

    async def _log_on(self) -> None:
        """A node whose job prints as fast as the hub takes it."""
        url = f"http://127.0.0.1:{self._port}"
        invented = Invented(self._plan["node_id"], self._plan["sign_key"], ENDLESS)
        agent = SimulatedAgent(invented, url, self._plan["hub_id"], lambda: open_websocket(url, "bench"))
        link, _ = await agent.begin()
        while not isinstance(offer := parse_from_hub(await link.receive()), Offer):
            pass
        self._begin()
        with contextlib.suppress(LinkClosed, TimeoutError):
            async with asyncio.timeout(self._plan["seconds"]):
                await self._log_over(link, offer)
        await link.close()

    async def _log_over(self, link: Link, offer: Offer) -> None:
        manifest = json.loads(offer.manifest.body)
        attempt_id, fence = manifest["attempt_id"], manifest["fence"]
        await link.send(Update(attempt_id=attempt_id, fence=fence, sequence=1, state="running").to_bytes())
        room, data = asyncio.Semaphore(LOG_WINDOW), b"x" * LOG_CHUNK_LIMIT_BYTES

        async def hear() -> None:
            while True:
                if isinstance(parse_from_hub(await link.receive()), LogAck):
                    room.release()

        hearing = asyncio.create_task(hear())
        try:
            for offset in range(0, LOG_LIMIT_BYTES, len(data)):
                await room.acquire()
                await link.send(LogChunk(attempt_id=attempt_id, fence=fence, offset=offset, data=data).to_bytes())
                self.counts["messages"] += 1
                self.counts["bytes"] += len(data)
        finally:
            hearing.cancel()


def main() -> None:
    flood = Flood(json.loads(Path(sys.argv[1]).read_text()))
    flood.run()
    print(json.dumps(flood.counts))


if __name__ == "__main__":
    main()
