"""Several findings that take the same back: it moves once, stays as long as one of them lasts, and a proof that comes
after a contest was upheld takes it again. Bugs put in on purpose are found.
"""

import asyncio
import random
from collections.abc import Iterator
from datetime import timedelta

import pytest
from sqlalchemy import Integer, literal, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session
from support.money_lives import as_user
from support.planted import each_check, each_mutant
from support.rented import CREDIT, Rented, rented
from support.truth import Held

from computepool.hub.core.tables import AuditRow
from computepool.hub.disputes import service
from computepool.hub.disputes.tables import Outcome
from computepool.hub.disputes.unspending import forget_spending
from computepool.hub.jobs.spending import Spending
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.accounts import Kind, Platform, platform
from computepool.hub.ledger.entries import Entry
from computepool.hub.ledger.journal import KeyTaken, balance, postings_of
from computepool.hub.ledger.tables import EntryRow
from computepool.hub.nodes.tables import Node
from computepool.hub.payments import moving
from computepool.hub.reputation import contests
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.trust import consequences, repository, restitution
from computepool.hub.trust.consequences import DIGEST_MISMATCH, WRONG_RESULT, Means
from computepool.hub.trust.tables import Check, Clawback
from computepool.hub.wallet.explain_store import explain_job

ALICE, BOB, CAROL = "user_ann", "user_ben", "user_cat"


@pytest.fixture
def pool(hub_url: str) -> Iterator[Rented]:
    with rented(hub_url, ALICE, BOB, CAROL) as made:
        yield made


def paid_work(pool: Rented, *, spends: float = 0) -> Held:
    """Alice pays a hundred; Bob gets eighty, and spends so much of it."""
    pool.pay_in(ALICE, 100, f"{pool.now}")
    held = pool.work(ALICE, BOB, 100)
    if spends:
        pool.work(BOB, CAROL, spends)
    return held


def states(pool: Rented, held: Held) -> list[str]:
    query = select(Clawback.state).where(Clawback.attempt_id == held.id).order_by(Clawback.check_id)
    return list(pool.run(lambda session: session.scalars(query).all()))


def subsidy(pool: Rented) -> float:
    return pool.run(balance, platform(Platform.SUBSIDY)) / CREDIT


def spent_by_alice(pool: Rented) -> float:
    query = select(Spending.micros).where(Spending.owner_id == ALICE)
    return sum(pool.run(lambda session: session.scalars(query).all())) / CREDIT


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def later_proof_takes_it_again(pool: Rented) -> None:
    before = subsidy(pool)
    held = paid_work(pool)
    for number in range(1, 4):
        pool.find_guilty(held, BOB)
        assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 100}, {})
        assert subsidy(pool) == before, "what the platform had paid for its mistake comes back to it"
        assert pool.attempt(held).earned_micros == 0
        assert pool.overturn(held)
        assert not pool.overturn(held), "once"
        assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 100}, {"earnings": 80})
        assert subsidy(pool) == before - 80, "the renter keeps it, and the platform pays"
        assert states(pool, held) == ["overturned"] * number


def what_another_finding_takes_stays_taken(pool: Rented) -> None:
    held = paid_work(pool)
    first = pool.find_guilty(held, BOB)
    second = pool.find_guilty(held, BOB, again=True)
    third = pool.find_guilty(held, BOB, again=True)
    assert states(pool, held) == ["done", "beside", "beside"]
    assert pool.overturn(held, third)
    assert pool.overturn(held, first)
    assert states(pool, held) == ["overturned", "done", "overturned"]
    assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 100}, {})
    assert pool.overturn(held, second), "now nothing speaks against Bob any more"
    assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 100}, {"earnings": 80})


def every_earning_is_listed_with_what_is_taken_already(pool: Rented) -> None:
    """Else a second finding would not be remembered for what the first took."""
    held, other = paid_work(pool), paid_work(pool)
    pool.find_guilty(held, BOB)
    listed = pool.run(repository.list_earnings, held.node_id, pool.now, other.id)
    found = {one.attempt_id: (one.micros, one.taken) for one, _ in listed}
    assert found == {held.id: (1, True), other.id: (100 * CREDIT, False)}


