"""Limits of the hub's own server: each check holds, and finds the bugs that were put in on purpose."""

import asyncio
import errno
import io
import logging
import secrets
import socket
import ssl
from contextlib import suppress
from typing import Any, cast

import pytest
from support import waiting
from support.planted import each_check, each_mutant
from support.served import Line, Served, served
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol
from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.typing import Subprotocol

from computepool.hub.commands import certificate_of, load_settings
from computepool.hub.core import edge, new_links
from computepool.hub.core.edge import Connection, Edge
from computepool.hub.serving import http_connection, server, websocket_connection
from computepool.hub.serving.http_connection import HEAD_LIMIT_BYTES, HEADERS_LIMIT, HttpConnection
from computepool.hub.serving.listening import Listener
from computepool.hub.serving.websocket_connection import WebSocketConnection

TOKEN = {"Authorization": "Bearer user_1"}
UPGRADE = (
    b"GET /api/v1/agent/link HTTP/1.1\r\nHost: hub\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
    b"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n"
)


async def large_head_is_refused_while_it_comes(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"GET /api/v1/here HTTP/1.1\r\nLong: " + b"x" * (HEAD_LIMIT_BYTES + 1))
    answer = await line.answer()
    assert (answer.status, answer.error["code"]) == (431, "head_too_large")


async def large_head_is_refused_when_it_comes_at_once(hub: Served) -> None:
    line = await hub.connect()
    short = "x" * (HEAD_LIMIT_BYTES - 1000)
    assert (await line.get(Long=short)).status == 200
    assert (await line.get(Long=short, Longer="x" * 1000)).status == 431


async def many_headers_are_refused(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"GET /api/v1/here HTTP/1.1\r\n" + b"a:\r\n" * (HEADERS_LIMIT + 2))
    assert (await line.answer()).status == 431


async def trailers_are_no_way_around(hub: Served) -> None:
    line = await hub.connect()
    head = b"POST /api/v1/open HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n"
    await line.send(head + b"2\r\n42\r\n0\r\nLong: ")
    await line.send(b"x" * (HEAD_LIMIT_BYTES + 1000))
    assert (await line.answer()).status == 431
    assert hub.bodies == []


async def pipelined_requests_are_bounded(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"GET /api/v1/here HTTP/1.1\r\n\r\n" * 1000)
    await line.ended()
    assert hub.server.guard.refused["bad_request"] == 1


async def slow_head_ends(hub: Served) -> None:
    slow, silent, idle = await hub.connect(), await hub.connect(), await hub.connect()
    assert (await idle.get()).status == 200
    await slow.send(b"GET /api/v1/here HTTP/1.1\r\nHost:")
    await hub.until(lambda: hub.server.guard.edge.unproven.total == 32, "the head has begun")
    hub.pass_time(14)
    assert hub.server.guard.refused == {}
    hub.pass_time(16)
    answer = await slow.answer()
    assert (answer.status, answer.error["code"]) == (408, "too_slow")
    assert await silent.ended() == b""


async def refused_connection_is_closed_soon(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"no HTTP at all\r\n\r\n")
    assert (await line.answer()).error["code"] == "bad_request"
    hub.pass_time(3)
    await hub.until_open(0)


async def empty_lines_do_not_keep_a_connection(hub: Served) -> None:
    line = await hub.connect()
    assert (await line.get()).status == 200
    (connection,) = hub.connections
    await line.send(b"\r\n")
    await hub.until(lambda: connection.timeout_keep_alive_task is None, "the empty line has come")
    hub.pass_time(0)
    hub.pass_time(16)
    await hub.until_open(0)


async def slow_body_ends(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"POST /api/v1/open HTTP/1.1\r\nContent-Length: 60000\r\n\r\n")
    for sent, seconds in ((20_000, 0), (40_000, 50), (40_001, 100)):  # 20 KB a minute is slow, and goes on
        await line.send(b"x" * (sent - _body_bytes(hub)))
        await _until_body(hub, sent)
        hub.pass_time(seconds)
    hub.pass_time(120)
    answer = await line.answer()
    assert (answer.status, answer.error["code"]) == (408, "too_slow")
    assert hub.bodies == []


