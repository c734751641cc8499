"""Settings that an admin changes while the hub runs: they count at once, survive a restart, and have a history."""

import pytest
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.admin.pool_settings import GROUPS, BadSetting, facts_of, read_value, shown
from computepool.hub.core.settings import Settings
from computepool.hub.core.tables import AuditRow


async def put(pool, name, value, status=200, **more):
    body = {"value": value, "reason": "a test", **more}
    answer = await pool.call("PUT", f"admin/settings/{name}", body, user=ADMIN)
    assert answer.status_code == status, answer.text
    return answer.json()


async def finish_one(pool, agent):
    work = await agent.take_offer()
    await agent.update(work, "running")
    await pool.settle(360)
    await agent.finish(work)
    return pool.attempt(work.id)


def share_of(attempt):
    return 1 - attempt.earned_micros / attempt.cost_micros


def test_fee_changes_from_the_next_lease_on_and_what_runs_keeps_its_terms(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        await pool.submit(max_runtime="10m")
        work = await agent.take_offer()
        await agent.update(work, "running")
        before = (await pool.call("GET", "admin/settings/platform_fee_bps", user=ADMIN)).json()
        assert (before["value"], before["default"], before["source"], before["version"]) == (2000, 2000, "default", 0)
        assert (before["minimum"], before["maximum"], before["type"]) == (0, 2000, "integer")
        tried = {"value": 1000}
        preview = (await pool.call("POST", "admin/settings/platform_fee_bps/preview", tried, user=ADMIN)).json()
        lines = [(one["before"], one["after"]) for one in preview["lines"]]
        assert lines == [("10 credits", "10 credits"), ("2 credits", "1 credit"), ("8 credits", "9 credits")]
        changed = await put(pool, "platform_fee_bps", 1000, version=0)
        assert (changed["value"], changed["source"], changed["changed_by"]) == (1000, "stored", ADMIN)
        assert (await put(pool, "platform_fee_bps", 500, 409, version=0))["error"]["code"] == "setting_changed"
        await pool.settle(360)
        await agent.finish(work)
        assert share_of(pool.attempt(work.id)) == pytest.approx(0.2, abs=1e-4)
        await pool.submit(max_runtime="10m")
        assert share_of(await finish_one(pool, agent)) == pytest.approx(0.1, abs=1e-4)

        await pool.restart()
        assert pool.engine.context.settings.platform_fee_bps == 1000
        body = {"reason": "back", "version": changed["version"]}
        again = (await pool.call("POST", "admin/settings/platform_fee_bps/reset", body, user=ADMIN)).json()
        assert (again["value"], again["source"]) == (2000, "default")
        history = (await pool.call("GET", "admin/settings/platform_fee_bps/history?limit=1", user=ADMIN)).json()
        assert [(one["before"], one["value"], one["reset"]) for one in history["items"]] == [(1000, None, True)]
        older = (
            await pool.call("GET", f"admin/settings/platform_fee_bps/history?cursor={history['next']}", user=ADMIN)
        ).json()
        assert [(one["before"], one["value"], one["reason"]) for one in older["items"]] == [(2000, 1000, "a test")]
        assert len(pool.rows(AuditRow, action="setting.changed")) == 2

    play(hub_url, story)


def test_each_kind_of_setting_counts_at_once(sqlite_hub):
    async def story(pool):
        listed = (await pool.call("GET", "admin/settings", user=ADMIN)).json()
        assert [one["name"] for one in listed["items"]] == list(GROUPS)
        assert [one["name"] for one in listed["tables"]] == ["tiers", "regions", "rates"]
        assert not any("url" in one["name"] or "secret" in one["name"] for one in listed["items"])
        assert (await pool.call("GET", "admin/settings", user=ALICE)).status_code == 403

        await put(pool, "limit_slices", 3)
        own = (await pool.call("GET", "me/limits")).json()
        assert own["slices"] == 3
        await put(pool, "limit_queued_slices", 1)
        refused = await pool.call("POST", "jobs", {"run": ["true"], "slices": 2})
        assert refused.json()["error"]["code"] == "queue_full"
        await put(pool, "storage_limit_bytes", 10)
        assert (await pool.call("GET", "me/storage")).json()["limit_bytes"] == 10
        price = await put(pool, "storage_price", "0.50")
        assert price["value"] == "0.5"
        await put(pool, "registration", "closed")
        person = {"email": "eve@example.org", "password": "a long enough password", "name": "Eve"}
        assert (await pool.call("POST", "auth/register", person, user=None)).status_code == 403
        assert (await pool.call("GET", "config", user=None)).json()["sign_in"]["registration"] == "closed"
        await put(pool, "cash_out_min", 7)
        least = (await pool.call("GET", "wallet/cash-outs")).json()["can"]["minimum_micros"]
        assert least == 7_000_000

        for name, value in (
            ("platform_fee_bps", 2001),
            ("platform_fee_bps", True),
            ("registration", "perhaps"),
            ("dispute_days", 30),
            ("confirm_findings", 1),
            ("storage_price", "0.0000001"),
        ):
            assert (await put(pool, name, value, 422))["error"]["code"] == "bad_setting", name
        assert (await put(pool, "secret_key", "x" * 40, 404))["error"]["code"] == "no_such_setting"
        empty = await pool.call("PUT", "admin/settings/cash_out_min", {"value": 1, "reason": " "}, user=ADMIN)
        assert empty.status_code == 422

        pool.settings = pool.settings.model_copy(update={"money": "off"})
        await pool.restart()
        names = [one["name"] for one in (await pool.call("GET", "admin/settings", user=ADMIN)).json()["items"]]
        assert "registration" in names
        assert "platform_fee_bps" not in names
        assert (await put(pool, "platform_fee_bps", 1, 404))["error"]["code"] == "money_off"

    play(sqlite_hub, story)


def test_every_setting_keeps_the_bounds_of_the_environment():
    settings = Settings(database_url="sqlite:////tmp/none.db")
    for name in GROUPS:
        facts, value = facts_of(name), shown(getattr(settings, name))
        assert read_value(settings, name, value) == settings
        assert facts.description
        if facts.minimum is not None:
            with pytest.raises(BadSetting):
                read_value(settings, name, str(int(facts.minimum) - 1))
        if facts.optional:
            assert getattr(read_value(settings, name, None), name) is None
