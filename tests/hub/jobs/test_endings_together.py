"""Attempts that end in one transaction end as they would have one after the other."""

import itertools
import random
import shutil
import threading
from contextlib import ExitStack
from dataclasses import replace
from functools import partial

import pytest
from sqlalchemy import func, select
from sqlalchemy.orm import Session
from support.engine import prepare_database
from support.truth import CANCELED, FAILED, LOST, OK, TERMS, Truth

from computepool.hub.core.driver import Driver
from computepool.hub.core.records import write_records
from computepool.hub.core.tables import AuditRow, Base, OutboxRow
from computepool.hub.jobs import ending, instalments, service
from computepool.hub.jobs.deciding import End
from computepool.hub.jobs.ending import Applied
from computepool.hub.jobs.policy import Ending
from computepool.hub.jobs.spending import Spending
from computepool.hub.jobs.tables import Attempt, Job, Slice
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.journal import post
from computepool.hub.ledger.tables import BalanceRow, EntryRow, PostingRow
from computepool.hub.reputation.reliability import HALF_LIFE
from computepool.hub.reputation.tables import Reputation
from computepool.protocol.receipt import Usage
from computepool.protocol.states import AttemptState, Verdict

CREDIT = 1_000_000
PRICE = 36 * CREDIT
OWNER = Ending(Verdict.OWNER, "taken_back_by_owner", lost=True)
HUB = Ending(Verdict.HUB, "hub_downtime", lost=True, is_hubs_fault=True)
WAYS = (OK, OK, OK, FAILED, CANCELED, LOST, OWNER, HUB)
COMPARED = (Attempt, Slice, Job, HoldRow, Spending, Reputation, AuditRow, OutboxRow)
COUNTED = {"id", "entry_id", "shard"}
"""What a database numbers by itself, and where it puts what is summed."""


@pytest.fixture(params=["sqlite", "postgresql"])
def twins(request, tmp_path):
    """Two pools that know nothing yet."""
    with ExitStack() as stack:
        if request.param == "sqlite":
            template = request.getfixturevalue("migrated_file")
            urls = [f"sqlite:///{shutil.copy(template, tmp_path / name)}" for name in ("one.db", "two.db")]
        else:
            server = request.getfixturevalue("postgres_server")
            first = request.getfixturevalue("postgres_hub")
            urls = [first, stack.enter_context(server.database(server.template("hub", prepare_database)))]
        truths = [Truth(url) for url in urls]
        for truth in truths:
            stack.callback(truth.close)
        yield truths


def live(truth, seed):
    """Renters and hosts, of whom some owe something, and attempts that ran for a while: what is said of their ends."""
    rng = random.Random(seed)
    helds = []
    for _ in range(rng.randint(1, 3)):
        truth.begin_anew()
        truth.give(rng.choice([50, 500]))
        if rng.random() < 0.5:
            truth.give(rng.choice([3, 20]), kind=Kind.PROMOTIONAL)
        if rng.random() < 0.6:
            truth.run(owe, truth.host, rng.randint(1, 3 * CREDIT), truth.now)
        for _ in range(rng.randint(1, 3)):
            slices = rng.randint(1, 3)
            job_id = truth.add_job(slices=slices, retries=rng.randint(0, 1))
            for index in range(slices):
                price = rng.choice([0, PRICE, PRICE + 1])
                terms = replace(TERMS, max_seconds=rng.choice([3600, 90_000]), refund_failed=rng.random() < 0.2)
                held = truth.try_to_lease(job_id, index, f"node_{rng.randint(1, 2)}", price_micros=price, terms=terms)
                if held is not None:
                    truth.report(held, AttemptState.RUNNING)
                    helds.append(held)
    if rng.random() < 0.5:
        truth.move(seconds=3700)
        for held in helds:
            truth.run(instalments.settle_next, held.id, truth.now)
    truth.move(seconds=rng.randint(1, 500))
    rng.shuffle(helds)
    return [say(held, rng.choice(WAYS), rng.randint(0, 5000)) for held in helds]


def owe(session, host_id, micros, now):
    debt = Posting(account(host_id, Kind.DEBT), platform(Platform.WRITE_OFF), micros)
    post(session, Entry(f"debt/{host_id}", "write_off", (debt,)), now)


def say(held, how, seconds=100):
    facts = {} if how.lost else {"usage": Usage(running_seconds=seconds)}
    return End(held.id, held.fence, held.node_id, how, facts)


def end_together(truth, ends):
    return truth.run(ending.end_attempts, ends, truth.now, HALF_LIFE)


def all_of(truth):
    """Everything that their ends could have changed."""
    with Session(truth.engine) as session:
        assert check(session).balanced
        rows = {model.__name__: [_columns(row) for row in session.scalars(select(model))] for model in COMPARED}
        names = {row.id: row.key for row in session.execute(select(EntryRow.id, EntryRow.key))}
        rows["entries"] = [_columns(row) for row in session.scalars(select(EntryRow))]
        rows["postings"] = [
            {"entry": names[row.entry_id], **_columns(row)} for row in session.scalars(select(PostingRow))
        ]
        sums = select(BalanceRow.account, func.sum(BalanceRow.micros)).group_by(BalanceRow.account)
        rows["balances"] = [{name: int(micros)} for name, micros in session.execute(sums) if micros]
    return {name: sorted(map(str, found)) for name, found in rows.items()}


def _columns(row: Base):
    numbered = {"id"} if isinstance(row, EntryRow | AuditRow | OutboxRow) else COUNTED - {"id"}
    return {column.key: getattr(row, column.key) for column in row.__table__.columns if column.key not in numbered}


