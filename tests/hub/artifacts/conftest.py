"""Both stores, both databases, and a real hub's worth of artifact routes behind a real server."""

import asyncio
import contextlib
import secrets
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace
from typing import cast
from urllib.parse import urljoin

import httpx
import pytest
import uvicorn
from fastapi import FastAPI
from sqlalchemy.orm import Session
from support.prompt_server import PromptServer
from support.services import S3
from support.waiting import eventually, patience

from computepool.hub.api import artifacts, blobs
from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.local import LocalStore
from computepool.hub.artifacts.opening import open_store
from computepool.hub.artifacts.outputs import Outputs
from computepool.hub.artifacts.settings import S3Settings
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.uploads import Uploads
from computepool.hub.core.bulk import BulkLane
from computepool.hub.core.bus import Bus
from computepool.hub.core.context import Context
from computepool.hub.core.db import open_database
from computepool.hub.core.errors import Unauthenticated
from computepool.hub.core.http import Principal, Role, add_routes
from computepool.hub.core.http_shell import install_shell
from computepool.hub.core.owners import Owner
from computepool.hub.core.route_table import check_routes
from computepool.hub.core.settings import Settings
from computepool.hub.engine import Engine
from computepool.hub.opening import offload_to_threads

SECRET_KEY = b"s" * 32
UPLOAD_LIMIT_BYTES = 100 * 1024**2


@dataclass
class HandClock:
    """The real time, moved by hand."""

    ahead: timedelta = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead

    def monotonic(self) -> float:
        return self.now().timestamp()

    @contextlib.contextmanager
    def moved(self, by: timedelta) -> Iterator[None]:
        self.ahead += by
        try:
            yield
        finally:
            self.ahead -= by


@pytest.fixture
def clock() -> HandClock:
    return HandClock()


@pytest.fixture
def signer(clock: HandClock) -> BlobSigner:
    return BlobSigner(SECRET_KEY, clock)


@pytest.fixture
def local_store(tmp_path: Path, signer: BlobSigner) -> LocalStore:
    return LocalStore(tmp_path / "artifacts", signer)


@pytest.fixture(params=["local", "s3"])
def store(request: pytest.FixtureRequest, signer: BlobSigner, clock: HandClock) -> Store:
    """The same test on local disk and on a real S3."""
    if request.param == "local":
        return request.getfixturevalue("local_store")
    s3: S3 = request.getfixturevalue("s3")
    settings = S3Settings(
        access_key_id=s3.access_key, secret_access_key=s3.secret_key, endpoint_url=s3.endpoint_url, region=s3.region
    )
    return open_store(f"s3://{s3.bucket}", signer, clock, settings)


def authenticate(token: str) -> Principal:
    if token not in ("user_alice", "user_bob"):
        raise Unauthenticated("Who are you?")
    return Principal(token, Role.USER, Role.USER.scopes, frozenset({token}), "personal")


@dataclass
class Hub:
    context: Context
    store: Store
    uploads: Uploads = field(init=False)
    outputs: Outputs = field(init=False)

    def __post_init__(self) -> None:
        self.uploads = Uploads(self.context, self.store)
        self.outputs = Outputs(self.context, self.store)

    def limited_to(self, upload_limit_bytes: int) -> "Hub":
        settings = self.context.settings.model_copy(update={"upload_limit_bytes": upload_limit_bytes})
        return Hub(replace(self.context, settings=settings), self.store)


@contextlib.contextmanager
def running_hub(database_url: str, store: Store, clock: HandClock, home: Path) -> Iterator[Hub]:
    db = open_database(database_url)
    settings = Settings(home=home, upload_limit_bytes=UPLOAD_LIMIT_BYTES)
    context = Context(
        settings=settings,
        db=db,
        clock=clock,
        randbits=secrets.randbits,
        bus=Bus(),
        offload=offload_to_threads,
        secret_key=SECRET_KEY,
        hub_id="hub_test",
        fence_epoch=1,
    )

    def add_owners(session: Session) -> None:
        session.add_all(Owner(id=name, kind="user", created_at=clock.now()) for name in ("user_alice", "user_bob"))

    asyncio.run(db.run(add_owners))
    yield Hub(context, store)
    db.close()


@pytest.fixture
def hub(hub_url: str, local_store: LocalStore, clock: HandClock, tmp_path: Path) -> Iterator[Hub]:
    """On both databases, with files on local disk."""
    with running_hub(hub_url, local_store, clock, tmp_path) as running:
        yield running


@pytest.fixture
def stored_hub(sqlite_hub: str, store: Store, clock: HandClock, tmp_path: Path) -> Iterator[Hub]:
    """On both stores, with SQLite."""
    with running_hub(sqlite_hub, store, clock, tmp_path) as running:
        yield running


@pytest.fixture
def make_hub(clock: HandClock, tmp_path: Path) -> Iterator[Callable[[str, Store], Hub]]:
    with contextlib.ExitStack() as stack:
        yield lambda url, store: stack.enter_context(running_hub(url, store, clock, tmp_path))


@dataclass
class Server:
    """What a client sees: an address, and URLs that may be relative to it."""

    base_url: str
    hub: Hub

    def absolute(self, url: str) -> str:
        return urljoin(self.base_url, url)

    def put(self, url: str, data: bytes, headers: dict[str, str] | None = None) -> httpx.Response:
        return self.request("PUT", url, data, headers)

    def get(self, url: str, headers: dict[str, str] | None = None) -> httpx.Response:
        return self.request("GET", url, headers=headers)

    def request(
        self, method: str, url: str, data: bytes | Iterator[bytes] | None = None, headers: dict[str, str] | None = None
    ) -> httpx.Response:
        # There is no TLS here, and to read all authorities takes longer than a request.
        return httpx.request(
            method, self.absolute(url), content=data, headers=headers, verify=False, timeout=patience()
        )

    def api(self, method: str, path: str, body: object = None, token: str = "user_alice") -> httpx.Response:
        headers = {"Authorization": f"Bearer {token}"}
        return httpx.request(
            method, f"{self.base_url}/api/v1/{path}", json=body, headers=headers, verify=False, timeout=patience()
        )


@contextlib.contextmanager
def serving(app: FastAPI) -> Iterator[int]:
    """The port of a server in a thread."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        running = PromptServer(uvicorn.Config(app, log_level="critical", lifespan="off"))
        thread = threading.Thread(target=lambda: asyncio.run(running.serve(sockets=[listener])))
        thread.start()
        eventually(lambda: running.started or not thread.is_alive(), "the server listens", every=0.005)
        try:
            yield listener.getsockname()[1]
        finally:
            running.should_exit = True
            thread.join()


@pytest.fixture
def server(stored_hub: Hub, signer: BlobSigner) -> Iterator[Server]:
    app = FastAPI()
    install_shell(app)
    parts = {"context": stored_hub.context, "store": stored_hub.store, "uploads": stored_hub.uploads}
    directory = SimpleNamespace(authenticate=authenticate)
    engine = cast(Engine, SimpleNamespace(directory=directory, blob_signer=signer, bulk=BulkLane(), **parts))
    add_routes(app, artifacts.router(engine), blobs.router(engine))
    check_routes(app)
    with serving(app) as port:
        yield Server(f"http://127.0.0.1:{port}", stored_hub)
