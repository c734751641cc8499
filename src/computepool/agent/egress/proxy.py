"""The proxy behind a job's only door: HTTP and CONNECT, to where the policy lets it, as fast as the host allows."""

import asyncio
import contextlib
import logging
import socket
from collections.abc import Callable
from dataclasses import dataclass

from computepool.agent.clock import Clock

from .addresses import Network, surroundings
from .allowance import Allowance
from .meter import Meter, TokenBucket
from .policy import EgressPolicy, Mode, Refused
from .relay import Line, Relay, Silence
from .requests import MAX_HEAD_BYTES, BadRequest, Request, read_request
from .resolver import Lookup
from .upstream import Streams, Upstream

log = logging.getLogger(__name__)

HEAD_SECONDS = 30.0
CONNECT_SECONDS = 10.0
LINGER_SECONDS = 2.0
ADDRESSES_TRIED = 4
AROUND_SECONDS = 30.0
LINES_TOLD = 20
ACCEPT_PAUSE_SECONDS = 0.1

Tell = Callable[[str], None]
"""Takes one line for the job's log."""


@dataclass(frozen=True)
class EgressLimits:
    """Of one job. Whoever comes when all connections are taken waits until one is free."""

    connections: int = 128
    cap_bytes: int | None = None
    idle_seconds: float = 300.0


class TargetUnreachable(Exception):
    """The target is allowed, but does not answer. The message says why."""

    def __init__(self, message: str, status: int = 502) -> None:
        super().__init__(message)
        self.status = status


