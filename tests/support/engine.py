"""A whole hub in a test: the real engine and its real routes, on a real migrated database, in time that jumps.

`play(url, story)` runs a coroutine with a `Pool`. Nothing waits for real: the loop's clock and the hub's jump to
whatever is due next. Transactions run in place, one after the other, unless a test holds one back.
"""

import asyncio
import random
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any, Concatenate, ParamSpec, TypeVar

import httpx
import structlog
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource
from simulation.virtual_time import VirtualClock, VirtualLoop
from sqlalchemy import URL, event, func, make_url, select, text
from sqlalchemy import Engine as SqlEngine
from sqlalchemy.orm import Session
from support.contract import check_answer
from support.memory_store import MemoryStore
from support.money import give_credits

from computepool.hub.app import create_app
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.charges import charges_are_paid_once
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact, StorageUsage
from computepool.hub.artifacts.usage import Amount
from computepool.hub.core.bus import Bus
from computepool.hub.core.clock import Clock, SystemClock
from computepool.hub.core.context import Context, Offload
from computepool.hub.core.db import Database, OutcomeUnknown, durable_engine, open_database
from computepool.hub.core.http import Principal, Role
from computepool.hub.core.idempotency import digest_of
from computepool.hub.core.keyring import Keyring, start_keyring
from computepool.hub.core.owners import Owner
from computepool.hub.core.records import Event, write_records
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import STREAM_TOPICS, OutboxRow
from computepool.hub.engine import Engine
from computepool.hub.jobs import queries, submission
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.jobs.views import JobView
from computepool.hub.ledger.check import check
from computepool.hub.live.rendering import is_not_told, render
from computepool.hub.schema import migrate
from computepool.protocol.spec import parse_spec

P = ParamSpec("P")
R = TypeVar("R")
SECRET_KEY = b"a secret key of a hub that only lives in tests"
HUB_ID = "hub_test"
ALICE, BOB = "user_alice", "user_bob"
ADMIN = "user_admin"


class GivenSettings(Settings):
    """What a test says and the defaults, without a look at the environment: that takes longer than a short story."""

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        *_: PydanticBaseSettingsSource,
        **others: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return (init_settings,)


