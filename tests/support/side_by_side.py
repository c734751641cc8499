"""Two transactions at the same moment, on a PostgreSQL that really lets them run side by side."""

from collections.abc import Callable

from sqlalchemy import Engine, text
from support.waiting import eventually

_BLOCKED = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


def wait_until_blocked_or_done(engine: Engine, done: Callable[[], bool]) -> None:
    """Until the other transaction waits for a lock, or is done."""

    def is_blocked_or_done() -> bool:
        if done():
            return True
        with engine.connect() as connection:
            return bool(connection.scalar(text(_BLOCKED)))

    eventually(is_blocked_or_done, "the other transaction waits for a lock or ends", every=0.001)
