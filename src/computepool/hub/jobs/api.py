import asyncio
import contextlib
from collections.abc import AsyncGenerator, Callable
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response, WebSocket, WebSocketDisconnect
from pydantic import BaseModel
from sqlalchemy.orm import Session
from starlette.datastructures import UploadFile

from computepool.hub.artifacts.logs import LogStore
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.transfers import downloads_for
from computepool.hub.artifacts.uploads import Uploads
from computepool.hub.core.context import Context
from computepool.hub.core.edge import connection_of, limit_messages
from computepool.hub.core.errors import Invalid, TooLarge
from computepool.hub.core.http import (
    Authenticate,
    Caller,
    IdempotencyKey,
    Principal,
    Routes,
    Scope,
    StillHolds,
    principal_of,
)
from computepool.hub.core.idempotency import digest_of
from computepool.hub.core.keyring import Keyring
from computepool.hub.core.money import priced_routes
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.jobs import ending, queries, submission
from computepool.hub.jobs.errors import JobNotFinal
from computepool.hub.jobs.live import LiveJobs
from computepool.hub.jobs.ports import Dispatch
from computepool.hub.jobs.removal import Removal
from computepool.hub.jobs.stream import JobStream, offset_of, parse_resume
from computepool.hub.jobs.tables import Job
from computepool.hub.jobs.views import SHOWN_SLICES_LIMIT, JobPage, JobView, view_of_new
from computepool.protocol.errors import SIGNED_OUT
from computepool.protocol.hub_keys import HubKey
from computepool.protocol.own_job import OWN_JOB_HEADER
from computepool.protocol.signing import Signed
from computepool.protocol.spec import MAX_SLICES, JobSpec, parse_spec
from computepool.protocol.spec_input import MAX_SPEC_BYTES
from computepool.protocol.states import JOB_FINAL, JobState, Verdict

PAGE_LIMIT = 500
Cursor = Annotated[str | None, Query(max_length=2000)]
LOG_PIECE_BYTES = 1024**2
CLOSING_SECONDS = 1.0
WELCOME_SECONDS = 1.0
"""How often an open stream asks whether its token still holds. It is a look into memory."""
READERS_MESSAGE_BYTES = 1024
READERS_MESSAGES = 100
BUNDLE_LIMIT_BYTES = 2 * 1024**3
SPEC_LIMIT_BYTES = 4 * MAX_SPEC_BYTES
"""As it was written, with its spaces."""


class WhyView(BaseModel):
    job_id: str
    state: JobState
    summary: str
    waiting: list[dict[str, Any]]


class ReceiptNode(BaseModel):
    id: str
    name: str
    sign_key: str


class InsteadView(BaseModel):
    """The papers of an attempt that ran the slice once more, at another owner's, and was found right."""

    job_id: str
    """Of the hidden job that it belongs to."""
    attempt: int
    attempt_id: str
    manifest: Signed
    receipt: Signed
    node: ReceiptNode


class ReceiptView(BaseModel):
    slice: int
    attempt: int
    attempt_id: str
    state: str
    verdict: Verdict | None
    manifest: Signed
    receipt: Signed
    node: ReceiptNode
    hub_keys: list[HubKey]
    instead: InsteadView | None = None
    """Where this one was proven wrong, or outvoted: whose outputs are the slice's instead."""


class ReceiptPage(BaseModel):
    items: list[ReceiptView]
    next: str | None


class OutputView(BaseModel):
    slice: int
    attempt: int
    path: str
    size_bytes: int
    digest: str
    part_bytes: int
    downloads: list[str]
    """The URLs of its parts, in order."""


class OutputPage(BaseModel):
    items: list[OutputView]
    next: str | None


def router(
    authenticate: Authenticate,
    still_holds: StillHolds,
    context: Context,
    keyring: Keyring,
    dispatch: Dispatch,
    logs: LogStore,
    store: Store,
    uploads: Uploads,
    removal: Removal,
) -> APIRouter:
    routes = priced_routes(authenticate, context.settings, tags=["jobs"])
    _add_submit(routes, context, dispatch, uploads, removal)
    _add_change(routes, context, dispatch, removal)
    _add_show(routes, context, dispatch)
    _add_results(routes, context, keyring, store)
    _add_logs(routes, context, logs, still_holds)
    return routes.router