async def body_after_the_answer_ends(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"POST /api/v1/mine HTTP/1.1\r\nContent-Length: 60000\r\n\r\nx")
    assert (await line.answer()).status == 405
    (connection,) = hub.connections
    hub.pass_time(0)
    hub.pass_time(16)
    await hub.until_open(0)
    assert not connection.cycle.body


async def body_after_the_answer_is_not_read(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"POST /api/v1/mine HTTP/1.1\r\nContent-Length: 60000000\r\n\r\nx")
    assert (await line.answer()).status == 405
    (connection,) = hub.connections
    await line.send(bytes(20_000_000))
    assert connection._raw_bytes < 1_000_000
    hub.pass_time(3)
    await hub.until_open(0)


async def refused_upload_is_hung_up_on_before_more_of_it_comes(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"POST /api/v1/mine HTTP/1.1\r\nContent-Length: 60000000\r\n\r\nx")
    assert (await line.answer()).status == 405
    assert await line.ended() == b""


async def reader_that_takes_nothing_is_cut_off(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"GET /api/v1/large HTTP/1.1\r\n\r\n")
    (connection,) = hub.connections
    await hub.until(lambda: connection.flow.write_paused, "its buffers are full")
    hub.pass_time(0)
    hub.pass_time(59)
    assert len(hub.server.guard.open) == 1
    hub.pass_time(61)
    await hub.until_open(0)


async def unread_answers_are_bounded_together(hub: Served) -> None:
    await (first := await hub.connect()).send(b"GET /api/v1/large HTTP/1.1\r\n\r\n")
    await hub.until(lambda: hub.server.guard.edge.unread.total > 8_000_000, "it waits for its reader")
    await (second := await hub.connect()).send(b"GET /api/v1/large HTTP/1.1\r\n\r\n")
    await hub.until(lambda: hub.server.guard.refused["unread"] == 1, "a second one is too much")
    await hub.until_open(1)
    assert len(await second.ended()) < 12_000_000
    assert (await first.answer()).status == 200
    await hub.until(lambda: hub.server.guard.edge.unread.total == 0, "the first was read")


def _body_bytes(hub: Served) -> int:
    return max(connection._body_bytes for connection in hub.connections)


async def _until_body(hub: Served, count: int) -> None:
    await hub.until(lambda: _body_bytes(hub) == count, f"{count} bytes of the body have come")


async def connections_of_an_address_are_bounded(hub: Served) -> None:
    lines = [await hub.connect() for _ in range(10)]
    await hub.until_open(10)
    answer = await (await hub.connect()).answer()
    assert (answer.status, answer.error["code"], answer.headers["retry-after"]) == (503, "too_many_connections", "10")
    lines[0].close()
    await hub.until(lambda: hub.server.guard.edge._open == 9, "one is closed")
    assert (await (await hub.connect()).get()).status == 200


async def websockets_count_as_connections(hub: Served) -> None:
    sockets = [await connect(_echo(hub)) for _ in range(10)]
    answer = await (await hub.connect()).answer()
    assert answer.status == 503
    await sockets[0].close()
    await hub.until(lambda: hub.server.guard.edge._open == 9, "one is closed")
    assert (await (await hub.connect()).get()).status == 200
    for each in sockets:
        await each.close()


async def new_links_of_an_address_wait_for_room(hub: Served) -> None:
    """3,000 anonymous links made the hub 90 MB larger."""
    limit = hub.server.guard.edge.new_links
    gone, *proven = [await connect(_link(hub)) for _ in range(3)]
    lines = []
    for count in range(1, 6):
        lines.append(await hub.connect())
        await lines[-1].send(UPGRADE)
        await _until_waiting(hub, count)
    assert len(hub.connections) == 5  # none is a WebSocket yet
    await gone.close()
    assert (await lines[0].answer()).status == 101
    # A node that has proven who it is makes room, and stays.
    for each in proven:
        await each.send("known")
        await each.send("still here")
        assert await each.recv() == "still here"
    assert [(await line.answer()).status for line in lines[1:3]] == [101, 101]
    assert (limit.total, len(hub.connections)) == (3, 2)
    hub.pass_time(9)
    for line in lines[3:]:
        answer = await line.answer()
        assert (answer.status, answer.error["code"]) == (503, "too_many_connections")
        assert int(answer.headers["retry-after"]) > 0
    for line in lines:
        line.close()
    await hub.until(lambda: (limit.total, limit._waiting) == (0, {}), "nobody counts any more")
    for each in proven:
        await each.close()


