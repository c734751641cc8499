"""One stream per user: who hears of what, what they can ask for, and how it ends."""

import asyncio
import base64
import json
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from support.asgi_socket import Closed, Denied, connected
from support.engine import ADMIN, ALICE, BOB, play
from support.fleets import gpu
from support.planted import each_check, each_mutant
from support.scripted_agent import add_agent

from computepool.hub.accounts import service as accounts
from computepool.hub.accounts.directory import LiveToken, Revoked
from computepool.hub.accounts.tokens import hash_of, new_personal_token
from computepool.hub.api import events as events_api
from computepool.hub.core.http import Role, Scope
from computepool.hub.core.records import Event, record
from computepool.hub.jobs import tables
from computepool.hub.live import feed, rendering, subscriptions, wallets
from computepool.hub.live.feed import Reader
from computepool.hub.live.rendering import render
from computepool.protocol.messages import GpuLoad, NodeReport

NOW_TYPES = ("wallet", "load", "why", "hello")


def stream(pool, path="events", user=ALICE, query="", token=None):
    app = pool.client._transport.app
    headers = {"Authorization": f"Bearer {token or pool.token(user)}"} if user else {}
    return connected(app, f"/api/v1/{path}{query}", headers)


def personal_token(pool, *scopes, user=ALICE):
    text = new_personal_token(pool.rng.getrandbits)
    later = pool.clock.now() + timedelta(days=1)
    pool.engine.directory.admit_token(
        LiveToken(f"token_{text[-6:]}", hash_of(text), user, Role.USER, frozenset(scopes), later)
    )
    return text


async def receive(socket, *types):
    """The next message of these types; without any, the next one that is not a picture of now."""
    while True:
        message = await socket.receive()
        if message["type"] in types or (not types and message["type"] not in NOW_TYPES):
            return message


async def drain(socket):
    """What came so far."""
    found = []
    while not socket.from_app.empty():
        found.append(await socket.receive())
    return found


def kinds(messages):
    return [message["event"]["type"] for message in messages if message["type"] == "event"]


# ── who hears of what ────────────────────────────────────────────────────────────────────────────────────────────────


async def everybody_hears_of_their_own_alone(pool):
    """Bob rents Alice's node. An admin who owns neither, and a fourth, hear of none of it."""
    async with (
        stream(pool, user=ALICE) as host,
        stream(pool, user=BOB) as renter,
        stream(pool, user=ADMIN) as admin,
        stream(pool, user="user_carol") as other,
    ):
        agent = await add_agent(pool, owner=ALICE)
        job_id = await pool.submit(user=BOB)
        work = await agent.take_offer()
        await agent.update(work, "running")
        await agent.finish(work)
        await pool.settle()
        to_host, to_renter = await drain(host), await drain(renter)
        assert set(kinds(to_host)) == {"node", "hosted"}
        assert [m["event"]["state"] for m in to_host if m["type"] == "event" and m["event"]["type"] == "hosted"] == [
            "leased", "running", "succeeded",
        ]  # fmt: skip
        assert job_id not in json.dumps(to_host)
        assert BOB not in json.dumps(to_host)
        assert set(kinds(to_renter)) == {"job", "attempt"}
        assert [m["event"] for m in to_renter if m["type"] == "event"][-1] == {
            "type": "job", "job_id": job_id, "change": "ended", "state": "succeeded", "slices": None, "slice": None,
            "verdict": "ok", "reason": "exited", "exit_code": 0,
        }  # fmt: skip
        ids = [int(m["id"].partition("-")[2]) for m in to_renter if m["type"] == "event"]
        assert ids == sorted(set(ids))
        assert kinds(await drain(admin)) == kinds(await drain(other)) == []


async def somebody_elses_id_shows_nothing(pool):
    """An id is a place in the sequence of all events: whose it is does not matter for what is seen from there."""
    async with stream(pool, user=BOB) as renter:
        first = (await receive(renter, "hello"))["id"]
    await pool.submit(user=ALICE, where={"tags": ["nowhere"]})
    await pool.submit(user=BOB, where={"tags": ["nowhere"]})
    await pool.settle()
    for user, expected in ((BOB, 1), (ALICE, 1), ("user_carol", 0)):
        async with stream(pool, user=user, query=f"?after={first}") as socket:
            await pool.settle()
            assert len(kinds(await drain(socket))) == expected


