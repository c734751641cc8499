"""What hosts owe renters: one who had spent what goes back pays it out of later earnings, and the pool pays nothing."""

import asyncio
from collections.abc import Iterator
from datetime import datetime, timedelta

import pytest
from sqlalchemy import select
from sqlalchemy.orm import Session
from support.engine import play_with_threads
from support.money_lives import as_user
from support.rented import CREDIT, Rented, rented
from support.truth import LOST, Held

from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.disputes import service
from computepool.hub.disputes.tables import Outcome
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.check import check
from computepool.hub.ledger.claims import ClaimRow, claims_are_kept, list_payable, pay_claims
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import balance, post
from computepool.hub.payments import moving
from computepool.hub.payments.safe_earnings import cashable
from computepool.hub.trust import restitution
from computepool.hub.wallet.entries import Filter, page_entries
from computepool.hub.wallet.explain_store import explain_job

ALICE, BOB, CAROL, DAVE = "user_ann", "user_ben", "user_cat", "user_dan"


@pytest.fixture
def pool(hub_url: str) -> Iterator[Rented]:
    with rented(hub_url, ALICE, BOB, CAROL, DAVE) as made:
        yield made


def platforms(pool: Rented, kind: Platform) -> float:
    return pool.run(balance, platform(kind)) / CREDIT


def cheated(pool: Rented, *, paid: float = 100, presents: float = 0, spent: bool = True) -> Held:
    """Bob is paid by Alice, spends it at Carol's, and is found guilty."""
    if presents:
        pool.pay_in(ALICE, presents, f"presents/{pool.now}", Kind.PROMOTIONAL)
    if paid > presents:
        pool.pay_in(ALICE, paid - presents, f"{pool.now}")
    held = pool.work(ALICE, BOB, paid)
    has = sum(max(0, credits) for credits in pool.credits(BOB).values())
    if spent and has:
        pool.work(BOB, CAROL, has)
    pool.find_guilty(held, BOB)
    return held


# ── who pays ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_whoever_is_renter_and_host_in_one_person_gains_nothing_by_guilt(pool):
    fees = platforms(pool, Platform.FEES)
    cheated(pool)
    assert (pool.credits(ALICE), pool.credits(BOB), pool.credits(CAROL)) == (
        {"available": 20},
        {"debt": -80},
        {"earnings": 64},
    )
    pool.days(40)
    can = [pool.run(cashable, one, pool.now, pool.context().settings.hold_back).micros for one in (ALICE, BOB, CAROL)]
    assert sum(can) / CREDIT == 64
    assert platforms(pool, Platform.FEES) - fees == 16, "100 were paid in: 84 are there, and the fee of the second job"
    assert (platforms(pool, Platform.RESTITUTION), pool.owed_to(ALICE)) == (80, 80)


def test_presents_do_not_multiply(pool):
    cheated(pool, presents=100)
    assert pool.credits(ALICE) == {"promotional": 20}, "the fee; the rest was a present, and is gone"
    assert pool.credits(BOB) == {}, "nobody owes a present"
    assert pool.credits(CAROL) == {"promotional": 64}
    assert pool.owed_to(ALICE) == 0


def test_verdict_that_gives_instalments_back_pays_as_far_as_they_are_there(pool):
    pool.pay_in(ALICE, 400, "much")
    held = pool.begin_long(ALICE, BOB, 100)
    assert pool.an_hour_later(held)
    assert pool.an_hour_later(held)
    pool.work(BOB, CAROL, 130)
    pool.renter, pool.host = ALICE, BOB
    pool.end(held, LOST)
    assert pool.credits(BOB) == {"debt": -130}
    assert pool.credits(ALICE) == {"available": 270}
    assert pool.owed_to(ALICE) == 130
    assert pool.attempt(held).cost_micros == 0
    pool.pay_in(DAVE, 200, "dave")
    pool.work(DAVE, BOB, 200)
    assert pool.pay_claims() == 130 * CREDIT
    assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 400}, {"earnings": 30})


def test_what_is_still_there_comes_back_at_once(pool):
    held = cheated(pool, spent=False)
    assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 100}, {})
    assert pool.run(lambda session: session.get(ClaimRow, held.id)) is None


# ── when it is earned ────────────────────────────────────────────────────────────────────────────────────────────────