async def hundred_nodes_come_through_three_places(hub: Served) -> None:
    """As after a restart of the hub, when all of a site come back at once."""

    async def come() -> None:
        async with connect(_link(hub), open_timeout=None) as link:
            await link.send("known")
            await link.send("online")
            assert await link.recv() == "online"

    async with asyncio.timeout(10 * waiting.patience()):
        await asyncio.gather(*[come() for _ in range(100)])


async def links_that_give_up_or_speak_too_early_stop_waiting(hub: Served) -> None:
    limit = hub.server.guard.edge.new_links
    held = [await connect(_link(hub)) for _ in range(3)]
    impatient, hasty = await hub.connect(), await hub.connect()
    for line in (impatient, hasty):
        await line.send(UPGRADE)
    await _until_waiting(hub, 2)
    impatient.close()
    await hasty.send(b"too early")
    assert (await hasty.answer()).status == 400
    await hub.until(lambda: not limit._waiting, "neither waits")
    for each in held:
        await each.close()


async def requests_of_an_address_are_bounded(hub: Served) -> None:
    line = await hub.connect()
    statuses = [(await line.get()).status for _ in range(100)]
    assert set(statuses) == {200}
    for _ in range(100):
        answer = await line.get()
        if answer.status == 429:
            break
    assert answer.error["code"] == "too_many_requests"
    assert 1 <= int(answer.headers["retry-after"]) <= 2


async def requests_of_an_account_are_bounded(hub: Served) -> None:
    line = await hub.connect()
    for _ in range(300):
        answer = await line.get("/api/v1/mine", **TOKEN)
        if answer.status != 200:
            break
    assert (answer.status, answer.error["code"]) == (429, "too_many_requests")
    assert "account" in answer.error["message"]
    assert int(answer.headers["retry-after"]) >= 1
    other = {"Authorization": "Bearer user_2"}
    assert (await line.get("/api/v1/mine", **other)).status == 200


async def strangers_bodies_are_bounded_together(hub: Served) -> None:
    """Of one address, here: a client of another one is not kept waiting."""
    lines = [await hub.connect() for _ in range(3)]
    head = b"POST /api/v1/wide HTTP/1.1\r\nContent-Length: 4000000\r\n\r\n"
    for line in lines[:1]:
        await line.send(head + b"x" * 3_999_999)
    await hub.until(lambda: hub.server.guard.edge.unproven.total == 3_999_999, "most of the first body is held")
    await lines[1].send(head + b"x" * 3_999_999)
    answer = await lines[1].answer()
    assert (answer.status, answer.error["code"]) == (503, "too_busy")
    await lines[0].send(b"x")
    assert (await lines[0].answer()).body == b"4000000"
    await lines[2].send(head + b"x" * 4_000_000)
    assert (await lines[2].answer()).body == b"4000000"
    assert hub.server.guard.edge.unproven.total == 0


async def unfinished_heads_are_held_together(hub: Served) -> None:
    lines = [await hub.connect() for _ in range(3)]
    for line in lines:
        await line.send(b"GET / HTTP/1.1\r\nLong: " + b"x" * 1000)
    await hub.until(lambda: hub.server.guard.edge.unproven.total > 3000, "all of it is counted")
    for line in lines:
        line.close()
    await hub.until(lambda: hub.server.guard.edge.unproven.total == 0, "and given back")


async def bodies_without_a_token_are_small(hub: Served) -> None:
    line = await hub.connect()
    await line.send(b"POST /api/v1/open HTTP/1.1\r\nContent-Length: 65537\r\n\r\n")
    assert (await line.answer()).status == 413