def _add_submit(routes: Routes, context: Context, dispatch: Dispatch, uploads: Uploads, removal: Removal) -> None:
    db = context.db

    async def create(caller: Principal, key: str | None, raw: bytes, bundle_id: str | None, own: str | None) -> JobView:
        spec = submission.read_spec(raw)
        with removal.artifacts.taking(submission.artifacts_of(spec, bundle_id)):
            found = await db.read(submission.find_bundle, bundle_id, caller.user_id) if bundle_id else None
            inputs = await db.read(submission.find_inputs, spec, caller.user_id) if spec.inputs else None
            identity = raw + str(found["digest"]).encode() if found else raw
            request = submission.Request(caller, key, digest_of(identity), own)
            return await _submit(context, dispatch, request, spec, found, inputs)

    @routes.post("/jobs", visible="own", scope=Scope.JOBS_WRITE, status_code=201, body_limit_bytes=BUNDLE_LIMIT_BYTES)
    async def submit_job(
        request: Request, caller: Caller, key: IdempotencyKey = None, bundle: str | None = None
    ) -> JobView:
        """The body is the spec as JSON; or multipart, with the spec as `spec` and an archive as `bundle`."""
        if request.headers.get("content-type", "").startswith("multipart/"):
            raw, bundle = await _read_multipart(uploads, request, caller)
        else:
            raw = await _read_bounded(request)
        return await create(caller, key, raw, bundle, request.headers.get(OWN_JOB_HEADER))


async def _submit(
    context: Context,
    dispatch: Dispatch,
    request: submission.Request,
    spec: JobSpec,
    bundle: dict[str, Any] | None,
    inputs: dict[str, Any] | None,
    retry_of: str | None = None,
    slice_indices: tuple[int, ...] | None = None,
) -> JobView:
    job, brief, once = submission.prepare(context, request, spec, bundle, inputs, retry_of, slice_indices)
    job_id = await dispatch.submit(job, brief, once.store)
    if once.stored is not None:
        return view_of_new(*once.stored, once.now)
    return await context.db.read(queries.show_job, request.principal, job_id)


def _add_change(routes: Routes, context: Context, dispatch: Dispatch, removal: Removal) -> None:
    db, unbroken = context.db, Unbroken()

    async def cancel(job_id: str, caller: Principal) -> None:
        canceled = await db.run(_cancel, context, dispatch, caller, job_id)
        for one, state in [(job_id, canceled.state), *canceled.replicas]:
            dispatch.canceled(one, final=state in JOB_FINAL)
        for attempt_id, fence, node_id in canceled.live:
            dispatch.stop_attempt(node_id, attempt_id, fence, "canceled")

    @routes.post("/jobs/{job_id}/cancel", visible="own", scope=Scope.JOBS_WRITE)
    async def cancel_job(job_id: str, caller: Caller) -> JobView:
        """What waits is canceled at once; what runs is told to stop, and the job ends when it has."""
        await unbroken.run(cancel(job_id, caller))
        return await db.read(queries.show_job, caller, job_id)

    @routes.post("/jobs/{job_id}/retry", visible="own", scope=Scope.JOBS_WRITE, status_code=201)
    async def retry_job(
        job_id: str,
        caller: Caller,
        key: IdempotencyKey = None,
        every_slice: Annotated[bool, Query(alias="all")] = False,
    ) -> JobView:
        """The same spec as a new job, linked to the old one: those slices that did not succeed, with their numbers; or
        all of them, if none failed or with `all`."""
        old = await db.read(queries.load_job, caller, job_id)
        if old.state not in JOB_FINAL:
            raise JobNotFinal(job_id, old.state)
        indices = None if every_slice else await db.read(queries.list_unfinished, old)
        which = "all" if indices is None else "failed"
        request = submission.Request(caller, key, digest_of(f"retry {job_id} {which}".encode()), old.own_job)
        spec = parse_spec(old.spec)
        with removal.artifacts.taking(submission.artifacts_of_job(old)):
            await db.read(submission.check_stored, old)
            return await _submit(context, dispatch, request, spec, old.bundle, old.inputs, job_id, indices)


