"""Who pays for an attempt: held with its lease, settled with its end, each in the transaction of that."""

from dataclasses import replace

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.truth import CANCELED, FAILED, LOST, OK, TERMS

from computepool.hub.core.records import write_records
from computepool.hub.jobs import ending, instalments
from computepool.hub.jobs.funding import Want
from computepool.hub.jobs.policy import Ending, ending_of
from computepool.hub.jobs.spending import Spending
from computepool.hub.jobs.tables import Attempt, Checkpoint
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.holds import HoldRow
from computepool.hub.ledger.journal import balance, post
from computepool.hub.ledger.tables import EntryRow
from computepool.protocol.receipt import EndReason, Usage
from computepool.protocol.states import AttemptState, Verdict

CREDIT = 1_000_000
PRICE = 36 * CREDIT
"""A credit for a hundred seconds."""
OWNER = Ending(Verdict.OWNER, "taken_back_by_owner", lost=True)
HUB = Ending(Verdict.HUB, "hub_downtime", lost=True, is_hubs_fault=True)


@pytest.fixture
def money(truth):
    """A renter with a hundred credits, and a host with none."""
    truth.begin_anew()
    truth.give(100)
    return truth


def run_for(truth, seconds, how=OK, *, price=PRICE, usage=None, terms=TERMS, job_id=None, held=None):
    """Lease, run, end."""
    if held is None:
        held = truth.lease(job_id or truth.add_job(), node_id="node_dear", price_micros=price, terms=terms)
        truth.report(held, AttemptState.RUNNING)
    truth.move(seconds=seconds)
    usage = usage or Usage(running_seconds=seconds)
    truth.end(held, how, facts=None if how.lost else {"usage": usage})
    return held


def spent(truth):
    return 100 * CREDIT - truth.balances().get(Kind.AVAILABLE, 0)


def earned(truth):
    return truth.balances(truth.host).get(Kind.EARNINGS, 0)


def settle_details(truth, held):
    with Session(truth.engine) as session:
        rows = session.scalars(select(EntryRow).where(EntryRow.attempt_id == held.id, EntryRow.kind == "settle"))
        return [row.details for row in rows]


def test_lease_sets_aside_what_its_whole_time_may_cost(money):
    money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    assert money.balances() == {Kind.AVAILABLE: 64 * CREDIT, Kind.HELD: 36 * CREDIT}


def test_long_attempt_sets_aside_an_hour_and_its_grace(money):
    terms = replace(TERMS, max_seconds=100_000)
    money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE, terms=terms)
    assert money.balances()[Kind.HELD] == 3720 * CREDIT // 100


def test_own_node_costs_nothing(money):
    held = money.lease(money.add_job())
    money.report(held, AttemptState.RUNNING)
    money.move(seconds=500)
    money.end(held, OK)
    assert money.balances() == {Kind.AVAILABLE: 100 * CREDIT}
    assert settle_details(money, held) == []


def test_host_gets_what_was_paid_without_the_fee(money):
    fees = money.run(balance, platform(Platform.FEES))
    held = run_for(money, 250)
    assert (spent(money), earned(money)) == (2_500_000, 2_000_000)
    assert money.run(balance, platform(Platform.FEES)) - fees == 500_000
    row = money.attempt(held)
    assert (row.cost_micros, row.earned_micros, row.billed_seconds) == (2_500_000, 2_000_000, 250)
    [details] = settle_details(money, held)
    assert details["seconds"]["claimed"] == details["seconds"]["billed"] == 250
    assert (details["verdict"], details["price_micros"], details["fee_bps"]) == ("ok", PRICE, 2000)
    assert details["cost_micros"] == details["fee_micros"] + details["host_micros"]
    money.check()


