"""The proxy as a job's programs meet it: what it passes on, and what it says when it does not."""

import asyncio
import socket
from typing import Any

import pytest
from support.egress import WEB, Client, Names, Site, echo, internet, names, proxy, server
from support.lone_supervisor import run_in_virtual_time
from support.sandboxes import come_to_rest
from support.waiting import A_MOMENT_SECONDS, async_eventually, patience

from computepool.agent.egress import EgressLimits, EgressPolicy, Mode
from computepool.agent.egress.meter import Meter
from computepool.agent.egress.relay import Line, Relay, Silence


def test_web_page_is_fetched():
    async def story():
        site = Site()
        async with server(site) as port, proxy(internet(port), names(site_example=WEB)) as (egress, client):
            answer = await client.get(f"site.example:{port}", "/page?q=1#part", "X-Own: yes", "Proxy-Connection: keep")
            assert answer.endswith(b"\r\n\r\nhello from the site")
            head = site.requests[0]
            assert head.startswith(b"GET /page?q=1 HTTP/1.1\r\n")
            assert b"\r\nHost: site.example:%d\r\n" % port in head  # what was checked, whatever the client wrote
            assert b"\r\nX-Own: yes\r\n" in head
            assert b"Proxy-Connection" not in head
            assert b"\r\nConnection: close\r\n" in head
            assert egress.bytes_in == len(answer)
            assert egress.bytes_out == len(head)

    asyncio.run(story())


def test_tunnel_carries_bytes_both_ways_and_is_counted():
    async def story():
        async with server(echo) as port, proxy(internet(port), names(site_example=WEB)) as (egress, client):
            answer, reader, writer = await client.connect(f"site.example:{port}")
            assert answer == b"HTTP/1.1 200 Connection established\r\n\r\n"
            data = bytes(range(256)) * 4096
            writing = asyncio.create_task(write_all(writer, data))
            assert await reader.readexactly(len(data)) == data
            await writing
            writer.write_eof()  # one side may be done before the other
            assert await reader.read() == b""
            writer.close()
            assert (egress.bytes_in, egress.bytes_out) == (len(data), len(data))

    asyncio.run(story())


async def write_all(writer: asyncio.StreamWriter, data: bytes) -> None:
    writer.write(data)
    await writer.drain()


