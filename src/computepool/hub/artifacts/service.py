"""How an artifact comes to be stored, one transaction a function. `uploads` has the steps around them."""

from collections.abc import Callable, Collection, Sequence
from datetime import datetime, timedelta

from sqlalchemy.orm import Session

from computepool.hub.artifacts import repository
from computepool.hub.artifacts.errors import (
    AnnouncedOtherwise,
    BadUpload,
    NoSuchArtifact,
    UploadTooLarge,
)
from computepool.hub.artifacts.parts import PART_BYTES, count_parts
from computepool.hub.artifacts.store import EMPTY_DIGEST, is_digest
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.usage import NO_QUOTAS, Quotas, charge
from computepool.hub.core.records import HUB_ACTOR, record

NewId = Callable[[str], str]
"""Such as `context.new_id`."""

WRITABLE = timedelta(hours=24)
"""How long the URLs to put parts are good: home uplinks are slow. Asking again renews them."""
SHARED_KINDS = frozenset({ArtifactKind.BUNDLE, ArtifactKind.INPUT})


def begin_upload(
    session: Session,
    owner_id: str,
    digest: str,
    size_bytes: int,
    kind: ArtifactKind,
    now: datetime,
    *,
    new_id: NewId,
    limit_bytes: int,
    quotas: Quotas = NO_QUOTAS,
    part_digests: Sequence[str] = (),
    actor: str = HUB_ACTOR,
) -> Artifact:
    """The owner's artifact with this digest, stored already or to be uploaded. Uploads at the same time share it."""
    if kind not in SHARED_KINDS:
        raise ValueError(f"{kind} is not uploaded by its owner")
    check_announcement(digest, size_bytes, part_digests, limit_bytes)
    parts = list(part_digests) if count_parts(size_bytes) > 1 else None
    known = repository.find_shared(session, owner_id, digest)
    if known is not None:
        if (known.size_bytes, known.part_digests) == (size_bytes, parts) or _is_stored(known, size_bytes):
            _note_use(session, known, now)
            return known
        if known.state == ArtifactState.STORED:
            raise AnnouncedOtherwise(digest, known.size_bytes)
        # Two announcements that exclude each other: the parts of one never make the other. The newer one counts.
        repository.mark_abandoned(session, [known.id])
    row = new_row(new_id, owner_id, digest, size_bytes, kind, parts, now)
    charge(session, owner_id, repository.insert_unless_there(session, [row]), now, quotas)
    session.expire_all()
    artifact = repository.find_shared(session, owner_id, digest)
    if artifact is None or artifact.size_bytes != size_bytes:
        raise AnnouncedOtherwise(digest, artifact.size_bytes if artifact else size_bytes)
    if artifact.id == row["id"]:
        record(session, "artifact.uploading", artifact.id, now, actor=actor, digest=digest, size_bytes=size_bytes)
    return artifact


def finish_upload(
    session: Session, artifact_id: str, owner_ids: Collection[str], now: datetime, *, actor: str = HUB_ACTOR
) -> Artifact:
    """Its bytes were checked: it is stored. To say so twice is the same as once."""
    moved = repository.mark_stored(session, [artifact_id], now)
    session.expire_all()
    artifact = repository.find_artifact(session, artifact_id, owner_ids)
    if artifact is None:
        raise NoSuchArtifact(artifact_id)
    if moved:
        record(session, "artifact.stored", artifact_id, now, actor=actor, digest=artifact.digest)
    return artifact


def refuse_upload(session: Session, artifact: Artifact, now: datetime, *, actor: str = HUB_ACTOR) -> None:
    """Its parts are as announced, and still do not make the digest: another try of these parts makes no sense."""
    if repository.mark_abandoned(session, [artifact.id]):
        record(session, "artifact.refused", artifact.id, now, actor=actor, digest=artifact.digest)


def get_artifact(session: Session, artifact_id: str, owner_ids: Collection[str]) -> Artifact:
    artifact = repository.find_artifact(session, artifact_id, owner_ids)
    if artifact is None:
        raise NoSuchArtifact(artifact_id)
    return artifact


def check_announcement(digest: str, size_bytes: int, part_digests: Sequence[str], limit_bytes: int) -> None:
    if not is_digest(digest):
        raise BadUpload("digest", "expected sha256: and 64 hexadecimal digits, in lower case", digest[:80])
    if size_bytes < 0:
        raise BadUpload("size_bytes", "expected 0 or more", str(size_bytes))
    if size_bytes > limit_bytes:
        raise UploadTooLarge(f"It has {size_bytes} bytes; this hub takes at most {limit_bytes}.")
    if (size_bytes == 0) != (digest == EMPTY_DIGEST):
        raise BadUpload("digest", f"is not that of {size_bytes} bytes", digest)
    parts = count_parts(size_bytes)
    if parts > 1 and (len(part_digests) != parts or not all(is_digest(each) for each in part_digests)):
        raise BadUpload(
            "part_digests", f"expected {parts} digests, one of each {PART_BYTES} bytes", f"{len(part_digests)} digests"
        )
    if parts <= 1 and list(part_digests) not in ([], [digest]):
        raise BadUpload("part_digests", "there is one part, so its digest is the whole's")


def new_row(
    new_id: NewId,
    owner_id: str,
    digest: str,
    size_bytes: int,
    kind: ArtifactKind,
    part_digests: list[str] | None,
    now: datetime,
    *,
    attempt_id: str | None = None,
    job_id: str | None = None,
    slice_index: int | None = None,
    path: str | None = None,
) -> dict[str, object]:
    return {
        "id": new_id("artifact"),
        "owner_id": owner_id,
        "digest": digest,
        "size_bytes": size_bytes,
        "kind": kind,
        "state": ArtifactState.UPLOADING,
        "attempt_id": attempt_id,
        "job_id": job_id,
        "slice_index": slice_index,
        "path": path,
        "part_digests": part_digests,
        "writable_until": now + WRITABLE,
        "created_at": now,
    }


def _note_use(session: Session, known: Artifact, now: datetime) -> None:
    """It was announced again: if it is stored, that is when it was last needed."""
    if known.state == ArtifactState.STORED:
        repository.touch_stored(session, [known.id], now)
    else:
        repository.renew(session, [known.id], now + WRITABLE)


def _is_stored(artifact: Artifact, size_bytes: int) -> bool:
    """Of what is stored, the parts no longer matter."""
    return artifact.state == ArtifactState.STORED and artifact.size_bytes == size_bytes
