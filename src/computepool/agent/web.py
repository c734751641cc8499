"""Inputs from URLs: fetched by the agent itself, through the same proxy and under the same rules as a job's way out.

So a name is resolved and checked once for each connection, redirects too, and the connection goes to the very address
that was checked: never to this machine, the network around it, or a cloud's metadata. What passes is counted.
"""

import contextlib
import hashlib
import re
import socket
import ssl
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from computepool.agent.egress import Egress, Refused
from computepool.agent.inputs import BadInput, InputFailed, MakeRoom, Unreachable, persist
from computepool.agent.outside import Outside
from computepool.agent.partial import Partial
from computepool.agent.ports import TransferFailed
from computepool.protocol.receipt import EndReason
from computepool.protocol.units import about_bytes

if TYPE_CHECKING:
    import httpx

REDIRECTS = 5
TRIES = 4
"""In a row without a single byte: then another node is asked, which may see more of the internet."""
CONNECT_SECONDS = 30.0
STALL_SECONDS = 60.0
ROOM_BYTES = 64 * 1024 * 1024
"""Asked for at a time, where the server does not say how much will come."""
GONE = frozenset({404, 410})
MOVED = frozenset({301, 302, 303, 307, 308})
TRY_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
NODES_OWN = frozenset({"allowance", "lease"})
"""Refusals that say nothing about the URL: another node may well fetch it."""


class NotFetchedHere(InputFailed):
    """This node may not, now."""

    reason = EndReason.DECLINED


class FromWeb:
    """One https URL. `own` is the owner's own work, which the data allowance does not count."""

    wrong = BadInput

    def __init__(self, outside: Outside, url: str, *, own: bool, limit_bytes: int, tries: int = TRIES) -> None:
        # The cap on one job's traffic is for its own; inputs are bound by its disk.
        self._outside = replace(outside, cap_bytes=None)
        self._url = url
        self.tag = hashlib.sha256(url.encode()).hexdigest()[:32]
        self._own = own
        self._limit = limit_bytes
        self._tries = tries

    async def bring(self, partial: Partial, make_room: MakeRoom) -> None:
        async with _way_out(self._outside, own=self._own) as (egress, client):

            async def fetch() -> None:
                try:
                    await self._fetch(client, partial, make_room)
                except TransferFailed:
                    if egress.refusal is not None:
                        raise self._refused(egress.refusal) from None
                    raise

            try:
                await persist(partial, fetch, self._tries)
            except TransferFailed as error:
                raise Unreachable(f"{self._url}: {error}") from None

    async def _fetch(self, client: "httpx.AsyncClient", partial: Partial, make_room: MakeRoom) -> None:
        import httpx

        url = self._url
        try:
            for _ in range(REDIRECTS + 1):
                if "[" in urlsplit(url).netloc:
                    raise BadInput(f"{url[:200]}: name the host, not an address of IPv6")
                request = client.build_request("GET", url, headers=_headers(partial.part_bytes))
                response = await client.send(request, stream=True)
                try:
                    if response.status_code not in MOVED:
                        return await self._take(response, partial, make_room)
                    url = self._next_url(url, response.headers.get("location"))
                finally:
                    await response.aclose()
        except httpx.InvalidURL as error:
            raise BadInput(f"{self._url}: {error}") from None
        except httpx.HTTPError as error:
            raise TransferFailed(f"it broke off: {type(error).__name__} {error}", retry=True) from None
        raise BadInput(f"{self._url} redirects more than {REDIRECTS} times; name the place where it really is")

    def _next_url(self, url: str, location: str | None) -> str:
        target = urljoin(url, location or "")
        if location is None or urlsplit(target).scheme != "https":
            raise BadInput(f"{self._url} redirects to {target[:200]!r}, which is not an https URL")
        return target

    async def _take(self, response: "httpx.Response", partial: Partial, make_room: MakeRoom) -> None:
        status = response.status_code
        if status in GONE:
            raise BadInput(f"there is nothing at {self._url}: HTTP {status}")
        if status == 416 and partial.part_bytes:
            return  # nothing behind what is here: the digest tells whether that is all
        if status not in (200, 206):
            raise TransferFailed(f"it was answered with HTTP {status}", retry=status in TRY_AGAIN)
        partial.begin(self._offset(response, partial))
        length = response.headers.get("content-length", "")
        coming = int(length) if re.fullmatch(r"\d{1,18}", length) else None
        if coming is not None and partial.size_bytes + coming > self._limit:
            raise BadInput(self._too_large(partial.size_bytes + coming))
        room = 0
        # As it comes: what arrived before the line breaks is not asked for again.
        async for piece in response.aiter_raw():
            if len(piece) > room:
                wanted = max(len(piece), coming if coming is not None and not room else ROOM_BYTES)
                await make_room(wanted)
                room += wanted
            room -= len(piece)
            if partial.size_bytes + len(piece) > self._limit:
                raise BadInput(self._too_large(None))
            partial.write(piece)

    def _offset(self, response: "httpx.Response", partial: Partial) -> int:
        if response.status_code == 200:
            return 0
        found = re.match(r"bytes (\d{1,18})-", response.headers.get("content-range", ""))
        if found is None or int(found[1]) != partial.part_bytes:
            partial.begin(-1)
            raise TransferFailed("it was answered with another part than the one that is missing", retry=True)
        return partial.part_bytes

    def _too_large(self, size_bytes: int | None) -> str:
        size = about_bytes(size_bytes) if size_bytes is not None else "too much"
        return f"{self._url} gives {size}, and the job's disk has room for {about_bytes(self._limit)}: resources.disk"

    def _refused(self, refusal: Refused) -> InputFailed:
        if refusal.code in NODES_OWN:
            return NotFetchedHere(f"{self._url}: {refusal}")
        return BadInput(f"{self._url} was refused: {refusal}")


def _headers(offset: int) -> dict[str, str]:
    # The digest is of the stored bytes, so nobody may compress them on the way.
    return {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})


@contextlib.asynccontextmanager
async def _way_out(outside: Outside, *, own: bool) -> "AsyncIterator[tuple[Egress, httpx.AsyncClient]]":
    """A proxy for this one download, on loopback, and a client that knows no other way."""
    import httpx

    egress = outside.open(internet=True, own=own, tell=lambda line: None, may_pass=lambda: True)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]
    egress.serve(listener)
    try:
        async with httpx.AsyncClient(
            proxy=f"http://127.0.0.1:{port}",
            verify=outside.tls or _trusted(),
            timeout=httpx.Timeout(STALL_SECONDS, connect=CONNECT_SECONDS),
            follow_redirects=False,
            trust_env=False,
        ) as client:
            yield egress, client
    finally:
        await egress.close()
        listener.close()


def _trusted() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()
