"""`agent rotate-key`: whatever is lost on the way, and wherever the agent is killed, the node keeps a key that the hub
takes."""

import asyncio
import base64
import random
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx
import pytest
from support.planted import each_check, each_mutant

from computepool.agent import home as home_module
from computepool.agent import key_rotation
from computepool.agent.doctor.folder import check_enrolment
from computepool.agent.home import AgentHome, NodeRecord
from computepool.agent.key_rotation import KeyNotReplaced, rotate_key, settled_identity
from computepool.agent.ports import offload_to_threads
from computepool.protocol.enrol import NODE_KEY_CHANGE, NodeKeyChange, NodeKeyReply, NodeKeyRequest
from computepool.protocol.signing import key_id_of, load_public_key, verify

NODE_ID, HUB_ID = "node_1", "hub_1"


class Killed(BaseException):
    """As `kill -9`: nothing after it runs. Only the write that was under way is lost or done."""


@dataclass
class KeyHub:
    """The hub's side: which key it takes, and what becomes of its answers."""

    key: str
    earlier: list[str] = field(default_factory=list)
    asked: int = 0
    answers: list[str] = field(default_factory=list)
    """What happens to the next answers: `lost`, `unheard` (the request was), `broken` (a proxy's), `refused`, `old`."""

    def handle(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        fate = self.answers.pop(0) if self.answers else "comes"
        assert request.url.path == f"/api/v1/nodes/{NODE_ID}/key"
        if fate == "unheard":
            raise httpx.ConnectError("nobody is there")
        if fate == "broken":
            return httpx.Response(404, text="<html>404 page not found</html>")
        if fate == "refused":
            return httpx.Response(403, json={"error": {"code": "key_ended", "message": "It was replaced."}})
        if fate == "old":
            return httpx.Response(404, json={"error": {"code": "not_found", "message": "There is no such thing."}})
        self._take(NodeKeyRequest.model_validate_json(request.content))
        if fate == "lost":
            raise httpx.ReadError("the line broke")
        reply = NodeKeyReply(node_id=NODE_ID, key_id=key_id_of(base64.b64decode(self.key)))
        return httpx.Response(200, content=reply.to_bytes())

    def _take(self, request: NodeKeyRequest) -> None:
        """As the real one: from the current key; again from the earlier one, if it is the same change."""
        by_id = {key_id_of(base64.b64decode(key)): key for key in (self.key, *self.earlier)}
        signer = by_id[request.change.key_id]
        keys = {request.change.key_id: load_public_key(base64.b64decode(signer))}
        change = NodeKeyChange.model_validate_json(verify(request.change, NODE_KEY_CHANGE, keys))
        assert (change.hub_id, change.node_id) == (HUB_ID, NODE_ID)
        new = base64.b64decode(change.sign_key)
        proof = request.change.model_copy(update={"key_id": key_id_of(new), "signature": request.signature})
        verify(proof, NODE_KEY_CHANGE, {key_id_of(new): load_public_key(new)})
        if signer == self.key:
            self.earlier.append(self.key)
            self.key = change.sign_key
        assert change.sign_key == self.key, "another change, signed with a key that has ended"

    @property
    def client(self) -> httpx.Client:
        return httpx.Client(transport=httpx.MockTransport(self.handle))


def joined(folder: Path) -> tuple[AgentHome, KeyHub]:
    home = AgentHome(folder / "agent")
    home.prepare()
    home.save_node(NodeRecord(hub_url="http://127.0.0.1:9", hub_id=HUB_ID, node_id=NODE_ID, name="box", hub_keys=()))
    return home, KeyHub(home.identity().public_sign_key)


def holds_its_key(home: AgentHome, hub: KeyHub) -> bool:
    identities = [home.identity(), home.next_identity()]
    return hub.key in [each.public_sign_key for each in identities if each is not None]


# ── checks ───────────────────────────────────────────────────────────────────────────────────────────────────────────


def lost_answers_lock_nobody_out(folder: Path) -> None:
    home, hub = joined(folder)
    first = hub.key
    hub.answers = ["unheard", "lost", "broken", "lost"]
    while hub.answers:
        with pytest.raises(KeyNotReplaced) as failed:
            rotate_key(home, client=hub.client)
        assert not failed.value.is_refused
        assert holds_its_key(home, hub)
        assert "not confirmed" in check_enrolment(home).message
    made = rotate_key(home, client=hub.client)
    assert made.public_sign_key == hub.key == home.identity().public_sign_key
    assert hub.earlier == [first], "it was replaced once, however often it was asked for"
    assert home.next_identity() is None
    assert check_enrolment(home).level == "ok"
    rotate_key(home, client=hub.client)
    assert hub.key == home.identity().public_sign_key
    assert len(hub.earlier) == 2


def no_kill_locks_it_out(folder: Path) -> None:
    real = home_module.write_atomically
    for step in range(1, 10):
        home, hub = joined(folder / str(step))
        writes = 0

        def write(path: Path, data: bytes, die_at: int = step) -> None:
            nonlocal writes
            writes += 1
            if 2 * writes - 1 == die_at:
                raise Killed
            real(path, data)
            if 2 * writes == die_at:
                raise Killed

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(home_module, "write_atomically", write)
            try:
                rotate_key(home, client=hub.client)
            except Killed:
                pass
            else:
                assert step > 4, "two writes, and a kill before and after each"
                return
        assert holds_its_key(home, hub), f"killed at step {step}"
        rotate_key(home, client=hub.client)
        assert hub.key == home.identity().public_sign_key


def agent_that_starts_settles_it(folder: Path) -> None:
    home, hub = joined(folder)
    assert start(home, hub).public_sign_key == hub.key
    assert hub.asked == 0, "without a change under way nothing is asked"
    hub.answers = ["lost", "unheard", "broken"]
    with pytest.raises(KeyNotReplaced):
        rotate_key(home, client=hub.client)
    assert start(home, hub).public_sign_key == hub.key
    assert home.next_identity() is None


def refusal_keeps_the_key(folder: Path) -> None:
    home, hub = joined(folder)
    hub.answers = ["refused", "old", "refused"]
    with pytest.raises(KeyNotReplaced, match="It was replaced") as failed:
        rotate_key(home, client=hub.client)
    assert failed.value.is_refused
    with pytest.raises(KeyNotReplaced, match="older than this agent"):
        rotate_key(home, client=hub.client)
    assert start(home, hub).public_sign_key == hub.key, "an agent that starts goes on with the key that it has"


def start(home: AgentHome, hub: KeyHub) -> Any:
    """As an agent does, without the waits between its tries."""

    def again(asked: AgentHome) -> Any:
        return real(asked, client=hub.client)

    real = key_rotation.rotate_key
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(key_rotation, "rotate_key", again)
        patch.setattr(key_rotation, "reconnect_delay_seconds", lambda *_: 0.0)
        return asyncio.run(settled_identity(home, offload_to_threads, random.Random(1)))


# ── planted bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────


def new_key_is_written_first(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AgentHome.save_identity
    monkeypatch.setattr(AgentHome, "save_identity", lambda self, identity, coming=None: real(self, coming or identity))


def each_try_makes_another_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(AgentHome, "next_identity", lambda self: None)


def new_key_is_written_last(monkeypatch: pytest.MonkeyPatch) -> None:
    real = AgentHome.save_identity

    def save(self: AgentHome, identity: Any, coming: Any = None) -> None:
        if coming is None:
            real(self, identity)

    monkeypatch.setattr(AgentHome, "save_identity", save)


def any_answer_is_a_refusal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(key_rotation, "error_of", lambda response: {"code": "not_found", "message": "no"})


MUTANTS = {
    lost_answers_lock_nobody_out: [each_try_makes_another_key, new_key_is_written_last, any_answer_is_a_refusal],
    no_kill_locks_it_out: [new_key_is_written_first, new_key_is_written_last],
    agent_that_starts_settles_it: [each_try_makes_another_key, any_answer_is_a_refusal],
    refusal_keeps_the_key: [new_key_is_written_first],
}


@each_check(MUTANTS)
def test_rotated_key(check, tmp_path):
    check(tmp_path)


@each_mutant(MUTANTS)
def test_planted_bug_is_found(check, mutant, tmp_path, monkeypatch):
    mutant(monkeypatch)
    with pytest.raises(AssertionError):
        check(tmp_path)


def test_home_from_before_keys_could_be_replaced_is_read(tmp_path):
    home, hub = joined(tmp_path)
    assert "next" not in home.identity_path.read_text()
    assert home.next_identity() is None
    assert home.identity().public_sign_key == hub.key
