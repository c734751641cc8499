"""Whatever is appended, in whatever pieces, with whatever breaks between: a log is the bytes, in order, once."""

import asyncio
import contextlib
import hashlib
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule
from support.memory_store import MemoryStore
from support.proofs import figure

from computepool.hub.artifacts.log_lines import LogLines
from computepool.hub.artifacts.log_segments import SMALL_LIMIT
from computepool.hub.artifacts.logs import LogGap, LogLimit, LogStore
from computepool.hub.artifacts.store import StoreError
from computepool.hub.core.bulk import BulkLane

TRUTH = bytes((number * 7 + number // 256) % 256 for number in range(3_000))
"""What the attempt prints. Every chunk that an agent sends is a piece of it."""
LIMIT = 2_500
A = "attempt_a"

P = ParamSpec("P")
R = TypeVar("R")

offsets = st.integers(0, len(TRUTH))


def count_lines(data: bytes) -> int:
    return data.count(b"\n") + (data[-1:] not in (b"", b"\n"))


class Breaking:
    """A store that is cut off in the middle of things: before, or just after, it did what it was asked."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.breaks_in = -1
        self.after = False

    def _maybe_break(self, now: bool) -> None:
        if self.breaks_in == 0 and now:
            raise StoreError("cut off")

    def put(self, key, data):
        self._maybe_break(not self.after)
        self._store.put(key, data)
        self._maybe_break(self.after)
        self.breaks_in -= 1

    def delete(self, *keys):
        for key in keys:
            self._maybe_break(not self.after)
            self._store.delete(key)
            self._maybe_break(self.after)
            self.breaks_in -= 1

    def __getattr__(self, name):
        return getattr(self._store, name)


async def inline(fn: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> R:
    return fn(*args, **kwargs)


class LogMachine(RuleBasedStateMachine):
    def __init__(self) -> None:
        super().__init__()
        self.store = Breaking(MemoryStore())
        self.loop = asyncio.new_event_loop()
        self.size = 0
        self.restart()

    def teardown(self) -> None:
        self.loop.close()

    def run(self, awaitable):
        return self.loop.run_until_complete(awaitable)

    @rule()
    def restart(self) -> None:
        self.logs = LogStore(self.store, inline, LIMIT)

    @rule(start=offsets, end=offsets)
    def append(self, start: int, end: int) -> None:
        self.append_piece(min(start, end), max(start, end))

    @rule(back=st.integers(0, 40), length=st.integers(0, 400))
    def append_near_the_end(self, back: int, length: int) -> None:
        start = max(0, self.size - back)
        self.append_piece(start, min(len(TRUTH), start + length))

    def append_piece(self, start: int, end: int) -> None:
        try:
            got = self.run(self.logs.append(A, start, TRUTH[start:end]))
        except LogGap as gap:
            assert gap.expected == self.size < start  # noqa: PT017 (a gap is one of the right answers)
            return
        except LogLimit:
            assert max(end, self.size) > LIMIT
            return
        assert start <= self.size
        self.size = max(self.size, end)
        assert got == self.size <= LIMIT

    @rule(count=st.integers(SMALL_LIMIT // 2, SMALL_LIMIT * 2))
    def append_line_by_line(self, count: int) -> None:
        for start in range(self.size, min(self.size + count, LIMIT)):
            self.append_piece(start, start + 1)

    @rule(starts=st.lists(st.tuples(st.integers(-30, 60), st.integers(0, 60)), max_size=8))
    def append_at_once(self, starts) -> None:
        """Each is answered for itself; together they hold every byte that some accepted chunk had."""

        async def together():
            pieces = [(max(0, self.size + start), length) for start, length in starts]
            calls = [self.logs.append(A, start, TRUTH[start : start + length]) for start, length in pieces]
            return pieces, await asyncio.gather(*calls, return_exceptions=True)

        pieces, results = self.run(together())
        for (start, length), result in zip(pieces, results, strict=True):
            if isinstance(result, int):
                self.size = max(self.size, min(start + length, len(TRUTH)))
            else:
                assert isinstance(result, LogGap | LogLimit)
        assert all(result == self.size for result in results if isinstance(result, int))

    @rule(breaks_in=st.integers(0, 4), after=st.booleans(), length=st.integers(1, 50), restart=st.booleans())
    def seal_and_append_while_the_store_breaks(self, breaks_in: int, after: bool, length: int, restart: bool) -> None:
        self.store.breaks_in, self.store.after = breaks_in, after
        end = min(self.size + length, LIMIT)
        with contextlib.suppress(StoreError):
            self.run(self.logs.append(A, self.size, TRUTH[self.size : end]))
            self.size = end
        with contextlib.suppress(StoreError):
            self.run(self.logs.seal(A))
        self.store.breaks_in = -1
        if restart:
            self.restart()
        # Not acknowledged is not the same as not there: it may be, but then it is the right bytes.
        self.size = max(self.size, self.run(self.logs.size(A)))
        assert self.size <= end

    @rule()
    def seal(self) -> None:
        self.run(self.logs.seal(A))
        assert len(self.store.list(f"logs/{A}/")) <= 1

    @rule()
    def forget(self) -> None:
        self.logs.forget(A)

    @rule(after=offsets, limit=st.integers(1, 500))
    def read(self, after: int, limit: int) -> None:
        assert self.run(self.logs.read(A, after, limit)) == TRUTH[after : min(self.size, after + limit)]

    @rule(before=offsets, lines=st.none() | st.integers(1, 20), limit=st.integers(1, 500))
    def number_lines(self, before: int, lines: int | None, limit: int) -> None:
        before = min(before, self.size)
        found = LogLines(self.logs, BulkLane())
        assert self.run(found.count(A, self.size)) == count_lines(TRUTH[: self.size])
        piece = self.run(found.last_before(A, before, lines, limit))
        assert piece.data == TRUTH[piece.offset : before]
        assert piece.line == TRUTH[: piece.offset].count(b"\n") + 1

    @rule()
    def digest(self) -> None:
        expected = hashlib.sha256(TRUTH[: self.size]).hexdigest()
        assert self.run(self.logs.digest(A)) == f"sha256:{expected}"

    @invariant()
    def what_a_restarted_hub_finds_is_what_was_acknowledged(self) -> None:
        assert self.run(LogStore(self.store, inline, LIMIT).read(A, 0, LIMIT)) == TRUTH[: self.size]


LogMachine.TestCase.settings = settings(
    max_examples=figure(25, 1_000),
    stateful_step_count=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
TestLogMachine = LogMachine.TestCase
