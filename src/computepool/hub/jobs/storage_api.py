"""What is stored, and how to delete it: for whom it belongs to, and for the admin who watches over the disk."""

from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

from fastapi import APIRouter, Query
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from computepool.hub.accounts.tables import User
from computepool.hub.artifacts import usage
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState, StorageUsage
from computepool.hub.artifacts.usage import Quotas, Stored, find_stored, own_quotas, quotas_of
from computepool.hub.core.context import Context
from computepool.hub.core.http import Authenticate, Caller, Principal, Routes, Scope
from computepool.hub.core.inserts import insert_if_absent
from computepool.hub.core.owners import check_owner
from computepool.hub.core.records import record
from computepool.hub.core.unbroken import Unbroken
from computepool.hub.jobs.removal import Removal
from computepool.hub.jobs.storage import reconcile
from computepool.hub.jobs.tables import Attempt, Job
from computepool.hub.ledger.journal import has_paid

PAGE_LIMIT = 500
MOST_BYTES = 10**15
Limit = Annotated[int, Query(ge=1, le=PAGE_LIMIT)]


class StoredArtifact(BaseModel):
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


class StoragePage(BaseModel):
    items: list[StoredArtifact]
    next: str | None


class UsageView(BaseModel):
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


class OwnerUsage(UsageView):
    email: str | None
    own_limits: bool
    """An admin gave it limits of its own."""


class OwnersUsage(BaseModel):
    items: list[OwnerUsage]
    """Those who store most first."""
    bytes: int
    """Of everybody."""
    objects: int
    owners: int


class StorageLimits(BaseModel):
    """Both at once: what is left out, or null, is the pool's default again."""

    model_config = ConfigDict(extra="forbid")

    bytes: Annotated[int, Field(ge=0, le=MOST_BYTES, strict=True)] | None = None
    objects: Annotated[int, Field(ge=0, le=MOST_BYTES, strict=True)] | None = None


class ReconciledView(BaseModel):
    owner_id: str
    counted_bytes: int
    """As it was counted before."""
    counted_objects: int
    bytes: int
    objects: int


def router(authenticate: Authenticate, context: Context, removal: Removal) -> APIRouter:
    routes = Routes(authenticate, tags=["storage"])
    _add_own(routes, context)
    _add_delete(routes, removal)
    _add_admins(routes, context)
    return routes.router


def _add_own(routes: Routes, context: Context) -> None:
    @routes.get("/artifacts", visible="own", scope=Scope.ARTIFACTS_READ, strict_query=True)
    async def list_artifacts(
        caller: Caller,
        kind: Annotated[list[ArtifactKind] | None, Query()] = None,
        cursor: str | None = None,
        limit: Limit = 100,
    ) -> StoragePage:
        """Your files, the newest first: bundles, inputs, outputs, and what checkpoints are made of."""
        return await context.db.read(_page, caller, kind or [], cursor, limit)

    @routes.get("/me/storage", visible="own", scope=Scope.ARTIFACTS_READ)
    async def show_usage(caller: Caller) -> UsageView:
        """How much you have stored, and how much you may."""
        return await context.db.read(_show, caller.user_id, context.now(), quotas_of(context.settings))


def _add_delete(routes: Routes, removal: Removal) -> None:
    unbroken = Unbroken()

    @routes.delete("/artifacts/{artifact_id}", visible="own", scope=Scope.ARTIFACTS_WRITE, status_code=204)
    async def delete_artifact(artifact_id: str, caller: Caller) -> None:
        """Delete a bundle, an input, or an output of a job that has ended. What an open job needs is refused."""
        await unbroken.run(removal.delete_artifact(artifact_id, caller))

    @routes.delete("/jobs/{job_id}", visible="own", scope=Scope.JOBS_WRITE, status_code=204)
    async def delete_job(job_id: str, caller: Caller) -> None:
        """Delete a job that has ended, with its logs, outputs and checkpoints. What was paid for it stays on record."""
        await unbroken.run(removal.delete_job(job_id, caller))


