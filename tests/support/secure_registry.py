"""A fake registry over TLS, on the public internet as far as anybody can tell: behind a proxy such as a company has,
which carries every tunnel to it, whatever address it was for. Also whoever gives tokens and keeps blobs is there.
"""

import contextlib
import functools
import select
import socket
import socketserver
import ssl
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path
from typing import Any

from support.fake_registry import FakeRegistry, fake_registry
from support.secure_site import PUBLIC, make_certificate

from computepool.agent.clock import SystemClock
from computepool.agent.egress.upstream import Upstream
from computepool.agent.outside import Outside

REGISTRY, AUTH, STORE, INSIDE = (f"{name}.example.org" for name in ("registry", "auth", "store", "inside"))


@dataclass
class SecureRegistry:
    registry: FakeRegistry
    proxy_port: int
    certificate: Path
    targets: list[str]
    """Where the proxy was asked to connect to."""
    addresses: dict[str, list[str]] = field(default_factory=dict)
    """What names mean, where they do not mean a public address. Several: each time the next."""
    lookups: list[str] = field(default_factory=list)

    @functools.cached_property
    def _trusted(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=str(self.certificate))

    async def lookup(self, host: str, port: int) -> list[Any]:
        del port
        answers = self.addresses.get(host, [PUBLIC])
        answer = answers[min(self.lookups.count(host), len(answers) - 1)]
        self.lookups.append(host)
        return [ip_address(text) for text in answer.split()]

    def outside(self, **changes: Any) -> Outside:
        options = {"upstream": Upstream("127.0.0.1", self.proxy_port), "tls": self._trusted, **changes}
        return Outside(clock=SystemClock(), lookup=self.lookup, **options)


@contextlib.contextmanager
def secure_registry() -> Iterator[SecureRegistry]:
    with tempfile.TemporaryDirectory() as folder:
        certificate = make_certificate(Path(folder), (REGISTRY, AUTH, STORE, INSIDE), addresses=(PUBLIC,))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        with fake_registry(context) as registry, _company_proxy(registry.address) as (port, targets):
            yield SecureRegistry(registry, port, certificate, targets)


@contextlib.contextmanager
def _company_proxy(address: str) -> Iterator[tuple[int, list[str]]]:
    host, _, port = address.partition(":")
    targets: list[str] = []

    class Tunnel(socketserver.StreamRequestHandler):
        disable_nagle_algorithm = True

        def handle(self) -> None:
            targets.append(self.rfile.readline().split(b" ")[1].decode())
            while self.rfile.readline().strip():
                pass
            with contextlib.suppress(OSError), socket.create_connection((host, int(port))) as there:
                there.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self.wfile.write(b"HTTP/1.1 200 fine\r\n\r\n")
                _pump(self.connection, there)

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            """Clients that leave in the middle."""

    server = Server(("127.0.0.1", 0), Tunnel)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
    thread.start()
    try:
        yield server.server_address[1], targets
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _pump(here: socket.socket, there: socket.socket) -> None:
    other = {here: there, there: here}
    while True:
        for ready in select.select([here, there], [], [])[0]:
            if not (data := ready.recv(65536)):
                return
            other[ready].sendall(data)
