"""Web sites with files, over real TLS, behind a proxy such as a company has: what the agent's own proxy lets through is
carried there, whatever address it was for. Names resolve to public addresses, or to where a test says.
"""

import asyncio
import contextlib
import ssl
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from computepool.agent.clock import SystemClock
from computepool.agent.egress.upstream import Upstream
from computepool.agent.outside import Outside

HOSTS = ("files.example.org", "mirror.example.org", "inside.example.org")
PUBLIC = "93.184.216.34"


@dataclass
class Page:
    body: bytes = b""
    status: int = 200
    location: str = ""
    length: bool = True
    ranges: bool = True
    breaks: list[int] = field(default_factory=list)
    """After so many bytes of the answer the line is cut, once each."""


class SecureSite:
    def __init__(self) -> None:
        self.pages: dict[str, Page] = {}
        """By path, on every host."""
        self.requests: list[tuple[str, str, str]] = []
        """(host, path, range) of each."""
        self.targets: list[str] = []
        """Where the agent's proxy wanted to go."""
        self.addresses: dict[str, list[str]] = {}
        self.port = 0
        self.trusted = ssl.create_default_context()
        self._open: dict[asyncio.Task[None], asyncio.StreamWriter] = {}

    async def lookup(self, host: str, port: int) -> list:
        del port
        return [ip_address(text) for text in self.addresses.get(host, [PUBLIC])]

    def outside(self, **changes) -> Outside:
        options = {"upstream": Upstream("127.0.0.1", self.port), "tls": self.trusted, **changes}
        return Outside(clock=SystemClock(), lookup=self.lookup, **options)

    @contextlib.contextmanager
    def _attending(self, writer: asyncio.StreamWriter) -> Iterator[None]:
        task = asyncio.current_task()
        assert task is not None
        self._open[task] = writer
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                yield
        finally:
            with contextlib.suppress(AttributeError):  # after its end Python 3.11's has no protocol any more
                writer.transport.abort()
            del self._open[task]

    async def close(self) -> None:
        for task in (tasks := list(self._open)):
            task.cancel()
        await asyncio.gather(*tasks)
        await asyncio.sleep(0)

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with self._attending(writer):
            await self._answer((await reader.readuntil(b"\r\n\r\n")).decode("latin-1"), writer)
            writer.close()
            await writer.wait_closed()

    async def _answer(self, head: str, writer: asyncio.StreamWriter) -> None:
        first, *lines = head.split("\r\n")
        headers = {name.lower(): value for name, _, value in (line.partition(": ") for line in lines)}
        path, asked = first.split(" ")[1], headers.get("range", "")
        self.requests.append((headers.get("host", ""), path, asked))
        page = self.pages.get(path, Page(status=404))
        start = int(asked.removeprefix("bytes=").rstrip("-") or 0) if page.ranges else 0
        status = 206 if start and page.status == 200 else page.status
        body = page.body[start:]
        said = [f"HTTP/1.1 {status} x", "Connection: close"]
        said += [f"Content-Length: {len(body)}"] if page.length else []
        said += [f"Content-Range: bytes {start}-{len(page.body) - 1}/{len(page.body)}"] if status == 206 else []
        said += [f"Location: {page.location}"] if page.location else []
        cut = page.breaks.pop(0) if page.breaks else None
        writer.write("\r\n".join([*said, "", ""]).encode() + body[:cut])
        await writer.drain()
        if cut is not None:
            writer.transport.abort()

    async def carry(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        """The company's proxy: every tunnel leads to the one server here."""
        with self._attending(writer):
            head = await reader.readuntil(b"\r\n\r\n")
            self.targets.append(head.split(b" ")[1].decode())
            there, away = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"HTTP/1.1 200 fine\r\n\r\n")
            try:
                await asyncio.gather(_pump(reader, away), _pump(there, writer))
            finally:
                away.transport.abort()


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(ConnectionError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    writer.close()


@contextlib.asynccontextmanager
async def secure_site() -> AsyncIterator[SecureSite]:
    site = SecureSite()
    with tempfile.TemporaryDirectory() as folder:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(make_certificate(Path(folder)))
        site.trusted.load_verify_locations(Path(folder, "site.pem"))
    server = await asyncio.start_server(site.serve, "127.0.0.1", 0, ssl=context)
    port = server.sockets[0].getsockname()[1]
    proxy = await asyncio.start_server(lambda r, w: site.carry(r, w, port), "127.0.0.1", 0)
    site.port = proxy.sockets[0].getsockname()[1]
    try:
        yield site
    finally:
        proxy.close()
        server.close()
        await site.close()


def make_certificate(folder: Path, hosts: Sequence[str] = HOSTS, addresses: Sequence[str] = ()) -> Path:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a site of tests")])
    now = datetime.now(UTC)
    names = [x509.DNSName(host) for host in hosts]
    places = [x509.IPAddress(ip_address(text)) for text in addresses]
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([*names, *places]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    path = folder / "site.pem"
    path.write_bytes(
        certificate.public_bytes(Encoding.PEM) + key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    )
    return path
