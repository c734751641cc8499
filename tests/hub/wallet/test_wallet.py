"""What one has, what came and went: pages, filters, whose it is, and that a host cannot tell who pays."""

from datetime import timedelta

import pytest
from sqlalchemy.orm import Session
from support.checked_work import CAROL, add_agents, answer, trust
from support.engine import ADMIN, ALICE, BOB, play
from support.money_lives import claw_back, run_for
from support.scripted_agent import add_agent

from computepool.hub.core.errors import Invalid
from computepool.hub.core.owners import PLATFORM
from computepool.hub.jobs.tables import Job
from computepool.hub.ledger.accounts import Kind, Platform, account, platform
from computepool.hub.ledger.entries import Entry, Posting
from computepool.hub.ledger.journal import post
from computepool.hub.wallet.earnings import list_earnings
from computepool.hub.wallet.entries import Filter, page_entries, show_wallet

CREDIT = 1_000_000


async def paid_job(pool, agent, seconds=100):
    job_id = await pool.submit()
    work = await agent.take_offer()
    await agent.update(work, "running")
    await pool.settle(seconds)
    await agent.finish(work)
    return job_id


def page(truth, owner=None, wanted=None, cursor=None, limit=50):
    return truth.run(page_entries, owner or truth.renter, wanted or Filter(), cursor, limit)


# ── what there is ────────────────────────────────────────────────────────────────────────────────────────────────────


def test_wallet_has_every_pocket(truth):
    truth.give(5, kind=Kind.PROMOTIONAL)
    truth.give(100)
    truth.lease(truth.add_job(), node_id="node_dear", price_micros=36 * CREDIT)
    found = truth.run(show_wallet, truth.renter)
    assert (found.spendable_micros, found.available_micros, found.promotional_micros) == (69 * CREDIT, 69 * CREDIT, 0)
    assert (found.held_micros, found.earnings_micros, found.debt_micros) == (36 * CREDIT, 0, 0)
    empty = truth.run(show_wallet, "user_nobody")
    assert not any(value for name, value in empty.model_dump().items() if name != "owner_id")


def test_debt_is_shown_as_what_is_owed(truth):
    truth.give(100)
    held = run_for(truth, 100)
    truth.run(_spend_earnings, truth)
    assert claw_back(truth, held)
    assert truth.run(show_wallet, truth.host).debt_micros == 800_000


def _spend_earnings(session: Session, truth) -> None:
    posting = Posting(account(truth.host, Kind.EARNINGS), platform(Platform.CLEARING), 800_000)
    post(session, Entry(f"spend/{truth.host}", "test", (posting,)), truth.now)


# ── what came and went ───────────────────────────────────────────────────────────────────────────────────────────────


def test_entries_come_newest_first_by_pages_each_once(truth):
    truth.give(100)
    for _ in range(4):
        run_for(truth, 10)
    whole = page(truth).items
    assert [one.kind for one in whole] == ["settle", "hold"] * 4 + ["grant"]
    found, cursor = [], None
    while True:
        part = page(truth, cursor=cursor, limit=2)
        found += part.items
        cursor = part.next
        if cursor is None:
            break
    assert found == whole
    assert sum(one.change_micros for one in whole) == sum(truth.balances().values())


def test_entries_are_found_by_kind_job_and_time(truth):
    truth.give(100)
    first, start = run_for(truth, 10), truth.now
    truth.move(days=1)
    second = run_for(truth, 10)
    assert {one.job_id for one in page(truth, wanted=Filter(job_id=first.job_id)).items} == {first.job_id}
    assert [one.kind for one in page(truth, wanted=Filter(kinds=("grant",))).items] == ["grant"]
    of_node = page(truth, wanted=Filter(node_id=first.node_id)).items
    assert [one.kind for one in of_node] == ["settle", "hold"] * 2
    assert {(one.node_id, one.title) for one in of_node} == {
        (first.node_id, "An attempt was billed"), (first.node_id, "Set aside while an attempt runs"),
    }  # fmt: skip
    assert all(one.job_name for one in of_node)
    assert not any(one.job_name for one in page(truth, truth.host).items), "a host does not learn how jobs are called"
    assert page(truth, wanted=Filter(node_id="node_of_others")).items == []
    late = page(truth, wanted=Filter(since=start + timedelta(seconds=1))).items
    assert {one.job_id for one in late} == {second.job_id}
    early = page(truth, wanted=Filter(until=start)).items
    assert [one.kind for one in early] == ["hold", "grant"], "the end itself is not included"
    assert page(truth, wanted=Filter(kinds=("settle",), job_id=first.job_id, since=start)).items[0].at == start


