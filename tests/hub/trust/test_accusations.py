"""What other nodes find takes effect when an admin confirms it, and checks pay no more than what they check."""

import asyncio
from datetime import timedelta

import pytest
from sqlalchemy import select, update
from support.checked_work import CAROL, DAVE, ERIN, add_agents, answer, judged_by, trust
from support.engine import ADMIN, ALICE, BOB, play
from support.planted import each_check, each_mutant

from computepool.hub.core.owners import PLATFORM
from computepool.hub.core.tables import OutboxRow
from computepool.hub.jobs import money
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.settlement import Share
from computepool.hub.nodes.tables import Node
from computepool.hub.payments import safe_earnings
from computepool.hub.payments.safe_earnings import list_risky
from computepool.hub.reputation.tables import Reputation
from computepool.hub.trust import accusations, audits, consequences, repository
from computepool.hub.trust.consequences import means_of
from computepool.hub.trust.tables import Accusation, AuditRecordRow, Check, CheckBudget, Clawback
from computepool.protocol.messages import Offer

SAME = {"deterministic": True, "outputs": ["out"]}
THRICE = {**SAME, "verify": {"replicas": 3}}
CONFIRMED = {"confirm_findings": True}


async def accused(pool, output=b"wrong", spec=SAME):
    """Bob's result, which Carol and Dave compute otherwise."""
    (bob,) = await add_agents(pool, BOB)
    job_id = await pool.submit(**spec)
    work = await answer(bob, output, seconds=60)
    judges = await add_agents(pool, CAROL, DAVE, ERIN, connect=False)
    await trust(pool, *judges)
    for judge in judges[:2]:
        await judged_by(pool, judge, b"right")
    (accusation,) = pool.rows(Accusation)
    return bob, work, job_id, accusation


def loses_nothing(pool, bob, work):
    standing = pool.engine.scheduler.fleet.get(bob.node_id).traits.standing
    return (
        pool.attempt(work.id).verdict == "ok"
        and pool.rows(Node, id=bob.node_id)[0].state != "banned"
        and not pool.rows(Clawback)
        and not any(row.guilty for row in pool.rows(AuditRecordRow))
        and not any(row.audited_wrong for row in pool.rows(Reputation))
        and standing.quarantined_until is None
    )


async def held_micros(pool, *, days=0):
    """What Bob cannot cash out after so many days, until somebody decides."""
    at = pool.clock.now() + timedelta(days=days)
    risky = await pool.db.read(list_risky, BOB, at, timedelta(0))
    return sum(earning.micros for earning in risky if earning.until is None)


async def decide(pool, accusation_id, what, *, user=ADMIN, status=200, **body):
    answered = await pool.call("POST", f"admin/accusations/{accusation_id}/{what}", body, user=user)
    assert answered.status_code == status, answered.text
    return answered.json()


async def a_finding_waits_for_an_admin_and_only_holds_earnings(pool):
    with pool.db.held("write_mails"):  # which takes the notices
        bob, work, job_id, accusation = await accused(pool)
        told = [row.topic for row in pool.rows(OutboxRow) if row.payload["action"] == "node.accused"]
    assert set(told) >= {f"mail/{BOB}", "mail/admins"}
    assert [row.state for row in pool.rows(Check)] == ["accused"]
    assert loses_nothing(pool, bob, work)
    found = (await pool.call("GET", f"jobs/{job_id}/artifacts")).json()["items"]
    assert [one["size_bytes"] for one in found] == [len(b"wrong")], "the result is not replaced either"
    earned = pool.attempt(work.id).earned_micros
    assert await held_micros(pool) == earned > 0
    assert await held_micros(pool, days=100) == earned, "however long it takes to decide"
    page = (await pool.call("GET", "admin/accusations?state=open", user=ADMIN)).json()
    assert [(one["id"], one["node_id"], one["kind"]) for one in page["items"]] == [
        (accusation.id, bob.node_id, "audit")
    ]
    one = (await pool.call("GET", f"admin/accusations/{accusation.id}", user=ADMIN)).json()
    assert (page["items"], page["total"], one["actions"]["confirm"]["allowed"]) == ([one], 1, True)
    assert (await pool.call("GET", "admin/accusations", user=ALICE)).status_code == 403