@pytest.mark.parametrize("chunked", [False, True])
def test_body_is_passed_on_and_what_follows_it_is_not(chunked):
    """A second request on the line could be for a name that nobody checked."""
    body = b"4\r\nabcd\r\n3;x=y\r\nefg\r\n0\r\nTrailer: 1\r\n\r\n" if chunked else b"abcdefg"
    how = b"Transfer-Encoding: chunked" if chunked else b"Content-Length: 7"
    received = bytearray()

    async def keep(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        received.extend(await reader.readuntil(b"\r\n\r\n"))
        received.extend(await reader.readexactly(len(body)))
        writer.write(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\ndone")
        await asyncio.sleep(0.05)
        received.extend(await asyncio.wait_for(reader.read(100), A_MOMENT_SECONDS) if not reader.at_eof() else b"")

    async def quiet(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await keep(reader, writer)
        except TimeoutError:
            pass
        finally:
            writer.close()

    async def story():
        async with server(quiet) as port, proxy(internet(port), names(site_example=WEB)) as (_, client):
            request = b"POST http://site.example:%d/ HTTP/1.1\r\n%s\r\n\r\n%s" % (port, how, body)
            answer = await client.say(request + b"GET http://other/ HTTP/1.1\r\nHost: other\r\n\r\n")
            assert answer.endswith(b"done")
        assert received.endswith(b"\r\n\r\n" + body)

    asyncio.run(story())


def test_answer_that_comes_before_the_body_is_read_arrives():
    async def refuse(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        await writer.drain()
        writer.close()

    async def story():
        async with server(refuse) as port, proxy(internet(port), names(site_example=WEB)) as (_, client):
            place = b"POST http://site.example:%d/ HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n" % port
            assert (await client.say(place)).startswith(b"HTTP/1.1 413")

    asyncio.run(story())


def test_refusal_says_why_and_what_to_do_and_is_told_once():
    async def story():
        lines: list[str] = []
        known = names(inside_example="192.168.1.1")
        async with proxy(internet(), known, tell=lines.append) as (_, client):
            answer = (await client.get("inside.example")).decode()
            status, _, body = answer.partition("\r\n\r\n")
            assert status.startswith("HTTP/1.1 403 Refused: inside.example leads to 192.168.1.1: a private network\r\n")
            assert "was refused" in body
            assert "jobs reach the public internet only" in body
            tunnel, _, writer = await client.connect("inside.example:443")
            assert tunnel.startswith(b"HTTP/1.1 403 Refused: inside.example leads to 192.168.1.1")
            writer.close()
            await client.get("inside.example")
        assert [line.split(" was refused")[0] for line in lines] == [
            "network: inside.example:80",
            "network: inside.example:443",
        ]
        assert all("\n" not in line for line in lines)

    asyncio.run(story())


def test_log_is_not_flooded_with_refusals():
    async def story():
        lines: list[str] = []
        async with proxy(internet(), names(), tell=lines.append) as (_, client):
            for port in range(1000, 1030):
                assert await client.status(f"site.example:{port}") == 403
        assert len(lines) == 21
        assert lines[-1] == "network: more was refused"

    asyncio.run(story())


def test_name_that_changes_its_mind_is_resolved_once():
    """Checked and connected to is the same answer."""

    async def story():
        site = Site()
        known = Names({"site.example": [[WEB], ["127.0.0.1"]]})
        async with server(site) as port, proxy(internet(port), known) as (_, client):
            assert (await client.get(f"site.example:{port}")).endswith(b"hello from the site")
            assert known.asked == ["site.example"]
            assert b" 403 " in await client.get(f"site.example:{port}")
        assert len(site.requests) == 1

    asyncio.run(story())


def test_redirect_to_a_private_place_is_refused_when_it_is_followed():
    async def story():
        private = Site(b"the router's password")

        async def redirect(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:%d/\r\nConnection: close\r\n\r\n" % inner)
            writer.close()

        async with (
            server(private, "127.0.0.1") as inner,
            server(redirect) as outer,
            proxy(internet(inner, outer), names(site_example=WEB)) as (_, client),
        ):
            answer = await client.get(f"site.example:{outer}")
            place = answer.split(b"Location: http://")[1].split(b"/")[0].decode()
            assert b" 403 " in await client.get(place)
        assert private.requests == []

    asyncio.run(story())


@pytest.mark.parametrize(
    ("request_bytes", "status"),
    [
        (b"GET / HTTP/1.1\r\nHost: site.example\r\n\r\n", 400),
        (b"GET https://site.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET ftp://site.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://user@site.example/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://site.example:0/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http://site.example:99999/ HTTP/1.1\r\n\r\n", 400),
        (b"GET http:///path HTTP/1.1\r\n\r\n", 400),
        (b"GET http://[127.0.0.1]/ HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT site.example HTTP/1.1\r\n\r\n", 400),
        (b"CONNECT [::1 HTTP/1.1\r\n\r\n", 400),
        (b"nonsense\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\r\n\r\n", 400),
        (b"GET http://site.example/ HTTP/2.0\r\n\r\n", 400),
        (b"GET http://site.example/ HTTP/1.1\r\n folded: x\r\n\r\n", 400),
        (b"GET http://site.example/ HTTP/1.1\r\nA: b\rC: d\r\n\r\n", 400),
        (b"GET http://site.example/ HTTP/1.1\r\nBad Header: x\r\n\r\n", 400),
        (b"POST http://site.example/ HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n", 400),
        (b"POST http://site.example/ HTTP/1.1\r\nContent-Length: +1\r\n\r\n", 400),
        (b"POST http://site.example/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"POST http://site.example/ HTTP/1.1\r\nTransfer-Encoding: gzip, chunked\r\n\r\n", 400),
        (b"GET http://site.example/ HTTP/1.1\r\nLong: " + b"x" * 40_000 + b"\r\n\r\n", 431),
        (b"GET http://unknown.example/ HTTP/1.1\r\n\r\n", 502),
        (b"GET http://closed.example/ HTTP/1.1\r\n\r\n", 502),
    ],
)
def test_what_is_unclear_or_out_of_reach_gets_an_answer(request_bytes, status):
    async def story():
        known = names(closed_example="127.1.0.9")
        async with proxy(internet(), known) as (egress, client):
            answer = await client.say(request_bytes)
            assert answer.startswith(b"HTTP/1.1 %d " % status), answer
            assert b"\r\n\r\ncomputepool: " in answer
            assert egress.bytes_in == 0

    asyncio.run(story())


def test_client_that_says_nothing_or_half_is_no_trouble():
    async def story():
        async with proxy(internet(), names()) as (_, client):
            for words in (b"", b"GET http://"):
                _, writer = await client.open()
                writer.write(words)
                writer.close()
            assert await client.status("site.example:25") == 403

    asyncio.run(story())


def test_silent_connections_are_ended():
    async def story():
        limits = EgressLimits(idle_seconds=0.2)
        async with server(echo) as port, proxy(internet(port), names(site_example=WEB), limits=limits) as (_, client):
            _, reader, writer = await client.connect(f"site.example:{port}")
            assert await asyncio.wait_for(reader.read(), patience()) == b""
            writer.close()

    asyncio.run(story())


class Collected:
    """A writer that keeps what it is given."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: bytes) -> None:
        self.data += data

    async def drain(self) -> None:
        pass


def test_connection_that_is_busy_in_one_direction_is_not_silent():
    async def story():
        unlimited = Meter(cap_bytes=None, bucket=None, allowance=None)
        relay = Relay(unlimited, 20, asyncio.get_running_loop().time)
        client: Any = (asyncio.StreamReader(), Collected())
        target: Any = (asyncio.StreamReader(), Collected())
        tunnel = asyncio.ensure_future(relay.tunnel(Line(client, target)))
        for _ in range(8):
            target[0].feed_data(b"x")
            await asyncio.sleep(5)
        assert client[1].data == b"x" * 8
        assert not tunnel.done()
        await asyncio.sleep(21)
        with pytest.raises(Silence):
            tunnel.result()

    run_in_virtual_time(story())


def test_more_connections_than_allowed_wait_for_their_turn():
    async def story():
        limits = EgressLimits(connections=2)
        async with server(echo) as port, proxy(internet(port), names(site_example=WEB), limits=limits) as (_, client):
            place = f"site.example:{port}"
            _, _, first = await client.connect(place)
            _, _, second = await client.connect(place)
            third = asyncio.create_task(client.connect(place))
            done, _ = await asyncio.wait({third}, timeout=A_MOMENT_SECONDS)
            assert not done
            first.close()
            answer, _, last = await asyncio.wait_for(third, patience())
            assert b" 200 " in answer
            for writer in (second, last):
                writer.close()

    asyncio.run(story())


def test_reader_that_is_slow_holds_the_sender_up():
    """Else the agent would keep in memory what a job does not take."""
    sent = 0

    async def flood(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal sent
        del reader
        try:
            while sent < 256 << 20:
                writer.write(b"x" * 65536)
                await writer.drain()
                sent += 65536
        except OSError:
            pass
        finally:
            writer.close()

    async def story():
        async with server(flood) as port, proxy(internet(port), names(site_example=WEB)) as (egress, client):
            _, _, writer = await client.connect(f"site.example:{port}")
            reading = writer.transport
            assert isinstance(reading, asyncio.Transport)
            reading.pause_reading()
            await async_eventually(lambda: egress.bytes_in, "the flood begins")
            await come_to_rest(lambda: sent, 0.1)
            assert 0 < egress.bytes_in < 32 << 20
            writer.transport.abort()

    asyncio.run(story())


def test_closing_ends_everything_at_once():
    async def story():
        async with server(echo) as port, proxy(internet(port), names(site_example=WEB)) as (egress, client):
            _, reader, writer = await client.connect(f"site.example:{port}")
            waiting = await client.open()
            await egress.close()
            assert await asyncio.wait_for(reader.read(), patience()) == b""
            for one in (writer, waiting[1]):
                one.close()
            with pytest.raises(ConnectionRefusedError):
                await client.open()
            late = socket.create_server(("127.0.0.1", 0))
            egress.serve(late)
            assert late.fileno() == -1

    asyncio.run(story())


def test_setup_reaches_its_index_and_nothing_else():
    async def story():
        site = Site(b"a wheel")
        async with server(site) as port:
            policy = internet()
            policy = type(policy)(Mode.INDEXES, indexes=frozenset({f"index.example:{port}"}))
            known = names(index_example=WEB, site_example=WEB)
            async with proxy(policy, known) as (_, client):
                assert (await client.get(f"index.example:{port}")).endswith(b"a wheel")
                refused = await client.get(f"site.example:{port}")
                assert b"is not a package index that this node knows" in refused
                assert b"network: true" in refused
                assert known.asked == ["index.example"]  # what is not listed is not even looked up

    asyncio.run(story())


def test_real_rules_keep_the_machines_own_ports_closed():
    """Nothing of the small internet here: the rules as they are, and a port of this machine."""

    async def story():
        secret = Site(b"secret")
        async with server(secret, "127.0.0.1") as port:
            policy = EgressPolicy(Mode.INTERNET, more_ports=frozenset({port}))
            known = names(rebound_example="127.0.0.1", mapped_example="::ffff:127.0.0.1")
            async with proxy(policy, known, around=None) as (_, client):
                for host in ("127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "rebound.example", "mapped.example", "0"):
                    assert b" 403 " in await client.get(f"{host}:{port}")
        assert secret.requests == []
        async with server(secret) as port, proxy(internet(port), names(site_example=WEB)) as (_, client):
            assert (await client.get(f"site.example:{port}")).endswith(b"secret")  # the control

    asyncio.run(story())


def test_real_client_library_goes_through():
    """urllib, as pip's own client does it; in a thread, as a job would be in a process."""
    from urllib.request import ProxyHandler, build_opener

    async def story():
        site = Site(b"for urllib")
        async with server(site) as port, proxy(internet(port), names(site_example=WEB)) as (_, client):
            assert isinstance(client, Client)
            opener = build_opener(ProxyHandler({"http": f"http://127.0.0.1:{client._port}"}))
            answer = await asyncio.to_thread(lambda: opener.open(f"http://site.example:{port}/").read())
            assert answer == b"for urllib"

    asyncio.run(story())