@pytest.mark.parametrize(
    ("how", "cost", "pay"),
    [
        (OK, 200, 160),
        (FAILED, 200, 160),
        (Ending(Verdict.BUDGET, "budget"), 200, 160),
        (LOST, 0, 0),
        (Ending(Verdict.HOST, "sandbox"), 0, 0),
        (OWNER, 0, 0),
        (HUB, 0, 160),
    ],
    ids=lambda one: getattr(one, "verdict", ""),
)
def test_each_verdict_says_who_pays(money, how, cost, pay):
    run_for(money, 200, how)
    assert (spent(money), earned(money)) == (cost * CREDIT // 100, pay * CREDIT // 100)
    money.check()


def test_failed_jobs_cost_nothing_where_the_operator_wants_it_so(money):
    run_for(money, 200, FAILED, terms=replace(TERMS, refund_failed=True))
    assert (spent(money), earned(money)) == (0, 0)


def test_owner_who_takes_the_machine_back_is_paid_up_to_the_checkpoint(money):
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.RUNNING)
    money.move(seconds=300)
    money.run(_save, held, 120.0, money.now)
    run_for(money, 100, OWNER, held=held)
    assert (spent(money), earned(money)) == (1_200_000, 960_000)


def _save(session, held, seconds, now):
    session.add(
        Checkpoint(
            job_id=held.job_id,
            slice_index=held.index,
            number=1,
            attempt_id=held.id,
            content={"files": []},
            size_bytes=0,
            running_seconds=seconds,
            created_at=now,
        )
    )


@pytest.mark.parametrize(
    ("usage", "billed"),
    [
        (Usage(running_seconds=90), 90),
        (Usage(running_seconds=10**9), 100),
        (Usage(running_seconds=float("inf")), 0),
        (Usage(running_seconds=-5), 0),
        (Usage(running_seconds=90, power_capped_seconds=40), 50),
        (Usage(running_seconds=90, power_capped_seconds=-40), 90),
        (Usage(running_seconds=60, suspended_seconds=40), 60),
        (Usage(running_seconds=10, power_capped_seconds=40), 0),
    ],
)
def test_lesser_of_the_nodes_claim_and_the_hubs_clock_is_billed(money, usage, billed):
    held = run_for(money, 100, usage=usage)
    assert money.attempt(held).billed_seconds == billed
    assert spent(money) == billed * CREDIT // 100


def test_time_that_the_hub_knows_it_rested_is_not_billed(money):
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.RUNNING)
    money.move(seconds=50)
    money.report(held, AttemptState.SUSPENDED)
    money.move(seconds=500)
    money.report(held, AttemptState.RUNNING)
    run_for(money, 50, usage=Usage(running_seconds=600), held=held)
    assert spent(money) == CREDIT


def test_upload_after_the_command_is_not_billed(money):
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.RUNNING)
    money.move(seconds=100)
    money.report(held, AttemptState.FINISHING)
    run_for(money, 900, held=held)
    assert spent(money) == CREDIT


@pytest.mark.parametrize(("seconds", "billed"), [(10, 10), (300, 60)])
def test_canceling_while_it_is_prepared_costs_a_minute_at_most(money, seconds, billed):
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.PREPARING)
    money.cancel(held.job_id)
    run_for(money, seconds, CANCELED, usage=Usage(running_seconds=0), held=held)
    assert spent(money) == billed * CREDIT // 100


@pytest.mark.parametrize(("seconds", "billed"), [(300, 300), (9000, 3600)])
def test_input_that_came_too_slowly_is_paid_for(money, seconds, billed):
    """Its spec chose where it comes from. Never for longer than the job may run, which is an hour here."""
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.PREPARING)
    ending = ending_of(EndReason.SLOW_INPUT, None, "it drips")
    run_for(money, seconds, ending, usage=Usage(running_seconds=0), held=held)
    assert spent(money) == billed * CREDIT // 100


def test_what_never_ran_costs_nothing(money):
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.cancel(held.job_id)
    run_for(money, 300, CANCELED, usage=Usage(running_seconds=300), held=held)
    assert spent(money) == 0


def test_node_is_never_paid_for_more_than_the_job_may_run(money):
    run_for(money, 9000)
    assert spent(money) == 36 * CREDIT


