"""Jobs: submit, change, show, and their receipts. Outputs are in `job_files.py`, logs in `job_logs.py`."""

from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Header, Query, Request
from starlette.datastructures import UploadFile

from computepool.hub.api.job_views import check_retry, new_with_actions, show_with_actions
from computepool.hub.artifacts.errors import (
    DailyStorageExceeded,
    NoSuchArtifact,
    StorageExceeded,
    StorageUnpaid,
    TooManyBundles,
)
from computepool.hub.artifacts.store import StorageFull, StoreError
from computepool.hub.artifacts.uploads import BUNDLE_LIMIT_BYTES
from computepool.hub.core.errors import Invalid, TooLarge
from computepool.hub.core.http import Caller, IdempotencyKey, NoSuchTeam, Principal, Routes, Scope, owner_for
from computepool.hub.core.idempotency import digest_of
from computepool.hub.core.money import priced_routes
from computepool.hub.core.openapi import SCHEMA_REF
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.engine import Engine
from computepool.hub.jobs import queries, submission
from computepool.hub.jobs.errors import (
    BadBundle,
    BadInputs,
    BadOwnJob,
    BadSpec,
    JobNotFinal,
    NoSuchJob,
    NotSupportedYet,
    QueueFull,
)
from computepool.hub.jobs.permits import given_to
from computepool.hub.jobs.views import SHOWN_SLICES_LIMIT, JobView
from computepool.hub.scheduling.why import WhySlice, explain_job, summarize
from computepool.protocol.hub_keys import HubKey
from computepool.protocol.model import Documented
from computepool.protocol.own_job import OWN_JOB_HEADER
from computepool.protocol.signing import Signed
from computepool.protocol.spec import MAX_SLICES, JobSpec, parse_spec
from computepool.protocol.spec_input import MAX_SPEC_BYTES
from computepool.protocol.states import AttemptState, JobState, Verdict

PAGE_LIMIT = 500
Cursor = Annotated[str | None, Query(max_length=2000)]
SPEC_LIMIT_BYTES = 4 * MAX_SPEC_BYTES
"""As it was written, with its spaces."""


OWN_JOB = "The caller's signature of the job: a node of theirs may take only such jobs for theirs. Made by the CLI."
SPEC_BODY: dict[str, Any] = {
    "required": True,
    "description": "What to run.",
    "content": {"application/json": {"schema": {"$ref": SCHEMA_REF.format(model="WrittenSpec")}}},
}
JOB_BODY: dict[str, Any] = {
    "required": True,
    "description": "What to run; or what to run and an archive that is unpacked where the command runs.",
    "content": {
        **SPEC_BODY["content"],
        "multipart/form-data": {
            "schema": {
                "type": "object",
                "required": ["spec", "bundle"],
                "properties": {
                    "spec": {
                        "type": "string",
                        "contentMediaType": "application/json",
                        "contentSchema": {"$ref": SCHEMA_REF.format(model="WrittenSpec")},
                        "description": "The spec, as JSON.",
                    },
                    "bundle": {
                        "type": "string",
                        "format": "binary",
                        "description": "An archive: tar, tar.gz or zip.",
                    },
                },
            }
        },
    },
}


class WhyView(Documented):
    job_id: str
    state: JobState
    summary: str
    waiting: list[WhySlice]


class ReceiptNode(Documented):
    id: str
    name: str
    sign_key: str
    """The key that signed the receipt, also if the node has another by now."""
    key_ended_at: datetime | None
    """When the node replaced it; orders from after that cannot be answered with it."""


class InsteadView(Documented):
    """The manifest and receipt of an attempt that ran the slice once more, at another owner's, and was found right."""

    job_id: str
    """Of the hidden job that it belongs to."""
    attempt: int
    attempt_id: str
    manifest: Signed
    receipt: Signed
    node: ReceiptNode


class ReceiptView(Documented):
    slice: int
    attempt: int
    attempt_id: str
    state: AttemptState
    verdict: Verdict | None
    manifest: Signed
    receipt: Signed
    node: ReceiptNode
    hub_keys: list[HubKey]
    instead: InsteadView | None = None
    """Where this one was proven wrong, or outvoted: whose outputs are the slice's instead."""


class ReceiptPage(Documented):
    items: list[ReceiptView]
    next: str | None


