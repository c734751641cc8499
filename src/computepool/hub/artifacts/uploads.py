"""Bundles and inputs on their way in: the steps around the transactions of `service`."""

import hashlib
from collections.abc import Collection, Iterator
from typing import BinaryIO

from computepool.hub.artifacts import service
from computepool.hub.artifacts.errors import DigestMismatch, NotUploadedYet, UploadTooLarge
from computepool.hub.artifacts.parts import PART_BYTES
from computepool.hub.artifacts.store import Store
from computepool.hub.artifacts.tables import Artifact, ArtifactKind, ArtifactState
from computepool.hub.artifacts.transfers import PartUpload, has_digest, missing_parts, settled_sizes_in, sign_missing
from computepool.hub.artifacts.usage import quotas_of
from computepool.hub.core.context import Context

COPY_BYTES = 1024**2


class Uploads:
    def __init__(self, context: Context, store: Store) -> None:
        self._context = context
        self._store = store

    async def begin(
        self,
        owner_id: str,
        digest: str,
        size_bytes: int,
        kind: ArtifactKind = ArtifactKind.BUNDLE,
        part_digests: Collection[str] = (),
        *,
        actor: str,
    ) -> tuple[Artifact, list[PartUpload]]:
        """The artifact, and how to bring the parts of it that are missing."""
        self._store.need_room(size_bytes)
        artifact = await self._context.db.run(
            service.begin_upload,
            owner_id,
            digest,
            size_bytes,
            kind,
            self._context.now(),
            new_id=self._context.new_id,
            limit_bytes=self._context.settings.upload_limit_bytes,
            quotas=quotas_of(self._context.settings),
            part_digests=tuple(part_digests),
            actor=actor,
        )
        if artifact.state == ArtifactState.STORED:
            return artifact, []
        (uploads,) = await self._context.offload(sign_missing, self._store, artifact.folder, [artifact])
        return artifact, uploads

    async def complete(self, artifact_id: str, owner_ids: Collection[str], *, actor: str) -> Artifact:
        """Stored, if all of it is there and is what was announced."""
        artifact = await self._context.db.read(service.get_artifact, artifact_id, owner_ids)
        if artifact.state == ArtifactState.STORED:
            return artifact
        sizes = await self._context.offload(settled_sizes_in, self._store, artifact.folder)
        missing = missing_parts(artifact, sizes)
        if missing:
            raise NotUploadedYet(missing)
        if not await has_digest(self._store, self._context.offload, artifact):
            await self._context.db.run(service.refuse_upload, artifact, self._context.now(), actor=actor)
            raise DigestMismatch(artifact.digest)
        return await self._context.db.run(
            service.finish_upload, artifact_id, owner_ids, self._context.now(), actor=actor
        )

    async def get(self, artifact_id: str, owner_ids: Collection[str]) -> Artifact:
        return await self._context.db.read(service.get_artifact, artifact_id, owner_ids)

    async def keep_file(self, owner_id: str, file: BinaryIO, *, actor: str) -> Artifact:
        """Store a bundle that came with a request, as if its sender had uploaded it."""
        limit_bytes = self._context.settings.upload_limit_bytes
        digest, size_bytes, part_digests = await self._context.offload(_measure, file, limit_bytes)
        artifact, uploads = await self.begin(
            owner_id, digest, size_bytes, ArtifactKind.BUNDLE, part_digests, actor=actor
        )
        for upload in uploads:
            data = _slice(file, upload.part * PART_BYTES, upload.size_bytes)
            await self._context.offload(self._store.put, artifact.part_key(upload.part), data)
        return await self.complete(artifact.id, [owner_id], actor=actor)


def _measure(file: BinaryIO, limit_bytes: int) -> tuple[str, int, list[str]]:
    """The digest, the size and the parts' digests."""
    whole, size_bytes, parts = hashlib.sha256(), 0, []
    file.seek(0)
    while True:
        part, left = hashlib.sha256(), PART_BYTES
        while left and (data := file.read(min(COPY_BYTES, left))):
            whole.update(data)
            part.update(data)
            left -= len(data)
            size_bytes += len(data)
            if size_bytes > limit_bytes:
                raise UploadTooLarge(f"The file has more than {limit_bytes} bytes, which is what this hub takes.")
        if left == PART_BYTES:
            break
        parts.append(f"sha256:{part.hexdigest()}")
    return f"sha256:{whole.hexdigest()}", size_bytes, parts


def _slice(file: BinaryIO, start: int, length: int) -> Iterator[bytes]:
    file.seek(start)
    while length and (data := file.read(min(COPY_BYTES, length))):
        length -= len(data)
        yield data
