"""Promise 3: what was acknowledged survives a power cut.

The hub's own database layer writes through a recording file system; then the power is cut at a thousand moments.
"""

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import event, make_url
from support import apsw_driver
from support.power_cuts import Cut, Delete, Luck, Recorder, Step, cuts, put_back
from support.proofs import figure

from computepool.hub.core.db import SQLITE_PRAGMAS, SqliteDatabase, durable_sqlite_engine
from computepool.hub.core.records import record
from computepool.hub.core.tables import HubFact
from computepool.hub.tables import metadata

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
CUTS = figure(1_000, 10_000)
RESTARTS = 3
"""The hub also stops and starts again: SQLite then empties and deletes its log."""
WAVES = figure(30, 120)
CHECKPOINT_PAGES = 40
"""Far less than SQLite's own 1,000, so that many cuts fall into the moments when the log moves into the database."""


@dataclass
class Recording:
    steps: list[Step]
    first: int
    """Where the schema was there and the work began."""


@contextmanager
def hub_database(path: Path, recorder: Recorder, pragmas: tuple[str, ...]) -> Iterator[SqliteDatabase]:
    """The hub's own, in all but the library below it. `pragmas` come after those that the hub sets."""
    engine = durable_sqlite_engine(
        make_url(f"sqlite:///{path}"),
        module=apsw_driver,
        creator=lambda: apsw_driver.connect(str(path), vfs=recorder.name),
    )

    @event.listens_for(engine, "connect")
    def more(dbapi_connection: apsw_driver.Connection, _record: object) -> None:
        for pragma in (f"wal_autocheckpoint={CHECKPOINT_PAGES}", *pragmas):
            dbapi_connection.execute(f"PRAGMA {pragma}")

    db = SqliteDatabase(engine)
    # Called by the thread that committed, right after it answered: nothing is written in between.
    db.on_commit = lambda events: recorder.acknowledge(*(one.payload["subject"] for one in events))
    try:
        yield db
    finally:
        db.close()


def record_a_busy_hub(folder: Path, *pragmas: str, hasty: bool = False) -> Recording:
    """Waves of concurrent callers, a few of whom fail, over several starts of the hub."""

    def add(session, name: str, size: int) -> None:
        """Some facts are large, so that a commit is anything from a few pages to dozens."""
        session.add(HubFact(name=name, value="x" * size))
        record(session, "fact.added", name, NOW, topics=("facts",))
        if hasty:
            recorder.acknowledge(name)

    def add_and_fail(session, name: str) -> None:
        add(session, name, 100)
        session.flush()
        raise ZeroDivisionError

    recorder, chance = Recorder(f"recorder of {folder.name}"), random.Random(1)
    path = folder / "pool.db"
    with hub_database(path, recorder, pragmas) as db:
        metadata.create_all(db.engine)
    first = len(recorder.steps)

    async def work(db: SqliteDatabase, start: int) -> None:
        for wave in range(WAVES):
            size = chance.choice([10, 10, 500, 6_000])
            callers = [db.run(add, f"{start}.{wave}.{caller}", size) for caller in range(chance.randint(1, 8))]
            failing = [db.run(add_and_fail, f"{start}.{wave}.failed")] if wave % 5 == 0 else []
            await asyncio.gather(*callers, *failing, return_exceptions=True)

    for start in range(RESTARTS):
        with hub_database(path, recorder, pragmas) as db:
            asyncio.run(work(db, start))
    recorder.unregister()
    return Recording(recorder.steps, first)


@dataclass
class Damage:
    """What the cuts did to the database."""

    lost: list[str] = field(default_factory=list)
    corrupt: list[str] = field(default_factory=list)
    half: list[str] = field(default_factory=list)


