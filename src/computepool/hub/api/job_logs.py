"""A job's logs: in pieces from either end, whole in one answer, and as a file. Live they are in `job_stream.py`."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response

from computepool.hub.artifacts.blob_urls import BadSignature, NotSigned, UrlExpired
from computepool.hub.artifacts.media import PLAIN_TEXT, disposition
from computepool.hub.artifacts.store import StoreError
from computepool.hub.core.edge import address_of, sender_is_known
from computepool.hub.core.errors import Invalid, NotFound
from computepool.hub.core.http import Caller, Routes, Scope
from computepool.hub.core.streaming import FileStream
from computepool.hub.core.texts import StorableInt
from computepool.hub.engine import Engine
from computepool.hub.jobs import files, queries
from computepool.hub.jobs.errors import NoSuchJob, Removed
from computepool.protocol.model import Documented
from computepool.protocol.states import AttemptState

LOG_PIECE_BYTES = 1024**2
TAIL_LINES_LIMIT = 10_000
URL_SECONDS = 3600
BYTES = "application/octet-stream"
HEADERS: dict[str, Any] = {
    "X-Next-Offset": {"description": "The byte to go on with.", "schema": {"type": "integer"}},
    "X-Log-Complete": {
        "description": "`1` if no more can come.",
        "schema": {"type": "string", "enum": ["0", "1"]},
    },
    "X-Attempt": {"description": "The number of the attempt.", "schema": {"type": "integer"}},
    "X-Log-Bytes": {"description": "The bytes of the log, so far.", "schema": {"type": "integer"}},
}
BACKWARD_HEADERS: dict[str, Any] = {
    "X-First-Offset": {
        "description": "With `tail` or `before`: the offset of the first byte of the body.",
        "schema": {"type": "integer"},
    },
    "X-First-Line": {
        "description": "With `tail` or `before`: the number of the line that it is in, counted from 1.",
        "schema": {"type": "integer"},
    },
}
BINARY: dict[str, Any] = {"schema": {"type": "string", "format": "binary"}}
PIECE_ANSWER: dict[int | str, Any] = {
    200: {"description": "A piece of the log.", "content": {BYTES: BINARY}, "headers": HEADERS | BACKWARD_HEADERS}
}
WHOLE_ANSWER: dict[int | str, Any] = {
    200: {"description": "All of it.", "content": {BYTES: BINARY}, "headers": HEADERS}
}
FILE_ANSWER: dict[int | str, Any] = {200: {"description": "The log, as a file.", "content": {"text/plain": BINARY}}}

SliceIndex = Annotated[StorableInt, Query(ge=0)]
AttemptNumber = Annotated[StorableInt | None, Query(ge=1)]
Tail = Annotated[
    int | None, Query(ge=1, le=TAIL_LINES_LIMIT, description="The last so many lines, or those before `before`.")
]
Before = Annotated[StorableInt | None, Query(ge=0, description="Only what comes before this byte of the log.")]


class LogAttempt(Documented):
    number: int
    state: AttemptState
    started_at: datetime | None
    finished_at: datetime | None


class LogInfo(Documented):
    """How large a log is, also while it is written."""

    job_id: str
    slice: int
    attempt: int
    """The number of the attempt; 0 while the slice has none."""
    bytes: int
    """Stored so far."""
    lines: int
    """In these bytes. A last line without a newline counts, too."""
    complete: bool
    """Nothing more can come."""
    url: str | None
    """A URL to download it, which works without a token for an hour; null while the slice has no attempt. Relative to
    the hub's address."""
    attempts: list[LogAttempt]
    """Of the slice, the newest first: each has a log of its own."""


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["jobs"])
    _add_pieces(routes, engine)
    _add_whole(routes, engine)
    return routes.router


