"""Lists of jobs and slices: filters, orders, totals, and what a row of a table shows."""

from datetime import UTC, datetime

from sqlalchemy import event
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play, principal
from support.scripted_agent import add_agent

from computepool.hub.accounts.tables import User
from computepool.hub.core.http import Role
from computepool.hub.jobs import listing
from computepool.hub.jobs.listing import JobFilter, JobOrder, list_jobs
from computepool.hub.jobs.timeline import show_timeline
from computepool.protocol.receipt import EndReason, Usage
from computepool.protocol.states import JobState


async def items(pool, query="", **options):
    answer = await pool.call("GET", f"jobs?{query}", **options)
    assert answer.status_code == 200, answer.text
    return answer.json()["items"]


async def names(pool, query="", **options):
    return [job["name"] for job in await items(pool, query, **options)]


def test_jobs_are_found_by_what_they_are_and_shown_in_the_order_asked_for(hub_url):
    async def story(pool):
        with Session(pool.db.engine) as session, session.begin():
            session.add(
                User(id=ALICE, email="a@x.org", name="Alice", role="user", created_at=pool.clock.now(), muted_mails=[])
            )
        agent = await add_agent(pool, name="dear", owner=BOB, cpus=4)
        first = await pool.submit(name="train-mnist", slices=3, resources={"cpus": 1, "memory": "1GB"})
        agent.beat_on()
        works = [await agent.take_offer() for _ in range(3)]
        for work in works:
            await agent.update(work, "preparing")
            await agent.update(work, "running")
        await pool.settle(600)
        for work in works:
            failed = work is works[-1]
            await agent.finish(work, exit_code=int(failed), usage=Usage(running_seconds=600))
        middle = pool.clock.now()
        await pool.settle(60)
        await pool.submit(name="Beta", resources={"gpu": "rtx-4090:2"})
        await pool.submit(name="alpha", where={"tags": ["simulated"]})
        await pool.submit(name="strange", user=BOB, where={"node": "node_none"})
        again = (await pool.call("POST", f"jobs/{first}/retry")).json()["id"]

        assert await names(pool) == ["train-mnist", "alpha", "Beta", "train-mnist"]
        assert await names(pool, "order=name") == ["Beta", "alpha", "train-mnist", "train-mnist"]
        assert await names(pool, "order=-name&limit=2") == ["train-mnist", "train-mnist"]
        assert await names(pool, "order=created") == ["train-mnist", "Beta", "alpha", "train-mnist"]
        assert await names(pool, "order=-finished") == ["train-mnist"]
        assert [job["id"] for job in await items(pool, "order=-cost&limit=1")] == [first]
        assert await names(pool, "search=MNIST&state=failed") == ["train-mnist"]
        assert [job["id"] for job in await items(pool, f"search={first[:12]}&order=created&limit=1")] == [first]
        assert await names(pool, "search=%25") == []
        assert await names(pool, f"until={middle.isoformat().replace('+00:00', 'Z')}") == ["train-mnist"]
        assert len(await names(pool, f"since={middle.isoformat().replace('+00:00', 'Z')}")) == 3
        for ever in ("since=0001-01-01T00:00:00Z", "until=9999-12-31T23:59:59Z"):
            assert len(await names(pool, ever)) == 4
        assert await names(pool, "since=9999-12-31T23:59:59Z") == await names(pool, "until=0001-01-01T00:00:00Z") == []
        assert [job["id"] for job in await items(pool, "node=dear&state=failed")] == [first]
        assert await names(pool, "gpu=RTX+4090") == ["Beta"]
        assert await names(pool, "simulated=true") == ["alpha"]
        assert "alpha" not in await names(pool, "simulated=false")
        assert [job["id"] for job in await items(pool, f"retry_of={first}")] == [again]
        assert await names(pool, f"owner={BOB}", user=ADMIN) == ["strange"]
        assert len(await names(pool, "", user=ADMIN)) == 5
        assert (await pool.call("GET", f"jobs?owner={BOB}")).status_code == 403
        assert (await pool.call("GET", "jobs?colour=red")).status_code == 422

        (done,) = await items(pool, "state=failed")
        assert (done["owner_name"], done["nodes"]) == ("Alice", [{"id": agent.node_id, "name": "dear"}])
        assert done["progress"] == {"total": 3, "succeeded": 2, "failed": 1, "running": 0, "waiting": 0}
        assert done["resources"] == "1 CPU, 1GB memory, 1GB disk"
        shown = (await pool.call("GET", f"jobs/{first}")).json()
        attempts = [attempt for part in shown["slices"] for attempt in part["attempts"]]
        assert done["cost_micros"] == shown["cost_micros"] == sum(attempt["cost_micros"] for attempt in attempts) > 0
        assert all(attempt["billed_seconds"] == 600 for attempt in attempts if attempt["cost_micros"])
        assert None not in (shown["slices"][0]["started_at"], shown["slices"][0]["finished_at"])

    play(hub_url, story)


