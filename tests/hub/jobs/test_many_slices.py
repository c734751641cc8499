"""Jobs with more slices, attempts and outputs than fit into one answer: nothing is cut without a word."""

import asyncio
import base64
import json

import pytest
from sqlalchemy import insert, update
from support.asgi_socket import connected
from support.engine import ALICE, play
from support.proofs import figure
from support.scripted_agent import add_agent

from computepool.hub.artifacts import usage
from computepool.hub.artifacts.tables import Artifact
from computepool.hub.artifacts.usage import Amount
from computepool.hub.jobs.tables import Attempt, Job, Slice

SLICES = 2_500
DIGEST = "sha256:" + "0" * 64


def paper(kind, index, number):
    return json.dumps({"type": kind, "key_id": "k", "body": f"{index}.{number}", "signature": "AAAA"})


def fill(session, job_id, node_id, now, *, slices=SLICES, numbers=(1,), outputs=1):
    """As if all of it had run: every attempt failed but the last, and each left a file behind."""
    attempts, artifacts = [], []
    for index in range(slices):
        for number in numbers:
            attempt_id = f"attempt_{index:05}_{number}"
            state = "succeeded" if number == numbers[-1] else "failed"
            attempts.append(
                {
                    "id": attempt_id,
                    "job_id": job_id,
                    "slice_index": index,
                    "number": number,
                    "fence": number,
                    "node_id": node_id,
                    "own": True,
                    "state": state,
                    "manifest": paper("manifest", index, number),
                    "receipt": paper("receipt", index, number),
                    "leased_at": now,
                    "finished_at": now,
                    "log_bytes": 0,
                }
            )
            artifacts += [
                {
                    "id": f"artifact_{index:05}_{number}_{name}",
                    "owner_id": ALICE,
                    "digest": DIGEST,
                    "size_bytes": 1,
                    "kind": "output",
                    "state": "stored",
                    "attempt_id": attempt_id,
                    "path": f"out/{name}.{number}",
                    "writable_until": now,
                    "created_at": now,
                    "stored_at": now,
                }
                for name in range(outputs)
            ]
    session.execute(insert(Attempt), attempts)
    if artifacts:
        session.execute(insert(Artifact), artifacts)
        usage.count(session, {ALICE: Amount(len(artifacts), len(artifacts))}, now)
    done = {"state": "succeeded", "finished_at": now}
    session.execute(update(Slice).values(**done, fence=numbers[-1], attempts=len(numbers)))
    session.execute(update(Job).values(**done, slices_left=0))


async def finished_job(pool, **how):
    agent = await add_agent(pool, connect=False)
    job_id = await pool.submit(slices=how.get("slices", SLICES))
    await pool.db.run(fill, job_id, agent.node_id, pool.clock.now(), **how)
    return job_id


async def all_pages(pool, path, **query):
    items, cursor, pages = [], None, 0
    while True:
        page = (await pool.call("GET", path, params={**query, **({"cursor": cursor} if cursor else {})})).json()
        items += page["items"]
        cursor, pages = page["next"], pages + 1
        if cursor is None:
            return items, pages


def test_job_shows_its_first_thousand_slices_and_says_where_they_go_on(hub_url):
    async def story(pool):
        job_id = await finished_job(pool)
        seen, start = [], 0
        while start is not None:
            shown = (await pool.call("GET", f"jobs/{job_id}", params={"from_slice": start})).json()
            assert shown["counts"] == {"succeeded": SLICES}
            assert len(shown["slices"]) <= 1000
            assert all(len(part["attempts"]) == 1 for part in shown["slices"])
            seen += [part["index"] for part in shown["slices"]]
            start = shown["next_slice"]
        assert seen == list(range(SLICES))
        one = (await pool.call("GET", f"jobs/{job_id}", params={"from_slice": 1500, "slice_limit": 1})).json()
        assert [(part["index"], len(part["attempts"])) for part in one["slices"]] == [(1500, 1)]
        for wrong in ({"from_slice": -1}, {"slice_limit": 0}, {"slice_limit": 1001}):
            assert (await pool.call("GET", f"jobs/{job_id}", params=wrong)).status_code == 422

    play(hub_url, story)


def test_slices_that_were_tried_often_are_shown_with_all_their_attempts(sqlite_hub):
    async def story(pool):
        job_id = await finished_job(pool, slices=300, numbers=range(1, 31))
        first = (await pool.call("GET", f"jobs/{job_id}")).json()
        assert first["next_slice"] == len(first["slices"]) == 5000 // 30
        assert {len(part["attempts"]) for part in first["slices"]} == {30}

    play(sqlite_hub, story)