async def nobody_speaks_for_others_unasked(hub: Served) -> None:
    line = await hub.connect()
    assert b'"127.0.0.1"' in (await line.get(X_Forwarded_For="203.0.113.7")).body


async def fragments_are_bounded(hub: Served) -> None:
    async with connect(_echo(hub), max_size=None) as client:
        with suppress(ConnectionClosed):
            await client.send([""] * 2000)
        with pytest.raises(ConnectionClosed) as closed:
            await client.recv()
        assert closed.value.rcvd is not None
        assert closed.value.rcvd.code == 1009


async def pings_without_reading_end_it(hub: Served) -> None:
    client = await connect(_echo(hub), ping_interval=None)
    client.transport.pause_reading()
    for _ in range(200):
        client.transport.write(b"\x89\xfd\0\0\0\0" + b"x" * 125)
    (found,) = [each for each in hub.server.server_state.connections if isinstance(each, WebSocketConnection)]
    pings = b"\x89\xfd\0\0\0\0" + b"x" * 125
    for _ in range(2000):
        if found not in hub.server.server_state.connections:
            break
        client.transport.write(pings * 500)
        await asyncio.sleep(0)
    await hub.until(lambda: found not in hub.server.server_state.connections, "it was cut off")
    assert found.transport.get_write_buffer_size() < 1_000_000
    client.transport.abort()


async def messages_of_unknown_senders_are_held(hub: Served) -> None:
    async with connect(_echo(hub), max_size=None) as client:
        await client.send("hello")
        assert await client.recv() == "hello"
        assert hub.server.guard.edge.unproven.total > 0
        await client.send("known")
        await hub.until(lambda: hub.server.guard.edge.unproven.total == 0, "it is known")
        await client.send("x" * 100)
        assert len(await client.recv()) == 100
        await client.send("x" * 101)
        with pytest.raises(ConnectionClosed):
            await client.recv()


async def failures_of_an_address_are_bounded(hub: Served) -> None:
    line = await hub.connect()
    answers = [await line.get("/api/v1/suspect") for _ in range(60)]
    assert {answer.status for answer in answers[:50]} == {200}
    assert (answers[-1].status, answers[-1].error["code"]) == (429, "too_many_failures")
    assert (await line.get()).status == 200  # others of the address are not concerned


async def hub_without_descriptors_pauses_and_goes_on(hub: Served) -> None:
    kept = await hub.connect()
    assert (await kept.get()).status == 200
    (listener,) = cast("list[Any]", hub.server.servers)
    exhausted, tries = True, 0
    real = listener._listener

    class Exhausted:
        """The listening socket of a process that has no descriptor left."""

        def __getattr__(self, name):
            return getattr(real, name)

        def accept(self):
            nonlocal tries
            tries += 1
            if exhausted:
                raise OSError(errno.EMFILE, "Too many open files")
            return real.accept()

    listener._listener = Exhausted()
    late = await hub.connect()
    await hub.until(lambda: tries, "there is no descriptor for it")
    for _ in range(50):
        assert (await kept.get()).status == 200
    assert tries < 40, "it tries all the time"
    exhausted = False
    assert (await late.get()).status == 200
    listener._listener = real


async def many_connections_end_in_batches(hub: Served) -> None:
    sockets = [await connect(_echo(hub)) for _ in range(30)]
    turn, ended_in = 0, []

    def noting(end):
        def note() -> None:
            ended_in.append(turn)
            end()

        return note

    for each in cast("set[Any]", hub.server.server_state.connections):
        each.shutdown = noting(each.shutdown)
    ending = asyncio.create_task(hub.server.end_connections())
    while not ending.done():
        await asyncio.sleep(0)
        turn += 1
    assert len(ended_in) == 30
    assert len(set(ended_in)) == 6
    for client in sockets:
        client.transport.abort()