async def token_hears_what_it_may_read(pool):
    only_jobs = personal_token(pool, Scope.JOBS_READ)
    with_nodes = personal_token(pool, Scope.JOBS_READ, Scope.NODES_READ)
    async with stream(pool, token=only_jobs) as jobs, stream(pool, token=with_nodes) as nodes:
        await add_agent(pool, owner=ALICE)
        await pool.submit(where={"tags": ["nowhere"]})
        await pool.db.run(
            lambda session: record(session, "card.saved", ALICE, pool.clock.now(), topics=(f"wallet/{ALICE}",))
        )
        await pool.settle()
        assert [m["type"] for m in await drain(jobs)] == ["hello", "event"]
        assert set(kinds(await drain(nodes))) == {"node", "job"}


async def checks_are_not_told(pool):
    """A job that runs another's slice again, to compare: its owner hears nothing of it, and a host cannot tell."""
    agent = await add_agent(pool, owner=ALICE)
    async with stream(pool, user=BOB) as renter, stream(pool, user=ALICE) as host:
        job_id = await pool.submit(user=BOB, verify={"replicas": 2}, deterministic=True)
        await pool.settle()
        replicas = [row.id for row in pool.rows(tables.Job) if row.rerun_of == job_id]
        assert replicas
        await agent.run_next()
        await pool.cancel(job_id, user=BOB)
        await pool.settle()
        told = json.dumps(await drain(renter)) + json.dumps(await drain(host))
        assert job_id in told
        assert not [replica for replica in replicas if replica in told]


async def admins_hear_what_needs_a_person(pool):
    def happen(session):
        for action in ("dispute.opened", "cash_out.requested", "node.accused", "payment.difference", "ledger.frozen"):
            record(session, action, "subject_1", pool.clock.now(), topics=("admin",))

    async with stream(pool, user=ADMIN) as admin, stream(pool, user=ALICE) as user:
        await pool.db.run(happen)
        await pool.db.run(
            lambda session: accounts.create_user(
                session, "user_new", pool.clock.now(), email="n@example.org", name="N", country=None, password_hash=None
            )
        )
        await pool.settle()
        changes = [m["event"]["change"] for m in await drain(admin) if m["type"] == "event"]
        assert changes == [
            "dispute_opened", "cash_out_requested", "node_accused", "payment_difference", "ledger_frozen",
            "user_registered",
        ]  # fmt: skip
        assert kinds(await drain(user)) == []


async def wallet_is_told_a_few_times_a_second(pool):
    async with stream(pool, user=BOB) as renter, stream(pool, user=ALICE) as host:
        await pool.settle()
        before = (await receive(renter, "wallet"))["spendable_micros"]
        await receive(host, "wallet")
        agent = await add_agent(pool, owner=ALICE)
        for _ in range(5):
            await pool.submit(user=BOB)
            work = await agent.take_offer()
            await agent.update(work, "running")
            await asyncio.sleep(0.02)
            await agent.finish(work)
        await pool.settle(2)
        told = [m for m in await drain(renter) if m["type"] == "wallet"]
        assert 1 <= len(told) <= 8
        assert told[-1]["held_micros"] == 0
        answer = await pool.call("GET", "wallet", user=BOB)
        assert told[-1]["spendable_micros"] == answer.json()["spendable_micros"] <= before
        assert [m for m in await drain(host) if m["type"] == "wallet"]


def hosts_hear_the_renters_event(monkeypatch):
    makers = dict(rendering._MAKERS)
    for (kind, action), maker in rendering._MAKERS.items():
        if kind == "owner":
            makers["host", action] = maker
    monkeypatch.setattr(rendering, "_MAKERS", makers)


def everybody_hears_everything(monkeypatch):
    topics = ("owner/user_alice", "owner/user_bob", "host/user_alice", "admin")
    monkeypatch.setattr("computepool.hub.api.events.topics_for", lambda _principal: topics)


def scopes_are_not_asked(monkeypatch):
    monkeypatch.setattr(feed, "SCOPES", dict.fromkeys(rendering.SCOPES, Scope.JOBS_READ))
    monkeypatch.setattr(feed, "NEEDS", dict.fromkeys(feed.NEEDS, Scope.JOBS_READ))


def hidden_jobs_have_an_owner(monkeypatch):
    monkeypatch.setattr(
        tables, "topics_of", lambda job_id, owner_id, is_hidden=False: (f"job/{job_id}", f"owner/{owner_id}")
    )
    monkeypatch.setattr("computepool.hub.jobs.ending.topics_of", tables.topics_of)


