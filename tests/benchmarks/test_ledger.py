"""The ledger's benchmark settles, reads and adds up, on both databases. What it measures is nobody's business here."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import Engine
from support.services import Postgres

from benchmarks import ledger
from benchmarks.ledger import MakeDatabase, Size
from benchmarks.measure import Data
from computepool.hub.tables import metadata

SMALL = Size(rounds=1, sequential=2, crowded=8, reads=3, postings=1000)

TABLES = [table for name, table in metadata.tables.items() if name == "owners" or name.startswith("ledger_")]


def make_tables(engine: Engine) -> None:
    """Those that it needs: to migrate three databases takes longer than the rest."""
    metadata.create_all(engine, TABLES)


@pytest.fixture(params=["SQLite", "PostgreSQL"])
def make(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[MakeDatabase]:
    if request.param == "SQLite":
        yield lambda name: f"sqlite:///{tmp_path / name}.db"
        return
    server: Postgres = request.getfixturevalue("postgres_server")
    with contextlib.ExitStack() as stack:
        yield lambda _name: stack.enter_context(server.database())


def test_settlements_and_reads_are_measured(make: MakeDatabase) -> None:
    found = ledger.measure(make, SMALL, make_tables)
    rates = [one["per_second"] for one in found["settlements"].values() if isinstance(one, dict)]
    assert len(rates) == 6
    assert min(rates) > 0
    assert found["reads"]["short"]["n"] == found["reads"]["long"]["n"] == SMALL.reads
    data: Data = {"clients": ledger.CLIENTS, "SQLite": found, "PostgreSQL": {"untested": "it is not here"}}
    settled, read = ledger.tables(data)
    clients = ["1, the statements alone", "1", "64", "64, one renter", "untested: it is not here"]
    assert [row[1] for row in settled.rows] == clients
    assert [len(row) for table in (settled, read) for row in table.rows] == [7] * 5 + [6] * 2
