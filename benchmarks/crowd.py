"""Simulated agents: real keys, the product's own handshake, backoff and WebSockets; they take work and never do it.

`python -m benchmarks.crowd FILE` keeps all agents of a file connected, in one process, until it is ended.
"""

import asyncio
import json
import random
import secrets
import sys
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy import Table, insert

from benchmarks.pool import Hub
from benchmarks.processes import Child, python
from computepool.agent.clock import HubTime, SystemClock
from computepool.agent.home import Identity, NodeRecord
from computepool.agent.link.backoff import reconnect_delay_seconds
from computepool.agent.link.base import Link, LinkClosed, LinkUnavailable
from computepool.agent.link.handshake import Dismissed, HandshakeFailed, Standing, handshake
from computepool.agent.link.websocket import open_websocket
from computepool.hub.core.db import durable_engine
from computepool.hub.core.ids import new_id
from computepool.hub.nodes.tables import Node
from computepool.protocol.capacity import Capacity
from computepool.protocol.messages import Availability, Heartbeat, Holding, Offer, parse_from_hub
from computepool.protocol.states import AttemptState, IsolationLevel, NodeState
from computepool.protocol.timing import RECONNECT_LIMIT_IDLE_SECONDS

VERSION = "bench"
GIB = 1024**3
AT_ONCE = 64
"""Handshakes of the first connection that are under way at a time. A reconnection has no such limit: it is a storm."""
SMALL = Capacity(
    cpus=8,
    memory_bytes=32 * GIB,
    disk_bytes=200 * GIB,
    isolation=(IsolationLevel.BUBBLEWRAP, IsolationLevel.PROCESS),
)
"""Not marked as simulated: nodes that are get only jobs that ask for them."""
ENDLESS = SMALL.model_copy(update={"cpus": 60_000.0, "memory_bytes": 2**59, "disk_bytes": 2**59})
"""Room for every job of a benchmark."""


@dataclass(frozen=True)
class Invented:
    """A node of a benchmark, with the keys to be it."""

    node_id: str
    sign_key: str
    capacity: Capacity
    country: str | None = None

    @property
    def identity(self) -> Identity:
        return Identity(Ed25519PrivateKey.from_private_bytes(bytes.fromhex(self.sign_key)), _SEAL_KEY)


_SEAL_KEY = X25519PrivateKey.generate()


def invent(capacities: Sequence[tuple[Capacity, str | None]]) -> list[Invented]:
    now = datetime.now(UTC)
    return [
        Invented(new_id("node", now, secrets.randbits), secrets.token_hex(32), capacity, country)
        for capacity, country in capacities
    ]


def enrol(nodes: Sequence[Invented], database_url: str, owner_id: str) -> None:
    """Straight into the tables, as if each had joined: enrolment is not what is measured."""
    now = datetime.now(UTC)
    engine = durable_engine(database_url)
    rows: list[dict[str, Any]] = [
        {
            "id": node.node_id,
            "owner_id": owner_id,
            "name": f"simulated {number}",
            "state": NodeState.OFFLINE,
            "drain_requested": False,
            "sign_key": node.identity.public_sign_key,
            "seal_key": node.identity.public_seal_key,
            "country": node.country,
            "tags": [],
            "capacity": node.capacity.model_dump(mode="json"),
            "agent_version": VERSION,
            "replaces": None,
            "created_at": now,
            "last_seen_at": None,
        }
        for number, node in enumerate(nodes)
    ]
    try:
        with engine.begin() as connection:
            connection.execute(insert(cast(Table, Node.__table__)), rows)
    finally:
        engine.dispose()


