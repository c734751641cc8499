"""Agents and clients out there were built against these schemas: changes must only add."""

import copy
from typing import get_args

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from sqlalchemy import create_engine
from support.engine import HUB_ID, InlineDatabase, make_engine
from support.memory_store import MemoryStore
from support.small_hub import HandClock
from support.snapshots import breaking, compare, differences, load

from computepool.hub.app import create_app
from computepool.hub.core.keyring import Keyring
from computepool.hub.core.settings import Settings
from computepool.protocol.enrol import EnrolReply, EnrolRequest
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import PROTOCOL_VERSION, FromAgent, FromHub, PollHead, PollReply, PollRequest
from computepool.protocol.receipt import Receipt
from computepool.protocol.signing import Signed

MESSAGES = "agent-messages.json"


def agent_messages():
    def of(kinds):
        return {kind.__name__: kind.model_json_schema(mode="validation") for kind in kinds}

    return {
        "protocol": PROTOCOL_VERSION,
        "from_agent": of(get_args(get_args(FromAgent)[0])),
        "from_hub": of(get_args(get_args(FromHub)[0])),
        "polls": of([PollHead, PollRequest, PollReply]),
        "enrolment": of([EnrolRequest, EnrolReply]),
        "papers": of([Signed, Manifest, Receipt]),
    }


def test_agent_messages_only_grow():
    """Before the snapshot is compared, or rewritten: a breaking change needs a new protocol version."""
    before, now = load(MESSAGES), agent_messages()
    if before is None or before["protocol"] != now["protocol"]:
        return
    found = []
    for group in set(before) - {"protocol"}:
        found += [f"{group}: {name} was removed" for name in before[group].keys() - now[group].keys()]
        for name in before[group].keys() & now[group].keys():
            found += breaking(before[group][name], now[group][name], name)
    assert not found, "\n".join(["A peer of this protocol version would stumble:", *sorted(found)])


def test_agent_messages_are_as_in_the_snapshot():
    compare(MESSAGES, agent_messages())


def test_openapi_is_as_in_the_snapshot():
    key = Ed25519PrivateKey.generate()
    db, clock = InlineDatabase(create_engine("sqlite://")), HandClock()
    keyring = Keyring(current=key, current_id="k", public=(), pinned=(), announcement=None)
    app = create_app(make_engine(db, clock, MemoryStore(), keyring, Settings()))
    schema = app.openapi()
    db.close()
    del schema["info"]["version"]
    assert HUB_ID not in str(schema)
    compare("openapi.json", schema)


# ── the comparison itself ────────────────────────────────────────────────────────────────────────────────────────────


def changed(change):
    before = agent_messages()["from_agent"]["Finished"]
    after = copy.deepcopy(before)
    change(after)
    return breaking(before, after, "Finished")


def test_new_optional_field_is_no_break():
    assert changed(lambda schema: schema["properties"].update(colour={"type": "string", "default": "red"})) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda schema: schema["properties"].pop("sequence"), "sequence was removed"),
        (lambda schema: schema["required"].append("type"), "type became required"),
        (lambda schema: schema["properties"]["sequence"].update(type="string"), "sequence was"),
        (lambda schema: schema["properties"]["type"].update(const="done"), "type has other values"),
        (lambda schema: schema["$defs"]["Signed"]["properties"].pop("body"), "receipt.body was removed"),
        (lambda schema: schema["$defs"]["Signed"]["required"].append("colour"), "receipt.colour became required"),
    ],
)
def test_break_is_found_wherever_it_is(change, says):
    found = changed(change)
    assert len(found) == 1
    assert says in found[0]


def test_difference_is_told_by_its_place():
    assert differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 2, "d": 2}}) == ["- /a/c", "+ /a/d", "~ /a/b: 1 → 2"]
