"""Settlements a second, by the bare durable commits a second of the same database in the same run; and what it costs to
read a balance after ten postings and after ten million."""

import asyncio
import contextlib
import shutil
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.bare import Bare
from benchmarks.long_ledger import OWNER, fill
from benchmarks.measure import Data, Options, Table, judged, measured, ms, summary_ms
from benchmarks.postgres import running_postgres
from benchmarks.processes import scratch
from benchmarks.replay import replay
from benchmarks.settlements import Books
from computepool.hub.core.db import Database, open_database
from computepool.hub.jobs.repository import AttemptView
from computepool.hub.ledger.check import check
from computepool.hub.ledger.journal import balances
from computepool.hub.schema import migrate

CLIENTS = 64
SEQUENTIAL_TARGET = 0.5
CROWDED_TARGET = 1.0
READ_TARGET = 1.25
"""The same, as far as a machine can say so."""
WARM_UP = 20
FEW_POSTINGS = 10
MakeDatabase = Callable[[str], str]


@dataclass(frozen=True)
class Size:
    rounds: int
    sequential: int
    """Settlements, and bare commits, in a round."""
    crowded: int
    reads: int
    postings: int


def size_of(options: Options) -> Size:
    sequential = options.samples(2, 300)
    return Size(
        rounds=options.figure(1, 6),
        sequential=sequential,
        crowded=sequential * 4,
        reads=options.samples(3, 1000),
        postings=options.figure(1_000, 10_000_000),
    )


def run(options: Options) -> Data:
    size = size_of(options)
    with scratch() as folder:
        return {
            "clients": CLIENTS,
            "SQLite": _measure_sqlite(folder, size),
            "PostgreSQL": measured(lambda: _measure_postgres(folder / "postgres", size)),
        }


def _measure_sqlite(folder: Path, size: Size) -> Data:
    template = folder / "template.db"
    with _opened(f"sqlite:///{template}") as db:
        migrate(db.engine)

    def make(name: str) -> str:
        return f"sqlite:///{shutil.copy(template, folder / f'{name}.db')}"

    return _measure(make, size)


def _measure_postgres(folder: Path, size: Size) -> Data:
    with running_postgres(folder) as make:
        with _opened(make("template")) as db:
            migrate(db.engine)
        return _measure(lambda name: make(name, "template"), size)


def _measure(make: MakeDatabase, size: Size) -> Data:
    """`make` returns the URL of a new database with the hub's tables."""
    return {
        "settlements": asyncio.run(_settlements(make, size)),
        "reads": asyncio.run(_reads(make, size)),
    }


@contextlib.contextmanager
def _opened(url: str) -> Iterator[Database]:
    db = open_database(url)
    try:
        yield db
    finally:
        db.close()


# ── settlements ──────────────────────────────────────────────────────────────────────────────────────────────────────


async def _settlements(make: MakeDatabase, size: Size) -> Data:
    with _opened(make("settlements")) as db:
        books, bare = Books(db), Bare(db.engine)
        await books.settle(books.open_holds(WARM_UP), 1)
        bare.commit(WARM_UP, 1)
        rows = ("bare 1", "replay 1", "settle 1", "bare", "settle", "one renter")
        found: dict[str, list[float]] = {name: [] for name in rows}
        shared: dict[str, list[float]] = {name: [] for name in ("settle 1", "settle", "one renter")}

        async def settle(name: str, views: Sequence[AttemptView], clients: int) -> None:
            rate = await books.settle(views, clients)
            found[name].append(rate.per_second)
            shared[name].append(rate.per_commit)

        for _ in range(size.rounds):
            again, alone = (books.open_holds(size.sequential) for _ in range(2))
            crowd = books.open_holds(size.crowded)
            of_one = books.open_holds(size.crowded, books.renters[:1])
            found["bare 1"].append(bare.commit(size.sequential, 1))
            found["replay 1"].append(replay(db.engine, again))
            await settle("settle 1", alone, 1)
            found["bare"].append(bare.commit(size.crowded, CLIENTS))
            await settle("settle", crowd, CLIENTS)
            await settle("one renter", of_one, CLIENTS)
        report = await db.read(check)
    if not report.balanced:
        raise RuntimeError(f"the ledger does not add up: {report.problems}")
    figures = {name: {"per_second": round(_mean(rates), 1), "rounds": _rounded(rates)} for name, rates in found.items()}
    for name, counts in shared.items():
        figures[name]["per_commit"] = round(_mean(counts), 1)
    return {**figures, "each": size.sequential * size.rounds, "each_crowded": size.crowded * size.rounds}


