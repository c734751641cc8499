"""Agents and clients out there were built against these schemas: changes must only add."""

import contextlib
import copy
import functools
from typing import get_args

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fastapi.routing import APIRoute
from sqlalchemy import create_engine
from support import snapshots
from support.api_changes import breaking_changes
from support.engine import HUB_ID, InlineDatabase, make_engine
from support.memory_store import MemoryStore
from support.small_hub import HandClock
from support.snapshots import breaking, compare, differences, load

from computepool.hub.api.stream_views import HubMessage, JobStreamMessage, schema_of
from computepool.hub.app import create_app
from computepool.hub.core.keyring import Keyring
from computepool.hub.core.settings import Settings
from computepool.protocol import events, public_events
from computepool.protocol.enrol import EnrolReply, EnrolRequest
from computepool.protocol.manifest import Manifest
from computepool.protocol.messages import PROTOCOL_VERSION, FromAgent, FromHub, PollHead, PollReply, PollRequest
from computepool.protocol.receipt import OLDER_REASONS, Receipt
from computepool.protocol.signing import Signed

MESSAGES, EVENTS, OPENAPI = "agent-messages.json", "event-messages.json", "openapi.json"


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


def broken_agent_messages(before, now):
    before, now = copy.deepcopy((before, now))
    if before["protocol"] != now["protocol"]:
        return []
    for papers in (before["papers"], now["papers"]):
        # Later reasons are told only to hubs that say in their welcome that they know them.
        reasons = papers["Receipt"]["$defs"]["EndReason"]
        reasons["enum"] = [reason for reason in reasons["enum"] if reason not in OLDER_REASONS]
    found = []
    for group in set(before) - {"protocol"}:
        found += [f"{group}: {name} was removed" for name in before[group].keys() - now[group].keys()]
        for name in before[group].keys() & now[group].keys():
            found += breaking(before[group][name], now[group][name], name)
    return found


def test_agent_messages_are_as_in_the_snapshot_and_only_grow():
    """A breaking change needs a new protocol version."""
    compare(MESSAGES, agent_messages(), broken_agent_messages)


@functools.cache
def event_messages():
    """Each kind by itself: a new kind is no change of the others, and readers pass over those that they do not know."""

    def of(*unions, sent=False):
        kinds = [kind for union in unions for kind in get_args(get_args(union)[0])]
        return {kind.__name__: schema_of(kind, sent=sent) for kind in kinds}

    public = {kind.__name__: schema_of(kind) for kind in (public_events.PublicMessage, public_events.MapMessage)}
    return {
        "version": events.EVENTS_VERSION,
        "events": of(events.PoolEvent),
        "from_hub": {**of(HubMessage, JobStreamMessage), **public},
        "from_reader": of(events.ReaderMessage, sent=True),
    }


def breaking_events(before, now):
    """What the hub sends may have more values and more kinds; what readers send may not be asked for more."""
    if before["version"] != now["version"]:
        return []
    found = []
    for group in set(before) - {"version"}:
        found += [f"{group}: {name} was removed" for name in before[group].keys() - now[group].keys()]
        for name in before[group].keys() & now[group].keys():
            old, new = before[group][name], now[group][name]
            found += breaking(old, new, name, grows=group != "from_reader")
    return found


def test_event_messages_are_as_in_the_snapshot_and_only_grow():
    compare(EVENTS, event_messages(), breaking_events)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda all_: all_["events"].pop("JobEvent"), "JobEvent was removed"),
        (lambda all_: all_["events"]["JobEvent"]["properties"].pop("state"), "state was removed"),
        (lambda all_: all_["events"]["JobEvent"]["properties"]["change"]["enum"].remove("ended"), "has other values"),
        (lambda all_: all_["from_hub"]["LogMessage"]["properties"]["offset"].update(type="string"), "offset was"),
        (lambda all_: all_["from_hub"]["EventMessage"]["required"].remove("id"), "id is no longer always there"),
        (lambda all_: all_["from_reader"]["WatchMessage"]["required"].append("why"), "why became required"),
    ],
)
def test_break_of_an_event_is_found(change, says):
    after = copy.deepcopy(event_messages())
    change(after)
    (found,) = breaking_events(event_messages(), after)
    assert says in found


def test_event_with_a_new_field_value_or_kind_is_no_break():
    after = copy.deepcopy(event_messages())
    after["events"]["JobEvent"]["properties"]["colour"] = {"type": "string"}
    after["events"]["JobEvent"]["required"].append("colour")
    after["events"]["JobEvent"]["properties"]["change"]["enum"].append("painted")
    after["events"]["PaintEvent"] = {"type": "object"}
    assert breaking_events(event_messages(), after) == []


@contextlib.contextmanager
def bare_app():
    key = Ed25519PrivateKey.generate()
    db, clock = InlineDatabase(create_engine("sqlite://")), HandClock()
    keyring = Keyring(current=key, current_id="k", public=(), pinned=(), announcement=None)
    yield create_app(make_engine(db, clock, MemoryStore(), keyring, Settings()))
    db.close()


