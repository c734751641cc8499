"""Listeners that keep every byte they are sent, before a server or alone: what an eavesdropper on the way has read.

They are named 0.0.0.0, which is not an address of the loopback network, and yet is this machine: what is sent there is
"beyond loopback" to the code under test, and never leaves the machine.
"""

import asyncio
import contextlib
import re
import ssl
import threading
from collections.abc import Iterator
from pathlib import Path

from support.secure_site import make_certificate
from support.waiting import patience

from computepool.protocol.pinning import fingerprint_of

BEYOND_LOOPBACK = "0.0.0.0"
NO_HUB = b"HTTP/1.1 404 x\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"


class Tap:
    """An event loop in a thread of its own, so that both sides of a test may block."""

    def __init__(self, behind: int | None = None, certificate: Path | None = None) -> None:
        """`behind`: the port to pass everything on to; without, it is answered with 404. `certificate`: TLS ends here,
        and what is kept is what was inside."""
        self.heard = b""
        self.connections = 0
        """With TLS, those whose handshake came to its end."""
        self.port = 0
        self.fingerprint = ""
        self._behind = behind
        self._tls: ssl.SSLContext | None = None
        if certificate is not None:
            self._tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            self._tls.load_cert_chain(certificate)
            pem = certificate.read_text().partition("-----BEGIN PRIVATE")[0]
            self.fingerprint = fingerprint_of(ssl.PEM_cert_to_DER_cert(pem))
        self._loop = asyncio.new_event_loop()
        self._ended = asyncio.Event()
        ready = threading.Event()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._run(ready),), daemon=True)
        self._thread.start()
        ready.wait()

    @property
    def http(self) -> str:
        return f"http://{BEYOND_LOOPBACK}:{self.port}"

    @property
    def https(self) -> str:
        return f"https://{BEYOND_LOOPBACK}:{self.port}"

    @property
    def address(self) -> str:
        """With the fingerprint of its own certificate."""
        return f"{self.https}#{self.fingerprint}"

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join()
        self._loop.close()

    async def _run(self, ready: threading.Event) -> None:
        server = await asyncio.start_server(self._serve, "127.0.0.1", 0, ssl=self._tls)
        self.port = server.sockets[0].getsockname()[1]
        ready.set()
        await self._ended.wait()
        server.close()
        serving = asyncio.all_tasks() - {asyncio.current_task()}
        for task in serving:
            task.cancel()
        await asyncio.gather(*serving, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with contextlib.suppress(OSError, TimeoutError, asyncio.CancelledError):
                if self._behind is None:
                    await self._refuse(reader, writer)
                else:
                    await self._pass_on(reader, writer, self._behind)
        finally:
            with contextlib.suppress(AttributeError):  # after its end Python 3.11's has no protocol any more
                writer.transport.abort()

    async def _refuse(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """A whole request is heard before it is answered, however many pieces it comes in."""
        request = b""
        while data := await reader.read(65536):
            self.heard += data
            request += data
            if _is_whole(request):
                request = b""
                writer.write(NO_HUB)
                await writer.drain()

    async def _pass_on(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, port: int) -> None:
        there, away = await asyncio.open_connection("127.0.0.1", port)
        try:
            ways = [asyncio.create_task(self._hear(reader, away)), asyncio.create_task(_pump(there, writer))]
            # Whichever side ends first ends both: nothing here is half-closed.
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            # The last bytes may still be in the buffer: an abort would lose them.
            async with asyncio.timeout(patience()):
                writer.close()
                await writer.wait_closed()
        finally:
            away.transport.abort()

    async def _hear(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(65536):
                self.heard += data
                writer.write(data)
                await writer.drain()


def _is_whole(request: bytes) -> bool:
    head, ended, body = request.partition(b"\r\n\r\n")
    length = re.search(rb"(?im)^content-length:\s*(\d+)", head)
    return bool(ended) and len(body) >= (int(length[1]) if length else 0)


async def _pump(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()


@contextlib.contextmanager
def tap(behind: int | None = None, certificate: Path | None = None) -> Iterator[Tap]:
    made = Tap(behind, certificate)
    try:
        yield made
    finally:
        made.close()


@contextlib.contextmanager
def secure_tap(folder: Path, behind: int | None = None) -> Iterator[Tap]:
    """With a certificate that no authority signed."""
    folder.mkdir(exist_ok=True)
    with tap(behind, make_certificate(folder)) as made:
        yield made