def test_earnings_pay_the_oldest_first_and_each_once(pool):
    pool.pay_in(DAVE, 500, "dave")
    first = cheated(pool, paid=50)
    pool.days(1)
    pool.pay_in(DAVE, 50, "second")
    second = pool.work(DAVE, BOB, 50)  # fills what Bob owes Alice
    assert pool.pay_claims() == 40 * CREDIT
    assert pool.credits(ALICE) == {"available": 50}
    pool.find_guilty(second, BOB)
    assert pool.owed_to(DAVE) == 40, "it had gone to Alice"
    pool.days(1)
    third = cheated(pool, paid=50)
    assert (pool.owed_to(DAVE), pool.owed_to(ALICE)) == (40, 40)
    assert pool.pay_claims() == 40 * CREDIT
    assert (pool.owed_to(DAVE), pool.owed_to(ALICE)) == (0, 40), "what Alice paid filled what was owed to Dave"
    pool.work(DAVE, BOB, 25)
    assert pool.pay_claims() == 20 * CREDIT
    assert pool.pay_claims() == 0, "once"
    pool.run(moving.credit, "top-up", "top_up", BOB, 100 * CREDIT, pool.now)
    assert pool.pay_claims() == 20 * CREDIT
    assert (pool.owed_to(ALICE), pool.credits(BOB)) == (0, {"available": 80})
    rows = pool.run(lambda session: session.scalars(select(ClaimRow).order_by(ClaimRow.created_at)).all())
    assert [(row.attempt_id, row.owed_micros, row.paid_micros / CREDIT) for row in rows] == [
        (first.id, 0, 40),
        (second.id, 0, 40),
        (third.id, 0, 40),
    ]


def test_only_hosts_who_have_earned_something_are_looked_at_and_the_last_micro_is_paid(pool):
    cheated(pool)
    assert pool.run(list_payable) == []
    for micros in (1, 80 * CREDIT - 2, 1):
        pool.run(moving.credit, f"top-up/{pool.owed_to(ALICE)}", "top_up", BOB, micros, pool.now)
        assert pool.run(list_payable) == [BOB]
        assert pool.pay_claims() == micros
        assert pool.run(list_payable) == []
    assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 100}, {})


def test_earnings_stay_where_they_are_if_all_of_them_is_owed_to_the_pool(pool):
    cheated(pool)
    pool.run(moving.take, "bank", "chargeback", BOB, 30 * CREDIT, pool.now)
    running = Posting(platform(Platform.CLEARING), account(BOB, Kind.EARNINGS), 30 * CREDIT)
    pool.run(post, Entry("came back", "test", (running,)), pool.now)
    assert pool.run(pay_claims, BOB, pool.now) == 0
    assert pool.credits(BOB) == {"earnings": 30, "debt": -110}


def test_what_is_owed_to_the_pool_itself_comes_first(pool):
    cheated(pool)
    pool.run(moving.take, "bank", "chargeback", BOB, 30 * CREDIT, pool.now)
    pool.run(moving.credit, "top-up", "top_up", BOB, 50 * CREDIT, pool.now)
    assert pool.pay_claims() == 20 * CREDIT
    assert (pool.credits(BOB), pool.owed_to(ALICE)) == ({"debt": -60}, 60)


def test_what_comes_back_to_a_host_of_its_own_jobs_fills_its_debt(pool):
    pool.pay_in(ALICE, 100, "paid")
    held = pool.work(ALICE, BOB, 100)
    running = pool.begin(BOB, CAROL, 50)
    pool.find_guilty(held, BOB)
    assert (pool.credits(BOB), pool.owed_to(ALICE)) == ({"held": 50, "debt": -50}, 50)
    pool.finish(running, LOST)
    assert pool.credits(BOB) == {"earnings": 50, "debt": -50}
    assert pool.pay_claims() == 50 * CREDIT
    assert (pool.credits(BOB), pool.credits(ALICE)) == ({}, {"available": 100})


def test_renter_who_owes_the_pool_pays_that_first(pool):
    cheated(pool)
    pool.run(moving.take, "bank", "chargeback", ALICE, 30 * CREDIT, pool.now)
    assert pool.credits(ALICE) == {"debt": -10}
    pool.run(moving.credit, "top-up", "top_up", BOB, 80 * CREDIT, pool.now)
    assert pool.pay_claims() == 80 * CREDIT
    assert pool.credits(ALICE) == {"available": 70}


def test_credits_come_back_to_the_pockets_that_they_came_from(pool):
    pool.pay_in(ALICE, 40, "paid")
    pool.pay_in(ALICE, 60, "earned", Kind.EARNINGS)
    held = pool.work(ALICE, BOB, 100)
    pool.work(BOB, CAROL, 80)
    pool.find_guilty(held, BOB)
    assert pool.credits(ALICE) == {"earnings": 20}
    for part in (30, 50):
        pool.run(moving.credit, f"top-up/{part}", "top_up", BOB, part * CREDIT, pool.now)
        pool.pay_claims()
    assert pool.credits(ALICE) == {"available": 40, "earnings": 60}


