"""Limits at the hub's edge: connections, requests and bytes by network address, requests and streams by account.

Everything is in memory and bounded. The server (`hub/serving`) counts connections and heads of requests here, and
gives each request its `Connection`; the gates of routes (`core/http.py`) go on from there. A request that did not come
through that server, as in many tests, has none, and only the limits of its route hold.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, ExitStack, asynccontextmanager, contextmanager, nullcontext
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network

from starlette.types import Scope as AsgiScope

from computepool.hub.core.edge_settings import EdgeSettings, IpNetwork
from computepool.hub.core.errors import TooMany, Unavailable
from computepool.hub.core.new_links import NewLinks

BURST_SECONDS = 10.0
"""What is allowed in so many seconds may also come at once."""
KEYS_LIMIT = 20_000
"""Addresses, or accounts, whose rate is remembered. Only those that ask more often than allowed have to be."""
UNPROVEN_BYTES = (16 * 1024**2, 6 * 1024**2)
"""Kept at once, of all and of one address, of requests whose sender is not known yet: unfinished heads, bodies without
a token. A poll of the largest size fits into the second."""
UNREAD_BYTES = (32 * 1024**2, 16 * 1024**2)
"""The same of answers that were written and not yet read, on connections whose buffers are full."""
CONNECTION = "computepool.connection"
"""Where a request's scope has its Connection."""
FAILURES_PER_SECOND = 5.0
"""Polls of one address that no node signed. Ten seconds' worth may come at once."""
FAILURES_DELAYED_LIMIT = 32
"""Of these, so many wait for their refusal at once. Each holds the beginning of its body."""
STREAMS_DELAYED_LIMIT = 1_000
"""Refused streams that wait for their answer at once: they hold a connection each, and nothing else."""
STREAM_DELAY_SECONDS = 5.0
REFUSED_STREAMS_PER_SECOND = 50.0
"""Of one account."""
MESSAGE_LIMIT = "computepool.message_limit"
"""Where the extensions of a WebSocket's scope have the function that sets the size of its messages."""

IpAddress = IPv4Address | IPv6Address


class TooManyRequests(TooMany):
    code = "too_many_requests"

    def __init__(self, who: str, per_second: float, wait_seconds: float) -> None:
        self.retry_after_seconds = max(1, math.ceil(wait_seconds))
        super().__init__(
            f"This {who} sends more than {per_second:g} requests a second.",
            hint=f"Try again in {self.retry_after_seconds} s.",
        )


class TooManyConnections(Unavailable):
    code = "too_many_connections"
    retry_after_seconds = 10

    def __init__(self, limit: int, who: str) -> None:
        super().__init__(
            f"{who} has {limit} connections open, which is the limit.",
            hint="Close some, or try again in a moment. An operator can raise the limit.",
        )


class TooManyStreams(TooMany):
    code = "too_many_streams"
    retry_after_seconds = 10

    def __init__(self, limit: int) -> None:
        super().__init__(
            f"This account has {limit} live streams open, which is the limit.",
            hint="Close some of them, or read the logs without following them.",
        )


class TooManyFailures(TooMany):
    code = "too_many_failures"
    retry_after_seconds = 10

    def __init__(self) -> None:
        super().__init__(
            "Too many requests from this address were not signed by a node of this pool.",
            hint="Try again in a moment. If an agent runs behind this address: is its node still part of the pool?",
        )


class TooBusyForStrangers(Unavailable):
    code = "too_busy"
    retry_after_seconds = 5

    def __init__(self) -> None:
        super().__init__(
            "The hub is reading as many requests from unknown senders as it can hold.", hint="Try again in a moment."
        )


