"""A node replaces its key: the old one is refused everywhere from then on, and what it signed before still counts."""

import asyncio
import base64
from datetime import timedelta
from typing import Any

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from sqlalchemy import select
from support.engine import ALICE, HUB_ID, Pool, play
from support.planted import each_check, each_mutant
from support.scripted_agent import ScriptedAgent, add_agent, enrol_request

from computepool.client.receipts import read_receipt
from computepool.hub.core.tables import AuditRow, OutboxRow
from computepool.hub.gateway import handshake, reports
from computepool.hub.gateway.handshake import Gateway
from computepool.hub.jobs import queries
from computepool.hub.nodes import service
from computepool.hub.nodes.tables import Node, NodeKey
from computepool.protocol.enrol import NODE_KEY_CHANGE, NodeKeyChange, NodeKeyRequest
from computepool.protocol.messages import Goodbye, Welcome
from computepool.protocol.signing import SignatureRefused, key_id_of, sign
from computepool.protocol.signing import verify as verify_signed
from computepool.protocol.verification import verify


def new_key() -> Ed25519PrivateKey:
    return Ed25519PrivateKey.generate()


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def change_of(
    node_id: str,
    old: Ed25519PrivateKey,
    new: Ed25519PrivateKey,
    *,
    hub_id: str = HUB_ID,
    proof: Ed25519PrivateKey | None = None,
) -> dict[str, Any]:
    seal = X25519PrivateKey.from_private_bytes(bytes(31) + b"\x01").public_key().public_bytes_raw()
    sign_key, seal_key = (base64.b64encode(raw).decode() for raw in (public(new), seal))
    body = NodeKeyChange(hub_id=hub_id, node_id=node_id, sign_key=sign_key, seal_key=seal_key).to_bytes()
    signature = sign(proof or new, "k", NODE_KEY_CHANGE, body).signature
    request = NodeKeyRequest(change=sign(old, key_id_of(public(old)), NODE_KEY_CHANGE, body), signature=signature)
    return request.model_dump(mode="json")


async def ask(pool: Pool, node_id: str, request: dict[str, Any]) -> httpx.Response:
    return await pool.call("POST", f"nodes/{node_id}/key", request, user=None)


async def rotate(pool: Pool, agent: ScriptedAgent) -> Ed25519PrivateKey:
    """The agent has another key now; the one that it had."""
    old, agent.key = agent.key, new_key()
    answer = await ask(pool, agent.node_id, change_of(agent.node_id, old, agent.key))
    assert answer.status_code == 200, answer.text
    assert answer.json() == {"node_id": agent.node_id, "key_id": key_id_of(public(agent.key))}
    return old


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


async def old_key_is_refused_everywhere(pool: Pool) -> None:
    agent = await add_agent(pool)
    first = agent.pipe
    old = await rotate(pool, agent)
    await pool.settle()
    assert first.closed, "the link of the old key ends"
    assert (await agent.expect(Goodbye)).code == "key_replaced"
    refused = await agent.try_to_connect(key=old)
    assert isinstance(refused, Goodbye)
    assert (refused.code, refused.retry) == ("key_ended", False)
    assert "join it as a new node" in refused.message
    token = service.new_join_token()
    await pool.db.run(
        service.create_join_token, "join_x", ALICE, token, 1, timedelta(hours=1), pool.clock.now(), actor=ALICE
    )
    request = enrol_request(old, token, name="again", capacity=agent.capacity)
    again = await pool.call("POST", "nodes/enroll", request.model_dump(mode="json"), user=None)
    assert (again.status_code, again.json().get("error", {}).get("code")) == (409, "key_taken")
    for key in (new_key(), old):
        back = await ask(pool, agent.node_id, change_of(agent.node_id, old, key))
        assert (back.status_code, back.json().get("error", {}).get("code")) == (403, "key_ended")
    assert isinstance(await agent.try_to_connect(), Welcome)
    await pool.submit()
    await agent.finish(await agent.take_offer())


