"""Lists: of jobs, with filters and orders, and of all slices of one."""

from typing import Annotated

from fastapi import APIRouter, Query
from pydantic import AwareDatetime

from computepool.hub.accounts.visibility import sees
from computepool.hub.api.job_views import list_with_actions
from computepool.hub.core.errors import Forbidden
from computepool.hub.core.http import Caller, Routes, Scope
from computepool.hub.core.money import priced_routes
from computepool.hub.core.texts import ISO_8601
from computepool.hub.engine import Engine
from computepool.hub.jobs.errors import NoSuchJob
from computepool.hub.jobs.grid import SliceGrid, show_grid
from computepool.hub.jobs.listing import JobFilter, JobOrder
from computepool.hub.jobs.views import JobPage
from computepool.protocol.states import JobState

PAGE_LIMIT = 500
SEARCH_LIMIT = 128
SEARCH = "A part of the name, or the beginning of an id (8 letters or more). See `searched_since` in the answer."
Named = Annotated[str | None, Query(min_length=1, max_length=SEARCH_LIMIT)]


def router(engine: Engine) -> APIRouter:
    routes = priced_routes(engine.directory.authenticate, engine.context.settings, tags=["jobs"])
    _add_list(routes, engine)
    return routes.router


def _add_list(routes: Routes, engine: Engine) -> None:
    db = engine.context.db

    @routes.get("/jobs", name="list_jobs", visible="own", scope=Scope.JOBS_READ)
    async def list_all(
        caller: Caller,
        state: Annotated[list[JobState] | None, Query(description="Jobs in one of these states.")] = None,
        search: Annotated[str | None, Query(max_length=SEARCH_LIMIT, description=SEARCH)] = None,
        owner_id: Annotated[Named, Query(description="Jobs of this user or team: for admins.")] = None,
        owner: Annotated[Named, Query(deprecated=True, description="An older name of `owner_id`.")] = None,
        mine: Annotated[bool, Query(description="Not those of others that an admin sees.")] = False,
        since: Annotated[AwareDatetime | None, ISO_8601, Query(description="Submitted then or later.")] = None,
        until: Annotated[AwareDatetime | None, ISO_8601, Query(description="Submitted before then.")] = None,
        node: Annotated[Named, Query(description="Jobs with an attempt on this node: its id or name.")] = None,
        gpu: Annotated[Named, Query(description="Jobs that ask for this model of GPU, such as `rtx-4090`.")] = None,
        simulated: Annotated[bool | None, Query(description="Jobs on simulated nodes alone, or all others.")] = None,
        retry_of: Annotated[Named, Query(description="Jobs that run this one again.")] = None,
        order: Annotated[
            JobOrder,
            Query(description="What to sort by; with `-` the largest or newest first. `finished`: jobs that ended."),
        ] = JobOrder.NEWEST,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
        cursor: str | None = None,
    ) -> JobPage:
        """The newest first. An admin sees everybody's, or with `mine` as others do: their own and their teams'."""
        owner_id = owner_id or owner
        if owner_id is not None and not sees(caller, owner_id):
            raise Forbidden("Only an admin may list the jobs of others.")
        wanted = JobFilter(
            states=state or (),
            search=search,
            owner_id=owner_id,
            mine=mine,
            since=since,
            until=until,
            node=node,
            gpu=gpu,
            simulated=simulated,
            retry_of=retry_of,
        )
        return await db.read(list_with_actions, engine.context, caller, wanted, order, cursor, limit)

    @routes.get("/jobs/{job_id}/slices", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def show_slices(job_id: str, caller: Caller) -> SliceGrid:
        """All slices at a glance, one letter each. `GET jobs/{job_id}?from_slice=` has their details."""
        return await db.read(show_grid, caller, job_id)
