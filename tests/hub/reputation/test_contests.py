"""An owner sees what counts against a node and may object; an operator decides; upheld, it is undone."""

from typing import Any

import pytest
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.core.tables import AuditRow
from computepool.protocol.receipt import EndReason

WORKED: dict[str, Any] = {}
BROKE: dict[str, Any] = {"reason": EndReason.SANDBOX, "exit_code": None}


async def with_history(pool, *, good=3, bad=1):
    agent = await add_agent(pool)
    for changes in [*[WORKED] * good, *[BROKE] * bad]:
        await pool.submit(user=BOB)
        await agent.run_next(**changes)
    await pool.settle(0.1)
    return agent, f"nodes/{agent.node_id}/reliability"


async def history(pool, path, **options):
    answer = await pool.call("GET", path, **options)
    assert answer.status_code == 200, answer.text
    return answer.json()


def mean_in_memory(pool, agent):
    return pool.engine.scheduler.fleet.get(agent.node_id).traits.standing.mean


def test_the_owner_sees_the_inputs_of_the_formula_and_every_event(hub_url):
    async def story(pool):
        agent, path = await with_history(pool)
        page = await history(pool, path)
        formula, shown = page["formula"], page["reliability"]
        assert (formula["alpha"], formula["beta"]) == pytest.approx((6, 6), abs=1e-3)
        assert shown["mean"] == pytest.approx(formula["alpha"] / (formula["alpha"] + formula["beta"]))
        assert shown["mean"] == pytest.approx(mean_in_memory(pool, agent), abs=1e-4)
        assert (formula["half_life_days"], formula["weights"]["host"]) == (30, -4)
        assert [one["weight"] for one in page["items"]] == [-4, 1, 1, 1]
        for event in page["items"]:  # what may be contested, and why not, is what the route says
            contest = event["actions"]["contest"]
            answer = await pool.call("POST", f"{path}/{event['id']}/contest", {"reason": "no"})
            assert (answer.status_code == 200) == contest["allowed"] == (event["weight"] < 0)
            assert contest["reason"] == (None if contest["allowed"] else answer.json()["error"]["message"])
        assert page["next"] is None
        node = (await pool.call("GET", f"nodes/{agent.node_id}")).json()
        assert node["reliability"]["lower"] == pytest.approx(shown["lower"], abs=1e-6)

    play(hub_url, story)


def test_the_history_comes_in_pages(sqlite_hub):
    async def story(pool):
        _, path = await with_history(pool, good=5, bad=0)
        seen, cursor = [], ""
        while True:
            page = await history(pool, f"{path}?limit=2{cursor}")
            seen += [one["id"] for one in page["items"]]
            if page["next"] is None:
                break
            cursor = f"&cursor={page['next']}"
        assert seen == [5, 4, 3, 2, 1]

    play(sqlite_hub, story)


def test_a_contest_goes_to_the_admins_list_and_upheld_it_is_as_if_it_had_never_been(hub_url):
    async def story(pool):
        agent, path = await with_history(pool, good=3, bad=0)
        before = mean_in_memory(pool, agent)
        await pool.submit(user=BOB)
        await agent.run_next(**BROKE)
        await pool.settle(0.1)
        event = (await history(pool, path))["items"][0]["id"]
        assert mean_in_memory(pool, agent) < before
        contested = await pool.call("POST", f"{path}/{event}/contest", {"reason": "a power cut"})
        assert contested.status_code == 200, contested.text
        assert contested.json()["contest_reason"] == "a power cut"
        listed = (await pool.call("GET", "admin/contests", user=ADMIN)).json()["items"]
        assert [(one["id"], one["node_name"], one["owner_id"]) for one in listed] == [(event, "node", ALICE)]
        shown = (await pool.call("GET", f"admin/contests/{event}", user=ADMIN)).json()
        assert (shown, shown["admin_actions"]["resolve"]["allowed"]) == (listed[0], True)
        log = shown["evidence"]["log"].removeprefix("/api/v1/")
        assert (await pool.call("GET", log, user=ADMIN)).headers["X-Attempt"] == str(shown["evidence"]["number"])
        assert (await pool.call("GET", "admin/contests/999", user=ADMIN)).status_code == 404
        decision = {"resolution": "upheld", "note": "seen"}
        resolved = await pool.call("POST", f"admin/contests/{event}/resolve", decision, user=ADMIN)
        assert resolved.json()["resolution"] == "upheld"
        assert mean_in_memory(pool, agent) == pytest.approx(before, abs=1e-4)
        page = await history(pool, path)
        assert page["formula"]["bad"] == pytest.approx(0, abs=1e-9)
        assert page["reliability"]["failures_in_a_row"] == 0
        assert page["items"][0]["resolution_note"] == "seen"
        assert (await pool.call("GET", "admin/contests", user=ADMIN)).json()["items"] == []
        assert len((await pool.call("GET", "admin/contests?all=true", user=ADMIN)).json()["items"]) == 1
        actions = [row.action for row in pool.rows(AuditRow) if row.action.startswith("reputation.")]
        assert actions == ["reputation.contested", "reputation.upheld"]

    play(hub_url, story)


