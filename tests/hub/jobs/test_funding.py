"""What is set aside for leases that are made in one transaction, and why one of them cannot be paid for."""

from collections.abc import Iterator
from datetime import UTC, datetime
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy.orm import Session

from computepool.hub.core.db import durable_engine
from computepool.hub.core.owners import PLATFORM, Owner
from computepool.hub.jobs.funding import Funds, Unfunded, Want, used_by_job, used_by_slice
from computepool.hub.jobs.terms import Terms
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import spendable
from computepool.hub.ledger.journal import post

NOW = datetime(2026, 1, 31, 12, tzinfo=UTC)
ANN, BOB, HOST = "user_ann", "user_bob", "user_host"
HOUR = 3600
CREDIT = 1_000_000
PRICE = 100
"""For an hour, which is as long as each may run."""


@pytest.fixture
def session(sqlite_hub: str) -> Iterator[Session]:
    engine = durable_engine(sqlite_hub)
    with Session(engine) as session, session.begin():
        session.add_all(Owner(id=one, kind="user", created_at=NOW) for one in (ANN, BOB, HOST))
        session.flush()
        yield session
    engine.dispose()


def give(session: Session, owner_id: str, **pockets: int) -> None:
    for kind, micros in pockets.items():
        posting = Posting(platform(Platform.CLEARING), account(owner_id, Kind(kind)), micros)
        post(session, Entry(f"give/{owner_id}/{kind}", "test", (posting,)), NOW)


def lease(name: str, owner_id: str = ANN, **more: Any) -> Any:
    """Of what a lease is, that which is asked for here."""
    terms: dict[str, Any] = {"slice_micros": None, "job_micros": None} | {
        key: more.pop(key) for key in ("slice_micros", "job_micros") if key in more
    }
    job_id = more.pop("job_id", f"job_{name}")
    about = {"slice_index": 0, "number": 1, "previous_fence": 7, "price_micros": PRICE, "root": job_id}
    return SimpleNamespace(
        attempt_id=f"attempt_{name}",
        job_id=job_id,
        owner_id=owner_id,
        terms=Terms(HOST, 2000, False, HOUR, **terms),
        **(about | more),
    )


def ask(funds: Funds, *leases: Any) -> list[Unfunded | None]:
    funds.look(leases)
    return [funds.refuse(one) for one in leases]


def test_credits_are_counted_down_lease_by_lease_and_by_owner(session: Session) -> None:
    give(session, ANN, promotional=50, available=60, earnings=140)
    give(session, BOB, available=99)
    funds = Funds(session)
    first, second, third, bobs = ask(funds, lease("1"), lease("2"), lease("3"), lease("4", BOB))
    assert (first, second) == (None, None)
    assert third is not None
    assert (third.want, third.needed_micros, third.had_micros) == (Want.CREDITS, 100, 250)
    assert (third.attempt_id, third.job_id, third.slice_index, third.fence) == ("attempt_3", "job_3", 0, 7)
    assert bobs is not None
    assert (bobs.want, bobs.had_micros, bobs.owner_id) == (Want.CREDITS, 99, BOB)
    funds.hold([lease("1"), lease("2"), lease("3"), lease("4", BOB)], NOW)
    left = spendable(session, ANN)
    assert (left.promotional, left.available, left.earnings) == (0, 0, 50), "in the order in which they are spent"
    assert (used_by_job(session, "job_1").micros, used_by_job(session, "job_1").open_holds) == (100, 1)
    assert (used_by_job(session, "job_3").micros, used_by_job(session, "job_3").open_holds) == (0, 0)


def test_budget_of_a_job_counts_what_is_leased_beside_it(session: Session) -> None:
    """Whoever finds it set aside waits for what the others do not use; alone, it would never be enough."""
    give(session, ANN, available=1000)
    funds = Funds(session)
    job: dict[str, Any] = {"job_id": "job_1", "job_micros": 201}
    first, second, third = ask(funds, *(lease(str(n), slice_index=n, **job) for n in range(3)))
    assert (first, second) == (None, None)
    assert third is not None
    assert (third.want, third.needed_micros, third.had_micros, third.root) == (Want.ROOM_IN_BUDGET, 5, 1, "job_1")
    funds.hold([lease(str(n), slice_index=n, **job) for n in range(3)], NOW)
    assert (used_by_job(session, "job_1").micros, used_by_job(session, "job_1").open_holds) == (200, 2)
    assert (used_by_slice(session, "job_1", 1).micros, used_by_slice(session, "job_1", 2).micros) == (100, 0)
    (later,) = ask(Funds(session), lease("9", slice_index=2, **job))
    assert later is not None
    assert later.want is Want.ROOM_IN_BUDGET, "as the database knows it too"
    (alone,) = ask(Funds(session), lease("8", job_id="job_2", job_micros=0))
    assert alone is not None
    assert (alone.want, alone.had_micros) == (Want.BUDGET, 0)


def test_budget_that_is_too_small_to_begin_is_told_apart_from_one_that_is_spent(session: Session) -> None:
    give(session, ANN, available=1000 * CREDIT)
    price: dict[str, Any] = {"price_micros": 600 * CREDIT}  # ten a minute, and three minutes are set aside at the least
    (small,) = ask(Funds(session), lease("1", job_id="job_1", job_micros=25 * CREDIT, **price))
    assert small is not None
    assert small.words == (
        "The budget of 25 is too small to start: a slice needs a hold of 30, at 600 an hour."
        " Raise `budget`, or set `max_runtime` to 2m30s or less."
    )
    (nothing,) = ask(Funds(session), lease("2", job_id="job_2", job_micros=1, **price))
    assert nothing is not None
    assert nothing.words.endswith("at 600 an hour. Raise `budget`.")
    first = lease("3", job_id="job_3", job_micros=625 * CREDIT, **price)
    funds = Funds(session)
    assert ask(funds, first) == [None]
    funds.hold([first], NOW)
    (spent,) = ask(Funds(session), lease("4", job_id="job_3", slice_index=1, job_micros=625 * CREDIT, **price))
    assert spent is not None
    assert spent.words.startswith("The job ran out of budget: 25 of 625 are left, but a slice needs a hold of 30 ")


def test_budget_of_a_slice_counts_its_earlier_attempts_only_if_there_were_any(session: Session) -> None:
    give(session, ANN, available=1000)
    funds = Funds(session)
    one: dict[str, Any] = {"job_id": "job_1", "slice_micros": 100}
    assert ask(funds, lease("1", **one), lease("2", slice_index=1, **one)) == [None, None]
    funds.hold([lease("1", **one), lease("2", slice_index=1, **one)], NOW)
    (again,) = ask(Funds(session), lease("3", number=2, **one))
    assert again is not None
    assert (again.want, again.had_micros) == (Want.BUDGET, 0), "its slice's own, whoever else of the job runs"
    assert again.words.startswith("The slice ran out of budget: earlier attempts left 0 of what it may cost, but ")
    assert again.words.endswith("Raise `max_price` or `max_runtime`.")
    (other,) = ask(Funds(session), lease("4", job_id="job_2", number=2, slice_micros=100))
    assert other is None


def test_what_the_platform_runs_and_what_costs_nothing_is_not_looked_at(session: Session) -> None:
    funds = Funds(session)
    free = lease("1")
    free.terms = None
    assert ask(funds, free, lease("2", PLATFORM)) == [None, None]
    funds.hold([free, lease("2", PLATFORM)], NOW)
    assert used_by_job(session, "job_2").open_holds == 0
