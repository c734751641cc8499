"""Why was I paid this? Every figure adds up to the ledger, on both sides, and can be followed by hand."""

import random
from datetime import UTC, datetime
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.engine import ADMIN, ALICE, BOB, play
from support.money_lives import as_user, claw_back, live, owe, run_for, start
from support.scripted_agent import add_agent
from support.truth import LOST

from computepool.hub.jobs import instalments
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.metering import Meter
from computepool.hub.jobs.policy import Ending
from computepool.hub.ledger.accounts import Kind
from computepool.hub.ledger.entries import Entry
from computepool.hub.ledger.holds import Pockets
from computepool.hub.ledger.settlement import Payer, in_figures, postings_of, settle
from computepool.hub.market.rates import Factors, core_rate, gpu_rate
from computepool.hub.wallet.explain_store import SLICES_LIMIT, explain_job
from computepool.hub.wallet.explain_views import View
from computepool.hub.wallet.explaining import explain_attempt
from computepool.hub.wallet.facts import AttemptFacts, EntryFacts, Parties
from computepool.hub.wallet.payments import rule_words
from computepool.hub.wallet.rate_steps import rate_steps
from computepool.protocol.states import AttemptState, Verdict

CREDIT = 1_000_000
AT = datetime(2026, 1, 2, tzinfo=UTC)


def explained(truth, held, user=None, view=None):
    principal = as_user(user or truth.renter)
    return truth.run(explain_job, principal, held.job_id, view, 0, SLICES_LIMIT)


# ── the figures ──────────────────────────────────────────────────────────────────────────────────────────────────────


def check_explained(found, of_renter, of_host):
    """What a renter and a host are told is what their balances say."""
    for view, change in (("renter", of_renter), ("host", of_host)):
        one = found[view]
        assert one.change_micros == sum(each.change_micros for each in one.attempts) == change
        for attempt in one.attempts:
            paid = attempt.payments
            sums = [
                sum(getattr(each, name) for each in paid) for name in ("cost_micros", "fee_micros", "earned_micros")
            ]
            assert sums == [attempt.cost_micros, attempt.fee_micros, attempt.earned_micros]
            assert attempt.cost_micros == attempt.fee_micros + attempt.earned_micros
            assert attempt.change_micros == (-attempt.cost_micros if view == "renter" else attempt.earned_micros)
            for each in paid:
                check_steps(attempt, each)


def check_steps(attempt, payment):
    """With a pocket calculator."""
    amounts = {step.label: step.micros for step in payment.steps}
    if payment.kind != "settle" or not payment.cost_micros:
        return
    cost = amounts.get("not more than was held", amounts["cost, rounded up to a millionth"])
    exact = Fraction(attempt.price_micros * payment.seconds.billed, 3600)
    assert 0 <= amounts["cost, rounded up to a millionth"] - exact < 1
    assert cost == payment.cost_micros == amounts["fee, rounded down"] + amounts["the host earns"]
    assert amounts["the host earns"] == payment.earned_micros


@pytest.mark.parametrize("seed", range(8))
def test_what_is_explained_is_what_both_sides_balances_say(truth, seed):
    chance = random.Random(seed)
    truth.give(20_000)
    truth.give(chance.choice([1, 30, 9000]), kind=Kind.PROMOTIONAL)
    if chance.random() < 0.5:
        owe(truth, chance.choice([1, 5 * CREDIT]))
    for _ in range(4):
        before = {who: sum(truth.balances(who).values()) for who in (truth.renter, truth.host)}
        held = live(truth, chance)
        if chance.random() < 0.4:
            claw_back(truth, held, overturned=chance.random() < 0.3)
        found = {"renter": explained(truth, held), "host": explained(truth, held, truth.host)}
        change = {who: sum(truth.balances(who).values()) - had for who, had in before.items()}
        check_explained(found, change[truth.renter], change[truth.host])


micros = st.integers(0, 10**12)


