"""Inputs from URLs: fetched by the agent itself, through the same proxy and under the same rules as a job's way out.

So a name is resolved and checked once for each connection, redirects too, and the connection goes to the very address
that was checked: never to this machine, the network around it, or a cloud's metadata. What passes is counted.
"""

import asyncio
import contextlib
import functools
import hashlib
import re
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from urllib.parse import urljoin, urlsplit

from computepool.agent.clock import Clock
from computepool.agent.egress import Egress, EgressPolicy, Mode, Refused
from computepool.agent.inputs import BadInput, InputFailed, InputTooSlow, InputUnreachable, MakeRoom, persist
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
SLOW_SECONDS = 120.0
SLOW_BYTES_PER_SECOND = 32 * 1024
"""A download that brings less than this for so long is given up."""
ANSWERED = frozenset({200, 206, 416})
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
        self._outside = outside
        self._url = url
        self.tag = hashlib.sha256(url.encode()).hexdigest()[:32]
        self._own = own
        self._limit = limit_bytes
        self._tries = tries

    async def bring(self, partial: Partial, make_room: MakeRoom) -> None:
        async with way_out(self._outside, EgressPolicy(Mode.INTERNET), own=self._own) as (egress, client):
            pace = DownloadPace(self._outside.clock)

            async def fetch() -> None:
                try:
                    await self._fetch(client, partial, make_room, pace)
                except TransferFailed:
                    if egress.refusal is not None:
                        raise self._refused(egress.refusal) from None
                    raise

            try:
                await persist(partial, fetch, self._tries)
            except TransferFailed as error:
                raise InputUnreachable(f"{self._url}: {error}") from None
            except InputTooSlow as error:
                raise InputTooSlow(f"{self._url}: {error}") from None

    async def _fetch(
        self, client: "httpx.AsyncClient", partial: Partial, make_room: MakeRoom, pace: "DownloadPace"
    ) -> None:
        import httpx

        url = self._url
        try:
            for _ in range(REDIRECTS + 1):
                check_url(url)
                request = client.build_request("GET", url, headers=headers_from(partial.part_bytes))
                async with asyncio.timeout(STALL_SECONDS):
                    response = await client.send(request, stream=True)
                try:
                    if response.status_code not in MOVED:
                        return await self._take(response, partial, make_room, pace)
                    url = next_url(url, response.headers.get("location"))
                finally:
                    await response.aclose()
        except (httpx.InvalidURL, BadUrl) as error:
            raise BadInput(f"{self._url}: {error}") from None
        except TimeoutError:
            raise TransferFailed(f"it did not answer within {STALL_SECONDS:.0f} seconds", retry=True) from None
        except httpx.HTTPError as error:
            raise TransferFailed(f"it broke off: {type(error).__name__} {error}", retry=True) from None
        raise BadInput(f"{self._url} redirects more than {REDIRECTS} times; name the place where it really is")

    async def _take(
        self, response: "httpx.Response", partial: Partial, make_room: MakeRoom, pace: "DownloadPace"
    ) -> None:
        status = response.status_code
        if status in GONE:
            raise BadInput(f"there is nothing at {self._url}: HTTP {status}")
        if status not in ANSWERED:
            raise TransferFailed(f"it was answered with HTTP {status}", retry=status in TRY_AGAIN)
        await receive(response, partial, make_room, limit_bytes=self._limit, too_large=self._too_large, pace=pace)

    def _too_large(self, size_bytes: int | None) -> BadInput:
        size = about_bytes(size_bytes) if size_bytes is not None else "too much"
        room = f"the job's disk has room for {about_bytes(self._limit)}: resources.disk"
        return BadInput(f"{self._url} gives {size}, and {room}")

    def _refused(self, refusal: Refused) -> InputFailed:
        if refusal.code in NODES_OWN:
            return NotFetchedHere(f"{self._url}: {refusal}")
        return BadInput(f"{self._url} was refused: {refusal}")


class BadUrl(Exception):
    """No URL that the agent may ask, or none at all."""


def check_url(url: str, schemes: Sequence[str] = ("https",)) -> None:
    """Raises BadUrl. Where it leads is checked by the proxy, when it is connected to."""
    try:
        parts = urlsplit(url)
        is_fine = parts.scheme in schemes and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_fine = False
    if not is_fine:
        raise BadUrl(f"{url[:200]!r} is not an {' or '.join(schemes)} URL")
    if "[" in parts.netloc:
        raise BadUrl(f"{url[:200]}: name the host, not an address of IPv6")


