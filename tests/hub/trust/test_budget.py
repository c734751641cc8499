"""The daily budget of checks is one row, changed by a guarded update: no race passes it."""

import asyncio
import threading
from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support.waiting import eventually, patience

from computepool.hub.core.db import durable_engine, open_database
from computepool.hub.trust import repository
from computepool.hub.trust.repository import reserve_subsidy
from computepool.hub.trust.tables import CheckBudget

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def used(engine, day="2026-03-01"):
    with Session(engine) as session:
        return session.scalar(select(CheckBudget.micros).where(CheckBudget.day == day)) or 0


def test_budget_is_used_up_to_the_last_micro_and_filled_again_the_next_day(hub_url):
    engine = durable_engine(hub_url)
    with Session(engine) as session, session.begin():
        assert not reserve_subsidy(session, 101, 100, NOON)
        assert reserve_subsidy(session, 60, 100, NOON)
        assert not reserve_subsidy(session, 41, 100, NOON)
        assert reserve_subsidy(session, 40, 100, NOON)
        assert not reserve_subsidy(session, 1, 100, NOON)
        assert reserve_subsidy(session, 500, None, NOON), "what an operator starts is not refused"
        assert not reserve_subsidy(session, 1, 100, NOON)
        assert reserve_subsidy(session, 100, 100, NOON + timedelta(hours=12))
    assert (used(engine), used(engine, "2026-03-02")) == (600, 100)
    with Session(engine) as session:
        reserve_subsidy(session, 1, None, NOON)
        session.rollback()
    assert used(engine) == 600, "a check that did not begin costs nothing"
    engine.dispose()


def test_reservations_at_once_do_not_pass_the_budget_together(hub_url):
    async def story():
        db = open_database(hub_url)
        try:
            async with asyncio.timeout(patience()):
                return await asyncio.gather(*[db.run(reserve_subsidy, 30, 100, NOON) for _ in range(8)])
        finally:
            db.close()

    assert sorted(asyncio.run(story())) == [False] * 5 + [True] * 3


def second_waits_for_the_first(url):
    """Both have begun before either has committed."""
    engine = durable_engine(url)
    answers = []

    def reserve():
        with Session(engine) as session, session.begin():
            answers.append(repository.reserve_subsidy(session, 60, 100, NOON))

    with Session(engine) as first:
        assert repository.reserve_subsidy(first, 60, 100, NOON)
        second = threading.Thread(target=reserve)
        second.start()
        eventually(lambda: answers or is_waiting(engine), "the second transaction asks")
        first.commit()
    second.join()
    engine.dispose()
    assert answers == [False]


def is_waiting(engine):
    with engine.connect() as connection:
        return connection.exec_driver_sql("SELECT 1 FROM pg_locks WHERE NOT granted").first() is not None


def test_second_of_two_transactions_sees_what_the_first_took(postgres_hub):
    second_waits_for_the_first(postgres_hub)


def test_race_is_noticed_where_the_sum_is_only_looked_up(postgres_hub, monkeypatch):
    def check_then_act(session, micros, limit_micros, now):
        if (session.scalar(select(func.sum(CheckBudget.micros))) or 0) + micros > limit_micros:
            return False
        session.add(CheckBudget(day=f"{micros}{session.hash_key}"[:10], micros=micros))
        session.flush()
        return True

    monkeypatch.setattr(repository, "reserve_subsidy", check_then_act)
    with pytest.raises(AssertionError):
        second_waits_for_the_first(postgres_hub)
