"""What the simulation brings itself: database hop, store, transfer, line; its jobs and owners are beside. All else is
the product."""

import asyncio
import os
import random
import sqlite3
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping
from contextvars import Context
from pathlib import Path
from typing import Any, BinaryIO, ParamSpec, TypeVar

from sqlalchemy import Engine, NullPool, make_url
from sqlalchemy.orm import Session

from computepool.agent.link.base import LinkClosed
from computepool.agent.ports import Sink, TransferFailed
from computepool.hub.artifacts.store import Entry, ObjectMissing, SignedPut
from computepool.hub.core import together
from computepool.hub.core.db import OutcomeUnknown, durable_sqlite_engine, in_transaction
from computepool.hub.core.records import Event
from computepool.hub.gateway.pipe import PipeClosed
from computepool.hub.jobs import ending

P = ParamSpec("P")
T = TypeVar("T")

HOP_SECONDS = 0.004
SCHEME = "memory://"


async def offload_in_place(fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    await asyncio.sleep(0)
    return fn(*args, **kwargs)


class Faults:
    """Chance, and a count of every fault that really fired: a run in which none did proves nothing."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.fired: Counter[str] = Counter()
        self.enabled = True

    def fires(self, name: str, probability: float) -> bool:
        if self.enabled and self.rng.random() < probability:
            self.fired[name] += 1
            return True
        return False


class OneEngine:
    """For all worlds and every start of a hub: SQLAlchemy compiles each statement once for an engine."""

    def __init__(self) -> None:
        self._path = Path()
        self._engine = durable_sqlite_engine(make_url("sqlite://"), creator=self._open, poolclass=NullPool)

    def of(self, path: Path) -> Engine:
        """What is connected from now on is this file."""
        self._path = path
        return self._engine

    def _open(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, check_same_thread=False)


ENGINE = OneEngine()
together.PATIENCE_SECONDS = 15.0
"""With an ending that is slow: a world has few nodes, and hardly any two end within the hub's own patience."""


class SimulatedDatabase:
    """The hub's transactions on a real SQLite file, one at a time, with time passing before and after the commit.

    A crash before the commit loses it; a crash after it loses only the answer. Both are tried.
    """

    def __init__(self, path: Path, faults: Faults, crash: Callable[[], None], after_commit: Callable[[], None]) -> None:
        self.engine = ENGINE.of(path)
        self.on_commit: Callable[[list[Event]], None] = lambda _events: None
        self.on_settled: Callable[[list[Event]], None] = lambda _events: None
        self.on_doubt: Callable[[OutcomeUnknown], None] = lambda _doubt: None
        self._writer = self.engine.connect()
        self._reader = self.engine.connect().execution_options(only_looks=True)
        self._faults = faults
        self._crash = crash
        self._after_commit = after_commit
        self.under_way = 0
        """Transactions that were begun, and of which nobody has heard yet."""

    async def run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        self.under_way += 1
        try:
            return await self._run(fn, *args, **kwargs)
        finally:
            self.under_way -= 1

    async def _run(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        await self._hop()
        if fn.__name__ == "end_attempt" and self._faults.fires("slow_ending", 0.3):
            await asyncio.sleep(self._faults.rng.uniform(1.0, 10.0))  # so that others come meanwhile
        if self._faults.fires("hub_crash_before_commit", 0.002):
            self._crash()
            await _never()
        with self._writer.begin():
            result, records = in_transaction(self._writer, lambda session: fn(session, *args, **kwargs))
            records.write(self._writer)
        self._after_commit()
        if fn is ending.end_attempts:
            self._faults.fired["ended_together"] += 1
        if self._faults.fires("hub_crash_after_commit", 0.002):
            self._crash()
            await _never()
        await self._hop()
        if records.events:
            self.on_commit(records.events)
            self.on_settled([event for event in records.events if event.id is not None])
        return result

    async def read(self, fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        await self._hop()
        with Session(self._reader, expire_on_commit=False) as session:
            result = fn(session, *args, **kwargs)
        self._reader.rollback()
        await self._hop()
        return result

    def close(self) -> None:
        self._writer.close()
        self._reader.close()

    async def _hop(self) -> None:
        await asyncio.sleep(self._faults.rng.random() * HOP_SECONDS)


async def _never() -> None:
    """The process that awaits this is dead."""
    await asyncio.get_running_loop().create_future()


class MemoryStore:
    """Objects in memory. It outlives the hub, as a disk does."""

    origin = None

    def __init__(self) -> None:
        self._objects: dict[str, bytes] = {}

    def put(self, key: str, data: bytes | Iterable[bytes]) -> None:
        self._objects[key] = data if isinstance(data, bytes) else b"".join(data)

    def read(self, key: str, start: int, length: int) -> bytes:
        data = self._objects.get(key)
        if data is None or start + length > len(data):
            raise ObjectMissing(key)
        return data[start : start + length]

    def need_room(self, size_bytes: int) -> None:
        pass

    def prepare(self, prefix: str) -> None:
        pass

    def clear(self, prefix: str) -> None:
        self.delete(*[entry.key for entry in self.list(prefix)])

    def settle(self, prefix: str) -> None:
        """Memory is as durable as this world gets."""

    def size(self, key: str) -> int | None:
        data = self._objects.get(key)
        return None if data is None else len(data)

    def delete(self, *keys: str) -> None:
        for key in keys:
            self._objects.pop(key, None)

    def list(self, prefix: str) -> list[Entry]:
        return [Entry(key, len(self._objects[key])) for key in sorted(self._objects) if key.startswith(prefix)]

    def sign_put(self, key: str, size_bytes: int, digest: str, expires_seconds: int) -> SignedPut:
        return SignedPut(f"{SCHEME}{key}")

    def sign_get(self, key: str, expires_seconds: int, filename: str | None = None) -> str:
        return f"{SCHEME}{key}"


class Wire:
    """One connection: ordered both ways like TCP. It may be cut at any moment, with or without the hub noticing."""

    def __init__(self, faults: Faults) -> None:
        self._faults = faults
        self.up: deque[bytes] = deque()
        self.down: deque[bytes] = deque()
        self.agent_sees_end = False
        self.hub_sees_end = False
        self.cut = False
        self.news = asyncio.Event()
        self._last_due: dict[int, float] = {}

    def break_now(self, *, hub_notices: bool) -> None:
        """What is on the way is lost. A half-open connection: the hub goes on believing in it."""
        self.cut = True
        self.agent_sees_end = True
        self.hub_sees_end = self.hub_sees_end or hub_notices
        self._tell()

    def carry(self, queue: deque[bytes], raw: bytes) -> None:
        if self.cut:
            return
        loop = asyncio.get_running_loop()
        delay = self._faults.rng.random() * 0.05
        if self._faults.fires("slow_message", 0.01):
            delay += self._faults.rng.random() * 5
        # In order, as TCP is; and never at the same moment, for timers of one moment come in any order.
        due = max(loop.time() + delay, self._last_due.get(id(queue), 0.0) + 1e-6)
        self._last_due[id(queue)] = due
        loop.call_at(due, self._arrive, queue, raw, context=Context())
        if b'"sequence"' in raw and self._faults.fires("duplicate_message", 0.03):
            loop.call_at(due, self._arrive, queue, raw, context=Context())

    def _arrive(self, queue: deque[bytes], raw: bytes) -> None:
        if not self.cut:
            queue.append(raw)
            self._tell()

    def _tell(self) -> None:
        news, self.news = self.news, asyncio.Event()
        news.set()


class AgentEnd:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def send(self, raw: bytes) -> None:
        if self._wire.agent_sees_end:
            raise LinkClosed("cut")
        self._wire.carry(self._wire.up, raw)

    async def receive(self) -> bytes:
        while not self._wire.down:
            if self._wire.agent_sees_end:
                raise LinkClosed("cut")
            await self._wire.news.wait()
        return self._wire.down.popleft()

    async def close(self) -> None:
        self._wire.break_now(hub_notices=True)


class HubEnd:
    def __init__(self, wire: Wire) -> None:
        self._wire = wire

    async def receive(self) -> bytes:
        while not self._wire.up:
            if self._wire.hub_sees_end:
                raise PipeClosed
            await self._wire.news.wait()
        return self._wire.up.popleft()

    async def send(self, raw: bytes) -> None:
        if self._wire.hub_sees_end:
            raise PipeClosed
        self._wire.carry(self._wire.down, raw)

    async def close(self) -> None:
        self._wire.break_now(hub_notices=True)


class SimulatedTransfer:
    """To and from the store, while it can be reached. It breaks off now and then."""

    def __init__(self, store: MemoryStore, faults: Faults, reaches: Callable[[], bool]) -> None:
        self._store = store
        self._faults = faults
        self._reaches = reaches

    async def download(self, url: str, *, offset: int, sink: Sink) -> None:
        await self._pass()
        key = url.removeprefix(SCHEME)
        size = self._store.size(key)
        if size is None:
            raise TransferFailed(f"there is no {key}", retry=False)
        sink.begin(offset)
        sink.write(self._store.read(key, offset, size - offset))

    async def upload(
        self, url: str, file: BinaryIO, *, offset: int, size_bytes: int, headers: Mapping[str, str]
    ) -> None:
        await self._pass()
        self._store.put(url.removeprefix(SCHEME), os.pread(file.fileno(), size_bytes, offset))

    async def _pass(self) -> None:
        await asyncio.sleep(self._faults.rng.random() * 0.1)
        if not self._reaches() or self._faults.fires("transfer_broken", 0.2):
            raise TransferFailed("it broke off", retry=True)