def test_list_takes_as_many_statements_for_many_jobs_as_for_one(sqlite_hub):
    async def story(pool):
        counts = []
        for wanted in (1, 12):
            while len(await items(pool)) < wanted:
                await pool.submit(slices=2)
            before = pool.db.statements
            assert len(await items(pool, "limit=50")) == wanted
            counts.append(pool.db.statements - before)
        assert counts[0] == counts[1] <= 8

    play(sqlite_hub, story)


def test_pages_of_every_order_hold_each_job_once_and_a_bounded_search_says_how_far_it_came(sqlite_hub, monkeypatch):
    async def story(pool):
        ids = set()
        for index in range(7):
            ids.add(await pool.submit(name=f"job {'ä' * 20}{index % 3}"))
            await pool.settle(1)
        for job_id in sorted(ids)[:4]:
            await pool.cancel(job_id)
        for order in JobOrder:
            found, cursor = [], ""
            while cursor is not None:
                page = (await pool.call("GET", f"jobs?limit=2&order={order}{cursor and '&cursor=' + cursor}")).json()
                found += [job["id"] for job in page["items"]]
                cursor = page["next"]
            assert len(found) == len(set(found)) == page["total"] == (4 if "finished" in order else 7)
        page = (await pool.call("GET", "jobs?limit=2&order=name")).json()
        wrong = await pool.call("GET", f"jobs?limit=2&order=-name&cursor={page['next']}")
        assert (wrong.status_code, wrong.json()["error"]["code"]) == (422, "invalid")

        ordered = [job["id"] for job in await items(pool, "order=created")]
        assert (await pool.call("GET", "jobs?search=ob+")).json()["searched_since"] is None
        monkeypatch.setattr(listing, "SEARCHED_LIMIT", 3)
        for order in JobOrder:
            found, query = [], f"jobs?search=ob+&order={order}"
            answer = (await pool.call("GET", query)).json()
            found.append({job["id"] for job in answer["items"]})
            if "finished" not in order:
                assert (found[0], answer["total"]) == (set(ordered[-4:]), 4)
            while answer["searched_since"] is not None:
                until = answer["searched_since"].replace("+", "%2B")
                answer = (await pool.call("GET", f"{query}&until={until}")).json()
                found.append({job["id"] for job in answer["items"]})
            assert set().union(*found) == (set(ordered[:4]) if "finished" in order else ids)
        # An id is found whatever its age.
        assert [job["id"] for job in await items(pool, f"search={ordered[0]}")] == [ordered[0]]
        assert [job["id"] for job in await items(pool, f"search={ordered[0][4:]}&order=name")] == [ordered[0]]

    play(sqlite_hub, story)


NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
PLANS = [
    (JobFilter(), JobOrder.NEWEST, "ix_jobs_owner_newest"),
    (JobFilter(since=NOON, until=NOON), JobOrder.NEWEST, "ix_jobs_owner_newest"),
    (JobFilter(), JobOrder.FINISHED, "ix_jobs_owner_finished"),
    (JobFilter(), JobOrder.DEAREST, "ix_jobs_owner_cost"),
    (JobFilter(), JobOrder.NAME, "ix_jobs_owner_name"),
    (JobFilter(states=[JobState.FAILED]), JobOrder.NEWEST, "ix_jobs_unsuccessful"),
    (JobFilter(states=[JobState.QUEUED, JobState.RUNNING]), JobOrder.NEWEST, "ix_jobs_open"),
    (JobFilter(simulated=True), JobOrder.NEWEST, "ix_jobs_simulated"),
    (JobFilter(gpu="rtx-4090"), JobOrder.NEWEST, "ix_jobs_gpu"),
    (JobFilter(retry_of="job_1"), JobOrder.NEWEST, "ix_jobs_retries"),
]