def every_movement_is_told(monkeypatch):
    monkeypatch.setattr(wallets, "PAUSE_SECONDS", 0.0)


def admins_are_everybody(monkeypatch):
    """Two rules keep it from others: topics and scopes."""
    everybody_hears_everything(monkeypatch)
    scopes_are_not_asked(monkeypatch)


MUTANTS = {
    everybody_hears_of_their_own_alone: [hosts_hear_the_renters_event, everybody_hears_everything],
    somebody_elses_id_shows_nothing: [everybody_hears_everything],
    token_hears_what_it_may_read: [scopes_are_not_asked],
    checks_are_not_told: [hidden_jobs_have_an_owner],
    admins_hear_what_needs_a_person: [admins_are_everybody],
    wallet_is_told_a_few_times_a_second: [every_movement_is_told],
}


@each_check(MUTANTS)
def test_events(check, hub_url):
    play(hub_url, check)


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, sqlite_hub, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)


# ── how it begins and ends ───────────────────────────────────────────────────────────────────────────────────────────


def test_stream_needs_a_token(sqlite_hub):
    async def story(pool):
        with pytest.raises(Denied) as denied:
            async with stream(pool, user=None):
                pass
        assert denied.value.status == 401
        assert (await pool.call("GET", "events", user=None)).status_code == 401

    play(sqlite_hub, story)


def test_unknown_parameter_of_a_stream_is_refused(sqlite_hub):
    """A reader that mistypes `after` would lose events without being told; a token in the address would be logged."""

    async def refused(pool, path, query):
        with pytest.raises(Denied) as denied:
            async with stream(pool, path, query=query):
                pass
        return denied.value.status, denied.value.error["message"]

    async def story(pool):
        assert await refused(pool, "events", "?aftr=1-1") == (422, "There is no parameter 'aftr' here.")
        assert await refused(pool, "events", "?access_token=x") == (422, "There is no parameter 'access_token' here.")
        assert await refused(pool, "public/events", "?after=1-1") == (422, "There is no parameter 'after' here.")
        async with stream(pool, query="?after=1-0") as socket:
            assert (await socket.receive())["type"] == "hello"

    play(sqlite_hub, story)


def test_revoked_token_ends_its_stream_within_a_second_or_so(sqlite_hub):
    async def story(pool):
        token = personal_token(pool, Scope.JOBS_READ)
        async with stream(pool, token=token) as socket, stream(pool) as others:
            await receive(socket, "hello")
            pool.engine.directory.revoke(Revoked(tokens=[f"token_{token[-6:]}"]))
            began = pool.loop.time()
            with pytest.raises(Closed) as closed:
                await socket.receive()
            assert closed.value.code == 4401
            assert pool.loop.time() - began <= 2  # virtual seconds
            await receive(others, "hello")
            await pool.submit(where={"tags": ["nowhere"]})
            assert (await receive(others))["event"]["type"] == "job"

    play(sqlite_hub, story)


@pytest.mark.parametrize("after", ["2-1", "1-999999", "x", "1-", "1-²", "-", ""])
def test_id_that_is_none_of_this_hub_starts_over(sqlite_hub, after):
    async def story(pool):
        await pool.submit(where={"tags": ["nowhere"]})
        async with stream(pool, query=f"?after={after}") as socket:
            hello = await receive(socket, "hello")
            told = await receive(socket)
            assert (told["type"], told["reason"], told["id"]) == ("start_over", "unknown_id", hello["id"])

    play(sqlite_hub, story)


def test_restore_from_a_backup_makes_readers_start_over(sqlite_hub):
    async def story(pool):
        async with stream(pool) as socket:
            cursor = (await receive(socket, "hello"))["id"]
        await pool.stop()
        pool.fence_epoch = 7
        await pool.start()
        async with stream(pool, query=f"?after={cursor}") as socket:
            assert (await receive(socket))["type"] == "start_over"

    play(sqlite_hub, story)


def test_slow_reader_holds_no_memory_and_misses_nothing(sqlite_hub, monkeypatch):
    """It takes nothing while far more happens than may wait for it."""
    monkeypatch.setattr(feed, "QUEUE_LIMIT", 10)
    waiting = []
    tell = Reader.tell

    def counting(self, event):
        tell(self, event)
        waiting.append(len(self.queue))

    monkeypatch.setattr(Reader, "tell", counting)

    async def story(pool):
        async with stream(pool) as socket:
            socket.from_app._maxsize = 1  # nothing more is taken until the test reads
            jobs = [await pool.submit(where={"tags": ["nowhere"]}) for _ in range(60)]
            await pool.settle()
            assert max(waiting) <= 10
            told = [(await receive(socket))["event"]["job_id"] for _ in range(60)]
            assert told == jobs

    play(sqlite_hub, story)


