"""What a job leaves behind: its outputs, and URLs to fetch them."""

from typing import Annotated

from fastapi import APIRouter, Query

from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import Store, StoreError
from computepool.hub.artifacts.transfers import downloads_for
from computepool.hub.core.http import Caller, Routes, Scope
from computepool.hub.engine import Engine
from computepool.hub.jobs import queries
from computepool.hub.jobs.errors import NoSuchJob, Removed
from computepool.protocol.model import Documented

PAGE_LIMIT = 500


class OutputView(Documented):
    slice: int
    attempt: int
    path: str
    size_bytes: int
    digest: str
    part_bytes: int
    downloads: list[str]
    """The URLs of its parts, in order."""


class OutputPage(Documented):
    items: list[OutputView]
    next: str | None


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["jobs"])
    db = engine.context.db

    @routes.get(
        "/jobs/{job_id}/artifacts", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob, Removed, StoreError]
    )
    async def list_artifacts(
        job_id: str,
        caller: Caller,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = PAGE_LIMIT,
        cursor: Annotated[str | None, Query(max_length=2000)] = None,
    ) -> OutputPage:
        """What the job left behind, of each slice's deciding attempt, with URLs to fetch it."""
        outputs, after = await db.read(queries.page_outputs, caller, job_id, cursor, limit)
        return OutputPage(items=[_output_view(engine.store, output) for output in outputs], next=after)

    return routes.router


def _output_view(store: Store, output: queries.Output) -> OutputView:
    artifact = output.artifact
    return OutputView(
        slice=output.slice_index,
        attempt=output.number,
        path=artifact.path or "",
        size_bytes=artifact.size_bytes,
        digest=artifact.digest,
        part_bytes=PART_BYTES,
        downloads=downloads_for(store, artifact),
    )