def router(engine: Engine) -> APIRouter:
    routes = priced_routes(engine.directory.authenticate, engine.context.settings, tags=["jobs"])
    _add_submit(routes, engine)
    _add_change(routes, engine)
    _add_show(routes, engine)
    _add_results(routes, engine)
    return routes.router


def _add_submit(routes: Routes, engine: Engine) -> None:
    db = engine.context.db

    async def create(caller: Principal, key: str | None, raw: bytes, bundle_id: str | None, own: str | None) -> JobView:
        spec = submission.read_spec(raw, engine.card_names())
        if spec.workdir is not None and bundle_id is None:
            raise BadBundle(
                "The spec has a `workdir`, and no files came with the job.",
                hint="Send them: as `bundle` of a multipart request, or as an uploaded artifact in ?bundle=. Or leave "
                "`workdir` out.",
            )
        owner_id = owner_for(caller, spec.team)
        with engine.removal.artifacts.taking(submission.artifacts_of(spec, bundle_id)):
            found = await db.read(submission.find_bundle, bundle_id, owner_id) if bundle_id else None
            inputs = await db.read(submission.find_inputs, spec, owner_id) if spec.inputs else None
            identity = raw + str(found["digest"]).encode() if found else raw
            request = submission.Request(caller, key, digest_of(identity), own, owner_id)
            return await _submit(engine, request, spec, found, inputs)

    @routes.post(
        "/jobs",
        visible="own",
        scope=Scope.JOBS_WRITE,
        status_code=201,
        body_limit_bytes=BUNDLE_LIMIT_BYTES,
        openapi_extra={"requestBody": JOB_BODY},
        errors=[
            BadSpec,
            NotSupportedYet,
            NoSuchTeam,
            BadBundle,
            BadInputs,
            BadOwnJob,
            QueueFull,
            NoSuchArtifact,
            StorageExceeded,
            DailyStorageExceeded,
            StorageUnpaid,
            TooManyBundles,
            StoreError,
            StorageFull,
        ],
    )
    async def submit_job(
        request: Request,
        caller: Caller,
        key: IdempotencyKey = None,
        bundle: str | None = None,
        own: Annotated[str | None, Header(alias=OWN_JOB_HEADER, description=OWN_JOB)] = None,
    ) -> JobView:
        """The body is the spec as JSON; or multipart, with the spec as `spec` and an archive as `bundle`."""
        if request.headers.get("content-type", "").startswith("multipart/"):
            raw, bundle = await _read_multipart(engine, request, caller)
        else:
            raw = await _read_bounded(request)
        return await create(caller, key, raw, bundle, own)


async def _submit(
    engine: Engine,
    request: submission.Request,
    spec: JobSpec,
    bundle: dict[str, Any] | None,
    inputs: dict[str, Any] | None,
    retry_of: str | None = None,
    slice_indices: tuple[int, ...] | None = None,
) -> JobView:
    job, brief, once = submission.prepare(engine.context, request, spec, bundle, inputs, retry_of, slice_indices)
    job_id = await engine.submit(job, brief, once.store)
    if once.stored is not None:
        return new_with_actions(engine.context, request.principal, *once.stored, once.now)
    return await engine.context.db.read(show_with_actions, engine.context, request.principal, job_id)


def _add_change(routes: Routes, engine: Engine) -> None:
    db, unbroken = engine.context.db, Unbroken()

    @routes.post("/jobs/{job_id}/cancel", visible="own", scope=Scope.JOBS_WRITE, errors=[NoSuchJob])
    async def cancel_job(job_id: str, caller: Caller) -> JobView:
        """What waits is canceled at once; what runs is told to stop, and the job ends when it has."""
        await unbroken.run(engine.cancel(job_id, caller))
        return await db.read(show_with_actions, engine.context, caller, job_id)

    @routes.post(
        "/jobs/{job_id}/retry",
        visible="own",
        scope=Scope.JOBS_WRITE,
        status_code=201,
        errors=[NoSuchJob, JobNotFinal, QueueFull, BadBundle, BadInputs, BadOwnJob, NotSupportedYet],
    )
    async def retry_job(
        job_id: str,
        caller: Caller,
        key: IdempotencyKey = None,
        every_slice: Annotated[bool, Query(alias="all")] = False,
    ) -> JobView:
        """The same spec as a new job, linked to the old one: those slices that did not succeed, with their numbers; or
        all of them, if none failed or with `all`."""
        old = await db.read(queries.load_job, caller, job_id)
        await db.read(check_retry, caller, job_id)
        indices = None if every_slice else await db.read(queries.list_unfinished, old)
        which = "all" if indices is None else "failed"
        asked = digest_of(f"retry {job_id} {which}".encode())
        request = submission.Request(caller, key, asked, old.own_job, old.owner_id)
        spec = parse_spec(old.spec)
        with engine.removal.artifacts.taking(given_to(old.bundle, old.inputs)):
            await db.read(check_retry, caller, job_id)  # once more: what it needs cannot be deleted from here on
            return await _submit(engine, request, spec, old.bundle, old.inputs, job_id, indices)


