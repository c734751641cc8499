"""A log on its way: from the command's pipe into the spool, and from the spool to the hub.

Intake and sending are apart. The job is slowed only by its own flood (the intake stops reading the pipe); a hub that
is away slows nobody, the spool takes it. Sending keeps a bounded window of unacknowledged bytes.
"""

import asyncio
import contextlib
from collections.abc import Callable

from computepool.agent.clock import Clock
from computepool.agent.outgoing import Outgoing
from computepool.agent.ports import Output
from computepool.agent.spool import LogSpool
from computepool.protocol.messages import LogChunk

BATCH_SECONDS = 0.1
BATCH_BYTES = 64 * 1024
WINDOW_BYTES = 1024 * 1024
"""Of one attempt, sent and not yet acknowledged."""
STALE_SECONDS = 15.0
"""Without any progress for this long, what was sent is sent again."""
RATE_BYTES_PER_SECOND = 64 * 1024 * 1024
"""What one command may write into its spool. The line to the hub has its own pace."""
BURST_BYTES = 64 * 1024 * 1024


class LogSender:
    """Sends a spool in order, the first bytes at once, later ones in batches; goes on from what the hub says it has."""

    def __init__(self, attempt_id: str, fence: int, spool: LogSpool, outgoing: Outgoing, clock: Clock) -> None:
        self._attempt_id = attempt_id
        self._fence = fence
        self._spool = spool
        self._outgoing = outgoing
        self._clock = clock
        self._sent = 0
        self._furthest_sent = 0
        """Also before a rewind: the hub may have all of it, acknowledged or not."""
        self._acked = 0
        self._rewound_at = -1
        """The offset at which the last rewind happened: one lost chunk causes one, not one per chunk behind it."""
        self._progress_at = 0.0
        self._timer: asyncio.TimerHandle | None = None
        self._quiet_until = 0.0
        self._delivered: asyncio.Future[None] | None = None
        self._end: int | None = None
        """Where it was cut off; None for its own end."""

    @property
    def acked_bytes(self) -> int:
        return self._acked

    @property
    def _delivered_whole(self) -> bool:
        return self._spool.sealed is not None and self._acked >= self._ready_bytes

    @property
    def _ready_bytes(self) -> int:
        ready = self._spool.ready_bytes
        return ready if self._end is None else min(ready, self._end)

    def wrote(self) -> None:
        """The spool has more."""
        if self._may_send_now():
            self._offer()
        elif self._timer is None and self._pending:
            self._timer = asyncio.get_running_loop().call_at(self._quiet_until, self._offer)

    def flush(self) -> None:
        """The spool is sealed: nothing more to wait for."""
        self._offer()
        self._settle()

    @property
    def _pending(self) -> int:
        return self._ready_bytes - self._sent

    def _may_send_now(self) -> bool:
        pending = self._pending
        if pending >= BATCH_BYTES or (pending > 0 and self._spool.sealed is not None):
            return True
        return pending > 0 and asyncio.get_running_loop().time() >= self._quiet_until

    def _offer(self) -> None:
        self._cancel_timer()
        if self._pending > 0:
            self._outgoing.log_ready(self)

    def next_chunk(self) -> LogChunk | None:
        room = min(self._acked + WINDOW_BYTES, self._ready_bytes) - self._sent
        if room <= 0:
            return None
        if not self._may_send_now():
            self.wrote()
            return None
        offset = self._sent
        try:
            data = self._spool.read(offset, min(room, BATCH_BYTES))
        except OSError:
            data = b""
        if not data:
            return None
        if offset == self._acked:
            self._progress_at = self._clock.monotonic()
        self._sent += len(data)
        self._furthest_sent = max(self._furthest_sent, self._sent)
        self._quiet_until = asyncio.get_running_loop().time() + BATCH_SECONDS
        return LogChunk(attempt_id=self._attempt_id, fence=self._fence, offset=offset, data=data)

    def acknowledge(self, offset: int) -> None:
        """The hub has everything before `offset`. It may know more than was noted here, or less."""
        if offset > self._spool.ready_bytes:
            return
        if self._end is not None:
            # Bytes that the hub has cannot be left out: its digest must be the receipt's.
            self._end = max(self._end, offset)
        if offset > self._acked:
            self._acked = offset
            self._sent = max(self._sent, offset)
            self._progress_at = self._clock.monotonic()
        elif offset < self._acked:
            # A hub that lost its disk's last writes, or was restored: what it misses is still in the spool.
            self._acked = self._sent = offset
        elif self._sent > self._acked and self._rewound_at != self._acked:
            self._rewound_at = self._sent = self._acked
        self._settle()
        self.wrote()

    def rewind(self) -> None:
        """A new line: go on from what is known to be there."""
        self._sent = self._acked
        self._rewound_at = -1
        self._quiet_until = 0.0
        self._progress_at = self._clock.monotonic()
        self._offer()

    def rewind_if_stale(self) -> None:
        if self._sent > self._acked and self._clock.monotonic() - self._progress_at > STALE_SECONDS:
            self.rewind()

    async def delivered(self) -> None:
        """Return once the hub has every byte of the sealed log."""
        if not self._delivered_whole:
            self._delivered = asyncio.get_running_loop().create_future()
            await self._delivered

    async def cut_off(self) -> int:
        """Send nothing beyond what the hub may have already. Return where the log ends, once the hub has all of it."""
        if self._end is None:
            self._end = max(self._furthest_sent, self._acked)
        self._offer()
        await self.delivered()
        return self._end

    def _settle(self) -> None:
        if self._delivered is not None and not self._delivered.done() and self._delivered_whole:
            self._delivered.set_result(None)

    def _cancel_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def close(self) -> None:
        self._cancel_timer()


