"""Strangers at the edge of a real hub: what they send does not fill it, and what they begin ends."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from select import select

import pytest
from support.children import resident_bytes
from support.pool import Agent, running_pool
from support.waiting import patience
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

pytestmark = pytest.mark.slow

MB = 1_000_000


@pytest.fixture
def pool(tmp_path):
    """One that is impatient with heads of requests."""
    with running_pool(tmp_path / "pool", {"COMPUTEPOOL_LIMIT_HEAD_SECONDS": "1"}) as pool:
        yield pool


@contextmanager
def connected(pool, count: int = 1) -> Iterator[list[socket.socket]]:
    lines = [socket.create_connection(("127.0.0.1", pool.port), patience()) for _ in range(count)]
    try:
        yield lines
    finally:
        for line in lines:
            line.close()


def answer_of(line: socket.socket) -> bytes:
    """All that the hub says until it hangs up: head and body may come in pieces."""
    answer = b""
    with suppress(ConnectionResetError):
        while piece := line.recv(4096):
            answer += piece
    return answer


def grown_bytes(pool, before: int) -> int:
    """After it has answered once more, so that it has seen what was sent before."""
    assert pool.client.version()
    return resident_bytes(pool.hub.pid) - before


@pytest.mark.parametrize("piece", [b"x" * MB, b"a:\r\n" * (MB // 4)], ids=["one long header", "many short ones"])
def test_headers_without_end_do_not_fill_the_hub(pool, piece):
    assert pool.client.version()
    before = resident_bytes(pool.hub.pid)
    with connected(pool) as (line,):
        line.sendall(b"GET / HTTP/1.1\r\nHost: hub\r\nLong: ")
        sent = 0
        with suppress(OSError):  # the hub hangs up
            line.settimeout(2)
            for _ in range(20):
                line.sendall(piece)
                sent += len(piece)
        assert grown_bytes(pool, before) < 8 * MB, f"after {sent} bytes"


def test_half_open_requests_end(pool):
    before = resident_bytes(pool.hub.pid)
    with connected(pool, 300) as lines:
        for line in lines:
            line.sendall(b"GET / HTTP/1.1\r\nHost:")
        assert grown_bytes(pool, before) < 16 * MB
        answers = [answer_of(line) for line in lines]
        assert all(b"408 Request Timeout" in answer and b'"too_slow"' in answer for answer in answers)


def test_streams_of_one_account_cost_little_and_are_limited(pool):
    job = pool.submit("true", slices=1_000)
    address = f"ws://127.0.0.1:{pool.port}/api/v1/jobs/{job.id}/stream"
    headers = {"Authorization": f"Bearer {pool.client._http.token}"}
    with ExitStack() as stack:

        def watch():
            stream = connect(address, additional_headers=headers, compression=None, open_timeout=patience())
            return stack.enter_context(stream)

        assert json.loads(watch().recv(patience()))["type"] == "job"
        before = resident_bytes(pool.hub.pid)
        for _ in range(99):
            assert len(watch().recv(patience())) > 100_000
        assert grown_bytes(pool, before) < 24 * MB
        with pytest.raises(InvalidStatus) as refused:
            watch()
        assert refused.value.response.status_code == 429
        assert int(refused.value.response.headers["Retry-After"]) > 0
        assert b"too_many_streams" in refused.value.response.body
        # Whoever follows it with the CLI is told in intervals.
        pool.client.cancel(job.id)
        assert pool.cli("logs", "--follow", job.id).code == 0


def test_large_polls_of_unknown_nodes_are_not_kept(pool):
    session, head = "s" * 32, b"POST /api/v1/agent/poll HTTP/1.1\r\nHost: hub\r\nContent-Length: 4000000\r\n\r\n"
    body = (
        b'{"node_id":"node_nobody","session":"%b","start":0,"received":0,"wait_seconds":0,"messages":["'
        % session.encode()
    )
    assert pool.client.version()
    before = resident_bytes(pool.hub.pid)
    with connected(pool, 20) as lines:
        for line in lines:
            line.sendall(head + body)
            for _ in range(50):
                if select([line], [], [], 0)[0]:
                    break
                with suppress(OSError):  # the hub hangs up
                    line.sendall(b"x" * 60_000)
        assert grown_bytes(pool, before) < 16 * MB
        for line in lines:
            assert b'"unknown_node"' in answer_of(line)


def open_files_limits(pid: int) -> tuple[int, int]:
    """The soft and the hard one of another process."""
    (line,) = [line for line in Path(f"/proc/{pid}/limits").read_text().splitlines() if "open files" in line]
    soft, hard = line.split()[3:5]
    return int(soft), int(hard)


def version_over(line: HTTPConnection) -> bytes:
    """What the hub says on this connection, which stays open if it was served."""
    line.request("GET", "/api/v1/version")
    return line.getresponse().read()


@pytest.mark.skipif(sys.platform != "linux", reason="linux: limits of other processes are read from /proc")
def test_hub_with_few_descriptors_keeps_whom_it_serves_and_recovers(tmp_path):
    settings = {"COMPUTEPOOL_LIMIT_CONNECTIONS_PER_ADDRESS": "10000", "COMPUTEPOOL_LIMIT_REQUESTS_PER_ADDRESS": "10000"}
    with running_pool(tmp_path / "pool", settings, hub=False) as pool:
        pool.start_hub(open_files=256)
        assert pool.hub is not None
        assert open_files_limits(pool.hub.pid) == (256, 256)
        kept = HTTPConnection("127.0.0.1", pool.port, timeout=patience())
        assert b"version" in version_over(kept)
        with connected(pool, 191) as lines:
            for line in lines:
                line.sendall(b"GET / HTTP/1.1\r\nHost:")
            late = HTTPConnection("127.0.0.1", pool.port, timeout=patience())
            assert b'"too_many_connections"' in version_over(late), "three quarters of 256 are there, and no more"
            late.close()
            assert b"version" in version_over(kept), "whom it serves, it goes on to serve"
            with connected(pool, 150):  # and now no descriptor is left
                for _ in range(10):
                    assert b"version" in version_over(kept)
        kept.close()

        def is_answered() -> bool | None:
            line = HTTPConnection("127.0.0.1", pool.port, timeout=patience())
            with suppress(OSError, HTTPException), closing(line):
                return b'"version"' in version_over(line) or None
            return None

        pool.until(is_answered, "there is room for new ones again")

        # An agent that begins with few raises its limit as far as it may.
        agent = Agent(pool, "alpha", {})
        pool.agents.append(agent)
        agent.run("join", pool.url, *pool.join_words(), "--name", "alpha", open_files=512)
        soft, hard = open_files_limits(agent.pid)
        assert soft == hard > 512