# ── disputes and contests ────────────────────────────────────────────────────────────────────────────────────────────


def dispute(pool: Rented, held: Held, outcome: Outcome, micros: int | None = None) -> int:
    """What it gave back."""

    def act(session: Session) -> int:
        open_dispute(session, held, pool.now)
        name = f"dispute_{held.job_id}"
        return service.resolve(session, name, outcome, micros, "x", "hub", pool.now).refunded_micros

    return pool.run(act)


def test_what_is_owed_is_not_given_back_by_a_dispute_as_well(pool):
    held = cheated(pool)
    with pytest.raises(Exception, match="a host owes it to you"):
        dispute(pool, held, Outcome.FULL)


def test_dispute_before_leaves_the_rest_to_be_given_back(pool):
    pool.pay_in(ALICE, 100, "paid")
    held = pool.work(ALICE, BOB, 100)
    pool.work(BOB, CAROL, 80)
    assert dispute(pool, held, Outcome.PARTIAL, 50 * CREDIT) == 50 * CREDIT, "at the pool's risk"
    pool.find_guilty(held, BOB)
    assert (pool.credits(ALICE), pool.credits(BOB)) == ({"available": 60}, {"debt": -80})
    assert pool.owed_to(ALICE) == 40
    pool.run(moving.credit, "top-up", "top_up", BOB, 40 * CREDIT, pool.now)
    assert pool.pay_claims() == 0, "the pool, which has paid already, comes first"
    pool.run(moving.credit, "more", "top_up", BOB, 40 * CREDIT, pool.now)
    assert pool.pay_claims() == 40 * CREDIT
    assert pool.credits(ALICE) == {"available": 100}


@pytest.mark.parametrize(
    ("earned", "left", "subsidy"), [(0, {}, 0), (30, {"earnings": 30}, 30), (100, {"earnings": 80}, 80)]
)
def test_contest_that_is_upheld_cancels_what_was_not_paid_yet(pool, earned, left, subsidy):
    before = platforms(pool, Platform.SUBSIDY)
    held = cheated(pool)
    if earned:
        pool.run(moving.credit, "top-up", "top_up", BOB, earned * CREDIT, pool.now)
        pool.pay_claims()
    assert pool.overturn(held)
    assert pool.owed_to(ALICE) == 0
    has = pool.credits(BOB)
    assert (has.pop("available", 0), has) == (max(0, earned - 80), left)
    assert before - platforms(pool, Platform.SUBSIDY) == subsidy, "what the renter keeps, the platform pays"
    assert pool.credits(ALICE) == {"available": 20 + min(80, earned)}
    assert pool.attempt(held).cost_micros == (80 - min(80, earned)) * CREDIT
    assert pool.pay_claims() == 0


def test_contest_upheld_before_the_sweep_gives_the_host_its_own_back(pool):
    held = cheated(pool)
    pool.run(moving.credit, "top-up", "top_up", BOB, 80 * CREDIT, pool.now)
    assert pool.overturn(held)
    assert (pool.credits(BOB), pool.credits(ALICE)) == ({"earnings": 80}, {"available": 20})
    assert platforms(pool, Platform.RESTITUTION) == 0


@pytest.mark.parametrize("first", ["guilt", "dispute"])
def test_guilt_dispute_and_sweep_at_the_same_time_give_back_once(hub_url, first):
    async def story(hub):
        pool = Rented(hub.url)
        pool.now = hub.clock.now() - timedelta(days=1)
        pool.pay_in(ALICE, 100, "paid")
        held = pool.work(ALICE, BOB, 100)
        pool.work(BOB, CAROL, 50)
        pool.find_guilty(held, BOB, carry_out=False)
        pool.run(open_dispute, held, pool.now)
        now = pool.now
        acts = [
            (restitution.carry_out, held.id, now),
            (service.resolve, f"dispute_{held.job_id}", Outcome.FULL, None, "x", "hub", now),
            (pay_claims, BOB, now),
            (moving.credit, "top-up", "top_up", BOB, 60 * CREDIT, now),
            (pay_claims, BOB, now),
        ]
        if first == "dispute":
            acts[0], acts[1] = acts[1], acts[0]
        await asyncio.gather(*(hub.db.run(*act) for act in acts))
        assert sum(pool.credits(ALICE).values()) + pool.owed_to(ALICE) == 100, "all of it, and once"
        await hub.db.run(moving.credit, "more", "top_up", BOB, 60 * CREDIT, now)
        pool.pay_claims()
        assert (pool.credits(ALICE), pool.owed_to(ALICE)) == ({"available": 100}, 0)
        assert sum(pool.credits(BOB).values()) == 30 + 120 - 80
        pool.all_adds_up()
        pool.close()

    play_with_threads(hub_url, story)


