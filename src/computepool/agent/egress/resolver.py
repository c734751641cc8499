"""Names to addresses, by the machine's own resolver, in threads of its own: slow names must not hold up the agent."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_address

from .addresses import Address

THREADS = 4
LOOKUP_SECONDS = 10.0
MAX_ADDRESSES = 16

Lookup = Callable[[str, int], Awaitable[list[Address]]]
"""The addresses of a name, in the order in which to try them; none if it has none."""


class Resolver:
    """One for the whole agent."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(THREADS, thread_name_prefix="egress-dns")

    async def lookup(self, host: str, port: int) -> list[Address]:
        async with asyncio.timeout(LOOKUP_SECONDS):
            loop = asyncio.get_running_loop()
            return await loop.run_in_executor(self._threads, _addresses_of, host, port)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _addresses_of(host: str, port: int) -> list[Address]:
    try:
        answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError:
        return []
    texts = dict.fromkeys(str(place[0]) for *_, place in answers)
    return [ip_address(text) for text in texts][:MAX_ADDRESSES]
