"""What is stored, and how to delete it: for whom it belongs to, and for the admin who watches over the disk."""

from datetime import datetime
from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Query
from pydantic import ConfigDict, Field
from sqlalchemy.orm import Session

from computepool.hub.accounts.repository import emails_of
from computepool.hub.api.job_views import refuse_remove
from computepool.hub.artifacts import usage
from computepool.hub.artifacts.charges import StoragePrice, price_of
from computepool.hub.artifacts.freeing import free_soon
from computepool.hub.artifacts.tables import ArtifactKind, ArtifactState
from computepool.hub.artifacts.usage import Stored, find_stored, own_quotas, quotas_of
from computepool.hub.core.actions import ActionView, unless
from computepool.hub.core.context import Context
from computepool.hub.core.errors import PoolError
from computepool.hub.core.http import ActingFor, Caller, MissingScope, Principal, Routes, Scope
from computepool.hub.core.money import Micros, priced_routes
from computepool.hub.core.owners import check_owner
from computepool.hub.core.records import record
from computepool.hub.core.settings import Settings
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.disputes.service import find_about
from computepool.hub.engine import Engine
from computepool.hub.jobs import removal
from computepool.hub.jobs.errors import ArtifactInUse, JobDisputed, JobNotFinal, NoSuchJob
from computepool.hub.jobs.permits import facts_of
from computepool.hub.jobs.queries import load_job
from computepool.hub.jobs.removal import why_kept
from computepool.hub.jobs.storage import reconcile
from computepool.hub.jobs.stored_files import ArtifactOrder, FileFilter, FileRow, list_files
from computepool.hub.ledger.journal import has_paid
from computepool.protocol.model import Documented

PAGE_LIMIT = 500
MOST_BYTES = 10**15
Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT)]

log = structlog.get_logger()


class ArtifactUse(Documented):
    """A job that was given a bundle or an input."""

    job_id: str
    name: str | None
    """The name of the job."""


class ArtifactActions(Documented):
    remove: ActionView
    """Delete it: `DELETE artifacts/{artifact_id}`."""


class StoredArtifact(Documented):
    """One file that is stored, or on its way. Logs are no files: they go with their job."""

    id: str
    kind: ArtifactKind
    state: ArtifactState
    size_bytes: int
    digest: str
    path: str | None
    """Of an output: its name among the job's outputs."""
    job_id: str | None
    """Of an output or a checkpoint: the job that left it."""
    created_at: datetime
    stored_at: datetime | None
    """When it was stored, or announced again since."""

    job_name: str | None
    """The name of that job."""
    used_by: list[ArtifactUse]
    """Of a bundle or an input: the newest jobs that were given it, a few of the last 1,000."""
    actions: ArtifactActions
    """What the caller may do with it."""


class StoragePage(Documented):
    items: list[StoredArtifact]
    next: str | None
    total: int | None


class UsageView(Documented):
    """Null is no limit."""

    owner_id: str
    bytes: int
    """Of bundles, inputs, outputs, checkpoints and logs."""
    objects: int
    """Files and logs."""
    bytes_today: int
    """Added since midnight of UTC, deleted again or not."""
    limit_bytes: int | None
    limit_objects: int | None
    limit_bytes_per_day: int | None
    """Until the first credits are bought."""
    free_bytes: int | None = None
    """Where storage has a price: what is stored for nothing."""
    price_micros: Micros = None
    """Of a GB beyond that, for a day."""
    cost_micros_per_day: Micros = None
    """Of what is stored now."""
    unpaid_micros: Micros = None
    """For earlier days that could not be paid."""
    unpaid_since: str | None = None
    """The first of these days, of UTC."""
    refused_from: str | None = None
    """If it is still unpaid on that day, nothing more is stored."""


class OwnerUsage(UsageView):
    email: str | None
    own_limits: bool
    """An admin gave it limits of its own."""


class OwnersUsage(Documented):
    items: list[OwnerUsage]
    """Those who store most first."""
    bytes: int
    """Of everybody."""
    objects: int
    owners: int


class StorageLimits(Documented):
    """Both at once: what is left out, or null, is the pool's default again."""

    model_config = ConfigDict(extra="forbid")

    bytes: Annotated[int, Field(ge=0, le=MOST_BYTES, strict=True)] | None = None
    objects: Annotated[int, Field(ge=0, le=MOST_BYTES, strict=True)] | None = None


class ReconciledView(Documented):
    owner_id: str
    counted_bytes: int
    """As it was counted before."""
    counted_objects: int
    bytes: int
    objects: int


def router(engine: Engine) -> APIRouter:
    routes = priced_routes(engine.directory.authenticate, engine.context.settings, tags=["storage"])
    _add_own(routes, engine)
    _add_delete(routes, engine)
    _add_admins(routes, engine.context)
    return routes.router