def open_dispute(session: Session, held: Held, now: datetime) -> None:
    job = session.get_one(Job, held.job_id)
    service.open_dispute(session, f"dispute_{held.job_id}", job, "x", timedelta(days=7), "hub", now)


# ── what people are told ─────────────────────────────────────────────────────────────────────────────────────────────


def told(pool: Rented, held: Held, who: str) -> list[str]:
    return pool.run(explain_job, as_user(who), held.job_id, None, 0, 9).attempts[0].words


def newest(pool: Rented, who: str) -> str:
    return pool.run(page_entries, who, Filter(), None, 1).items[0].note


def test_both_sides_read_what_became_of_it(pool):
    held = cheated(pool)
    assert "20 of 100 credits came back; the rest follows when its host has earned it." in told(pool, held, ALICE)
    assert newest(pool, ALICE).endswith("20 of 100 credits came back; the rest follows when its host has earned it.")
    assert "80 of what goes back was spent already: your next earnings fill it up." in told(pool, held, BOB)
    assert newest(pool, BOB).endswith("80 of it was spent already: the next earnings fill it up.")
    mine = pool.run(explain_job, as_user(ALICE), held.job_id, None, 0, 9).attempts[0]
    back = mine.payments[-1]
    assert (back.cost_micros, back.fee_micros, back.earned_micros) == (-20 * CREDIT, -20 * CREDIT, 0)
    assert (mine.cost_micros, mine.owed_micros) == (80 * CREDIT, 80 * CREDIT)
    pool.run(moving.credit, "top-up", "top_up", BOB, 80 * CREDIT, pool.now)
    pool.pay_claims()
    mine = pool.run(explain_job, as_user(ALICE), held.job_id, None, 0, 9).attempts[0]
    assert mine.payments[-1].rule == "Given back later, as the host had spent it (The debt of its host is filled)."
    assert (mine.cost_micros, mine.fee_micros, mine.earned_micros, mine.owed_micros) == (0, 0, 0, 0)
    assert not any("follows" in words for words in mine.words)


def test_presents_that_are_gone_are_told(pool):
    held = cheated(pool, paid=100, presents=50)
    words = "40 more were promotional credit that its host had spent: these do not come back."
    assert words in told(pool, held, ALICE)
    assert words in newest(pool, ALICE)
    row = pool.attempt(held)
    assert (row.cost_micros, row.earned_micros) == (40 * CREDIT, 40 * CREDIT)


def test_host_is_not_told_whether_a_renter_had_paid(pool):
    """One who could tell would know which jobs were checks of its honesty."""
    cheated(pool)
    rows = pool.run(lambda session: session.scalars(select(OutboxRow).where(OutboxRow.topic.contains(BOB))).all())
    assert not any(str(row.payload["action"]).startswith("restitution") for row in rows)
    lines = pool.run(page_entries, BOB, Filter(), None, 1).items[0].lines
    assert {line.destination for line in lines} == {"pool"}


def test_every_step_is_recorded(pool):
    held = cheated(pool)
    pool.run(moving.credit, "top-up", "top_up", BOB, 30 * CREDIT, pool.now)
    pool.pay_claims()
    query = select(AuditRow).where(AuditRow.subject == held.id, AuditRow.action.startswith("restitution"))
    rows = pool.run(lambda session: session.scalars(query.order_by(AuditRow.id)).all())
    assert [(row.action, row.actor, row.details["micros"] / CREDIT) for row in rows] == [
        ("restitution.owed", "hub", 80),
        ("restitution.paid", "hub", 30),
    ]
    assert rows[1].details["owed_micros"] == 50 * CREDIT


# ── the check ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_check_finds_what_is_kept_for_nobody(pool):
    gone = Posting(platform(Platform.RESTITUTION), platform(Platform.WRITE_OFF), 5)

    with Session(pool.engine) as session:
        post(session, Entry("lost", "test", (gone,)), pool.now)
        report = check(session, [claims_are_kept])
    assert report.problems == ("owner_platform/restitution has -5 micros, and renters are owed 0",)


def test_sweep_of_a_host_who_owes_nothing_does_nothing(pool):
    assert pool.run(pay_claims, BOB, pool.now) == 0
    assert pool.credits(BOB) == {}