def test_confirmed_accusation_has_all_consequences_once(hub_url):
    async def story(pool):
        bob, work, job_id, accusation = await accused(pool)
        cost = pool.attempt(work.id).cost_micros
        shown = await decide(pool, accusation.id, "confirm", note="ran it myself")
        assert (shown["state"], shown["decided_by"], shown["note"]) == ("confirmed", ADMIN, "ran it myself")
        assert [row.state for row in pool.rows(Check)] == ["guilty"]
        assert pool.attempt(work.id).verdict == "host"
        assert pool.rows(AuditRecordRow, id=bob.node_id)[0].guilty == 1
        assert pool.engine.scheduler.fleet.get(bob.node_id).traits.standing.quarantined_until is not None
        found = (await pool.call("GET", f"jobs/{job_id}/artifacts")).json()["items"]
        assert [one["size_bytes"] for one in found] == [len(b"right")]
        await pool.settle(120)
        assert [(row.state, row.micros) for row in pool.rows(Clawback)] == [("done", cost)]
        for again in ("confirm", "dismiss"):
            refused = await decide(pool, accusation.id, again, status=409)
            assert refused["error"]["code"] == "accusation_decided"
        assert pool.rows(AuditRecordRow, id=bob.node_id)[0].guilty == 1
        assert (await decide(pool, "accusation_0", "confirm", status=404))["error"]["code"] == "no_such_accusation"

    play(hub_url, story, settings=CONFIRMED)


def test_earnings_are_given_back_as_of_the_day_of_the_finding(sqlite_hub):
    async def story(pool):
        _, work, _, accusation = await accused(pool)
        later, means = pool.clock.now() + timedelta(days=100), means_of(pool.engine.context)
        await pool.db.run(accusations.confirm, accusation.id, ADMIN, None, later, means)
        await pool.settle(120)
        assert [row.attempt_id for row in pool.rows(Clawback)] == [work.id]

    play(sqlite_hub, story, settings=CONFIRMED)


def test_dismissed_accusation_frees_the_earnings(hub_url):
    async def story(pool):
        bob, work, _, accusation = await accused(pool)
        shown = await decide(pool, accusation.id, "dismiss", note="both judges are one person")
        assert shown["state"] == "dismissed"
        assert loses_nothing(pool, bob, work)
        assert await held_micros(pool) == 0
        assert [row.state for row in pool.rows(Check)] == ["dismissed"]

    play(hub_url, story, settings=CONFIRMED)


def test_outvoted_replica_is_accused_and_the_majority_delivered(hub_url):
    async def story(pool):
        agents = await add_agents(pool, BOB, CAROL, DAVE)
        job_id = await pool.submit(**THRICE)
        works = [
            await answer(agent, output) for agent, output in zip(agents, (b"wrong", b"right", b"right"), strict=True)
        ]
        assert (await pool.job(job_id)).state == "succeeded"
        (accusation,) = pool.rows(Accusation)
        assert (accusation.attempt_id, accusation.proven) == (works[0].id, False)
        assert loses_nothing(pool, agents[0], works[0])
        await decide(pool, accusation.id, "confirm")
        assert pool.attempt(works[0].id).verdict == "host"
        assert not pool.rows(AuditRecordRow), "newcomers prove nothing, and outvote all the same"

    play(hub_url, story, settings=CONFIRMED)


def platform_paid(pool):
    hidden = [row.id for row in pool.rows(Job) if row.owner_id == PLATFORM]
    return [row.earned_micros for row in pool.rows(Attempt) if row.job_id in hidden]


async def all_reruns_of_a_check_earn_no_more_than_what_was_checked(pool):
    """Judges that take a hundred times as long, and are asked again and again, share what one slice paid."""
    (bob,) = await add_agents(pool, BOB)
    await pool.submit(**SAME)
    work = await answer(bob, b"one", seconds=60)
    judges = await add_agents(pool, CAROL, DAVE, connect=False)
    for number, judge in enumerate(judges):
        await judge.connect()
        judge.beat_on()
        await answer(judge, f"other {number}".encode(), seconds=3000)
        await judge.disconnect()
        await pool.settle(60)
    paid = platform_paid(pool)
    assert len(paid) == 2
    assert sum(paid) == pool.attempt(work.id).earned_micros > 0