def test_a_dismissed_contest_changes_nothing_and_is_settled(sqlite_hub):
    async def story(pool):
        agent, path = await with_history(pool)
        before = mean_in_memory(pool, agent)
        await pool.call("POST", f"{path}/4/contest", {"reason": "no"})
        await pool.call("POST", "admin/contests/4/resolve", {"resolution": "dismissed"}, user=ADMIN)
        assert mean_in_memory(pool, agent) == before
        for again in (
            await pool.call("POST", f"{path}/4/contest", {"reason": "please"}),
            await pool.call("POST", "admin/contests/4/resolve", {"resolution": "upheld"}, user=ADMIN),
        ):
            assert (again.status_code, again.json()["error"]["code"]) == (409, "not_contestable")
        assert (await history(pool, path))["formula"]["bad"] == pytest.approx(4, abs=1e-3)

    play(sqlite_hub, story)


def test_upholding_ends_a_quarantine_that_followed_from_it(sqlite_hub):
    async def story(pool):
        agent, path = await with_history(pool, good=0, bad=3)
        until = (await history(pool, path))["reliability"]["quarantined_until"]
        assert until is not None
        await pool.call("POST", f"{path}/2/contest", {"reason": "a power cut"})
        await pool.call("POST", "admin/contests/2/resolve", {"resolution": "upheld"}, user=ADMIN)
        shown = (await history(pool, path))["reliability"]
        assert (shown["quarantined_until"], shown["failures_in_a_row"]) == (None, 2)
        await pool.settle(30)
        assert len(agent.works) == 2

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    ("event", "body", "status", "code"),
    [
        (1, {"reason": "x"}, 409, "not_contestable"),  # it was ok
        (99, {"reason": "x"}, 404, "no_such_event"),
        (4, {"reason": ""}, 422, "invalid"),
        (4, {"reason": "x" * 1001}, 422, "invalid"),
        (4, {}, 422, "invalid"),
        (4, {"reason": "x", "weight": 0}, 422, "invalid"),
        (0, {"reason": "x"}, 422, "invalid"),
        (2**63, {"reason": "x"}, 422, "invalid"),
    ],
)
def test_what_cannot_be_contested_is_refused_with_why(sqlite_hub, event, body, status, code):
    async def story(pool):
        _, path = await with_history(pool)
        answer = await pool.call("POST", f"{path}/{event}/contest", body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (status, code), answer.text

    play(sqlite_hub, story)


def test_operator_who_resolves_what_nobody_contested_is_told_where_to_look(sqlite_hub):
    async def story(pool):
        await with_history(pool)
        for event in (4, 99):
            answer = await pool.call("POST", f"admin/contests/{event}/resolve", {"resolution": "upheld"}, user=ADMIN)
            error = answer.json()["error"]
            assert (answer.status_code, error["code"]) == (404, "no_such_event")
            assert error["message"] == f"There is no contest of an event {event}."
            assert "admin contests" in error["hint"]

    play(sqlite_hub, story)


def test_nobody_contests_for_another_and_no_owner_decides(hub_url):
    async def story(pool):
        agent, path = await with_history(pool)
        other = await add_agent(pool, name="other")
        for answer in (
            await pool.call("GET", path, user=BOB),
            await pool.call("POST", f"{path}/4/contest", {"reason": "x"}, user=BOB),
            await pool.call("POST", f"nodes/{other.node_id}/reliability/4/contest", {"reason": "x"}),
        ):
            assert answer.status_code == 404, answer.text
        await pool.call("POST", f"{path}/4/contest", {"reason": "x"})
        for answer in (
            await pool.call("GET", "admin/contests"),
            await pool.call("POST", "admin/contests/4/resolve", {"resolution": "upheld"}),
            await pool.call("POST", f"admin/nodes/{agent.node_id}/verify"),
            await pool.call("POST", f"admin/nodes/{agent.node_id}/unverify"),
        ):
            assert answer.status_code == 403, answer.text

    play(hub_url, story)


def test_an_event_that_nobody_contested_cannot_be_resolved(sqlite_hub):
    async def story(pool):
        await with_history(pool)
        answer = await pool.call("POST", "admin/contests/4/resolve", {"resolution": "upheld"}, user=ADMIN)
        assert answer.status_code == 404

    play(sqlite_hub, story)


def test_words_with_a_zero_byte_are_refused(hub_url):
    """PostgreSQL could not keep them."""

    async def story(pool):
        _, path = await with_history(pool)
        event = (await history(pool, path))["items"][0]["id"]
        bad = await pool.call("POST", f"{path}/{event}/contest", {"reason": "power\0cut"})
        assert bad.status_code == 422, bad.text
        assert (await pool.call("POST", f"{path}/{event}/contest", {"reason": "a power cut\n§"})).status_code == 200
        decided = f"admin/contests/{event}/resolve"
        bad = await pool.call("POST", decided, {"resolution": "upheld", "note": "\0"}, user=ADMIN)
        assert bad.status_code == 422, bad.text
        assert (await pool.call("POST", decided, {"resolution": "upheld"}, user=ADMIN)).status_code == 200

    play(hub_url, story)