def _add_admins(routes: Routes, context: Context) -> None:
    quotas = quotas_of(context.settings)

    @routes.get("/admin/storage", visible="admin", scope=Scope.ADMIN)
    async def list_usage(limit: Limit = 100) -> OwnersUsage:
        """Who stores how much, and may."""
        return await context.db.read(_list, limit, context.now(), quotas)

    @routes.get("/admin/storage/{owner_id}", visible="admin", scope=Scope.ADMIN)
    async def show_owner(owner_id: str) -> OwnerUsage:
        """What one account has stored, and may."""
        return await context.db.read(_show_owner, owner_id, context.now(), quotas)

    @routes.put("/admin/storage/{owner_id}", visible="admin", scope=Scope.ADMIN)
    async def set_limits(owner_id: str, limits: StorageLimits, caller: Caller) -> OwnerUsage:
        """For one account, in place of the pool's. With bytes of its own it is not limited by the day."""
        await context.db.run(_change, owner_id, limits, caller.user_id, context.now())
        return await context.db.read(_show_owner, owner_id, context.now(), quotas)

    @routes.post("/admin/storage/{owner_id}/reconcile", visible="admin", scope=Scope.ADMIN)
    async def count_anew(owner_id: str, caller: Caller) -> ReconciledView:
        """Count anew what an account has stored, from what there is, and write that down."""
        found = await context.db.run(_reconcile, owner_id, caller.user_id, context.now())
        return ReconciledView.model_validate(found)


def _page(session: Session, principal: Principal, kinds: Sequence[str], before: str | None, limit: int) -> StoragePage:
    job_id = func.coalesce(Job.rerun_of, Attempt.job_id, Artifact.job_id)
    query = (
        select(Artifact, job_id)
        .outerjoin(Attempt, Attempt.id == Artifact.attempt_id)
        .outerjoin(Job, Job.id == Attempt.job_id)
        .where(Artifact.owner_id.in_(sorted(principal.owner_ids)), Artifact.state != ArtifactState.ABANDONED)
        .order_by(Artifact.id.desc())
        .limit(limit + 1)
    )
    if kinds:
        query = query.where(Artifact.kind.in_(kinds))
    if before is not None:
        query = query.where(Artifact.id < before)
    rows = session.execute(query).all()
    names = [name for name in StoredArtifact.model_fields if name != "job_id"]
    items = [
        StoredArtifact.model_validate({**{name: getattr(row[0], name) for name in names}, "job_id": row[1]})
        for row in rows[:limit]
    ]
    return StoragePage(items=items, next=items[-1].id if len(rows) > limit else None)


def _view(session: Session, stored: Stored, now: datetime, quotas: Quotas) -> dict[str, Any]:
    limits = own_quotas(stored, quotas)
    if usage.is_unlimited(session, stored.owner_id):
        limits = usage.NO_QUOTAS
    daily_bytes = limits.daily_bytes
    return {
        "owner_id": stored.owner_id,
        "bytes": stored.bytes,
        "objects": stored.objects,
        "bytes_today": stored.bytes_on(now),
        "limit_bytes": limits.bytes,
        "limit_objects": limits.objects,
        "limit_bytes_per_day": None if daily_bytes and has_paid(session, stored.owner_id) else daily_bytes,
    }


def _show(session: Session, owner_id: str, now: datetime, quotas: Quotas) -> UsageView:
    return UsageView.model_validate(_view(session, find_stored(session, owner_id), now, quotas))


def _show_owner(session: Session, owner_id: str, now: datetime, quotas: Quotas) -> OwnerUsage:
    check_owner(session, owner_id)
    return _owner_view(session, find_stored(session, owner_id), now, quotas)


def _owner_view(session: Session, stored: Stored, now: datetime, quotas: Quotas) -> OwnerUsage:
    email = session.scalar(select(User.email).where(User.id == stored.owner_id))
    own_limits = stored.limit_bytes is not None or stored.limit_objects is not None
    return OwnerUsage.model_validate({**_view(session, stored, now, quotas), "email": email, "own_limits": own_limits})


def _list(session: Session, limit: int, now: datetime, quotas: Quotas) -> OwnersUsage:
    total = session.execute(select(func.sum(StorageUsage.bytes), func.sum(StorageUsage.objects), func.count())).one()
    return OwnersUsage(
        items=[_owner_view(session, stored, now, quotas) for stored in usage.list_largest(session, limit)],
        bytes=int(total[0] or 0),
        objects=int(total[1] or 0),
        owners=int(total[2]),
    )


def _change(session: Session, owner_id: str, limits: StorageLimits, actor: str, now: datetime) -> None:
    check_owner(session, owner_id)
    empty = {"bytes": 0, "objects": 0, "day_bytes": 0}
    insert_if_absent(session, StorageUsage, ["owner_id"], owner_id=owner_id, **empty)
    row = session.get_one(StorageUsage, owner_id, with_for_update=True)
    row.limit_bytes, row.limit_objects = limits.bytes, limits.objects
    session.flush()
    record(session, "owner.storage_limits", owner_id, now, actor=actor, **limits.model_dump())


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
