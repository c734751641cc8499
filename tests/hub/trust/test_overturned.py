"""A finding that does not last: what its host gave back comes again, and nothing else does."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest
from sqlalchemy import select, text
from sqlalchemy.orm import Session
from support.rented import CREDIT, Rented, rented
from support.truth import LOST

from computepool.hub.disputes.refunding import list_paid
from computepool.hub.jobs import ending
from computepool.hub.reputation import service as reputation
from computepool.hub.reputation.tables import ReputationEvent
from computepool.hub.trust import restitution
from computepool.hub.trust.tables import Check, CheckResult, Clawback
from computepool.protocol.states import AttemptState

WAITING = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
ALICE, BOB, CAROL, DAVE = "user_ann", "user_bob", "user_carol", "user_dave"


@pytest.fixture
def pool(hub_url: str) -> Iterator[Rented]:
    with rented(hub_url, ALICE, BOB, CAROL, DAVE) as made:
        yield made


def test_renter_can_dispute_what_is_paid_again_after_it(pool):
    pool.pay_in(ALICE, 100, "much")
    held = pool.work(ALICE, BOB, 100)
    pool.work(BOB, CAROL, 40)
    pool.find_guilty(held, BOB)
    assert pool.owed_to(ALICE) == 40
    assert pool.overturn(held)
    (paid,) = pool.run(list_paid, [held.job_id])
    assert paid.cost.total == pool.attempt(held).cost_micros == 40 * CREDIT


def test_one_of_two_who_were_outvoted_together_is_cleared_alone(pool):
    pool.pay_in(ALICE, 100, "much")
    both = {BOB: pool.work(ALICE, BOB, 50), CAROL: pool.work(ALICE, CAROL, 50)}

    def outvote(session: Session) -> None:
        job_id, at = both[BOB].job_id, pool.now
        about = {"job_id": job_id, "slice_index": 0, "spec_digest": "x", "asked": 5, "state": "valid"}
        session.add(Check(id="check_1", subject=f"{job_id}/0", kind="replicas", created_at=at, **about))
        session.flush()
        for host, one in both.items():
            people = {"node_id": one.node_id, "job_id": one.job_id}
            said = {"digest": f"of {host}", "exit_code": 0, "may_judge": False, "gpu_class": None, "at": at}
            session.add(CheckResult(check_id="check_1", attempt_id=one.id, owner_id=host, **said, **people))
            back = {"attempt_id": one.id, "check_id": "check_1", "micros": 1, "state": restitution.PENDING}
            session.add(Clawback(**back, created_at=at, node_id=one.node_id, host_id=host, renter_id=ALICE))
            reputation.count_audit(session, one.node_id, one.id, at, right=False)

    def uphold(session: Session) -> None:
        query = select(ReputationEvent).filter_by(attempt_id=both[BOB].id, reason="failed_audit")
        event = session.scalars(query).one()
        event.contested_at, event.resolution = pool.now, "upheld"

    pool.run(outvote)
    for one in both.values():
        pool.run(restitution.carry_out, one.id, pool.now)
    assert pool.run(restitution.list_overturned) == []
    pool.run(uphold)
    assert pool.run(restitution.list_overturned) == [(both[BOB].id, "check_1")]


def test_attempt_that_comes_back_at_that_moment_is_left_for_later(postgres_hub):
    """It was lost, and its node brings it back while its clawback waits for the renter's accounts. What is held for it
    then is nothing that its host was paid."""
    pool = Rented(postgres_hub)
    pool.know(ALICE, BOB)
    pool.pay_in(ALICE, 400, "much")
    held = pool.begin_long(ALICE, BOB, 100)
    assert pool.an_hour_later(held)
    pool.end(held, LOST)

    def accuse(session: Session) -> None:
        about = {"job_id": held.job_id, "slice_index": 0, "spec_digest": "x", "asked": 2, "created_at": pool.now}
        session.add(Check(id="check_1", subject=held.id, kind="audit", state="guilty", **about))
        session.flush()
        people = {"node_id": held.node_id, "host_id": BOB, "renter_id": ALICE, "created_at": pool.now}
        session.add(Clawback(attempt_id=held.id, check_id="check_1", micros=1, state=restitution.PENDING, **people))

    pool.run(accuse)
    with Session(pool.engine) as back, ThreadPoolExecutor(1) as thread:
        assert ending.take_back(back, held.id, held.fence, held.node_id, AttemptState.RUNNING, pool.now) is not None
        done = thread.submit(pool.run, restitution.carry_out, held.id, pool.now)
        while not pool.run(lambda session: session.scalar(WAITING)):
            assert not done.done()
        back.commit()
        assert done.result() is None
    assert pool.credits(BOB).get("debt", 0) == 0
    assert sum(pool.credits(ALICE).values()) == 400
    pool.all_adds_up()
    pool.close()
