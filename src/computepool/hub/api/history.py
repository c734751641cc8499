"""History: usage of attempts, telemetry of nodes, figures of the pool, prices over time, and what happened when."""

from datetime import timedelta
from typing import Annotated, Literal

from fastapi import APIRouter, Query

from computepool.hub.api.history_views import (
    AttemptUsageView,
    NodeTelemetry,
    PoolSeries,
    Since,
    Step,
    Until,
    columns_of,
    places_of,
    read_span,
    start_of,
)
from computepool.hub.api.nodes import load_node
from computepool.hub.core.http import Caller, Routes, Scope
from computepool.hub.core.money import priced_routes
from computepool.hub.core.paging import Cursor
from computepool.hub.engine import Engine
from computepool.hub.history.metrics import ATTEMPT_METRICS, GPUS_RECORDED, NODE_METRICS, POOL_METRICS
from computepool.hub.history.recorder import POOL
from computepool.hub.history.repository import HistoryKind
from computepool.hub.history.series import Series
from computepool.hub.jobs import hosted, queries, timeline
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.hosted import NodeAttemptPage
from computepool.hub.jobs.timeline import JobTimeline
from computepool.hub.nodes.errors import NoSuchNode
from computepool.protocol.capacity import Capacity
from computepool.protocol.spec import MAX_SLICES

DAY = timedelta(days=1)
PAGE_LIMIT = 500
NUMBER_LIMIT = 2**31 - 1


def router(engine: Engine) -> APIRouter:
    routes = priced_routes(engine.directory.authenticate, engine.context.settings, tags=["history"])
    _add_jobs(routes, engine)
    _add_nodes(routes, engine)
    _add_pool(routes, engine)
    return routes.router


def _add_jobs(routes: Routes, engine: Engine) -> None:
    context, history = engine.context, engine.history

    @routes.get("/jobs/{job_id}/usage", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def job_usage(
        job_id: str,
        caller: Caller,
        index: Annotated[int, Query(alias="slice", ge=0, le=MAX_SLICES)] = 0,
        attempt: Annotated[int | None, Query(ge=1, le=NUMBER_LIMIT)] = None,
        since: Since = None,
        until: Until = None,
        step: Step = None,
    ) -> AttemptUsageView:
        """What an attempt of the caller's job used over time: of the slice's newest attempt, or of the one asked for.

        Without `since` the whole attempt. An attempt begins with a step of 10 seconds; a long one has a wider step.
        """
        place = await context.db.read(queries.find_attempt, caller, job_id, index, attempt)
        now = context.now()
        began = place.leased_at if place is not None else now - DAY
        ended = (place.finished_at if place is not None else None) or now
        span = read_span(since or began, until or max(ended, began + timedelta(seconds=1)), step, now, DAY)
        found = Series(span.step)
        if place is not None:
            found = await history.read(HistoryKind.ATTEMPT, place.attempt_id, span.since, span.until, span.step)
        places = places_of(found, span)
        return AttemptUsageView(
            job_id=job_id,
            slice=index,
            attempt=place.number if place is not None else None,
            attempt_id=place.attempt_id if place is not None else None,
            start_at=start_of(found, places),
            step_seconds=found.step,
            points=len(places),
            columns=await context.offload(columns_of, found, places, ATTEMPT_METRICS),
        )

    @routes.get("/jobs/{job_id}/timeline", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def job_timeline(
        job_id: str,
        caller: Caller,
        index: Annotated[int | None, Query(alias="slice", ge=0, le=MAX_SLICES)] = None,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 200,
        cursor: Annotated[int | None, Query(ge=0, le=2**53)] = None,
    ) -> JobTimeline:
        """What happened to the job and its attempts, oldest first; with `slice`, to one slice."""
        return await context.db.read(timeline.show_timeline, caller, job_id, index, cursor, limit)


def _add_nodes(routes: Routes, engine: Engine) -> None:
    context, history = engine.context, engine.history

    @routes.get("/nodes/{node_id}/telemetry", visible="own", scope=Scope.NODES_READ, errors=[NoSuchNode])
    async def node_telemetry(
        node_id: str, caller: Caller, since: Since = None, until: Until = None, step: Step = None
    ) -> NodeTelemetry:
        """The load of one of the caller's machines: without `since`, of the last day.

        The last hour has a step of a minute, the last week of 15 minutes, and what is older of an hour.
        """
        node = await context.db.read(load_node, caller, node_id)
        span = read_span(since, until, step, context.now(), DAY)
        found = await history.read(HistoryKind.NODE, node.id, span.since, span.until, span.step)
        places = places_of(found, span)
        gpus = Capacity.model_validate(node.capacity).gpus[:GPUS_RECORDED]
        return NodeTelemetry(
            node_id=node.id,
            gpus=[gpu.id for gpu in gpus],
            start_at=start_of(found, places),
            step_seconds=found.step,
            points=len(places),
            columns=await context.offload(columns_of, found, places, NODE_METRICS),
        )

    @routes.get("/nodes/{node_id}/attempts", visible="own", scope=Scope.NODES_READ, errors=[NoSuchNode])
    async def node_attempts(
        node_id: str,
        caller: Caller,
        running: Annotated[bool | None, Query(description="Those that it has now, or those that have ended.")] = None,
        order: Annotated[
            Literal["-leased_at", "leased_at"], Query(description="`-`: the newest first.")
        ] = "-leased_at",
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: Cursor = None,
    ) -> NodeAttemptPage:
        """What one of the caller's machines ran and runs, without whose it was or what it did."""
        node = await context.db.read(load_node, caller, node_id)
        return await context.db.read(hosted.show_node_attempts, node.id, running, order, cursor, limit, context.now())


def _add_pool(routes: Routes, engine: Engine) -> None:
    context, history = engine.context, engine.history

    @routes.get("/admin/series", visible="admin")
    async def pool_series(since: Since = None, until: Until = None, step: Step = None) -> PoolSeries:
        """Queue length, waiting time, start latency, nodes online and utilisation: without `since`, of the last day.

        The last week has a step of a minute, and what is older of an hour.
        """
        span = read_span(since, until, step, context.now(), DAY)
        found = await history.read(HistoryKind.POOL, POOL, span.since, span.until, span.step)
        places = places_of(found, span)
        return PoolSeries(
            start_at=start_of(found, places),
            step_seconds=found.step,
            points=len(places),
            columns=await context.offload(columns_of, found, places, POOL_METRICS),
        )