async def owner_is_told_once(pool: Pool) -> None:
    agent = await add_agent(pool)
    old, agent.key = agent.key, new_key()
    request = change_of(agent.node_id, old, agent.key)
    for _ in range(3):  # the answers were lost
        assert (await ask(pool, agent.node_id, request)).status_code == 200
    (audited,) = pool.rows(AuditRow, action="node.key_replaced")
    assert (audited.actor, audited.details) == (agent.node_id, {"key": key_id_of(public(agent.key))})
    (mailed,) = pool.rows(OutboxRow, topic=f"mail/{ALICE}")
    assert mailed.payload["action"] == "node.key_replaced"
    (kept,) = pool.rows(NodeKey)
    assert (kept.node_id, kept.id) == (agent.node_id, key_id_of(public(old)))
    await agent.connect()
    assert (await ask(pool, agent.node_id, request)).status_code == 200
    await pool.settle()
    assert not agent.pipe.closed, "a repeated request does not end the link of the new key"
    await rotate(pool, agent)
    replayed = await ask(pool, agent.node_id, request)
    assert (replayed.status_code, replayed.json().get("error", {}).get("code")) == (403, "key_ended")


async def nobody_else_replaces_it(pool: Pool) -> None:
    agent, other = await add_agent(pool), await add_agent(pool, name="other")
    node_id, key = agent.node_id, agent.key
    wrong = {
        "signed by a stranger": change_of(node_id, new_key(), new_key()),
        "signed by another node": change_of(node_id, other.key, new_key()),
        "for another hub": change_of(node_id, key, new_key(), hub_id="hub_other"),
        "for another node": change_of(other.node_id, key, new_key()),
        "without the new key": change_of(node_id, key, new_key(), proof=new_key()),
        "changed on the way": {
            **change_of(node_id, key, new_key()),
            "change": change_of(node_id, key, other.key)["change"],
        },
    }
    for what, request in wrong.items():
        answer = await ask(pool, node_id, request)
        assert (answer.status_code, answer.json().get("error", {}).get("code")) == (422, "bad_proof"), what
    taken = await ask(pool, node_id, change_of(node_id, key, other.key))
    assert (taken.status_code, taken.json()["error"]["code"]) == (409, "key_taken")
    same = await ask(pool, node_id, change_of(node_id, key, key))
    assert (same.status_code, same.json()["error"]["code"]) == (409, "key_taken")
    assert (await ask(pool, "node_none", change_of("node_none", key, new_key()))).status_code == 404
    assert not agent.pipe.closed
    assert pool.rows(NodeKey) == []
    assert (await pool.call("POST", f"nodes/{node_id}/ban")).status_code == 200
    assert (await ask(pool, node_id, change_of(node_id, key, new_key()))).status_code == 404


async def receipts_of_the_old_key_still_verify(pool: Pool) -> None:
    agent = await add_agent(pool)
    finished_before, open_then = await pool.submit(), None
    await agent.finish(await agent.take_offer())
    open_then = await pool.submit()
    work = await agent.take_offer()
    late = agent.finished(work)  # signed with the old key, and not reported yet
    await pool.settle(1)
    old = await rotate(pool, agent)
    await agent.connect()
    await agent.answer_to(late)
    after = await pool.submit()
    forged = await agent.take_offer()
    agent.key, new = old, agent.key
    await agent.answer_to(agent.finished(forged))
    agent.key = new
    assert pool.attempt(work.id).verdict == "ok"
    assert (pool.attempt(forged.id).verdict, pool.attempt(forged.id).reason) == ("host", "bad_receipt")
    for job_id, ended in ((finished_before, True), (open_then, True)):
        items = (await pool.call("GET", f"jobs/{job_id}/receipts")).json()["items"]
        assert (items[0]["node"]["key_ended_at"] is not None) == ended
        checks = verify([read_receipt(item) for item in items], job_id=job_id)
        assert all(each.passed for each in checks), [each for each in checks if not each.passed]
    (item, *_) = (await pool.call("GET", f"jobs/{after}/receipts")).json()["items"]
    checks = verify([read_receipt(item)], job_id=after)
    assert [each.name for each in checks if not each.passed] == ["node key"], "an order from after its key's end"


