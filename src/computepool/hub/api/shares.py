"""Links by which everybody can see a job: made and revoked by its owner, and read without a token."""

from datetime import datetime, timedelta
from typing import Annotated

from fastapi import APIRouter, Path, Query, Response
from pydantic import ConfigDict, Field, StrictBool
from sqlalchemy.orm import Session

from computepool.hub.accounts.tokens import new_share_token
from computepool.hub.artifacts.store import StoreError
from computepool.hub.core.context import Context
from computepool.hub.core.errors import Conflict, Forbidden, NotFound
from computepool.hub.core.http import Caller, Principal, Routes, Scope
from computepool.hub.engine import Engine
from computepool.hub.jobs import permits, shares
from computepool.hub.jobs.errors import NoSuchJob, NoSuchShare
from computepool.hub.jobs.queries import load_job
from computepool.hub.jobs.shares import SharedJob
from computepool.hub.jobs.tables import JobShare
from computepool.protocol.model import Documented
from computepool.protocol.spec import MAX_SLICES

PAGE_LIMIT = 500
LOG_PIECE_BYTES = 1024**2
LONGEST_DAYS = 365
Token = Annotated[str, Path(max_length=80, description="The token in the link.")]


class ShareRequest(Documented):
    """What a link shows, and for how long it works."""

    model_config = ConfigDict(extra="forbid")

    expires_in_days: Annotated[int, Field(ge=1, le=LONGEST_DAYS)] | None = None
    """After so many days it stops working; null for never."""
    with_logs: StrictBool = False
    """Show the logs too. They hold whatever the job prints."""
    with_outputs: StrictBool = False
    """Show the names, sizes and digests of the outputs too."""


class ShareView(Documented):
    id: str
    job_id: str
    with_logs: bool
    """Whether the link shows the logs."""
    with_outputs: bool
    """Whether the link shows which outputs there are."""
    created_at: datetime
    expires_at: datetime | None


class NewShare(ShareView):
    token: str
    """Told once. The job is at `GET public/shares/{token}`."""


class ShareList(Documented):
    items: list[ShareView]
    next: None = None
    """Always null: a job has at most 20 links."""


class SharedOutput(Documented):
    """A file that the job left behind."""

    slice: int
    path: str
    size_bytes: int
    digest: str


class SharedOutputs(Documented):
    items: list[SharedOutput]
    next: str | None


def router(engine: Engine) -> APIRouter:
    routes = Routes(engine.directory.authenticate, tags=["shares"])
    _add_owners(routes, engine.context)
    _add_public(routes, engine)
    return routes.router


def _add_owners(routes: Routes, context: Context) -> None:
    @routes.post(
        "/jobs/{job_id}/shares",
        visible="own",
        scope=Scope.JOBS_WRITE,
        status_code=201,
        errors=[NoSuchJob, Forbidden, Conflict],
    )
    async def create_share(job_id: str, body: ShareRequest, caller: Caller) -> NewShare:
        """Make a link by which everybody who has it can see the job, without its command, environment or nodes."""
        token = new_share_token(context.randbits)
        row = await context.db.run(_add, context, caller, job_id, body, token)
        return NewShare(**_view(row).model_dump(), token=token)

    @routes.get("/jobs/{job_id}/shares", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def list_shares(job_id: str, caller: Caller) -> ShareList:
        """The links that work, newest first."""
        return ShareList(items=[_view(row) for row in await context.db.read(_list, context, caller, job_id)])

    @routes.delete(
        "/jobs/{job_id}/shares/{share_id}",
        visible="own",
        scope=Scope.JOBS_WRITE,
        status_code=204,
        errors=[NoSuchJob, NoSuchShare],
    )
    async def revoke_share(
        job_id: str, share_id: Annotated[str, Path(max_length=40, description="The id of the link.")], caller: Caller
    ) -> None:
        """Nobody sees the job by this link any more."""
        await context.db.run(_revoke, context, caller, job_id, share_id)


def _add_public(routes: Routes, engine: Engine) -> None:
    context = engine.context

    @routes.get("/public/shares/{token}", visible="public", errors=[NoSuchShare])
    async def show_shared(token: Token) -> SharedJob:
        """A job that its owner shares. Needs no token but the one in the link."""
        return await context.db.read(shares.show_shared, token, context.now())

    @routes.get(
        "/public/shares/{token}/log",
        visible="public",
        response_class=Response,
        responses={
            200: {
                "description": "A piece of the log.",
                "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
                "headers": {
                    "X-Next-Offset": {"description": "The byte to go on with.", "schema": {"type": "integer"}},
                    "X-Log-Complete": {
                        "description": "`1` if no more can come.",
                        "schema": {"type": "string", "enum": ["0", "1"]},
                    },
                },
            }
        },
        errors=[NoSuchShare, NotFound, StoreError],
    )
    async def read_shared_log(
        token: Token,
        after: Annotated[int, Query(ge=0, le=2**53, description="The byte to begin with.")] = 0,
        slice: Annotated[int, Query(ge=0, le=MAX_SLICES, description="Of this slice.")] = 0,
    ) -> Response:
        """Raw bytes from `after` on, of the slice's newest attempt."""
        place = await context.db.read(shares.find_shared_log, token, context.now(), slice)
        data, size = b"", 0
        if place.attempt_id is not None:
            data = await engine.logs.read(place.attempt_id, after, LOG_PIECE_BYTES)
            size = await engine.logs.size(place.attempt_id)
        headers = {
            "X-Next-Offset": str(after + len(data)),
            "X-Log-Complete": "1" if place.ended and after + len(data) >= size else "0",
        }
        return Response(data, media_type="application/octet-stream", headers=headers)

    @routes.get("/public/shares/{token}/outputs", visible="public", errors=[NoSuchShare, NotFound])
    async def list_shared_outputs(
        token: Token,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = PAGE_LIMIT,
        cursor: Annotated[str | None, Query(max_length=2000)] = None,
    ) -> SharedOutputs:
        """Which files the job left behind. The files themselves are its owner's to give."""
        found, after = await context.db.read(shares.page_shared_outputs, token, context.now(), cursor, limit)
        items = [
            SharedOutput(
                slice=one.slice_index,
                path=one.artifact.path or "",
                size_bytes=one.artifact.size_bytes,
                digest=one.artifact.digest,
            )
            for one in found
        ]
        return SharedOutputs(items=items, next=after)


def _add(
    session: Session, context: Context, principal: Principal, job_id: str, body: ShareRequest, token: str
) -> JobShare:
    load_job(session, principal, job_id)
    refused = permits.refuse_share(permits.facts_of(session, [job_id])[job_id], principal)
    if refused is not None:
        raise refused
    now = context.now()
    days = body.expires_in_days
    return shares.add_share(
        session,
        context.new_id("share"),
        job_id,
        token,
        now + timedelta(days=days) if days is not None else None,
        principal.user_id,
        now,
        with_logs=body.with_logs,
        with_outputs=body.with_outputs,
    )


def _list(session: Session, context: Context, principal: Principal, job_id: str) -> list[JobShare]:
    return list(shares.list_shares(session, load_job(session, principal, job_id).id, context.now()))


def _revoke(session: Session, context: Context, principal: Principal, job_id: str, share_id: str) -> None:
    load_job(session, principal, job_id)
    shares.revoke_share(session, job_id, share_id, principal.user_id, context.now())


def _view(row: JobShare) -> ShareView:
    return ShareView(
        id=row.id,
        job_id=row.job_id,
        with_logs=row.with_logs,
        with_outputs=row.with_outputs,
        created_at=row.created_at,
        expires_at=row.expires_at,
    )