class Rate:
    """So many a second for each key, and BURST_SECONDS' worth at once.

    Of each key one number is kept: the moment at which all that it asked for would have been allowed. One in the past
    says as much as none, so the table only has to hold those keys that ask faster than allowed.
    """

    def __init__(self, per_second: float, now: Callable[[], float]) -> None:
        self.per_second = per_second
        self._now = now
        self._paid_at: dict[str, float] = {}

    def wait_seconds(self, key: str) -> float:
        """Count one for the key: 0.0; or, where it had too many, do not count it and say how long to wait."""
        now = self._now()
        paid_at = max(self._paid_at.get(key, now), now)
        if paid_at - now > BURST_SECONDS:
            return paid_at - now - BURST_SECONDS
        if len(self._paid_at) >= KEYS_LIMIT:
            self._forget(now)
        self._paid_at[key] = paid_at + 1 / self.per_second
        return 0.0

    def is_over(self, key: str) -> bool:
        """Whether the next one of the key would be too many."""
        now = self._now()
        return self._paid_at.get(key, now) - now > BURST_SECONDS

    def _forget(self, now: float) -> None:
        """Those that owe nothing, and at least half of all: else a full table would be searched for each new key."""
        owing = {key: paid_at for key, paid_at in self._paid_at.items() if paid_at > now}
        most = sorted(owing, key=owing.__getitem__)[-(KEYS_LIMIT // 2) :]
        self._paid_at = {key: owing[key] for key in most}


class SpacedRefusals:
    """Refusals of one key, such as an address, are told one after the other, so many a second. A client that is refused
    at once tries again at once, and clients that are refused in the same moment come back in the same moment."""

    def __init__(self, now: Callable[[], float], *, per_second: float, limit: int, delay_seconds: float) -> None:
        """`limit`: of refusals that wait, of all keys; more are told at once. `delay_seconds`: of the first one."""
        self._now = now
        self._per_second = per_second
        self._limit = limit
        self._delay_seconds = delay_seconds
        self._next_at: dict[str, float] = {}
        self.waiting = 0

    async def wait(self, key: str) -> None:
        if self.waiting >= self._limit:
            return
        now = self._now()
        refused_at = max(now + self._delay_seconds, self._next_at.get(key, 0.0))
        next_at = self._next_at[key] = refused_at + 1 / self._per_second
        self.waiting += 1
        try:
            await asyncio.sleep(refused_at - now)
        finally:
            self.waiting -= 1
            if self._next_at.get(key) == next_at:  # it was the last one
                del self._next_at[key]


class HeldBytes:
    """Bytes in memory or in temporary files, with a limit for all and one for each address (or account)."""

    def __init__(self, limit: int, limit_per_address: int) -> None:
        self._limit = limit
        self._limit_per_address = limit_per_address
        self._by_address: dict[str, int] = {}
        self.total = 0

    def hold(self, address: str, count: int) -> bool:
        """False, and nothing is held, where there is no room."""
        mine = self._by_address.get(address, 0)
        if self.total + count > self._limit or mine + count > self._limit_per_address:
            return False
        self.total += count
        self._by_address[address] = mine + count
        return True

    def release(self, address: str, count: int) -> None:
        self.total -= count
        _subtract(self._by_address, address, count)


class Edge:
    def __init__(
        self,
        now: Callable[[], float],
        *,
        connections: int,
        connections_per_address: int,
        requests_per_address: float,
        requests_per_account: float,
        streams_per_account: int,
        new_links: int,
        new_links_per_address: int,
        trusted_proxies: Sequence[IpNetwork] = (),
    ) -> None:
        self.requests_by_address = Rate(requests_per_address, now)
        self.requests_by_account = Rate(requests_per_account, now)
        self.failures_by_address = Rate(FAILURES_PER_SECOND, now)
        self.failure_refusals = SpacedRefusals(
            now,
            per_second=FAILURES_PER_SECOND,
            limit=FAILURES_DELAYED_LIMIT,
            delay_seconds=1 / FAILURES_PER_SECOND,
        )
        self.stream_refusals = SpacedRefusals(
            now,
            per_second=REFUSED_STREAMS_PER_SECOND,
            limit=STREAMS_DELAYED_LIMIT,
            delay_seconds=STREAM_DELAY_SECONDS,
        )
        self._now = now
        self._connections = connections
        self._connections_per_address = connections_per_address
        self._streams_per_account = streams_per_account
        self._trusted_proxies = tuple(trusted_proxies)
        self._open = 0
        self._open_by_address: dict[str, int] = {}
        self.unproven = HeldBytes(*UNPROVEN_BYTES)
        self.unread = HeldBytes(*UNREAD_BYTES)
        self._streams_by_account: dict[str, int] = {}
        self.new_links = NewLinks(new_links, new_links_per_address)

    @classmethod
    def of(cls, settings: EdgeSettings, now: Callable[[], float]) -> "Edge":
        return cls(
            now,
            connections=settings.limit_connections,
            connections_per_address=settings.limit_connections_per_address,
            requests_per_address=settings.limit_requests_per_address,
            requests_per_account=settings.limit_requests_per_account,
            streams_per_account=settings.limit_streams_per_account,
            new_links=settings.limit_new_links,
            new_links_per_address=settings.limit_new_links_per_address,
            trusted_proxies=settings.proxy_networks,
        )

    def connect(self, peer: str) -> "Connection":
        """A new connection, to be closed with `Connection.close`. Raises TooManyConnections."""
        address = address_key(peer)
        if self._open >= self._connections:
            raise TooManyConnections(self._connections, "The hub")
        mine = self._open_by_address.get(address, 0)
        is_proxy = self.is_trusted_proxy(peer)
        # A proxy's connections are those of all who come through it.
        if mine >= self._connections_per_address and not is_proxy:
            raise TooManyConnections(self._connections_per_address, "Your address")
        self._open += 1
        self._open_by_address[address] = mine + 1
        return Connection(self, address, is_proxy=is_proxy)

    def disconnect(self, address: str) -> None:
        self._open -= 1
        _subtract(self._open_by_address, address, 1)

    @contextmanager
    def stream(self, account: str) -> Iterator[None]:
        """One live stream of the account. Raises TooManyStreams."""
        mine = self._streams_by_account.get(account, 0)
        if mine >= self._streams_per_account:
            raise TooManyStreams(self._streams_per_account)
        self._streams_by_account[account] = mine + 1
        try:
            yield
        finally:
            _subtract(self._streams_by_account, account, 1)

    def is_trusted_proxy(self, peer: str) -> bool:
        if not self._trusted_proxies:
            return False
        ip = _parsed(peer)
        return ip is not None and any(ip in network for network in self._trusted_proxies)

    def forwarded_for(self, value: str) -> str | None:
        """Of X-Forwarded-For, to which each proxy appends whom it heard: the last that is not one of ours."""
        for host in reversed(value.split(",")):
            ip = _parsed(host.strip())
            if ip is None:
                return None
            if not any(ip in network for network in self._trusted_proxies):
                return str(ip)
        return None


class Connection:
    """What one connection counts for at the edge."""

    __slots__ = ("_edge", "_held", "_peer", "_unread", "address", "is_proxy", "is_sender_known")

    def __init__(self, edge: Edge, peer: str, *, is_proxy: bool) -> None:
        self._edge = edge
        self._peer = peer
        self.address = peer
        """Whose requests these are; behind a trusted proxy, whose the one under way is."""
        self.is_proxy = is_proxy
        self.is_sender_known = False
        """Of the request under way: by a token, or a signature that was checked."""
        self._held: tuple[str, int] | None = None
        self._unread: tuple[str, int] | None = None

    def count_request(self) -> None:
        """Raises TooManyRequests."""
        rate = self._edge.requests_by_address
        if wait_seconds := rate.wait_seconds(self.address):
            raise TooManyRequests("address", rate.per_second, wait_seconds)

    def count_request_of(self, account: str) -> None:
        """Raises TooManyRequests."""
        rate = self._edge.requests_by_account
        if wait_seconds := rate.wait_seconds(account):
            raise TooManyRequests("account", rate.per_second, wait_seconds)

    def check_failures(self) -> None:
        """Before work is done for a sender who is not known. Raises TooManyFailures where most of it was in vain."""
        if self._edge.failures_by_address.is_over(self.address):
            raise TooManyFailures

    async def delay_failure(self) -> None:
        """The sender is not who they said, or failed too often: count it, and wait until they may be told."""
        self._edge.failures_by_address.wait_seconds(self.address)
        self.release()
        await self._edge.failure_refusals.wait(self.address)

    def hold(self, count: int) -> None:
        """The hub keeps so many more bytes of the request. Raises TooBusyForStrangers if its sender is not known."""
        if self.is_sender_known or not count:
            return
        address, held = self._held or (self.address, 0)
        if not self._edge.unproven.hold(address, count):
            raise TooBusyForStrangers
        self._held = (address, held + count)

    def release(self) -> None:
        """Those bytes are gone."""
        if self._held is not None:
            self._edge.unproven.release(*self._held)
            self._held = None

    def leave_unread(self, count: int) -> bool:
        """So many bytes of answers wait for their reader; False where that is too much."""
        self.all_read()
        if count and not self._edge.unread.hold(self.address, count):
            return False
        self._unread = (self.address, count)
        return True

    def all_read(self) -> None:
        if self._unread is not None:
            self._edge.unread.release(*self._unread)
            self._unread = None

    def sender_is_known(self) -> None:
        self.is_sender_known = True
        self.release()
        self._edge.new_links.leave(self)

    @asynccontextmanager
    async def stream(self, account: str) -> AsyncIterator[None]:
        """One live stream of the account. Raises TooManyStreams, after a while."""
        with ExitStack() as counted:
            try:
                counted.enter_context(self._edge.stream(account))
            except TooManyStreams:
                await self._edge.stream_refusals.wait(account)
                raise
            yield

    def close(self) -> None:
        self.release()
        self.all_read()
        self._edge.new_links.leave(self)
        self._edge.disconnect(self._peer)


def connection_of(scope: AsgiScope) -> Connection | None:
    found: Connection | None = scope.get(CONNECTION)
    return found


def counted_stream(scope: AsgiScope, account: str) -> AbstractAsyncContextManager[None]:
    """One live stream of an account, or of an address. Raises TooManyStreams."""
    connection = connection_of(scope)
    return connection.stream(account) if connection is not None else nullcontext()


def address_of(scope: AsgiScope) -> str:
    """Whose request it is, for fairness between them."""
    connection = connection_of(scope)
    return connection.address if connection is not None else ""


def sender_is_known(scope: AsgiScope) -> None:
    """The handler has checked who sent the request: its body is not held against strangers."""
    connection = connection_of(scope)
    if connection is not None:
        connection.sender_is_known()


def limit_messages(scope: AsgiScope, limit_bytes: int) -> None:
    """Of a WebSocket: whoever sends a larger message is disconnected."""
    set_limit = scope.get("extensions", {}).get(MESSAGE_LIMIT)
    if set_limit is not None:
        set_limit(limit_bytes)


def address_key(host: str) -> str:
    """Who counts as one: an address of IPv4, or the /64 of IPv6, of which everybody has as many as they like."""
    if ":" not in host:
        return host
    ip = _parsed(host)
    if ip is None or isinstance(ip, IPv4Address):
        return host
    return str(ip.ipv4_mapped) if ip.ipv4_mapped else str(ip_network((int(ip) >> 64 << 64, 64)))


def _parsed(host: str) -> IpAddress | None:
    try:
        return ip_address(host)
    except ValueError:
        return None


def _subtract(counts: dict[str, int], key: str, count: int) -> None:
    left = counts.get(key, 0) - count
    if left:
        counts[key] = left
    else:
        counts.pop(key, None)
