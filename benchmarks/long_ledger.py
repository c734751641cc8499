"""A ledger with a long past, written by the database itself: ten million postings in minutes, all of one owner."""

from sqlalchemy import Engine

from computepool.hub.ledger.accounts import Kind, Platform, account, platform

OWNER = "user_00000000000000000000000000"
PER_ENTRY = 10
BATCH = 100_000
"""Entries in one statement."""
NUMBERS = {
    "sqlite": "WITH RECURSIVE n(n) AS (VALUES({first}) UNION ALL SELECT n + 1 FROM n WHERE n < {last}) ",
    "postgresql": "WITH n(n) AS (SELECT generate_series({first}, {last})) ",
}
ENTRIES = (
    "INSERT INTO ledger_entries (id, key, kind, actor, note, details, created_at) "
    "SELECT n, 'long/' || n, 'grant', 'hub', '', '{{}}', '2026-01-02 03:04:05' FROM n"
)
POSTINGS = (
    "INSERT INTO ledger_postings (entry_id, number, source, destination, micros) "
    f"SELECT (n - 1) / {PER_ENTRY} + 1, (n - 1) % {PER_ENTRY}, "
    "CASE n % 2 WHEN 1 THEN '{clearing}' ELSE '{available}' END, "
    "CASE n % 2 WHEN 1 THEN '{available}' ELSE '{held}' END, 2 - (n + 1) % 2 FROM n"
)
"""Two micros come in, one of them is set aside."""


def fill(engine: Engine, postings: int) -> None:
    """As if so much had been posted. `postings`: whole entries of them."""
    if postings % PER_ENTRY:
        raise ValueError(f"{postings} postings are not whole entries of {PER_ENTRY}")
    names = {
        "clearing": platform(Platform.CLEARING),
        "available": account(OWNER, Kind.AVAILABLE),
        "held": account(OWNER, Kind.HELD),
    }
    dialect, entries, half = engine.dialect.name, postings // PER_ENTRY, postings // 2
    has = {"clearing": -2 * half, "available": half, "held": half}
    for first in range(1, entries + 1, BATCH):
        last = min(entries, first + BATCH - 1)
        with engine.begin() as connection:
            if dialect == "postgresql":
                # Each posting's entry was written a statement ago: nobody has to look for it ten million times.
                connection.exec_driver_sql("SET LOCAL session_replication_role = replica")
            numbers = NUMBERS[dialect]
            connection.exec_driver_sql(_joined(dialect, numbers.format(first=first, last=last), ENTRIES.format()))
            lines = numbers.format(first=(first - 1) * PER_ENTRY + 1, last=last * PER_ENTRY)
            connection.exec_driver_sql(_joined(dialect, lines, POSTINGS.format(**names)))
    with engine.begin() as connection:
        rows = ", ".join(f"('{names[one]}', 0, {micros})" for one, micros in has.items())
        connection.exec_driver_sql(f"INSERT INTO ledger_balances (account, shard, micros) VALUES {rows}")
    if dialect == "postgresql":
        with engine.connect().execution_options(isolation_level="AUTOCOMMIT") as connection:
            connection.exec_driver_sql("VACUUM ANALYZE")  # as any server does by itself, a little later


def _joined(dialect: str, numbers: str, statement: str) -> str:
    words = numbers + statement
    return words.replace("%", "%%") if dialect == "postgresql" else words