def test_every_integer_in_a_path_or_query_is_bounded():
    """One that no database could look for was answered 500."""
    unbounded, count = [], 0
    with bare_app() as app:
        routes = [route for route in app.routes if isinstance(route, APIRoute)]
    for route in routes:
        for field in (*route.dependant.path_params, *route.dependant.query_params):
            refused = {text: bool(field.validate(text, {}, loc=("it",))[1]) for text in ("7", "text", str(2**63))}
            if refused["text"] and not refused["7"]:
                count += 1
                unbounded += [] if refused[str(2**63)] else [f"{route.name}: {field.name}"]
    assert count > 20
    assert unbounded == []


def openapi():
    with bare_app() as app:
        schema = app.openapi()
    del schema["info"]["version"]
    assert HUB_ID not in str(schema)
    return schema


def test_openapi_is_as_in_the_snapshot_and_only_grows():
    """Within `v1` nothing is taken away."""
    compare(OPENAPI, openapi(), breaking_changes)


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


def test_snapshot_is_not_rewritten_by_a_breaking_change(tmp_path, monkeypatch):
    monkeypatch.setattr(snapshots, "FOLDER", tmp_path)
    monkeypatch.setenv(snapshots.VARIABLE, "1")
    before = {"paths": {"/a": {"get": {"operationId": "a", "responses": {}}}}}
    grown = {"paths": {**before["paths"], "/b": {}}}
    for document in (before, grown):
        compare(OPENAPI, document, breaking_changes)
    with pytest.raises(AssertionError, match="GET /a was removed"):
        compare(OPENAPI, {"paths": {"/b": {}}}, breaking_changes)
    assert load(OPENAPI) == grown


def test_difference_is_told_by_its_place():
    assert differences({"a": {"b": 1, "c": 2}}, {"a": {"b": 2, "d": 2}}) == ["- /a/c", "+ /a/d", "~ /a/b: 1 → 2"]


def changed_api(change):
    before = load(OPENAPI)
    after = copy.deepcopy(before)
    change(after)
    return breaking_changes(before, after)


def schema(document, name):
    return document["components"]["schemas"][name]


def operation(document, path, method):
    return document["paths"][f"/api/v1/{path}"][method]


def test_api_may_grow():
    def grow(document):
        document["paths"]["/api/v1/clouds"] = {"get": operation(document, "jobs", "get")}
        schema(document, "JobSummary")["properties"]["colour"] = {"type": "string"}
        schema(document, "LoginRequest")["properties"]["colour"] = {"type": "string"}
        schema(document, "JobState")["enum"].append("thinking")
        schema(document, "ErrorCode")["enum"].append("no_such_colour")
        operation(document, "jobs", "get")["parameters"].append(
            {"name": "colour", "in": "query", "required": False, "schema": {"type": "string"}}
        )

    assert changed_api(grow) == []


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (lambda api: api["paths"].pop("/api/v1/jobs/{job_id}/why"), "GET /api/v1/jobs/{job_id}/why was removed"),
        (lambda api: operation(api, "jobs", "get").update(operationId="jobs_all"), "operationId was jobs_list"),
        (lambda api: operation(api, "stats", "get").update({"x-visible": "own"}), "x-visible was public"),
        (lambda api: schema(api, "JobPage")["properties"].pop("next"), "JobPage.next was removed"),
        (lambda api: schema(api, "JobPage")["required"].remove("next"), "JobPage.next is no longer always there"),
        (lambda api: schema(api, "NodeState")["enum"].remove("banned"), "lost the values banned"),
        (lambda api: schema(api, "MeView")["properties"]["name"].update(type="integer"), "name was"),
        (lambda api: schema(api, "MeView")["properties"].update(name={"anyOf": [{"type": "string"}, {"type": "null"}]}),
         "name may be null"),
        (lambda api: schema(api, "LoginRequest")["required"].append("colour"), "colour became required"),
        (lambda api: schema(api, "LoginRequest")["properties"].pop("password"), "password was removed"),
        (lambda api: schema(api, "LoginRequest")["properties"]["email"].update(maxLength=3), "maxLength is 3"),
        (lambda api: operation(api, "jobs", "get")["parameters"].pop(), "the parameter cursor was removed"),
        (lambda api: operation(api, "jobs", "post")["requestBody"]["content"].pop("multipart/form-data"),
         "no longer takes multipart/form-data"),
        (lambda api: operation(api, "jobs/{job_id}/logs", "get")["responses"]["200"]["headers"].pop("X-Attempt"),
         "the header X-Attempt was removed"),
        (lambda api: operation(api, "jobs", "post")["responses"].pop("201"), "201 was removed"),
    ],
)  # fmt: skip
def test_api_may_not_break(change, says):
    found = changed_api(change)
    assert any(says in each.replace("GET /api/v1/jobs 200", "JobPage") for each in found), found