def _mean(rates: list[float]) -> float:
    """Of rounds of the same length: all of them by all seconds."""
    return statistics.harmonic_mean(rates)


def _rounded(rates: list[float]) -> list[float]:
    return [round(rate, 1) for rate in rates]


# ── reads ────────────────────────────────────────────────────────────────────────────────────────────────────────────


async def _reads(make: MakeDatabase, size: Size) -> Data:
    """Two ledgers, one short and one long, both of a single owner, taking turns."""
    with _opened(make("short")) as short, _opened(make("long")) as long:
        fill(short.engine, FEW_POSTINGS)
        began = time.monotonic()
        fill(long.engine, size.postings)
        filling = time.monotonic() - began
        samples: dict[str, list[float]] = {"short": [], "long": []}
        for count in (WARM_UP, size.reads):
            samples = {"short": [], "long": []}
            for number in range(count):
                for name, db in (("short", short), ("long", long))[:: 1 if number % 2 else -1]:
                    samples[name].append(await _read(db))
        began = time.monotonic()
        report = await long.read(check)
        checking = time.monotonic() - began
    if not report.balanced or report.postings != size.postings:
        raise RuntimeError(f"the long ledger does not add up: {report.postings} postings, {report.problems}")
    return {
        "postings": size.postings,
        "filling_seconds": round(filling, 1),
        "check_seconds": round(checking, 2),
        **{name: summary_ms(of) for name, of in samples.items()},
    }


async def _read(db: Database) -> float:
    began = time.perf_counter()
    await db.read(balances, OWNER)
    return time.perf_counter() - began


# ── shown ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def tables(data: Data) -> list[Table]:
    settled, read = [], []
    for name, label in (("SQLite", "SQLite, WAL and FULL"), ("PostgreSQL", "PostgreSQL, fsync")):
        if reason := data[name].get("untested"):
            settled.append([label, f"untested: {reason}", *[""] * 5])
            read.append([label, f"untested: {reason}", *[""] * 4])
        else:
            settled += _settlement_rows(label, data[name]["settlements"], data["clients"])
            read.append(_read_row(label, data[name]["reads"]))
    some = data["SQLite"]
    few, many = (f"{count:,} postings" for count in (FEW_POSTINGS, some["reads"]["postings"]))
    return [
        Table(
            "Settlements a second, each durable when it is answered",
            (
                "database",
                "clients",
                "bare commits",
                "settlements",
                "that share a commit",
                "settlements per bare sequential commit",
                "target",
            ),
            settled,
            f"n = {some['settlements']['each']} for one client and {some['settlements']['each_crowded']} for "
            f"{data['clients']}, in rounds that take turns. A settlement is the hub's own: an hour's hold is resolved "
            "for what was used, with its entry, three postings and four balances, between 64 renters and 64 hosts; or "
            "all of one renter, as when a wide job ends. Those that come while others are settled are settled at once. "
            "A bare commit is one row by the driver alone, with a thread and a connection for every client. The "
            "statements alone are those of settlements, sent again by the driver with nothing of the hub around them: "
            "the most that one at a time could come to.",
        ),
        Table(
            "Reading somebody's balances, ms (p50 / p99)",
            ("database", few, many, "p50 ratio", "target", "summing all of them anew"),
            read,
            f"All pockets of one owner, through the hub's reading threads. n = {some['reads']['short']['n']} each, "
            "taking turns. Summing anew is what `computepool admin ledger check` does.",
        ),
    ]


def _settlement_rows(label: str, found: Data, clients: int) -> list[list[str]]:
    rows = []
    for who, bare, settled, target in (
        ("1, the statements alone", "bare 1", "replay 1", None),
        ("1", "bare 1", "settle 1", SEQUENTIAL_TARGET),
        (f"{clients}", "bare", "settle", CROWDED_TARGET),
        (f"{clients}, one renter", "bare", "one renter", CROWDED_TARGET),
    ):
        rate = found[settled]["per_second"]
        ratio = rate / found["bare 1"]["per_second"]
        shared = found[settled].get("per_commit", 1)
        cells = [f"{found[bare]['per_second']:.0f}", f"{rate:.0f}", f"{shared:.0f}", f"{ratio:.2f}×"]
        rows.append([label, who, *cells, "" if target is None else judged(ratio, target, at_least=True)])
    return rows


def _read_row(label: str, found: Data) -> list[str]:
    ratio = found["long"]["p50_ms"] / found["short"]["p50_ms"]
    cells = [ms(found[one], "p50", "p99") for one in ("short", "long")]
    return [label, *cells, f"{ratio:.2f}×", judged(ratio, READ_TARGET), f"{found['check_seconds']:.1f} s"]