@settings(max_examples=200)
@given(
    st.builds(Pockets, micros, micros, micros),
    st.integers(1, 10**12),
    st.integers(0, 4000),
    st.integers(0, 2000),
    st.sampled_from(Payer),
    micros,
)
def test_every_settlement_can_be_explained_from_both_sides(hold, price, seconds, fee_bps, payer, debt):
    parties = Parties("user_host", "user_renter")
    one = settle(hold, price, seconds, fee_bps, payer)
    postings = postings_of(one, parties.renter_id, parties.host_id, debt)
    if not postings:
        return
    figures = {**Meter(hub_seconds=seconds).in_figures(), "settled_before": 0, "billed": seconds}
    details = {"verdict": "ok", "price_micros": price, "fee_bps": fee_bps, "seconds": figures, **in_figures(one)}
    entry = EntryFacts(1, "settle", AT, postings, details=details, attempt_id="attempt_1")
    changes = Entry("key", "settle", postings).changes
    sides: list[tuple[View, str]] = [("renter", parties.renter_id), ("host", parties.host_id)]
    for view, who in sides:
        found = explain_attempt(attempt_facts(parties, price), [entry], view)
        assert found.change_micros == sum(change for name, change in changes.items() if name.startswith(who))
        paid = found.payments[0]
        # The hold was set aside before: to the renter, that it is resolved costs what is not given back.
        assert found.cost_micros == (-found.change_micros if view == "renter" else found.cost_micros)
        assert paid.cost_micros == paid.fee_micros + paid.earned_micros
        if view == "host":
            assert paid.earned_micros == one.earned
            assert paid.fee_micros >= 0
            assert paid.fee_micros * 10_000 <= paid.cost_micros * fee_bps
        check_steps(found, paid)


def attempt_facts(parties, price, **changes):
    facts = {
        "id": "attempt_1",
        "job_id": "job_1",
        "slice": 0,
        "number": 1,
        "node_id": "node_1",
        "node_name": "alpha",
        "state": "succeeded",
        "verdict": "ok",
        "reason": "exited",
        "own": False,
        "price_micros": price,
        "price": {"own": False, "per": "gpu", "gpus": 1, "ask_micros": price},
        "parties": parties,
        "billed_seconds": 0,
    }
    return AttemptFacts(**(facts | changes))


