"""A small internet for tests of the proxy: 127.1.0.0/16, which nobody else uses, counts as public there."""

import asyncio
import contextlib
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, ip_address

from computepool.agent.clock import SystemClock
from computepool.agent.egress import Egress, EgressPolicy, Mode
from computepool.agent.egress.addresses import Address, Network

INTERNET = IPv4Network("127.1.0.0/16")
WEB = "127.1.0.1"
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


@dataclass(frozen=True)
class SmallInternet(EgressPolicy):
    """The real rules for all addresses but those."""

    def check_addresses(self, host: str, port: int, addresses: Iterable[Address], around: frozenset[Network]) -> None:
        others = [address for address in addresses if address not in INTERNET]
        super().check_addresses(host, port, others, around)


class Names:
    """A resolver that knows a few names, and how often it was asked. Several answers: each time the next."""

    def __init__(self, names: Mapping[str, list[list[str]]]) -> None:
        self._names = names
        self.asked: list[str] = []

    async def lookup(self, host: str, port: int) -> list[Address]:
        del port
        answers = self._names.get(host, [[]])
        answer = answers[min(self.asked.count(host), len(answers) - 1)]
        self.asked.append(host)
        return [ip_address(text) for text in answer]


def names(**addresses: str) -> Names:
    return Names({name.replace("_", "."): [[address]] for name, address in addresses.items()})


def internet(*ports: int) -> SmallInternet:
    return SmallInternet(Mode.INTERNET, more_ports=frozenset(ports))


@contextlib.asynccontextmanager
async def server(handler: Handler, host: str = WEB) -> AsyncIterator[int]:
    """A server somewhere on the small internet; its port."""
    serving = await asyncio.start_server(handler, host, 0)
    async with serving:
        yield serving.sockets[0].getsockname()[1]


class Site:
    """Says what it was asked; keeps the whole requests."""

    def __init__(self, body: bytes = b"hello from the site") -> None:
        self.body = body
        self.requests: list[bytes] = []

    async def __call__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        length = next(
            (int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:")), 0
        )
        self.requests.append(head + await reader.readexactly(length))
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(self.body) + self.body)
        await writer.drain()
        writer.close()


async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while piece := await reader.read(65536):
        writer.write(piece)
        await writer.drain()
    writer.close()


class Client:
    """A job's program, as far as the proxy sees one."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def open(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port)

    async def say(self, request: bytes) -> bytes:
        """Everything that is answered."""
        reader, writer = await self.open()
        writer.write(request)
        answer = await reader.read(-1)
        writer.close()
        return answer

    async def get(self, place: str, path: str = "/", *headers: str) -> bytes:
        lines = [f"GET http://{place}{path} HTTP/1.1", "Host: ignored", *headers, "", ""]
        return await self.say("\r\n".join(lines).encode())

    async def connect(self, place: str) -> tuple[bytes, asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await self.open()
        writer.write(f"CONNECT {place} HTTP/1.1\r\nHost: {place}\r\n\r\n".encode())
        return await reader.readuntil(b"\r\n\r\n"), reader, writer

    async def status(self, place: str) -> int:
        """Of a CONNECT."""
        answer, _, writer = await self.connect(place)
        writer.close()
        return int(answer.split()[1])


@contextlib.asynccontextmanager
async def proxy(policy: EgressPolicy, known: Names, **more: object) -> AsyncIterator[tuple[Egress, Client]]:
    """An egress as the agent makes one, on a socket of the host's own loopback interface."""
    options = {"clock": SystemClock(), "around": frozenset, **more}
    egress = Egress(policy, lookup=known.lookup, **options)  # type: ignore[arg-type]
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    egress.serve(listener)
    try:
        yield egress, Client(port)
    finally:
        await egress.close()