def test_presents_are_spent_first_and_stay_presents(money):
    money.give(2, kind=Kind.PROMOTIONAL)
    before = money.run(balance, platform(Platform.SUBSIDY))
    run_for(money, 300)
    assert money.balances() == {Kind.AVAILABLE: 99 * CREDIT}
    assert money.balances(money.host) == {Kind.PROMOTIONAL: 1_600_000, Kind.EARNINGS: 800_000}
    assert money.run(balance, platform(Platform.SUBSIDY)) - before == 400_000


def test_slice_that_cannot_be_paid_is_not_leased_and_holds_nothing(money):
    money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    job_id = money.add_job()
    assert money.try_to_lease(job_id, node_id="node_dear", price_micros=PRICE) is None
    [refused] = money.leased.unfunded
    assert (refused.want, refused.needed_micros, refused.had_micros) == (Want.CREDITS, 36 * CREDIT, 28 * CREDIT)
    assert money.slice(job_id).state == "queued"
    money.give(8)
    assert money.try_to_lease(job_id, node_id="node_dear", price_micros=PRICE) is not None
    money.check()


def test_budget_of_a_slice_is_for_all_its_attempts_together(money):
    terms = replace(TERMS, slice_micros=40 * CREDIT)
    job_id = money.add_job(retries=9)
    run_for(money, 3500, FAILED, job_id=job_id, terms=terms)
    money.move(seconds=60)
    held = money.lease(job_id, node_id="node_dear", price_micros=PRICE, terms=terms)
    assert money.balances()[Kind.HELD] == 5 * CREDIT
    money.report(held, AttemptState.RUNNING)
    run_for(money, 3500, FAILED, held=held)
    assert spent(money) == 40 * CREDIT
    money.move(seconds=60)
    assert money.try_to_lease(job_id, node_id="node_dear", price_micros=PRICE, terms=terms) is None
    assert money.leased.unfunded[0].want is Want.BUDGET
    fence = money.slice(job_id).fence
    assert money.run(ending.end_unfunded, job_id, 0, fence, money.now).job_final
    assert money.run(ending.end_unfunded, job_id, 0, fence, money.now) is None
    job = money.job(job_id)
    assert (job.state, job.verdict, job.reason) == ("failed", "budget", "budget")
    assert "budget or your credits ran out" in job.message
    money.check()


def test_budget_of_a_job_is_for_all_its_slices(money):
    terms = replace(TERMS, job_micros=50 * CREDIT)
    job_id = money.add_job(slices=3)
    first = money.lease(job_id, 0, "node_dear", price_micros=PRICE, terms=terms)
    second = money.lease(job_id, 1, "node_dear", price_micros=PRICE, terms=terms)
    assert money.balances()[Kind.HELD] == 50 * CREDIT
    assert money.try_to_lease(job_id, 2, "node_dear", price_micros=PRICE, terms=terms) is None
    assert money.leased.unfunded[0].want is Want.ROOM_IN_BUDGET
    for held in (first, second):
        money.report(held, AttemptState.RUNNING)
    run_for(money, 1000, held=first)
    third = money.lease(job_id, 2, "node_dear", price_micros=PRICE, terms=terms)
    money.report(third, AttemptState.RUNNING)
    run_for(money, 3600, held=second)
    run_for(money, 3600, held=third)
    assert spent(money) == 50 * CREDIT
    money.check()


def test_attempt_that_is_taken_back_is_held_anew(money):
    held = run_for(money, 100, LOST)
    assert spent(money) == 0
    assert money.take_back(held)
    assert money.balances()[Kind.HELD] == 36 * CREDIT
    run_for(money, 100, usage=Usage(running_seconds=200), held=held)
    assert spent(money) == 2 * CREDIT
    money.check()


