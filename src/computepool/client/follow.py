"""Following a job: its states and its log as one stream of events, over restarts of the hub and blocked WebSockets."""

import base64
import binascii
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from pydantic import ValidationError

from computepool.client.errors import ClientError, HubError, NotSignedIn, WrongKey
from computepool.client.http import API, Http
from computepool.client.logs import LogChunk, LogReader, Position, chosen_slices, pause
from computepool.client.models import Attempt, Job, Slice

TICK_SECONDS = 0.2
PATIENCE_SECONDS = 900.0
"""How long a hub may be away before the follower gives up. The job goes on without it."""
POLL_SECONDS = (0.5, 2.0)
BLOCKED_AFTER = 2
"""WebSocket handshakes that failed while plain HTTP worked."""
RETRY_SOCKET_AFTER_SECONDS = 60.0
FRAME_LIMIT_BYTES = 64 * 1024 * 1024
RESUMED_LIMIT = 200
"""Slices whose place is told when a stream is taken up again."""
OPEN_TIMEOUT_SECONDS = 10.0


@dataclass(frozen=True, slots=True)
class JobChanged:
    job: Job


@dataclass(frozen=True, slots=True)
class Ended:
    """The job is final, and its log was given whole."""

    job: Job


@dataclass(frozen=True, slots=True)
class HubAway:
    """The line is lost; it is being taken up again."""

    message: str


@dataclass(frozen=True, slots=True)
class Idle:
    """Nothing happened for a moment: time to look at the clock, or at Ctrl-C."""


Event = LogChunk | JobChanged | Ended | HubAway | Idle


class _LineLost(Exception):
    """The stream broke, or could not be opened."""


