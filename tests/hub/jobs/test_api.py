"""Jobs over HTTP: submit once, see, follow, retry."""

import asyncio
import base64
import json
import random
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from support.asgi_socket import Closed, Denied, connected
from support.engine import ADMIN, ALICE, BOB, play
from support.proofs import figure
from support.scripted_agent import add_agent

from computepool.hub.accounts.directory import LiveToken, Revoked
from computepool.hub.accounts.tokens import hash_of, new_personal_token
from computepool.hub.api import job_stream
from computepool.hub.api.job_stream import _until_unwelcome
from computepool.hub.core.http import Role, Scope
from computepool.hub.core.streaming import hear_nothing, serve_frames
from computepool.hub.jobs.tables import Attempt, Job
from computepool.protocol.errors import SIGNED_OUT
from computepool.protocol.receipt import EndReason

SPEC = {"run": ["echo", "hello"], "name": "greeting"}


def keyed(key):
    return {"headers": {"Idempotency-Key": key}}


# ── submit ───────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("run", "name"),
    [
        ("# trains it\n\nmake train\nmake test", "make train"),
        ("python3 - <<'END'\nprint(1)\nEND", "python3 script"),
        (["sort", "-u"], "sort -u"),
    ],
)
def test_job_without_a_name_is_called_by_its_first_command(sqlite_hub, run, name):
    async def story(pool):
        job_id = await pool.submit(run=run)
        assert (await pool.call("GET", f"jobs/{job_id}")).json()["name"] == name

    play(sqlite_hub, story)


def test_submit_is_one_commit_with_its_lease(hub_url):
    async def story(pool):
        agent = await add_agent(pool)
        assert pool.client
        pool.db.commits.clear()
        answer = await pool.call("POST", "jobs", SPEC, **keyed("k"))
        assert answer.status_code == 201
        assert pool.db.commits == ["store"]
        job = answer.json()
        assert (job["state"], job["name"], job["owner_id"]) == ("running", "greeting", ALICE)
        assert job["slices"][0]["attempts"][0]["state"] == "leased"
        work = await agent.take_offer()
        assert work.manifest.argv == ("echo", "hello")

    play(hub_url, story)


@pytest.mark.parametrize("slices", [1, 3, 1_200])
@pytest.mark.parametrize("has_room", [True, False])
def test_answer_to_a_submit_is_what_a_look_would_show(hub_url, slices, has_room):
    async def story(pool):
        if has_room:
            await add_agent(pool, name="roomy", cpus=2)
        answer = (await pool.call("POST", "jobs", {**SPEC, "slices": slices, "priority": 3})).json()
        assert (await pool.call("GET", f"jobs/{answer['id']}")).json() == answer
        await pool.cancel(answer["id"])
        again = (await pool.call("POST", f"jobs/{answer['id']}/retry")) if not has_room else None
        if again is not None:
            assert (await pool.call("GET", f"jobs/{again.json()['id']}")).json() == again.json()

    play(hub_url, story)


def test_same_key_gives_the_same_job_and_a_changed_body_409(hub_url):
    async def story(pool):
        await add_agent(pool)
        first = (await pool.call("POST", "jobs", SPEC, **keyed("k"))).json()
        again = await pool.call("POST", "jobs", SPEC, **keyed("k"))
        assert (again.status_code, again.json()["id"]) == (201, first["id"])
        changed = await pool.call("POST", "jobs", {**SPEC, "name": "other"}, **keyed("k"))
        assert (changed.status_code, changed.json()["error"]["code"]) == (409, "idempotency_mismatch")
        retried = await pool.call("POST", f"jobs/{first['id']}/retry", **keyed("k"))
        assert retried.status_code == 409
        others = await pool.call("POST", "jobs", SPEC, user=BOB, **keyed("k"))
        assert others.json()["id"] != first["id"]
        assert len(pool.rows(Job)) == 2
        assert len(pool.rows(Attempt)) == 2

    play(hub_url, story)


@pytest.mark.proof
def test_lost_replies_make_no_second_job(sqlite_hub):
    """Every request is sent until its answer arrives, and three in ten are lost on the way back (promise 8)."""

    async def story(pool):
        await add_agent(pool, cpus=1)
        count, requests = figure(60, 2_500), 0
        for number in range(count):
            lost = True
            while lost:
                requests += 1
                answer = await pool.call("POST", "jobs", {"run": ["job", str(number)]}, **keyed(f"k{number}"))
                assert answer.status_code == 201
                lost = pool.rng.random() < 0.3
        assert len(pool.rows(Job)) == count
        assert requests > count * 1.2

    play(sqlite_hub, story)


