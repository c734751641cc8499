"""Two transactions that would spend the same budget, on a PostgreSQL that really lets them run side by side.

Whoever sets something aside holds its renter's balances, and only then looks at what the budget has left.
"""

import threading
from dataclasses import replace

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support.side_by_side import wait_until_blocked_or_done
from support.truth import TERMS, Truth

from computepool.hub.core.records import write_records
from computepool.hub.jobs import funding, instalments, service
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.holds import HoldRow, spendable
from computepool.protocol.states import AttemptState

PRICE = 36_000_000
HOUR = PRICE
BUDGET = HOUR * 3720 // 3600 + HOUR
LONG = replace(TERMS, max_seconds=100_000, job_micros=BUDGET)
"""Enough for one hold, and for an hour more: not for two holds."""


@pytest.fixture
def race(postgres_hub):
    truth = Truth(postgres_hub)
    truth.begin_anew()
    truth.give(1000)
    yield truth
    truth.close()


def with_replica(truth):
    """A job, and the hidden one that runs its slice once more for the same renter out of the same budget."""
    job = truth._new_job(1, 0)
    replica_id = f"{job.id[:-1]}r"
    truth.run(service.submit, replace(job, replica_ids=(replica_id,)), [], truth.now)
    return job.id, replica_id


def lease_of(truth, job_id, root, terms):
    node_id = truth.add_node(f"node_of_{truth.host}", truth.host)
    terms = replace(terms, host_id=truth.host)
    one = truth._new_lease(job_id, 0, 1, 0, node_id, own=False, price_micros=PRICE, terms=terms)
    return replace(one, root=root)


def side_by_side(truth, first, second):
    """The first has written and not committed, the second comes and has to wait, the first commits."""
    answers = {}

    def come_second():
        answers["second"] = truth.run(second)

    with Session(truth.engine, expire_on_commit=False) as session, session.begin():
        answers["first"] = first(session)
        write_records(session)
        session.flush()
        other = threading.Thread(target=come_second)
        other.start()
        wait_until_blocked_or_done(truth.engine, lambda: not other.is_alive())
        assert other.is_alive(), "it did not wait"
    other.join()
    return answers["first"], answers["second"]


def used(truth):
    query = select(func.sum(HoldRow.promotional + HoldRow.available + HoldRow.earnings)).where(
        HoldRow.owner_id == truth.renter, HoldRow.resolved_at.is_(None)
    )
    spent = select(func.sum(HoldRow.spent_micros)).where(HoldRow.owner_id == truth.renter)
    return truth.run(lambda session: sum(session.scalar(one) or 0 for one in (query, spent)))


def lease_and_replica(truth):
    """Of both leases, how many came to be within a budget for one."""
    terms = replace(TERMS, job_micros=HOUR)
    root, replica_id = with_replica(truth)
    mine, other = lease_of(truth, root, root, terms), lease_of(truth, replica_id, root, terms)
    first, second = side_by_side(
        truth,
        lambda session: service.lease(session, [mine], truth.now),
        lambda session: service.lease(session, [other], truth.now),
    )
    assert len(first.granted) + len(second.granted) == 1
    assert used(truth) <= HOUR


def instalment_and_replica(truth):
    root, replica_id = with_replica(truth)
    mine = lease_of(truth, root, root, LONG)
    truth.run(service.lease, [mine], truth.now)
    truth.run(service.report, mine.attempt_id, mine.fence, mine.node_id, AttemptState.RUNNING, None, truth.now)
    truth.move(seconds=3600)
    other = lease_of(truth, replica_id, root, LONG)
    side_by_side(
        truth,
        lambda session: instalments.settle_next(session, mine.attempt_id, truth.now),
        lambda session: service.lease(session, [other], truth.now),
    )
    assert used(truth) <= BUDGET
    assert truth.balances()[Kind.HELD] <= BUDGET - HOUR


@pytest.mark.parametrize("story", [lease_and_replica, instalment_and_replica])
def test_budget_that_two_want_at_once_is_not_exceeded(race, story):
    story(race)


def test_budget_that_is_looked_at_before_anything_is_locked_is_found(race, monkeypatch):
    monkeypatch.setattr(funding, "spendable", lambda session, owner_id, lock=False: spendable(session, owner_id))
    with pytest.raises(AssertionError):
        lease_and_replica(race)
