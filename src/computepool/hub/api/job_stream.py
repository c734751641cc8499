"""What a job writes: its log in pieces, and the job live, over a WebSocket."""

import asyncio
from collections.abc import Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response, WebSocket

from computepool.hub.artifacts.store import StoreError
from computepool.hub.core.edge import counted_stream, limit_messages
from computepool.hub.core.errors import Invalid
from computepool.hub.core.http import Caller, Routes, Scope, principal_of
from computepool.hub.core.streaming import hear_nothing, serve_frames
from computepool.hub.engine import Engine
from computepool.hub.jobs import queries
from computepool.hub.jobs.errors import NoSuchJob, Removed
from computepool.hub.jobs.stream import JobStream, offset_of, parse_resume, parse_window

LOG_PIECE_BYTES = 1024**2
ENDING_AT_ONCE = 20
"""Streams of revoked tokens that are ended at once: an account may have many, and others are answered in between."""
WELCOME_SECONDS = 1.0
"""How often an open stream asks whether its token still holds. It is a look into memory."""
LOG_ANSWER: dict[int | str, Any] = {
    200: {
        "description": "A piece of the log.",
        "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        "headers": {
            "X-Next-Offset": {"description": "The byte to go on with.", "schema": {"type": "integer"}},
            "X-Log-Complete": {
                "description": "`1` if no more can come.",
                "schema": {"type": "string", "enum": ["0", "1"]},
            },
            "X-Attempt": {"description": "The number of the attempt.", "schema": {"type": "integer"}},
        },
    }
}
READERS_MESSAGE_BYTES = 1024


def router(engine: Engine) -> APIRouter:
    context, logs, db = engine.context, engine.logs, engine.context.db
    routes = Routes(engine.directory.authenticate, tags=["jobs"])
    ending = asyncio.Semaphore(ENDING_AT_ONCE)

    @routes.get(
        "/jobs/{job_id}/logs",
        visible="own",
        scope=Scope.JOBS_READ,
        response_class=Response,
        responses=LOG_ANSWER,
        errors=[NoSuchJob, Removed, StoreError],
    )
    async def read_logs(
        job_id: str,
        caller: Caller,
        after: Annotated[int, Query(ge=0)] = 0,
        slice: Annotated[int, Query(ge=0)] = 0,
        attempt: Annotated[int | None, Query(ge=1)] = None,
    ) -> Response:
        """Raw bytes from `after` on. `X-Next-Offset` says where to go on, `X-Log-Complete` whether more can come."""
        place = await db.read(queries.find_log, caller, job_id, slice, attempt)
        data, size = b"", 0
        if place.attempt_id is not None:
            data = await logs.read(place.attempt_id, after, LOG_PIECE_BYTES)
            size = await logs.size(place.attempt_id)
        headers = {
            "X-Next-Offset": str(after + len(data)),
            "X-Log-Complete": "1" if place.ended and after + len(data) >= size else "0",
            "X-Attempt": str(place.number),
        }
        return Response(data, media_type="application/octet-stream", headers=headers)

    @routes.websocket("/jobs/{job_id}/stream", visible="own", scope=Scope.JOBS_READ)
    async def stream(socket: WebSocket, job_id: str) -> None:
        principal = principal_of(socket)
        try:
            only = int(socket.query_params["slice"]) if "slice" in socket.query_params else None
            resume = parse_resume(socket.query_params.get("from", ""))
            if only is not None and "after" in socket.query_params:
                resume.setdefault((only, 1), offset_of(socket.query_params["after"]))
            window = parse_window(socket.query_params)
        except ValueError:
            raise Invalid(
                "slice, after and from must be numbers, such as from=0.1:4096; frames=changes goes with from_slice, "
                "slice_limit (1 to 1000) and logs=all, window or none."
            ) from None
        async with counted_stream(socket.scope, principal.user_id):
            job = await db.read(queries.load_job, principal, job_id)
            if only is not None:
                queries.check_slice(job, only)
            limit_messages(socket.scope, READERS_MESSAGE_BYTES)
            await socket.accept()
            frames = JobStream(context, engine.live_jobs, principal, job_id, only, resume, window).frames()
            signed_out = _until_unwelcome(lambda: engine.directory.still_holds(principal), ending)
            await serve_frames(socket, frames, signed_out, hear_nothing())

    return routes.router


async def _until_unwelcome(is_welcome: Callable[[], bool], ending: asyncio.Semaphore) -> None:
    while True:
        await asyncio.sleep(WELCOME_SECONDS)
        if not is_welcome():
            async with ending:
                await asyncio.sleep(0)  # the next ones end in a later turn of the event loop
            return
