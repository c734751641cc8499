"""The stream of one job as changes: what a client puts together from them is what the job is."""

import json
from types import SimpleNamespace
from typing import Any

import pytest
from support.asgi_socket import Denied, connected
from support.engine import ALICE, play
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.client.follow import Ended, Follower, JobChanged
from computepool.client.logs import LogChunk
from computepool.client.models import Job
from computepool.hub.jobs.stream import JobStream


def stream(pool, job_id, query):
    app = pool.client._transport.app
    headers = {"Authorization": f"Bearer {pool.token(ALICE)}"}
    return connected(app, f"/api/v1/jobs/{job_id}/stream{query}", headers)


async def shown(pool, job_id):
    return Job.model_validate((await pool.call("GET", f"jobs/{job_id}")).json())


async def follower_has_the_whole_job(pool):
    agent = await add_agent(pool, cpus=2)
    job_id = await pool.submit(slices=5, resources={"cpus": 1}, env={"A": "b"})
    http: Any = SimpleNamespace(url="http://hub.test", token="x")  # no request is made
    follower = Follower(http, job_id)
    query = follower._address().partition("?")[2]
    sizes, log = [], b""
    async with stream(pool, job_id, f"?{query}") as socket:
        for _ in range(5):
            work = await agent.take_offer()
            await agent.update(work, "running")
            await agent.write_log(work, b"x")
            await agent.finish(work)
            await pool.settle(2)
            job = None
            while not socket.from_app.empty():
                frame = await socket.receive()
                if frame["type"] == "slices":
                    sizes.append(len(frame["slices"]))
                    for told in follower._frame(json.dumps(frame)):
                        assert isinstance(told, JobChanged)
                        job = told.job
                elif frame["type"] == "log":
                    (piece,) = follower._frame(json.dumps(frame))
                    assert isinstance(piece, LogChunk)
                    log += piece.data
                else:
                    (*_, ended) = follower._frame(json.dumps(frame))
                    assert isinstance(ended, Ended)
                    job = ended.job
                    break
            assert job == await shown(pool, job_id)
    assert sizes[0] == 5
    assert max(sizes[1:]) < 5
    assert log == b"x" * 5


async def window_leaves_out_the_others(pool):
    agent = await add_agent(pool, cpus=1)
    job_id = await pool.submit(slices=4, resources={"cpus": 1})
    work = await agent.take_offer()
    async with stream(pool, job_id, "?frames=changes&from_slice=2&slice_limit=2&logs=window") as socket:
        first = await socket.receive()
        assert [part["index"] for part in first["slices"]] == [2, 3]
        await agent.write_log(work, b"of another slice")
        await agent.update(work, "running")
        await pool.settle(2)
        while not socket.from_app.empty():
            frame = await socket.receive()
            assert (frame["type"], frame["slices"]) == ("slices", [])  # only the job itself changed


async def every_frame_has_all_slices(pool):
    """As it was before: for those who do not ask for changes."""
    agent = await add_agent(pool)
    job_id = await pool.submit()
    work = await agent.take_offer()
    async with stream(pool, job_id, "") as socket:
        assert (await socket.receive())["job"]["slices"][0]["attempts"][0]["state"] == "leased"
        await agent.update(work, "running")
        frame = await socket.receive()
        assert (frame["type"], len(frame["job"]["slices"])) == ("job", 1)


def changes_are_forgotten(monkeypatch):
    changes = JobStream._changes

    def without(self, picture):
        frame = changes(self, picture)
        return "" if '"first":false' in frame and '"succeeded"' in frame else frame

    monkeypatch.setattr(JobStream, "_changes", without)


def everything_is_sent_again(monkeypatch):
    changes = JobStream._changes

    def again(self, picture):
        self._shown = {}
        return changes(self, picture)

    monkeypatch.setattr(JobStream, "_changes", again)


MUTANTS = {
    follower_has_the_whole_job: [changes_are_forgotten, everything_is_sent_again],
    window_leaves_out_the_others: [everything_is_sent_again],
    every_frame_has_all_slices: [],
}


@each_check(MUTANTS)
def test_changes(check, hub_url):
    play(hub_url, check)


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, sqlite_hub, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)


@pytest.mark.parametrize("query", ["frames=all", "frames=changes&slice_limit=0", "frames=changes&logs=some"])
def test_window_that_is_not_possible_is_refused(sqlite_hub, query):
    async def story(pool):
        job_id = await pool.submit(where={"tags": ["nowhere"]})
        with pytest.raises(Denied) as denied:
            async with stream(pool, job_id, f"?{query}"):
                pass
        assert denied.value.status == 422

    play(sqlite_hub, story)