class LogIntake:
    """Reads a command's output into its spool, no faster than one attempt may."""

    def __init__(
        self,
        output: Output,
        spool: LogSpool,
        sender: LogSender,
        clock: Clock,
        on_disk_trouble: Callable[[OSError], None],
    ) -> None:
        self._output = output
        self._spool = spool
        self._sender = sender
        self._clock = clock
        self._on_disk_trouble = on_disk_trouble
        self._tokens = float(BURST_BYTES)
        self._filled_at = clock.monotonic()
        self._pause: asyncio.TimerHandle | None = None
        self._broken = False
        self._ended = asyncio.get_running_loop().create_future()

    def start(self) -> None:
        self._output.start(self._take, self._end)

    def _take(self, data: bytes) -> None:
        if self._broken:
            # Read on and drop it, so that the command can still exit while it is being stopped.
            return
        try:
            self._spool.append(data)
        except OSError as error:
            self._broken = True
            self._on_disk_trouble(error)
        self._sender.wrote()
        self._throttle(len(data))

    def _throttle(self, size: int) -> None:
        self._tokens -= size
        if self._tokens >= 0 or self._pause is not None:
            return
        now = self._clock.monotonic()
        self._tokens = min(BURST_BYTES, self._tokens + (now - self._filled_at) * RATE_BYTES_PER_SECOND)
        self._filled_at = now
        if self._tokens < 0:
            self._output.pause()
            loop = asyncio.get_running_loop()
            self._pause = loop.call_later(-self._tokens / RATE_BYTES_PER_SECOND, self._go_on)

    def _go_on(self) -> None:
        self._pause = None
        self._output.resume()

    def _end(self) -> None:
        if not self._ended.done():
            self._ended.set_result(None)

    async def finish(self, patience_seconds: float) -> None:
        """The command is gone: take the rest, and do not wait for whoever may still hold the pipe."""
        if self._pause is not None:
            self._pause.cancel()
            self._go_on()
        if not self._ended.done():
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(patience_seconds):
                    await asyncio.shield(self._ended)
        self._output.close()
