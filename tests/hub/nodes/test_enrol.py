"""How a machine becomes a node: a good token, and a key of its own that it really holds."""

import asyncio
import json

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from support.agents import CAPACITY
from support.engine import ALICE, BOB, play, play_with_threads
from support.scripted_agent import ScriptedAgent, add_agent, enrol_request
from support.waiting import patience

from computepool.agent.enrol import JoinFailed, join
from computepool.agent.home import AgentHome
from computepool.hub.app import create_app
from computepool.hub.nodes.tables import JoinToken, Node
from computepool.protocol.messages import Goodbye, Offer


async def token(pool, user=ALICE, **body):
    answer = await pool.call("POST", "nodes/join-tokens", body, user=user)
    assert answer.status_code == 201, answer.text
    return answer.json()["token"]


async def enrol(pool, text, key=None, **fields):
    """As a machine would: without any account."""
    key = key or Ed25519PrivateKey.generate()
    request = enrol_request(key, text, **{name: value for name, value in fields.items() if name != "forged"})
    body = request.model_dump(mode="json") | fields.get("forged", {})
    return await pool.call("POST", "nodes/enroll", body, user=None)


def test_machine_with_a_token_becomes_a_node_of_the_tokens_maker(hub_url):
    async def story(pool):
        answer = await enrol(pool, await token(pool), name="alpha", country="DE", tags=("fast", "big", "fast"))
        assert answer.status_code == 201, answer.text
        reply = answer.json()
        assert reply["hub_id"] == "hub_test"
        assert reply["keys"][0]["key_id"] == pool.engine.keyring.current_id
        (row,) = pool.rows(Node)
        assert (row.id, row.owner_id, row.state, row.tags) == (reply["node_id"], ALICE, "offline", ["big", "fast"])
        shown = (await pool.call("GET", f"nodes/{row.id}")).json()
        assert (shown["name"], shown["state"], shown["free"]["cpus"]) == ("alpha", "offline", 2)

    play(hub_url, story)


def test_token_is_kept_as_a_hash_and_works_once(sqlite_hub):
    async def story(pool):
        text = await token(pool)
        (row,) = pool.rows(JoinToken)
        assert text not in str(vars(row))
        assert (await enrol(pool, text)).status_code == 201
        second = await enrol(pool, text)
        assert (second.status_code, second.json()["error"]["code"]) == (422, "bad_join_token")
        assert len(pool.rows(Node)) == 1

    play(sqlite_hub, story)


def test_token_with_several_uses_works_so_often(sqlite_hub):
    async def story(pool):
        text = await token(pool, uses=3)
        assert [(await enrol(pool, text)).status_code for _ in range(4)] == [201, 201, 201, 422]

    play(sqlite_hub, story)


def test_repeated_request_for_a_join_token_makes_one(hub_url):
    async def story(pool):
        async def ask(key, **body):
            return await pool.call("POST", "nodes/join-tokens", body, headers={"Idempotency-Key": key})

        first, again, other = await ask("one"), await ask("one"), await ask("two")
        assert first.json() == again.json()
        assert other.json()["token"] != first.json()["token"]
        assert len(pool.rows(JoinToken)) == 2
        assert (await ask("one", uses=2)).json()["error"]["code"] == "idempotency_mismatch"
        assert (await enrol(pool, again.json()["token"])).status_code == 201
        assert (await enrol(pool, first.json()["token"])).status_code == 422
        assert (await ask("one")).json() == first.json()

    play(hub_url, story)


def test_expired_and_made_up_tokens_fail(sqlite_hub):
    async def story(pool):
        text = await token(pool, expires_in_seconds=60)
        await pool.settle(61)
        for bad in (text, "cpj_made_up", "", "x" * 200):
            answer = await enrol(pool, bad)
            assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_join_token")
        for wrong in ({"uses": 0}, {"uses": 1001}, {"expires_in_seconds": 0}, {"expires_in_seconds": 8 * 86400}):
            assert (await pool.call("POST", "nodes/join-tokens", wrong)).status_code == 422

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    "forged",
    [
        {"signature": "AAAA"},
        {"signature": "not base64"},
        {"sign_key": "AAAA"},
        {"seal_key": "AAAA"},
        {"sign_key": "x" * 44},
        {"seal_key": "A" * 43 + "="},
    ],
)
def test_machine_that_does_not_hold_its_key_is_refused_and_its_token_stays_good(sqlite_hub, forged):
    async def story(pool):
        text = await token(pool)
        answer = await enrol(pool, text, forged=forged)
        assert (answer.status_code, answer.json()["error"]["code"]) == (422, "bad_proof")
        assert (await enrol(pool, text)).status_code == 201

    play(sqlite_hub, story)


@pytest.mark.parametrize(
    "forged",
    [
        {"name": ""},
        {"name": "a\nb"},
        {"name": "x" * 65},
        {"country": "Germany"},
        {"tags": ["no spaces"]},
        {"tags": ["t"] * 33},
        {"agent_version": "x" * 41},
        {"agent_version": "1\0"},
        {"capacity": {"cpus": -1, "memory_bytes": 1, "disk_bytes": 1}},
        {"capacity": {"cpus": 1e999, "memory_bytes": 1, "disk_bytes": 1}},
    ],
)
def test_nonsense_about_a_machine_is_refused(postgres_hub, forged):
    async def story(pool):
        request = enrol_request(Ed25519PrivateKey.generate(), "cpj_x").model_dump(mode="json") | forged
        answer = await pool.call("POST", "nodes/enroll", user=None, content=json.dumps(request))
        assert answer.status_code == 422, answer.text
        assert pool.rows(Node) == []

    play(postgres_hub, story)


