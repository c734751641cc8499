"""History over HTTP: whose it is, how it is cut into points, and what a timeline tells."""

from datetime import datetime, timedelta

import pytest
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import gpu
from support.scripted_agent import add_agent, measure

from computepool.hub.core.records import record
from computepool.hub.history.repository import HistoryKind
from computepool.hub.history.tables import HistoryChunk
from computepool.hub.jobs.timeline import MESSAGES
from computepool.protocol.messages import AttemptUsage, GpuLoad, NodeReport
from computepool.protocol.telemetry import MachineLoad, UsageSample

CREDIT = 1_000_000


async def run_with_samples(pool, agent, *, samples=6):
    work = await agent.take_offer()
    await agent.update(work, "running")
    for number in range(samples):
        await pool.settle(10)
        one = UsageSample(age_seconds=0, cpus=1.5, memory_bytes=2**30, power_watts=100 + number)
        usage = AttemptUsage(attempt_id=work.id, fence=work.fence, first=number, samples=(one,))
        machine = MachineLoad(cpu=0.25, memory_used_bytes=2**31)
        loads = tuple(GpuLoad(id=card.id, utilisation=0.5, power_watts=200) for card in agent.capacity.gpus)
        await agent.send(NodeReport(machine=machine, gpus=loads, usage=(usage,)))
        await agent.heartbeat()
    return work


def column(answer, name):
    return next(one for one in answer["columns"] if one["name"] == name)


def values(column, kind="average"):
    return [value for value in column[kind] if value is not None]


def test_renter_sees_the_usage_of_their_attempt_and_the_host_the_telemetry_of_their_node(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),))
        job_id = await pool.submit(user=ALICE)
        work = await run_with_samples(pool, agent)
        usage = (await pool.call("GET", f"jobs/{job_id}/usage")).json()
        assert (usage["attempt_id"], usage["slice"], usage["attempt"]) == (work.id, 0, 1)
        assert usage["step_seconds"] == 10
        assert all(len(one[kind]) == usage["points"] for one in usage["columns"] for kind in ("minimum", "average"))
        assert values(column(usage, "cpus")) == [1.5] * 6
        assert values(column(usage, "power")) == [100, 101, 102, 103, 104, 105]
        wide = (await pool.call("GET", f"jobs/{job_id}/usage?step=3600")).json()
        power = column(wide, "power")
        assert (values(power, "minimum"), values(power), values(power, "maximum")) == ([100], [102.5], [105])

        telemetry = (await pool.call("GET", f"nodes/{agent.node_id}/telemetry", user=BOB)).json()
        assert telemetry["gpus"] == [gpu(0).id]
        assert telemetry["step_seconds"] == 900
        assert set(values(column(telemetry, "gpu0.power"))) == {200}
        assert None in column(telemetry, "cpu")["average"]
        since = (pool.clock.now() - timedelta(minutes=30)).isoformat().replace("+00:00", "Z")
        fine = (await pool.call("GET", f"nodes/{agent.node_id}/telemetry?since={since}&step=60", user=BOB)).json()
        assert (fine["step_seconds"], fine["points"]) == (60, pytest.approx(30, abs=1))

        # Each other's, nobody: not even the host what a strangers' attempt used, nor the renter how the node does.
        assert (await pool.call("GET", f"jobs/{job_id}/usage", user=BOB)).status_code == 404
        assert (await pool.call("GET", f"jobs/{job_id}/timeline", user=BOB)).status_code == 404
        assert (await pool.call("GET", f"nodes/{agent.node_id}/telemetry", user=ALICE)).status_code == 404
        assert (await pool.call("GET", f"nodes/{agent.node_id}/attempts", user=ALICE)).status_code == 404
        assert (await pool.call("GET", "admin/series", user=BOB)).status_code == 403
        assert (await pool.call("GET", f"jobs/{job_id}/usage", user=ADMIN)).status_code == 200
        assert (await pool.call("GET", f"nodes/{agent.node_id}/telemetry", user=ADMIN)).status_code == 200

    play(hub_url, story)


