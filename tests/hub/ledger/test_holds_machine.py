"""Promise 5: a hold resolves exactly once, whoever comes first: end, cancel, loss, return, instalment, in any order.
Promise 6: nobody's spendable balance is ever below zero."""

import contextlib
import shutil
import tempfile
import threading
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from sqlalchemy.orm import Session
from support.money import give_credits
from support.proofs import figure
from support.truth import CANCELED, FAILED, LOST, OK, TERMS, Held, Truth

from computepool.hub.core.db import durable_engine
from computepool.hub.core.owners import Owner
from computepool.hub.jobs import instalments
from computepool.hub.jobs.errors import StaleLease
from computepool.hub.jobs.invariants import INVARIANTS
from computepool.hub.jobs.policy import Ending
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.check import check
from computepool.hub.ledger.holds import open_hold
from computepool.hub.ledger.journal import NotEnough, balances
from computepool.protocol.receipt import Usage
from computepool.protocol.states import AttemptState, Verdict

PRICE = 36_000_000
ENDS = (
    OK,
    FAILED,
    CANCELED,
    LOST,
    Ending(Verdict.OWNER, "taken_back_by_owner", lost=True),
    Ending(Verdict.HUB, "hub_downtime", lost=True, is_hubs_fault=True),
    Ending(Verdict.HOST, "sandbox"),
)


def machine(truth: Truth) -> type[RuleBasedStateMachine]:
    class Holds(RuleBasedStateMachine):
        def __init__(self) -> None:
            super().__init__()
            truth.begin_anew()
            self.given = 60
            truth.give(60)
            self.held: list[Held] = []

        @rule(credits=st.integers(1, 40), promotional=st.booleans())
        def give(self, credits: int, promotional: bool) -> None:
            truth.give(credits, kind=Kind.PROMOTIONAL if promotional else Kind.AVAILABLE)
            self.given += credits

        @rule(long=st.booleans(), budget=st.sampled_from((None, 20_000_000, 200_000_000)))
        def lease(self, long: bool, budget: int | None) -> None:
            terms = replace(TERMS, max_seconds=20_000 if long else 1_000, slice_micros=budget)
            job_id = truth.add_job(retries=5)
            held = truth.try_to_lease(job_id, node_id="node_dear", price_micros=PRICE, terms=terms)
            if held is not None:
                self.held.append(held)

        @precondition(lambda self: self.held)
        @rule(which=st.integers(0, 9), state=st.sampled_from(("preparing", "running", "suspended", "finishing")))
        def report(self, which: int, state: str) -> None:
            with contextlib.suppress(StaleLease):
                truth.report(self.held[which % len(self.held)], AttemptState(state))

        @precondition(lambda self: self.held)
        @rule(which=st.integers(0, 9), how=st.sampled_from(ENDS), claimed=st.integers(0, 30_000), told=st.booleans())
        def end(self, which: int, how: Ending, claimed: int, told: bool) -> None:
            facts = {"usage": Usage(running_seconds=claimed)} if told and not how.lost else None
            truth.end(self.held[which % len(self.held)], how, facts=facts)

        @precondition(lambda self: self.held)
        @rule(which=st.integers(0, 9))
        def take_back(self, which: int) -> None:
            truth.take_back(self.held[which % len(self.held)])

        @precondition(lambda self: self.held)
        @rule(which=st.integers(0, 9))
        def cancel(self, which: int) -> None:
            truth.cancel(self.held[which % len(self.held)].job_id)

        @precondition(lambda self: self.held)
        @rule(which=st.integers(0, 9))
        def instalment(self, which: int) -> None:
            truth.run(instalments.settle_next, self.held[which % len(self.held)].id, truth.now)

        @rule(seconds=st.sampled_from((1, 100, 3600, 10_000)))
        def wait(self, seconds: int) -> None:
            truth.move(seconds=seconds)

        @invariant()
        def all_adds_up(self) -> None:
            with Session(truth.engine) as session:
                report = check(session, INVARIANTS)
                assert report.balanced, report.problems
                has = balances(session, truth.renter)
            assert min(has.values()) >= 0
            assert sum(has.values()) <= self.given * 1_000_000

    return Holds


@pytest.fixture(params=["sqlite", "postgresql"])
def truth(request, migrated_file):
    if request.param == "sqlite":
        folder = tempfile.mkdtemp(dir="/dev/shm" if Path("/dev/shm").is_dir() else None)
        shutil.copy(migrated_file, Path(folder, "hub.db"))
        made = Truth(f"sqlite:///{folder}/hub.db")
        yield made
        made.close()
        shutil.rmtree(folder)
    else:
        made = Truth(request.getfixturevalue("postgres_hub"))
        yield made
        made.close()


@pytest.mark.slow
@pytest.mark.proof
def test_hold_resolves_once_whatever_happens_in_whichever_order(truth):
    examples = figure(8, 300)
    chosen = settings(
        max_examples=examples,
        stateful_step_count=25,
        deadline=None,
        derandomize=True,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    run_state_machine_as_test(machine(truth), settings=chosen)


@pytest.mark.proof
def test_64_clients_at_once_never_overspend(postgres_hub):
    """Each wants a hold of ten credits; there are a hundred and five."""
    engine = durable_engine(postgres_hub)
    truth = Truth(postgres_hub)
    now, rounds = truth.now, figure(2, 50)
    for number in range(rounds):
        owner = f"user_crowd_{number}"
        with Session(engine) as session, session.begin():
            session.add(Owner(id=owner, kind="user", created_at=now))
            session.flush()
            give_credits(session, owner, now, 55, kind=Kind.PROMOTIONAL)
            give_credits(session, owner, now, 50)
        granted = list[str]()
        start = threading.Barrier(64)

        def hold(
            index: int, owner: str = owner, granted: list[str] = granted, start: threading.Barrier = start
        ) -> None:
            start.wait()
            attempt_id = f"attempt_{owner}_{index}"
            for _ in range(100):
                try:
                    with Session(engine) as session, session.begin():
                        open_hold(session, owner, "job_x", index, attempt_id, 1, 10_000_000, 1, 1, now)
                except NotEnough:
                    return
                except Exception as error:  # the pool of connections is smaller than the crowd
                    if "40P01" in str(error) or "QueuePool" in str(error):
                        continue
                    raise
                granted.append(attempt_id)
                return

        threads = [threading.Thread(target=hold, args=(index,)) for index in range(64)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        with Session(engine) as session:
            has = balances(session, owner)
            assert check(session).balanced
        assert len(granted) == 10
        assert (has[Kind.HELD], has[Kind.AVAILABLE], has[Kind.PROMOTIONAL]) == (100_000_000, 5_000_000, 0)
    truth.close()
    engine.dispose()