class LostReply(httpx.BaseTransport):
    """To the hub's app and back, but its first answer never arrives."""

    def __init__(self, app, loop):
        self._app, self._loop, self.answers = httpx.ASGITransport(app), loop, []

    def handle_request(self, request):
        sent = httpx.Request(request.method, request.url, headers=request.headers, content=request.read())
        self.answers.append(asyncio.run_coroutine_threadsafe(self._ask(sent), self._loop).result(patience()))
        if len(self.answers) == 1:
            raise httpx.ReadError("the connection broke")
        return httpx.Response(self.answers[-1].status_code, content=self.answers[-1].content)

    async def _ask(self, request):
        answer = await self._app.handle_async_request(request)
        await answer.aread()
        return answer


def test_machine_whose_enrolment_was_answered_into_the_void_joins_with_the_same_line(hub_url, tmp_path):
    async def story(pool):
        home, text = AgentHome(tmp_path / "agent"), await token(pool)
        transport = LostReply(create_app(pool.engine), asyncio.get_running_loop())

        def try_to_join():
            with httpx.Client(transport=transport) as client:
                return join(home, "http://localhost", text, capacity=CAPACITY, agent_version="1", client=client)

        with pytest.raises(JoinFailed, match="cannot be reached"):
            await asyncio.to_thread(try_to_join)
        (row,) = pool.rows(Node)  # the hub has done it
        record = await asyncio.to_thread(try_to_join)
        assert record.node_id == row.id
        assert transport.answers[0].json() == transport.answers[1].json()
        assert len(pool.rows(Node)) == 1
        assert pool.rows(JoinToken)[0].uses_left == 0

    play_with_threads(hub_url, story)


def test_repeated_enrolment_spends_no_second_use_and_ends_with_the_token(sqlite_hub):
    async def story(pool):
        key, text = Ed25519PrivateKey.generate(), await token(pool, uses=3, expires_in_seconds=60)
        await pool.settle(1)
        request = enrol_request(key, text).model_dump(mode="json")
        first, again = [await pool.call("POST", "nodes/enroll", request, user=None) for _ in range(2)]
        assert (first.status_code, again.status_code) == (201, 201)
        assert first.json() == again.json()
        assert pool.rows(JoinToken)[0].uses_left == 2
        await pool.settle(60)
        late = await pool.call("POST", "nodes/enroll", request, user=None)
        assert late.json()["error"]["code"] == "bad_join_token"

    play(sqlite_hub, story)


def test_enrolment_is_not_repeated_for_another_owner_nor_after_a_ban(sqlite_hub):
    async def story(pool):
        key, mine, theirs = Ed25519PrivateKey.generate(), await token(pool), await token(pool, BOB)
        await pool.settle(1)
        request = enrol_request(key, mine).model_dump(mode="json")
        node_id = (await pool.call("POST", "nodes/enroll", request, user=None)).json()["node_id"]
        stranger = await enrol(pool, theirs, key)
        assert stranger.json()["error"]["code"] == "key_taken"
        await pool.call("POST", f"nodes/{node_id}/ban")
        banned = await pool.call("POST", "nodes/enroll", request, user=None)
        assert banned.json()["error"]["code"] == "bad_join_token"

    play(sqlite_hub, story)


def test_key_that_belongs_to_a_node_cannot_enrol_again(sqlite_hub):
    async def story(pool):
        key = Ed25519PrivateKey.generate()
        assert (await enrol(pool, await token(pool), key)).status_code == 201
        text = await token(pool)
        answer = await enrol(pool, text, key)
        assert (answer.status_code, answer.json()["error"]["code"]) == (409, "key_taken")
        assert (await enrol(pool, text)).status_code == 201  # the token was not used up

    play(sqlite_hub, story)


def test_replaced_node_leaves_the_fleet_with_its_work(hub_url):
    async def story(pool):
        old = await add_agent(pool)
        await pool.submit()
        work = await old.take_offer()
        key = Ed25519PrivateKey.generate()
        reply = (await enrol(pool, await token(pool), key, replace=old.node_id)).json()
        assert (await old.expect(Goodbye)).code == "banned"
        rows = {row.id: row for row in pool.rows(Node)}
        assert (rows[old.node_id].state, rows[reply["node_id"]].replaces) == ("banned", old.node_id)
        assert pool.attempt(work.id).state == "lost"
        new = ScriptedAgent(pool, reply["node_id"], key, old.capacity)
        await new.connect()
        assert (await new.take_offer()).manifest.job_id == work.manifest.job_id
        assert old.unread(Offer) == []
        assert len(pool.engine.scheduler.fleet) == 1

    play(hub_url, story)


def test_only_ones_own_node_can_be_replaced(sqlite_hub):
    async def story(pool):
        theirs = await add_agent(pool, owner=BOB)
        text = await token(pool)
        for target in (theirs.node_id, "node_of_nobody"):
            answer = await enrol(pool, text, replace=target)
            assert (answer.status_code, answer.json()["error"]["code"]) == (404, "no_such_node")
        assert pool.engine.scheduler.fleet.get(theirs.node_id).state == "online"
        assert (await enrol(pool, text)).status_code == 201

    play(sqlite_hub, story)
