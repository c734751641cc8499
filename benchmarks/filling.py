"""A database with a long past: real rows of one real job, copied under new ids by the database itself."""

import functools
import os
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

from computepool.hub.core.ids import new_id

NEW_JOB, NEW_ATTEMPT = "'job_' || copy_id(n)", "'attempt_' || copy_id(n)"
BATCH = 100_000

COPIED = {
    "jobs": ("id = :job", {"id": NEW_JOB}),
    "slices": ("job_id = :job", {"job_id": NEW_JOB}),
    "attempts": ("job_id = :job", {"id": NEW_ATTEMPT, "job_id": NEW_JOB}),
    "audit": (
        "subject = :job OR subject IN (SELECT id FROM attempts WHERE job_id = :job)",
        {"id": "NULL", "subject": f"CASE WHEN subject = :job THEN {NEW_JOB} ELSE {NEW_ATTEMPT} END"},
    ),
}


TIMES = {
    "jobs": ("created_at", "started_at", "finished_at"),
    "slices": ("finished_at",),
    "attempts": ("leased_at", "started_at", "finished_at"),
    "audit": ("at",),
}
EARLIER = "strftime('%Y-%m-%d %H:%M:%f', {column}, '-' || seconds_ago(n) || ' seconds') || '000'"


def copy_job(database: Path, job_id: str, copies: int, over: timedelta | None = None) -> None:
    """The job with its slices, its attempt (one at most) and its audit records, so many times over. No hub may run.

    `over`: from so long ago until now, the oldest first. Otherwise all have the times of the job, and ids that are
    older than every real one.
    """
    now = datetime.now(UTC)

    def seconds_ago(n: int) -> int:
        return round(over.total_seconds() * (copies - n) / copies) if over is not None else 0

    @functools.cache
    def copy_id(n: int) -> str:
        if over is None:
            return f"{n:026d}"  # real ids begin with a time; digits are letters of ids too
        return new_id("copy", now - timedelta(seconds=seconds_ago(n)), lambda _: n).removeprefix("copy_")

    db = sqlite3.connect(database, isolation_level=None)
    try:
        db.create_function("copy_id", 1, copy_id, deterministic=True)
        db.create_function("seconds_ago", 1, seconds_ago, deterministic=True)
        # Unsafe and quick: nobody needs this file if the machine stops here.
        for pragma in ("journal_mode=DELETE", "journal_mode=OFF", "synchronous=OFF", "cache_size=-500000"):
            db.execute(f"PRAGMA {pragma}")
        for table, (condition, changed) in COPIED.items():
            db.execute(f"CREATE TEMP TABLE template AS SELECT * FROM main.{table} WHERE {condition}", {"job": job_id})
            columns = [str(row[1]) for row in db.execute("PRAGMA temp.table_info(template)")]
            made = changed | ({} if over is None else {name: EARLIER.format(column=name) for name in TIMES[table]})
            values = ", ".join(made.get(column, f'"{column}"') for column in columns)
            for first in range(1, copies + 1, BATCH):
                last = min(copies, first + BATCH - 1)
                db.execute(
                    "WITH RECURSIVE numbers(n) AS (VALUES(:first) UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)"
                    f" INSERT INTO main.{table} SELECT {values} FROM numbers CROSS JOIN temp.template",
                    {"job": job_id, "first": first, "last": last},
                )
            db.execute("DROP TABLE temp.template")
        db.execute("PRAGMA journal_mode=WAL")
    finally:
        db.close()
    # What the kernel still has to write must not be written while something is measured.
    handle = os.open(database, os.O_RDWR)
    os.fsync(handle)
    os.close(handle)