def judge(cut: Cut, path: Path, damage: Damage) -> None:
    story = f"cut at step {cut.at}, luck: {cut.luck}"
    facts, audits = set[str](), set[str]()
    with closing(sqlite3.connect(path)) as connection:
        try:
            connection.execute("PRAGMA synchronous=OFF")  # of this look, not of the hub: it only has to be quick
            health = connection.execute("PRAGMA integrity_check").fetchone()[0]
            facts = {name for (name,) in connection.execute("SELECT name FROM hub_facts")}
            audits = {name for (name,) in connection.execute("SELECT subject FROM audit")}
        except sqlite3.DatabaseError as error:
            health = str(error)
    if health != "ok":
        damage.corrupt.append(f"{story}: {health}")
    missing = [name for name in cut.acknowledged if name not in facts]
    if missing:
        damage.lost.append(f"{story}: {missing[:5]}")
    if facts != audits or any("failed" in name for name in facts):
        damage.half.append(f"{story}: {sorted(facts ^ audits)[:5]}")


def cut_the_power(recording: Recording, folder: Path, count: int, seed: int) -> tuple[Damage, Counter[str]]:
    damage, faults = Damage(), Counter[str]()
    for cut in cuts(recording.steps, recording.first, count, seed, faults):
        put_back(cut, folder)
        judge(cut, folder / "pool.db", damage)
        faults["something acknowledged"] += bool(cut.acknowledged)
    return damage, faults


@pytest.fixture
def folders(tmp_path) -> tuple[Path, Path]:
    made, found = tmp_path / "made", tmp_path / "found"
    made.mkdir()
    found.mkdir()
    return made, found


@pytest.mark.proof
def test_acknowledged_work_survives_power_cuts(folders):
    made, found = folders
    recording = record_a_busy_hub(made)
    damage, faults = cut_the_power(recording, found, CUTS, seed=2)
    assert damage == Damage()
    # A proof counts only for the faults that really happened.
    assert faults["something acknowledged"] > CUTS * 0.9
    assert faults["unsynced writes dropped"] > CUTS * 0.3
    assert faults["torn writes"] > CUTS * 0.1
    assert faults["unsynced names dropped"] > CUTS * 0.01
    assert all(faults[f"luck: {luck}"] > CUTS * 0.1 for luck in Luck)
    deleted = [step.name for step in recording.steps if isinstance(step, Delete)]
    assert deleted.count("pool.db-wal") > RESTARTS


@pytest.mark.proof
def test_same_cuts_find_the_planted_bug(folders):
    """With `synchronous=NORMAL` SQLite answers before the log is safe: it stays whole, and forgets what it promised."""
    made, found = folders
    recording = record_a_busy_hub(made, "synchronous=NORMAL")
    damage, _ = cut_the_power(recording, found, 200, seed=2)
    assert len(damage.lost) > 40, "a harness that cannot find this proves nothing"
    assert damage.corrupt == []


@pytest.mark.proof
def test_same_cuts_find_a_hub_that_answers_before_its_commit(folders):
    made, found = folders
    recording = record_a_busy_hub(made, hasty=True)
    damage, _ = cut_the_power(recording, found, 200, seed=2)
    assert len(damage.lost) > 40


@pytest.mark.proof
def test_same_cuts_find_a_disk_that_lies(folders):
    """Without any sync the database itself breaks: the cuts do reach into it."""
    made, found = folders
    recording = record_a_busy_hub(made, "synchronous=OFF")
    damage, _ = cut_the_power(recording, found, 200, seed=2)
    assert damage.lost
    assert damage.corrupt


def test_recorded_hub_has_exactly_the_pragmas_of_the_real_one(tmp_path):
    recorder = Recorder("recorder of pragmas")
    names = [pragma.split("=")[0] for pragma in SQLITE_PRAGMAS]
    asked = [name for name in names if name != "wal_autocheckpoint"]  # which is low here, so that there are many
    real = durable_sqlite_engine(make_url(f"sqlite:///{tmp_path / 'real.db'}"))
    with hub_database(tmp_path / "recorded.db", recorder, ()) as db:
        found = []
        for engine in (real, db.engine):
            with engine.connect() as connection:
                found.append([connection.exec_driver_sql(f"PRAGMA {name}").scalar() for name in asked])
    real.dispose()
    recorder.unregister()
    assert found[0] == found[1]
    assert found[0][:2] == ["wal", 2], "synchronous=FULL"
