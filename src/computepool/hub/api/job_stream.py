"""A job live, with its logs, over a WebSocket."""

import asyncio
from collections.abc import Callable

from fastapi import APIRouter, WebSocket

from computepool.hub.core.edge import counted_stream, limit_messages
from computepool.hub.core.errors import Invalid
from computepool.hub.core.http import Routes, Scope, principal_of
from computepool.hub.core.streaming import hear_nothing, serve_frames
from computepool.hub.engine import Engine
from computepool.hub.jobs import queries
from computepool.hub.jobs.stream import JobStream, offset_of, parse_resume, parse_window

ENDING_AT_ONCE = 20
"""Streams of revoked tokens that are ended at once: an account may have many, and others are answered in between."""
WELCOME_SECONDS = 1.0
"""How often an open stream asks whether its token still holds. It is a look into memory."""
READERS_MESSAGE_BYTES = 1024


def router(engine: Engine) -> APIRouter:
    context, db = engine.context, engine.context.db
    routes = Routes(engine.directory.authenticate, tags=["jobs"])
    ending = asyncio.Semaphore(ENDING_AT_ONCE)

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
