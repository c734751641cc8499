"""Two transactions at the same moment, on a PostgreSQL that really lets them run side by side."""

import itertools
import random
import threading
from collections.abc import Callable

import pytest
from sqlalchemy.exc import OperationalError
from sqlalchemy.orm import Session
from support.engine import ALICE
from support.side_by_side import wait_until_blocked_or_done
from support.truth import FAILED, LOST, OK, Held, Truth

from computepool.hub.core.records import write_records
from computepool.hub.jobs import ending, service
from computepool.hub.jobs.ending import Applied
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.service import Lease, Outcome
from computepool.hub.jobs.tables import Job, Slice
from computepool.protocol.states import AttemptState, JobState

Act = Callable[[Session, Truth, Held], object]


def end(how):
    return lambda session, truth, held: ending.end_attempt(session, held.id, held.fence, held.node_id, how, truth.now)


def cancel(session, truth, held):
    return ending.cancel(session, session.get_one(Job, held.job_id), truth.now, actor=ALICE)


def report(session, truth, held):
    service.report(session, held.id, held.fence, held.node_id, AttemptState.RUNNING, None, truth.now)


def take_back(session, truth, held):
    return ending.take_back(session, held.id, held.fence, held.node_id, AttemptState.RUNNING, truth.now)


def lease(session, truth, held):
    """To another node, if the slice waits."""
    part = session.get_one(Slice, (held.job_id, 0))
    one = Lease(
        attempt_id=f"attempt_{random.getrandbits(80):026}",
        job_id=held.job_id,
        slice_index=0,
        number=part.attempts + 1,
        fence=held.fence + 1,
        previous_fence=held.fence,
        node_id="node_2",
        node_name="two",
        own=True,
        manifest="{}",
        owner_id=ALICE,
    )
    return service.lease(session, [one], truth.now)


ACTS: dict[str, Act] = {
    "finish": end(OK),
    "fail": end(FAILED),
    "lose": end(LOST),
    "cancel": cancel,
    "report": report,
    "take_back": take_back,
    "lease": lease,
}


@pytest.fixture
def race(postgres_hub):
    truth = Truth(postgres_hub)
    truth.add_node("node_2")
    yield truth
    truth.close()


def transact(truth, act, held, *, before_commit=lambda: None):
    """As the database layer does it, with its repetition of what collided."""
    while True:
        try:
            with Session(truth.engine) as session, session.begin():
                result = act(session, truth, held)
                write_records(session)
                before_commit()
            return result
        except StaleLease:
            return StaleLease
        except OperationalError as error:
            if getattr(error.orig, "sqlstate", None) not in ("40001", "40P01"):
                raise


def check_all(truth, held, story):
    truth.check()
    job = truth.job(held.job_id)
    if job.cancel_requested_at is not None:
        assert truth.slice(held.job_id).state != JobState.QUEUED, f"{story}: a slice of a canceled job waits"


@pytest.mark.parametrize("lost_before", [False, True], ids=["running", "lost"])
def test_second_transaction_that_waits_for_the_first_decides_on_what_is_true_then(race, lost_before):
    """Each pair: the first has written and not committed, the second comes, the first commits."""
    for first, second in itertools.product(ACTS, ACTS):
        held = race.lease(race.add_job(retries=1))
        if lost_before:
            race.end(held, LOST)
        results: dict[str, object] = {}

        def follow(second=second, held=held, results=results):
            results["second"] = transact(race, ACTS[second], held)

        thread = threading.Thread(target=follow)

        def start_second(thread=thread):
            thread.start()
            wait_until_blocked_or_done(race.engine, lambda: not thread.is_alive())

        results["first"] = transact(race, ACTS[first], held, before_commit=start_second)
        if thread.ident is None:
            continue  # the first was refused: there is nothing to wait for
        thread.join()
        check_all(race, held, f"{first}, then {second}")
        if {first, second} == {"finish", "lose"}:
            assert _applied(results, first, second)["finish"] is Applied.APPLIED, "a completion was not taken"
            assert race.states(held) == ("succeeded", "succeeded", "succeeded")


def test_transactions_at_the_same_moment_leave_no_half_truth(race):
    rng = random.Random(5)
    for _ in range(25):
        held = race.lease(race.add_job(retries=1))
        names = rng.sample(sorted(ACTS), 3)
        barrier = threading.Barrier(len(names))

        def act(name, held=held, barrier=barrier):
            barrier.wait()
            transact(race, ACTS[name], held)

        threads = [threading.Thread(target=act, args=(name,)) for name in names]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        check_all(race, held, names)


def test_slice_is_leased_to_one_of_many(race):
    for _ in range(5):
        held = race.lease(race.add_job())
        race.end(held, LOST)
        granted: list[Outcome] = []

        def take(held=held, granted=granted):
            granted.append(transact(race, lease, held))

        threads = [threading.Thread(target=take) for _ in range(6)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sum(len(one.granted) for one in granted) == 1
        race.check()


def test_last_slices_that_end_together_end_the_job_once(race):
    for _ in range(5):
        job_id = race.add_job(slices=4)
        helds = [race.lease(job_id, index) for index in range(4)]
        finals: list[bool] = []

        def finish(held, finals=finals):
            ended = transact(race, end(OK), held)
            finals.append(ended.job_final)

        threads = [threading.Thread(target=finish, args=(held,)) for held in helds]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(finals) == [False, False, False, True]
        assert race.job(job_id).state == "succeeded"
    race.check()


def _applied(results, first, second):
    return {
        first: getattr(results["first"], "applied", results["first"]),
        second: getattr(results["second"], "applied", results["second"]),
    }