def test_twins_at_the_same_moment_are_one_job(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=4)
        assert pool.client
        with pool.db.held("store"):
            calls = [asyncio.create_task(pool.call("POST", "jobs", SPEC, **keyed("k"))) for _ in range(3)]
            await pool.settle()
        ids = {(await call).json()["id"] for call in calls}
        assert len(ids) == 1
        assert len(pool.rows(Attempt)) == 1
        assert pool.engine.scheduler.fleet.get(agent.node_id).free.cpu_millis == 3000

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    ("body", "code", "field"),
    [
        (b"", "bad_spec", "(body)"),
        (b"{", "bad_spec", "(body)"),
        (b"[]", "bad_spec", "(body)"),
        (b"[" * 100_000, "bad_spec", "(body)"),
        (b"{}", "bad_spec", "run"),
        (b'{"run": "x", "retires": 3}', "bad_spec", "retires"),
        (b'{"run": "x", "resources": {"memory": "much"}}', "bad_spec", "resources.memory"),
        (b'{"run": "x", "slices": 0}', "bad_spec", "slices"),
        (b'{"run": "x", "notify": ["my-webhook"]}', "not_supported_yet", "notify"),
        (b'{"run": "a\\u0000b"}', "bad_spec", "run"),
    ],
)
def test_bad_spec_is_refused_by_the_name_of_its_field(sqlite_hub, body, code, field):
    async def story(pool):
        answer = await pool.call("POST", "jobs", content=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, code)
        assert answer.json()["error"]["fields"][0]["field"] == field
        assert pool.rows(Job) == []

    play(sqlite_hub, story)


def test_huge_spec_is_not_even_kept_in_memory(sqlite_hub):
    async def story(pool):
        read = 0

        async def endless():
            nonlocal read
            while read < 100 * 1024**2:
                read += 64 * 1024
                yield b" " * 64 * 1024

        answer = await pool.call("POST", "jobs", content=endless())
        assert (answer.status_code, answer.json()["error"]["code"]) == (413, "too_large")
        assert read < 4 * 1024**2

    play(sqlite_hub, story)


def test_bundle_must_be_stored_and_the_callers(sqlite_hub):
    async def story(pool):
        answer = await pool.call("POST", "jobs?bundle=artifact_of_nobody", SPEC)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_bundle")
        files = {"bundle": ("work.tar.gz", b"an archive"), "spec": (None, json.dumps(SPEC))}
        answer = await pool.call("POST", "jobs", files=files)
        assert answer.status_code == 201, answer.text
        bundle = pool.rows(Job)[0].bundle["id"]
        assert (await pool.call("POST", f"jobs?bundle={bundle}", SPEC)).status_code == 201
        stolen = await pool.call("POST", f"jobs?bundle={bundle}", SPEC, user=BOB)
        assert (stolen.status_code, stolen.json()["error"]["code"]) == (422, "bad_bundle")
        agent = await add_agent(pool)
        work = await agent.take_offer()
        assert work.manifest.bundle is not None
        assert work.manifest.bundle.size_bytes == 10
        assert len(work.offer.downloads[work.manifest.bundle.digest]) == 1
        for wrong in ({"spec": (None, json.dumps(SPEC))}, {"bundle": ("x", b"y")}, {"spec": (None, "{")}):
            assert (await pool.call("POST", "jobs", files=wrong)).status_code == 422

    play(sqlite_hub, story)


def test_bundle_that_its_sender_may_not_store_is_refused_before_it_is_read(sqlite_hub):
    """Until it is stored it is in the hub's temporary folder, where no limit of storage counts it."""

    async def story(pool):
        read = 0

        async def endless():
            nonlocal read
            head = 'Content-Disposition: form-data; name="bundle"; filename="x"'
            yield f"--b\r\n{head}\r\n\r\n".encode()
            while read < 2 * 1024**2:
                read += 64 * 1024
                yield b" " * 64 * 1024

        async def send(**headers):
            kind = {"content-type": "multipart/form-data; boundary=b"}
            answer = await pool.call("POST", "jobs", content=endless(), headers={**kind, **headers})
            return answer.status_code, answer.json()["error"]["code"]

        assert await send(**{"content-length": str(2 * 1024**2)}) == (413, "storage_quota")
        assert await send() == (422, "invalid")
        assert read == 0

    play(sqlite_hub, story, settings={"storage_limit_bytes": 1024**2})