@pytest.mark.parametrize("cursor", ["", "1", "entry_", "entry_x", "entry_²", "entry_" + "9" * 30])
def test_a_cursor_that_is_none_is_refused(truth, cursor):
    with pytest.raises(Invalid, match="cursor"):
        page(truth, cursor=cursor)


def test_lines_name_others_by_what_they_are_to_one(truth):
    truth.give(3, kind=Kind.PROMOTIONAL)
    truth.give(100)
    run_for(truth, 500)
    mine, theirs = page(truth).items[0], page(truth, truth.host).items[0]
    assert {(line.source, line.destination) for line in mine.lines} == {
        ("held", "fee"),
        ("held", "host"),
        ("held", "available"),
    }
    assert {(line.source, line.destination) for line in theirs.lines} == {("pool", "promotional"), ("pool", "earnings")}
    assert truth.renter not in theirs.model_dump_json()
    assert truth.host not in mine.model_dump_json(exclude={"node_id", "node_name"})


def test_a_check_of_its_honesty_is_paid_like_any_job(hub_url):
    """What a host sees of an audit's money does not differ from what it sees of a renter's."""

    async def story(pool):
        (bob,) = await add_agents(pool, BOB)
        await pool.submit(deterministic=True, outputs=["out"])
        await answer(bob, b"right", seconds=60)
        await bob.disconnect()
        (carol,) = await add_agents(pool, CAROL)
        await trust(pool, carol)
        await pool.settle(60)
        await answer(carol, b"right", seconds=60)
        await pool.settle(5)
        (hidden,) = [row.id for row in pool.rows(Job) if row.owner_id == PLATFORM]
        seen = [(await pool.call("GET", "wallet/entries", user=user)).json()["items"][0] for user in (BOB, CAROL)]
        told = []
        for user, one in zip((BOB, CAROL), seen, strict=True):
            told.append((await pool.call("GET", f"jobs/{one['job_id']}/explain", user=user)).json())
        assert seen[1]["job_id"] == hidden
        for pair in (seen, told):
            assert _alike(pair[0]) == _alike(pair[1])
        statements = [(await pool.call("GET", "wallet/statements/2026", user=user)).json() for user in (BOB, CAROL)]
        fees = [one["fees_withheld_micros"] for one in statements]
        assert fees[0] == fees[1] > 0

    play(hub_url, story, settings={"welcome_credits": 0})


def _alike(document):
    """Without ids and instants."""
    if isinstance(document, dict):
        hidden = {"id", "entry_id", "job_id", "attempt_id", "node_id", "node_name", "at", "records"}
        return {key: _alike(value) for key, value in document.items() if key not in hidden}
    return [_alike(one) for one in document] if isinstance(document, list) else document


# ── earnings ─────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_earnings_are_by_node_and_day_and_less_what_went_back(truth):
    truth.give(100)
    first = truth.now.date()
    run_for(truth, 100)
    run_for(truth, 100)
    truth.move(days=1)
    held = run_for(truth, 300)
    days = truth.run(list_earnings, truth.host, first, first + timedelta(days=5))
    assert [(one.day, one.attempts, one.earned_micros) for one in days.items] == [
        (first + timedelta(days=1), 1, 2_400_000),
        (first, 2, 1_600_000),
    ]
    assert days.earned_micros == 4 * CREDIT
    assert [(one.day - first).days for one in days.days] == [0, 1, 2, 3, 4], "days without earnings too"
    assert [one.earned_micros for one in days.days] == [1_600_000, 2_400_000, 0, 0, 0]
    [node] = days.nodes
    assert (node.attempts, node.earned_micros) == (3, 4 * CREDIT)
    of_node = truth.run(list_earnings, truth.host, first, first + timedelta(days=5), node.node_id)
    assert of_node == days
    other = truth.run(list_earnings, truth.host, first, first + timedelta(days=5), "node_of_others")
    assert (other.items, other.earned_micros, len(other.days)) == ([], 0, 5)
    truth.move(days=1)
    assert claw_back(truth, held)
    days = truth.run(list_earnings, truth.host, first, first + timedelta(days=5))
    assert [one.earned_micros for one in days.items] == [-2_400_000, 2_400_000, 1_600_000]
    assert truth.run(list_earnings, truth.renter, first, first + timedelta(days=5)).items == []