def _add_show(routes: Routes, engine: Engine) -> None:
    db = engine.context.db

    @routes.get("/jobs/{job_id}", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def show_job(
        job_id: str,
        caller: Caller,
        from_slice: Annotated[int, Query(ge=0, le=MAX_SLICES)] = 0,
        slice_limit: Annotated[int, Query(ge=1, le=SHOWN_SLICES_LIMIT)] = SHOWN_SLICES_LIMIT,
    ) -> JobView:
        """With its slices from `from_slice` on. `next_slice` says where they go on, if not all of them are shown."""
        return await db.read(show_with_actions, engine.context, caller, job_id, from_slice, slice_limit)

    @routes.get("/jobs/{job_id}/why", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def why(job_id: str, caller: Caller) -> WhyView:
        """Why it still waits: how many nodes each gate removed, and what would help."""
        job = await db.read(queries.load_job, caller, job_id)
        waiting = await explain_job(engine.context, engine.scheduler, job_id)
        suspended = await db.read(queries.count_suspended, job_id)
        words = summarize(job, waiting, *suspended)
        return WhyView(job_id=job_id, state=JobState(job.state), summary=words, waiting=waiting)


def _add_results(routes: Routes, engine: Engine) -> None:
    db = engine.context.db

    @routes.get("/jobs/{job_id}/receipts", visible="own", scope=Scope.JOBS_READ, errors=[NoSuchJob])
    async def list_receipts(
        job_id: str,
        caller: Caller,
        limit: Annotated[int, Query(ge=1, le=PAGE_LIMIT)] = 100,
        cursor: Cursor = None,
    ) -> ReceiptPage:
        """The signed manifest and receipt of every attempt that ended on its node, by slice and number."""
        rows, after = await db.read(queries.page_receipts, caller, job_id, cursor, limit)
        return ReceiptPage(items=[receipt_view(row, list(engine.keyring.public)) for row in rows], next=after)


async def _read_bounded(request: Request) -> bytes:
    """A spec is small, whatever the route takes with an archive: more of it is not even kept."""
    raw = b""
    async for chunk in request.stream():
        raw += chunk
        if len(raw) > SPEC_LIMIT_BYTES:
            raise TooLarge(f"A job spec has at most {SPEC_LIMIT_BYTES} bytes.", hint="Send files in the bundle.")
    return raw


async def _read_multipart(engine: Engine, request: Request, caller: Principal) -> tuple[bytes, str]:
    length = request.headers.get("content-length", "")
    if not length.isdecimal():
        raise Invalid("A multipart body needs a Content-Length.", hint="Do not send it in chunks of unknown number.")
    async with engine.uploads.receiving(caller.home_id, int(length)), request.form(max_files=1, max_fields=4) as form:
        spec, bundle = form.get("spec"), form.get("bundle")
        raw = await spec.read(SPEC_LIMIT_BYTES + 1) if isinstance(spec, UploadFile) else (spec or "").encode()
        spec_read = submission.read_spec(raw, engine.card_names())  # before an archive is stored for nothing
        owner_id = owner_for(caller, spec_read.team)
        if not isinstance(bundle, UploadFile):
            raise Invalid("The multipart body has no file called `bundle`.", hint="Send the spec alone as JSON.")
        artifact = await engine.uploads.keep_file(owner_id, bundle.file, actor=caller.user_id)
        return raw, artifact.id


def receipt_view(row: dict[str, Any], keys: list[HubKey]) -> ReceiptView:
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
    return ReceiptNode(id=row["node_id"], name=row["name"], sign_key=row["sign_key"], key_ended_at=row["key_ended_at"])