def test_every_order_and_rare_filter_has_an_index_that_is_used(sqlite_hub):
    async def story(pool):
        seen = []

        def note(_connection, _cursor, statement, parameters, *_):
            if statement.startswith(("SELECT jobs.id", "SELECT slices.job_id, nodes.id", "SELECT audit.id")):
                seen.append((statement, parameters))

        event.listen(pool.db.engine, "before_cursor_execute", note)
        try:
            for wanted, order, index in PLANS:
                seen.clear()
                await pool.db.read(list_jobs, principal(), wanted, order, None, 50)
                plan = explained(pool, *seen[0])
                assert f"USING INDEX {index} " in plan or f"USING COVERING INDEX {index} " in plan, (order, plan)
                assert "TEMP B-TREE" not in plan, (order, plan)
            seen.clear()
            await pool.db.read(list_jobs, principal(ADMIN, Role.ADMIN), JobFilter(), JobOrder.NEWEST, None, 50)
            plan = explained(pool, *seen[0])
            assert "TEMP B-TREE" not in plan, plan
            assert "sqlite_autoindex_jobs_1" in plan
            seen.clear()
            everybodys = JobFilter(states=[JobState.QUEUED])
            await pool.db.read(list_jobs, principal(ADMIN, Role.ADMIN), everybodys, JobOrder.NEWEST, None, 50)
            assert "ix_jobs_open" in explained(pool, *seen[0])
            seen.clear()
            everybodys = JobFilter(states=[JobState.FAILED])
            await pool.db.read(list_jobs, principal(ADMIN, Role.ADMIN), everybodys, JobOrder.NEWEST, None, 50)
            assert "ix_jobs_everybodys_unsuccessful" in explained(pool, *seen[0])
            seen.clear()
            await pool.db.read(list_jobs, principal(ADMIN, Role.ADMIN), JobFilter(), JobOrder.LAST_FINISHED, None, 50)
            assert "ix_jobs_finished" in explained(pool, *seen[0])
            # What the rows of a page and a timeline show: no scan of all attempts or all records.
            await pool.submit()
            job_id = await pool.submit()
            seen.clear()
            await pool.db.read(list_jobs, principal(), JobFilter(), JobOrder.NEWEST, None, 50)
            await pool.db.read(show_timeline, principal(), job_id, None, None, 50)
            (nodes,) = (explained(pool, *one) for one in seen if "JOIN attempts" in one[0])
            (records,) = (explained(pool, *one) for one in seen if "FROM audit" in one[0])
            assert "SCAN attempts" not in nodes, nodes
            assert "ix_audit_subject" in records, records
        finally:
            event.remove(pool.db.engine, "before_cursor_execute", note)

    def explained(pool, statement, parameters):
        with pool.db.engine.connect() as connection:
            rows = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters)
            return "\n".join(row[-1] for row in rows)

    play(sqlite_hub, story)


def test_what_ended_in_a_time_is_found_by_indexes_without_the_rest(sqlite_hub):
    async def story(pool):
        with pool.db.engine.connect() as connection:
            for table in ("jobs", "attempts"):
                ended = f"SELECT id FROM {table} WHERE finished_at >= ? AND finished_at < ?"
                plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {ended}", ("2026-01-01", "2026-01-02")).all()
                assert f"ix_{table}_finished" in plan[0][-1]

    play(sqlite_hub, story)


def test_ten_thousand_slices_are_one_short_string(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        job_id = await pool.submit(slices=10_000, retries=1)
        good, bad = await agent.take_offer(), await agent.take_offer()
        await agent.finish(good)
        await agent.finish(bad, exit_code=1, reason=EndReason.EXITED)
        answer = await pool.call("GET", f"jobs/{job_id}/slices")
        grid = answer.json()
        assert (len(grid["slices"]), grid["indices"]) == (10_000, None)
        assert len(answer.content) < 11_000
        counts = {key["letter"]: key["count"] for key in grid["legend"]}
        assert (counts["s"], sum(counts.values())) == (1, 10_000)
        assert counts["w"] + counts["r"] >= 2
        await pool.cancel(job_id)
        assert "q" not in (await pool.call("GET", f"jobs/{job_id}/slices")).json()["slices"]
        assert (await pool.call("GET", f"jobs/{job_id}/slices", user=BOB)).status_code == 404

    play(sqlite_hub, story)
