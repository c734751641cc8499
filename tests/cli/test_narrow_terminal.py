"""Tables where there is little room: what names a thing stays whole."""

import pytest
from support.fake_api import FakeHub, node

TOKEN_ID = "token_01kq3v8d2m5h7x9c4b6n8z1w3y"
SCOPES = ["jobs:read", "jobs:write", "nodes:read", "nodes:write", "tokens:read", "tokens:write"]


@pytest.fixture(params=[80, 60])
def narrow(request, cli, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))

    def call(*words: str) -> str:
        text: str = cli(*words).text
        assert max(len(line) for line in text.splitlines()) <= request.param
        return text

    return call


def test_nodes_keep_their_names_states_and_ids(hub: FakeHub, narrow):
    hub.nodes = [node(1, name="lab-workstation-07"), node(2, name="beta", state="quarantined")]
    for one in hub.nodes:
        one["capacity"]["gpus"] = [{"name": "NVIDIA GeForce RTX 4090", "memory_bytes": 24 << 30}]
        one["capacity"]["isolation"] = ["process"]
    words = narrow("nodes").split()
    for expected in ("NAME", "STATE", "lab-workstation-07", "beta", "online", "quarantined"):
        assert expected in words
    assert [word for word in words if word.startswith("node_")] == [one["id"] for one in hub.nodes]


def test_tokens_keep_their_names_and_ids(hub: FakeHub, narrow):
    day = "2026-01-02T03:04:05Z"
    token = {"id": TOKEN_ID, "name": "nightly-build", "scopes": SCOPES, "created_at": day, "expires_at": day}
    hub.tokens = [{**token, "last_used_at": day}]
    words = narrow("token", "list").split()
    assert {"NAME", "nightly-build", TOKEN_ID} <= set(words)


def test_jobs_keep_their_ids_and_states(hub: FakeHub, narrow):
    made = hub.add_job({"run": "x", "name": "a-job-with-quite-a-long-name"})
    words = narrow("ps", "-a").split()
    assert {made.document["id"], "queued", "a-job-with-quite-a-long-name"} <= set(words)


def test_name_longer_than_the_terminal_is_wrapped_whole(hub: FakeHub, narrow):
    name = "".join(chr(97 + number % 26) for number in range(63))
    hub.nodes = [node(1, name=name)]
    text = narrow("nodes")
    assert "".join(line.split(" ")[0] for line in text.splitlines()[1:]) == name
    assert node()["id"] in text.split()


def test_shortened_text_carries_a_mark(hub: FakeHub, narrow):
    hub.tokens = [{"id": TOKEN_ID, "name": "ci", "scopes": SCOPES}]
    assert "…" in narrow("token", "list")