class Follower:
    def __init__(
        self,
        http: Http,
        job_id: str,
        *,
        slice: int | None = None,
        positions: Mapping[int, Position] | None = None,
        tick_seconds: float = TICK_SECONDS,
        patience_seconds: float = PATIENCE_SECONDS,
        use_socket: bool = True,
    ) -> None:
        self.positions = dict(positions or {})
        self._http = http
        self._job_id = job_id
        self._slice = slice
        self._tick = tick_seconds
        self._patience = patience_seconds
        # Without patience of its own: waiting is done here, in steps that let the caller look up.
        self._reader = LogReader(http, job_id, patience_seconds=0)
        self._job: Job | None = None
        self._slices: dict[int, Slice] = {}
        """Those that the hub has sent, by index: it sends again only what changed."""
        self._spec: dict[str, Any] = {}
        self._socket_failures = 0 if use_socket else BLOCKED_AFTER
        self._socket_again_at = 0.0 if use_socket else float("inf")

    def events(self) -> Iterator[Event]:
        """Until `Ended`. Raises when the hub stays away for longer than the patience, or refuses."""
        heard_at = time.monotonic()
        wait = 0.1
        again = False
        while True:
            try:
                if again:
                    # Tells whether the job is there and may be seen, in words that a failed handshake cannot carry.
                    self._http.request("GET", f"/jobs/{self._job_id}", retry="never")
                again = True
                for event in self._once():
                    heard_at, wait = time.monotonic(), 0.1
                    yield event
                    if isinstance(event, Ended):
                        return
            except _LineLost:
                pass
            except ClientError as error:
                if isinstance(error, WrongKey):
                    raise
                if isinstance(error, HubError) and error.status < 500 and error.status != 429:
                    raise
                if time.monotonic() - heard_at > self._patience or not self._http.reached:
                    raise
                yield HubAway(error.message)
                wait = max(wait, error.retry_after_seconds)
            for _ in pause(wait, self._tick, self._http.sleep):
                yield Idle()
            wait = min(wait * 2, 5.0)

    def _once(self) -> Iterator[Event]:
        if self._socket_failures >= BLOCKED_AFTER and time.monotonic() < self._socket_again_at:
            yield from self._poll()
        else:
            yield from self._listen()

    # ── over a WebSocket ─────────────────────────────────────────────────────────────────────────────────────────────

    def _listen(self) -> Iterator[Event]:
        from websockets.exceptions import ConnectionClosed, WebSocketException
        from websockets.sync.client import connect

        headers = {"Authorization": f"Bearer {self._http.token}"} if self._http.token else {}
        try:
            socket = connect(
                self._address(),
                additional_headers=headers,
                open_timeout=OPEN_TIMEOUT_SECONDS,
                close_timeout=1,
                max_size=FRAME_LIMIT_BYTES,
                proxy=None if self._http.is_local else True,
                ssl=self._http.hub_trust if self._http.url.startswith("https:") else None,
            )
        except (OSError, TimeoutError, WebSocketException) as error:
            self._socket_failures += 1
            self._socket_again_at = time.monotonic() + RETRY_SOCKET_AFTER_SECONDS
            raise _LineLost from error
        self._http.reached = True
        try:
            with socket:
                while True:
                    try:
                        raw = socket.recv(timeout=self._tick)
                    except TimeoutError:
                        yield Idle()
                        continue
                    self._socket_failures = 0
                    for event in self._frame(raw):
                        yield event
                        if isinstance(event, Ended):
                            return
        except (OSError, WebSocketException) as error:
            from computepool.protocol.errors import SIGNED_OUT

            if isinstance(error, ConnectionClosed) and error.rcvd is not None and error.rcvd.code == SIGNED_OUT:
                raise NotSignedIn(
                    "You were signed out: the token was revoked, or the account disabled. The job goes on.",
                    status=401,
                    code="token_revoked",
                    hint="Sign in again: computepool login URL",
                ) from None
            raise _LineLost from error

    def _address(self) -> str:
        query: dict[str, object] = {"frames": "changes"}  # which an older hub ignores
        if self._slice is not None:
            query["slice"] = self._slice
        if self.positions:
            # An address has its limits. Of the others the hub sends again what we have, which is cut off here.
            longest = sorted(self.positions.items(), key=lambda item: -item[1].offset)[:RESUMED_LIMIT]
            query["from"] = ",".join(f"{index}.{at.attempt}:{at.offset}" for index, at in sorted(longest))
        base = "ws" + self._http.url.removeprefix("http")
        return f"{base}{API}/jobs/{self._job_id}/stream" + (f"?{urlencode(query, safe=':,.')}" if query else "")

    def _frame(self, raw: str | bytes) -> Iterator[Event]:
        try:
            frame: Any = json.loads(raw)
            kind = frame["type"]
            if kind == "log":
                data = base64.b64decode(frame["data"], validate=True)
                chunk = LogChunk(int(frame["slice"]), int(frame["attempt"]), int(frame["offset"]), data)
            elif kind == "slices":
                job = self._with_changes(frame)
            elif kind in ("job", "end"):
                job = self._whole(frame["job"])
            else:
                return
        except (KeyError, TypeError, ValueError, ValidationError, binascii.Error) as error:
            raise _LineLost from error
        if kind == "log":
            yield from self._take(chunk)
        elif kind == "end":
            yield from self._end(job)
        else:
            yield from self._changed(job)

    def _with_changes(self, frame: dict[str, Any]) -> Job:
        if frame["first"]:
            self._slices, self._spec = {}, frame["spec"]
        changed = [Slice.model_validate(part) for part in frame["slices"]]
        self._slices |= {part.index: part for part in changed}
        return self._whole(frame["job"])

    def _whole(self, job: dict[str, Any]) -> Job:
        """An older hub sends all of it each time."""
        if "slices" in job:
            return Job.model_validate(job)
        slices = tuple(self._slices[index] for index in sorted(self._slices))
        return Job.model_validate({**job, "spec": self._spec, "slices": slices})

    # ── by polling, where WebSockets are blocked ─────────────────────────────────────────────────────────────────────

    def _poll(self) -> Iterator[Event]:
        shortest, longest = POLL_SECONDS
        wait = shortest
        while time.monotonic() < self._socket_again_at:
            job = Job.model_validate(self._http.request("GET", f"/jobs/{self._job_id}", retry="never").json())
            yield from self._changed(job)
            news = False
            for part in chosen_slices(self._http, job, self._slice):
                if part.newest is not None and not self._has_all_of(part.index, part.newest):
                    for chunk in self._fetch(part.index, part.newest.number, None):
                        news = True
                        yield chunk
            if job.is_final and not news:
                yield from self._end(job)
                return
            wait = shortest if news else min(wait * 1.5, longest)
            for _ in pause(wait, self._tick, self._http.sleep):
                yield Idle()
        self._socket_failures = BLOCKED_AFTER - 1

    # ── what both share ──────────────────────────────────────────────────────────────────────────────────────────────

    def _changed(self, job: Job) -> Iterator[Event]:
        if job != self._job:
            self._job = job
            yield JobChanged(job)

    def _end(self, job: Job) -> Iterator[Event]:
        """The log is whole only when we have as much of it as the hub says there is."""
        for part in chosen_slices(self._http, job, self._slice):
            newest = part.newest
            if newest is not None and self._offset(part.index, newest.number) < newest.log_bytes:
                yield from self._fetch(part.index, newest.number, None)
        yield Ended(job)

    def _take(self, chunk: LogChunk) -> Iterator[Event]:
        if self._slice is not None and chunk.slice != self._slice:
            return
        at = self.positions.get(chunk.slice)
        if at is not None and chunk.attempt < at.attempt:
            return
        offset = self._offset(chunk.slice, chunk.attempt)
        if chunk.offset > offset:
            yield from self._fetch(chunk.slice, chunk.attempt, chunk.offset)
            offset = max(self._offset(chunk.slice, chunk.attempt), chunk.offset)
        fresh = chunk.data[offset - chunk.offset :]
        if fresh:
            self.positions[chunk.slice] = Position(chunk.attempt, offset + len(fresh))
            yield LogChunk(chunk.slice, chunk.attempt, offset, fresh)

    def _fetch(self, slice: int, attempt: int, stop: int | None) -> Iterator[Event]:
        reading = self._reader.read(slice, attempt, self._offset(slice, attempt), stop)
        for chunk in reading:
            self.positions[slice] = Position(attempt, chunk.offset + len(chunk.data))
            yield chunk

    def _has_all_of(self, slice: int, attempt: Attempt) -> bool:
        """A lost attempt's length is not known: no receipt told it."""
        if attempt.finished_at is None or attempt.state == "lost":
            return False
        return self._offset(slice, attempt.number) >= attempt.log_bytes

    def _offset(self, slice: int, attempt: int) -> int:
        at = self.positions.get(slice)
        return at.offset if at is not None and at.attempt == attempt else 0