def accused_comes_first_and_then_the_newest(pool: Rented) -> None:
    works = [paid_work(pool) for _ in range(4)]
    pool.change_attempt(works[3], finished_at=pool.attempt(works[2]).finished_at)  # ids decide

    def listed(limit: int) -> list[str]:
        found = pool.run(repository.list_earnings, works[0].node_id, pool.now, works[1].id, limit)
        return [one.attempt_id for one, _ in found]

    ids = [one.id for one in works]
    assert listed(9) == [ids[1], ids[3], ids[2], ids[0]]
    assert listed(2) == [ids[1], ids[3]]


def limits_count_what_came_back_once(pool: Rented) -> None:
    """An answer that was outvoted is disputed before it is clawed back; then that is overturned."""
    held = paid_work(pool, spends=80)
    pool.change_attempt(held, reason=DIGEST_MISMATCH)
    assert spent_by_alice(pool) == 100

    def dispute(session: Session) -> None:
        job, name = session.get_one(Job, held.job_id), f"dispute_{held.job_id}"
        service.open_dispute(session, name, job, "wrong", timedelta(days=7), ALICE, pool.now)
        service.resolve(session, name, Outcome.PARTIAL, 50 * CREDIT, "x", "user_admin", pool.now)
        forget_spending(session, name, [held.job_id])

    pool.run(dispute)
    assert spent_by_alice(pool) == pool.attempt(held).cost_micros / CREDIT == 50
    pool.find_guilty(held, BOB)
    assert spent_by_alice(pool) == pool.attempt(held).cost_micros / CREDIT == 0
    assert pool.owed_to(ALICE) == 40
    assert pool.overturn(held)
    assert spent_by_alice(pool) == pool.attempt(held).cost_micros / CREDIT == 40, "what is not owed to her any more"
    pool.find_guilty(held, BOB)
    assert spent_by_alice(pool) == pool.attempt(held).cost_micros / CREDIT == 0


def what_was_not_taken_is_not_given_again(pool: Rented) -> None:
    """The second time there is nothing left to take: Bob has spent the present."""
    pool.pay_in(ALICE, 100, "present", Kind.PROMOTIONAL)
    held = pool.work(ALICE, BOB, 100)
    pool.find_guilty(held, BOB)
    assert pool.overturn(held)
    pool.work(BOB, CAROL, 80)
    pool.find_guilty(held, BOB)
    assert pool.overturn(held)
    assert pool.credits(BOB) == {}


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def every_finding_has_the_same_entry(plant):
    plant.setattr(restitution, "Entry", lambda key, *rest, **more: Entry("/".join(key.split("/")[:2]), *rest, **more))


def others_are_not_looked_at(plant):
    real = restitution._lock
    plant.setattr(restitution, "_lock", lambda session, attempt_id, *states: real(session, attempt_id, states[0]))


def what_is_taken_is_not_listed(plant):
    plant.setattr(repository, "_TAKEN", literal(None, Integer))


def what_is_owed_no_more_is_not_counted(plant):
    real = restitution._count_spending
    plant.setattr(restitution, "_count_spending", lambda *args: real(*args) if args[-1] < 0 else None)


def the_first_is_given_again(plant):
    def first(session, attempt_id):
        taken = select(EntryRow.id).where(EntryRow.attempt_id == attempt_id, EntryRow.kind == restitution.TAKEN)
        return postings_of(session, session.scalar(taken.order_by(EntryRow.id).limit(1)))

    plant.setattr(restitution, "_last_taken", first)


MUTANTS = {
    later_proof_takes_it_again: [every_finding_has_the_same_entry],
    what_another_finding_takes_stays_taken: [others_are_not_looked_at],
    every_earning_is_listed_with_what_is_taken_already: [what_is_taken_is_not_listed],
    accused_comes_first_and_then_the_newest: [],
    limits_count_what_came_back_once: [what_is_owed_no_more_is_not_counted],
    what_was_not_taken_is_not_given_again: [the_first_is_given_again],
}


@each_check(MUTANTS)
def test_findings(pool, check):
    check(pool)


@each_mutant(MUTANTS)
def test_the_check_finds_the_bug(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, IntegrityError, KeyTaken)), rented(sqlite_hub, ALICE, BOB, CAROL) as pool:
        check(pool)


# ── from a proof to the ledger ───────────────────────────────────────────────────────────────────────────────────────