@pytest.mark.parametrize("seeds", [range(8), range(8, 16)], ids=["first", "second"])
def test_ends_in_one_transaction_are_those_of_one_after_the_other(twins, seeds):
    apart, together = twins
    for seed in seeds:
        ends = live(apart, seed)
        assert live(together, seed) == ends
        expected = [
            apart.run(ending.end_attempt, one.attempt_id, one.fence, one.node_id, one.ending, apart.now, one.facts)
            for one in ends
        ]
        assert end_together(together, ends) == expected
        found, wanted = all_of(together), all_of(apart)
        for name in wanted:
            assert found[name] == wanted[name], f"seed {seed}: {name}"
        together.check()


def test_debt_of_a_host_is_filled_once_by_all_that_it_earned_at_the_same_time(truth):
    truth.begin_anew()
    truth.give(100)
    truth.run(owe, truth.host, 5 * CREDIT, truth.now)
    job_id = truth.add_job(slices=4)
    helds = [truth.lease(job_id, index, price_micros=PRICE // 36) for index in range(4)]
    for held in helds:
        truth.report(held, AttemptState.RUNNING)
    truth.move(seconds=3600)
    end_together(truth, [say(held, OK, 3600) for held in helds])
    assert truth.balances(truth.host) == {Kind.DEBT: -5 * CREDIT + 4 * CREDIT * 8 // 10}
    truth.check()


def test_one_that_is_not_what_it_is_taken_for_is_left_to_be_looked_at_alone(truth):
    job_id = truth.add_job(slices=6)
    fine, fenced, strange, lost, over, twice = (truth.lease(job_id, index) for index in range(6))
    truth.end(lost, LOST)
    truth.end(over, OK)
    ends = [
        say(fine, OK),
        replace(say(fenced, OK), fence=fenced.fence + 1),
        replace(say(strange, OK), node_id="node_of_another"),
        say(lost, OK),
        say(over, OK),
        say(twice, OK),
        say(twice, LOST),
        End("attempt_of_nobody", 1, "node_1", OK),
    ]
    found = end_together(truth, ends)
    assert [one.applied if one is not None else None for one in found] == [
        Applied.APPLIED,
        None,
        None,
        None,
        None,
        Applied.APPLIED,
        None,
        None,
    ]
    assert [truth.attempt(held).state for held in (fine, fenced, strange, lost, over, twice)] == [
        "succeeded",
        "leased",
        "leased",
        "lost",
        "succeeded",
        "succeeded",
    ]
    truth.check()


def test_as_many_statements_settle_twenty_as_one(truth, monkeypatch):
    real, run, counts = Driver.run, list[str](), list[int]()

    def count(driver, words, values):
        run.append(words)
        return real(driver, words, values)

    monkeypatch.setattr(Driver, "run", count)
    for width in (1, 20):
        truth.begin_anew()
        truth.give(1000)
        job_id = truth.add_job(slices=width)
        helds = [truth.lease(job_id, index, price_micros=PRICE) for index in range(width)]
        for held in helds:
            truth.report(held, AttemptState.RUNNING)
        truth.move(seconds=100)
        before = len(run)
        end_together(truth, [say(held, OK) for held in helds])
        counts.append(len(run) - before)
    assert counts == [9, 9]


def test_groups_and_single_ones_at_the_same_moment_leave_no_half_truth(postgres_hub):
    """Groups lock several jobs and accounts at once; others come in between, in another order."""
    truth = Truth(postgres_hub)
    rng = random.Random(3)
    for _ in range(10):
        truth.begin_anew()
        truth.give(500)
        jobs = [truth.add_job(slices=2, retries=1) for _ in range(4)]
        helds = [truth.lease(job, index, price_micros=PRICE) for job, index in itertools.product(jobs, range(2))]
        for held in helds:
            truth.report(held, AttemptState.RUNNING)
        truth.move(seconds=50)
        lost = [helds.pop() for _ in range(2)]
        for held in lost:
            truth.end(held, LOST)
        groups = [rng.sample(helds, 4) for _ in range(2)]
        acts = [partial(_end_together, truth, [say(held, OK) for held in group]) for group in groups]
        acts += [partial(_lose, truth, held) for held in rng.sample(helds, 2)]
        acts += [partial(_bring, truth, held) for held in lost]
        acts.append(partial(_evict, truth, rng.sample(helds, 4)))
        acts.append(partial(_cancel, truth, jobs[0]))
        barrier = threading.Barrier(len(acts))
        failures: list[Exception] = []

        def act(fn, barrier=barrier, failures=failures):
            barrier.wait()
            try:
                _repeat(truth, fn)
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=act, args=(fn,)) for fn in acts]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert failures == []
        truth.check()
    truth.close()


def _end_together(truth, ends, session):
    return ending.end_attempts(session, ends, truth.now, HALF_LIFE)


def _lose(truth, held, session):
    return ending.end_attempt(session, held.id, held.fence, held.node_id, LOST, truth.now)


def _bring(truth, held, session):
    """One that was given up, and comes with its result."""
    return ending.end_attempt(session, held.id, held.fence, held.node_id, OK, truth.now)


def _evict(truth, helds, session):
    return service.ask_to_leave(session, [(held.id, held.fence) for held in helds], truth.now)


def _cancel(truth, job_id, session):
    return ending.cancel(session, session.get_one(Job, job_id), truth.now, actor=truth.renter)


def _repeat(truth, fn):
    while True:
        try:
            with Session(truth.engine) as session, session.begin():
                fn(session)
                write_records(session)
            return
        except Exception as error:
            if getattr(getattr(error, "orig", None), "sqlstate", None) not in ("40001", "40P01"):
                raise