def test_scripts_read_the_same_as_server_sent_events(sqlite_hub):
    async def story(pool):
        first = (await pool.call("GET", "events?follow=false")).text
        assert first.startswith("id: 1-")
        cursor = first.splitlines()[0].removeprefix("id: ")
        job_id = await pool.submit(where={"tags": ["nowhere"]})
        await pool.settle()
        answer = await pool.call("GET", "events?follow=false", headers={"Last-Event-ID": cursor})
        assert answer.headers["content-type"].startswith("text/event-stream")
        _, told = answer.text.strip().split("\n\n")[:2]
        fields = dict(line.split(": ", 1) for line in told.splitlines())
        assert fields["event"] == "event"
        data = json.loads(fields["data"])
        assert (data["id"], data["event"]["job_id"]) == (fields["id"], job_id)
        by_query = await pool.call("GET", f"events?follow=false&after={cursor}")
        assert told in by_query.text
        assert (await pool.call("GET", "events?colour=red")).status_code == 422
        head = await pool.call("HEAD", "events")  # which ends, though the stream would not
        assert (head.status_code, head.headers["content-type"]) == (200, answer.headers["content-type"])

    play(sqlite_hub, story)


# ── what a reader asks for ───────────────────────────────────────────────────────────────────────────────────────────


def test_window_of_a_job_is_sent_once_and_then_its_changes(hub_url):
    async def story(pool):
        agent = await add_agent(pool, cpus=1)
        job_id = await pool.submit(slices=6, resources={"cpus": 1})
        work = await agent.take_offer()
        async with stream(pool) as socket:
            await socket.send(json.dumps({"type": "watch", "job_id": job_id, "from_slice": 0, "slice_limit": 3}))
            first = await receive(socket, "slices")
            assert first["first"]
            assert [part["index"] for part in first["slices"]] == [0, 1, 2]
            assert "spec" not in first["job"]
            assert first["job"]["counts"] == {"running": 1, "queued": 5}
            await agent.update(work, "running")
            then = await receive(socket, "slices")
            assert not then["first"]
            assert [part["index"] for part in then["slices"]] == [0]
            assert then["slices"][0]["attempts"][0]["state"] == "running"
            await socket.send(json.dumps({"type": "unwatch", "job_id": job_id}))
            await pool.settle()
            await drain(socket)
            await agent.finish(work)
            await pool.settle()
            assert [m for m in await drain(socket) if m["type"] == "slices"] == []

    play(hub_url, story)


def test_log_is_sent_on_demand_from_any_offset(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool)
        job_id = await pool.submit()
        work = await agent.take_offer()
        await agent.write_log(work, b"one two ")
        async with stream(pool) as socket:
            ask = {"type": "follow_log", "job_id": job_id, "slice": 0, "attempt": 1, "offset": 4}
            await socket.send(json.dumps(ask))
            piece = await receive(socket, "log")
            assert (piece["job_id"], piece["offset"], base64.b64decode(piece["data"])) == (job_id, 4, b"two ")
            await agent.write_log(work, b"three")
            assert base64.b64decode((await receive(socket, "log"))["data"]) == b"three"
            await agent.finish(work)
            ended = await receive(socket, "watch_ended")
            assert (ended["job_id"], ended["slice"], ended["code"]) == (job_id, 0, None)

    play(sqlite_hub, story)


def test_nobody_watches_somebody_elses_job(sqlite_hub):
    async def story(pool):
        job_id = await pool.submit(user=BOB, where={"tags": ["nowhere"]})
        async with stream(pool, user=ALICE) as socket:
            for ask in ({"type": "watch"}, {"type": "follow_log"}):
                await socket.send(json.dumps({**ask, "job_id": job_id}))
                ended = await receive(socket, "watch_ended", "slices", "log", "why")
                assert (ended["type"], ended["code"]) == ("watch_ended", "no_such_job")

    play(sqlite_hub, story)