def _add_show(routes: Routes, context: Context, dispatch: Dispatch) -> None:
    db = context.db

    @routes.get("/jobs", visible="own", scope=Scope.JOBS_READ)
    async def list_jobs(
        caller: Caller,
        state: Annotated[list[JobState] | None, Query()] = None,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 50,
        cursor: str | None = None,
        mine: bool = False,
    ) -> JobPage:
        """The newest first. An admin sees everybody's, or with `mine` as others do: their own and their teams'."""
        return await db.read(queries.show_jobs, caller, state or [], cursor, limit, mine=mine)

    @routes.get("/jobs/{job_id}", visible="own", scope=Scope.JOBS_READ)
    async def show_job(
        job_id: str,
        caller: Caller,
        from_slice: Annotated[int, Query(ge=0, le=MAX_SLICES)] = 0,
        slice_limit: Annotated[int, Query(ge=1, le=SHOWN_SLICES_LIMIT)] = SHOWN_SLICES_LIMIT,
    ) -> JobView:
        """With its slices from `from_slice` on. `next_slice` says where they go on, if not all of them are shown."""
        return await db.read(queries.show_job, caller, job_id, from_slice, slice_limit)

    @routes.get("/jobs/{job_id}/why", visible="own", scope=Scope.JOBS_READ)
    async def why(job_id: str, caller: Caller) -> WhyView:
        """Why it still waits: how many nodes each gate removed, and what would help."""
        job = await db.read(queries.load_job, caller, job_id)
        waiting = await dispatch.why(job_id)
        suspended = await db.read(queries.count_suspended, job_id)
        words = _why_summary(job, waiting, *suspended)
        return WhyView(job_id=job_id, state=JobState(job.state), summary=words, waiting=waiting)


def _add_results(routes: Routes, context: Context, keyring: Keyring, store: Store) -> None:
    db = context.db

    @routes.get("/jobs/{job_id}/artifacts", visible="own", scope=Scope.JOBS_READ)
    async def list_artifacts(
        job_id: str,
        caller: Caller,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = PAGE_LIMIT,
        cursor: Cursor = None,
    ) -> OutputPage:
        """What the job left behind, of each slice's deciding attempt, with URLs to fetch it."""
        outputs, after = await db.read(queries.page_outputs, caller, job_id, cursor, limit)
        return OutputPage(items=[_output_view(store, output) for output in outputs], next=after)

    @routes.get("/jobs/{job_id}/receipts", visible="own", scope=Scope.JOBS_READ)
    async def list_receipts(
        job_id: str,
        caller: Caller,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: Cursor = None,
    ) -> ReceiptPage:
        """The two signed papers of every attempt that ended on its node, by slice and number."""
        rows, after = await db.read(queries.page_receipts, caller, job_id, cursor, limit)
        return ReceiptPage(items=[_receipt_view(row, list(keyring.public)) for row in rows], next=after)


def _add_logs(routes: Routes, context: Context, logs: LogStore, still_holds: StillHolds) -> None:
    db, live = context.db, LiveJobs(context, logs)

    @routes.get("/jobs/{job_id}/logs", visible="own", scope=Scope.JOBS_READ, response_class=Response)
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
        except ValueError:
            raise Invalid("slice, after and from must be numbers, such as from=0.1:4096.") from None
        job = await db.read(queries.load_job, principal, job_id)
        if only is not None:
            queries.check_slice(job, only)
        connection = connection_of(socket.scope)
        with connection.stream(principal.user_id) if connection is not None else contextlib.nullcontext():
            limit_messages(socket.scope, READERS_MESSAGE_BYTES)
            await socket.accept()
            frames = JobStream(context, live, principal, job_id, only, resume).frames()
            await _serve(socket, frames, lambda: still_holds(principal))


