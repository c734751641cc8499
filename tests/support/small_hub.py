"""The hub's core and its accounts on a real database, with a clock that is moved by hand. No network, no process."""

import asyncio
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import ParamSpec, TypeVar, cast

import httpx
from argon2 import PasswordHasher
from fastapi import APIRouter, FastAPI
from support.seen_codes import NOTED

from computepool.hub.accounts.background import keep_directory
from computepool.hub.accounts.directory import TokenDirectory
from computepool.hub.accounts.passwords import Passwords
from computepool.hub.accounts.sign_in import SignIn
from computepool.hub.accounts.tokens import TokenSigner
from computepool.hub.api import accounts, admin_users, me, teams
from computepool.hub.core.bus import Bus
from computepool.hub.core.context import Context
from computepool.hub.core.db import open_database
from computepool.hub.core.http import add_routes
from computepool.hub.core.http_shell import install_shell
from computepool.hub.core.route_table import check_routes
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import Base
from computepool.hub.engine import Engine

P = ParamSpec("P")
R = TypeVar("R")
SECRET_KEY = b"a secret key of a hub that only lives in tests"
PASSWORD = "correct horse battery"
CHEAP_HASHER = PasswordHasher(time_cost=1, memory_cost=8, parallelism=1)


class HandClock:
    """Stands still until it is moved."""

    def __init__(self) -> None:
        self._start = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
        self._elapsed = timedelta()

    def now(self) -> datetime:
        return self._start + self._elapsed

    def monotonic(self) -> float:
        return 1000 + self._elapsed.total_seconds()

    def move(self, **by: float) -> None:
        self._elapsed += timedelta(**by)


@dataclass
class SmallHub:
    context: Context
    clock: HandClock
    app: FastAPI
    client: httpx.AsyncClient
    signer: TokenSigner
    directory: TokenDirectory
    people: int = field(default=0)

    async def post(self, path: str, body: object = None, token: str | None = None) -> httpx.Response:
        return await self.client.post(f"/api/v1/{path}", json=body, headers=bearer(token))

    async def get(self, path: str, token: str | None = None) -> httpx.Response:
        return await self.client.get(f"/api/v1/{path}", headers=bearer(token))

    async def patch(self, path: str, body: object = None, token: str | None = None) -> httpx.Response:
        return await self.client.patch(f"/api/v1/{path}", json=body, headers=bearer(token))

    async def delete(self, path: str, token: str | None = None) -> httpx.Response:
        return await self.client.delete(f"/api/v1/{path}", headers=bearer(token))

    async def register(self, email: str | None = None) -> dict:
        """A new user's pair of tokens."""
        self.people += 1
        person = {"email": email or f"user{self.people}@example.org", "password": PASSWORD, "name": "Somebody"}
        answer = await self.post("auth/register", person)
        assert answer.status_code == 201, answer.text
        return answer.json()

    async def personal_token(self, access_token: str, **body: object) -> dict:
        answer = await self.post("tokens", {"name": "test", **body}, access_token)
        assert answer.status_code == 201, answer.text
        return answer.json()


def bearer(token: str | None) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"} if token else {}


@asynccontextmanager
async def small_hub(
    database_url: str, *, more_routes: Callable[[Context, TokenDirectory], APIRouter] | None = None, **settings: object
) -> AsyncIterator[SmallHub]:
    """Starts on the database as it finds it, so a second one is a restart."""
    db = open_database(database_url)
    Base.metadata.create_all(db.engine)
    clock, bus, loop = HandClock(), Bus(), asyncio.get_running_loop()
    db.on_commit = lambda events: None if loop.is_closed() else _soon(loop, bus.publish, events)
    context = Context(
        settings=Settings(database_url=database_url, **settings),  # type: ignore[arg-type]  # checked by pydantic
        db=db,
        clock=clock,
        randbits=random.SystemRandom().getrandbits,
        bus=bus,
        offload=_in_a_thread,
        secret_key=SECRET_KEY,
        hub_id="hub_test",
        fence_epoch=1,
    )
    signer = TokenSigner(context.secret_key, context.hub_id)
    directory = TokenDirectory(signer, clock)
    sign_in = SignIn(context, signer, directory, Passwords(context.offload, CHEAP_HASHER))
    app = FastAPI()
    install_shell(app)
    engine = cast(Engine, SimpleNamespace(context=context, directory=directory, sign_in=sign_in))
    add_routes(app, accounts.router(engine), admin_users.router(engine), me.router(engine), teams.router(engine))
    if more_routes is not None:
        add_routes(app, more_routes(context, directory))
    check_routes(app)
    transport = httpx.ASGITransport(app)
    try:
        async with (
            keep_directory(context, directory),
            httpx.AsyncClient(transport=transport, base_url="http://hub.test", event_hooks=NOTED) as client,
        ):
            yield SmallHub(context, clock, app, client, signer, directory)
    finally:
        db.close()


def _in_a_thread(fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> Awaitable[R]:
    return asyncio.to_thread(fn, *args, **kwargs)


def _soon(loop: asyncio.AbstractEventLoop, publish: Callable, events: list) -> None:
    loop.call_soon_threadsafe(publish, events)
