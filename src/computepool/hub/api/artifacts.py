"""Artifacts over HTTP: announce, bring the missing parts to the URLs given, complete. Downloads are URLs too."""

from datetime import datetime
from typing import Annotated, Literal

from fastapi import APIRouter
from pydantic import Field

from computepool.hub.artifacts.errors import (
    AnnouncedOtherwise,
    BadUpload,
    DailyStorageExceeded,
    DigestMismatch,
    NotUploadedYet,
    StorageExceeded,
    StorageUnpaid,
    UploadTooLarge,
)
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import DIGEST_PATTERN, StorageFull, StoreError
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.transfers import PartUpload, downloads_for
from computepool.hub.core.http import ActingFor, Caller, Routes, Scope
from computepool.hub.engine import Engine
from computepool.protocol.model import Documented

Digest = Annotated[str, Field(pattern=DIGEST_PATTERN, examples=["sha256:" + "0" * 64])]
PARTS_LIMIT = 10_000


class Announcement(Documented):
    digest: Digest
    size_bytes: Annotated[int, Field(ge=0)]
    kind: Literal["bundle", "input"] = "bundle"
    part_digests: Annotated[list[Digest], Field(max_length=PARTS_LIMIT, default_factory=list)]
    """Of each part, in order; needed when there is more than one."""


class UploadView(Documented):
    """PUT the part's bytes to `url` with `headers`."""

    part: int
    size_bytes: int
    url: str
    """Absolute, or relative to the hub's address."""
    headers: dict[str, str]


class ArtifactView(Documented):
    id: str
    digest: str
    size_bytes: int
    kind: ArtifactKind
    state: ArtifactState
    part_bytes: int
    created_at: datetime
    stored_at: datetime | None
    uploads: list[UploadView] = Field(default_factory=list)
    """The parts that are missing."""
    downloads: list[str] = Field(default_factory=list)
    """The parts, in order, of one that is stored."""


def router(engine: Engine) -> APIRouter:
    uploads, store = engine.uploads, engine.store
    routes = Routes(engine.directory.authenticate, tags=["artifacts"])

    @routes.post(
        "/artifacts",
        visible="own",
        scope=Scope.ARTIFACTS_WRITE,
        errors=[
            BadUpload,
            UploadTooLarge,
            StorageExceeded,
            StorageUnpaid,
            DailyStorageExceeded,
            StoreError,
            StorageFull,
        ],
    )
    async def announce_artifact(announcement: Announcement, caller: Caller, owner: ActingFor) -> ArtifactView:
        """Say what you have. What the hub has already is `stored`; of the rest it lists the parts to bring."""
        artifact, missing = await uploads.begin(
            owner,
            announcement.digest,
            announcement.size_bytes,
            ArtifactKind(announcement.kind),
            announcement.part_digests,
            actor=caller.user_id,
        )
        return _view(artifact, missing)

    @routes.post(
        "/artifacts/{artifact_id}/complete",
        visible="own",
        scope=Scope.ARTIFACTS_WRITE,
        errors=[
            NotUploadedYet,
            AnnouncedOtherwise,
            DigestMismatch,
            StorageExceeded,
            StorageUnpaid,
            StoreError,
            StorageFull,
        ],
    )
    async def complete_artifact(artifact_id: str, caller: Caller) -> ArtifactView:
        """All parts are uploaded: check that they are there, and store it for good."""
        return _view(await uploads.complete(artifact_id, caller.owner_ids, actor=caller.user_id))

    @routes.get("/artifacts/{artifact_id}", visible="own", scope=Scope.ARTIFACTS_READ, errors=[StoreError])
    async def show_artifact(artifact_id: str, caller: Caller) -> ArtifactView:
        """One artifact; once it is stored, with URLs to fetch it."""
        artifact = await uploads.get(artifact_id, caller.owner_ids)
        if artifact.state != ArtifactState.STORED:
            return _view(artifact)
        return _view(artifact).model_copy(update={"downloads": downloads_for(store, artifact)})

    return routes.router


def _view(artifact: Artifact, missing: list[PartUpload] | None = None) -> ArtifactView:
    return ArtifactView(
        id=artifact.id,
        digest=artifact.digest,
        size_bytes=artifact.size_bytes,
        kind=ArtifactKind(artifact.kind),
        state=ArtifactState(artifact.state),
        part_bytes=PART_BYTES,
        created_at=artifact.created_at,
        stored_at=artifact.stored_at,
        uploads=[
            UploadView(part=each.part, size_bytes=each.size_bytes, url=each.url, headers=each.headers)
            for each in missing or ()
        ],
    )