def test_account_sends_no_more_bundles_at_once_than_make_the_largest_one(sqlite_hub):
    async def story(pool):
        async with pool.engine.uploads.receiving(BOB, 2 * 1024**3 - 10), pool.engine.uploads.receiving(BOB, 10):
            files = {"bundle": ("work.tar.gz", b"an archive"), "spec": (None, json.dumps(SPEC))}
            answer = await pool.call("POST", "jobs", files=files, user=BOB)
            assert (answer.status_code, answer.json()["error"]["code"]) == (429, "too_many_bundles")
            assert (await pool.call("POST", "jobs", files=files)).status_code == 201
        assert (await pool.call("POST", "jobs", files=files, user=BOB)).status_code == 201

    play(sqlite_hub, story, settings={"storage_limit_bytes_per_day": 0})


# ── see ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_list_goes_page_by_page_newest_first(hub_url):
    async def story(pool):
        jobs = [await pool.submit() for _ in range(7)]
        await pool.cancel(jobs[3])
        found, cursor = [], ""
        while cursor is not None:
            page = (await pool.call("GET", f"jobs?limit=3{cursor and '&cursor=' + cursor}")).json()
            found += [job["id"] for job in page["items"]]
            cursor = page["next"]
        assert found == jobs[::-1]
        only = (await pool.call("GET", "jobs?state=canceled&state=failed")).json()["items"]
        assert [job["id"] for job in only] == [jobs[3]]
        for wrong in ("limit=0", "limit=501", "state=lost"):
            assert (await pool.call("GET", f"jobs?{wrong}")).status_code == 422

    play(hub_url, story)