async def tokens_of_websockets_are_not_logged(hub: Served) -> None:
    """The library writes what it reads and sends to its log, at the level DEBUG."""
    logged = io.StringIO()
    handler, logger = logging.StreamHandler(logged), logging.getLogger("uvicorn.error")
    logger.addHandler(handler)
    logger.setLevel(logging.DEBUG)
    try:
        offered = [Subprotocol("computepool.v1"), Subprotocol("bearer.user.of-a_browser")]
        async with connect(_mine(hub), subprotocols=offered) as client:
            assert client.subprotocol == "computepool.v1"
            assert await client.recv() == str(len("user.of-a_browser"))
        async with connect(_mine(hub), additional_headers={"Authorization": "Bearer user.of-a_program"}) as client:
            assert await client.recv() == str(len("user.of-a_program"))
    finally:
        logger.removeHandler(handler)
        logger.setLevel(logging.NOTSET)
    assert "computepool.v1" in logged.getvalue()  # it does log heads
    assert "user.of" not in logged.getvalue()


def _mine(hub: Served) -> str:
    return f"ws://127.0.0.1:{hub.port}/api/v1/mine"


def _echo(hub: Served) -> str:
    return f"ws://127.0.0.1:{hub.port}/api/v1/echo"


def _link(hub: Served) -> str:
    return f"ws://127.0.0.1:{hub.port}/api/v1/agent/link"


async def _until_waiting(hub: Served, count: int) -> None:
    queues = hub.server.guard.edge.new_links._waiting
    await hub.until(lambda: sum(map(len, queues.values())) == count, f"{count} links that wait")


# ── TLS ──────────────────────────────────────────────────────────────────────────────────────────────────────────────


@pytest.fixture
def certificate(tmp_path):
    return certificate_of(load_settings(home=tmp_path / "home"), "0.0.0.0")


@pytest.mark.parametrize("is_counted", [True, False], ids=["counted", "planted bug"])
def test_handshakes_of_an_address_are_counted(certificate, is_counted, monkeypatch):
    if not is_counted:
        any_number_of_connections(monkeypatch)

    async def story() -> None:
        async with served(certificate.context(), limit_connections_per_address=5) as hub:
            silent = [await hub.connect() for _ in range(5)]  # no handshake yet
            await hub.until(lambda: hub.server.guard.edge._open == 5, "all are counted")
            assert await (await hub.connect()).ended() == b""
            assert hub.server.guard.refused["too_many_connections"] == 1
            silent[0].close()
            await hub.until(lambda: hub.server.guard.edge._open == 4, "a failed handshake is given back")
            trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
            trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
            line = Line(*await asyncio.open_connection("127.0.0.1", hub.port, ssl=trusting))
            hub.lines.append(line)
            assert b'"https"' in (await line.get()).body

    if is_counted:
        asyncio.run(story())
    else:
        monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.15)
        with pytest.raises((AssertionError, TimeoutError, pytest.fail.Exception)):
            asyncio.run(story())


def test_handshakes_count_as_requests(certificate):
    async def story() -> None:
        async with served(certificate.context(), limit_requests_per_address=1) as hub:
            for _ in range(12):
                (await hub.connect()).close()
            await hub.until(lambda: hub.server.guard.refused["too_many_requests"] > 0, "some are refused")

    asyncio.run(story())


def test_server_ends_beside_an_idle_https_connection_whose_client_does_not_close_it(certificate, monkeypatch):
    monkeypatch.setattr(server, "SHUTDOWN_SECONDS", 3600)

    async def story() -> None:
        async with served(certificate.context()) as hub:
            line = await asyncio.to_thread(_deaf_client, hub.port)
            hub.server.should_exit = True
            hub.server._ending.set()
            await hub.running
            line.close()

    asyncio.run(story())


def _deaf_client(port: int) -> ssl.SSLSocket:
    """It got its answer, and reads nothing more."""
    trusting = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    trusting.check_hostname, trusting.verify_mode = False, ssl.CERT_NONE
    line = trusting.wrap_socket(socket.create_connection(("127.0.0.1", port)))
    line.sendall(b"GET /api/v1/here HTTP/1.1\r\nHost: hub\r\n\r\n")
    assert line.recv(12) == b"HTTP/1.1 200"
    return line