# ── the routes ───────────────────────────────────────────────────────────────────────────────────────────────────────


def test_routes_show_ones_own_and_admins_anybodys(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        job_id = await paid_job(pool, agent)
        mine = (await pool.call("GET", "wallet")).json()
        assert mine["owner_id"] == ALICE
        shown = {one["name"]: one["micros"] for one in mine["balances"]}
        assert (shown["spendable"], shown["held"]) == (mine["spendable_micros"], mine["held_micros"])
        assert all(one["meaning"].endswith(".") for one in mine["balances"])
        periods = (await pool.call("GET", "wallet/statements", user=BOB)).json()
        assert [one["period"] for one in periods["months"]] == ["2026-01"]
        assert [(one["period"], one["is_over"]) for one in periods["years"]] == [("2026", False)]
        for month in periods["months"]:
            lines = (await pool.call("GET", f"wallet/statements/{month['period']}", user=BOB)).json()["lines"]
            assert lines
            assert all(line["title"] for line in lines)
        unknown = await pool.call("GET", "wallet/entries?kind=settle&kind=nosuch")
        assert unknown.status_code == 422
        assert unknown.json()["error"]["message"] == "There is no kind of entry 'nosuch'."
        assert " restitution, settle," in unknown.json()["error"]["hint"]
        entries = (await pool.call("GET", f"wallet/entries?job={job_id}&kind=settle&kind=hold&limit=1")).json()
        assert entries["next"] == entries["items"][0]["id"]
        again = await pool.call("GET", f"wallet/entries?job={job_id}&limit=1&cursor={entries['next']}")
        assert [one["kind"] for one in again.json()["items"]] == ["hold"]
        earned = (await pool.call("GET", "wallet/earnings", user=BOB)).json()
        assert earned["earned_micros"] == earned["items"][0]["earned_micros"] > 0
        assert (await pool.call("GET", f"wallet?owner_id={BOB}")).status_code == 404
        assert (await pool.call("GET", f"wallet?owner_id={BOB}", user=ADMIN)).json()["owner_id"] == BOB
        assert (await pool.call("GET", "wallet", user=None)).status_code == 401

    play(hub_url, story)


@pytest.mark.parametrize(
    "path",
    [
        "wallet?sinc=1",
        "wallet/entries?since=yesterday",
        "wallet/entries?limit=0",
        "wallet/entries?limit=501",
        "wallet/entries?since=0001-01-01T00:00:00%2B14:00",
        "wallet/earnings?since=2026-01-01&until=2026-01-01",
        "wallet/earnings?since=2020-01-01&until=2026-01-01",
        "wallet/earnings?until=0001-01-01",
        "wallet/statements/2026-13",
        "wallet/statements/2027",
        "wallet/statements/2099-12",
        "wallet/statements/26",
        "wallet/statements/2026-1",
        "wallet/statements/२०२६",
        "wallet/statements/2026?format=xls",
    ],
)
def test_senseless_questions_are_refused_in_words(sqlite_hub, path):
    async def story(pool):
        answer = await pool.call("GET", path)
        assert answer.status_code == 422, answer.text
        assert answer.json()["error"]["message"]

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    "path",
    [
        "wallet",
        "wallet/entries",
        "wallet/earnings",
        "wallet/statements/2026",
        "jobs/job_1/explain",
        "admin/ledger/check",
    ],
)
def test_without_money_there_is_no_wallet(sqlite_hub, path):
    async def story(pool):
        answer = await pool.call("GET", path, user=ADMIN)
        assert answer.status_code == 404
        error = answer.json()["error"]
        assert error["code"] == "money_off"
        assert "works without money" in error["message"]

    play(sqlite_hub, story, settings={"money": "off"})
