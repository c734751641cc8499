"""A database with a long past: real rows of one real job, copied under new ids by the database itself."""

import os
import sqlite3
from pathlib import Path

NEW_JOB = "'job_' || printf('%026d', n)"
"""Older than every real id, which begin with a time; digits are letters of ids too."""
NEW_ATTEMPT = "'attempt_' || printf('%026d', n)"
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


def copy_job(database: Path, job_id: str, copies: int) -> None:
    """The job with its slices, its attempt (one at most) and its audit records, so many times over. No hub may run."""
    db = sqlite3.connect(database, isolation_level=None)
    try:
        # Unsafe and quick: nobody needs this file if the machine stops here.
        for pragma in ("journal_mode=DELETE", "journal_mode=OFF", "synchronous=OFF", "cache_size=-500000"):
            db.execute(f"PRAGMA {pragma}")
        for table, (condition, changed) in COPIED.items():
            db.execute(f"CREATE TEMP TABLE template AS SELECT * FROM main.{table} WHERE {condition}", {"job": job_id})
            columns = [str(row[1]) for row in db.execute("PRAGMA temp.table_info(template)")]
            values = ", ".join(changed.get(column, f'"{column}"') for column in columns)
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
