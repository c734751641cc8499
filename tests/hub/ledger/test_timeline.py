"""Where a moment is among the entries."""

from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session
from support.rented import Rented

from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.tables import EntryRow
from computepool.hub.ledger.timeline import SLACK, first_entry_since

START = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


def test_moment_is_found_among_many_entries(hub_url):
    pool = Rented(hub_url)
    try:
        assert pool.run(first_entry_since, START) == 0
        for day in range(40):
            pool.now = START + timedelta(days=day)
            pool.pay_in("user_some", 1, f"{day}", Kind.AVAILABLE)
        with Session(pool.engine) as session:
            rows = sorted((row.id, row.created_at) for row in session.query(EntryRow))
            for day in range(-1, 42):
                instant = START + timedelta(days=day) + SLACK
                least = first_entry_since(session, instant)
                assert [at for number, at in rows if number < least] == [at for _, at in rows if at < instant - SLACK]
    finally:
        pool.close()