class SimulatedAgent:
    def __init__(self, invented: Invented, hub_url: str, hub_id: str, connect: Callable[[], Awaitable[Link]]) -> None:
        node_id = invented.node_id
        self._node = NodeRecord(hub_url=hub_url, hub_id=hub_id, node_id=node_id, name=node_id, hub_keys=())
        self._identity = invented.identity
        self._capacity = invented.capacity
        self._connect = connect
        self._instance_id = secrets.token_hex(16)
        self._hub_time = HubTime(SystemClock())
        self._holding: list[Holding] = []
        self._stream_id: str | None = None
        self._cursor = 0

    async def begin(self) -> tuple[Link, float]:
        """A link whose handshake is done, and how often to send heartbeats over it."""
        link = await self._connect()
        try:
            welcome = await handshake(
                link,
                node=self._node,
                identity=self._identity,
                instance_id=self._instance_id,
                agent_version=VERSION,
                standing=self._standing,
                hub_time=self._hub_time,
            )
        except BaseException:
            await link.close()
            raise
        if welcome.stream_id != self._stream_id:
            self._stream_id, self._cursor = welcome.stream_id, 0
        return link, welcome.heartbeat_seconds

    def _standing(self) -> Standing:
        return Standing(
            capacity=self._capacity,
            holding=tuple(self._holding),
            stream_id=self._stream_id,
            cursor=self._cursor,
            state=NodeState.ONLINE,
            availability=Availability(),
            cached=(),
        )

    async def beat(self, link: Link) -> None:
        await link.send(Heartbeat(cursor=self._cursor, holding=tuple(self._holding)).to_bytes())

    async def stay(self, first: asyncio.Semaphore) -> None:
        """Connected, and connected again after every end, as patiently as a real agent."""
        async with first:
            link, heartbeat_seconds = await self._begin_at_last(0)
        while True:
            await self._live(link, heartbeat_seconds)
            link, heartbeat_seconds = await self._begin_at_last(1)

    async def _begin_at_last(self, failures: int) -> tuple[Link, float]:
        while True:
            if failures:
                await asyncio.sleep(reconnect_delay_seconds(failures, RECONNECT_LIMIT_IDLE_SECONDS, random.Random()))
            try:
                return await self.begin()
            except (LinkUnavailable, HandshakeFailed, Dismissed):
                failures += 1

    async def _live(self, link: Link, heartbeat_seconds: float) -> None:
        beats = asyncio.create_task(self._beat_on(link, heartbeat_seconds))
        try:
            while True:
                self.take(await link.receive())
        except LinkClosed:
            pass
        finally:
            beats.cancel()
            await link.close()

    async def _beat_on(self, link: Link, heartbeat_seconds: float) -> None:
        await asyncio.sleep(random.uniform(0, heartbeat_seconds))
        while True:
            await self.beat(link)
            await asyncio.sleep(heartbeat_seconds)

    def take(self, raw: bytes) -> None:
        """What it is offered, it holds from now on."""
        if b'"offer"' not in raw:
            return
        offer = parse_from_hub(raw)
        if isinstance(offer, Offer):
            manifest = json.loads(offer.manifest.body)
            self._cursor = offer.number
            self._holding.append(
                Holding(attempt_id=manifest["attempt_id"], fence=manifest["fence"], state=AttemptState.RUNNING)
            )


def start_crowd(hub: Hub, nodes: Sequence[Invented], folder: Path) -> Child:
    hub_id = hub.client.get("keys")["hub_id"]
    file = folder / f"crowd-{hub.port}.json"
    agents = [
        {"node_id": node.node_id, "sign_key": node.sign_key, "capacity": node.capacity.model_dump(mode="json")}
        for node in nodes
    ]
    file.write_text(json.dumps({"hub_url": hub.url, "hub_id": hub_id, "agents": agents}))
    return Child(python("-m", "benchmarks.crowd", file), folder / f"crowd-{hub.port}.log")


async def _stay_all(plan: dict[str, Any]) -> None:
    first = asyncio.Semaphore(AT_ONCE)
    url = plan["hub_url"]
    agents = [
        SimulatedAgent(
            Invented(one["node_id"], one["sign_key"], Capacity.model_validate(one["capacity"])),
            url,
            plan["hub_id"],
            lambda: open_websocket(url, VERSION),
        )
        for one in plan["agents"]
    ]
    await asyncio.gather(*(agent.stay(first) for agent in agents))


if __name__ == "__main__":
    asyncio.run(_stay_all(json.loads(Path(sys.argv[1]).read_text())))
