"""Tables where there is little room: what names a thing stays whole."""

from datetime import datetime

import pytest
from support.fake_api import FakeHub, node
from support.fake_wallet import CREDIT, entry

from computepool.cli.display import instant

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


def test_entries_keep_everything(hub: FakeHub, narrow):
    earned = {"earnings": -500 * CREDIT, "cashing_out": 500 * CREDIT}
    present = {"kind": "grant", "job_id": None, "note": "paid in cash", "change_micros": 5 * CREDIT}
    hub.wallet.entries = [
        entry(1),
        entry(2, **present, pockets={"available": 5 * CREDIT}),
        entry(3, kind="cash_out", job_id=None, change_micros=0, pockets=earned),
        entry(4, kind="cash_out", job_id=None, change_micros=-500 * CREDIT, pockets={"cashing_out": -500 * CREDIT}),
    ]
    text = " ".join(narrow("wallet", "entries").split())
    assert "…" not in text
    for whole in (
        instant(datetime.fromisoformat(entry()["at"])),
        "-2.500000",
        f"{entry()['job_id']} · pockets: held -36, available +33.5",
        "note: paid in cash · pockets: available +5",
        "cash out: asked 0.000000",
        "cash out: paid -500.000000",
    ):
        assert whole in text