# ── bugs ─────────────────────────────────────────────────────────────────────────────────────────────────────────────


def no_check_of_open_messages(monkeypatch):
    monkeypatch.setattr(HttpConnection, "_check_open_message", lambda self, count: None)


def no_check_of_whole_heads(monkeypatch):
    monkeypatch.setattr(HttpConnection, "_head_bytes", lambda self: 0)


def body_counts_as_head(monkeypatch):
    monkeypatch.setattr(HttpConnection, "on_body", HttpToolsProtocol.on_body)


def any_number_of_headers(monkeypatch):
    monkeypatch.setattr(HttpConnection, "on_header", HttpToolsProtocol.on_header)


def any_number_of_pipelined_requests(monkeypatch):
    monkeypatch.setattr(http_connection, "PIPELINED_LIMIT", 10**9)


def everything_is_read(monkeypatch):
    monkeypatch.setattr(http_connection, "UNWANTED_BYTES", 10**12)


def nobody_looks(monkeypatch):
    monkeypatch.setattr(HttpConnection, "look", lambda self, now: None)


def idle_connections_are_not_looked_at(monkeypatch):
    monkeypatch.setattr(HttpConnection, "_look_between_requests", lambda self, now: None)


def nothing_stalls(monkeypatch):
    monkeypatch.setattr(HttpConnection, "_is_stalled", lambda self, moved, now: False)


def every_byte_is_progress(monkeypatch):
    monkeypatch.setattr(http_connection, "STALL_BYTES", 1)


def connections_are_never_given_back(monkeypatch):
    monkeypatch.setattr(Edge, "disconnect", lambda self, address: None)


def any_number_of_connections(monkeypatch):
    monkeypatch.setattr(edge, "address_key", lambda host: secrets.token_hex(8))


def websockets_do_not_count(monkeypatch):
    made = WebSocketConnection.connection_made

    def uncounted(self, transport):
        self._connection.close()
        self._connection = Connection(self._connection._edge, "elsewhere", is_proxy=False)
        self._connection._edge._open_by_address["elsewhere"] = 10**6
        made(self, transport)

    monkeypatch.setattr(WebSocketConnection, "connection_made", uncounted)


def requests_do_not_count(monkeypatch):
    monkeypatch.setattr(Connection, "count_request", lambda self: None)


def requests_of_accounts_do_not_count(monkeypatch):
    monkeypatch.setattr(Connection, "count_request_of", lambda self, account: None)


def nothing_is_held(monkeypatch):
    monkeypatch.setattr(Connection, "hold", lambda self, count: None)


def nothing_is_released(monkeypatch):
    monkeypatch.setattr(Connection, "release", lambda self: None)


def everybody_is_a_proxy(monkeypatch):
    monkeypatch.setattr(Edge, "is_trusted_proxy", lambda self, peer: True)


def nobody_counts_unread_answers(monkeypatch):
    monkeypatch.setattr(Connection, "leave_unread", lambda self, count: True)


def any_number_of_fragments(monkeypatch):
    monkeypatch.setattr(websocket_connection, "FRAGMENTS_LIMIT", 10**9)


def failures_do_not_count(monkeypatch):
    monkeypatch.setattr(Connection, "check_failures", lambda self: None)


def it_never_pauses(monkeypatch):
    monkeypatch.setattr(Listener, "_back_off", lambda self, error: None)


def all_end_at_once(monkeypatch):
    monkeypatch.setattr(server, "ENDING_BATCH", 10**6)


def links_never_wait(monkeypatch):
    monkeypatch.setattr(new_links.NewLinks, "_has_room", lambda *_: True)


def links_never_leave(monkeypatch):
    monkeypatch.setattr(new_links.NewLinks, "leave", lambda *_: None)


def proven_links_count_on(monkeypatch):
    def known(connection):
        connection.is_sender_known = True

    monkeypatch.setattr(Connection, "sender_is_known", known)