async def _serve(socket: WebSocket, frames: AsyncGenerator[str, None], is_welcome: Callable[[], bool]) -> None:
    """Until the frames end, the reader goes away, which a job that says nothing for hours would not notice, or the
    reader's token is revoked."""
    sending = asyncio.create_task(_send_all(socket, frames))
    leaving = asyncio.create_task(_until_gone(socket))
    signed_out = asyncio.create_task(_until_unwelcome(is_welcome))
    tasks = (sending, leaving, signed_out)
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        unwelcome = signed_out.done()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await frames.aclose()
    if not sending.cancelled():
        sending.result()
    elif unwelcome:
        # A reader that takes nothing does not take this either; then the server ends the connection when we return.
        with contextlib.suppress(WebSocketDisconnect, RuntimeError, TimeoutError):
            async with asyncio.timeout(CLOSING_SECONDS):
                await socket.close(SIGNED_OUT, "signed out: the token was revoked")


async def _send_all(socket: WebSocket, frames: AsyncGenerator[str, None]) -> None:
    with contextlib.suppress(WebSocketDisconnect, RuntimeError):  # the reader went away
        async for frame in frames:
            await socket.send_text(frame)
        await socket.close()


async def _until_unwelcome(is_welcome: Callable[[], bool]) -> None:
    while True:
        await asyncio.sleep(WELCOME_SECONDS)
        if not is_welcome():
            return


async def _until_gone(socket: WebSocket) -> None:
    """Readers have nothing to say: one that talks all the same is left."""
    for _ in range(READERS_MESSAGES):
        if (await socket.receive())["type"] == "websocket.disconnect":
            return


async def _read_bounded(request: Request) -> bytes:
    """A spec is small, whatever the route takes with an archive: more of it is not even kept."""
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > SPEC_LIMIT_BYTES:
            raise TooLarge(f"A job spec has at most {SPEC_LIMIT_BYTES} bytes.", hint="Send files in the bundle.")
    return raw


async def _read_multipart(uploads: Uploads, request: Request, caller: Principal) -> tuple[bytes, str]:
    async with request.form(max_files=1, max_fields=4) as form:
        spec, bundle = form.get("spec"), form.get("bundle")
        raw = await spec.read(SPEC_LIMIT_BYTES + 1) if isinstance(spec, UploadFile) else (spec or "").encode()
        submission.read_spec(raw)  # before a large archive is stored for nothing
        if not isinstance(bundle, UploadFile):
            raise Invalid("The multipart body has no file called `bundle`.", hint="Send the spec alone as JSON.")
        artifact = await uploads.keep_file(caller.user_id, bundle.file, actor=caller.user_id)
        return raw, artifact.id


def _cancel(
    session: Session, context: Context, dispatch: Dispatch, principal: Principal, job_id: str
) -> ending.Canceled:
    job = queries.load_job(session, principal, job_id)
    return dispatch.cancel(session, job, context.now(), actor=principal.user_id)


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


def _why_summary(job: Job, waiting: list[dict[str, Any]], suspended: int, live: int) -> str:
    if job.state in JOB_FINAL:
        words = f"It {'was canceled' if job.state == 'canceled' else job.state}: it waits for nothing."
        return f"{words} {job.message}" if job.state == "failed" and job.message else words
    if not waiting:
        if not suspended:
            return "Every slice has a node: it waits for nothing."
        who = "It is" if suspended == live == 1 else f"{suspended} of {live} slices with a node are"
        return f"{who} suspended: the machine's owner has paused it or is using it. It goes on there, or elsewhere."
    return str(waiting[0]["summary"])


def _receipt_view(row: dict[str, Any], keys: list[HubKey]) -> ReceiptView:
    return ReceiptView(
        slice=row["slice_index"],
        attempt=row["number"],
        attempt_id=row["id"],
        state=row["state"],
        verdict=row["verdict"],
        manifest=Signed.model_validate_json(row["manifest"]),
        receipt=Signed.model_validate_json(row["receipt"]),
        node=_receipt_node(row),
        hub_keys=keys,
        instead=_instead_view(row["instead"]) if row["instead"] is not None else None,
    )


def _instead_view(row: dict[str, Any]) -> InsteadView:
    return InsteadView(
        job_id=row["job_id"],
        attempt=row["number"],
        attempt_id=row["id"],
        manifest=Signed.model_validate_json(row["manifest"]),
        receipt=Signed.model_validate_json(row["receipt"]),
        node=_receipt_node(row),
    )


def _receipt_node(row: dict[str, Any]) -> ReceiptNode:
    return ReceiptNode(id=row["node_id"], name=row["name"], sign_key=row["sign_key"])
