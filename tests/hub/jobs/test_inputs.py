"""Inputs of a job: stored artifacts of its renter, or URLs; refused with the reason, kept while a job needs them."""

import asyncio
import hashlib
from datetime import timedelta

import pytest
from support.engine import ALICE, BOB, play
from support.scripted_agent import add_agent

from computepool.hub.artifacts import repository
from computepool.hub.artifacts.freeing import sweep_abandoned
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.jobs import submission
from computepool.hub.jobs.brief import brief_of
from computepool.hub.jobs.errors import BadInputs
from computepool.hub.jobs.tables import Job
from computepool.protocol.manifest import InputRef
from computepool.protocol.messages import NodeReport
from computepool.protocol.receipt import EndReason
from computepool.protocol.spec import Resources, parse_spec
from computepool.protocol.units import GIB

DATA = b"1,2,3\n"
HEX = hashlib.sha256(DATA).hexdigest()
URL = {"url": "https://data.example.org/train.csv", "sha256": HEX}


async def store(pool, data: bytes = DATA, *, user: str = ALICE, complete: bool = True) -> str:
    """The id of an artifact, as an upload leaves it."""
    digest = f"sha256:{hashlib.sha256(data).hexdigest()}"
    body = {"digest": digest, "size_bytes": len(data), "kind": "input"}
    answer = (await pool.call("POST", "artifacts", body, user=user)).json()
    if complete and answer["state"] != "stored":
        artifact = next(row for row in pool.rows(Artifact) if row.id == answer["id"])
        for upload in answer["uploads"]:
            pool.store.put(artifact.part_key(upload["part"]), data)
        assert (await pool.call("POST", f"artifacts/{answer['id']}/complete", user=user)).status_code == 200
    return str(answer["id"])


def spec(**inputs):
    return {"run": "true", "inputs": {path.replace("__", "/"): source for path, source in inputs.items()}}


def test_artifact_travels_as_digest_and_place_and_url_as_it_is(hub_url):
    async def story(pool):
        artifact = await store(pool)
        answer = await pool.call("POST", "jobs", spec(data__a=artifact, b=artifact, c=URL))
        assert answer.status_code == 201, answer.text
        agent = await add_agent(pool)
        work = await agent.take_offer()
        digest = f"sha256:{HEX}"
        assert work.manifest.inputs == (
            InputRef(path="data/a", digest=digest, size_bytes=len(DATA)),
            InputRef(path="b", digest=digest, size_bytes=len(DATA)),
            InputRef(path="c", digest=digest, url=URL["url"]),
        )
        assert [len(urls) for urls in work.offer.downloads.values()] == [1]
        (place,) = work.offer.downloads[digest]
        assert artifact in place
        row = pool.rows(Job)[0]
        assert row.inputs["b"] == {"id": artifact, "digest": digest, "size_bytes": len(DATA)}
        assert set(row.inputs) == {"data/a", "b"}

    play(hub_url, story)


def test_inputs_are_the_same_after_a_restart_and_in_a_retry(hub_url):
    async def story(pool):
        artifact = await store(pool)
        first = (await pool.call("POST", "jobs", spec(a=artifact))).json()["id"]
        await pool.restart()
        agent = await add_agent(pool)
        work = await agent.take_offer()
        assert [one.path for one in work.manifest.inputs] == ["a"]
        assert list(work.offer.downloads) == [f"sha256:{HEX}"]
        await agent.finish(work, exit_code=1)
        again = (await pool.call("POST", f"jobs/{first}/retry")).json()
        assert again["retry_of"] == first
        second = await agent.take_offer()
        assert second.manifest.inputs == work.manifest.inputs

    play(hub_url, story)


def test_each_input_that_cannot_be_had_is_named_with_what_to_do(sqlite_hub):
    async def story(pool):
        mine, bobs = await store(pool), await store(pool, b"bobs", user=BOB)
        halfway = await store(pool, b"half", complete=False)
        answer = await pool.call(
            "POST", "jobs", spec(fine=mine, stolen=bobs, half=halfway, none="artifact_0000000000000000000000none")
        )
        error = answer.json()["error"]
        assert (answer.status_code, error["code"]) == (422, "bad_inputs")
        assert {one["field"]: one["message"] for one in error["fields"]} == {
            "inputs.stolen": f"There is no artifact {bobs} of yours.",
            "inputs.half": f"The upload of {halfway} is not complete.",
            "inputs.none": "There is no artifact artifact_0000000000000000000000none of yours.",
        }
        assert all(one["hint"] for one in error["fields"])
        assert pool.rows(Job) == []

    play(sqlite_hub, story)


