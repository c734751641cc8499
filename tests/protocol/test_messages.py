"""What the line does with messages that are new, broken or too large."""

import contextlib
import json
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from computepool.protocol.messages import (
    LOG_CHUNK_LIMIT_BYTES,
    MESSAGE_LIMIT_BYTES,
    FromAgent,
    FromHub,
    Heartbeat,
    LogChunk,
    MalformedMessage,
    PollRequest,
    Stop,
    Update,
    link_challenge,
    parse_from_agent,
    parse_from_hub,
)

REF: dict[str, Any] = {"attempt_id": "attempt_1", "fence": 3}


def kinds(union):
    return get_args(get_args(union)[0])


def test_each_message_carries_its_own_type():
    for union in (FromAgent, FromHub):
        names = [kind.model_fields["type"].default for kind in kinds(union)]
        assert len(set(names)) == len(names)


def test_message_survives_the_way():
    chunk = LogChunk(**REF, offset=5, data=bytes(range(256)))
    assert parse_from_agent(chunk.to_bytes()) == chunk
    stop = Stop(**REF, number=1, reason="canceled")
    assert parse_from_hub(stop.to_bytes()) == stop


@given(st.binary(max_size=2_000))
def test_any_bytes_of_a_log_survive_the_way(data):
    chunk = LogChunk(**REF, offset=0, data=data)
    parsed = parse_from_agent(chunk.to_bytes())
    assert isinstance(parsed, LogChunk)
    assert parsed.data == data


def test_unknown_type_is_skipped():
    assert parse_from_agent(b'{"type": "from_the_future", "x": 1}') is None
    assert parse_from_hub('{"type": "from_the_future"}') is None


def test_messages_of_the_other_side_are_skipped():
    assert parse_from_agent(Stop(**REF, number=1, reason="canceled").to_bytes()) is None
    assert parse_from_hub(Heartbeat().to_bytes()) is None


def test_fields_of_a_newer_peer_are_ignored():
    raw = json.loads(Heartbeat(cursor=4).to_bytes()) | {"a_newer_field": {"deep": [1]}}
    assert parse_from_agent(json.dumps(raw)) == Heartbeat(cursor=4)


def test_fields_that_an_older_peer_does_not_send_have_defaults():
    assert parse_from_agent(b'{"type": "heartbeat"}') == Heartbeat()


@pytest.mark.parametrize(
    ("raw", "named"),
    [
        ('{"type": "update", "attempt_id": "a", "fence": "x", "sequence": 1, "state": "running"}', "update.fence"),
        ('{"type": "update", "attempt_id": "a", "fence": 1, "sequence": 1, "state": "leased"}', "update.state"),
        ('{"type": "log", "attempt_id": "a", "fence": 1, "offset": 0, "data": "%%%"}', "log.data"),
        ('{"type": "log", "attempt_id": "a", "fence": 1, "offset": -1, "data": ""}', "log.offset"),
        ('{"type": "log", "attempt_id": "a", "offset": 0, "data": ""}', "log.fence"),
        ('{"type": "gone", "attempt_id": "../a", "fence": 1, "reason": ""}', "gone.attempt_id"),
        ('{"type": "hello", "node_id": "a\\u0000b", "instance_id": "i", "agent_version": ""}', "hello.node_id"),
        ('{"type": "finished", "attempt_id": "a", "fence": 1, "sequence": 1, "receipt": 5}', "finished.receipt"),
    ],
)
def test_malformed_message_is_refused_by_the_name_of_its_field(raw, named):
    with pytest.raises(MalformedMessage, match=named):
        parse_from_agent(raw)


@pytest.mark.parametrize("raw", [b"", b"{", b"[]", b"null", b"{}", b'"hello"', b"\xff\xfe", b'{"type": 5}'])
def test_what_is_no_message_is_malformed_or_unknown(raw):
    with contextlib.suppress(MalformedMessage):
        assert parse_from_agent(raw) is None


@given(st.binary(max_size=300))
def test_no_bytes_break_the_parser(raw):
    for parse in (parse_from_agent, parse_from_hub):
        with contextlib.suppress(MalformedMessage):
            parse(raw)


def test_what_is_too_large_is_not_parsed_at_all():
    with pytest.raises(MalformedMessage, match="limit"):
        parse_from_agent(b" " * (MESSAGE_LIMIT_BYTES + 1))


def test_log_chunk_is_bounded():
    with pytest.raises(ValueError, match="data"):
        LogChunk(**REF, offset=0, data=b"x" * (LOG_CHUNK_LIMIT_BYTES + 1))


@pytest.mark.parametrize(
    "capacity",
    [
        {"cpus": float("inf")},
        {"cpus": float("nan")},
        {"cpus": -1},
        {"memory_bytes": -1},
        {"memory_bytes": 2**70},
        {"disk_bytes": -1},
        {"gpus": [{"id": "0", "name": "x", "slug": "x", "memory_bytes": -5}]},
        {"gpus": [{"id": "0", "name": "x", "slug": "x", "memory_bytes": 1}] * 2},
    ],
)
def test_impossible_capacity_is_refused(capacity):
    """A host could otherwise bring down the hub's arithmetic, or be given one GPU twice."""
    known: dict[str, Any] = {"cpus": 1, "memory_bytes": 1, "disk_bytes": 1} | capacity
    raw = json.dumps({"type": "proof", "signature": "x", "capacity": known})
    with pytest.raises(MalformedMessage, match="capacity"):
        parse_from_agent(raw)


def test_reported_state_is_one_that_an_agent_may_report():
    with pytest.raises(ValueError, match="state"):
        Update(**REF | {"sequence": 1, "state": "succeeded"})


def test_challenge_binds_hub_node_start_and_link():
    parts = ["hub", "node", "instance", "nonce"]
    bodies = {link_challenge(*(p + ("x" if i == at else "") for i, p in enumerate(parts))) for at in range(4)}
    assert len(bodies) == 4
    assert link_challenge("a", "bc", "d", "e") != link_challenge("ab", "c", "d", "e")


def test_poll_session_is_too_long_to_guess_and_waits_are_bounded():
    good: dict[str, Any] = {"node_id": "node_1", "session": "s" * 32, "start": 0, "received": 0, "wait_seconds": 1.0}
    assert PollRequest(**good).start == 0
    for change in ({"session": "short"}, {"wait_seconds": 61}, {"wait_seconds": -1}, {"start": -1}, {"received": -1}):
        with pytest.raises(ValueError, match=next(iter(change))):
            PollRequest(**good | change)