def _add_own(routes: Routes, engine: Engine) -> None:
    context = engine.context

    @routes.get("/artifacts", visible="own", scope=Scope.ARTIFACTS_READ)
    async def list_artifacts(
        caller: Caller,
        kind: Annotated[list[ArtifactKind] | None, Query()] = None,
        search: Annotated[
            str | None, Query(max_length=100, description="Part of a path, or the beginning of an id or a digest.")
        ] = None,
        job: Annotated[str | None, Query(max_length=80, description="What this job left.")] = None,
        order: Annotated[ArtifactOrder, Query(description="What to sort by.")] = ArtifactOrder.NEWEST,
        cursor: str | None = None,
        limit: Limit = 100,
    ) -> StoragePage:
        """Your files: bundles, inputs, outputs, and what checkpoints are made of. Bundles and inputs can be given to
        other jobs by their ids."""
        wanted = FileFilter(kind or (), search, job)
        rows, after, total = await context.db.read(list_files, caller.owner_ids, wanted, order, cursor, limit)
        users = engine.scheduler.briefs.users_of([row.artifact.id for row in rows])
        items = [_file_view(row, users.get(row.artifact.id), caller) for row in rows]
        return StoragePage(items=items, next=after, total=total)

    @routes.get("/me/storage", visible="own", scope=Scope.ARTIFACTS_READ)
    async def show_usage(owner: ActingFor) -> UsageView:
        """How much you have stored, and how much you may."""
        return await context.db.read(_show, owner, context.now(), context.settings)


def _add_delete(routes: Routes, engine: Engine) -> None:
    unbroken = Unbroken()

    @routes.delete(
        "/artifacts/{artifact_id}", visible="own", scope=Scope.ARTIFACTS_WRITE, status_code=204, errors=[ArtifactInUse]
    )
    async def delete_artifact(artifact_id: str, caller: Caller) -> None:
        """Delete a bundle, an input, or an output of a job that has ended. What an open job needs is refused."""
        await unbroken.run(remove_artifact(engine, artifact_id, caller))

    @routes.delete(
        "/jobs/{job_id}",
        visible="own",
        scope=Scope.JOBS_WRITE,
        status_code=204,
        errors=[NoSuchJob, JobNotFinal, JobDisputed],
    )
    async def delete_job(job_id: str, caller: Caller) -> None:
        """Delete a job that has ended, with its logs, outputs and checkpoints. What was paid for it stays on record."""
        await unbroken.run(remove_job(engine, job_id, caller))


async def remove_artifact(engine: Engine, artifact_id: str, principal: Principal) -> None:
    context, artifacts = engine.context, engine.removal.artifacts
    async with artifacts.reruns:
        with artifacts.leaving(artifact_id):
            user = engine.scheduler.briefs.find_user_of(artifact_id)
            if user is not None:
                raise ArtifactInUse(artifact_id, user)
            deleted = await context.db.run(removal.delete_artifact, artifact_id, principal, context.now())
    await free_soon(context, engine.store, deleted)


async def remove_job(engine: Engine, job_id: str, principal: Principal) -> None:
    """Its logs, outputs and checkpoints are gone when this returns, unless the store is away: then soon."""
    jobs = await engine.context.db.run(_mark_deleted, principal, job_id, engine.context.now())
    try:
        await engine.removal.clear(jobs)
    except Exception:
        log.exception("job.not_cleared", job_id=job_id)  # `Removal.tidy` goes on with it


def _mark_deleted(session: Session, principal: Principal, job_id: str, now: datetime) -> list[str]:
    job = load_job(session, principal, job_id)
    refused = refuse_remove(facts_of(session, [job_id])[job_id], find_about(session, [job_id]).get(job_id))
    if refused is not None:
        raise refused
    return removal.mark_deleted(session, job, now, actor=principal.user_id)


def _add_admins(routes: Routes, context: Context) -> None:
    @routes.get("/admin/storage", visible="admin")
    async def list_usage(limit: Limit = 100) -> OwnersUsage:
        """Who stores how much, and may."""
        return await context.db.read(_list, limit, context.now(), context.settings)

    @routes.get("/admin/storage/{owner_id}", visible="admin")
    async def show_owner(owner_id: str) -> OwnerUsage:
        """What one account has stored, and may."""
        return await context.db.read(_show_owner, owner_id, context.now(), context.settings)

    @routes.put("/admin/storage/{owner_id}", visible="admin")
    async def set_limits(owner_id: str, limits: StorageLimits, caller: Caller) -> OwnerUsage:
        """For one account, in place of the pool's. With bytes of its own it is not limited by the day."""
        await context.db.run(_change, owner_id, limits, caller.user_id, context.now())
        return await context.db.read(_show_owner, owner_id, context.now(), context.settings)

    @routes.post("/admin/storage/{owner_id}/reconcile", name="reconcile", visible="admin")
    async def count_anew(owner_id: str, caller: Caller) -> ReconciledView:
        """Count anew what an account has stored, from what there is, and write that down."""
        found = await context.db.run(_reconcile, owner_id, caller.user_id, context.now())
        return ReconciledView.model_validate(found)