def test_file_of_a_checkpoint_is_no_input(sqlite_hub):
    """It goes when its job ends."""

    async def story(pool):
        artifact = await store(pool)

        def become_checkpoint(session):
            row = session.get_one(Artifact, artifact)
            row.kind, row.job_id = ArtifactKind.CHECKPOINT, "job_1"

        await pool.db.run(become_checkpoint)
        answer = await pool.call("POST", "jobs", spec(a=artifact))
        assert answer.json()["error"]["code"] == "bad_inputs"

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"a": "https://x.org/a"}, "no SHA-256 digest"),
        ({"a": f"http://x.org/a#sha256:{HEX}"}, "not an https URL"),
        ({"../a": URL}, "leaves the job's folder"),
        ({"a": URL, "a/b": URL}, "a is an input too"),
        ({"a": "train.csv"}, "neither a stored artifact nor a URL"),
    ],
)
def test_inputs_that_make_no_sense_are_refused_before_anything_is_looked_up(sqlite_hub, inputs, words):
    async def story(pool):
        answer = await pool.call("POST", "jobs", {"run": "true", "inputs": inputs})
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_spec")
        assert words in answer.text

    play(sqlite_hub, story)


def test_inputs_larger_than_the_jobs_disk_are_refused_at_once(sqlite_hub):
    async def story(pool):
        artifact = await store(pool, bytes(1024**2 + 1))
        answer = await pool.call("POST", "jobs", {**spec(a=artifact), "resources": {"disk": "1MB"}})
        (field,) = answer.json()["error"]["fields"]
        assert field["field"] == "resources.disk"
        assert "1 MB" in field["message"]

    play(sqlite_hub, story)


def test_inputs_have_no_more_parts_than_an_offer_can_name():
    with pytest.raises(BadInputs, match="too large"):
        submission._check_sizes([PART_BYTES * submission.INPUT_PARTS_LIMIT, 1], Resources())


@pytest.mark.parametrize(
    ("written", "sent_bytes", "disk_bytes"),
    [({}, 100 * GIB, 200 * GIB), ({}, 3, GIB), ({}, GIB + 1, 3 * GIB), ({"disk": "2GB"}, 100 * GIB, 2 * GIB)],
)
def test_disk_that_the_spec_leaves_open_has_room_for_what_is_sent(written, sent_bytes, disk_bytes):
    parsed = parse_spec({**spec(a="artifact_00000000000000000000000001"), "resources": written})
    stored = {"a": {"id": "x", "digest": f"sha256:{HEX}", "size_bytes": sent_bytes}}
    assert brief_of("j", "u", "n", parsed, "d", None, stored).requirements.disk_bytes == disk_bytes


def test_node_that_has_the_input_is_preferred(sqlite_hub):
    async def story(pool):
        artifact = await store(pool)
        await add_agent(pool, name="cold")
        warm = await add_agent(pool, name="warm")
        await warm.send(NodeReport(cached=(f"sha256:{HEX}",)))
        await asyncio.sleep(1)
        for source in (artifact, URL):
            job = (await pool.call("POST", "jobs", spec(a=source))).json()
            assert job["slices"][0]["attempts"][0]["node_name"] == "warm"
            await warm.finish(await warm.take_offer())

    play(sqlite_hub, story)


def test_artifact_of_an_open_job_is_never_swept(hub_url):
    async def story(pool):
        artifact, unused = await store(pool), await store(pool, b"never finished", complete=False)
        await pool.call("POST", "jobs", spec(a=artifact))
        swept = await pool.db.run(repository.abandon_unfinished, pool.clock.now() + timedelta(days=400), 100)
        assert swept == {unused}
        await sweep_abandoned(pool.engine.context, pool.store)
        assert {row.id: row.state for row in pool.rows(Artifact)}[artifact] == ArtifactState.STORED
        agent = await add_agent(pool)
        work = await agent.take_offer()
        assert len(work.offer.downloads) == 1

    play(hub_url, story)


def test_wrong_content_is_the_renters_and_a_silent_server_nobodys(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job = (await pool.call("POST", "jobs", {**spec(a=URL), "retries": 3})).json()["id"]
        work = await agent.take_offer()
        await agent.finish(work, exit_code=None, reason=EndReason.UNREACHABLE, detail="it did not answer")
        (first,) = (await pool.job(job)).slices
        assert (first.state, first.attempts[0].verdict) == ("queued", "hub")
        work = await agent.take_offer()
        await agent.finish(work, exit_code=None, reason=EndReason.BAD_INPUT, detail="there is nothing at the URL")
        view = await pool.job(job)
        assert (view.state, view.verdict) == ("failed", "renter")
        assert view.message == "An input cannot be used. There is nothing at the URL"

    play(sqlite_hub, story)


def test_host_without_internet_for_strangers_is_not_asked_to_fetch_for_them():
    from computepool.hub.market.feasibility import is_welcome
    from computepool.hub.market.requirements import requirements_of
    from computepool.hub.scheduling.fleet_node import traits_of
    from computepool.protocol.capacity import Capacity, HouseRules

    capacity = Capacity(cpus=1, memory_bytes=1, disk_bytes=1, rules=HouseRules(internet=False))
    alices, bobs = (traits_of("node_1", owner_id, None, (), capacity) for owner_id in (ALICE, BOB))
    fetching = requirements_of(parse_spec(spec(a=URL)), ALICE)
    stored = requirements_of(parse_spec(spec(a="artifact_1")), ALICE)
    assert (is_welcome(fetching, bobs), is_welcome(stored, bobs)) == (False, True)
    assert is_welcome(fetching, alices)