async def in_place(fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    await asyncio.sleep(0)
    return fn(*args, **kwargs)


async def in_a_thread(fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await asyncio.to_thread(fn, *args, **kwargs)


_SHARED: dict[str, SqlEngine] = {}
_IDLE: dict[str, list[SqlEngine]] = {}
_PLACES: dict[SqlEngine, URL] = {}


def shared_engine(url: str) -> SqlEngine:
    """One engine for all tests, each on its own database: what SQLAlchemy compiled for one serves the next."""
    place = make_url(url)
    backend = place.get_backend_name()
    if backend not in _SHARED:
        _SHARED[backend] = _movable_engine(url)
    _PLACES[_SHARED[backend]] = place
    return _SHARED[backend]


def borrow_engine(url: str) -> SqlEngine:
    """As `shared_engine`, for tests that have several databases at once: nobody else has it until it is returned."""
    place = make_url(url)
    idle = _IDLE.setdefault(place.get_backend_name(), [])
    engine = idle.pop() if idle else _movable_engine(url)
    _PLACES[engine] = place
    return engine


def return_engine(engine: SqlEngine) -> None:
    engine.dispose()
    _IDLE[_PLACES[engine].get_backend_name()].append(engine)


def _movable_engine(url: str) -> SqlEngine:
    engine = durable_engine(url)

    @event.listens_for(engine, "do_connect")
    def connect(dialect: Any, _record: Any, _args: Any, options: dict[str, Any]) -> Any:
        args, own = dialect.create_connect_args(_PLACES[engine])
        return dialect.connect(*args, **options | own)

    return engine


class InlineDatabase:
    """Transactions in place. Counts them; and holds one back where a test wants things to happen in a certain order."""

    def __init__(self, engine: SqlEngine) -> None:
        self.engine = engine
        self.on_commit: Callable[[list[Event]], None] = lambda events: None
        self.on_settled: Callable[[list[Event]], None] = lambda events: None
        self.on_doubt: Callable[[OutcomeUnknown], None] = lambda doubt: None
        self.commits: list[str] = []
        """The name of each function that was committed."""
        self.after_commit: Callable[[str], None] = lambda name: None
        self.statements = 0
        self._held: dict[tuple[str, str], tuple[asyncio.Event, asyncio.Event]] = {}
        event.listen(engine, "before_cursor_execute", self._count)

    async def run(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        name = getattr(fn, "__name__", "?")
        await self._pass("before", name)
        with Session(self.engine, expire_on_commit=False) as session, session.begin():
            result = fn(session, *args, **kwargs)
            events = write_records(session)
        self.commits.append(name)
        self.on_commit(events)
        self.on_settled([event for event in events if event.id is not None])
        self.after_commit(name)
        await self._pass("after", name)
        return result

    async def read(self, fn: Callable[Concatenate[Session, P], R], *args: P.args, **kwargs: P.kwargs) -> R:
        await self._pass("before", getattr(fn, "__name__", "?"))
        with (
            self.engine.connect().execution_options(only_looks=True) as connection,
            Session(connection, expire_on_commit=False) as session,
        ):
            return fn(session, *args, **kwargs)

    def close(self) -> None:
        event.remove(self.engine, "before_cursor_execute", self._count)
        self.engine.dispose()

    @contextmanager
    def held(self, name: str, when: str = "before") -> Iterator[asyncio.Event]:
        """Functions of that name wait until the block ends; the event tells that one does."""
        key = (when, name)
        go, waits = self._held[key] = asyncio.Event(), asyncio.Event()
        try:
            yield waits
        finally:
            del self._held[key]
            go.set()

    async def _pass(self, when: str, name: str) -> None:
        await asyncio.sleep(0)
        if (when, name) in self._held:
            go, waits = self._held[when, name]
            waits.set()
            await go.wait()

    def _count(self, *_: Any) -> None:
        self.statements += 1


@dataclass
class Pool:
    """A hub, its callers, and what a test may look at."""

    url: str
    clock: Any
    store: Store
    settings: Settings
    fence_epoch: int = 1
    rng: random.Random = field(default_factory=lambda: random.Random(7))
    threads: bool = False
    """As in production: transactions and blocking work off the event loop."""
    tampered: bool = False
    """A test changed the books by hand: they do not add up any more."""
    starts: int = 0
    engine: Engine = field(init=False)
    db: Any = field(init=False)
    _client: httpx.AsyncClient | None = None

    @property
    def loop(self) -> asyncio.AbstractEventLoop:
        return asyncio.get_running_loop()

    async def start(self) -> None:
        self.starts += 1
        self.db = open_database(self.url) if self.threads else InlineDatabase(shared_engine(self.url))
        await self.db.run(_add_owners, self.clock.now())
        self.engine = make_engine(
            self.db,
            self.clock,
            self.store,
            await self.db.run(start_keyring, SECRET_KEY, self.clock.now(), HUB_ID),
            self.settings,
            randbits=self.rng.getrandbits,
            fence_epoch=self.fence_epoch,
            offload=in_a_thread if self.threads else in_place,
        )
        await self.engine.start()

    async def stop(self) -> None:
        if self._client is not None:
            await self._client.aclose()
            self._client = None
        await self.engine.stop()
        self.db.close()

    async def restart(self, *, down_seconds: float = 1.0) -> None:
        """The memory is gone, the truth stays. Agents' links break."""
        await self.stop()
        await asyncio.sleep(down_seconds)
        await self.start()

    # ── as the routes do it, without the cost of HTTP ────────────────────────────────────────────────────────────────

    async def submit(self, *, user: str = ALICE, key: str | None = None, **fields: Any) -> str:
        await asyncio.sleep(0.001)  # ids sort by age, to the millisecond
        spec = {"run": ["true"], **fields}
        request = submission.Request(principal(user), key, digest_of(repr(sorted(spec.items())).encode()))
        job, brief, once = submission.prepare(self.engine.context, request, parse_spec(spec), None)
        return await self.engine.submit(job, brief, once.store)

    async def job(self, job_id: str, *, user: str = ALICE) -> JobView:
        return await self.db.read(queries.show_job, principal(user), job_id)

    async def cancel(self, job_id: str, *, user: str = ALICE) -> JobView:
        await self.engine.cancel(job_id, principal(user))
        return await self.job(job_id, user=user)

    # ── over HTTP ────────────────────────────────────────────────────────────────────────────────────────────────────

    @property
    def client(self) -> httpx.AsyncClient:
        if self._client is None:
            transport = httpx.ASGITransport(create_app(self.engine))
            hooks = {"response": [check_answer]}
            self._client = httpx.AsyncClient(transport=transport, base_url="http://hub.test/api/v1/", event_hooks=hooks)
        return self._client

    def token(self, user: str) -> str:
        role = Role.ADMIN if user == ADMIN else Role.USER
        return self.engine.token_signer.access_token(
            user, "session_test", role, f"token_{self.rng.getrandbits(64)}", self.clock.now()
        )

    async def call(
        self, method: str, path: str, body: object = None, *, user: str | None = ALICE, **options: Any
    ) -> httpx.Response:
        headers = dict(options.pop("headers", {}))
        if user is not None:
            headers["Authorization"] = f"Bearer {self.token(user)}"
        if body is not None:
            options["json"] = body
        return await self.client.request(method, path, headers=headers, **options)

    # ── looking ──────────────────────────────────────────────────────────────────────────────────────────────────────

    def rows(self, table: type[R], **equal: Any) -> list[R]:
        with Session(self.db.engine) as session:
            return list(session.scalars(select(table).filter_by(**equal)))

    def attempt(self, attempt_id: str) -> Attempt:
        return self.rows(Attempt, id=attempt_id)[0]

    def slice_of(self, work: Any) -> Slice:
        return self.rows(Slice, job_id=work.manifest.job_id, index=work.manifest.slice_index)[0]

    def truth(self, *, nodes: bool = True) -> list[tuple[Any, ...]]:
        """Every state there is, to compare with what it was before. Without `nodes`: of jobs and what they made."""
        with self.db.engine.connect() as connection:
            found = []
            for query in (
                'SELECT job_id, "index", state, fence, attempts, failures, losses FROM slices ORDER BY 1, 2',
                "SELECT id, state, verdict, reason, log_bytes, started_at, finished_at FROM attempts ORDER BY 1",
                "SELECT id, state, verdict, reason, slices_left, started_at, finished_at FROM jobs ORDER BY 1",
                "SELECT id, state, digest FROM artifacts ORDER BY 1",
                *(["SELECT id, state, drain_requested, name, country FROM nodes ORDER BY 1"] if nodes else []),
            ):
                found += [tuple(row) for row in connection.exec_driver_sql(query)]
            return found

    async def settle(self, seconds: float = 0.5) -> None:
        """Let everything happen that happens at once."""
        await asyncio.sleep(seconds)


def make_engine(
    db: Database,
    clock: Clock,
    store: Store,
    keyring: Keyring,
    settings: Settings,
    *,
    randbits: Callable[[int], int] = random.Random(7).getrandbits,
    fence_epoch: int = 1,
    offload: Offload = in_place,
) -> Engine:
    """Not started yet."""
    context = Context(
        settings=settings,
        db=db,
        clock=clock,
        randbits=randbits,
        bus=Bus(),
        offload=offload,
        secret_key=SECRET_KEY,
        hub_id=HUB_ID,
        fence_epoch=fence_epoch,
    )
    return Engine(context, keyring, store, BlobSigner(SECRET_KEY, clock))


def principal(user: str = ALICE, role: Role = Role.USER) -> Principal:
    return Principal(user, role, role.scopes, frozenset({user}), "access")


def play(
    url: str,
    story: Callable[[Pool], Awaitable[None]],
    *,
    store: Store | None = None,
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Run a story in virtual time. A task that dies unheard, or a story in which everybody waits, fails the test."""

    async def whole() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        async with opened(url, VirtualClock(loop), store=store, settings=settings) as pool:
            await story(pool)

    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        loop = runner.get_loop()
        assert isinstance(loop, VirtualLoop)
        runner.run(whole())
        unheard = [error for error in loop.errors if not isinstance(error.get("exception"), asyncio.CancelledError)]
    assert not unheard, unheard


def play_with_threads(url: str, story: Callable[[Pool], Awaitable[None]]) -> None:
    """In real time, as in production: keep it short."""

    async def whole() -> None:
        async with opened(url, SystemClock(), threads=True) as pool:
            await story(pool)

    asyncio.run(whole())


@asynccontextmanager
async def opened(
    url: str,
    clock: Clock,
    *,
    store: Store | None = None,
    settings: Mapping[str, Any] | None = None,
    threads: bool = False,
) -> AsyncIterator[Pool]:
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(50))
    # Most stories do without these two: few slices for an unproven node, and an admin who confirms findings.
    chosen = GivenSettings(database_url=url, **{"unproven_slices": 0, "confirm_findings": False, **(settings or {})})
    pool = Pool(url, clock, store or MemoryStore(), chosen, threads=threads)
    await pool.start()
    try:
        yield pool
    finally:
        await pool.stop()
        structlog.reset_defaults()
    engine = shared_engine(url)
    try:
        with Session(engine) as session:
            if not pool.tampered:
                check_books(session)
                check_usage(session)
            check_events(session)
    finally:
        engine.dispose()  # its next connection is to another database


def check_books(session: Session) -> None:
    """Whatever a test was about, all credits add up after it."""
    report = check(session, (*INVARIANTS, charges_are_paid_once))
    assert report.balanced, report.problems


_STORED = (
    select(Artifact.owner_id, func.sum(Artifact.size_bytes), func.count())
    .where(Artifact.freed_at.is_(None))
    .group_by(Artifact.owner_id)
)
_LOGGED = (
    select(Job.owner_id, func.sum(Attempt.log_bytes), func.count())
    .join(Job, Job.id == Attempt.job_id)
    .where(Job.logs_removed_at.is_(None), Attempt.log_bytes > 0)
    .group_by(Job.owner_id)
)
_COUNTED = select(StorageUsage.owner_id, StorageUsage.bytes, StorageUsage.objects)


def check_usage(session: Session) -> None:
    """Nobody has more stored, or less, than is counted."""
    stored = defaultdict[str, Amount](Amount)
    for query in (_STORED, _LOGGED):
        for owner_id, size_bytes, objects in session.execute(query):
            stored[owner_id] += Amount(int(size_bytes), objects)
    counted = {row.owner_id: Amount(row.bytes, row.objects) for row in session.execute(_COUNTED)}
    assert {owner_id: amount for owner_id, amount in counted.items() if amount != Amount()} == stored


_TOLD = select(OutboxRow).where(text(STREAM_TOPICS))


def check_events(session: Session) -> None:
    """Whatever happened in a test, those who hear of it are told in words that they know."""
    for row in session.scalars(_TOLD):
        told = render(Event(row.topic, row.payload, row.created_at, id=row.id))
        assert told is not None or is_not_told(row.topic, row.payload["action"]), (row.topic, row.payload)


def prepare_database(url: str) -> None:
    """What a template holds: the schema."""
    engine = durable_engine(url)
    try:
        migrate(engine)
    finally:
        engine.dispose()


def _add_owners(session: Session, now: Any) -> None:
    known = set(session.scalars(_OWNERS))
    new = [user for user in (ALICE, BOB, ADMIN) if user not in known]
    session.add_all(Owner(id=user, kind="user", created_at=now - timedelta(days=1)) for user in new)
    session.flush()
    for user in new:
        give_credits(session, user, now)


_OWNERS = select(Owner.id)