async def handshake_under_way_is_not_let_in(pool: Pool) -> None:
    agent = await add_agent(pool, connect=False)
    with pool.db.held("reconcile") as waits:
        connecting = asyncio.create_task(agent.try_to_connect())
        await waits.wait()
        old, fresh = agent.key, new_key()
        node = (await pool.db.read(lambda session: session.get(Node, agent.node_id))).id
        request = NodeKeyRequest.model_validate(change_of(node, old, fresh))
        await pool.db.run(service.replace_key, node, request, HUB_ID, pool.clock.now())
    answer = await connecting
    assert isinstance(answer, Goodbye)
    assert answer.code == "key_ended"


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def open_link_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gateway, "key_replaced", lambda self, node_id: None)


def ended_keys_enrol_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "_was_used", lambda session, sign_key: False)


def earlier_keys_prove_a_link(monkeypatch: pytest.MonkeyPatch) -> None:
    real = Gateway._is_proven
    monkeypatch.setattr(Gateway, "_is_proven", lambda self, key, *rest: bool(real(self, key, *rest)) or True)


def new_key_needs_no_proof(monkeypatch: pytest.MonkeyPatch) -> None:
    real = verify_signed

    def check_the_first(signed: Any, type: str, keys: Any) -> Any:
        try:
            return real(signed, type, keys)
        except SignatureRefused:
            if signed.type == NODE_KEY_CHANGE and signed.key_id in keys:
                return signed.body
            raise

    monkeypatch.setattr(service, "verify", check_the_first)


def repeats_are_told_again(monkeypatch: pytest.MonkeyPatch) -> None:
    real = service.replace_key

    def replace(session: Any, node_id: str, *rest: Any) -> bool:
        real(session, node_id, *rest)
        return True

    monkeypatch.setattr(service, "replace_key", replace)


def receipts_show_the_newest_key(monkeypatch: pytest.MonkeyPatch) -> None:
    def show(session: Any, rows: Any) -> None:
        for row in rows:
            row["key_ended_at"] = None

    monkeypatch.setattr(queries, "_show_keys_of_then", show)


def late_receipts_of_the_old_key_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reports, "find_key_of_order", lambda *_: None)


def old_key_signs_new_work(monkeypatch: pytest.MonkeyPatch) -> None:
    def find(session: Any, node_id: str, attempt_id: str, key_id: str) -> bytes | None:
        key = session.scalar(select(NodeKey.sign_key).where(NodeKey.id == key_id))
        return base64.b64decode(key) if key else None

    monkeypatch.setattr(reports, "find_key_of_order", find)


def key_is_not_looked_at_again(monkeypatch: pytest.MonkeyPatch) -> None:
    class Decoded:
        @staticmethod
        def b64decode(text: str) -> Any:
            class Anything(bytes):
                def __ne__(self, other: object) -> bool:
                    return False

                __hash__ = bytes.__hash__

            return Anything(base64.b64decode(text))

    monkeypatch.setattr(handshake, "base64", Decoded)


MUTANTS = {
    old_key_is_refused_everywhere: [open_link_goes_on, ended_keys_enrol_again, earlier_keys_prove_a_link],
    owner_is_told_once: [repeats_are_told_again],
    nobody_else_replaces_it: [new_key_needs_no_proof],
    receipts_of_the_old_key_still_verify: [
        receipts_show_the_newest_key,
        late_receipts_of_the_old_key_are_refused,
        old_key_signs_new_work,
    ],
    handshake_under_way_is_not_let_in: [key_is_not_looked_at_again],
}


@each_check(MUTANTS)
def test_replaced_key(check, hub_url):
    play(hub_url, check)


@each_mutant(MUTANTS)
def test_planted_bug_is_found(check, mutant, sqlite_hub, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        play(sqlite_hub, check)