def test_outputs_of_every_slice_are_listed_page_by_page(hub_url):
    async def story(pool):
        job_id = await finished_job(pool, numbers=(1, 2), outputs=2)
        items, pages = await all_pages(pool, f"jobs/{job_id}/artifacts", limit=500)
        assert pages == 10
        expected = [(index, 2, f"out/{name}.2") for index in range(SLICES) for name in range(2)]
        assert [(item["slice"], item["attempt"], item["path"]) for item in items] == expected
        odd, _ = await all_pages(pool, f"jobs/{job_id}/artifacts", limit=499)  # cuts slices in two
        assert [item["path"] for item in odd] == [item["path"] for item in items]
        unasked = (await pool.call("GET", f"jobs/{job_id}/artifacts")).json()
        assert len(unasked["items"]) == 500
        assert unasked["next"] is not None
        for bad in ("x", "-1.a", "9999999999.a", "1e3.a"):
            answer = await pool.call("GET", f"jobs/{job_id}/artifacts", params={"cursor": bad})
            assert answer.status_code == 422, bad

    play(hub_url, story)


def test_receipts_of_every_attempt_are_listed_page_by_page(hub_url):
    async def story(pool):
        job_id = await finished_job(pool, numbers=(1, 2, 3), outputs=0)
        items, pages = await all_pages(pool, f"jobs/{job_id}/receipts", limit=500)
        assert pages == 15
        expected = [(index, number) for index in range(SLICES) for number in (1, 2, 3)]
        assert [(item["slice"], item["attempt"]) for item in items] == expected
        assert items[-1]["receipt"]["body"] == f"{SLICES - 1}.3"
        assert (await pool.call("GET", f"jobs/{job_id}/receipts", params={"cursor": "1.x"})).status_code == 422

    play(hub_url, story)


def stream(pool, job_id, query=""):
    app = pool.client._transport.app
    return connected(app, f"/api/v1/jobs/{job_id}/stream{query}", {"Authorization": f"Bearer {pool.token(ALICE)}"})


def test_log_of_a_late_slice_is_streamed_like_any_other(sqlite_hub):
    async def story(pool):
        job_id = await finished_job(pool)
        for index in (0, 999, 1000, SLICES - 1):
            await pool.engine.logs.append(f"attempt_{index:05}_1", 0, b"%d\n" % index)
        for query, expected in [("", {0, 999, 1000, SLICES - 1}), ("?slice=2499", {2499}), ("?slice=1500", set())]:
            logs = {}
            async with stream(pool, job_id, query) as socket:
                while (frame := await socket.receive())["type"] != "end":
                    if frame["type"] == "log":
                        logs[frame["slice"]] = base64.b64decode(frame["data"])
            assert logs == {index: b"%d\n" % index for index in expected}
        answer = await pool.call("GET", f"jobs/{job_id}/logs", params={"slice": 2499})
        assert answer.content == b"2499\n"

    play(sqlite_hub, story)


@pytest.mark.proof
def test_stream_of_a_large_job_is_told_little_however_much_happens(sqlite_hub):
    slices = figure(150, 1_000)

    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        job_id = await pool.submit(slices=slices)
        frames = []

        async def read(socket):
            while True:
                frame = await socket.receive()
                frames.append((pool.loop.time(), frame["type"]))
                if frame["type"] == "end":
                    return frame["job"]

        async with stream(pool, job_id) as socket:
            reading = asyncio.create_task(read(socket))
            began = pool.loop.time()
            for _ in range(slices):
                await agent.run_next()
                await asyncio.sleep(0.01)
            last = pool.loop.time()
            job = await reading
        assert (job["state"], job["counts"]) == ("succeeded", {"succeeded": slices})
        shown = [at for at, kind in frames if kind == "job"]
        # 2,000 slices at once and 500 a second: of a job of 1,000 two views and one every two seconds; and the last.
        assert len(shown) <= (2_000 + 500 * (last - began)) / slices + 2
        assert frames[-1][0] - last < 0.1  # which nobody waits for

    play(sqlite_hub, story)


def test_stream_of_a_small_job_tells_each_change_at_once(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        async with stream(pool, job_id) as socket:
            states = [(await socket.receive())["job"]["slices"][0]["attempts"][0]["state"]]
            work = await agent.take_offer()
            began = pool.loop.time()
            await agent.finish(work)
            while (frame := await socket.receive())["type"] != "end":
                states.append(frame["job"]["slices"][0]["attempts"][0]["state"])
            assert pool.loop.time() - began < 0.1
        assert (states[0], states[-1]) == ("leased", "succeeded")

    play(sqlite_hub, story)
