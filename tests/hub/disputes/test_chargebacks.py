"""A bank takes a payment back: it decides first, and nobody gets the credits and the money."""

from collections.abc import Iterator
from typing import Literal

import pytest
from sqlalchemy import select
from support.rented import CREDIT, Rented, rented

from computepool.hub.disputes import service
from computepool.hub.disputes.errors import AlreadyResolved, BankDecides, TooMuch
from computepool.hub.disputes.refunding import list_paid
from computepool.hub.disputes.tables import Dispute, Outcome
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.accounts import Kind, Platform, platform
from computepool.hub.ledger.journal import balance
from computepool.hub.payments import moving
from computepool.hub.payments.hooks import Chargeback

RENTER, HOST, ADMIN = "user_r", "user_h", "user_a"


@pytest.fixture
def pool(hub_url: str) -> Iterator[Rented]:
    with rented(hub_url, RENTER, HOST) as made:
        yield made


def bank_says(pool: Rented, state: Literal["opened", "won", "lost"], credits: int = 100) -> Dispute:
    """As `payments.facts` makes it: the ledger's entry, then the word."""
    micros = credits * CREDIT
    if state == "opened":
        pool.run(lambda session: moving.take(session, "chargeback/dp", "chargeback", RENTER, micros, pool.now))
    if state == "won":
        won = ("chargeback/dp/won", "chargeback_won", RENTER, micros, 0, pool.now)
        pool.run(lambda session: moving.give_back(session, *won))
    news = Chargeback("dp", RENTER, "pi", micros, "fraudulent", state)
    pool.run(lambda session: service.heard_of_chargeback(pool.context(), session, news, pool.now))
    return dispute(pool)


def dispute(pool: Rented) -> Dispute:
    return pool.run(lambda session: session.scalars(select(Dispute).where(Dispute.subject == "dp")).one())


def resolve(pool: Rented, outcome: Outcome, micros: int | None = None) -> Dispute:
    return pool.run(service.resolve, dispute(pool).id, outcome, micros, "seen", ADMIN, pool.now)


def refund_job(pool: Rented, job_id: str) -> None:
    def act(session) -> None:
        job, window = session.get_one(Job, job_id), pool.context().settings.dispute_window
        service.open_dispute(session, "dispute_of_job", job, "empty", window, RENTER, pool.now)
        service.resolve(session, "dispute_of_job", Outcome.FULL, None, "it was", ADMIN, pool.now)

    pool.run(act)


def paid_work(pool: Rented) -> str:
    pool.pay_in(RENTER, 100, "paid")
    return pool.work(RENTER, HOST, 100).job_id


@pytest.mark.parametrize(("outcome", "micros"), [(Outcome.FULL, None), (Outcome.PARTIAL, 5 * CREDIT)])
def test_nothing_is_refunded_before_the_bank_has_decided(pool, outcome, micros):
    paid_work(pool)
    bank_says(pool, "opened")
    with pytest.raises(BankDecides, match="has not decided about") as refused:
        resolve(pool, outcome, micros)
    assert "Wait for the bank" in str(refused.value.hint)
    assert (pool.credits(RENTER), pool.credits(HOST)) == ({"debt": -100}, {"earnings": 80})
    over = bank_says(pool, "won")
    assert (over.state, over.outcome, over.bank) == ("resolved", "none", "won")
    assert (pool.credits(RENTER), pool.credits(HOST)) == ({}, {"earnings": 80}), "the work is paid, and paid once"
    with pytest.raises(AlreadyResolved):
        resolve(pool, outcome, micros)


def test_what_the_bank_decided_can_be_refunded(pool):
    paid_work(pool)
    bank_says(pool, "opened")
    assert bank_says(pool, "lost").state == "open"
    assert resolve(pool, Outcome.FULL).refunded_micros == 100 * CREDIT
    assert (pool.credits(RENTER), pool.credits(HOST)) == ({}, {})


def test_pool_may_bear_it_without_waiting(pool):
    paid_work(pool)
    bank_says(pool, "opened")
    resolve(pool, Outcome.NONE)
    assert bank_says(pool, "won").outcome == "none"
    assert (pool.credits(RENTER), pool.credits(HOST)) == ({}, {"earnings": 80})


def test_word_that_comes_late_opens_nothing_again(pool):
    """The processor may say that it is lost before it says when the money went."""
    paid_work(pool)
    bank_says(pool, "lost")
    assert bank_says(pool, "opened").bank == "lost"
    assert resolve(pool, Outcome.FULL).refunded_micros == 100 * CREDIT


@pytest.mark.parametrize("last", ["won", "lost"])
def test_what_was_refunded_before_is_not_given_twice(pool, last):
    refund_job(pool, paid_work(pool))
    assert (pool.credits(RENTER), pool.credits(HOST)) == ({"available": 100}, {})
    bank_says(pool, "opened")
    assert pool.credits(RENTER) == {}, "the bank has paid it back to them"
    bank_says(pool, last)
    if last == "lost":
        with pytest.raises(TooMuch):
            resolve(pool, Outcome.PARTIAL, 1)
        assert resolve(pool, Outcome.FULL).refunded_micros == 0
    assert pool.credits(RENTER) == ({"available": 100} if last == "won" else {})
    assert pool.credits(HOST) == {}


@pytest.mark.parametrize("last", ["won", "lost"])
def test_job_that_is_refunded_meanwhile_is_not_given_twice(pool, last):
    """The job itself was bad: that is decided apart from the bank."""
    job_id = paid_work(pool)
    bank_says(pool, "opened")
    refund_job(pool, job_id)
    assert (pool.credits(RENTER), pool.credits(HOST)) == ({}, {}), "it fills what the bank took"
    bank_says(pool, last)
    if last == "lost":
        assert resolve(pool, Outcome.FULL).refunded_micros == 0
    assert pool.credits(RENTER) == ({"available": 100} if last == "won" else {})


@pytest.mark.parametrize("presents", [0, 40])
def test_bank_that_changes_its_mind_takes_the_refund_back(pool, presents):
    """It had said that the money is gone, and an operator had given it back by then."""
    if presents:
        pool.pay_in(RENTER, presents, "present", Kind.PROMOTIONAL)
    pool.pay_in(RENTER, 100 - presents, "paid")
    held = pool.work(RENTER, HOST, 100)
    fees, earned = pool.run(balance, platform(Platform.FEES)), pool.credits(HOST)
    bank_says(pool, "opened")
    bank_says(pool, "lost")
    assert resolve(pool, Outcome.FULL).refunded_micros == 100 * CREDIT
    over = bank_says(pool, "won")
    assert (over.bank, over.refunded_micros) == ("won", 0)
    assert pool.credits(HOST) == earned
    assert pool.run(balance, platform(Platform.FEES)) == fees
    assert pool.attempt(held).cost_micros == 100 * CREDIT
    assert pool.attempt(held).earned_micros == 80 * CREDIT
    assert pool.credits(RENTER) == {}, "as it was before the bank took anything"
    (paid,) = pool.run(list_paid, [held.job_id])
    assert paid.cost.total == 100 * CREDIT


def test_host_who_had_spent_it_owes_nothing_when_the_bank_changes_its_mind(pool):
    paid_work(pool)
    pool.work(HOST, "user_other", 50)
    bank_says(pool, "opened")
    bank_says(pool, "lost")
    assert resolve(pool, Outcome.FULL).owed_micros == 50 * CREDIT
    assert pool.credits(HOST) == {"debt": -50}
    bank_says(pool, "won")
    assert (pool.credits(RENTER), pool.credits(HOST)) == ({}, {"earnings": 30})
