"""Where money will be held and settled: each hook once for each lease and each end, in the transaction of that."""

from collections.abc import Sequence

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.truth import CANCELED, FAILED, LOST, OK

from computepool.hub.core.records import record, write_records
from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs import money
from computepool.protocol.states import AttemptState


@pytest.fixture
def entries(truth, monkeypatch):
    """A ledger in place of the one to come: it writes through the session that it is given, and so commits with it."""

    def note(session: Session, action: str, subject: str) -> None:
        record(session, action, subject, truth.now, actor="ledger")

    def reserve(session: Session, job_id: str, owner_id: str) -> None:
        note(session, "reserve", job_id)

    def hold(session: Session, attempt_ids: Sequence[str]) -> None:
        for attempt_id in attempt_ids:
            note(session, "hold", attempt_id)

    def settle(session: Session, attempt_id: str, verdict: str) -> None:
        note(session, f"settle {verdict}", attempt_id)

    monkeypatch.setattr(money, "reserve_for_submit", reserve)
    monkeypatch.setattr(money, "hold_for_leases", hold)
    monkeypatch.setattr(money, "settle", settle)

    def of(subject: str) -> list[str]:
        with Session(truth.engine) as session:
            rows = select(AuditRow.action).where(AuditRow.actor == "ledger", AuditRow.subject == subject)
            return list(session.scalars(rows.order_by(AuditRow.id)))

    return of


def test_each_lease_is_held_once_and_each_end_settled_once(truth, entries):
    job_id = truth.add_job(retries=1)
    assert entries(job_id) == ["reserve"]
    first = truth.lease(job_id)
    truth.report(first, AttemptState.RUNNING)
    for _ in range(2):  # a report may come twice
        truth.end(first, FAILED)
    truth.move(seconds=60)
    second = truth.lease(job_id)
    for _ in range(2):
        truth.end(second, OK)
    assert entries(first.id) == ["hold", "settle renter"]
    assert entries(second.id) == ["hold", "settle ok"]
    assert entries(job_id) == ["reserve"]


def test_each_slice_of_a_job_has_a_hold_of_its_own(truth, entries):
    job_id = truth.add_job(slices=3)
    for index in range(3):
        held = truth.lease(job_id, index)
        truth.end(held, OK)
        assert entries(held.id) == ["hold", "settle ok"]
    assert entries(job_id) == ["reserve"]


def test_attempt_that_is_taken_back_is_held_anew(truth, entries):
    """Its loss settled the first hold. Without another, what it goes on to do would be nobody's money."""
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    assert entries(held.id) == ["hold", "settle host"]
    assert truth.take_back(held)
    assert not truth.take_back(held)
    truth.end(held, OK)
    assert entries(held.id) == ["hold", "settle host", "hold", "settle ok"]


def test_result_of_an_attempt_that_was_given_up_is_held_and_settled(truth, entries):
    """It comes back with its receipt, before it was ever seen to be there again."""
    held = truth.lease(truth.add_job())
    truth.end(held, LOST)
    truth.end(held, OK)
    assert entries(held.id) == ["hold", "settle host", "hold", "settle ok"]


def test_attempt_that_comes_too_late_is_not_paid_beside_its_replacement(truth, entries):
    job_id = truth.add_job()
    first = truth.lease(job_id)
    truth.end(first, LOST)
    truth.move(seconds=60)
    second = truth.lease(job_id, node_id="node_2")
    assert not truth.take_back(first)
    truth.end(first, OK)
    truth.end(second, OK)
    assert entries(first.id) == ["hold", "settle host"]
    assert entries(second.id) == ["hold", "settle ok"]


def test_canceled_attempt_is_settled_once(truth, entries):
    job_id = truth.add_job()
    held = truth.lease(job_id)
    for _ in range(2):
        truth.cancel(job_id)
    truth.end(held, CANCELED)
    assert entries(held.id) == ["hold", "settle renter"]


@pytest.mark.parametrize("what", ["lease", "end", "take back"])
def test_money_and_what_it_pays_for_are_one_transaction(truth, entries, monkeypatch, what):
    job_id = truth.add_job()
    held = None if what == "lease" else truth.lease(job_id)
    if what == "take back":
        truth.end(held, LOST)
    before = _all(truth)
    real = truth.run

    def fail_at_the_commit(fn, *args, **kwargs):
        def act(session):
            result = fn(session, *args, **kwargs)
            if fn.__module__.startswith("computepool.hub.jobs"):
                write_records(session)
                raise OSError("the disk is full")
            return result

        return real(act)

    monkeypatch.setattr(truth, "run", fail_at_the_commit)
    with pytest.raises(OSError, match="disk"):
        {"lease": lambda: truth.lease(job_id), "end": lambda: truth.end(held, OK)}.get(
            what, lambda: truth.take_back(held)
        )()
    assert _all(truth) == before


def _all(truth):
    with Session(truth.engine) as session:
        return list(session.scalars(select(AuditRow.action).where(AuditRow.actor == "ledger").order_by(AuditRow.id)))
