"""Event streams: over a WebSocket, and as server-sent events for scripts. One rendering of the pool for everybody."""

import functools
import json
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Response, WebSocket
from starlette.requests import HTTPConnection, Request

from computepool.hub.api.market_views import prices_of
from computepool.hub.api.stream_views import schemas
from computepool.hub.api.world import map_message, read_stats
from computepool.hub.core.edge import TooManyStreams, connection_of, counted_stream, limit_messages
from computepool.hub.core.http import Principal, Routes, Scope, principal_of
from computepool.hub.core.streaming import EventSource, hear_nothing, serve_frames
from computepool.hub.engine import Engine
from computepool.hub.jobs.queries import count_suspended
from computepool.hub.jobs.tables import Job
from computepool.hub.live.feed import CURSOR_LIMIT, EventStream, topics_for
from computepool.hub.live.public import PUBLIC_TOPIC, PublicBoard
from computepool.hub.live.subscriptions import Subscriptions
from computepool.hub.live.why import WhyWatch
from computepool.hub.scheduling.why import explain_job, summarize
from computepool.protocol.events import CLIENT_MESSAGE_LIMIT_BYTES, WhyMessage
from computepool.protocol.public_events import PublicMessage, PublicPrice
from computepool.protocol.states import JobState

After = Annotated[str | None, Query(max_length=CURSOR_LIMIT)]
Stream = Callable[[AsyncGenerator[str, None], Awaitable[object]], Awaitable[None]]


STREAM: dict[int | str, Any] = {
    200: {
        "description": "Server-sent events, whose data are messages as JSON; `events/schema` has their schema.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
SCHEMA: dict[int | str, Any] = {200: {"content": {"application/schema+json": {"schema": {"type": "object"}}}}}


@functools.cache
def _schemas_text() -> str:
    """Made when somebody first asks: it takes longer than all routes of the hub."""
    return json.dumps(schemas(), separators=(",", ":"))


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["events"])
    _add_own(routes, engine)
    _add_public(routes, engine)
    return routes.router


def _add_own(routes: Routes, engine: Engine) -> None:
    context, feed = engine.context, engine.feed
    why = WhyWatch(lambda job_id: why_now(engine, job_id))

    @routes.websocket("/events", visible="own", scope=Scope.JOBS_READ, parameters=["after"])
    async def watch(socket: WebSocket) -> None:
        principal = principal_of(socket)
        async with counted_stream(socket.scope, principal.user_id):
            with feed.listen(topics_for(principal), principal) as reader:
                limit_messages(socket.scope, CLIENT_MESSAGE_LIMIT_BYTES)
                await socket.accept()
                _show_wallets(engine, principal)
                subscriptions = Subscriptions(context, engine.live_jobs, why, principal, reader)
                frames = EventStream(context, feed, principal, socket.query_params.get("after")).messages(reader)
                try:
                    await serve_frames(socket, frames, reader.gone.wait(), subscriptions.hear)
                finally:
                    await subscriptions.close()

    @routes.get(
        "/events",
        visible="own",
        scope=Scope.JOBS_READ,
        response_class=EventSource,
        errors=[TooManyStreams],
        responses=STREAM,
    )
    async def listen(
        request: Request,
        after: After = None,
        follow: bool = True,
        last_event_id: Annotated[str | None, Header(max_length=CURSOR_LIMIT)] = None,
    ) -> Response:
        """Everything that happens to what is yours, as server-sent events: the messages of `WS /api/v1/events` but
        those that are asked for. With `Last-Event-ID`, or `after`, it goes on behind that event. With `follow=false` it
        ends when all events there are were sent."""
        principal = principal_of(request)

        async def serve(stream: Stream) -> None:
            async with counted_stream(request.scope, principal.user_id):
                with feed.listen(topics_for(principal), principal) as reader:
                    _show_wallets(engine, principal)
                    frames = EventStream(context, feed, principal, last_event_id or after).messages(
                        reader, follow=follow
                    )
                    await stream(frames, reader.gone.wait())

        return EventSource(serve)

    @routes.get("/events/schema", visible="public", response_class=Response, responses=SCHEMA)
    async def schema() -> Response:
        """The JSON Schema of every message of every stream."""
        return Response(_schemas_text(), media_type="application/schema+json")


def _add_public(routes: Routes, engine: Engine) -> None:
    feed, board = engine.feed, _board(engine)

    @routes.websocket("/public/events", visible="public", parameters=["map"])
    async def watch_pool(socket: WebSocket) -> None:
        async with counted_stream(socket.scope, _address(socket)):
            with feed.listen((PUBLIC_TOPIC,)) as reader:
                limit_messages(socket.scope, CLIENT_MESSAGE_LIMIT_BYTES)
                await socket.accept()
                frames = board.messages(reader, with_map=_is_true(socket.query_params.get("map")))
                await serve_frames(socket, frames, reader.gone.wait(), hear_nothing())

    @routes.get(
        "/public/events", visible="public", response_class=EventSource, errors=[TooManyStreams], responses=STREAM
    )
    async def listen_to_pool(
        request: Request, follow: bool = True, with_map: Annotated[bool, Query(alias="map")] = False
    ) -> Response:
        """How large the pool is, how busy, and its prices, as server-sent events: when they change, at most once a
        second. With `map=true` the map too: all its cells, then those that change. With `follow=false` only as they
        are now."""

        async def serve(stream: Stream) -> None:
            async with counted_stream(request.scope, _address(request)):
                with feed.listen((PUBLIC_TOPIC,)) as reader:
                    await stream(board.messages(reader, follow=follow, with_map=with_map), reader.gone.wait())

        return EventSource(serve)


async def why_now(engine: Engine, job_id: str) -> WhyMessage:
    """Whether the reader may see the job was asked before."""
    db = engine.context.db
    job = await db.read(lambda session: session.get_one(Job, job_id))
    waiting = await explain_job(engine.context, engine.scheduler, job_id)
    suspended = await db.read(count_suspended, job_id)
    return WhyMessage(job_id=job_id, state=JobState(job.state), summary=summarize(job, waiting, *suspended))


def look_public(engine: Engine) -> PublicMessage:
    settings = engine.context.settings
    prices: list[PublicPrice] | None = None
    if settings.money == "on":
        shown = set(PublicPrice.model_fields)
        rows = prices_of(engine.book, settings.platform_fee_bps).items
        prices = [PublicPrice(**row.model_dump(include=shown)) for row in rows if not row.simulated]
    return PublicMessage(
        at=engine.context.now(),
        stats=read_stats(engine),
        prices=prices,
    )


def _board(engine: Engine) -> PublicBoard:
    return PublicBoard(
        engine.feed,
        engine.census,
        engine.offers.offers,
        lambda: look_public(engine),
        lambda version: map_message(engine.census, version),
    )


def _is_true(text: str | None) -> bool:
    return text in ("1", "true", "yes", "on")


def _address(connection: HTTPConnection) -> str:
    edge = connection_of(connection.scope)
    return f"address/{edge.address if edge is not None else ''}"


def _show_wallets(engine: Engine, principal: Principal) -> None:
    for owner_id in principal.owner_ids:
        engine.wallets.show(owner_id)
