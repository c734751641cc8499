"""Two transactions at the same moment, on a PostgreSQL that really lets them run side by side."""

import threading
import time

from sqlalchemy import Engine, text

_BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def wait_until_blocked_or_done(engine: Engine, thread: threading.Thread) -> None:
    """Until the thread's transaction waits for another one's lock, or has ended."""
    deadline = time.monotonic() + 10
    while thread.is_alive() and time.monotonic() < deadline:
        with engine.connect() as connection:
            if connection.execute(text(_BLOCKED)).scalar():
                return
        time.sleep(0.001)