def test_why_says_that_a_job_is_suspended_where_it_is(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        job_id = await pool.submit(slices=2)
        first, second = await agent.take_offer(), await agent.take_offer()
        await agent.update(first, "running")
        await agent.update(second, "running")
        told = [(await pool.call("GET", f"jobs/{job_id}/why")).json()["summary"]]
        await agent.update(first, "suspended")
        told.append((await pool.call("GET", f"jobs/{job_id}/why")).json()["summary"])
        assert told[0] == "Every slice has a node: it waits for nothing."
        assert told[1].startswith("1 of 2 slices with a node are suspended: the machine's owner has paused it")

    play(sqlite_hub, story)


def test_why_tells_groups_of_slices_that_wait_alike(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, cpus=2)
        job_id = await pool.submit(slices=4, retries=3)
        await agent.finish(await agent.take_offer(), exit_code=1)
        await pool.settle(0.1)
        answer = (await pool.call("GET", f"jobs/{job_id}/why")).json()
        assert answer["state"] == "running"
        assert sorted(group["slices"] for group in answer["waiting"]) == [[0], [3]]
        assert answer["summary"].startswith("It failed before, and is tried again at")
        done = await pool.submit(resources={"cpus": 64})
        await pool.cancel(done)
        answer = (await pool.call("GET", f"jobs/{done}/why")).json()
        assert (answer["summary"], answer["waiting"]) == ("It was canceled: it waits for nothing.", [])

    play(sqlite_hub, story)


# ── retry ────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_retry_is_a_new_job_linked_to_the_old(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        old = await pool.submit(env={"A": "1"}, slices=2)
        early = await pool.call("POST", f"jobs/{old}/retry")
        assert (early.status_code, early.json()["error"]["code"]) == (409, "job_not_final")
        for _ in range(2):
            await agent.run_next(exit_code=1)
        answer = await pool.call("POST", f"jobs/{old}/retry", **keyed("again"))
        new = answer.json()
        assert (answer.status_code, new["retry_of"], new["state"]) == (201, old, "running")
        assert new["spec"] == (await pool.job(old)).spec
        assert (await pool.call("POST", f"jobs/{old}/retry", **keyed("again"))).json()["id"] == new["id"]
        work = await agent.take_offer()
        assert (work.manifest.job_id, work.manifest.env["A"]) == (new["id"], "1")
        assert (await pool.job(old)).state == "failed"
        assert (await pool.call("POST", f"jobs/{old}/retry", user=BOB)).status_code == 404

    play(sqlite_hub, story)


# ── logs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_log_is_read_by_offset_while_it_grows_and_after(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit(retries=1)
        assert await _read(pool, job_id) == (b"", "0", "0", "1")
        work = await agent.take_offer()
        await agent.write_log(work, b"first\n")
        assert await _read(pool, job_id) == (b"first\n", "6", "0", "1")
        await agent.finish(work, exit_code=1)
        work = await agent.take_offer()
        await agent.write_log(work, b"second\n")
        await agent.finish(work)
        assert await _read(pool, job_id) == (b"second\n", "7", "1", "2")
        assert await _read(pool, job_id, after=3) == (b"ond\n", "7", "1", "2")
        assert await _read(pool, job_id, after=99) == (b"", "99", "1", "2")
        assert await _read(pool, job_id, attempt=1) == (b"first\n", "6", "1", "1")
        huge = 10**30
        for wrong, status in (
            *(("slice=1", 404), ("attempt=3", 404), ("after=-1", 422), ("attempt=0", 422)),
            *((f"attempt={huge}", 422), (f"slice={huge}", 422), (f"after={huge}", 422)),
        ):
            assert (await pool.call("GET", f"jobs/{job_id}/logs?{wrong}")).status_code == status, wrong

    play(sqlite_hub, story)


def test_log_of_a_job_that_never_ran_is_complete_when_it_is_over(sqlite_hub):
    """Or whoever follows it would wait for ever."""

    async def story(pool):
        job_id = await pool.submit()
        assert await _read(pool, job_id) == (b"", "0", "0", "0")
        await pool.cancel(job_id)
        assert await _read(pool, job_id) == (b"", "0", "1", "0")

    play(sqlite_hub, story)


async def _read(pool, job_id, **query):
    answer = await pool.call("GET", f"jobs/{job_id}/logs", params=query)
    assert answer.status_code == 200, answer.text
    headers = answer.headers
    return answer.content, headers["X-Next-Offset"], headers["X-Log-Complete"], headers["X-Attempt"]


# ── the live stream ──────────────────────────────────────────────────────────────────────────────────────────────────


def stream(pool, job_id, query="", user=ALICE):
    app = pool.client._transport.app
    return connected(app, f"/api/v1/jobs/{job_id}/stream{query}", {"Authorization": f"Bearer {pool.token(user)}"})


async def collect(socket):
    """Until its end: (states seen, log by (slice, attempt), the last job)."""
    states: list[str] = []
    logs: dict[tuple[int, int], bytes] = {}
    while True:
        frame = await socket.receive()
        if frame["type"] == "end":
            return states, logs, frame["job"]
        if frame["type"] == "job":
            states.append(frame["job"]["state"])
            continue
        place = (frame["slice"], frame["attempt"])
        known = logs.setdefault(place, b"")
        assert frame["offset"] == len(known)
        logs[place] = known + base64.b64decode(frame["data"])


def test_stream_tells_every_change_and_every_byte_and_then_ends(hub_url):
    async def story(pool):
        job_id = await pool.submit(slices=2)
        async with stream(pool, job_id) as socket:
            collecting = asyncio.create_task(collect(socket))
            await pool.settle()
            agent = await add_agent(pool)
            for _ in range(2):
                work = await agent.take_offer()
                for line in range(20):
                    await agent.write_log(work, f"slice {work.manifest.slice_index} line {line}\n".encode())
                await agent.finish(work)
            states, logs, job = await collecting
            assert (states[0], states[-1], job["state"]) == ("queued", "succeeded", "succeeded")
            for index in range(2):
                assert logs[index, 1] == b"".join(f"slice {index} line {i}\n".encode() for i in range(20))
            with pytest.raises(Closed) as closed:
                await socket.receive()
            assert closed.value.code == 1000

    play(hub_url, story)


def test_stream_goes_on_where_the_reader_was(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit(retries=1)
        await agent.run_next(exit_code=1)
        work = await agent.take_offer()
        await agent.write_log(work, b"0123456789")
        await agent.finish(work)
        for query, expected in [
            ("", {(0, 2): b"0123456789"}),
            ("?slice=0", {(0, 2): b"0123456789"}),
        ]:
            async with stream(pool, job_id, query) as socket:
                assert (await collect(socket))[1] == expected
        async with stream(pool, job_id, "?from=0.2:7,0.1:6") as socket:
            frames = []
            while (frame := await socket.receive())["type"] != "end":
                frames.append(frame)
            logs = [(f["attempt"], f["offset"], base64.b64decode(f["data"])) for f in frames if f["type"] == "log"]
            assert logs == [(2, 7, b"789")]

    play(sqlite_hub, story)


def test_stream_of_a_slice_that_is_not_there_is_refused(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit(slices=2)
        with pytest.raises(Denied, match="there is no slice 2") as denied:
            async with stream(pool, job_id, "?slice=2"):
                raise AssertionError("it was accepted")
        assert denied.value.status == 404

    play(sqlite_hub, story)


@pytest.mark.parametrize("query", ["?slice=x", "?from=1", "?from=0.1:-5", "?slice=0&after=-1", "?from=a.b:c"])
def test_stream_with_a_senseless_question_is_refused(sqlite_hub, query):
    async def story(pool):
        job_id = await pool.submit()
        with pytest.raises(Denied) as denied:
            async with stream(pool, job_id, query):
                raise AssertionError("it was accepted")
        assert denied.value.status == 422

    play(sqlite_hub, story)


@pytest.mark.parametrize("how", ["token revoked", "session revoked", "user disabled", "token expired"])
def test_stream_of_a_reader_who_was_signed_out_is_closed_within_five_seconds(sqlite_hub, how):
    async def story(pool):
        directory, bearer = pool.engine.directory, pool.token(ALICE)
        if how.startswith("token"):
            bearer, ends = new_personal_token(random.Random(1).getrandbits), pool.clock.now() + timedelta(seconds=10)
            scopes = frozenset({Scope.JOBS_READ})
            directory.admit_token(LiveToken("token_1", hash_of(bearer), ALICE, Role.USER, scopes, ends))
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        path, headers = f"/api/v1/jobs/{job_id}/stream", {"Authorization": f"Bearer {bearer}"}
        async with (
            connected(pool.client._transport.app, path, headers) as socket,
            stream(pool, job_id, user=ADMIN) as other,
        ):
            assert (await socket.receive())["type"] == "job"
            await asyncio.sleep(8)
            match how:
                case "token revoked":
                    directory.revoke(Revoked(tokens=["token_1"]))
                case "session revoked":
                    directory.revoke(Revoked(sessions=["session_test"]))
                case "user disabled":
                    directory.disable_user(ALICE)
            at = pool.loop.time()
            assert (await _closed(socket), pool.loop.time() - at < 5) == (4401, True)
            await agent.write_log(work, b"not for everybody")
            await pool.settle()
            assert socket.from_app.empty()
            if how != "session revoked":  # tests have one session for all
                assert (await other.receive())["type"] == "job"
                await agent.finish(work)
                assert (await collect(other))[2]["state"] == "succeeded"

    play(sqlite_hub, story)


class SilentReader:
    """One that reads and says nothing. `ended_in` gets the turn of the event loop in which it was told."""

    def __init__(self, turns, ended_in):
        self._turns, self._ended_in = turns, ended_in

    async def receive(self):
        await asyncio.Event().wait()

    async def close(self, code, reason):
        assert code == SIGNED_OUT
        self._ended_in.append(len(self._turns))


async def _no_frames():
    await asyncio.Event().wait()
    yield ""


@pytest.mark.parametrize("at_once", [job_stream.ENDING_AT_ONCE, 10**6], ids=["batches", "planted bug"])
def test_streams_of_a_revoked_token_end_in_batches(monkeypatch, at_once):
    """An account may have hundreds, and others are answered in between."""
    monkeypatch.setattr(job_stream, "WELCOME_SECONDS", 0.0)

    async def story():
        turns: list[None] = []
        ended_in: list[int] = []
        ending = asyncio.Semaphore(at_once)
        sockets: list[Any] = [SilentReader(turns, ended_in) for _ in range(500)]
        readers = [
            asyncio.ensure_future(
                serve_frames(reader, _no_frames(), _until_unwelcome(lambda: False, ending), hear_nothing())
            )
            for reader in sockets
        ]
        while not all(reader.done() for reader in readers):
            await asyncio.sleep(0)
            turns.append(None)
        assert len(ended_in) == 500
        return max(Counter(ended_in).values())

    largest = asyncio.run(story())
    assert (largest <= job_stream.ENDING_AT_ONCE) == (at_once == job_stream.ENDING_AT_ONCE)


async def _closed(socket):
    try:
        while True:
            await socket.receive()
    except Closed as closed:
        return closed.code


def test_reader_that_goes_away_leaves_nothing_behind(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        before = len(asyncio.all_tasks())
        for _ in range(5):
            async with stream(pool, job_id) as socket:
                assert (await socket.receive())["type"] == "job"
            await agent.write_log(work, b"x")
        await agent.finish(work, exit_code=None, reason=EndReason.SANDBOX)
        await pool.settle()
        assert len(asyncio.all_tasks()) <= before
        assert pool.engine.context.bus._listeners.keys() <= {"accounts", "benchmarks"}, "only the hub itself listens"

    play(sqlite_hub, story)


def test_admin_may_look_at_their_own_jobs_alone(hub_url):
    async def story(pool):
        own = (await pool.call("POST", "jobs", SPEC, user=ADMIN)).json()["id"]
        others = (await pool.call("POST", "jobs", SPEC, user=BOB)).json()["id"]

        async def seen(path, user):
            return {job["id"] for job in (await pool.call("GET", path, user=user)).json()["items"]}

        assert await seen("jobs", ADMIN) == {others, own}
        assert await seen("jobs?mine=true", ADMIN) == {own}
        assert await seen("jobs?mine=true", BOB) == {others}

    play(hub_url, story)