async def check_of_a_slice_that_cost_nothing_pays_nothing(pool):
    """Only a node that asks for nothing is asked to judge it."""
    (bob,) = await add_agents(pool, BOB)
    await set_price(pool, bob, 0)
    await pool.submit(**SAME)
    work = await answer(bob, seconds=60)
    assert pool.attempt(work.id).earned_micros == 0
    (carol,) = await add_agents(pool, CAROL)
    carol.beat_on()
    await set_price(pool, carol, 1_000_000)
    await pool.settle(60)
    assert carol.unread(Offer) == []
    await set_price(pool, carol, 0)
    await answer(carol, seconds=3000)
    assert platform_paid(pool) == [0]


async def set_price(pool, agent, fixed_micros):
    price = {"price": {"fixed_micros": fixed_micros}}
    assert (await pool.call("PATCH", f"nodes/{agent.node_id}", price, user=ADMIN)).status_code == 200


async def no_check_begins_when_the_budget_of_the_day_is_used_up(pool):
    (bob,) = await add_agents(pool, BOB)
    bob.beat_on()
    for _ in range(2):
        await pool.submit(**SAME)
        await answer(bob, seconds=3600)
    first = len(pool.rows(Check))
    assert sum(row.real_micros + row.promotional_micros for row in pool.rows(Check)) <= 1_000_000
    assert first == 1
    yesterday = update(CheckBudget).values(day="2000-01-01")
    await pool.db.run(lambda session: session.execute(yesterday) and None)
    await pool.submit(**SAME)
    await answer(bob, seconds=60)
    assert len(pool.rows(Check)) == first + 1


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def findings_take_effect_at_once(plant):
    def accuse_and_convict(session, check, node_id, attempt_id, now, means, *, proven):
        consequences.accuse(session, check, node_id, attempt_id, now, means, proven=proven)
        audits.find_guilty(session, check, now, means)

    plant.setattr(audits, "accuse", accuse_and_convict)


def earnings_are_not_held(plant):
    plant.setattr(safe_earnings, "given_back", lambda earnings, last_valid_at, now: [])


def held_earnings_are_forgotten_in_time(plant):
    plant.setattr(safe_earnings, "first_entry_since", lambda session, at: 1 << 60)


def nobody_is_told(plant):
    plant.setattr(consequences, "mail_topic", lambda owner_id: f"owner/{owner_id}")


def judges_earn_what_they_ask(plant):
    plant.setattr(money, "_subsidy_left", lambda session, account: Share(real=1 << 60))


def each_judge_earns_it_all(plant):
    plant.setattr(repository, "earned_by_check", lambda session, check: 0)


def any_check_is_affordable(plant):
    plant.setattr(audits, "reserve", lambda session, subsidy, now, means: True)


def judges_may_ask_for_any_price(plant):
    plant.setattr(audits, "max_price", lambda attempt: 1 << 60)


def the_budget_is_never_filled_again(plant):
    plant.setattr(audits, "reserve", lambda session, subsidy, now, means: not session.scalar(select(Check.id)))


MUTANTS = {
    a_finding_waits_for_an_admin_and_only_holds_earnings: [
        findings_take_effect_at_once,
        earnings_are_not_held,
        held_earnings_are_forgotten_in_time,
        nobody_is_told,
    ],
    all_reruns_of_a_check_earn_no_more_than_what_was_checked: [judges_earn_what_they_ask, each_judge_earns_it_all],
    check_of_a_slice_that_cost_nothing_pays_nothing: [judges_may_ask_for_any_price],
    no_check_begins_when_the_budget_of_the_day_is_used_up: [any_check_is_affordable, the_budget_is_never_filled_again],
}
SETTINGS = {**CONFIRMED, "check_credits_per_day": 1}


@each_check(MUTANTS)
def test_without_a_bug_the_check_holds(hub_url, check):
    play(hub_url, check, settings=SETTINGS)


@each_mutant(MUTANTS)
def test_the_check_finds_the_bug(sqlite_hub, monkeypatch, check, mutant):
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError, asyncio.CancelledError)):
        play(sqlite_hub, check, settings=SETTINGS)