def next_url(url: str, location: str | None) -> str:
    """Where a redirect leads. Raises BadUrl."""
    try:
        return urljoin(url, location or "")
    except ValueError:
        raise BadUrl(f"{str(location)[:200]!r}, where it redirects to, is not an https URL") from None


def headers_from(offset: int) -> dict[str, str]:
    # The digest is of the stored bytes, so nobody may compress them on the way.
    return {"Accept-Encoding": "identity"} | ({"Range": f"bytes={offset}-"} if offset else {})


class DownloadPace:
    """Ends a download that comes so slowly that it only keeps the node busy."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._last = clock.monotonic()
        self._seconds, self._came = 0.0, 0

    def note(self, count: int) -> None:
        """Raises InputTooSlow."""
        now = self._clock.monotonic()
        # A longer gap is a machine that slept, or a line that broke: others end that.
        self._seconds += min(now - self._last, STALL_SECONDS)
        self._last = now
        self._came += count
        if self._seconds < SLOW_SECONDS:
            return
        if self._came < SLOW_BYTES_PER_SECOND * self._seconds:
            raise InputTooSlow(
                f"it brought only {about_bytes(self._came)} in {self._seconds:.0f} seconds, and"
                f" {about_bytes(SLOW_BYTES_PER_SECOND)} a second is the least: name a faster place"
            )
        self._seconds, self._came = 0.0, 0


async def receive(
    response: "httpx.Response",
    partial: Partial,
    make_room: MakeRoom,
    *,
    limit_bytes: int,
    too_large: Callable[[int | None], InputFailed],
    pace: DownloadPace,
) -> None:
    """What an answer to `headers_from` brings. `too_large` makes the error of a size, or of one that nobody knows."""
    if response.status_code == 416 and partial.part_bytes:
        return  # nothing behind what is here: the digest tells whether that is all
    partial.begin(_offset(response, partial))
    length = response.headers.get("content-length", "")
    coming = int(length) if re.fullmatch(r"\d{1,18}", length) else None
    if coming is not None and partial.size_bytes + coming > limit_bytes:
        raise too_large(partial.size_bytes + coming)
    room = 0
    # As it comes: what arrived before the line breaks is not asked for again.
    async for piece in _pieces(response):
        pace.note(len(piece))
        if len(piece) > room:
            wanted = max(len(piece), coming if coming is not None and not room else ROOM_BYTES)
            await make_room(wanted)
            room += wanted
        room -= len(piece)
        if partial.size_bytes + len(piece) > limit_bytes:
            raise too_large(None)
        partial.write(piece)


async def _pieces(response: "httpx.Response") -> AsyncIterator[bytes]:
    """Each within its time: bytes that only frame the content would keep the connection alive for ever."""
    pieces = response.aiter_raw()
    try:
        while True:
            async with asyncio.timeout(STALL_SECONDS):
                piece = await anext(pieces, None)
            if piece is None:
                return
            yield piece
    except TimeoutError:
        raise TransferFailed(f"nothing came for {STALL_SECONDS:.0f} seconds", retry=True) from None


def _offset(response: "httpx.Response", partial: Partial) -> int:
    if response.status_code == 200:
        return 0
    found = re.match(r"bytes (\d{1,18})-", response.headers.get("content-range", ""))
    if found is None or int(found[1]) != partial.part_bytes:
        partial.begin(-1)
        raise TransferFailed("it was answered with another part than the one that is missing", retry=True)
    return partial.part_bytes


@contextlib.asynccontextmanager
async def way_out(
    outside: Outside, policy: EgressPolicy, *, own: bool
) -> "AsyncIterator[tuple[Egress, httpx.AsyncClient]]":
    """A proxy for what is fetched now, on loopback, and a client that knows no other way."""
    import httpx

    # The cap on one job's traffic is for its own; what is fetched for it has limits of its own.
    egress = replace(outside, cap_bytes=None).open_with(policy, own=own)
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


@functools.cache
def _trusted() -> ssl.SSLContext:
    import httpx

    return httpx.create_ssl_context()
