"""What a view says that its reader may do, and what the routes then do: the same. Clone and verification."""

import json
from dataclasses import replace
from datetime import timedelta

import pytest
from sqlalchemy import update
from sqlalchemy.orm import Session
from support.engine import ADMIN, ALICE, BOB, play
from support.scripted_agent import add_agent
from support.stored import put_outputs

from computepool.hub.api.job_views import actions_of
from computepool.hub.core.http import Scope
from computepool.hub.jobs.permits import PermitFacts
from computepool.hub.jobs.tables import Attempt, Job
from computepool.protocol.receipt import Usage
from computepool.protocol.spec import parse_spec
from computepool.protocol.spec_text import read_yaml
from computepool.protocol.states import JobState

SPEC = {"run": ["echo", "hello"], "name": "greeting"}
ROUTES = {
    "cancel": ("POST", "jobs/{}/cancel", None),
    "verify": ("GET", "jobs/{}/verification", None),
    "clone": ("GET", "jobs/{}/clone", None),
    "share": ("POST", "jobs/{}/shares", {}),
    "retry": ("POST", "jobs/{}/retry", None),
    "dispute": ("POST", "jobs/{}/dispute", {"reason": "it was empty"}),
    "remove": ("DELETE", "jobs/{}", None),
}
STATES = ["queued", "running", "succeeded", "paid", "disputed", "late", "canceled", "without bundle"]


async def brought_to(pool, agent, state):
    """A job in that state, and with that past."""
    if state == "queued":
        return await pool.submit(where={"node": "node_none"})
    if state == "canceled":
        job_id = await pool.submit(where={"node": "node_none"})
        await pool.cancel(job_id)
        return job_id
    files = {"bundle": ("work.tar.gz", state.encode()), "spec": (None, json.dumps(SPEC))}
    job_id = (await pool.call("POST", "jobs", files=files)).json()["id"]
    while (work := await agent.take_offer()).manifest.job_id != job_id:
        pass  # of a retry, which nobody waits for
    await agent.update(work, "running")
    if state == "running":
        return job_id
    seconds = 1 if state == "succeeded" else 100
    await pool.settle(seconds)
    await agent.finish(work, usage=Usage(running_seconds=0 if state == "succeeded" else 100))
    if state == "disputed":
        assert (await pool.call("POST", f"jobs/{job_id}/dispute", {"reason": "it was empty"})).status_code == 201
    if state == "without bundle":
        bundle = pool.rows(Job, id=job_id)[0].bundle["id"]
        assert (await pool.call("DELETE", f"artifacts/{bundle}")).status_code == 204
    if state == "late":
        ended = pool.clock.now() - timedelta(days=400)
        with Session(pool.db.engine) as session, session.begin():
            session.execute(update(Job).where(Job.id == job_id).values(finished_at=ended))
    return job_id


@pytest.mark.parametrize("state", STATES)
def test_what_a_view_allows_its_route_does_and_what_it_refuses_is_refused(sqlite_hub, state):
    async def story(pool):
        agent = await add_agent(pool, owner=BOB, cpus=64, memory_bytes=2**37, disk_bytes=2**37)
        agent.beat_on()
        allowed = {}
        for action, (method, path, body) in ROUTES.items():
            for user in (ALICE, ADMIN):
                job_id = await brought_to(pool, agent, state)
                shown = (await pool.call("GET", f"jobs/{job_id}", user=user)).json()["actions"]
                listed = (await pool.call("GET", "jobs", user=user)).json()["items"]
                assert next(job for job in listed if job["id"] == job_id)["actions"] == shown
                said = shown[action]
                until = (await pool.call("GET", f"jobs/{job_id}", user=user)).json()["disputable_until"]
                assert (until is not None) is (state in ("paid", "disputed", "late", "without bundle"))
                before = pool.truth()
                answer = await pool.call(method, path.format(job_id), body, user=user)
                done = answer.status_code < 400
                if action == "cancel":  # to cancel twice is no mistake, and changes nothing
                    assert done
                    done = pool.truth() != before or (state == "running" and said["allowed"])
                assert said["allowed"] is done, (action, user, said, answer.text)
                assert (said["reason"] is None) is said["allowed"]
                if not done and action != "cancel":
                    assert said["reason"] == answer.json()["error"]["message"]
                allowed[action, user] = done
        # Each state has something that may be done, and something that may not.
        assert {True, False} <= set(allowed.values())

    play(sqlite_hub, story)


