"""Downloads and uploads over HTTP, with one client for all of them, made when the first is needed."""

import asyncio
import os
import ssl
from collections.abc import AsyncIterator, Callable, Mapping
from typing import TYPE_CHECKING, BinaryIO
from urllib.parse import urljoin

from computepool.agent.ports import Sink, TransferFailed, asked_to_wait_seconds
from computepool.protocol.addresses import same_origin

if TYPE_CHECKING:
    import httpx

PIECE_BYTES = 256 * 1024
CONNECT_SECONDS = 15.0
STALL_SECONDS = 60.0
"""Without a single byte for this long, a transfer is tried anew."""

_TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})


class HttpTransfer:
    def __init__(
        self,
        hub_url: str,
        passed: Callable[[int], None] = lambda count: None,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        """`passed` hears of the bytes that went over the line, in either direction. `tls`: which certificates the hub
        itself may show, if not the usual ones; a store elsewhere has its own."""
        self._hub_url = hub_url + "/"
        self._tls = tls
        self.passed = passed
        self._clients: dict[ssl.SSLContext | None, httpx.AsyncClient] = {}

    def _http(self, url: str) -> "httpx.AsyncClient":
        tls = self._tls if same_origin(url, self._hub_url) else None
        if tls not in self._clients:
            import httpx

            timeout = httpx.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS)
            verify = True if tls is None else tls
            self._clients[tls] = httpx.AsyncClient(timeout=timeout, follow_redirects=False, verify=verify)
        return self._clients[tls]

    def _absolute(self, url: str) -> str:
        """A hub that keeps artifacts itself may give paths: the node knows best under which name it reaches the hub."""
        return urljoin(self._hub_url, url)

    async def download(self, url: str, *, offset: int, sink: Sink) -> None:
        import httpx

        # Offsets count the stored bytes, so nobody may compress them on the way.
        headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})
        where = self._absolute(url)
        try:
            async with self._http(where).stream("GET", where, headers=headers) as response:
                if response.status_code == 416:
                    # Nothing behind the offset: all of it is here already.
                    return
                if response.status_code not in {200, 206}:
                    raise await _failure("download", response)
                sink.begin(offset if response.status_code == 206 else 0)
                # As they come: what arrived before the line breaks is not asked for again.
                async for piece in response.aiter_raw():
                    self.passed(len(piece))
                    sink.write(piece)
        except httpx.HTTPError as error:
            raise TransferFailed(f"the download broke off: {type(error).__name__} {error}", retry=True) from None

    async def upload(
        self, url: str, file: BinaryIO, *, offset: int, size_bytes: int, headers: Mapping[str, str]
    ) -> None:
        import httpx

        async def pieces() -> AsyncIterator[bytes]:
            sent = 0
            while sent < size_bytes:
                piece = os.pread(file.fileno(), min(PIECE_BYTES, size_bytes - sent), offset + sent)
                if not piece:
                    raise TransferFailed("the file became shorter", retry=False)
                sent += len(piece)
                yield piece
                self.passed(len(piece))

        # The length first: without it the body would be sent in chunks, which stores refuse.
        sent = {"Content-Length": str(size_bytes), **headers}
        where = self._absolute(url)
        try:
            response = await self._http(where).put(where, content=pieces(), headers=sent)
        except httpx.HTTPError as error:
            raise TransferFailed(f"the upload broke off: {type(error).__name__} {error}", retry=True) from None
        if not response.is_success:
            raise await _failure("upload", response)

    async def close(self) -> None:
        while self._clients:
            await self._clients.popitem()[1].aclose()


async def _failure(what: str, response: "httpx.Response") -> TransferFailed:
    """Whoever tries again does so after as long as the store asks for."""
    status = response.status_code
    await asyncio.sleep(asked_to_wait_seconds(status, response.headers))
    return TransferFailed(f"the {what} was answered with HTTP {status}", retry=status in _TRY_AGAIN)