def test_watched_job_tells_why_it_waits_when_that_changes(sqlite_hub, monkeypatch):
    async def story(pool):
        job_id = await pool.submit(where={"tags": ["special"]})
        looks = []
        why_now = events_api.why_now

        async def counting(engine, of):
            looks.append(of)
            return await why_now(engine, of)

        monkeypatch.setattr(events_api, "why_now", counting)
        async with stream(pool) as socket:
            await pool.settle(10)
            assert looks == []  # nobody watches it
            await socket.send(json.dumps({"type": "watch", "job_id": job_id}))
            first = await receive(socket, "why")
            assert (first["job_id"], first["state"]) == (job_id, "queued")
            agent = await add_agent(pool, tags=("special",))
            await agent.take_offer()
            then = await receive(socket, "why")
            assert then["summary"] != first["summary"]
            await pool.settle(10)
            assert [m for m in await drain(socket) if m["type"] == "why"] == []

    play(sqlite_hub, story)


def test_bad_message_is_refused_and_the_stream_goes_on(sqlite_hub):
    async def story(pool):
        async with stream(pool) as socket:
            for said in (
                "{",
                '{"type":"sing"}',
                '{"type":"watch","job_id":"a/b"}',
                '{"type":"watch","job_id":"j","from_slice":-1}',
            ):
                await socket.send(said)
                assert (await receive(socket))["code"] == "bad_message"
            for _ in range(subscriptions.SUBSCRIPTIONS_LIMIT):
                await socket.send(
                    json.dumps({"type": "follow_log", "job_id": await pool.submit(where={"tags": ["x"]}), "slice": 0})
                )
                await pool.settle(0.1)
            await drain(socket)
            await socket.send(json.dumps({"type": "watch", "job_id": await pool.submit(where={"tags": ["x"]})}))
            assert (await receive(socket, "refused"))["code"] == "too_many_subscriptions"
            await pool.submit(where={"tags": ["x"]})
            assert (await receive(socket, "event"))["event"]["type"] == "job"

    play(sqlite_hub, story)


# ── everybody ────────────────────────────────────────────────────────────────────────────────────────────────────────


def test_public_figures_are_rendered_once_for_all_readers(sqlite_hub, monkeypatch):
    async def story(pool):
        looks, look = [], events_api.look_public

        def counting(engine):
            looks.append(pool.loop.time())
            return look(engine)

        monkeypatch.setattr(events_api, "look_public", counting)
        async with stream(pool, "public/events", user=None) as one, stream(pool, "public/events", user=None) as two:
            assert (await one.receive())["stats"]["nodes_online"] == (await two.receive())["stats"]["nodes_online"] == 0
            await add_agent(pool)
            assert (await one.receive())["stats"]["nodes_online"] == 1
            assert (await two.receive())["stats"]["nodes_online"] == 1
            await pool.settle(10)
            assert one.from_app.empty()  # nothing changed but the time
        answer = await pool.call("GET", "public/events?follow=false", user=None)
        data = json.loads(answer.text.partition("data: ")[2])
        assert data["prices"]
        assert ALICE not in answer.text
        gaps = [later - earlier for earlier, later in pairwise(looks)]
        assert min(gaps) >= 0.99

    play(sqlite_hub, story)


def test_nobody_looks_for_readers_that_are_gone(sqlite_hub, monkeypatch):
    async def story(pool):
        async with stream(pool, "public/events", user=None) as socket:
            await socket.receive()
        looks: list[object] = []
        monkeypatch.setattr(events_api, "look_public", looks.append)
        await pool.settle(10)
        assert looks == []
        assert pool.engine.feed._readers == {}

    play(sqlite_hub, story)


def test_schema_of_all_messages_is_public(sqlite_hub):
    async def story(pool):
        answer = await pool.call("GET", "events/schema", user=None)
        assert answer.json()["hub"]["discriminator"]["mapping"].keys() >= {"event", "start_over", "wallet", "log"}

    play(sqlite_hub, story)


def test_event_that_is_not_known_is_not_told():
    assert render(Event("owner/a", {"action": "secret.thing", "subject": "x"}, datetime.now(UTC))) is None


def test_load_of_a_node_is_told_to_its_owner_alone(sqlite_hub):
    async def story(pool):
        agent = await add_agent(pool, owner=ALICE, gpus=(gpu(0),))
        async with stream(pool, user=ALICE) as host, stream(pool, user=BOB) as other:
            await agent.send(NodeReport(gpus=(GpuLoad(id=gpu(0).id, utilisation=0.5),)))
            told = await receive(host, "load")
            assert told["node_id"] == agent.node_id
            assert [(card["id"], card["utilisation"]) for card in told["gpus"]] == [(gpu(0).id, 0.5)]
            assert [message for message in await drain(other) if message["type"] == "load"] == []

    play(sqlite_hub, story)