def test_attempt_whose_renter_has_nothing_left_is_not_taken_back(money):
    held = run_for(money, 100, LOST)
    others = [money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE) for _ in range(2)]
    assert not money.take_back(held)
    assert money.attempt(held).state == "lost"
    money.end(others[0], LOST)
    assert money.take_back(held)
    money.check()


def test_result_of_one_that_was_given_up_is_paid_with_what_there_is(money):
    held = run_for(money, 3600, LOST)
    for _ in range(2):
        money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.end(held, OK, facts={"usage": Usage(running_seconds=3600)})
    assert money.attempt(held).state == "succeeded"
    assert money.attempt(held).cost_micros == 28 * CREDIT
    money.check()


def test_nobody_is_paid_twice_for_the_same_seconds(money):
    """The hub was down and paid for it; then the attempt is there again, and ends well."""
    held = run_for(money, 100, HUB)
    assert (spent(money), earned(money)) == (0, 800_000)
    assert money.take_back(held)
    run_for(money, 100, usage=Usage(running_seconds=200), held=held)
    assert (spent(money), earned(money)) == (CREDIT, 1_600_000)
    money.check()


def test_attempt_that_comes_too_late_is_not_paid_beside_its_replacement(money):
    job_id = money.add_job()
    first = run_for(money, 100, LOST, job_id=job_id)
    money.move(seconds=60)
    run_for(money, 100, job_id=job_id)
    money.end(first, OK, facts={"usage": Usage(running_seconds=200)})
    assert money.attempt(first).state == "superseded"
    assert (spent(money), money.attempt(first).cost_micros) == (CREDIT, 0)
    money.check()


def test_limits_count_what_is_charged(money):
    day = money.now.date().isoformat()
    before = money.run(_spent_on, money.renter, day)
    run_for(money, 250, usage=Usage(running_seconds=100))
    assert money.run(_spent_on, money.renter, day) - before == CREDIT


def _spent_on(session, owner_id, day):
    return session.scalar(select(Spending.micros).filter_by(owner_id=owner_id, day=day)) or 0


def test_what_a_host_owes_is_filled_up_first(money):
    money.run(_owe, money.host, money.now)
    run_for(money, 200)
    assert money.balances(money.host) == {Kind.EARNINGS: 600_000}


def _owe(session, host_id, now):
    posting = Posting(account(host_id, Kind.DEBT), platform(Platform.WRITE_OFF), CREDIT)
    post(session, Entry(f"owe/{now.isoformat()}", "test", (posting,)), now)


@pytest.mark.parametrize("what", ["lease", "end", "take back"])
def test_money_and_what_it_pays_for_are_one_transaction(money, monkeypatch, what):
    job_id = money.add_job()
    held = None if what == "lease" else run_for(money, 100, LOST, job_id=job_id)
    if what == "end":
        money.take_back(held)
    before = _all(money)
    real = money.run

    def fail_at_the_commit(fn, *args, **kwargs):
        def act(session):
            result = fn(session, *args, **kwargs)
            if fn.__module__.startswith("computepool.hub.jobs"):
                write_records(session)
                raise OSError("the disk is full")
            return result

        return real(act)

    monkeypatch.setattr(money, "run", fail_at_the_commit)
    acts = {
        "lease": lambda: money.lease(job_id, node_id="node_dear", price_micros=PRICE),
        "end": lambda: money.end(held, OK),
        "take back": lambda: money.take_back(held),
    }
    with pytest.raises(OSError, match="disk"):
        acts[what]()
    assert _all(money) == before


def _all(truth):
    with Session(truth.engine) as session:
        holds = [(row.attempt_id, row.number, row.resolved_at) for row in session.scalars(select(HoldRow))]
        entries = list(session.scalars(select(EntryRow.key).order_by(EntryRow.id)))
    return holds, entries, truth.balances()


def test_node_that_could_not_fetch_an_input_is_not_paid_for_it(money):
    """That is nobody's fault, and the command never ran, whatever the node says of its seconds."""
    held = run_for(money, 300, Ending(Verdict.HUB, "unreachable"))
    assert (spent(money), earned(money), money.attempt(held).billed_seconds) == (0, 0, 0)
    money.check()


