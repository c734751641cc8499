"""Promise 4, beyond jobs: a hub that is killed at any commit of a refund, a restitution or a cash-out leaves books that
add up, and whoever tries again ends where nobody was killed."""

import contextlib
from collections.abc import Callable, Sequence
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from support.planted import each_check, each_mutant
from support.rented import CREDIT, Rented
from support.truth import Held

from computepool.hub.core.errors import PoolError
from computepool.hub.core.idempotency import claim
from computepool.hub.disputes import service
from computepool.hub.disputes.tables import Outcome
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger import claims
from computepool.hub.ledger.entries import Entry
from computepool.hub.payments import cash_outs, grants, moving
from computepool.hub.payments.amounts import units_of
from computepool.hub.payments.manual import Manual
from computepool.hub.trust import restitution
from computepool.hub.trust.tables import Check, Clawback

Step = Callable[[Session], Any]
Story = tuple[list[Step], tuple[str, ...]]


class Killed(Exception):
    """The hub's process, at a commit."""


def accused(session: Session, held: Held, renter: str, host: str, now: Any) -> None:
    about: dict[str, Any] = {"job_id": held.job_id, "slice_index": 0, "spec_digest": "x", "asked": 2}
    check_id = f"check_{held.id[-20:]}"
    session.add(Check(id=check_id, subject=held.id, kind="audit", state="guilty", created_at=now, **about))
    session.flush()
    people: dict[str, Any] = {"node_id": held.node_id, "host_id": host, "renter_id": renter}
    back = {"attempt_id": held.id, "check_id": check_id, "micros": 1, "state": restitution.PENDING}
    session.add(Clawback(**back, created_at=now, **people))


def money_that_goes_back(pool: Rented, who: str) -> Story:
    """A host's earnings are disputed and clawed back after it spent them; it is granted credits, its renters are paid,
    and its contest is upheld."""
    renter, host, other = f"user_r{who}", f"user_h{who}", f"user_o{who}"
    pool.pay_in(renter, 300, who)
    disputed, wrong = pool.work(renter, host, 100), pool.work(renter, host, 200)
    pool.work(host, other, 200)
    pool.run(accused, wrong, renter, host, pool.now)
    now, name = pool.now, f"dispute_{who}"

    def dispute(session: Session) -> None:
        job = session.get_one(Job, disputed.job_id)
        service.open_dispute(session, name, job, "it is empty", timedelta(days=7), renter, now)

    given: dict[str, Any] = {"grant_id": f"g{who}", "owner_id": host, "micros": 150 * CREDIT, "note": "x", "now": now}
    steps: list[Step] = [
        dispute,
        lambda session: service.resolve(session, name, Outcome.FULL, None, "so be it", "user_admin", now),
        lambda session: restitution.carry_out(session, wrong.id, now),
        lambda session: grants.by_hand(session, giving=True, actor="user_admin", **given),
        lambda session: claims.pay_claims(session, host, now),
        lambda session: restitution.overturn(session, wrong.id, f"check_{wrong.id[-20:]}", now),
        lambda session: claims.pay_claims(session, host, now),
    ]
    return steps, (renter, host, other)


def money_that_goes_out(pool: Rented, who: str) -> Story:
    """Two cash-outs of a host, one paid and one rejected after a bank took something back."""
    renter, host = f"user_r{who}", f"user_h{who}"
    pool.pay_in(renter, 3_000, who)
    pool.now -= timedelta(days=60)
    pool.work(renter, host, 2_500)
    pool.now += timedelta(days=60)
    now, context = pool.now, pool.context()
    units, manual = units_of(context.settings), Manual()

    def ask(session: Session, cash_out_id: str, credits: int) -> None:
        """As the API does it: whoever asks again has the same key."""
        key = ("POST wallet/cash-outs", "the same", cash_out_id, now)
        if claim(session, host, f"key of {cash_out_id}", *key) is None:
            about = (cash_out_id, host, credits * CREDIT, host, now)
            cash_outs.request_cash_out(session, context.settings, manual, units, *about)

    one, two = f"cashout_1{who}", f"cashout_2{who}"
    steps: list[Step] = [
        partial(ask, cash_out_id=one, credits=1_000),
        lambda session: cash_outs.approve(session, context, manual, units, one, "", "user_admin", now),
        partial(ask, cash_out_id=two, credits=600),
        lambda session: cash_outs.mark_paid(session, one, "UTR 1", "", "user_admin", now),
        lambda session: taken_by_a_bank(session, host, f"bank/{who}", now),
        lambda session: cash_outs.reject(session, two, "owes", "user_admin", now),
    ]
    return steps, (renter, host)