def test_usage_goes_with_its_job(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        jobs = [await pool.submit(), await pool.submit()]
        for _ in jobs:
            work = await run_with_samples(pool, agent, samples=1)
            await agent.finish(work)
        await pool.engine.history.write()
        assert len(pool.rows(HistoryChunk, kind=HistoryKind.ATTEMPT)) == 2
        assert (await pool.call("DELETE", f"jobs/{jobs[0]}")).status_code == 204
        await pool.settle(5)
        assert (await pool.call("GET", f"jobs/{jobs[0]}/usage")).status_code == 404
        (left,) = pool.rows(HistoryChunk, kind=HistoryKind.ATTEMPT)
        assert left.subject == (await pool.job(jobs[1])).slices[0].attempts[0].id

    play(hub_url, story)


def test_host_sees_attempts_of_their_node_without_whose_they_are(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        jobs = [await pool.submit(user=ALICE, name="secret-project", run=["echo", "secret"]) for _ in range(3)]
        for _ in jobs:
            work = await agent.take_offer()
            await agent.update(work, "running")
            await pool.settle(60)
            await agent.finish(work)
        first = await pool.call("GET", f"nodes/{agent.node_id}/attempts?limit=2", user=BOB)
        page = first.json()
        rest = (await pool.call("GET", f"nodes/{agent.node_id}/attempts?cursor={page['next']}", user=BOB)).json()
        assert [one["job_id"] for one in [*page["items"], *rest["items"]]] == jobs[::-1]
        assert rest["next"] is None
        assert ALICE not in first.text
        assert "secret" not in first.text
        assert page["items"][0]["verdict"] == "ok"
        assert page["items"][0]["earned_micros"] > 0

    play(hub_url, story)


def test_timeline_tells_an_attempt_from_its_lease_to_its_end(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB)
        job_id = await pool.submit()
        work = await agent.take_offer()
        for state in ("preparing", "running", "suspended", "running"):
            await agent.update(work, state)
        await agent.finish(work)

        def dispute(session):
            record(session, "dispute.opened", job_id, pool.clock.now(), actor="user_of_secrets", words="secret")

        await pool.db.run(dispute)
        found = (await pool.call("GET", f"jobs/{job_id}/timeline")).json()
        told = [(one["action"], one["by"]) for one in found["items"] if one["action"].startswith(("job", "attempt"))]
        assert told[:2] == [("job.submitted", "renter"), ("attempt.leased", "hub")]
        assert [action for action, by in told if by == "node"] == [
            "attempt.preparing",
            "attempt.running",
            "attempt.suspended",
            "attempt.running",
            "attempt.succeeded",
        ]
        end = next(one for one in found["items"] if one["action"] == "attempt.succeeded")
        assert (end["slice"], end["attempt"], end["node_name"], end["verdict"]) == (0, 1, "node", "ok")
        assert all(one["message"] == MESSAGES[one["action"]] for one in found["items"])
        assert "secret" not in str(found)
        pages, cursor = [], ""
        while cursor is not None:
            page = (await pool.call("GET", f"jobs/{job_id}/timeline?limit=2{cursor and f'&cursor={cursor}'}")).json()
            pages += page["items"]
            cursor = page["next"]
        assert pages == found["items"]

    play(hub_url, story, settings={"money": "off"})


def test_pools_figures_are_sampled_every_minute_and_outlive_a_restart(hub_url):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        await pool.submit(resources={"cpus": 1})
        await pool.submit(resources={"cpus": 64})
        work = await agent.take_offer()
        await pool.settle(5)
        await agent.update(work, "running")
        agent.beat_on()
        await pool.settle(200)
        await pool.restart()
        found = (await pool.call("GET", "admin/series?step=3600", user=ADMIN)).json()
        assert values(column(found, "queue_length"), "maximum") == [1]
        assert values(column(found, "nodes_online"), "maximum") == [1]
        assert values(column(found, "core_utilisation"), "maximum") == [0.5]
        assert values(column(found, "start_latency"))[0] >= 5
        assert values(column(found, "waiting"), "minimum") == [0]

    play(hub_url, story)


def test_prices_over_time_are_made_with_the_tables_of_their_time(hub_url):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, gpus=(gpu(0),), country="US")
        await measure(agent)
        agent.beat_on()
        await pool.settle(1300)
        rows = (await pool.call("GET", "market/prices", user=None)).json()["items"]
        row = next(one for one in rows if one["units"] and one["per"] == "gpu")
        path = f"market/prices/history?tier={row['tier']}&region={row['region']}&step=600"
        found = (await pool.call("GET", path, user=None)).json()
        (series,) = found["items"]
        before = [one for one in series["average_micros"] if one is not None]
        assert before
        value = (await pool.call("GET", "admin/market/rates", user=ADMIN)).json()["value"]
        value["base_micros"] *= 10
        answer = await pool.call("PUT", "admin/market/rates", {"value": value}, user=ADMIN)
        assert answer.status_code == 200
        await pool.settle(1300)
        (series,) = (await pool.call("GET", path, user=None)).json()["items"]
        after = [one for one in series["average_micros"] if one is not None]
        assert after[: len(before)] == before
        assert after[-1] > 5 * before[-1]
        assert len(series["utilisation"]) == len(series["average_micros"]) == len(series["minimum_micros"])

    play(hub_url, story)


@pytest.mark.parametrize(
    "query", ["step=0", "step=x", "since=2026-01-02T00:00:00Z&until=2026-01-01T00:00:00Z", "until=soon", "from=1"]
)
def test_wrong_question_is_refused(sqlite_hub, query):
    async def story(pool):
        assert (await pool.call("GET", f"admin/series?{query}", user=ADMIN)).status_code == 422

    play(sqlite_hub, story)


def test_long_time_has_a_wider_step_and_not_more_points(sqlite_hub):
    async def story(pool):
        asked = "admin/series?since=2020-01-01T00:00:00&until=2026-01-01T00:00:00Z&step=1"
        found = (await pool.call("GET", asked, user=ADMIN)).json()
        assert found["points"] <= 2001
        assert found["step_seconds"] % 3600 == 0
        assert datetime.fromisoformat(found["start_at"]).year in (2019, 2020)

    play(sqlite_hub, story)