class Around:
    """This machine's own networks, looked up again now and then: a laptop moves."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._known: tuple[float, frozenset[Network]] | None = None

    def __call__(self) -> frozenset[Network]:
        now = self._clock.monotonic()
        if self._known is None or now - self._known[0] > AROUND_SECONDS:
            self._known = (now, surroundings())
        return self._known[1]


class Egress:
    """One attempt's way out. `serve` may be given several sockets, one for each of its commands; `close` ends all."""

    def __init__(
        self,
        policy: EgressPolicy,
        *,
        lookup: Lookup,
        clock: Clock,
        limits: EgressLimits = EgressLimits(),
        bucket: TokenBucket | None = None,
        allowance: Allowance | None = None,
        upstream: Upstream | None = None,
        tell: Tell = lambda line: None,
        around: Callable[[], frozenset[Network]] | None = None,
        may_pass: Callable[[], bool] = lambda: True,
    ) -> None:
        self._policy = policy
        self._lookup = lookup
        self._limits = limits
        self._upstream = upstream
        self._tell = tell
        self._told: set[str] = set()
        self.refusal: Refused | None = None
        """The last thing that was refused."""
        self._around = around or Around(clock)
        self._meter = Meter(cap_bytes=limits.cap_bytes, bucket=bucket, allowance=allowance, may_pass=may_pass)
        self._relay = Relay(self._meter, limits.idle_seconds, asyncio.get_running_loop().time)
        self._free = asyncio.Semaphore(limits.connections)
        self._tasks: set[asyncio.Task[None]] = set()
        self._closed = False

    @property
    def bytes_in(self) -> int:
        """From the internet to the job."""
        return self._meter.bytes_in

    @property
    def bytes_out(self) -> int:
        return self._meter.bytes_out

    def serve(self, listener: socket.socket) -> None:
        """Answer whoever connects, from now on. The socket is ours. On the event loop."""
        if self._closed:
            listener.close()
            return
        listener.setblocking(False)
        self._spawn(self._accept(listener))

    async def close(self) -> None:
        self._closed = True
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def _spawn(self, work: "asyncio._CoroutineLike[None]") -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _accept(self, listener: socket.socket) -> None:
        loop = asyncio.get_running_loop()
        with listener:
            while True:
                await self._free.acquire()
                try:
                    connection, _ = await loop.sock_accept(listener)
                except OSError as error:
                    # The machine is short of descriptors, or the client has left already.
                    self._free.release()
                    log.debug("egress.accept error=%s", error)
                    await asyncio.sleep(ACCEPT_PAUSE_SECONDS)
                    continue
                except BaseException:
                    self._free.release()
                    raise
                self._spawn(self._attend(connection))

    async def _attend(self, connection: socket.socket) -> None:
        try:
            with connection:
                client = await asyncio.open_connection(sock=connection, limit=MAX_HEAD_BYTES)
                try:
                    await self._answer(client)
                    await _hang_up(client[1])
                except (OSError, EOFError, Silence) as error:
                    log.debug("egress.connection error=%r", error)
                finally:
                    client[1].transport.abort()
        finally:
            self._free.release()

    async def _answer(self, client: Streams) -> None:
        request: Request | None = None
        try:
            async with asyncio.timeout(HEAD_SECONDS):
                request = await read_request(client[0])
            if request is None:
                return
            self._meter.check()
            target = await self._reach(request.host, request.port)
        except TimeoutError:
            return
        except BadRequest as error:
            await _say(client, error.status, "Bad Request", str(error))
        except TargetUnreachable as error:
            await _say(client, error.status, str(error), str(error))
        except Refused as refusal:
            assert request is not None
            self._note(f"{request.host}:{request.port}", refusal)
            await _say(client, 403, f"Refused: {refusal.why}", f"{request.host}:{request.port} was refused: {refusal}")
        else:
            await self._pass_on(request, client, target)

    async def _pass_on(self, request: Request, client: Streams, target: Streams) -> None:
        try:
            if request.is_tunnel:
                client[1].write(b"HTTP/1.1 200 Connection established\r\n\r\n")
                await self._relay.tunnel(Line(client, target))
            else:
                await self._relay.exchange(Line(client, target), request)
            await _hang_up(target[1])
        except Refused as refusal:
            # In the middle of something: there is nobody to answer but the log.
            self._note(f"{request.host}:{request.port}", refusal)
        finally:
            target[1].transport.abort()

    async def _reach(self, host: str, port: int) -> Streams:
        """Connect to exactly the address that was checked. Raises Refused, TargetUnreachable."""
        literal = self._policy.check_name(host, port)
        upstream = self._upstream if self._upstream and self._upstream.covers(host) else None
        # The names of indexes are the machine's own; any other name is the job's, and may say something else next time.
        by_name = upstream is not None and (self._policy.mode is Mode.INDEXES or upstream.resolves_names)
        try:
            addresses = [literal] if literal else await self._lookup(host, port)
        except TimeoutError:
            addresses = []
        if not addresses and not by_name:
            raise TargetUnreachable(f"{host} is not known here")
        self._policy.check_addresses(host, port, addresses, self._around())
        try:
            async with asyncio.timeout(CONNECT_SECONDS * ADDRESSES_TRIED):
                if upstream:
                    place = host if by_name else str(addresses[0])
                    return await upstream.connect(place, port, limit=MAX_HEAD_BYTES)
                return await _connect([str(address) for address in addresses], port)
        except TimeoutError as error:
            raise TargetUnreachable(f"{host}:{port} did not answer", 504) from error
        except OSError as error:
            raise TargetUnreachable(f"{host}:{port} cannot be reached: {error.strerror or error}") from error

    def _note(self, place: str, refusal: Refused) -> None:
        """One line for each thing that was refused, and an end to it."""
        self.refusal = refusal
        line = f"network: {place} was refused: {refusal}"
        if line in self._told or len(self._told) > LINES_TOLD:
            return
        self._told.add(line)
        self._tell(line if len(self._told) <= LINES_TOLD else "network: more was refused")


async def _connect(addresses: list[str], port: int) -> Streams:
    problem: OSError = OSError("no address")
    for address in addresses[:ADDRESSES_TRIED]:
        try:
            async with asyncio.timeout(CONNECT_SECONDS):
                return await asyncio.open_connection(address, port, limit=MAX_HEAD_BYTES)
        except OSError as error:  # a TimeoutError is one
            problem = error
    raise problem


async def _say(client: Streams, status: int, reason: str, text: str) -> None:
    """A refusal in words, also in the status line: of a failed CONNECT many programs show nothing else."""
    line = "".join(character for character in reason if character.isprintable() and character.isascii())[:200]
    body = f"computepool: {text}\n".encode()
    head = (
        f"HTTP/1.1 {status} {line}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    reader, writer = client
    writer.write(head.encode() + body)
    writer.write_eof()
    # A client that is still sending would lose the answer if the door were shut in its face.
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(LINGER_SECONDS):
            while await reader.read(MAX_HEAD_BYTES):
                pass


async def _hang_up(writer: asyncio.StreamWriter) -> None:
    """Whatever was written is still sent, unless nobody takes it."""
    writer.close()
    with contextlib.suppress(TimeoutError):
        async with asyncio.timeout(HEAD_SECONDS):
            await writer.wait_closed()
