"""Promise 4: a kill at any commit leaves the ledger balanced, no lease without its hold, no end without its settlement.
Bugs put in on purpose must be found.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from sqlalchemy.orm import Session
from support.truth import CANCELED, LOST, OK, TERMS, Truth

from computepool.hub.jobs import funding, instalments, money
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.ledger import settlement
from computepool.hub.ledger.accounts import Kind, account
from computepool.hub.ledger.check import check
from computepool.hub.ledger.entries import Entry, moved
from computepool.hub.ledger.journal import post
from computepool.protocol.receipt import Usage
from computepool.protocol.states import AttemptState

PRICE = 36_000_000
LONG = replace(TERMS, max_seconds=3 * 3600)


class Killed(Exception):
    """The hub's process, at a commit."""


def problems_of(truth: Truth) -> tuple[str, ...]:
    with Session(truth.engine) as session:
        return check(session, INVARIANTS).problems


def life(truth: Truth) -> None:
    """All that moves money: a job with three slices, one lost, taken back and finished, one long one with an instalment
    and one canceled."""
    truth.give(200)
    placed = truth.submit_placed(price_micros=PRICE)
    truth.cancel(placed.job_id)
    truth.end(placed, CANCELED)
    job_id = truth.add_job(slices=3)
    first, second, third = (
        truth.lease(job_id, index, "node_dear", price_micros=PRICE, terms=LONG) for index in range(3)
    )
    for held in (first, second, third):
        truth.report(held, AttemptState.RUNNING)
    truth.move(seconds=60)
    truth.end(first, LOST)
    truth.move(seconds=3600)
    for held in (second, third):
        truth.run(instalments.settle_next, held.id, truth.now)
    assert truth.take_back(first)
    truth.end(second, OK, facts={"usage": Usage(running_seconds=3660)})
    truth.end(third, LOST)
    truth.end(first, OK, facts={"usage": Usage(running_seconds=3660)})


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


def kill_everywhere(truth: Truth, monkeypatch: pytest.MonkeyPatch) -> int:
    """How many kills it took until a life went through. After each, all must add up."""
    for kills in range(200):
        truth.begin_anew()
        with monkeypatch.context() as patch:
            kill_at(truth, patch, kills // 2, before=kills % 2 == 0)
            try:
                life(truth)
            except Killed:
                pass
            else:
                return kills
        assert not problems_of(truth), problems_of(truth)
    raise AssertionError("a life has no end")


def test_kill_at_any_commit_leaves_a_ledger_that_adds_up(truth, monkeypatch):
    assert kill_everywhere(truth, monkeypatch) > 20
    assert problems_of(truth) == ()


@pytest.fixture
def broken(sqlite_hub):
    """A database of its own: what a planted bug leaves behind is nobody else's."""
    truth = Truth(sqlite_hub)
    yield truth
    truth.close()


def test_hold_in_a_transaction_of_its_own_is_found(broken, monkeypatch):
    real, later = funding.Funds.hold, list[tuple[Any, ...]]()
    monkeypatch.setattr(funding.Funds, "hold", lambda self, leases, now: later.append((self, list(leases), now)))
    real_lease = broken.lease

    def lease(*args: Any, **kwargs: Any) -> Any:
        later.clear()  # what a killed process had not done yet is not done
        held = real_lease(*args, **kwargs)
        for funds, leases, now in later:

            def hold(session: Session, funds: Any = funds, leases: Any = leases, now: Any = now) -> None:
                funds.session = session
                real(funds, leases, now)

            broken.run(hold)
        later.clear()
        return held

    monkeypatch.setattr(broken, "lease", lease)
    with pytest.raises(AssertionError, match="runs with 0 open holds"):
        kill_everywhere(broken, monkeypatch)


def test_settlement_in_a_transaction_of_its_own_is_found(broken, monkeypatch):
    real, later = money.settle, list[tuple[Any, ...]]()

    def settle_later(session: Session, *args: Any) -> Any:
        later.append(args)
        return [money.NOTHING] * len(args[0])

    monkeypatch.setattr(money, "settle", settle_later)
    real_end = broken.end

    def end(*args: Any, **kwargs: Any) -> Any:
        ended = real_end(*args, **kwargs)
        while later:
            broken.run(real, *later.pop())
        return ended

    monkeypatch.setattr(broken, "end", end)
    with pytest.raises(AssertionError, match="has ended, and credits are set aside for it"):
        kill_everywhere(broken, monkeypatch)


def settled_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    real = money.capture

    def capture(session: Session, view: Any, terms: Any, hold: Any, *rest: Any) -> Any:
        done = real(session, view, terms, hold, *rest)
        if hold is not None:
            one, now = rest[0], rest[3]
            again = moved("owner_platform/subsidy", account(terms.host_id, Kind.EARNINGS), one.earned)
            if again:
                entry = Entry(f"settle/{view.attempt_id}/again", "settle", again, attempt_id=view.attempt_id)
                post(session, entry, now)
        return done

    monkeypatch.setattr(money, "capture", capture)


def refund_to_the_wrong_pocket(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was a present comes back as money."""
    monkeypatch.setattr(
        settlement, "given_back", lambda owner_id, rest: moved(
            account(owner_id, Kind.HELD), account(owner_id, Kind.AVAILABLE), rest.total
        )
    )  # fmt: skip


def cost_is_not_written_down(monkeypatch: pytest.MonkeyPatch) -> None:
    real = money.capture

    def capture(*args: Any) -> Any:
        done = real(*args)
        return replace(done, values={**done.values, "cost_micros": 0})

    monkeypatch.setattr(money, "capture", capture)


@pytest.mark.parametrize(
    ("mutant", "words"),
    [(settled_twice, "settlements"), (cost_is_not_written_down, "and its holds")],
    ids=["settled_twice", "cost_is_not_written_down"],
)
def test_check_finds_money_that_went_wrong(broken, monkeypatch, mutant, words):
    broken.begin_anew()
    mutant(monkeypatch)
    life(broken)
    assert any(words in one for one in problems_of(broken))


def presents_come_back_as_presents(truth: Truth) -> None:
    truth.begin_anew()
    truth.give(100, kind=Kind.PROMOTIONAL)
    truth.end(truth.lease(truth.add_job(), node_id="node_dear", price_micros=PRICE), LOST)
    assert truth.balances() == {Kind.PROMOTIONAL: 100_000_000}


def test_present_that_is_not_used_comes_back_as_one(broken):
    presents_come_back_as_presents(broken)


def test_refund_to_the_wrong_pocket_is_found(broken, monkeypatch):
    refund_to_the_wrong_pocket(monkeypatch)
    with pytest.raises(AssertionError):
        presents_come_back_as_presents(broken)