def library_sees_every_header(monkeypatch):
    monkeypatch.setattr(http_connection, "split_credentials", lambda headers: (list(headers), []))


MUTANTS = {
    failures_of_an_address_are_bounded: [failures_do_not_count],
    hub_without_descriptors_pauses_and_goes_on: [it_never_pauses],
    many_connections_end_in_batches: [all_end_at_once],
    large_head_is_refused_while_it_comes: [no_check_of_open_messages],
    large_head_is_refused_when_it_comes_at_once: [no_check_of_whole_heads],
    many_headers_are_refused: [any_number_of_headers],
    trailers_are_no_way_around: [no_check_of_open_messages],
    pipelined_requests_are_bounded: [any_number_of_pipelined_requests],
    slow_head_ends: [nobody_looks],
    refused_connection_is_closed_soon: [nobody_looks],
    empty_lines_do_not_keep_a_connection: [idle_connections_are_not_looked_at],
    slow_body_ends: [nothing_stalls, every_byte_is_progress],
    body_after_the_answer_ends: [idle_connections_are_not_looked_at],
    body_after_the_answer_is_not_read: [everything_is_read],
    refused_upload_is_hung_up_on_before_more_of_it_comes: [everything_is_read],
    reader_that_takes_nothing_is_cut_off: [nothing_stalls],
    unread_answers_are_bounded_together: [nobody_counts_unread_answers],
    connections_of_an_address_are_bounded: [any_number_of_connections, connections_are_never_given_back],
    websockets_count_as_connections: [websockets_do_not_count, connections_are_never_given_back],
    new_links_of_an_address_wait_for_room: [links_never_wait, proven_links_count_on, nobody_looks],
    hundred_nodes_come_through_three_places: [],
    links_that_give_up_or_speak_too_early_stop_waiting: [links_never_leave],
    requests_of_an_address_are_bounded: [requests_do_not_count],
    requests_of_an_account_are_bounded: [requests_of_accounts_do_not_count],
    strangers_bodies_are_bounded_together: [nothing_is_held, nothing_is_released],
    unfinished_heads_are_held_together: [nothing_is_held, nothing_is_released],
    bodies_without_a_token_are_small: [],
    nobody_speaks_for_others_unasked: [everybody_is_a_proxy],
    fragments_are_bounded: [any_number_of_fragments],
    pings_without_reading_end_it: [],
    messages_of_unknown_senders_are_held: [nothing_is_held],
    tokens_of_websockets_are_not_logged: [library_sees_every_header],
}
LIMITS: dict[Any, dict[str, Any]] = {
    connections_of_an_address_are_bounded: {"limit_connections_per_address": 10},
    websockets_count_as_connections: {"limit_connections_per_address": 10},
    new_links_of_an_address_wait_for_room: {"limit_new_links_per_address": 3},
    hundred_nodes_come_through_three_places: {"limit_new_links_per_address": 3},
    links_that_give_up_or_speak_too_early_stop_waiting: {"limit_new_links": 3},
    requests_of_an_address_are_bounded: {"limit_requests_per_address": 10},
    requests_of_an_account_are_bounded: {"limit_requests_per_account": 5},
}


async def play(check) -> None:
    async with served(**LIMITS.get(check, {})) as hub:
        await check(hub)


@each_check(MUTANTS)
def test_limit_holds(check, monkeypatch):
    monkeypatch.setattr(server, "ENDING_BATCH", 5)
    monkeypatch.setattr(edge, "FAILURES_DELAYED_LIMIT", 0)
    asyncio.run(play(check))


@each_mutant(MUTANTS)
def test_check_finds_the_bug(check, mutant, monkeypatch):
    monkeypatch.setattr(server, "ENDING_BATCH", 5)
    monkeypatch.setattr(edge, "FAILURES_DELAYED_LIMIT", 0)
    monkeypatch.setattr(waiting, "PATIENCE_SECONDS", 0.15)  # for an answer that never comes
    mutant(monkeypatch)
    with pytest.raises((AssertionError, TimeoutError, ConnectionError, pytest.fail.Exception)):
        asyncio.run(play(check))