def convict(pool: Rented, held: Held) -> str:
    """Others have computed its result again. The check."""
    means = Means(lambda kind: f"{kind}_x", random.Random(1).getrandbits, timedelta(days=30), ban_from=9)
    about = {"job_id": held.job_id, "slice_index": 0, "spec_digest": "x", "asked": 2, "state": "guilty"}
    accused = {"attempt_id": held.id, "node_id": held.node_id, "owner_id": BOB}
    check_id = f"check_{held.id[-20:]}"

    def find(session: Session) -> None:
        check = Check(id=check_id, subject=held.id, kind="audit", created_at=pool.now, **about, **accused)
        session.add(check)
        session.flush()
        consequences.convict(session, check, held.node_id, held.id, WRONG_RESULT, pool.now, means)

    pool.run(find)
    sweep(pool)
    return check_id


def sweep(pool: Rented) -> None:
    async def all_of_it() -> None:
        async for _ in restitution.make_good(pool.context()):
            pass

    asyncio.run(all_of_it())


def uphold(pool: Rented, held: Held) -> None:
    """The contest of what was found of this attempt."""

    def resolve(session: Session) -> None:
        event = session.scalars(select(ReputationEvent).filter_by(attempt_id=held.id, reason="failed_audit")).one()
        node = session.get_one(Node, held.node_id)
        contests.contest(session, node, event.id, "it was right", BOB, pool.now)
        contests.resolve(session, event.id, contests.Resolution.UPHELD, "so it was", "user_admin", pool.now)

    pool.run(resolve)
    sweep(pool)


def test_machine_that_is_proven_wrong_twice_has_its_earnings_again_when_both_are_overturned(pool):
    first, second = paid_work(pool), paid_work(pool)
    checks = [convict(pool, one) for one in (first, second)]
    proven = select(AuditRow).where(AuditRow.action == "node.proven_wrong").order_by(AuditRow.id)
    told = [row.details["given_back_micros"] for row in pool.run(lambda session: session.scalars(proven).all())]
    assert told == [200 * CREDIT, 0], "the second time it was gone already"
    assert [(states(pool, one), pool.credits(BOB)) for one in (first, second)] == [(["done", "beside"], {})] * 2
    uphold(pool, first)
    assert [(states(pool, one), pool.credits(BOB)) for one in (first, second)] == [(["overturned", "done"], {})] * 2
    third = paid_work(pool)
    uphold(pool, second)
    assert pool.credits(BOB) == {"earnings": 3 * 80}
    assert pool.credits(ALICE) == {"available": 200}
    checks.append(convict(pool, third))
    lasting = select(Clawback.check_id).where(Clawback.state == "done").distinct()
    assert pool.run(lambda session: session.scalars(lasting).all()) == [checks[2]]
    assert pool.credits(BOB) == {}, "a proof that comes later takes all of it"
    assert pool.credits(ALICE) == {"available": 300}


# ── what is told ─────────────────────────────────────────────────────────────────────────────────────────────────────


def test_explain_names_the_check_of_each_entry_and_lists_an_attempt_once(pool):
    held = paid_work(pool)
    first = pool.find_guilty(held, BOB)
    pool.overturn(held)
    pool.days(1)
    second = pool.find_guilty(held, BOB)
    (one,) = pool.run(explain_job, as_user(BOB), held.job_id, "host", 0, 10).attempts
    assert [(each.kind, each.check_id) for each in one.payments if each.check_id] == [
        ("clawback", first),
        ("clawback_overturned", first),
        ("clawback", second),
    ]
    assert one.earned_micros == 0


def test_owed_twice_is_paid_once_by_the_host(pool):
    """Bob has spent it, is believed, and proven wrong again: what was owed to Alice is owed to her again."""
    held = paid_work(pool, spends=80)
    pool.find_guilty(held, BOB)
    pool.run(moving.credit, "top-up", "top_up", BOB, 30 * CREDIT, pool.now)
    assert pool.pay_claims() == 30 * CREDIT
    pool.overturn(held)
    assert (pool.owed_to(ALICE), pool.credits(ALICE), pool.credits(BOB)) == (0, {"available": 50}, {"earnings": 30})
    pool.find_guilty(held, BOB)
    assert (pool.owed_to(ALICE), pool.credits(ALICE)) == (20, {"available": 80})
    assert pool.credits(BOB) == {"debt": -50}, "and the platform waits for the 30 that it had paid"
    pool.run(moving.credit, "more", "top_up", BOB, 50 * CREDIT, pool.now)
    assert pool.pay_claims() == 20 * CREDIT
    assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 100}, {})