@given(
    st.sampled_from(["gpu", "core"]),
    st.integers(1, 10**9),
    st.integers(1, 10_000),
    st.integers(1, 3_000),
    st.integers(500, 2_000),
    st.integers(1, 8),
    st.none() | st.integers(1, 100),
)
def test_rate_is_the_product_of_what_is_shown(per, base, tier, region, spot, many, percent):
    factors = Factors(base, tier, region, spot)
    ask = gpu_rate(factors) if per == "gpu" else core_rate(factors)
    price = ask * many if percent is None else -(-ask * many * percent // 100)
    made_of = {"own": False, "per": per, "ask_micros": ask, "base_micros": base, "tier_millis": tier}
    made_of |= {"region": "IN", "region_millis": region, "spot_millis": spot}
    made_of |= {"gpus": many} if per == "gpu" else {"cpu_millis": many * 1000}
    if percent is not None:
        made_of["preemptible_percent"] = percent
    steps = rate_steps(made_of, price)
    assert steps[-1].micros == price
    assert steps[-2].micros == price, "what comes before is the same amount"
    assert [step.figure for step in steps][1:4] == [f"× {millis / 1000:g}" for millis in (tier, region, spot)]


def test_host_price_is_told_as_the_hosts_own():
    made_of = {"per": "gpu", "gpus": 2, "ask_micros": 25, "base_micros": 10, "tier_millis": 1000}
    made_of |= {"region": "IN", "region_millis": 1000, "spot_millis": 1000}
    floor = rate_steps({**made_of, "floor_micros": 25, "fixed_micros": None}, 50)
    assert [(step.label, step.micros) for step in floor][-3:] == [
        ("the host asks for at least", 25),
        ("GPUs", 50),
        ("rate, locked by the lease", 50),
    ]
    fixed = rate_steps({**made_of, "floor_micros": None, "fixed_micros": 25}, 50)
    assert "the host asks for exactly" in [step.label for step in fixed]


# ── the words ────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize("verdict", list(Verdict))
def test_every_verdict_says_who_pays(verdict):
    for refund in (False, True):
        assert ":" in rule_words(verdict, refund_failed=refund)


def test_one_job_from_both_sides(truth):
    truth.give(5, kind=Kind.PROMOTIONAL)
    truth.give(100)
    held = run_for(truth, 1000, running_seconds=900, power_capped_seconds=100)
    mine = explained(truth, held)
    assert mine.view == "renter"
    assert mine.words == ["This job cost 8 credits."]
    (attempt,) = mine.attempts
    assert attempt.words == [
        "It ended well: the renter pays for the time that it ran.",
        "It cost 8 credits: 6.4 went to the host, 1.6 are the platform's fee.",
        "Taken from: 5 promotional credits, 3 available credits.",
    ]
    (paid,) = attempt.payments
    assert [(step.label, step.figure, step.micros) for step in paid.steps] == [
        ("ran, on the hub's clock", "1,000 s", None),
        ("ran, as the node says (the lesser counts)", "900 s", None),
        ("with its power capped", "− 100 s", None),
        ("billed", "= 800 s", None),
        ("cost, rounded up to a millionth", "36 × 800 ÷ 3600", 8 * CREDIT),
        ("fee, rounded down", "− 20 %", 1_600_000),
        ("the host earns", "=", 6_400_000),
    ]
    theirs = explained(truth, held, truth.host)
    assert (theirs.view, theirs.state, theirs.checks) == ("host", None, [])
    assert theirs.words == ["You earned 6.4 credits by this job."]
    assert "4 of that are promotional: to be spent here, not cashed out." in theirs.attempts[0].words
    assert [one.action for one in attempt.records][:1] == ["attempt.leased"]


def test_instalments_and_what_is_given_back_are_told_one_by_one(truth):
    truth.give(1000)
    held = start(truth, truth.add_job(), max_seconds=4 * 3600)
    for _ in range(2):
        truth.move(seconds=3600)
        truth.run(instalments.settle_next, held.id, truth.now)
    running = explained(truth, held).attempts[0]
    assert [one.verdict for one in running.payments] == [None, None]
    assert "An instalment" in running.payments[0].rule
    assert running.held_micros > 0
    assert any("only held" in words for words in running.words)
    truth.end(held, LOST)
    mine = explained(truth, held)
    kinds = [one.kind for one in mine.attempts[0].payments]
    assert kinds.count("settle") == 3
    assert "give_back" in kinds
    assert mine.change_micros == 0
    assert "The machine failed it" in mine.attempts[0].words[0]
    theirs = explained(truth, held, truth.host)
    assert theirs.change_micros == 0
    assert theirs.attempts[0].earned_micros == 0


def test_what_the_hub_is_to_blame_for_costs_the_renter_nothing_and_the_host_is_paid(truth):
    truth.give(100)
    held = run_for(truth, 200, Ending(Verdict.HUB, "hub_downtime", lost=True, is_hubs_fault=True))
    assert explained(truth, held).change_micros == 0
    theirs = explained(truth, held, truth.host).attempts[0]
    assert (theirs.cost_micros, theirs.fee_micros, theirs.earned_micros) == (2 * CREDIT, 400_000, 1_600_000)


def test_own_node_is_free_and_says_so(truth):
    held = truth.lease(truth.add_job())
    truth.report(held, AttemptState.RUNNING)
    truth.end(held)
    found = explained(truth, held)
    assert found.attempts[0].words == ["It ran on a node of the job's owner: nothing is paid."]
    assert found.words == ["This job cost 0 credits.", "It ran on nodes of its owner, which costs nothing."]


def test_what_a_check_took_back_names_the_check(truth):
    truth.give(100)
    held = run_for(truth, 100)
    assert claw_back(truth, held, overturned=True)
    mine, theirs = explained(truth, held), explained(truth, held, truth.host)
    assert [(one.id, one.state) for one in mine.checks] == [(f"check_{held.id}", "guilty")]
    assert mine.change_micros == 0
    paid = theirs.attempts[0].payments
    assert [(one.kind, one.change_micros) for one in paid] == [
        ("settle", 800_000),
        ("clawback", -800_000),
        ("clawback_overturned", 800_000),
    ]
    assert paid[1].check_id == f"check_{held.id}"
    assert paid[1].rule == ("Given back: a result of this machine was proven wrong (Others proved its node wrong).")
    assert (paid[1].cost_micros, paid[1].fee_micros) == (-CREDIT, -200_000)
    assert any("Its result was proven wrong by" in words for words in theirs.attempts[0].words)


# ── who may see it ───────────────────────────────────────────────────────────────────────────────────────────────────


def test_whoever_is_neither_renter_nor_host_is_told_that_there_is_no_job(truth):
    truth.give(100)
    held = run_for(truth, 100)
    for who, view in (("user_stranger", None), (truth.renter, "host"), (truth.host, "renter")):
        with pytest.raises(NoSuchJob):
            explained(truth, held, who, view)
    with pytest.raises(NoSuchJob):
        truth.run(explain_job, as_user(truth.renter), "job_none", None, 0, 1)
    admin = as_user("user_root", admin=True)
    assert truth.run(explain_job, admin, held.job_id, None, 0, 9).view == "renter"
    assert truth.run(explain_job, admin, held.job_id, "host", 0, 9).change_micros == 800_000
    for who, side in ((truth.renter, "renter"), (truth.host, "host")):  # an operator who is one of them: their own
        assert truth.run(explain_job, as_user(who, admin=True), held.job_id, None, 0, 9).view == side


def test_a_host_sees_only_attempts_of_its_own(truth):
    truth.give(100)
    job_id = truth.add_job(retries=3)
    first = run_for(truth, 100, Ending(Verdict.RENTER, "exited", 1), held=start(truth, job_id))
    one_host = truth.host
    other = truth.renter
    truth.begin_anew()
    truth.renter = other
    truth.move(seconds=600)
    run_for(truth, 200, held=start(truth, job_id))
    assert [one.attempt_id for one in explained(truth, first, one_host).attempts] == [first.id]
    assert explained(truth, first, one_host).change_micros == 800_000
    assert explained(truth, first, truth.host).change_micros == 1_600_000
    assert len(explained(truth, first).attempts) == 2


def test_attempts_come_by_pages_and_the_sum_is_of_all(truth):
    truth.give(100)
    job_id = truth.add_job(slices=3)
    for index in range(3):
        held = run_for(truth, 100, held=start(truth, job_id, index))
    first = truth.run(explain_job, as_user(truth.renter), job_id, None, 0, 2)
    assert ([one.slice for one in first.attempts], first.next_slice, first.change_micros) == ([0, 1], 2, -3 * CREDIT)
    last = truth.run(explain_job, as_user(truth.renter), job_id, None, 2, 2)
    assert ([one.slice for one in last.attempts], last.next_slice, last.change_micros) == ([2], None, -3 * CREDIT)
    assert held.index == 2


def test_route_answers_for_renter_and_host(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        job_id = await pool.submit()
        work = await agent.take_offer()
        await agent.update(work, "running")
        await pool.settle(100)
        await agent.finish(work)
        mine = (await pool.call("GET", f"jobs/{job_id}/explain")).json()
        theirs = (await pool.call("GET", f"jobs/{job_id}/explain", user=BOB)).json()
        assert (mine["view"], theirs["view"]) == ("renter", "host")
        steps = mine["attempts"][0]["rate"]
        assert [step["label"] for step in steps][:2] == ["base rate", "tier of processors"]
        assert theirs["change_micros"] == mine["attempts"][0]["earned_micros"] > 0
        assert (await pool.call("GET", f"jobs/{job_id}/explain", user="user_else")).status_code == 404
        assert (await pool.call("GET", f"jobs/{job_id}/explain?view=both")).status_code == 422
        as_host = (await pool.call("GET", f"jobs/{job_id}/explain?view=host", user=ADMIN)).json()
        assert as_host["change_micros"] == theirs["change_micros"]
        assert ALICE not in str(theirs)

    play(hub_url, story)


def test_job_that_was_canceled_before_it_ran_is_said_to_have_cost_nothing(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit()
        waits = (await pool.call("GET", f"jobs/{job_id}/explain")).json()
        assert "never" not in str(waits["words"])
        assert (await pool.call("POST", f"jobs/{job_id}/cancel")).status_code == 200
        ended = (await pool.call("GET", f"jobs/{job_id}/explain")).json()
        assert (ended["state"], ended["words"]) == ("canceled", ["It never ran, and cost nothing."])
        page = (await pool.call("GET", f"jobs/{job_id}/explain?from_slice=5")).json()
        assert "never" not in str(page["words"]), "a later page without attempts says nothing of the others"

    play(sqlite_hub, story)