def test_token_without_the_right_to_write_is_told_so(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit()
        reader = pool.engine.directory.authenticate(pool.token(ALICE))
        may = actions_of(
            pool.engine.context,
            replace(reader, scopes=frozenset({Scope.JOBS_READ})),
            PermitFacts(job_id, ALICE, JobState.QUEUED, has_receipt=True),
            None,
        )
        assert may.verify.allowed
        assert {may.cancel.reason, may.share.reason, may.clone.reason} == {"This token lacks the scope jobs:write."}

    play(sqlite_hub, story)


def test_clone_has_all_that_a_changed_copy_needs(sqlite_hub):
    async def story(pool):
        spec = {**SPEC, "env": {"EPOCHS": "3"}, "run": "echo one\necho two\n"}
        files = {"bundle": ("work.tar.gz", b"an archive"), "spec": (None, json.dumps(spec))}
        first = (await pool.call("POST", "jobs", files=files)).json()
        clone = (await pool.call("GET", f"jobs/{first['id']}/clone")).json()
        assert clone["spec"] == first["spec"]
        assert parse_spec(read_yaml(clone["yaml"]).value).digest() == parse_spec(first["spec"]).digest()
        assert (clone["bundle"]["size_bytes"], clone["inputs"]) == (10, {})
        changed = {**clone["spec"], "env": {"EPOCHS": "5"}}
        answer = await pool.call("POST", f"jobs?bundle={clone['bundle']['id']}", changed)
        assert answer.status_code == 201, answer.text
        old, new = (pool.rows(Job, id=job_id)[0] for job_id in (first["id"], answer.json()["id"]))
        assert (new.bundle, new.spec["env"], new.retry_of) == (old.bundle, {"EPOCHS": "5"}, None)

    play(sqlite_hub, story)


def test_hub_checks_the_papers_of_each_attempt_and_says_what_does_not_hold(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        job_id = await pool.submit(slices=2, outputs=["*"])
        nothing = await pool.call("GET", f"jobs/{job_id}/verification")
        assert (nothing.status_code, nothing.json()["error"]["code"]) == (409, "no_receipt")
        for _ in range(2):
            work = await agent.take_offer()
            await agent.update(work, "running")
            await agent.finish(work, outputs=await put_outputs(pool, agent, work, model=b"weights"))
        found = (await pool.call("GET", f"jobs/{job_id}/verification?limit=1")).json()
        assert (found["verified"], len(found["items"]), found["without_receipt"]) == (True, 1, [])
        names = [check["name"] for check in found["items"][0]["checks"]]
        assert names == ["hub signature", "node signature", "receipt answers order", "isolation", "spec", "outputs"]
        assert all(check["title"].endswith(".") for check in found["items"][0]["checks"])
        rest = (await pool.call("GET", f"jobs/{job_id}/verification?cursor={found['next']}")).json()
        assert ([item["slice"] for item in rest["items"]], rest["next"]) == ([1], None)
        with Session(pool.db.engine) as session, session.begin():
            first, second = session.query(Attempt).filter_by(job_id=job_id).order_by(Attempt.slice_index)
            first.receipt, second.receipt = second.receipt, None
        wrong = (await pool.call("GET", f"jobs/{job_id}/verification")).json()
        assert (wrong["verified"], wrong["without_receipt"]) == (False, [1])
        failed = [check["name"] for check in wrong["items"][0]["checks"] if not check["passed"]]
        assert failed == ["receipt answers order"]
        assert (await pool.call("GET", f"jobs/{job_id}/verification", user=BOB)).status_code == 404

    play(sqlite_hub, story)