def _add_pieces(routes: Routes, engine: Engine) -> None:
    logs, lines, db = engine.logs, engine.log_lines, engine.context.db

    @routes.get(
        "/jobs/{job_id}/logs",
        visible="own",
        scope=Scope.JOBS_READ,
        response_class=Response,
        responses=PIECE_ANSWER,
        errors=[NoSuchJob, Removed, StoreError],
    )
    async def read_logs(
        job_id: str,
        caller: Caller,
        after: Annotated[StorableInt, Query(ge=0)] = 0,
        slice: SliceIndex = 0,
        attempt: AttemptNumber = None,
        before: Before = None,
        tail: Tail = None,
        limit: Annotated[int, Query(ge=1, le=LOG_PIECE_BYTES)] = LOG_PIECE_BYTES,
    ) -> Response:
        """Raw bytes from `after` on; or backwards, with `tail`, `before` or both. `X-Next-Offset` says where to go on,
        `X-Log-Complete` whether more can come.

        What is read backwards begins with a whole line, unless that line alone has more bytes than `limit`.
        `X-First-Line` is the number of that line. To go on backwards, send `X-First-Offset` as `before`.
        """
        is_backward = tail is not None or before is not None
        if is_backward and after:
            raise Invalid("`after` reads forwards, `tail` and `before` read backwards.", hint="Send one of them.")
        place = await db.read(queries.find_log, caller, job_id, slice, attempt)
        data, size, headers = b"", 0, {}
        if place.attempt_id is not None:
            if is_backward:
                size = await logs.size(place.attempt_id)
                end = size if before is None else min(before, size)
                piece = await lines.last_before(place.attempt_id, end, tail, limit)
                data, after = piece.data, piece.offset
                headers = {"X-First-Offset": str(piece.offset), "X-First-Line": str(piece.line)}
            else:
                data = await logs.read(place.attempt_id, after, limit)
                size = await logs.size(place.attempt_id)
        elif is_backward:
            headers = {"X-First-Offset": "0", "X-First-Line": "1"}
        headers |= _headers(place, size, after + len(data))
        return Response(data, media_type=BYTES, headers=headers)

    @routes.get(
        "/jobs/{job_id}/logs/info",
        visible="own",
        scope=Scope.JOBS_READ,
        name="show_log_info",
        errors=[NoSuchJob, Removed, StoreError],
    )
    async def show_info(job_id: str, caller: Caller, slice: SliceIndex = 0, attempt: AttemptNumber = None) -> LogInfo:
        """The size of a log in bytes and lines, also while it is written, and the attempts that have one."""
        place = await db.read(queries.find_log, caller, job_id, slice, attempt)
        attempts = await db.read(files.list_attempts, job_id, slice)
        size = await logs.size(place.attempt_id) if place.attempt_id is not None else 0
        return LogInfo(
            job_id=job_id,
            slice=slice,
            attempt=place.number,
            bytes=size,
            lines=await lines.count(place.attempt_id, size) if place.attempt_id is not None else 0,
            complete=place.ended,
            url=engine.blob_signer.sign_file("logs", place.attempt_id, URL_SECONDS) if place.attempt_id else None,
            attempts=[LogAttempt.model_validate(each, from_attributes=True) for each in attempts],
        )


def _add_whole(routes: Routes, engine: Engine) -> None:
    logs, downloads, db = engine.logs, engine.downloads, engine.context.db

    @routes.get(
        "/jobs/{job_id}/logs/raw",
        visible="own",
        scope=Scope.JOBS_READ,
        name="read_whole_log",
        response_class=Response,
        responses=WHOLE_ANSWER,
        errors=[NoSuchJob, Removed, StoreError],
    )
    async def read_whole(
        request: Request,
        job_id: str,
        caller: Caller,
        after: Annotated[StorableInt, Query(ge=0)] = 0,
        slice: SliceIndex = 0,
        attempt: AttemptNumber = None,
        before: Before = None,
    ) -> Response:
        """The log in one answer, however long it is: from `after` on, up to what there is now or to `before`. Its
        Content-Length tells a whole answer from one that was cut off. To follow a log that grows, go on with
        `X-Next-Offset` at `jobs/{job_id}/logs` or at the live stream."""
        place = await db.read(queries.find_log, caller, job_id, slice, attempt)
        size = await logs.size(place.attempt_id) if place.attempt_id is not None else 0
        stop = max(after, size if before is None else min(before, size))
        pieces = downloads.pieces(_reading(engine, place.attempt_id or ""), after, stop, address_of(request.scope))
        return FileStream(pieces, stop - after, headers=_headers(place, size, stop), media_type=BYTES)

    @routes.get(
        "/files/logs/{attempt_id}",
        visible="signed",
        name="download_log",
        response_class=Response,
        responses=FILE_ANSWER,
        errors=[NotSigned, BadSignature, UrlExpired, NotFound, Removed, StoreError],
    )
    async def download(request: Request, attempt_id: str) -> Response:
        """The log as a file, by the `url` of its info: what there is now of it."""
        engine.blob_signer.check_file("logs", attempt_id, request.url.query)
        sender_is_known(request.scope)
        log = await db.read(files.find_log_file, attempt_id)
        size = await logs.size(log.attempt_id)
        pieces = downloads.pieces(_reading(engine, log.attempt_id), 0, size, address_of(request.scope))
        headers = {
            "Content-Disposition": disposition("attachment", log.name),
            "Content-Security-Policy": "sandbox",
            "Cache-Control": "private, no-store",
        }
        return FileStream(pieces, size, headers=headers, media_type=PLAIN_TEXT)


def _reading(engine: Engine, attempt_id: str) -> Any:
    return lambda start, limit: engine.logs.read(attempt_id, start, limit)


def _headers(place: queries.LogPlace, size: int, next_offset: int) -> dict[str, str]:
    return {
        "X-Next-Offset": str(next_offset),
        "X-Log-Complete": "1" if place.ended and next_offset >= size else "0",
        "X-Attempt": str(place.number),
        "X-Log-Bytes": str(size),
    }
