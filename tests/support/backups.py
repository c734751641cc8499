"""Hubs to back up and to restore into, each with a home folder and a database of its own."""

import asyncio
import gzip
import io
import json
import random
import string
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sqlalchemy import insert, inspect
from support import whole_database
from support.services import Postgres

from computepool.hub import backup as hub_backup
from computepool.hub.backup import BackupInfo
from computepool.hub.commands import migrate
from computepool.hub.core.db import durable_engine
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import HubFact
from computepool.hub.opening import open_engine
from computepool.hub.sealed_stream import CHUNK_BYTES, MAGIC, SALT_BYTES, TAG_BYTES, SealedReader, SealedWriter

PASSPHRASE = "correct horse battery staple"
KINDS = ["sqlite", "postgresql"]
CHUNK = CHUNK_BYTES + TAG_BYTES
HEADER = len(MAGIC) + 3 + SALT_BYTES
QUICK = 10
"""A real guess of the passphrase costs half a second and 128 MB; one test below pays it."""


def backup(settings: Settings, file: Path, passphrase: str) -> BackupInfo:
    return hub_backup.backup(settings, file, passphrase, log2_n=QUICK)


@dataclass
class Place:
    """A hub's settings, and a look into its database."""

    settings: Settings

    def all_rows(self) -> dict[str, list[tuple]]:
        engine = durable_engine(self.settings.effective_database_url)
        try:
            return whole_database.everything(engine)
        finally:
            engine.dispose()

    def table_names(self) -> list[str]:
        engine = durable_engine(self.settings.effective_database_url)
        try:
            return inspect(engine).get_table_names()
        finally:
            engine.dispose()

    def execute(self, *statements) -> None:
        engine = durable_engine(self.settings.effective_database_url)
        with engine.begin() as connection:
            for statement in statements:
                connection.execute(statement)
        engine.dispose()

    @property
    def key_file(self) -> Path:
        return self.settings.home / "secret.key"


@contextmanager
def places(folder: Path, postgres: Postgres) -> Iterator[Callable[..., Place]]:
    """Makes empty places: `place("sqlite")`, `place("postgresql")`."""
    with ExitStack() as databases:
        made = 0

        def place(kind: str, **settings: Any) -> Place:
            nonlocal made
            made += 1
            home = folder / f"home{made}"
            on_postgres = kind == "postgresql"
            url = databases.enter_context(postgres.database()) if on_postgres else f"sqlite:///{home / 'pool.db'}"
            return Place(Settings(home=home, database_url=url, **settings))

        yield place


def start_and_stop(place: Place) -> str:
    """As the hub opens it: migrated, keys made or opened. Returns the id of its signing key."""

    async def story():
        engine = await open_engine(place.settings)
        engine.context.db.close()
        return engine.keyring.current_id

    return asyncio.run(story())


def lively(place: Place, rows: int = whole_database.ROWS) -> Place:
    """A hub that has run, with rows in every table."""
    migrate(place.settings)
    start_and_stop(place)
    engine = durable_engine(place.settings.effective_database_url)
    whole_database.fill(engine, rows)
    engine.dispose()
    return place


def without_the_restore(rows: dict[str, list[tuple]]) -> dict[str, list[tuple]]:
    kept = dict(rows)
    kept["hub_facts"] = [row for row in rows["hub_facts"] if row[0] != "fence_epoch"]
    kept["audit"] = [row for row in rows["audit"] if row[3] != "hub.restored"]
    return kept


def assert_untouched(place: Place) -> None:
    assert place.table_names() == []
    assert not place.key_file.exists()


def opened(file: Path) -> list[Any]:
    with file.open("rb") as raw, gzip.GzipFile(fileobj=io.BufferedReader(SealedReader(raw, PASSPHRASE))) as zipped:
        return [json.loads(line) for line in zipped]


def sealed(file: Path, lines: list[Any]) -> None:
    with file.open("wb") as raw:
        writer = SealedWriter(raw, PASSPHRASE, log2_n=QUICK)
        with gzip.GzipFile(fileobj=writer, mode="wb") as zipped:
            zipped.writelines(json.dumps(line).encode() + b"\n" for line in lines)
        writer.finish()


def spread(place: Place, file: Path) -> bytes:
    """A backup of several chunks."""
    noise = random.Random(1).choices(string.ascii_letters + string.digits, k=300_000)  # does not compress
    place.execute(insert(HubFact).values(name="noise", value="".join(noise)))
    backup(place.settings, file, PASSPHRASE)
    content = file.read_bytes()
    assert len(content) > HEADER + 3 * CHUNK
    return content