def _file_view(row: FileRow, user: str | None, principal: Principal) -> StoredArtifact:
    artifact = row.artifact
    refusal: PoolError | None = why_kept(artifact, row.job_id, row.job_state)
    if Scope.ARTIFACTS_WRITE not in principal.scopes:
        refusal = MissingScope(Scope.ARTIFACTS_WRITE, is_possible=True)
    elif user is not None:
        refusal = ArtifactInUse(artifact.id, user)
    return StoredArtifact(
        id=artifact.id,
        kind=ArtifactKind(artifact.kind),
        state=ArtifactState(artifact.state),
        size_bytes=artifact.size_bytes,
        digest=artifact.digest,
        path=artifact.path,
        job_id=row.job_id,
        job_name=row.job_name,
        created_at=artifact.created_at,
        stored_at=artifact.stored_at,
        used_by=[ArtifactUse(job_id=use.job_id, name=use.name) for use in row.used_by],
        actions=ArtifactActions(remove=unless(refusal)),
    )


def _view(session: Session, stored: Stored, now: datetime, settings: Settings) -> dict[str, Any]:
    limits, price = own_quotas(stored, quotas_of(settings)), price_of(settings)
    if usage.is_unlimited(session, stored.owner_id):
        limits, price = usage.NO_QUOTAS, None
    daily_bytes = limits.daily_bytes
    return {
        "owner_id": stored.owner_id,
        "bytes": stored.bytes,
        "objects": stored.objects,
        "bytes_today": stored.bytes_on(now),
        "limit_bytes": limits.bytes,
        "limit_objects": limits.objects,
        "limit_bytes_per_day": None if daily_bytes and has_paid(session, stored.owner_id) else daily_bytes,
        **(_costs(session, stored, price) if price is not None else {}),
    }


def _costs(session: Session, stored: Stored, price: StoragePrice) -> dict[str, Any]:
    return {
        "free_bytes": price.free_bytes,
        "price_micros": price.micros,
        "cost_micros_per_day": price.cost_of_day(stored.bytes),
        "unpaid_micros": usage.unpaid_of(session, stored.owner_id),
        "unpaid_since": stored.unpaid_since,
        "refused_from": price.refused_from(stored.unpaid_since) if stored.unpaid_since is not None else None,
    }


def _show(session: Session, owner_id: str, now: datetime, settings: Settings) -> UsageView:
    return UsageView.model_validate(_view(session, find_stored(session, owner_id), now, settings))


def _show_owner(session: Session, owner_id: str, now: datetime, settings: Settings) -> OwnerUsage:
    check_owner(session, owner_id)
    return _owner_view(session, find_stored(session, owner_id), now, settings)


def _owner_view(session: Session, stored: Stored, now: datetime, settings: Settings) -> OwnerUsage:
    email = emails_of(session, [stored.owner_id]).get(stored.owner_id)
    own_limits = stored.limit_bytes is not None or stored.limit_objects is not None
    return OwnerUsage.model_validate(
        {**_view(session, stored, now, settings), "email": email, "own_limits": own_limits}
    )


def _list(session: Session, limit: int, now: datetime, settings: Settings) -> OwnersUsage:
    total, owners = usage.sum_stored(session)
    return OwnersUsage(
        items=[_owner_view(session, stored, now, settings) for stored in usage.list_largest(session, limit)],
        bytes=total.bytes,
        objects=total.objects,
        owners=owners,
    )


def _change(session: Session, owner_id: str, limits: StorageLimits, actor: str, now: datetime) -> None:
    check_owner(session, owner_id)
    usage.set_limits(session, owner_id, limits.bytes, limits.objects)
    topics = (f"owner/{owner_id}",)
    record(session, "owner.storage_limits", owner_id, now, actor=actor, topics=topics, **limits.model_dump())


def _reconcile(session: Session, owner_id: str, actor: str, now: datetime) -> dict[str, Any]:
    check_owner(session, owner_id)
    found = reconcile(session, owner_id)
    if found.counted != found.stored:
        record(session, "owner.storage_reconciled", owner_id, now, actor=actor, counted_bytes=found.counted.bytes)
    return {
        "owner_id": owner_id,
        "counted_bytes": found.counted.bytes,
        "counted_objects": found.counted.objects,
        "bytes": found.stored.bytes,
        "objects": found.stored.objects,
    }