def test_attempt_that_rested_when_it_was_lost_is_billed_again_once_it_runs(money):
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.RUNNING)
    money.report(held, AttemptState.SUSPENDED)
    run_for(money, 100, LOST, held=held)
    assert money.take_back(held)
    run_for(money, 100, usage=Usage(running_seconds=100), held=held)
    assert money.attempt(held).billed_seconds == 100


def test_instalments_that_are_due_are_found_by_their_index(money):
    with money.engine.connect() as connection:
        if connection.dialect.name != "sqlite":
            pytest.skip("SQLite: only it tells its plan in one word")
        query = (
            "EXPLAIN QUERY PLAN SELECT attempts.id FROM attempts "
            "JOIN ledger_holds ON ledger_holds.attempt_id = attempts.id "
            "WHERE ledger_holds.resolved_at IS NULL AND NOT ledger_holds.is_last"
        )
        plan = " ".join(str(row) for row in connection.exec_driver_sql(query))
    assert "ix_ledger_holds_more" in plan


@pytest.mark.parametrize("lost", [True, False])
def test_platform_pays_for_nothing_on_a_nodes_word(money, lost):
    """It says that it could not fetch, or that its lease was over: the hub did not find that itself."""
    run_for(money, 3000, Ending(Verdict.HUB, "unreachable", lost=lost))
    assert (spent(money), earned(money)) == (0, 0)
    money.check()


def test_nodes_word_takes_nothing_from_the_platform_after_instalments_either(money):
    subsidy = money.run(balance, platform(Platform.SUBSIDY))
    held = money.lease(
        money.add_job(), node_id="node_dear", price_micros=PRICE, terms=replace(TERMS, max_seconds=20_000)
    )
    money.report(held, AttemptState.RUNNING)
    money.move(seconds=3600)
    assert money.run(instalments.settle_next, held.id, money.now) is not None
    assert earned(money) == 36 * CREDIT * 8 // 10
    run_for(money, 60, Ending(Verdict.HUB, "unreachable"), held=held)
    assert (spent(money), earned(money)) == (0, 0)
    assert money.run(balance, platform(Platform.SUBSIDY)) == subsidy
    money.check()


def test_outage_makes_no_money_of_presents(money):
    money.give(100, kind=Kind.PROMOTIONAL)
    run_for(money, 200, HUB)
    assert spent(money) == 0
    assert money.balances(money.host) == {Kind.PROMOTIONAL: 1_600_000}
    money.check()


@pytest.mark.parametrize("how", [OWNER, LOST], ids=lambda one: one.verdict)
def test_checkpoint_from_the_end_of_time_is_worth_nothing_and_keeps_nobody(money, how):
    """Whatever a node says of its checkpoint, its attempt can end, and what was set aside comes back."""
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.RUNNING)
    money.run(_save, held, float("inf"), money.now)
    run_for(money, 100, how, held=held)
    assert (spent(money), earned(money)) == (0, 0)
    money.check()


@pytest.mark.parametrize(("ask", "is_paid"), [(45, True), (46, False)])
def test_platform_stands_in_for_no_price_far_above_what_it_suggests(money, ask, is_paid):
    """Two who agree on a fortune would only have to wait for an outage: one gets it back, and the other is paid."""
    made = {"per": "gpu", "base_micros": 36 * CREDIT, "tier_millis": 1000, "region_millis": 1000, "spot_millis": 1000}
    held = money.lease(money.add_job(), node_id="node_dear", price_micros=PRICE)
    money.report(held, AttemptState.RUNNING)
    money.run(_write_price, held, made | {"ask_micros": ask * CREDIT})
    run_for(money, 100, HUB, held=held)
    assert (spent(money), earned(money)) == (0, 800_000 if is_paid else 0)
    money.check()


def _write_price(session, held, made):
    session.get_one(Attempt, held.id).price = made
