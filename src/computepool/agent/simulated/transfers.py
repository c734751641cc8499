"""Downloads and uploads of all simulated nodes, through one HTTP client that is never asked for many at once."""

import asyncio
import ssl
from collections.abc import Mapping
from typing import BinaryIO

from computepool.agent.ports import Sink
from computepool.agent.transfer import HttpTransfer

AT_ONCE = 8
"""The client looks at every connection for every request that waits: a thousand that wait would be all it does."""


class SharedTransfer:
    def __init__(self, hub_url: str, tls: ssl.SSLContext | None = None) -> None:
        self._http = HttpTransfer(hub_url, tls=tls)
        self._turns = asyncio.Semaphore(AT_ONCE)

    async def download(self, url: str, *, offset: int, sink: Sink) -> None:
        async with self._turns:
            await self._http.download(url, offset=offset, sink=sink)

    async def upload(
        self, url: str, file: BinaryIO, *, offset: int, size_bytes: int, headers: Mapping[str, str]
    ) -> None:
        async with self._turns:
            await self._http.upload(url, file, offset=offset, size_bytes=size_bytes, headers=headers)

    async def close(self) -> None:
        await self._http.close()
