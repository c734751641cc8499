"""Promise 4, as far as money exists: a kill at any commit leaves no lease without its hold and no end without its
settlement. A bug put in on purpose, the hold in a transaction of its own, must be found.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.truth import LOST, OK, Truth

from computepool.hub.core.records import record
from computepool.hub.core.tables import AuditRow
from computepool.hub.jobs import money
from computepool.hub.jobs.tables import Attempt
from computepool.protocol.states import ATTEMPT_ENDED, AttemptState

SETTLED = ATTEMPT_ENDED | {AttemptState.LOST}
"""A lost attempt's hold is settled; one that is taken back is held anew."""


class Killed(Exception):
    """The hub's process, at a commit."""


@pytest.fixture
def earlier(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """A ledger in place of the one to come, which writes through the session that it is given.

    Gives the attempts of other tests, which had none.
    """

    def hold(session: Session, attempt_ids: Sequence[str]) -> None:
        for attempt_id in attempt_ids:
            record(session, "hold", attempt_id, truth.now, actor="ledger")

    def settle(session: Session, attempt_id: str, verdict: str) -> None:
        record(session, "settle", attempt_id, truth.now, actor="ledger")

    monkeypatch.setattr(money, "hold_for_leases", hold)
    monkeypatch.setattr(money, "settle", settle)
    with Session(truth.engine) as session:
        return set(session.scalars(select(Attempt.id)))


def ledger_agrees_with_the_truth(truth: Truth, earlier: set[str]) -> None:
    with Session(truth.engine) as session:
        notes = session.execute(select(AuditRow.action, AuditRow.subject).where(AuditRow.actor == "ledger")).all()
        states = {row.id: row.state for row in session.scalars(select(Attempt))}
    entries = Counter((action, subject) for action, subject in notes)
    for subject in ({subject for _, subject in entries} | set(states)) - earlier:
        open_holds = entries["hold", subject] - entries["settle", subject]
        expected = 0 if subject not in states or states[subject] in SETTLED else 1
        assert open_holds == expected, f"{subject} is {states.get(subject)} with {open_holds} open holds"


def life(truth: Truth) -> None:
    """All that moves money: two slices leased, one lost, taken back and finished, one finished at once."""
    job_id = truth.add_job(slices=2)
    first, second = truth.lease(job_id, 0), truth.lease(job_id, 1)
    truth.report(first, AttemptState.RUNNING)
    truth.end(second, OK)
    truth.end(first, LOST)
    assert truth.take_back(first)
    truth.end(first, OK)


def kill_at(truth: Truth, monkeypatch: pytest.MonkeyPatch, boundary: int, *, before: bool) -> None:
    """The process ends just before or just after its n-th commit from here."""
    real, commits = truth.run, iter(range(10**6))

    def run(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        def act(session: Session) -> Any:
            result = fn(session, *args, **kwargs)
            if before and next(commits) == boundary:
                raise Killed
            return result

        result = real(act)
        if not before and next(commits) == boundary:
            raise Killed
        return result

    monkeypatch.setattr(truth, "run", run)


def kill_everywhere(truth: Truth, earlier: set[str], monkeypatch: pytest.MonkeyPatch) -> int:
    """How many kills it took until a life went through."""
    for kills in range(200):
        with monkeypatch.context() as patch:
            kill_at(truth, patch, kills // 2, before=kills % 2 == 0)
            try:
                life(truth)
            except Killed:
                pass
            else:
                return kills
        ledger_agrees_with_the_truth(truth, earlier)
    raise AssertionError("a life has no end")


def test_kill_at_any_commit_leaves_holds_and_attempts_in_step(truth, earlier, monkeypatch):
    assert kill_everywhere(truth, earlier, monkeypatch) > 12
    ledger_agrees_with_the_truth(truth, earlier)


def test_hold_in_a_transaction_of_its_own_is_found(truth, earlier, monkeypatch):
    real_hold, later = money.hold_for_leases, list[Sequence[str]]()
    monkeypatch.setattr(money, "hold_for_leases", lambda session, attempt_ids: later.append(list(attempt_ids)))
    real_lease = truth.lease

    def lease(*args: Any, **kwargs: Any) -> Any:
        held = real_lease(*args, **kwargs)
        while later:
            truth.run(real_hold, later.pop())
        return held

    monkeypatch.setattr(truth, "lease", lease)
    with pytest.raises(AssertionError, match="with 0 open holds"):
        kill_everywhere(truth, earlier, monkeypatch)


def test_settlement_in_a_transaction_of_its_own_is_found(truth, earlier, monkeypatch):
    real_settle, later = money.settle, list[tuple[str, Any]]()
    monkeypatch.setattr(money, "settle", lambda session, attempt_id, verdict: later.append((attempt_id, verdict)))
    real_end = truth.end

    def end(*args: Any, **kwargs: Any) -> Any:
        ended = real_end(*args, **kwargs)
        while later:
            truth.run(real_settle, *later.pop())
        return ended

    monkeypatch.setattr(truth, "end", end)
    with pytest.raises(AssertionError, match="with 1 open holds"):
        kill_everywhere(truth, earlier, monkeypatch)
