"""Opens a hub from its settings: database, secret, keys, store. What `up`, `hub serve` and the tests begin with."""

import asyncio
import secrets
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from computepool.hub.artifacts.blob_urls import BlobSigner
from computepool.hub.artifacts.opening import open_store
from computepool.hub.core.bus import Bus
from computepool.hub.core.clock import SystemClock
from computepool.hub.core.context import Context
from computepool.hub.core.db import open_database
from computepool.hub.core.facts import load_facts
from computepool.hub.core.ids import new_id
from computepool.hub.core.keyring import start_keyring
from computepool.hub.core.settings import Settings
from computepool.hub.engine import Engine
from computepool.hub.schema import check_schema
from computepool.hub.secret_key import settle_secret_key

P = ParamSpec("P")
R = TypeVar("R")


async def offload_to_threads(fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return await asyncio.to_thread(fn, *args, **kwargs)


def prepare_home(settings: Settings) -> None:
    settings.home.mkdir(mode=0o700, parents=True, exist_ok=True)


async def open_engine(settings: Settings) -> Engine:
    """Everything but the HTTP shell, on a schema that is up to date."""
    prepare_home(settings)
    clock = SystemClock()
    db = open_database(settings.effective_database_url)
    try:
        await offload_to_threads(check_schema, db.engine)
        secret_key = await db.run(settle_secret_key, settings)
        facts = await db.run(load_facts, new_id("hub", clock.now(), secrets.randbits))
        keyring = await db.run(start_keyring, secret_key, clock.now(), facts.hub_id)
    except BaseException:
        db.close()
        raise
    signer = BlobSigner(secret_key, clock)
    context = Context(
        settings=settings,
        db=db,
        clock=clock,
        randbits=secrets.randbits,
        bus=Bus(),
        offload=offload_to_threads,
        secret_key=secret_key,
        hub_id=facts.hub_id,
        fence_epoch=facts.fence_epoch,
    )
    reserve_bytes = settings.disk_reserve_bytes
    store = open_store(settings.effective_storage_url, signer, clock, reserve_bytes=reserve_bytes)
    return Engine(context, keyring, store, signer)
