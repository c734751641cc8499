"""Event streams of a real hub, over its own server: a reader goes on where it was after the hub was killed, and a hub
that is stopped does not wait for its readers."""

import json
import os
import signal
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from support.pool import Pool, running_pool
from support.waiting import patience
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

pytestmark = pytest.mark.slow

NOWHERE = {"where": {"tags": ["nowhere"]}}


@pytest.fixture
def pool(tmp_path):
    with running_pool(tmp_path / "pool") as pool:
        yield pool


def token_of(pool: Pool) -> str:
    token = pool.client._http.token
    assert token
    return token


def socket_of(pool: Pool, path: str) -> Any:
    headers = {"Authorization": f"Bearer {token_of(pool)}"}
    return connect(f"ws://127.0.0.1:{pool.port}/api/v1/{path}", additional_headers=headers)


def told(socket: Any) -> Iterator[Any]:
    while True:
        message = json.loads(socket.recv(timeout=patience()))
        if message["type"] == "event":
            yield message


def read_on(socket: Any) -> None:
    while True:
        socket.recv(timeout=patience())


def test_reader_goes_on_where_it_was_after_the_hub_was_killed(pool):
    with socket_of(pool, "events") as socket:
        jobs = [pool.submit("true", **NOWHERE).id for _ in range(3)]
        first = next(told(socket))
        assert first["event"]["job_id"] == jobs[0]
        pool.kill_hub()
        with pytest.raises(ConnectionClosed):
            read_on(socket)
    pool.start_hub()
    jobs.append(pool.submit("true", **NOWHERE).id)
    with socket_of(pool, f"events?after={first['id']}") as socket:
        events = told(socket)
        assert [next(events)["event"]["job_id"] for _ in range(3)] == jobs[1:]
    headers = {"Authorization": f"Bearer {token_of(pool)}", "Last-Event-ID": first["id"]}
    with httpx.Client(base_url=f"http://127.0.0.1:{pool.port}", timeout=patience()) as http:
        answer = http.get("/api/v1/events?follow=false", headers=headers)
    assert [job_id for job_id in jobs if job_id in answer.text] == jobs[1:]


def test_hub_that_is_stopped_ends_its_streams(pool):
    headers = {"Authorization": f"Bearer {token_of(pool)}"}
    with (
        socket_of(pool, "events") as socket,
        socket_of(pool, "public/events") as public,
        httpx.Client(base_url=f"http://127.0.0.1:{pool.port}/api/v1/", timeout=patience()) as http,
        http.stream("GET", "events", headers=headers) as answer,
    ):
        lines = answer.iter_lines()
        assert next(lines).startswith("id: ")
        assert json.loads(public.recv(timeout=patience()))["type"] == "public"
        os.kill(pool.hub.pid, signal.SIGTERM)
        assert list(lines)[-1] == ""  # the whole of the answer came, with its end
        for reader in (socket, public):
            with pytest.raises(ConnectionClosed) as closed:
                read_on(reader)
            assert closed.value.rcvd is not None
            assert closed.value.rcvd.code != 4401