def taken_by_a_bank(session: Session, owner_id: str, key: str, now: Any) -> None:
    about: dict[str, Any] = {"minor": -1, "micros": 700 * CREDIT, "currency": "inr", "happened_at": now, "now": now}
    if moving.is_new(session, key, "chargeback", key, owner_id, **about):
        moving.take(session, key, "chargeback", owner_id, 700 * CREDIT, now)


def go(pool: Rented, steps: Sequence[Step], kill_at: int | None = None, *, before: bool = False) -> None:
    """One commit each. Whoever meets the kill tries again once the hub is there; the others hear their answer."""

    def dies(session: Session, step: Step) -> None:
        step(session)
        raise Killed

    for number, step in enumerate(steps):
        if number != kill_at:
            pool.run(step)
            continue
        if before:
            with pytest.raises(Killed):
                pool.run(dies, step)
        else:
            pool.run(step)
        pool.all_adds_up()
        with contextlib.suppress(*(() if before else (PoolError,))):  # after the commit it may be said that it is done
            pool.run(step)


def every_kill_ends_the_same(pool: Rented, story: Callable[[Rented, str], Story]) -> None:
    steps, people = story(pool, "0")
    go(pool, steps)
    expected = [pool.credits(one) for one in people]
    for number in range(len(steps)):
        for before in (True, False):
            steps, people = story(pool, f"{number}{'ab'[before]}")
            go(pool, steps, number, before=before)
            assert [pool.credits(one) for one in people] == expected, (number, before)
            pool.all_adds_up()


def refunds_end_the_same(url: str) -> None:
    with_pool(url, money_that_goes_back)


def cash_outs_end_the_same(url: str) -> None:
    with_pool(url, money_that_goes_out)


def with_pool(url: str, story: Callable[[Rented, str], Story]) -> None:
    pool = Rented(url)
    try:
        every_kill_ends_the_same(pool, story)
    finally:
        pool.close()


def claims_are_paid_again(plant: pytest.MonkeyPatch) -> None:
    """As if a payment were not counted against its claim."""
    real = claims._change
    plant.setattr(claims, "_change", lambda *args, owed, paid=0: real(*args, owed=0 if paid else owed, paid=paid))


def grants_have_no_name(plant: pytest.MonkeyPatch) -> None:
    real, numbers = Entry, iter(range(10**6))
    plant.setattr(grants, "Entry", lambda key, *rest, **more: real(f"{key}/{next(numbers)}", *rest, **more))


def every_request_is_new(plant: pytest.MonkeyPatch) -> None:
    plant.setitem(globals(), "claim", lambda *_: None)


def any_step_may_follow(plant: pytest.MonkeyPatch) -> None:
    plant.setattr(cash_outs, "move_cash_out", lambda *_args, **_values: True)


MUTANTS = {
    refunds_end_the_same: [claims_are_paid_again, grants_have_no_name],
    cash_outs_end_the_same: [every_request_is_new, any_step_may_follow],
}


@each_check(MUTANTS)
def test_kill_at_any_commit_is_made_good_by_trying_again(hub_url, check):
    check(hub_url)


@each_mutant(MUTANTS)
def test_bug_put_in_on_purpose_is_found(sqlite_hub, check, mutant, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, IntegrityError)):
        check(sqlite_hub)
